"""Rows of scores."""

from typing import Any

from reeltalk.judge.judge import JudgeUnit
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore, ScoreState


def scored(
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


def unscored(
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


def not_applicable(
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
