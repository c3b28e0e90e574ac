"""Finds turns that are too easy: an attacker, which sees little or is small, answers them."""

from collections.abc import Mapping

from reeltalk.schema.gates import DIFFICULTY, GateOutcome, GateResult, GateUnit
from reeltalk_build.construct.gate_results import Subject

Item = tuple[str, int]
"""A turn, as (identifier of its dialogue or chain, index from 0)."""
Answered = Mapping[Item, bool | None]
"""Whether the answer to each turn is right; None if that is not known."""


def check_difficulty(attackers: Mapping[str, Answered], units: Mapping[str, GateUnit]) -> list[GateResult]:
    """Check every turn that at least one attacker answered.

    Args:
        attackers: What each attacker answers correctly, by its name; the one that sees least first.
        units: Kind of each unit by its identifier; turns of others are ignored.

    Returns:
        One result per turn, in the order of units and turns. The value is the share of all decided answers that are
        right. `unchecked` if an answer that nobody could compare could change the outcome.
    """
    order = {name: place for place, name in enumerate(units)}
    items = {item for answered in attackers.values() for item in answered if item[0] in units}
    results = []
    for item in sorted(items, key=lambda one: (order[one[0]], one[1])):
        attacks = {name: answered[item] for name, answered in attackers.items() if item in answered}
        right = [name for name, is_right in attacks.items() if is_right]
        doubtful = [name for name, is_right in attacks.items() if is_right is None]
        outcome, reason = GateOutcome.PASSED, None
        if right:
            outcome, reason = GateOutcome.FLAGGED, f"{right[0]} answers it correctly"
        elif doubtful:
            outcome, reason = GateOutcome.UNCHECKED, f"it is not known whether {' or '.join(doubtful)} answers it"
        decided = len(attacks) - len(doubtful)
        results.append(
            Subject(units[item[0]], item[0]).gate(
                DIFFICULTY,
                outcome,
                reason,
                turn=item[1],
                value=len(right) / decided if decided else None,
                extra={"right": list(right)},
            )
        )
    return results
