"""Judging turn by turn: why a turn is not judged, and the rows of what has a score and what has none."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Final

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.rating import OfficialScriptStopsError
from reeltalk.judge.rows import scored, unscored
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import NO_REFERENCE, JudgedScore

NOBODY: Final = "none"
"""Who judges where no model does."""
GROUPED_BY: Final = ("turn", "question_type")
"""What numbers over turns are broken down by."""


def is_due(turn: AnsweredTurn) -> bool:
    """True for a turn whose answer the protocol scores."""
    return turn.state.is_due


def obstacle(turn: AnsweredTurn) -> str | None:
    """Why a turn that is due is not shown to a judge, if it is not."""
    if turn.state is AnswerState.FAILED:
        return no_answer(turn)
    if not turn.references:
        return NO_REFERENCE
    return None


def no_answer(turn: AnsweredTurn) -> str:
    """Why a turn has no answer, as it stands in a row.

    Args:
        turn: One that has none.
    """
    return f"the model gave no answer: {turn.reason}" if turn.reason else "the model gave no answer"


def with_last_answers(unit: JudgeUnit) -> JudgeUnit:
    """The unit as an official script sees it that takes the last of several rows with one identifier."""
    last = [turn.model_copy(update={"text": turn.repeats[-1]}) if turn.repeats else turn for turn in unit.turns]
    return dataclasses.replace(unit, turns=tuple(last))


def who(judge: str, model: AsyncModel | None) -> AsyncModel:
    """The model that judges.

    Args:
        judge: Name of the protocol.
        model: What `Judge.judge` was given.

    Raises:
        ValueError: There is none.
    """
    if model is None:
        raise ValueError(f"{judge} needs a model to judge")
    return model


def without_score(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    criteria: Iterable[str],
    judge: str,
    reason: str | None,
    *,
    replies: tuple[str, ...] = (),
) -> list[JudgedScore]:
    """The rows of a turn that should have scores and has none."""
    return [unscored(unit, criterion, judge, reason or "", turn=turn, replies=replies) for criterion in criteria]


def read_as_official(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    criterion: str,
    judge: str,
    replies: tuple[str, ...],
    read: Callable[[], float],
) -> JudgedScore:
    """The row of a turn's score as an official script reads it.

    Args:
        unit: What is judged.
        turn: Its turn.
        criterion: Name of the row.
        judge: Name of the model.
        replies: What the script would have seen.
        read: Gives the value, or raises `OfficialScriptStopsError`.
    """
    try:
        value = float(read())
    except OfficialScriptStopsError as error:
        why = f"the official script stops here: {error}"
        return unscored(unit, criterion, judge, why, turn=turn, replies=replies)
    except OverflowError:
        value = float("inf")
    if value - value != 0:
        why = "the official script reads what is no finite number"
        return unscored(unit, criterion, judge, why, turn=turn, replies=replies)
    return scored(unit, criterion, judge, value, turn=turn, replies=replies)
