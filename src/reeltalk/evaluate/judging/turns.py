"""Judging turn by turn: which turns are due, the rows of their scores, and the items of their means."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from reeltalk.evaluate.judging.judge import JudgeUnit, unscored
from reeltalk.evaluate.judging.measures import Entry, Measure, mean_of
from reeltalk.evaluate.judging.rating import OfficialScriptStopsError
from reeltalk.evaluate.judging.rows import scored
from reeltalk.llm.model import AsyncModel
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore, ScoreState

NOBODY: Final = "none"
"""Who judges where no model does."""
GROUPED_BY: Final = ("turn", "question_type")
"""What numbers over turns are broken down by."""


def due(unit: JudgeUnit) -> list[AnsweredTurn]:
    """The turns that should have a score: all that the protocol asks."""
    return [turn for turn in unit.turns if turn.state is not AnswerState.NOT_ASKED]


def obstacle(turn: AnsweredTurn) -> str | None:
    """Why a turn that is due is not shown to a judge, if it is not."""
    if turn.state is AnswerState.FAILED:
        return no_answer(turn)
    if not turn.references:
        return "there is no reference answer"
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


def entries(
    units: Iterable[JudgeUnit], scores: Sequence[JudgedScore], criterion: str, *, by_unit: bool = False
) -> list[Entry]:
    """The items of a mean over turns: every turn that is due, with its score or none.

    Args:
        units: All units of one model.
        scores: Their scores, in any order, of any criterion.
        criterion: Of which the mean is.
        by_unit: Average within units first.
    """
    found = {
        (score.unit_id, score.turn_index): score
        for score in scores
        if score.criterion == criterion and score.unit == "turn"
    }
    kept: list[Entry] = []
    for unit in units:
        for turn in due(unit):
            score = found.get((unit.id, turn.turn_index))
            kept.append(
                Entry(
                    video_id=turn.video_id,
                    value=score.value if score is not None else None,
                    item_id=turn.item_id,
                    applies=score is None or score.state is not ScoreState.NOT_APPLICABLE,
                    groups={
                        "turn": (str(turn.turn_index + 1),),
                        "question_type": turn.labels.get("vdact.question_type", ()),
                    },
                    mean_of=unit.id if by_unit else None,
                )
            )
    return kept


def means(
    units: Sequence[JudgeUnit], scores: Sequence[JudgedScore], criteria: Iterable[str], compat: Iterable[str]
) -> list[Measure]:
    """Means over turns of a model's answers, ours first, then those of the official reading.

    Args:
        units: All units of one model.
        scores: Their rows.
        criteria: Criteria of ours.
        compat: Criteria under which the official reading stands; none where it was not asked for.
    """
    own = [mean_of(name, entries(units, scores, name), by=GROUPED_BY) for name in criteria]
    official = (("mode", "compat"),)
    return own + [mean_of(name, entries(units, scores, name), by=GROUPED_BY, signature=official) for name in compat]
