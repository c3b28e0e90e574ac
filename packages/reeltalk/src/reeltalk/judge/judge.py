"""Types of judging: the units that a judge is given, the interface of every judge, and the rows that it returns.

A model's answer is data. A judge sees it between fences that our code writes, at a place that our code chooses. Our
code also sets keys, counts and denominators.
"""

import hashlib
import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, Final, Protocol, TypeVar, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reeltalk.judge.measures import Measure
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnsweredTurn, AnswerState, UnitKind
from reeltalk.schema.dialogue import DialoguePath, Linkage
from reeltalk.schema.media import Video
from reeltalk.schema.record import name_key
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import PlayedTables
from reeltalk.store.keyed import rows_by_name
from reeltalk.store.stored_rows import ChosenRows, KeyedNumbers, StoredRows

READ_OF_TURNS: Final = ("checklist", "rubric", "key")
READ_OF_UNITS: Final = ("summaries", "linked", "clips", "duration_s")
READ: Final = frozenset({*READ_OF_TURNS, *READ_OF_UNITS})
"""Fields of a benchmark that a judge may read besides questions, references, options and labels."""
Place = tuple[str, int]
"""A chain and the index of a turn in it."""
NULL_MODEL: Final = "empty"
"""Name of the row of empty answers on a leaderboard."""
NULL_SOURCE: Final = ("baseline:empty", "")

UnitKey = tuple[UnitKind, str]


@dataclass(frozen=True)
class LinkedTurns:
    """Two turns of a unit between which the benchmark states a relation."""

    before: int
    """Index into the unit's turns."""
    after: int
    relation: str


@dataclass(frozen=True)
class JudgeUnit:
    """A chain, path or dialogue with one model's answers; it is judged at once."""

    model: str
    kind: UnitKind
    id: str
    video_id: str
    turns: tuple[AnsweredTurn, ...]
    """In order. A turn that was not asked or has no answer says so in its `state`."""
    task: str | None = None
    summaries: Mapping[str, str] = field(default_factory=dict)
    """Descriptions of the video by how they were written: VDAct has `template` and `refine`."""
    linked: tuple[LinkedTurns, ...] = ()
    clips: int = 1
    """Number of clips that it is about; a cross-scene dialogue has several."""
    duration_s: float | None = None
    """Length of the video."""
    official: bool = False
    """True if only an official script judges these turns together; the unit then has `compat` scores alone."""
    lists: tuple[tuple[int, ...], ...] = ()
    """Linked questions of an official unit, as indices into the turns: for each pair of chains the questions of the
    earlier chain, then those of the later one."""

    @property
    def answered(self) -> tuple[AnsweredTurn, ...]:
        """The turns that have an answer and a reference."""
        return tuple(t for t in self.turns if t.state is AnswerState.ANSWERED and t.references)


@dataclass(frozen=True)
class LinkedQuestions:
    """The linked questions of one chain in a slot of the official streaming evaluation."""

    chain: int
    """Index into the chains."""
    questions: tuple[int, ...]
    """Indices into the chain's questions, in the order of the linkage record; an index may occur twice."""


@dataclass(frozen=True)
class JoinedChains:
    """The chains of one video and the links that SVBench's script finds between them."""

    id: str
    video_id: str
    chain_ids: tuple[str | None, ...]
    """In order; None for an empty entry of the source."""
    slots: tuple[tuple[LinkedQuestions, ...], ...]
    """For each chain, from `streaming_slots`."""


K = TypeVar("K", contravariant=True)
V = TypeVar("V", covariant=True)


class Finds(Protocol[K, V]):
    """Gives what is known by a key."""

    def get(self, key: K, /) -> V | None:
        """The value of a key; None if there is none."""
        ...


@dataclass(frozen=True)
class Background:
    """Facts of a benchmark besides the turns."""

    videos: Mapping[str, Video]
    places: Finds[tuple[str, int], Place]
    """Chain turn of every step of a path, by path and index of the step."""
    linked: Finds[tuple[Place, Place], str]
    """Relations between two chain turns."""
    clips: Finds[str, int]
    """Number of scenes that each dialogue is about."""
    joined: tuple[JoinedChains, ...] = ()
    """Chains that SVBench's script judges together in place of paths."""

    @classmethod
    def of(cls, content: PlayedTables, joined: Iterable[JoinedChains] = ()) -> "Background":
        """The background of a benchmark. Its rows stay where they are, and are read when a unit needs them.

        Args:
            content: The benchmark.
            joined: Chains that SVBench's script judges together in place of paths, if wanted.
        """
        return cls(
            videos=rows_by_name(content.videos),
            places=_PathPlaces(content),
            linked=_Relations(content),
            clips=_ClipCounts(content),
            joined=tuple(joined),
        )


class _PathPlaces:
    def __init__(self, content: PlayedTables) -> None:
        self._content = content

    @cached_property
    def _paths(self) -> Mapping[str, DialoguePath]:
        return rows_by_name(self._content.paths)

    def get(self, key: tuple[str, int], /) -> Place | None:
        path = self._paths.get(key[0])
        if path is None or not 0 <= key[1] < len(path.steps):
            return None
        ref = path.steps[key[1]].ref
        return ref.unit_id, ref.turn_index


class _Relations:
    def __init__(self, content: PlayedTables) -> None:
        self._content = content

    @cached_property
    def _by_source(self) -> Callable[[str], Sequence[Linkage]]:
        rows = self._content.linkages
        if isinstance(rows, StoredRows):
            grouped: Mapping[str, Sequence[Linkage]] = rows.grouped(lambda raw: raw["source"]["unit_id"])
        else:
            by_source = defaultdict(list)
            for linkage in rows:
                by_source[linkage.source.unit_id].append(linkage)
            grouped = by_source
        return lambda unit_id: grouped.get(unit_id, ())

    def get(self, key: tuple[Place, Place], /) -> str | None:
        (source, index), target = key
        found = None
        for linkage in self._by_source(source):
            to = (linkage.target.unit_id, linkage.target.turn_index)
            if linkage.source.turn_index == index and to == target:
                found = linkage.relation
        return found


def _joined(clip_ids: Iterable[str]) -> str:
    return "\0".join(clip_ids)


class _ClipCounts:
    def __init__(self, content: PlayedTables) -> None:
        self._content = content

    @cached_property
    def _counts(self) -> KeyedNumbers:
        scenes = self._content.scenes
        # A single scene counts first, so it comes last.
        cross = ((_joined(one.clip_ids), max(2, len(one.parts))) for one in scenes if one.kind == "cross")
        single = ((_joined(one.clip_ids), 1) for one in scenes if one.kind == "single")
        of_scenes = KeyedNumbers(chain(cross, single))
        return KeyedNumbers(
            (one.id, of_scenes.get(_joined(one.clip_ids)) or max(1, len(one.clip_ids)))
            for one in self._content.dialogues
        )

    def get(self, key: str, /) -> int | None:
        return self._counts.get(key)


class Judge(Protocol):
    """A judging protocol, as VDEval."""

    @property
    def name(self) -> str:
        """Name on the command line, as `vdeval`."""
        ...

    @property
    def needs_model(self) -> bool:
        """True if a language model judges."""
        ...

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Everything except the judge model that can change its scores: prompts with versions and hashes, variants.

        The fields of the benchmark that it reads are signed separately. A judge may have an attribute `reads` with the
        names of the fields in `READ` that it uses; a judge without the attribute is signed with all of them.
        """
        ...

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """Score one unit. An item that cannot be scored has a row with the reason; no row is ever missing.

        Args:
            unit: A chain, path or dialogue.
            model: The judge; None for a protocol that needs no model.

        Raises:
            BudgetError: A limit would be passed. Only the replies of the unit are kept then.
        """
        ...

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """The measures of one model, the headline first.

        Args:
            units: All its units, judged or not. They say which items should have a score.
            scores: Rows from `judge`, in any order.
        """
        ...


@runtime_checkable
class ReadsVideos(Protocol):
    """A judge that needs data of the videos themselves, as a summary."""

    def check_videos(self, videos: Sequence[Video]) -> None:
        """Refuse videos for which it could score nothing.

        Args:
            videos: The videos that questions are about; empty if no benchmark is known.

        Raises:
            SettingError: No video has the data that the judge needs. The message says what to do.
        """
        ...


@runtime_checkable
class AddsUnits(Protocol):
    """A judge whose official script judges turns together that are no chain, path or dialogue."""

    def added_units(self, units: Sequence[JudgeUnit], background: Background) -> list[JudgeUnit]:
        """The units that the judge adds.

        Args:
            units: Chains, paths and dialogues with answers, of any models.
            background: Facts of the benchmark.
        """
        ...


def fields_read_by(judge: Judge) -> frozenset[str]:
    """The fields of `READ` that a judge reads: its own `reads`, or all of them if it has none."""
    return frozenset(getattr(judge, "reads", READ))


def judged_units(judge: Judge, units: Sequence[JudgeUnit], background: Background | None) -> Sequence[JudgeUnit]:
    """The units that a protocol judges: the given ones, and those that it adds.

    Args:
        judge: The judge.
        units: Chains, paths and dialogues with answers, of any models.
        background: Facts of the benchmark.
    """
    if background is None or not isinstance(judge, AddsUnits):
        return units
    return [*units, *judge.added_units(units, background)]


def group_units(turns: Iterable[AnsweredTurn], background: Background | None = None) -> list[JudgeUnit]:
    """Group turns into chains, paths and dialogues of each model, in the order of their first turns.

    Args:
        turns: Answered turns, in the order of their units.
        background: Facts of the benchmark; without it there are no summaries and no links.
    """
    grouped: dict[tuple[str, str, str], list[AnsweredTurn]] = {}
    for turn in turns:
        grouped.setdefault((turn.model, turn.unit, turn.unit_id), []).append(turn)
    return [_unit(tuple(sorted(own, key=lambda turn: turn.turn_index)), background) for own in grouped.values()]


class StoredUnits(Sequence[JudgeUnit]):
    """Chains, paths and dialogues whose turns are read when you ask for them, in the order of their first turns.

    Args:
        turns: Answered turns, in the order of their units.
        background: As for `group_units`.
    """

    def __init__(self, turns: ChosenRows[AnsweredTurn], background: Background | None) -> None:
        self._turns, self._background = turns, background
        keys = np.fromiter(map(_unit_key, turns.raw()), np.uint64)
        self._order, self._starts = _grouped(keys)

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> JudgeUnit: ...
    @overload
    def __getitem__(self, place: slice) -> list[JudgeUnit]: ...
    def __getitem__(self, place: int | slice) -> JudgeUnit | list[JudgeUnit]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        number = range(len(self))[place]
        own = [self._turns[int(turn)] for turn in self._order[self._starts[number] : self._starts[number + 1]]]
        return _unit(tuple(sorted(own, key=lambda turn: turn.turn_index)), self._background)


def _unit_key(raw: Mapping[str, Any]) -> int:
    return name_key("\0".join((raw["model"], raw.get("unit", ""), raw["unit_id"])))


def _grouped(keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(N,) places by group, groups in the order of their first places; (G + 1,) where each group begins and ends."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    number = rank[group]
    starts = np.concatenate([[0], np.cumsum(np.bincount(number, minlength=len(first)))])
    return np.argsort(number, kind="stable"), starts


class StoredScores(Sequence[JudgedScore]):
    """Scores that are read when you ask for them, and are found by their unit.

    Args:
        rows: All scores.
    """

    def __init__(self, rows: ChosenRows[JudgedScore]) -> None:
        self._rows = rows
        keys = np.fromiter((name_key(raw["unit_id"]) for raw in rows.raw()), np.uint64)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> JudgedScore: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[JudgedScore]: ...
    def __getitem__(self, place: int | slice) -> JudgedScore | Sequence[JudgedScore]:
        return self._rows[place]

    def __iter__(self) -> Iterator[JudgedScore]:
        return iter(self._rows)

    def of_unit(self, unit_id: str) -> Sequence[JudgedScore]:
        """The scores of a unit, in their order.

        Args:
            unit_id: Identifier of a chain, path or dialogue.
        """
        key = np.uint64(name_key(unit_id))
        start, end = np.searchsorted(self._keys, key), np.searchsorted(self._keys, key, side="right")
        return [self._rows[int(place)] for place in self._order[start:end]]


def rows_by_unit(scores: Sequence[JudgedScore]) -> Callable[[str], Sequence[JudgedScore]]:
    """A function that gives the scores of a unit, by its identifier.

    Args:
        scores: Scores of one model.
    """
    if isinstance(scores, StoredScores):
        return scores.of_unit
    found: dict[str, list[JudgedScore]] = {}
    for row in scores:
        found.setdefault(row.unit_id, []).append(row)
    return lambda unit_id: found.get(unit_id, ())


def _unit(turns: tuple[AnsweredTurn, ...], background: Background | None) -> JudgeUnit:
    first = turns[0]
    video = background.videos.get(first.video_id) if background else None
    return JudgeUnit(
        model=first.model,
        kind=first.unit,
        id=first.unit_id,
        video_id=first.video_id,
        turns=turns,
        task=first.task,
        summaries=video.summaries if video else {},
        linked=_links(turns, background) if background and first.unit == "path" else (),
        clips=(background.clips.get(first.unit_id) or 1) if background else 1,
        duration_s=video.duration_s if video else None,
    )


def _links(turns: tuple[AnsweredTurn, ...], background: Background) -> tuple[LinkedTurns, ...]:
    """Relations between neighbours on a path: the jumps it took."""
    places = [background.places.get((turn.unit_id, turn.turn_index)) for turn in turns]
    found: list[LinkedTurns] = []
    for index, (before, after) in enumerate(pairwise(places)):
        if before is not None and after is not None and (relation := background.linked.get((before, after))):
            found.append(LinkedTurns(index, index + 1, relation))
    return tuple(found)


def sample_units(units: Iterable[UnitKey], count: int, *, seed: int) -> frozenset[UnitKey]:
    """Draw the units whose empty answers a model judges. The same benchmark and seed give the same units.

    Args:
        units: Kind and identifier of all judged units.
        count: Number of units to draw.
        seed: Seed of the draw.
    """
    # The units of the smallest hashes so far, the largest of these first.
    drawn: list[tuple[int, UnitKey]] = []
    for unit in units:
        place = (-int.from_bytes(hashlib.sha256(f"{seed} {unit[0]} {unit[1]}".encode()).digest(), "big"), unit)
        if len(drawn) == count and (not drawn or place <= drawn[0]):
            continue
        if place not in drawn:
            heapq.heappush(drawn, place)
            if len(drawn) > count:
                heapq.heappop(drawn)
    return frozenset(unit for _, unit in drawn)


def with_empty_answers(unit: JudgeUnit) -> JudgeUnit:
    """The unit with an empty answer to every turn that is asked.

    Args:
        unit: A unit of any model.
    """
    turns = tuple(
        turn.model_copy(update={"text": "", "state": AnswerState.ANSWERED, "reason": None})
        if turn.state.is_due
        else turn
        for turn in unit.turns
    )
    return replace(unit, model=NULL_MODEL, turns=tuple(turn.model_copy(update={"model": NULL_MODEL}) for turn in turns))


def score_row(
    unit: JudgeUnit,
    criterion: str,
    judge: str,
    value: float,
    *,
    turn: AnsweredTurn | None = None,
    explanation: str | None = None,
    replies: tuple[str, ...] = (),
    sample: int = 0,
) -> JudgedScore:
    """A row with a score.

    Args:
        unit: The judged unit.
        criterion: Name of the criterion.
        judge: Name of the model that judged.
        value: The score, on the criterion's scale.
        turn: The turn, if a single turn was judged.
        explanation: Reasons that the judge gave.
        replies: The judge's replies as they came.
        sample: Number of the judging, if the same is judged several times.
    """
    # Half a surrogate pair cannot be written to a file.
    said = explanation.encode("utf-8", "replace").decode() if explanation else None
    return _row(unit, criterion, judge, turn, sample, value=value, explanation=said, replies=replies)


def unscored_row(
    unit: JudgeUnit,
    criterion: str,
    judge: str,
    reason: str,
    *,
    turn: AnsweredTurn | None = None,
    replies: tuple[str, ...] = (),
    sample: int = 0,
) -> JudgedScore:
    """A row for an item that should have a score and has none.

    Args:
        unit: The judged unit.
        criterion: Name of the criterion.
        judge: Name of the model that judged.
        reason: Why there is no score.
        turn: The turn, if a single turn was judged.
        replies: The judge's replies as they came.
        sample: Number of the judging, if the same is judged several times.
    """
    return _row(unit, criterion, judge, turn, sample, state=ScoreState.UNSCORED, reason=reason, replies=replies)


def not_applicable_row(
    unit: JudgeUnit,
    criterion: str,
    judge: str,
    reason: str,
    *,
    turn: AnsweredTurn | None = None,
    sample: int = 0,
) -> JudgedScore:
    """A row for a criterion that does not apply.

    Args:
        unit: The judged unit.
        criterion: Name of the criterion.
        judge: Name of the model that judged.
        reason: Why it does not apply.
        turn: The turn, if a single turn was judged.
        sample: Number of the judging, if the same is judged several times.
    """
    return _row(unit, criterion, judge, turn, sample, state=ScoreState.NOT_APPLICABLE, reason=reason)


def _row(
    unit: JudgeUnit, criterion: str, judge: str, turn: AnsweredTurn | None, sample: int, **outcome: Any
) -> JudgedScore:
    return JudgedScore(
        unit="turn" if turn is not None else unit.kind,
        unit_id=unit.id,
        turn_index=turn.turn_index if turn is not None else None,
        model=unit.model,
        criterion=criterion,
        judge=judge,
        video_id=unit.video_id,
        sample=sample,
        **outcome,
    )
