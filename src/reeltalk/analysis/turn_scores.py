"""Every turn of a run with its scores and tags. Comparisons, calibration and profiles start from these."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import metric_kind, share_of
from reeltalk.analysis.dialogues import ShownDialogue
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.judge.protocol import credit_measures, measure_caution
from reeltalk.metrics.profile import TAGS, WEIGHTS, TaggedAnswer, highest_thinking
from reeltalk.schema.answers import AnswerState
from reeltalk.schema.dialogue import DialoguePath, TurnRef
from reeltalk.schema.runs import ItemScores, is_withheld
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import ANSWERS, ITEMS, Run
from reeltalk.store.tables import CHAINS, DIALOGUES, LINKAGES, PATHS

RIGHT: Final = 0.5
"""An answer with more credit is right, as in the measures of `evaluate`."""


@dataclass(frozen=True)
class ScoredTurn:
    """The scores of one model's answer to one turn, without its text."""

    model: str
    item_id: str
    """The key for comparing turns of two models."""
    video_id: str
    unit_id: str
    turn_index: int
    state: AnswerState
    task: str | None
    labels: dict[str, tuple[str, ...]]
    scores: dict[str, float]
    """By metric; metrics without a value are absent."""
    planted: bool = False
    """True if the history of later turns has a wrong answer instead of this one."""

    def credit(self, metric: str) -> float | None:
        """How right the answer is by a metric, from 0 to 1; None without a value or scale."""
        value = self.scores.get(metric)
        return None if value is None else share_of(metric, value)


def credit_metric(metrics: Iterable[str]) -> str | None:
    """Select the metric that best measures how right an answer is.

    Args:
        metrics: Metrics with values of single turns.

    Returns:
        The most exact measure of correctness, else any other judged one, else a text metric; None if none has a
        scale.
    """
    there = [metric for metric in metrics if share_of(metric, 0.0) is not None]
    judged = [metric for metric in there if metric_kind(metric) == "headline"]
    wanted = [*(metric for metric in credit_measures() if metric in there), *judged, *there]
    return next((metric for metric in wanted if not measure_caution(metric)), None)


def scored_turns(run: Run) -> Iterator[ScoredTurn]:
    """Every answer of a run with its scores, model by model, read one row at a time.

    Args:
        run: The run.

    Raises:
        BenchmarkError: The table of scores does not have the answers' order.
        InputError: A table is damaged.
    """
    scores: dict[tuple[str, str], ItemScores] = {}
    found = run.item_scores()
    for answer in run.answers():
        key = (answer.model, answer.item_id)
        # Both tables have the same order, so this dictionary stays empty unless another program wrote them.
        while key not in scores:
            row = next(found, None)
            if row is None:
                raise BenchmarkError(
                    f"{run.path / ITEMS} has no row of model {answer.model!r} and {answer.item_id!r}, which "
                    f"{ANSWERS} has; score the answers again"
                )
            scores[row.model, row.item_id] = row
        yield ScoredTurn(
            answer.model,
            answer.item_id,
            answer.video_id,
            answer.unit_id,
            answer.turn_index,
            answer.state,
            answer.task,
            answer.labels,
            scores.pop(key).scores,
            answer.played is not None and answer.played.corrupted,
        )


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COGME: Final = "cogme."
TARGET, CONTENT, THINKING = "cogme.target", "cogme.content", "cogme.thinking"
TASK: Final = "task"
RELATION: Final = "svbench.relation"
TASK_LABEL: Final = "mt_video_bench.task"
MOST_LABELS: Final = 30
"""A vocabulary with more labels is treated as free text, not as groups."""
VOCABULARY_TITLES: Final = {
    "svbench.skill": "SVBench's skills",
    "vdact.question_type": "VDAct's question types",
    TASK: "Tasks",
    "type": "Types of questions",
    RELATION: "Relations to the turn before",
    "dramaqa.q_level_mem": "DramaQA's levels of memory",
    "dramaqa.q_level_logic": "DramaQA's levels of logic",
    "dramaqa.extent": "Shot or scene",
}
EXTENT, MEMORY = "dramaqa.extent", "dramaqa.q_level_mem"

Labels = Mapping[str, tuple[str, ...]]
Place = tuple[str, int]


@dataclass(frozen=True)
class TaggedTurns:
    """N turns, M models."""

    names: tuple[str, ...]
    """(N,) dialogue and turn."""
    videos: tuple[str, ...]
    """(N,) source video of each turn."""
    weights: Floats
    """(N,) 1 to 3 by the way of thinking; 0 if a turn has none and is not in the profile."""
    tags: Flags
    """(N, 19) in the order of `TAGS`; all False if a turn has no way of thinking."""
    groups: Mapping[str, Mapping[str, Flags]]
    """Other vocabularies, by name: (N,) for each label."""
    credit: Floats
    """(N, M) 0 to 1; NaN if a model has no score."""
    tag_credit: Mapping[str, Floats]
    """(N, M) credit at one tag, if a rubric gives it; else NaN. Most tags have no entry."""
    asked: Flags
    """(N, M) whether the model was asked."""
    measures: tuple[str | None, ...]
    """(M,) measure of how right each model's answers are; None if there is none."""
    unscored: Flags | None = None
    """(N, M) True if a model should have a score and has none; by default none."""
    from_benchmark: int = 0
    """Number of turns with tags from the benchmark."""
    without_thinking: int = 0
    """Number of turns with a target or content but no way of thinking; these cannot be weighted and are left out."""
    crowded: tuple[str, ...] = field(default=())
    """Vocabularies with too many labels to group by."""

    @cached_property
    def video_codes(self) -> NDArray[np.intp]:
        """(N,) the source video of each turn as a number, for faster grouping."""
        return np.unique(np.asarray(self.videos), return_inverse=True)[1]

    @property
    def tagged(self) -> Flags:
        """(N,) True if a turn is in the profile."""
        return self.weights > 0

    @property
    def has_tags(self) -> bool:
        """True if some turn with a score has tags."""
        return bool((self.tagged[:, None] & ~np.isnan(self.credit)).any())

    def withheld(self, model: int, among: Flags) -> bool:
        """True if so many of the given turns lack a score that a model's mean is not quoted.

        Args:
            model: Its place.
            among: (N,) True for the turns.
        """
        missing = 0 if self.unscored is None else int((among & self.unscored[:, model]).sum())
        return is_withheld(int((among & ~np.isnan(self.credit[:, model])).sum()), missing)

    def at_tag(self, tag: str) -> Floats:
        """(N, M) credits at a tag.

        Args:
            tag: One of the 19.
        """
        own = self.tag_credit.get(tag)
        return self.credit if own is None else np.where(np.isnan(own), self.credit, own)

    def answers(self, model: int) -> list[TaggedAnswer]:
        """One model's answers, as input of the profile.

        Args:
            model: Its place.
        """
        thinking = {weight: name for name, weight in WEIGHTS.items()}
        found = []
        for row in np.flatnonzero(self.tagged & ~np.isnan(self.credit[:, model])):
            own = tuple(TAGS[place] for place in np.flatnonzero(self.tags[row]))
            by_tag = {
                tag: float(values[row, model])
                for tag, values in self.tag_credit.items()
                if not np.isnan(values[row, model])
            }
            kind = thinking[int(self.weights[row])]
            found.append(TaggedAnswer(own, kind, float(self.credit[row, model]), by_tag))
        return found


def tagged_turns(
    board: Leaderboard,
    dialogues: Sequence[ShownDialogue],
    benchmark: Benchmark | None = None,
    *,
    credit: str | None = None,
) -> TaggedTurns:
    """All turns of a report.

    Args:
        board: The models. The most exact measure that all of them have is used; if there is none, each model's
            own.
        dialogues: All dialogues with all answers.
        benchmark: The benchmark of the runs, if given.
        credit: A measure to use instead.

    Raises:
        InputError: A table of the benchmark is damaged.
        SettingError: No answer has a score by the chosen measure, or the measure has no scale.
    """
    measures = _measures(board, dialogues, credit)
    more = benchmark_labels(benchmark) if benchmark is not None else {}
    names: list[str] = []
    videos: list[str] = []
    labels: list[Labels] = []
    shares: list[list[float]] = []
    asked: list[list[bool]] = []
    unscored: list[list[bool]] = []
    at_tags: dict[str, list[tuple[int, int, float]]] = {}
    from_benchmark = 0
    for dialogue in dialogues:
        for turn in dialogue.turns:
            own: dict[str, tuple[str, ...]] = dict(turn.labels)
            given = more.get((dialogue.unit_id, turn.number - 1), {})
            if not any(name.startswith(COGME) for name in own) and any(name.startswith(COGME) for name in given):
                from_benchmark += 1
            own = {**given, **own}
            task = (turn.task,) if turn.task is not None else own.get(TASK_LABEL, ())
            if task:
                own[TASK] = task
            names.append(f"{dialogue.unit_id} {turn.number}")
            videos.append(dialogue.video_id)
            labels.append(own)
            row = []
            for model, (answer, measure) in enumerate(zip(turn.answers, measures, strict=True)):
                value = answer.scores.get(measure) if measure is not None else None
                share = share_of(measure, value) if measure is not None and value is not None else None
                row.append(np.nan if share is None else share)
                for tag in TAGS if share is not None and measure is not None else ():
                    if (partial := answer.scores.get(f"{measure}.{tag}")) is not None:
                        at_tags.setdefault(tag, []).append((len(shares), model, partial / 100))
            shares.append(row)
            unscored.append([m is not None and a.lacks(m) for a, m in zip(turn.answers, measures, strict=True)])
            asked.append([a.text is not None and a.state.is_due for a in turn.answers])
    weights, tags, without = _tags(labels)
    groups, crowded = _groups(labels)
    shape = (len(names), len(board.models))
    return TaggedTurns(
        names=tuple(names),
        videos=tuple(videos),
        weights=weights,
        tags=tags,
        groups=groups,
        credit=np.array(shares, np.float64).reshape(shape),
        tag_credit={tag: _scattered(found, shape) for tag, found in at_tags.items()},
        asked=np.array(asked, np.bool_).reshape(shape),
        measures=measures,
        unscored=np.array(unscored, np.bool_).reshape(shape),
        from_benchmark=from_benchmark,
        without_thinking=without,
        crowded=crowded,
    )


def benchmark_labels(benchmark: Benchmark) -> dict[Place, Labels]:
    """Labels of a benchmark's turns by unit and turn index; on paths including the relation to the previous step.

    Args:
        benchmark: The benchmark of the runs.

    Raises:
        InputError: A table is damaged.
    """
    found: dict[Place, Labels] = {}
    for chain in benchmark.read(CHAINS):
        found |= {(chain.id, index): turn.labels for index, turn in enumerate(chain.turns)}
    for dialogue in benchmark.read(DIALOGUES):
        found |= {(dialogue.id, index): turn.labels for index, turn in enumerate(dialogue.turns)}
    linked = {
        ((row.source.unit_id, row.source.turn_index), (row.target.unit_id, row.target.turn_index)): row.relation
        for row in benchmark.read(LINKAGES)
    }
    for path in benchmark.read(PATHS):
        for index, step_labels in enumerate(_steps(path, found)):
            found[path.id, index] = step_labels
        for index, (before, after) in enumerate(pairwise(path.steps), start=1):
            relation = linked.get((_place(before.ref), _place(after.ref)))
            if relation is not None:
                found[path.id, index] = {RELATION: (relation,), **found[path.id, index]}
    return found


def title_of_vocabulary(name: str) -> str:
    """The title of a vocabulary.

    Args:
        name: Name of the vocabulary, such as `svbench.skill`.
    """
    return VOCABULARY_TITLES.get(name, name.replace("_", " "))


def _place(ref: TurnRef) -> Place:
    return ref.unit_id, ref.turn_index


def _steps(path: DialoguePath, found: Mapping[Place, Labels]) -> Iterator[Labels]:
    for step in path.steps:
        yield step.turn.labels if step.turn is not None else found.get(_place(step.ref), {})


def _measures(board: Leaderboard, dialogues: Sequence[ShownDialogue], chosen: str | None) -> tuple[str | None, ...]:
    """The measures of how right answers are: one for all models if they share one."""
    scored: list[dict[str, None]] = [{} for _ in board.models]
    for dialogue in dialogues:
        for turn in dialogue.turns:
            for known, answer in zip(scored, turn.answers, strict=True):
                known.update(dict.fromkeys(answer.scores))
    own = [[metric for metric in board.metrics if metric in known] for known in scored]
    if chosen is not None:
        has = [metric for metric in board.metrics if any(metric in metrics for metrics in own)]
        scaled = [m for m in has if share_of(m, 0.0) is not None and metric_kind(m) in ("headline", "text")]
        if chosen not in scaled:
            raise SettingError(
                f"no answer of these runs has a score by {chosen!r} with a scale; "
                f"measures with one: {', '.join(scaled) or 'none'}"
            )
        return tuple(chosen if chosen in metrics else None for metrics in own)
    there = [metrics for metrics in own if metrics]
    shared = [metric for metric in board.metrics if there and all(metric in known for known in there)]
    common = credit_metric(shared)
    return tuple((common or credit_metric(metrics)) if metrics else None for metrics in own)


def _tags(labels: list[Labels]) -> tuple[Floats, Flags, int]:
    places = {tag: place for place, tag in enumerate(TAGS)}
    weights = np.zeros(len(labels))
    tags = np.zeros((len(labels), len(TAGS)), np.bool_)
    without = 0
    for row, own in enumerate(labels):
        thinking = highest_thinking(own.get(THINKING, ()))
        carried = [tag for tag in (*own.get(TARGET, ()), *own.get(CONTENT, ())) if tag in places]
        if thinking is None:
            without += bool(carried)
            continue
        weights[row] = WEIGHTS[thinking]
        tags[row, [places[tag] for tag in (*carried, thinking.value)]] = True
    return weights, tags, without


def _groups(labels: list[Labels]) -> tuple[dict[str, dict[str, Flags]], tuple[str, ...]]:
    """Every other vocabulary's labels, and the names of those with too many."""
    rows: dict[str, dict[str, list[int]]] = {}
    for row, own in enumerate(labels):
        for name, given in own.items():
            if not name.startswith(COGME) and name != TASK_LABEL:
                for label in given:
                    rows.setdefault(name, {}).setdefault(label, []).append(row)
    known = [name for name in VOCABULARY_TITLES if name in rows]
    order = [*known, *sorted(name for name in rows if name not in VOCABULARY_TITLES)]
    crowded = tuple(name for name in order if len(rows[name]) > MOST_LABELS)
    groups: dict[str, dict[str, Flags]] = {}
    for name in order:
        if name in crowded:
            continue
        groups[name] = {}
        for label in sorted(rows[name]):
            flags = np.zeros(len(labels), np.bool_)
            flags[rows[name][label]] = True
            groups[name][label] = flags
    if MEMORY in groups and EXTENT in groups:
        groups[MEMORY] = {_level(label, flags, groups[EXTENT]): flags for label, flags in groups[MEMORY].items()}
    return groups, crowded


def _level(label: str, flags: Flags, extents: Mapping[str, Flags]) -> str:
    """A level of memory, with the extent in brackets if all its questions have the same (shot or scene)."""
    about = [name for name, where in extents.items() if (where & flags).any()]
    return f"{label} ({about[0]})" if len(about) == 1 else label


def _scattered(found: list[tuple[int, int, float]], shape: tuple[int, int]) -> Floats:
    values = np.full(shape, np.nan)
    for row, model, value in found:
        values[row, model] = value
    return values
