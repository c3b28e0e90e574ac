"""What those who lead a team do to many units at once: return and assign."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk_review import work
from reeltalk_review.duties import assign_units
from reeltalk_review.errors import ApiError, Conflict, InvalidValue
from reeltalk_review.events import Transaction
from reeltalk_review.people import User
from reeltalk_review.settling import submitted_works
from reeltalk_review.tables import QueueRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.units import summaries, visible_ids

MOST_RETURNED: Final = 500
"""Most units that are returned at once: meanwhile nobody can save."""
MOST_ASSIGNED: Final = 2_000
"""Most units that are assigned at once, for the same reason."""


@dataclass
class Outcome:
    """What was done to many units, and what could not be done."""

    done: int = 0
    """Number of units."""
    refused: Counter[str] = field(default_factory=Counter)
    """How many were left as they are, by reason."""
    warning: str = ""


def return_units(change: Transaction, person: User, unit_ids: Sequence[str], note: str) -> Outcome:
    """Return the submitted work on units to its annotators, with a note that says what should be done again.

    Raises:
        InvalidValue: There is no note, or too many units are chosen.
    """
    outcome = Outcome()
    work.check_note(note)
    for unit_id in _visible(change.session, person, unit_ids, MOST_RETURNED, outcome):
        returned, reason = False, "no work on it was submitted"
        for row, _ in submitted_works(change.session, unit_id):
            try:
                work.send_back(change, person.id, row.id, note)
                returned = True
            except ApiError as error:
                reason = str(error)
        if returned:
            outcome.done += 1
        else:
            outcome.refused[reason] += 1
    return outcome


def give_units(change: Transaction, person: User, unit_ids: Sequence[str], people: Sequence[str]) -> Outcome:
    """Assign open units to exactly these people; to nobody means to everybody who works in their queue.

    Raises:
        InvalidValue: One of the people cannot work, or too many units are chosen.
    """
    outcome, units = Outcome(), {}
    for unit in summaries(change.session, _visible(change.session, person, unit_ids, MOST_ASSIGNED, outcome)):
        if unit.gold:
            outcome.refused["it is gold, which everybody gets"] += 1
        elif unit.task not in TASKS:
            outcome.refused["people do this work in pairs"] += 1
        elif unit.is_complete:
            outcome.refused["all work on it is in"] += 1
        else:
            units[unit.id] = unit.queue
    assign_units(change, units, people)
    outcome.done = len(units)
    overlap = select(func.max(QueueRow.overlap)).where(QueueRow.id.in_(set(units.values())))
    needed = change.session.scalar(overlap) or 0
    if people and len(set(people)) < needed:
        outcome.warning = f"up to {needed} people must do each of these tasks, and fewer are named"
    return outcome


def _visible(session: Session, person: User, unit_ids: Sequence[str], most: int, outcome: Outcome) -> list[str]:
    if not unit_ids:
        raise InvalidValue("choose at least one task", field="units")
    if len(unit_ids) > most:
        raise InvalidValue(
            f"{len(unit_ids):,} tasks are chosen, and at most {most:,} can be changed at once: filter the table",
            field="units",
        )
    there = visible_ids(session, person, unit_ids)
    if missing := len(set(unit_ids)) - len(there):
        outcome.refused["there is no such task"] += missing
    return there


def check_same_count(found: Sequence[str], expected: int) -> None:
    """Reject a change of all units that match, if their number has changed since it was shown.

    Raises:
        Conflict: It has.
    """
    if len(found) != expected:
        raise Conflict(
            f"the table has changed: {len(found):,} tasks match now, and {expected:,} did before; look again",
            code="other_count",
        )
