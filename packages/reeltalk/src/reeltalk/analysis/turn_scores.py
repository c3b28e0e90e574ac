"""The turns of a report with their tags and credit, from which profiles are made, and the measure of their credit."""

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import metric_kind, share_of
from reeltalk.analysis.dialogues import KEPT, ShownDialogue, scores_by_model
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.errors import SettingError
from reeltalk.judge.protocol import credit_measures
from reeltalk.metrics.profile import TAGS, WEIGHTS, TaggedAnswer, highest_thinking
from reeltalk.metrics.uncertainty import numbered_clusters
from reeltalk.schema.dialogue import Dialogue, QAChain, TurnRef
from reeltalk.schema.runs import is_withheld
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import NamedRows, rows_by
from reeltalk.store.tables import CHAINS, DIALOGUES, LINKAGES, PATHS

RIGHT: Final = 0.5
"""An answer with more credit is right, as in the measures of `evaluate`."""


def credit_metric(metrics: Iterable[str]) -> str | None:
    """Select the metric that best measures how right an answer is.

    Args:
        metrics: Metrics with values of single turns.

    Returns:
        The most exact measure of correctness, else any other judged one; None if none has a scale. Overlap of words
        does not say whether an answer is right.
    """
    there = [metric for metric in metrics if share_of(metric, 0.0) is not None and metric_kind(metric) != "text"]
    judged = [metric for metric in there if metric_kind(metric) == "headline"]
    wanted = [*(metric for metric in credit_measures() if metric in there), *judged, *there]
    return next(iter(wanted), None)


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

    videos: Sequence[str]
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
        """(N,) the source video of each turn as a number, in the order of their names, for faster grouping."""
        return numbered_clusters(self.videos)

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


class TurnTagger:
    """Collects the turns of dialogues with their tags and each model's credit; add all dialogues, then `collected`.

    Args:
        board: The models. The most exact measure that all of them have is used; if there is none, each model's
            own.
        scored: Metrics with a score of any single answer, for each model.
        benchmark: The benchmark of the runs, if given.
        credit: A measure to use instead.

    Raises:
        InputError: A table of the benchmark is damaged.
        SettingError: No answer has a score by the chosen measure, or the measure has no scale.
    """

    def __init__(
        self,
        board: Leaderboard,
        scored: Sequence[Collection[str]],
        benchmark: Benchmark | None = None,
        *,
        credit: str | None = None,
    ) -> None:
        self._models = len(board.models)
        self._measures = _measures(board, scored, credit)
        self._labels_of = BenchmarkLabels(benchmark) if benchmark is not None else None
        self._videos: list[str] = []
        self._weights, self._shares = array("d"), array("d")
        self._tags, self._asked, self._unscored = bytearray(), bytearray(), bytearray()
        self._groups = _Groups()
        self._at_tags: dict[str, tuple[array[int], array[int], array[float]]] = {}
        self._from_benchmark = self._without = 0

    def add(self, dialogue: ShownDialogue) -> None:
        """Add a dialogue with all answers."""
        more = self._labels_of.of(dialogue.unit_id) if self._labels_of is not None else {}
        for turn in dialogue.turns:
            own: dict[str, tuple[str, ...]] = dict(turn.labels)
            given = more.get(turn.number - 1, {})
            if not any(name.startswith(COGME) for name in own) and any(name.startswith(COGME) for name in given):
                self._from_benchmark += 1
            own = {**given, **own}
            task = (turn.task,) if turn.task is not None else own.get(TASK_LABEL, ())
            if task:
                own[TASK] = task
            self._add_tags(own)
            self._groups.add(len(self._videos), own)
            for model, (answer, measure) in enumerate(zip(turn.answers, self._measures, strict=True)):
                value = answer.scores.get(measure) if measure is not None else None
                share = share_of(measure, value) if measure is not None and value is not None else None
                self._shares.append(np.nan if share is None else share)
                for tag in TAGS if share is not None and measure is not None else ():
                    if (partial := answer.scores.get(f"{measure}.{tag}")) is not None:
                        rows, models, shares = self._at_tags.setdefault(tag, (array("q"), array("q"), array("d")))
                        rows.append(len(self._videos))
                        models.append(model)
                        shares.append(partial / 100)
                self._unscored.append(measure is not None and answer.lacks(measure))
                self._asked.append(answer.text is not None and answer.state.is_due)
            self._videos.append(dialogue.video_id)

    def _add_tags(self, own: Labels) -> None:
        flags = bytearray(len(TAGS))
        thinking = highest_thinking(own.get(THINKING, ()))
        carried = [tag for tag in (*own.get(TARGET, ()), *own.get(CONTENT, ())) if tag in _TAG_PLACES]
        if thinking is None:
            self._without += bool(carried)
        else:
            for tag in (*carried, thinking.value):
                flags[_TAG_PLACES[tag]] = True
        self._weights.append(0.0 if thinking is None else WEIGHTS[thinking])
        self._tags += flags

    def collected(self) -> TaggedTurns:
        """All turns that were added."""
        shape = (len(self._videos), self._models)
        groups, crowded = self._groups.collected(len(self._videos))
        return TaggedTurns(
            videos=self._videos,
            weights=np.array(self._weights, np.float64),
            tags=np.frombuffer(bytes(self._tags), np.bool_).reshape(shape[0], len(TAGS)),
            groups=groups,
            credit=np.array(self._shares, np.float64).reshape(shape),
            tag_credit={tag: _scattered(found, shape) for tag, found in self._at_tags.items()},
            asked=np.frombuffer(bytes(self._asked), np.bool_).reshape(shape),
            measures=self._measures,
            unscored=np.frombuffer(bytes(self._unscored), np.bool_).reshape(shape),
            from_benchmark=self._from_benchmark,
            without_thinking=self._without,
            crowded=crowded,
        )


def tagged_turns(
    board: Leaderboard,
    dialogues: Sequence[ShownDialogue],
    benchmark: Benchmark | None = None,
    *,
    credit: str | None = None,
) -> TaggedTurns:
    """All turns of some dialogues; the arguments are those of `TurnTagger`.

    Raises:
        InputError: A table of the benchmark is damaged.
        SettingError: No answer has a score by the chosen measure, or the measure has no scale.
    """
    tagger = TurnTagger(board, scores_by_model(board, dialogues), benchmark, credit=credit)
    for dialogue in dialogues:
        tagger.add(dialogue)
    return tagger.collected()


class BenchmarkLabels:
    """Labels of a benchmark's turns, read unit by unit.

    Args:
        benchmark: The benchmark of the runs.

    Raises:
        InputError: A table is damaged.
    """

    def __init__(self, benchmark: Benchmark) -> None:
        self._chains = NamedRows(benchmark.table(CHAINS))
        self._dialogues = NamedRows(benchmark.table(DIALOGUES))
        self._paths = NamedRows(benchmark.table(PATHS))
        self._links = rows_by(benchmark.table(LINKAGES), "target.unit_id")
        self._asked = lru_cache(maxsize=KEPT)(self._turns)

    def of(self, unit_id: str) -> Mapping[int, Labels]:
        """Labels by turn index; on paths including the relation to the previous step.

        Args:
            unit_id: The chain, dialogue or path.
        """
        found = dict(self._asked(unit_id))
        if (path := self._paths.get(unit_id)) is not None:
            for index, step in enumerate(path.steps):
                own = self._asked(step.ref.unit_id).get(step.ref.turn_index, {})
                found[index] = step.turn.labels if step.turn is not None else own
            for index, (before, after) in enumerate(pairwise(path.steps), start=1):
                relation = self._relation(before.ref, after.ref)
                if relation is not None:
                    found[index] = {RELATION: (relation,), **found[index]}
        return found

    def _turns(self, unit_id: str) -> Mapping[int, Labels]:
        units: tuple[QAChain | Dialogue | None, ...] = (self._chains.get(unit_id), self._dialogues.get(unit_id))
        return {index: turn.labels for unit in units if unit is not None for index, turn in enumerate(unit.turns)}

    def _relation(self, before: TurnRef, after: TurnRef) -> str | None:
        found = None
        for row in self._links.get(after.unit_id, ()):
            if _place(row.source) == _place(before) and _place(row.target) == _place(after):
                found = row.relation
        return found


def title_of_vocabulary(name: str) -> str:
    """The title of a vocabulary.

    Args:
        name: Name of the vocabulary, such as `svbench.skill`.
    """
    return VOCABULARY_TITLES.get(name, name.replace("_", " "))


def _place(ref: TurnRef) -> Place:
    return ref.unit_id, ref.turn_index


def _measures(board: Leaderboard, scored: Sequence[Collection[str]], chosen: str | None) -> tuple[str | None, ...]:
    """The measures of how right answers are: one for all models if they share one."""
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


_TAG_PLACES: Final = {tag: place for place, tag in enumerate(TAGS)}


class _Groups:
    """The turns of every label of other vocabularies; add all turns, then `collected`."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[str, array[int]]] = {}
        self._crowded: set[str] = set()

    def add(self, row: int, own: Labels) -> None:
        """Add the labels of a turn."""
        for name, given in own.items():
            if name.startswith(COGME) or name == TASK_LABEL or not given:
                continue
            rows = self._rows.setdefault(name, {})
            if name in self._crowded:
                continue
            for label in given:
                rows.setdefault(label, array("i")).append(row)
            if len(rows) > MOST_LABELS:
                self._crowded.add(name)
                rows.clear()

    def collected(self, turns: int) -> tuple[dict[str, dict[str, Flags]], tuple[str, ...]]:
        """Every vocabulary's labels, and the names of those with too many."""
        known = [name for name in VOCABULARY_TITLES if name in self._rows]
        order = [*known, *sorted(name for name in self._rows if name not in VOCABULARY_TITLES)]
        groups: dict[str, dict[str, Flags]] = {}
        for name in order:
            if name in self._crowded:
                continue
            groups[name] = {}
            for label in sorted(self._rows[name]):
                flags = np.zeros(turns, np.bool_)
                flags[np.array(self._rows[name][label], np.intp)] = True
                groups[name][label] = flags
        if MEMORY in groups and EXTENT in groups:
            groups[MEMORY] = {_level(label, flags, groups[EXTENT]): flags for label, flags in groups[MEMORY].items()}
        return groups, tuple(name for name in order if name in self._crowded)


def _level(label: str, flags: Flags, extents: Mapping[str, Flags]) -> str:
    """A level of memory, with the extent in brackets if all its questions have the same (shot or scene)."""
    about = [name for name, where in extents.items() if (where & flags).any()]
    return f"{label} ({about[0]})" if len(about) == 1 else label


def _scattered(found: "tuple[array[int], array[int], array[float]]", shape: tuple[int, int]) -> Floats:
    rows, models, given = (np.array(column) for column in found)
    values = np.full(shape, np.nan)
    values[rows, models] = given
    return values
