"""Answers that test a judge and not a model: empty ones, the reference itself, and two that know nothing.

A judge that scores an empty answer well has a scale with a floor. One that does not give the reference the top of its
scale, or gives the repeated question more than the bottom, measures something other than correctness.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from reeltalk.baselines.answerer import AlwaysYes, CopiedQuestion
from reeltalk.errors import SettingError
from reeltalk.judge.judge import JudgeUnit
from reeltalk.schema.answers import NO_REFERENCE, AnsweredTurn, AnswerState, UnitKind, right_answer

NULL_MODEL: Final = "empty"
"""How the row stands on a leaderboard, as the baseline that answers nothing."""
NULL_SOURCE: Final = ("baseline:empty", "")

UnitKey = tuple[UnitKind, str]


def sample_units(units: Iterable[UnitKey], count: int, *, seed: int) -> frozenset[UnitKey]:
    """The units whose empty answers a model judges: drawn, but the same ones for the same benchmark.

    Args:
        units: Kind and identifier of all that is judged.
        count: How many.
        seed: Decides which.
    """
    drawn = sorted(set(units), key=lambda unit: hashlib.sha256(f"{seed} {unit[0]} {unit[1]}".encode()).digest())
    return frozenset(drawn[:count])


def with_empty_answers(unit: JudgeUnit) -> JudgeUnit:
    """A unit whose every turn that is asked has an empty answer.

    Args:
        unit: Of any model.
    """
    turns = tuple(
        turn.model_copy(update={"text": "", "state": AnswerState.ANSWERED, "reason": None})
        if turn.state.is_due
        else turn
        for turn in unit.turns
    )
    return replace(unit, model=NULL_MODEL, turns=tuple(turn.model_copy(update={"model": NULL_MODEL}) for turn in turns))


REFERENCE_CHECKS: Final[dict[str, Callable[[AnsweredTurn], str | None]]] = {
    "reference": right_answer,
    AlwaysYes.name: lambda turn: AlwaysYes().answer(turn.question),
    CopiedQuestion.name: lambda turn: CopiedQuestion().answer(turn.question),
}
"""What each answers to a turn; the name is also its model's, and its source `baseline:NAME`."""


def replace_answers(name: str, turns: Iterable[AnsweredTurn]) -> list[AnsweredTurn]:
    """A model's turns, those that are asked with another answer.

    Args:
        name: Of `REFERENCE_CHECKS`.
        turns: Of one model.

    Raises:
        SettingError: There is none of the name.
    """
    if name not in REFERENCE_CHECKS:
        raise SettingError(f"--beside knows no {name!r}; it knows {', '.join(REFERENCE_CHECKS)}")
    found = []
    for turn in turns:
        if not turn.state.is_due:
            # What the model said for its history alone is not said by another.
            own = {"text": "", "state": AnswerState.NOT_ASKED, "reason": None, "played": None}
            said = own if turn.state is AnswerState.NOT_SCORED else {}
            found.append(turn.model_copy(update={"model": name, **said}))
            continue
        text = REFERENCE_CHECKS[name](turn)
        state = AnswerState.ANSWERED if text is not None else AnswerState.FAILED
        update = {
            "model": name,
            "text": text or "",
            "state": state,
            "reason": None if text is not None else NO_REFERENCE,
            "repeats": (),
            "played": None,
        }
        found.append(turn.model_copy(update=update))
    return found
