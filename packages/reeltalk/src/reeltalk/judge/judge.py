"""Types of judging: the units that a judge is given, the interface of every judge, and the rows that it returns.

A model's answer is data. A judge sees it between fences that our code writes, at a place that our code chooses. Our
code also sets keys, counts and denominators.
"""

import hashlib
import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Protocol, runtime_checkable

from reeltalk.judge.measures import Measure
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnsweredTurn, AnswerState, UnitKind
from reeltalk.schema.dialogue import DialoguePath, Linkage
from reeltalk.schema.media import Video
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.store.rows import KeyIndex, MappedRows, NamedRows, groups_of, rows_by

TURN_FIELDS: Final = ("references", "checklist", "rubric", "key")
UNIT_FIELDS: Final = ("summaries", "linked", "clips", "duration_s")
READABLE_FIELDS: Final = frozenset({*TURN_FIELDS, *UNIT_FIELDS})
"""Fields of a benchmark that a judge may read besides questions, options and labels."""
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
    """KeyIndex into the unit's turns."""
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
    def epoch(self) -> int:
        """Number of the play that its answers are of, from 0; 0 of a unit without turns."""
        return self.turns[0].epoch if self.turns else 0

    @property
    def answered(self) -> tuple[AnsweredTurn, ...]:
        """The turns that have an answer and a reference."""
        return tuple(t for t in self.turns if t.state is AnswerState.ANSWERED and t.references)


@dataclass(frozen=True)
class LinkedQuestions:
    """The linked questions of one chain in a slot of the official streaming evaluation."""

    chain: int
    """KeyIndex into the chains."""
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


@dataclass(frozen=True)
class Background:
    """Facts of a benchmark besides the turns. Its rows stay where they are, and are read when a unit needs them.

    Args:
        content: The benchmark.
        joined: Chains that SVBench's script judges together in place of paths; empty for none.
    """

    content: Content
    joined: Sequence[JoinedChains] = ()

    @cached_property
    def videos(self) -> Mapping[str, Video]:
        """The videos by their names."""
        return NamedRows(self.content.videos)

    def place(self, path_id: str, step: int) -> Place | None:
        """The chain turn of a step of a path; None if there is none."""
        path = self._paths.get(path_id)
        if path is None or not 0 <= step < len(path.steps):
            return None
        ref = path.steps[step].ref
        return ref.unit_id, ref.turn_index

    def relation(self, source: Place, target: Place) -> str | None:
        """The relation between two chain turns; None if they are not linked."""
        found = [
            linkage.relation
            for linkage in self._linkages.get(source[0], ())
            if linkage.source.turn_index == source[1] and (linkage.target.unit_id, linkage.target.turn_index) == target
        ]
        return found[-1] if found else None

    def clips(self, dialogue_id: str) -> int:
        """Number of scenes that a dialogue is about; 1 for another unit."""
        return self._clips.last(dialogue_id) or 1

    @cached_property
    def _paths(self) -> Mapping[str, DialoguePath]:
        return NamedRows(self.content.paths)

    @cached_property
    def _linkages(self) -> Mapping[str, Sequence[Linkage]]:
        return rows_by(self.content.linkages, "source.unit_id")

    @cached_property
    def _clips(self) -> KeyIndex[int]:
        counts = {one.clip_ids: max(2, len(one.parts)) for one in self.content.scenes if one.kind == "cross"}
        # A single scene counts first.
        counts |= {one.clip_ids: 1 for one in self.content.scenes if one.kind == "single"}
        rows = self.content.dialogues
        return KeyIndex((one.id, counts.get(one.clip_ids) or max(1, len(one.clip_ids))) for one in rows)


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
        names of the fields in `READABLE_FIELDS` that it uses; a judge without the attribute is signed with all of them.
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
    """The fields of `READABLE_FIELDS` that a judge reads: its own `reads`, or all of them if it has none."""
    return frozenset(getattr(judge, "reads", READABLE_FIELDS))


def judged_units(judge: Judge, units: Sequence[JudgeUnit], background: Background | None) -> Sequence[JudgeUnit]:
    """The units that a protocol judges: the given ones, and those that it adds.

    Args:
        units: Chains, paths and dialogues with answers, of any models.
        background: Facts of the benchmark.
    """
    if background is None or not isinstance(judge, AddsUnits):
        return units
    return [*units, *judge.added_units(units, background)]


def group_units(turns: Sequence[AnsweredTurn], background: Background | None = None) -> Sequence[JudgeUnit]:
    """Chains, paths and dialogues of each model and epoch, in the order of their first turns.

    Turns in a file stay there, and are read when you ask for their unit.

    Args:
        turns: Answered turns, in the order of their units.
        background: Facts of the benchmark; without it there are no summaries and no links.
    """
    groups = groups_of(turns, "model", "unit", "unit_id", "epoch")
    return MappedRows(groups, lambda own: _unit(tuple(sorted(own, key=lambda turn: turn.turn_index)), background))


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
        clips=background.clips(first.unit_id) if background and first.unit == "dialogue" else 1,
        duration_s=video.duration_s if video else None,
    )


def _links(turns: tuple[AnsweredTurn, ...], background: Background) -> tuple[LinkedTurns, ...]:
    """Relations between neighbours on a path: the jumps it took."""
    places = [background.place(turn.unit_id, turn.turn_index) for turn in turns]
    found: list[LinkedTurns] = []
    for index, (before, after) in enumerate(pairwise(places)):
        if before is not None and after is not None and (relation := background.relation(before, after)):
            found.append(LinkedTurns(index, index + 1, relation))
    return tuple(found)


def sample_units(units: Iterable[UnitKey], count: int, *, seed: int) -> frozenset[UnitKey]:
    """Draw the units whose empty answers a model judges. The same benchmark and seed give the same units."""
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
    """The unit with an empty answer to every turn that is asked."""
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
    """A row for an item that should have a score and has none, with the reason; other arguments as in `score_row`."""
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
    """A row for a criterion that does not apply, with the reason; the arguments are those of `score_row`."""
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
