"""The dialogues of runs, each turn with all models' answers and verdicts, and the evidence from the benchmark."""

import hashlib
import re
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from statistics import fmean, quantiles
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import answer_settings, metric_kind
from reeltalk.analysis.leaderboard import RESERVED_NAMES, Leaderboard
from reeltalk.analysis.verdicts import Place, ShownVerdict, plain_rows
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.scoring import TEXT_METRICS
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import label_title
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.runs import is_withheld
from reeltalk.schema.titles import activity_title
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import NamedRows
from reeltalk.store.runs import ANSWERS
from reeltalk.store.score_frame import SCORE
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, PATHS, VIDEOS

if TYPE_CHECKING:
    import polars as pl

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class UnitContext:
    """One chain, path or dialogue."""

    turns: tuple[Turn | None, ...]
    """None for a turn of a path whose chain is missing."""
    clip_ids: tuple[str, ...]


@dataclass
class BenchmarkContext:
    """All dialogues, chains and paths of a benchmark, with its videos and clips."""

    videos: Mapping[str, Video] = field(default_factory=dict)
    clips: Mapping[str, list[tuple[str, Interval]]] = field(default_factory=dict)
    """Names and known intervals of clips by video, in order of time."""
    units: Mapping[tuple[str, str], UnitContext] = field(default_factory=dict)
    """By kind (`chain`, `path` or `dialogue`) and id."""
    activities: Mapping[str, str] = field(default_factory=dict)
    """What is done in a clip, by the clip's id, such as `Wash dishes`; only clips whose source says it."""

    def about(self, unit: str, unit_id: str, video_id: str) -> Interval | None:
        """The interval that a unit is about, from its clips and evidence; None if it has neither."""
        found = self.units.get((unit, unit_id))
        if found is None:
            return None
        named = set(found.clip_ids)
        intervals = [interval for name, interval in self.clips.get(video_id, ()) if name in named]
        intervals += [interval for turn in found.turns if turn is not None for interval in turn.evidence]
        if not intervals:
            return None
        return Interval(start_s=min(i.start_s for i in intervals), end_s=max(i.end_s for i in intervals))

    def evidence(self, unit: str, unit_id: str, index: int) -> tuple[Interval, ...]:
        """Where the answer to one turn can be seen."""
        found = self.units.get((unit, unit_id))
        turn = found.turns[index] if found is not None and index < len(found.turns) else None
        return turn.evidence if turn is not None else ()


def clip_activity(clip: Clip) -> str:
    """What is done in a clip, such as `Wash dishes`; empty if its source does not say it."""
    activity = clip.extra.get("activity")
    return activity_title(activity) if isinstance(activity, str) else ""


def read_context(benchmark: Benchmark) -> BenchmarkContext:
    """A benchmark's dialogues, chains and paths, which are read when you ask for one.

    Raises:
        InputError: A table is damaged.
    """
    clips = benchmark.table(CLIPS)
    timed = clips.grouped()
    chains, dialogues = NamedRows(benchmark.table(CHAINS)), NamedRows(benchmark.table(DIALOGUES))
    paths = NamedRows(benchmark.table(PATHS))
    tables: dict[str, Mapping[str, QAChain | Dialogue | DialoguePath]]
    tables = {"chain": chains, "dialogue": dialogues, "path": paths}

    def intervals_of(video_id: str) -> list[tuple[str, Interval]]:
        found = [(clip.id, clip.interval) for clip in timed[video_id] if clip.interval is not None]
        return sorted(found, key=lambda pair: (pair[1].start_s, pair[1].end_s, pair[0]))

    def unit_of(key: tuple[str, str]) -> UnitContext:
        unit = tables[key[0]][key[1]]
        if isinstance(unit, QAChain):
            return UnitContext(unit.turns, (str(unit.clip_id),) if unit.clip_id is not None else ())
        if isinstance(unit, Dialogue):
            return UnitContext(unit.turns, tuple(map(str, unit.clip_ids)))
        turns: list[Turn | None] = []
        about: tuple[str, ...] = ()
        for step in unit.steps:
            source = units.get((step.ref.unit, step.ref.unit_id))
            own = source.turns[step.ref.turn_index] if source and step.ref.turn_index < len(source.turns) else None
            # A reworded turn may leave out unchanged fields.
            turns.append(step.turn if step.turn is not None and step.turn.evidence else own or step.turn)
            about += source.clip_ids if source else ()
        return UnitContext(tuple(turns), tuple(dict.fromkeys(about)))

    units = CachedMapping(lambda: ((kind, name) for kind, table in tables.items() for name in table), unit_of)
    return BenchmarkContext(
        videos=NamedRows(benchmark.table(VIDEOS)),
        clips=CachedMapping(lambda: iter(timed), intervals_of),
        units=units,
        activities={clip.id: sys.intern(activity) for clip in clips if (activity := clip_activity(clip))},
    )


CACHED_VALUES: Final = 16
"""Number of values that `CachedMapping` keeps: a path reads several chains, and pages ask for a unit many times."""


class CachedMapping(Mapping[K, V]):
    """Values that are read when you ask for one; the last few are kept.

    Args:
        keys: Returns all keys.
        read: Reads the value of a key; raises KeyError if there is none.
    """

    def __init__(self, keys: Callable[[], Iterator[K]], read: Callable[[K], V]) -> None:
        self._keys, self._read = keys, lru_cache(maxsize=CACHED_VALUES)(read)

    def __getitem__(self, key: K) -> V:
        return self._read(key)

    def __iter__(self) -> Iterator[K]:
        return self._keys()

    def __len__(self) -> int:
        return sum(1 for _ in self)


NEAR_ZERO_FOR_ONE_ANSWER: Final = frozenset({"bleu_2", "bleu_3", "bleu_4"})
"""Metrics that are not shown beside a single answer: few short answers share any pair of words with a reference."""

HEAT_LEVELS: Final = 5

LONGEST_TEXT: Final = 8_000
"""Maximum length of a text on a page; some models repeat themselves endlessly."""
PAGE_CHARACTERS: Final = 450_000
"""Characters after which a dialogue continues on another page. A character takes up to three bytes, or five if escaped,
so a page stays below 2 MB except for texts made to exceed it."""
CELL_CHARACTERS: Final = 400
"""Characters of markup around an answer, or around one score of a judge."""


@dataclass(slots=True)
class ShownAnswer:
    """One model's cell of a turn."""

    text: str | None = None
    """None if the model's run has no answer to the turn."""
    state: AnswerState = AnswerState.ANSWERED
    other_question: str | None = None
    """The question that this model was asked, if it differs from the one shown."""
    other_references: tuple[str, ...] | None = None
    scores: dict[str, float] = field(default_factory=dict)
    reason: str | None = None
    """Why there is no answer."""
    facts: tuple[str, ...] = ()
    """How the answer was produced: frames, history, times, tokens."""
    frames_s: tuple[float, ...] = ()
    """Times of the frames that the model saw."""
    verdicts: Sequence[ShownVerdict] = ()
    """The judges' verdicts."""

    @property
    def is_missing(self) -> bool:
        """True if an answer is missing. An answer that was only needed for the history is fine without a reason."""
        return self.state is not AnswerState.ANSWERED and (
            self.state is not AnswerState.NOT_SCORED or bool(self.reason)
        )


@dataclass(slots=True)
class ShownTurn:
    """A question with every model's answer, in the leaderboard's order."""

    number: int
    """From 1."""
    anchor: str
    question: str
    references: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    answers: list[ShownAnswer]
    asked_at_s: float | None = None
    task: str | None = None
    options: tuple[tuple[str, bool], ...] = ()
    """The choices in the benchmark's order, and whether each is right."""
    checklist: tuple[tuple[str, bool], ...] = ()
    """Questions, and whether `yes` is expected."""
    unit: str = "dialogue"
    """The kind of unit: `chain`, `path` or `dialogue`."""
    index: int = 0
    """From 0, as the run has it."""
    file: str = ""
    """Its page below `dialogues/`."""


@dataclass(slots=True)
class ShownDialogue:
    """The content of one page."""

    unit_id: str
    video_id: str
    file: str
    turns: list[ShownTurn]
    title: str = ""
    """Its name for people, as in `ListedDialogue`."""
    verdicts: list[Sequence[ShownVerdict]] = field(default_factory=list)
    """Verdicts on each model's answers as a whole, in the leaderboard's order."""


DUE_STATES: Final = [state.value for state in AnswerState if state.is_due]
"""States of turns that should have a score."""


class ListedDialogue(NamedTuple):
    """A dialogue in lists and links."""

    title: str
    """Its name for people, unique in the report."""
    file: str
    """Its page below `dialogues/`."""
    unit_id: str
    video_id: str
    turns: int
    """Number of turns."""


class RunDialogues(Sequence[ShownDialogue]):
    """The dialogues of runs in order of their names. The texts of a dialogue are read when you ask for it.

    Args:
        board: The models, with their runs.
        verdicts: `RunVerdicts` of each run, by the run's `id`.
        context: The benchmark of the runs, for titles.

    Raises:
        BenchmarkError: A run contradicts itself; also raised when a dialogue is read.
        InputError: A run's file is damaged; also raised when a dialogue is read.
    """

    def __init__(
        self,
        board: Leaderboard,
        verdicts: Mapping[int, Mapping[Place, Sequence[ShownVerdict]]] | None = None,
        context: BenchmarkContext | None = None,
    ) -> None:
        import polars as pl

        self._board, self._judged = board, verdicts or {}
        units = board.answers.select("unit_id", "video_id").unique(maintain_order=True)
        keys = sorted(units.cast(pl.String).iter_rows(), key=lambda key: (_natural(key[0]), key))
        names = pl.DataFrame(keys, units.schema, orient="row").with_row_index("dialogue")
        answers = board.answers.join(names, on=["unit_id", "video_id"], maintain_order="left")
        answers = answers.sort("dialogue", maintain_order=True)
        turn = ["dialogue", "item_id"]
        self.turns: pl.DataFrame = (
            answers.unique(turn, keep="first", maintain_order=True)
            .sort("dialogue", "turn_index", "item_id", maintain_order=True)
            .with_row_index("turn")
        )
        """A row for each turn in the order of pages, as the first model was asked it: its `dialogue`, and so on."""
        self.answers: pl.DataFrame = answers.join(self.turns.select(*turn, "turn"), on=turn, maintain_order="left")
        """A row for each answer, with the columns of `board.answers`, its `turn` and its `dialogue`."""
        self.listed = _listed(keys, self.turns, context or BenchmarkContext())
        """(D,) all dialogues."""
        columns = [column for column in answers.columns if column.startswith(SCORE)]
        self._metrics = [column.removeprefix(SCORE) for column in columns]
        self._rows = answers.select("run", "row", "column", *columns)
        self._texts = [run.answers() for run, _ in board.runs]
        self._ends = np.cumsum(np.bincount(answers["dialogue"].to_numpy(), minlength=len(keys))).tolist()
        self.scored: list[set[str]] = [set() for _ in board.models]
        """Metrics with a score of a single answer, by model."""
        for column in columns:
            for place in answers.drop_nulls(column)["column"].unique():
                self.scored[place].add(column.removeprefix(SCORE))
        known = set(answers["column"])
        self.answered = [place in known for place in range(len(board.models))]
        """Whether the runs have answers of each model."""
        self._history = [answer_settings(model.run, model.info.model).get("history") for model in board.models]

    def __len__(self) -> int:
        return len(self.listed)

    @overload
    def __getitem__(self, place: int) -> ShownDialogue: ...
    @overload
    def __getitem__(self, place: slice) -> list[ShownDialogue]: ...
    def __getitem__(self, place: int | slice) -> ShownDialogue | list[ShownDialogue]:
        numbers = range(len(self))[place]
        return self._read(numbers) if isinstance(numbers, int) else [self._read(number) for number in numbers]

    @property
    def judged(self) -> bool:
        """False if no run has a judge's verdict."""
        return any(self._judged.values())

    @property
    def videos(self) -> set[str]:
        """Names of the videos that they are about."""
        return {dialogue.video_id for dialogue in self.listed}

    @property
    def metrics(self) -> list[str]:
        """Metrics with a score of any single answer, in the leaderboard's order."""
        return [metric for metric in self._board.metrics if any(metric in scored for scored in self.scored)]

    def lacking(self, metric: str) -> "pl.Series":
        """(A,) true for answers that should have a score by a metric and have none, as they or their judging failed."""
        import polars as pl

        family = metric.split(".")[0]
        own = (pl.col("criterion").cast(pl.String).str.split(".").list.first() == metric) | (
            pl.col("protocol").cast(pl.String).str.replace_all("-", "_") == family
        )
        due = pl.col("state").is_in(DUE_STATES)
        failed = (pl.col("state") == AnswerState.FAILED) | pl.col("failed").fill_null(False)
        scored = pl.col(SCORE + metric).is_not_null() if metric in self._metrics else pl.lit(False)
        answers = self._with_failed(self._board.judgings.filter(own))
        return answers.select(due & failed & ~scored).to_series()

    def failing(self) -> list[int]:
        """Places of dialogues in which an answer or a judge's score is missing.

        An answer that was only needed for the history is missing if there is a reason.
        """
        import polars as pl

        state, reason = pl.col("state"), pl.col("reason").cast(pl.String).fill_null("")
        missing = (state != AnswerState.ANSWERED) & ((state != AnswerState.NOT_SCORED) | (reason != ""))
        judgings = self._board.judgings
        found = set(self._with_failed(judgings).filter(missing | pl.col("failed"))["dialogue"])
        whole = judgings.filter("failed", pl.col("turn_index").is_null()).select("unit_id")
        return sorted(found | set(self.turns.join(whole, on="unit_id", how="semi")["dialogue"]))

    def _with_failed(self, judgings: "pl.DataFrame") -> "pl.DataFrame":
        """The answers, with `failed` true for those of which a judging failed."""
        place = ["column", "unit_id", "turn_index"]
        failed = judgings.filter("failed").select(*place, "failed").unique()
        return self.answers.join(failed, on=place, how="left", maintain_order="left")

    def means(self, metric: str) -> NDArray[np.float64]:
        """(D, M) each model's mean over the turns with a score; NaN if there are none, or if it is withheld."""
        import polars as pl

        means = np.full((len(self), len(self._board.models)), np.nan)
        if metric not in self._metrics:
            return means
        groups = self.answers.select("dialogue", "column", value=SCORE + metric, lacking=self.lacking(metric))
        for place, column, values, lacking in (
            groups.group_by("dialogue", "column").agg(pl.col("value").drop_nulls(), pl.col("lacking").sum()).iter_rows()
        ):
            if values and not is_withheld(len(values), lacking):
                means[place, column] = fmean(values)
        return means

    def _read(self, number: int) -> ShownDialogue:
        listed, models = self.listed[number], self._board.models
        turns: dict[str, ShownTurn] = {}
        start = self._ends[number - 1] if number else 0
        for run, own in groupby(self._rows[start : self._ends[number]].rows(), key=itemgetter(0)):
            path = self._board.runs[run][0].path / ANSWERS
            places = list(own)
            answers = plain_rows(self._texts[run].at([row for _, row, *_ in places]), AnsweredTurn)
            for answer, (_, _, column, *scores) in zip(answers, places, strict=True):
                item_id, played = answer["item_id"], answer.get("played")
                turn = turns.get(item_id)
                if turn is None:
                    turn = turns[item_id] = _turn(answer, len(models))
                cell = turn.answers[column]
                if cell.text is not None:
                    raise BenchmarkError(
                        f"{path} has two answers of model {answer['model']!r} to {item_id!r}; score the answers again"
                    )
                known = zip(self._metrics, scores, strict=True)
                _fill(cell, turn, answer, {metric: value for metric, value in known if value is not None})
                if played is not None:
                    cell.facts = _facts(played, self._history[column])
                    cell.frames_s = tuple(played.get("frames_s", ()))
                cell.verdicts = self._verdicts(column, listed.unit_id, turn.index)
        verdicts = [self._verdicts(column, listed.unit_id, None) for column in range(len(models))]
        dialogue = ShownDialogue(
            listed.unit_id, listed.video_id, listed.file, _in_order(turns), listed.title, verdicts=verdicts
        )
        _lay_out(dialogue)
        return dialogue

    def _verdicts(self, column: int, unit_id: str, turn_index: int | None) -> Sequence[ShownVerdict]:
        model = self._board.models[column]
        return self._judged.get(id(model.run), {}).get((model.info.model, unit_id, turn_index), ())


TITLE_CHARACTERS: Final = 60
"""Maximum length of a question in the title of its dialogue."""
TITLE_ACTIVITIES: Final = 2
"""Maximum number of activities in a title."""


def _listed(keys: Sequence[tuple[str, str]], turns: "pl.DataFrame", context: BenchmarkContext) -> list[ListedDialogue]:
    """Dialogues with their files and titles for people; repeated titles get a number."""
    import polars as pl

    units = Counter(unit_id for unit_id, _ in keys)
    topics = {video.category for video in context.videos.values()}
    firsts = turns.group_by("dialogue", maintain_order=True).agg(pl.first("unit", "task", "question"), count=pl.len())
    times: Counter[str] = Counter()
    found = []
    for (unit_id, video_id), (_, unit, task, question, count) in zip(keys, firsts.iter_rows(), strict=True):
        known = context.units.get((unit, unit_id))
        clips = known.clip_ids if known is not None else ()
        activities = list(dict.fromkeys(context.activities[clip] for clip in clips if clip in context.activities))
        video = context.videos.get(video_id)
        questions = f"{count:,} question{'s' if count != 1 else ''}"
        if activities:
            between = " → " if unit == "path" else ", "
            more = " …" if len(activities) > TITLE_ACTIVITIES else ""
            parts = [between.join(activities[:TITLE_ACTIVITIES]) + more, questions]
        elif video is not None and video.category and len(topics) > 1:
            parts = [video.category.replace("_", " "), questions, video_id]
        else:
            parts = [_shortened(question), questions, video_id]
        named = [label_title("mt_video_bench.task", task).replace("_", " ")] if task else []
        title = " · ".join([*named, *parts])
        times[title] += 1
        title = title if times[title] == 1 else f"{title} ({times[title]})"
        found.append(ListedDialogue(title, _file_name(unit_id, video_id, units[unit_id] > 1), unit_id, video_id, count))
    return found


def _shortened(question: str) -> str:
    """A question on one line, cut after a word if it is long."""
    line = " ".join(question[: 4 * TITLE_CHARACTERS].split())
    if len(line) <= TITLE_CHARACTERS:
        return line or "(no question)"
    cut = line[:TITLE_CHARACTERS]
    start, _, _ = cut.rpartition(" ")
    return f"{start if len(start) > TITLE_CHARACTERS // 2 else cut}…"


def limit_text(text: str) -> str:
    """A text for a page: a very long text is cut, with a note at its end."""
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]} … [{len(text) - LONGEST_TEXT:,} more characters are in the run's files]"


def _lay_out(dialogue: ShownDialogue) -> None:
    """Assign each turn to a page: one page for all, or several if it would be too large."""
    pages, size = 1, 0
    for turn in dialogue.turns:
        length = _length(turn)
        if size and size + length > PAGE_CHARACTERS:
            pages, size = pages + 1, 0
        size += length
        # Hashed names have 16 characters after the dot, so they never equal these.
        turn.file = dialogue.file if pages == 1 else f"{dialogue.file.removesuffix('.html')}.part{pages}.html"


def _length(turn: ShownTurn) -> int:
    """Approximate number of characters of a turn on its page."""
    texts = [turn.question, *turn.references, *(option for option, _ in turn.options)]
    texts += [question for question, _ in turn.checklist]
    length = sum(map(len, texts))
    for answer in turn.answers:
        length += CELL_CHARACTERS + min(len(answer.text or ""), LONGEST_TEXT) + len(answer.other_question or "")
        for verdict in answer.verdicts:
            length += CELL_CHARACTERS * len(verdict.scores) + sum(min(len(r), LONGEST_TEXT) for r in verdict.replies)
            said = {
                given.explanation
                for score in verdict.scores
                for given in (*score.given, *score.official)
                if given.explanation
            }
            length += sum(min(len(text), LONGEST_TEXT) for text in said)
    return length


def item_metrics(dialogues: RunDialogues) -> list[str]:
    """Metrics to show in columns for each answer; judges' scores are shown below it with explanations."""
    known = dialogues.metrics
    if dialogues.judged:
        known = [metric for metric in known if metric_kind(metric) == "text"]
    telling = [metric for metric in known if metric not in NEAR_ZERO_FOR_ONE_ANSWER]
    return telling or known


def mean_metric(metrics: Sequence[str]) -> str | None:
    """Which of the metrics the list of dialogues shows: a judged one where there is one; None if there is none."""
    judged = [metric for metric in metrics if metric_kind(metric) == "headline"]
    ranks = {info.name: info.answer_rank for info in TEXT_METRICS.values() if info.answer_rank is not None}
    preferred = sorted((metric for metric in metrics if metric in ranks), key=ranks.__getitem__)
    return next(iter([*judged, *preferred, *metrics]), None)


def heat_borders(values: Sequence[float]) -> list[float]:
    """The borders between the fifths of some values; empty if they are all equal."""
    if not values or min(values) == max(values):
        return []
    return quantiles(values, n=HEAT_LEVELS, method="inclusive")


def heat_level(value: float | None, borders: Sequence[float]) -> int:
    """The fifth of all values in which a value is, from 0 for the lowest; 0 for zero and without a value."""
    return bisect_right(borders, value) if value else 0


def _turn(answer: dict[str, Any], models: int) -> ShownTurn:
    checklist = answer.get("checklist") or {}
    right = answer.get("correct_option")
    return ShownTurn(
        answer["turn_index"] + 1,
        "",
        answer["question"],
        tuple(answer["references"]),
        {name: tuple(labels) for name, labels in answer.get("labels", {}).items()},
        [ShownAnswer() for _ in range(models)],
        asked_at_s=answer.get("asked_at_s"),
        task=answer.get("task"),
        options=tuple((option, index == right) for index, option in enumerate(answer.get("options") or ())),
        checklist=tuple((item["question"], item["expected"]) for item in checklist.get("items", ())),
        unit=answer.get("unit", "dialogue"),
        index=answer["turn_index"],
    )


def _fill(cell: ShownAnswer, turn: ShownTurn, answer: dict[str, Any], scores: dict[str, float]) -> None:
    cell.text, cell.scores, cell.reason = answer["text"], scores, answer.get("reason")
    cell.state = _STATES[answer.get("state", AnswerState.ANSWERED)]
    if answer["question"] != turn.question:
        cell.other_question = answer["question"]
    if (references := tuple(answer["references"])) != turn.references:
        cell.other_references = references


_STATES: Final = {state.value: state for state in AnswerState}


def _facts(played: dict[str, Any], history: str | None) -> tuple[str, ...]:
    """How an answer was produced, as text."""
    facts = [_frames(played.get("frames_s", ()), played.get("new_frames", 0))]
    # The other settings of a model are on its page.
    if history is not None and history.startswith("corrupted"):
        facts.append(f"history: {history.replace('corrupted-', 'corrupted, wrong at turn ')}")
    if played.get("corrupted"):
        facts.append("the turns after it are told a wrong answer in its place")
    took_s, first_token_s = played.get("took_s"), played.get("first_token_s")
    if took_s is not None:
        first = f", first token after {_seconds(first_token_s)}" if first_token_s is not None else ""
        facts.append(f"{_seconds(took_s)}{first}")
    prompt, completion = played.get("prompt_tokens"), played.get("completion_tokens")
    if prompt is not None and completion is not None:
        facts.append(f"{prompt:,} + {completion:,} tokens")
    if (kept := played.get("memory_bytes")) is not None:
        facts.append(f"{kept / 2**20:.2f} MiB kept")
    if played.get("cached"):
        facts.append("kept from an earlier run")
    return tuple(facts)


def _frames(times: Sequence[float], new: int) -> str:
    if not times:
        return "no frames"
    count = f"{len(times):,} frame{'s' if len(times) != 1 else ''}"
    when = f"{min(times):.1f} s" if len(times) == 1 else f"{min(times):.1f}–{max(times):.1f} s"
    return f"{count}, {when}{'' if new == len(times) else f', {new:,} new'}"


def _seconds(time_s: float) -> str:
    return f"{time_s:.2f} s" if time_s < 10 else f"{time_s:.1f} s"


def _in_order(turns: dict[str, ShownTurn]) -> list[ShownTurn]:
    ordered = [turn for _, turn in sorted(turns.items(), key=lambda pair: (pair[1].number, pair[0]))]
    times: Counter[int] = Counter()
    for turn in ordered:
        times[turn.number] += 1
        turn.anchor = f"turn-{turn.number}" + (f"-{times[turn.number]}" if times[turn.number] > 1 else "")
    return ordered


def _file_name(unit_id: str, video_id: str, is_shared: bool) -> str:
    """A dialogue's file name: safe on every system, and unique even if case is ignored or several have one name."""
    plain = re.sub(r"[^a-z0-9_-]", "_", unit_id.lower())[:80]
    if plain != unit_id or plain in RESERVED_NAMES or is_shared:
        # A plain name has no dot, so it never equals a hashed one.
        plain += "." + hashlib.sha256(f"{unit_id}\n{video_id}".encode()).hexdigest()[:16]
    return f"{plain}.html"


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts `d2` before `d10`."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]
