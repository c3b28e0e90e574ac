"""Does an early error cascade? Where the first error stands, and how often a right answer follows a wrong one."""

from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Entry, Measure, mean_of
from reeltalk.judge.protocol import PER_CENT, Part
from reeltalk.metrics.info import SHORT

RIGHT: Final = 0.5
"""A value above this is right."""
PARTS: Final = (
    Part("first_error", "turn of the first error", (None, None), "neither", SHORT),
    Part("recovery", "right after a wrong answer", (0.0, PER_CENT), decimals=SHORT),
    Part("after_right", "right after a right answer", (0.0, PER_CENT), decimals=SHORT),
    Part("after_corrupted", "right after a planted error", (0.0, PER_CENT), decimals=SHORT),
)


def cascade(units: Sequence[JudgeUnit], values: Mapping[str, float], of: str) -> list[Measure]:
    """What errors do to the turns after them.

    Args:
        units: One model's units.
        values: Value of each turn, 0 to 1, by its item; a turn without one breaks the sequence.
        of: Name of the protocol that gave the values.

    Returns:
        `first_error`: turn of the first error, from 1, over units that have one; `recovery`: share of right answers
        after a wrong one, in percent; `after_right`: the same after a right one; `after_corrupted`: share of right
        answers at the turn after a planted wrong answer, where there is one.
    """
    first: list[Entry] = []
    after_wrong: list[Entry] = []
    after_right: list[Entry] = []
    after_planted: list[Entry] = []
    for unit in units:
        right = [None if (v := values.get(turn.item_id)) is None else v > RIGHT for turn in unit.turns]
        if False in right:
            first.append(Entry(unit.video_id, right.index(False) + 1.0))
        for index in range(1, len(right)):
            before, now = right[index - 1], right[index]
            if now is None:
                continue
            played = unit.turns[index - 1].played
            if played is not None and played.corrupted:
                after_planted.append(Entry(unit.video_id, float(now)))
            elif before is not None:
                (after_right if before else after_wrong).append(Entry(unit.video_id, float(now)))
    return [
        mean_of(f"{of}.first_error", first),
        mean_of(f"{of}.recovery", after_wrong, scale=100),
        mean_of(f"{of}.after_right", after_right, scale=100),
        mean_of(f"{of}.after_corrupted", after_planted, scale=100),
    ]
