"""What a judge is given, what it gives back, and what every judging protocol offers.

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
    """A chain, path or dialogue with one model's answers: what one judging sees."""

    model: str
    kind: UnitKind
    id: str
    video_id: str
    turns: tuple[AnsweredTurn, ...]
    """In order. A turn that was not asked or has no answer says so in its `state`."""
    task: str | None = None
    summaries: Mapping[str, str] = field(default_factory=dict)
    """What happens in the video as text, by how it was written: VDAct has `template` and `refine`."""
    linked: tuple[LinkedTurns, ...] = ()
    clips: int = 1
    """How many clips it is about; a cross-scene dialogue has several."""
    duration_s: float | None = None
    """Length of the video."""
    official: bool = False
    """True where an official script judges these turns together and ours does not; it has scores of `compat` alone."""
    lists: tuple[tuple[int, ...], ...] = ()
    """Of an official unit: its linked questions as indices into the turns, for each pair of chains those of the earlier
    chain and those of the later one."""

    @property
    def answered(self) -> tuple[AnsweredTurn, ...]:
        """The turns that have an answer and a reference."""
        return tuple(t for t in self.turns if t.state is AnswerState.ANSWERED and t.references)


class Judge(Protocol):
    """A judging protocol, as VDEval."""

    @property
    def name(self) -> str:
        """How it is named on the command line, as `vdeval`."""
        ...

    @property
    def needs_model(self) -> bool:
        """True where a language model judges."""
        ...

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What can move its scores beside the judge model: prompts with their versions and hashes, variants.

        What it reads of a benchmark is signed apart: a judge may have `reads`, the names of what it reads beside
        questions, references, options and labels, as `READ` lists them; without it, all are signed.
        """
        ...

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """Scores of one unit. What could not be scored is a row with its reason, never a missing row.

        Args:
            unit: What is judged.
            model: Who judges; None for a protocol that needs none.

        Raises:
            BudgetError: A limit would be passed; nothing of the unit is kept then but the replies.
        """
        ...

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """One model's numbers from all its units and their scores, the headline first.

        Args:
            units: All units, judged or not; they say what should have a score.
            scores: What `judge` gave for them, in any order.
        """
        ...


@runtime_checkable
class ReadsVideos(Protocol):
    """A judge that needs something of the videos themselves, as a summary."""

    def check_videos(self, videos: Sequence[Video]) -> None:
        """Refuse videos of which it could score nothing.

        Args:
            videos: Those that are asked about; none where no benchmark is known.

        Raises:
            SettingError: None has what is needed; names the remedy.
        """
        ...


def fields_read_by(judge: Judge) -> frozenset[str]:
    """Fields of `READ` that a judge reads: its own `reads`, or all of them if it has none."""
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
    """The row of a score.

    Args:
        unit: What was judged.
        criterion: On which criterion.
        judge: Who judged.
        value: The score, on the criterion's scale.
        turn: The turn, where one was judged and not the whole unit.
        explanation: What the judge said about it.
        replies: The judge's replies as they came.
        sample: Number of the judging.
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
    """The row of what should have a score and has none.

    Args:
        unit: What was judged.
        criterion: On which criterion.
        judge: Who judged.
        reason: Why there is none.
        turn: The turn, where one was judged and not the whole unit.
        replies: The judge's replies as they came.
        sample: Number of the judging.
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
    """The row of a criterion that does not apply.

    Args:
        unit: What was judged.
        criterion: On which criterion.
        judge: Who judged.
        reason: Why it does not apply.
        turn: The turn, where one was judged and not the whole unit.
        sample: Number of the judging.
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
