"""The types of judging: what a judge is given, the interface of every judge, and the rows that it returns.

A model's answer is data: it reaches a judge between fences that our code writes, in a place that our code chooses, and
our code owns keys, counts and denominators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from reeltalk.judge.measures import Measure
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnsweredTurn, AnswerState, UnitKind
from reeltalk.schema.media import Video
from reeltalk.schema.scoring import JudgedScore, ScoreState

READ_OF_TURNS: Final = ("checklist", "rubric", "key")
READ_OF_UNITS: Final = ("summaries", "linked", "clips", "duration_s")
READ: Final = frozenset({*READ_OF_TURNS, *READ_OF_UNITS})
"""Fields of a benchmark that a judge may read besides questions, references, options and labels."""


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
        """Everything beside the judge model that can change its scores: prompts with versions and hashes, variants.

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


def fields_read_by(judge: Judge) -> frozenset[str]:
    """The fields of `READ` that a judge reads: its own `reads`, or all of them if it has none."""
    return frozenset(getattr(judge, "reads", READ))


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
