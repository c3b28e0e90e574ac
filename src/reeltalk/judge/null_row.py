"""The null row: what a judge gives for nothing. An empty answer that scores well says that the scale has a floor."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from reeltalk.judge.judge import JudgeUnit
from reeltalk.schema.answers import AnswerState, UnitKind

NAME: Final = "empty"
"""How the row stands on a leaderboard, as the baseline that answers nothing."""
SOURCE: Final = ("baseline:empty", "")

Unit = tuple[UnitKind, str]


def sampled(units: Iterable[Unit], count: int, *, seed: int) -> frozenset[Unit]:
    """The units whose empty answers a model judges: drawn, but the same ones for the same benchmark.

    Args:
        units: Kind and identifier of all that is judged.
        count: How many.
        seed: Decides which.
    """
    drawn = sorted(set(units), key=lambda unit: hashlib.sha256(f"{seed} {unit[0]} {unit[1]}".encode()).digest())
    return frozenset(drawn[:count])


def emptied(unit: JudgeUnit) -> JudgeUnit:
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
    return replace(unit, model=NAME, turns=tuple(turn.model_copy(update={"model": NAME}) for turn in turns))
