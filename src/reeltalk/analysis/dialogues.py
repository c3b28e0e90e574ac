"""The dialogues of runs, each turn with all models' answers and verdicts, and the evidence from the benchmark."""

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, quantiles
from typing import Final

from reeltalk.analysis.columns import answer_settings, metric_kind
from reeltalk.analysis.leaderboard import RESERVED_NAMES, Leaderboard
from reeltalk.analysis.verdicts import Place, ShownVerdict
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.scoring import TEXT_METRICS
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.dialogue import ChecklistItem, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import label_title
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.runs import is_withheld
from reeltalk.schema.titles import activity_title
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import ANSWERS, INFO
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, PATHS, VIDEOS


@dataclass(frozen=True)
class UnitContext:
    """One chain, path or dialogue."""

    turns: tuple[Turn | None, ...]
    """None for a turn of a path whose chain is missing."""
    clip_ids: tuple[str, ...]


@dataclass
class BenchmarkContext:
    """All dialogues, chains and paths of a benchmark in memory, with its videos and clips."""

    videos: dict[str, Video] = field(default_factory=dict)
    clips: dict[str, list[tuple[str, Interval]]] = field(default_factory=dict)
    """Names and known intervals of clips by video, in order of time."""
    units: dict[tuple[str, str], UnitContext] = field(default_factory=dict)
    """By kind (`chain`, `path` or `dialogue`) and id."""
    activities: dict[str, str] = field(default_factory=dict)
    """What is done in a clip, by the clip's id, such as `Wash dishes`; only clips whose source says it."""

    def about(self, unit: str, unit_id: str, video_id: str) -> Interval | None:
        """From the first to the last moment that a unit is about, as its clips say; None if nobody says it."""
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
        """Where the answer to one turn can be seen.

        Args:
            unit: `chain`, `path` or `dialogue`.
            unit_id: Its id.
            index: The turn's place, from 0.
        """
        found = self.units.get((unit, unit_id))
        turn = found.turns[index] if found is not None and index < len(found.turns) else None
        return turn.evidence if turn is not None else ()


def clip_activity(clip: Clip) -> str:
    """What is done in a clip, such as `Wash dishes`; empty if its source does not say it."""
    activity = clip.extra.get("activity")
    return activity_title(activity) if isinstance(activity, str) else ""


def read_context(benchmark: Benchmark) -> BenchmarkContext:
    """Read a benchmark's dialogues, chains and paths.

    Raises:
        InputError: A table is damaged.
    """
    found = BenchmarkContext(videos={video.id: video for video in benchmark.read(VIDEOS)})
    for clip in benchmark.read(CLIPS):
        if clip.interval is not None:
            found.clips.setdefault(clip.video_id, []).append((clip.id, clip.interval))
        if activity := clip_activity(clip):
            found.activities[clip.id] = activity
    for clips in found.clips.values():
        clips.sort(key=lambda pair: (pair[1].start_s, pair[1].end_s, pair[0]))
    for chain in benchmark.read(CHAINS):
        clip_ids = (str(chain.clip_id),) if chain.clip_id is not None else ()
        found.units["chain", chain.id] = UnitContext(chain.turns, clip_ids)
    for dialogue in benchmark.read(DIALOGUES):
        found.units["dialogue", dialogue.id] = UnitContext(dialogue.turns, tuple(map(str, dialogue.clip_ids)))
    for path in benchmark.read(PATHS):
        turns: list[Turn | None] = []
        about: tuple[str, ...] = ()
        for step in path.steps:
            unit = found.units.get((step.ref.unit, step.ref.unit_id))
            own = unit.turns[step.ref.turn_index] if unit and step.ref.turn_index < len(unit.turns) else None
            # A reworded turn may leave out unchanged fields.
            turns.append(step.turn if step.turn is not None and step.turn.evidence else own or step.turn)
            about += unit.clip_ids if unit else ()
        found.units["path", path.id] = UnitContext(tuple(turns), tuple(dict.fromkeys(about)))
    return found


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

    def lacks(self, metric: str) -> bool:
        """True if the answer should have a score by a metric and has none: it failed, or its judging did."""
        if metric in self.scores or not self.state.is_due:
            return False
        family = metric.split(".")[0]
        return self.state is AnswerState.FAILED or any(
            score.failed
            for verdict in self.verdicts
            for score in verdict.scores
            if score.criterion == metric or verdict.protocol.replace("-", "_") == family
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
    checklist: tuple[ChecklistItem, ...] = ()
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
    """Its name for people, unique in the report."""
    verdicts: list[Sequence[ShownVerdict]] = field(default_factory=list)
    """Verdicts on each model's answers as a whole, in the leaderboard's order."""

    def means(self, metric: str) -> list[float | None]:
        """Each model's mean over the turns with a score; None if there are none, or if it is withheld."""
        means: list[float | None] = []
        for index in range(len(self.turns[0].answers)):
            found = [turn.answers[index].scores[metric] for turn in self.turns if metric in turn.answers[index].scores]
            lacking = sum(turn.answers[index].lacks(metric) for turn in self.turns)
            means.append(fmean(found) if found and not is_withheld(len(found), lacking) else None)
        return means


def collect_dialogues(
    board: Leaderboard, verdicts: Mapping[int, Mapping[Place, Sequence[ShownVerdict]]] | None = None
) -> list[ShownDialogue]:
    """All dialogues in order of their names, with all answers of the runs in memory.

    Args:
        board: The models, with their runs.
        verdicts: The result of `verdicts_of` for each run, by the run's `id`.

    Raises:
        BenchmarkError: A run contradicts itself.
        InputError: A run's file is damaged.
    """
    found: dict[tuple[str, str], dict[str, ShownTurn]] = {}
    judged = verdicts or {}
    for run in {id(model.run): model.run for model in board.models}.values():
        places = {model.info.model: index for index, model in enumerate(board.models) if model.run is run}
        # The board shows equal floors of several runs once.
        known = {info.model for info in run.info.models}
        scores = {(row.model, row.item_id): row.scores for row in run.item_scores()}
        said = judged.get(id(run), {})
        history = {model: answer_settings(run, model).get("history") for model in places}
        for answer in run.answers():
            if answer.model not in known:
                raise BenchmarkError(
                    f"{run.path / ANSWERS} has an answer of model {answer.model!r}, which {INFO} does not list; "
                    "score the answers again"
                )
            if answer.model not in places:
                continue
            turns = found.setdefault((answer.unit_id, answer.video_id), {})
            turn = turns.get(answer.item_id)
            if turn is None:
                turn = turns[answer.item_id] = _turn(answer, len(board.models))
            cell = turn.answers[places[answer.model]]
            if cell.text is not None:
                raise BenchmarkError(
                    f"{run.path / ANSWERS} has two answers of model {answer.model!r} to {answer.item_id!r}; "
                    "score the answers again"
                )
            _fill(cell, turn, answer, scores.get((answer.model, answer.item_id), {}))
            cell.facts = _facts(answer.played, history[answer.model])
            cell.frames_s = answer.played.frames_s if answer.played is not None else ()
            cell.verdicts = said.get((answer.model, answer.unit_id, answer.turn_index), ())
    names = _file_names(list(found))
    dialogues = [
        ShownDialogue(
            unit_id,
            video_id,
            names[unit_id, video_id],
            _in_order(found[unit_id, video_id]),
            verdicts=[
                judged.get(id(model.run), {}).get((model.info.model, unit_id, None), ()) for model in board.models
            ],
        )
        for unit_id, video_id in sorted(found, key=lambda key: (_natural(key[0]), key))
    ]
    for dialogue in dialogues:
        _lay_out(dialogue)
    title_dialogues(dialogues, BenchmarkContext())
    return dialogues


TITLE_CHARACTERS: Final = 60
"""Maximum length of a question in the title of its dialogue."""
TITLE_ACTIVITIES: Final = 2
"""Maximum number of activities in a title."""


def title_dialogues(dialogues: Sequence[ShownDialogue], context: BenchmarkContext) -> None:
    """Name dialogues, chains and paths for people, by their activities, their video's topic or their first question.

    Examples are `Wash dishes · 6 questions` and `Where does he sit? · 4 questions · kitchen-0001`. Repeated titles get
    a number.

    Args:
        dialogues: All dialogues of a report; each gets its `title`.
        context: Their benchmark, if there is one.
    """
    topics = {video.category for video in context.videos.values()}
    taken: Counter[str] = Counter()
    for dialogue in dialogues:
        first = dialogue.turns[0]
        unit = context.units.get((first.unit, dialogue.unit_id))
        video = context.videos.get(dialogue.video_id)
        clips = unit.clip_ids if unit is not None else ()
        activities = list(dict.fromkeys(context.activities[clip] for clip in clips if clip in context.activities))
        count = f"{len(dialogue.turns):,} question{'s' if len(dialogue.turns) != 1 else ''}"
        if activities:
            between = " → " if first.unit == "path" else ", "
            more = " …" if len(activities) > TITLE_ACTIVITIES else ""
            parts = [between.join(activities[:TITLE_ACTIVITIES]) + more, count]
        elif video is not None and video.category and len(topics) > 1:
            parts = [video.category.replace("_", " "), count, dialogue.video_id]
        else:
            parts = [_shortened(first.question), count, dialogue.video_id]
        task = [label_title("mt_video_bench.task", first.task).replace("_", " ")] if first.task else []
        title = " · ".join([*task, *parts])
        taken[title] += 1
        dialogue.title = title if taken[title] == 1 else f"{title} ({taken[title]})"


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
    texts += [item.question for item in turn.checklist]
    length = sum(map(len, texts))
    for answer in turn.answers:
        length += CELL_CHARACTERS + min(len(answer.text or ""), LONGEST_TEXT) + len(answer.other_question or "")
        for verdict in answer.verdicts:
            length += CELL_CHARACTERS * len(verdict.scores) + sum(min(len(r), LONGEST_TEXT) for r in verdict.replies)
            said = {given.said for score in verdict.scores for given in (*score.given, *score.official) if given.said}
            length += sum(min(len(text), LONGEST_TEXT) for text in said)
    return length


def scored_metrics(board: Leaderboard, dialogues: Sequence[ShownDialogue]) -> list[str]:
    """Metrics with a score of any single answer, in the leaderboard's order."""
    scored = {
        metric
        for dialogue in dialogues
        for turn in dialogue.turns
        for answer in turn.answers
        for metric in answer.scores
    }
    return [metric for metric in board.metrics if metric in scored]


def item_metrics(board: Leaderboard, dialogues: Sequence[ShownDialogue]) -> list[str]:
    """Metrics to show in columns for each answer; judges' scores are shown below it with explanations.

    Args:
        board: The leaderboard, for their order.
        dialogues: All dialogues.
    """
    known = scored_metrics(board, dialogues)
    if any(answer.verdicts for dialogue in dialogues for turn in dialogue.turns for answer in turn.answers):
        known = [metric for metric in known if metric_kind(metric) == "text"]
    telling = [metric for metric in known if metric not in NEAR_ZERO_FOR_ONE_ANSWER]
    return telling or known


def mean_metric(metrics: Sequence[str]) -> str | None:
    """Which of the metrics the list of dialogues shows: a judged one where there is one; None if there is none."""
    judged = [metric for metric in metrics if metric_kind(metric) == "headline"]
    ranks = {info.name: info.answer_rank for info in TEXT_METRICS.values() if info.answer_rank is not None}
    preferred = sorted((metric for metric in metrics if metric in ranks), key=ranks.__getitem__)
    return next(iter([*judged, *preferred, *metrics]), None)


def heat_levels(rows: Sequence[Sequence[float | None]]) -> list[list[int]]:
    """The fifth of all values in which each value is, from 0 for the lowest; 0 without a value."""
    values = [value for row in rows for value in row if value is not None]
    if len(set(values)) < 2:
        return [[0 for _ in row] for row in rows]
    borders = quantiles(values, n=HEAT_LEVELS, method="inclusive")
    return [[0 if value is None else bisect_right(borders, value) for value in row] for row in rows]


def _turn(answer: AnsweredTurn, models: int) -> ShownTurn:
    answers = [ShownAnswer() for _ in range(models)]
    options = enumerate(answer.options or ())
    return ShownTurn(
        answer.turn_index + 1,
        "",
        answer.question,
        answer.references,
        answer.labels,
        answers,
        asked_at_s=answer.asked_at_s,
        task=answer.task,
        options=tuple((option, index == answer.correct_option) for index, option in options),
        checklist=answer.checklist.items if answer.checklist is not None else (),
        unit=answer.unit,
        index=answer.turn_index,
    )


def _fill(cell: ShownAnswer, turn: ShownTurn, answer: AnsweredTurn, scores: dict[str, float]) -> None:
    cell.text, cell.state, cell.scores, cell.reason = answer.text, answer.state, scores, answer.reason
    if answer.question != turn.question:
        cell.other_question = answer.question
    if answer.references != turn.references:
        cell.other_references = answer.references


def _facts(played: PlayDetails | None, history: str | None) -> tuple[str, ...]:
    """How an answer was produced, as text."""
    if played is None:
        return ()
    facts = [_frames(played)]
    # The other settings of a model are on its page.
    if history is not None and history.startswith("corrupted"):
        facts.append(f"history: {history.replace('corrupted-', 'corrupted, wrong at turn ')}")
    if played.corrupted:
        facts.append("the turns after it are told a wrong answer in its place")
    if played.took_s is not None:
        first = f", first token after {_seconds(played.first_token_s)}" if played.first_token_s is not None else ""
        facts.append(f"{_seconds(played.took_s)}{first}")
    if played.prompt_tokens is not None and played.completion_tokens is not None:
        facts.append(f"{played.prompt_tokens:,} + {played.completion_tokens:,} tokens")
    if played.memory_bytes is not None:
        facts.append(f"{played.memory_bytes / 2**20:.2f} MiB kept")
    if played.cached:
        facts.append("kept from an earlier run")
    return tuple(facts)


def _frames(played: PlayDetails) -> str:
    times = played.frames_s
    if not times:
        return "no frames"
    count = f"{len(times):,} frame{'s' if len(times) != 1 else ''}"
    when = f"{min(times):.1f} s" if len(times) == 1 else f"{min(times):.1f}–{max(times):.1f} s"
    new = "" if played.new_frames == len(times) else f", {played.new_frames:,} new"
    return f"{count}, {when}{new}"


def _seconds(time_s: float) -> str:
    return f"{time_s:.2f} s" if time_s < 10 else f"{time_s:.1f} s"


def _in_order(turns: dict[str, ShownTurn]) -> list[ShownTurn]:
    ordered = [turn for _, turn in sorted(turns.items(), key=lambda pair: (pair[1].number, pair[0]))]
    times: Counter[int] = Counter()
    for turn in ordered:
        times[turn.number] += 1
        turn.anchor = f"turn-{turn.number}" + (f"-{times[turn.number]}" if times[turn.number] > 1 else "")
    return ordered


def _file_names(dialogues: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A file name for every dialogue: safe on every system, and unique even if case is ignored."""
    shared = {unit_id for unit_id, count in Counter(unit_id for unit_id, _ in dialogues).items() if count > 1}
    names = {}
    for unit_id, video_id in dialogues:
        plain = re.sub(r"[^a-z0-9_-]", "_", unit_id.lower())[:80]
        if plain != unit_id or plain in RESERVED_NAMES or unit_id in shared:
            # A plain name has no dot, so it never equals a hashed one.
            plain += "." + hashlib.sha256(f"{unit_id}\n{video_id}".encode()).hexdigest()[:16]
        names[unit_id, video_id] = f"{plain}.html"
    return names


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts `d2` before `d10`."""
    parts = re.split(r"([0-9]+)", name)
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]
