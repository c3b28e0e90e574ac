"""What those who lead a team do to many units at once: return and assign."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from reeltalk_review import work
from reeltalk_review.duties import assign_units
from reeltalk_review.errors import ApiError, Conflict, InvalidValue
from reeltalk_review.events import Transaction
from reeltalk_review.settling import OPEN, submitted_works
from reeltalk_review.tables import QueueRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.units import Sight, visible_ids

MOST_RETURNED: Final = 500
"""Most units that are returned at once: meanwhile nobody can save."""
MOST_ASSIGNED: Final = 2_000
"""Most units that are assigned at once, for the same reason."""
_Unit = Row[str, str, str, str, int, bool]
_AT_ONCE: Final = 400
"""Units in one query. Databases accept a few thousand values at most."""


@dataclass
class Outcome:
    """What was done to many units, and what could not be done."""

    done: int = 0
    """Number of units."""
    refused: dict[str, int] = field(default_factory=dict)
    """How many were left as they are, by reason."""
    warning: str = ""

    def refuse(self, reason: str) -> None:
        """Count a unit that is left as it is."""
        self.refused[reason] = self.refused.get(reason, 0) + 1


def return_units(change: Transaction, sight: Sight, unit_ids: Sequence[str], note: str) -> Outcome:
    """Return the submitted work on units to its annotators.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units.
        note: What should be done again.

    Raises:
        InvalidValue: There is no note, or too many units are chosen.
    """
    _check_count(unit_ids, MOST_RETURNED)
    if not 1 <= len(note.strip()) <= 2000:
        raise InvalidValue("say in 1 to 2,000 characters what should be done again", field="note")
    outcome = Outcome()
    for unit_id in _visible(change.session, sight, unit_ids, outcome):
        copies = [row for row, _ in submitted_works(change.session, unit_id)]
        if unit_id in sight.own_gold:
            copies = [row for row in copies if row.person_id == sight.person_id]
        returned, reason = 0, "no work on it was submitted"
        for row in copies:
            try:
                work.send_back(change, sight.person_id, row.id, note)
                returned += 1
            except ApiError as error:
                reason = str(error)
        outcome.done += returned > 0
        if not returned:
            outcome.refuse(reason)
    return outcome


def give_units(change: Transaction, sight: Sight, unit_ids: Sequence[str], people: Sequence[str]) -> Outcome:
    """Assign units to exactly these people; to nobody means to everybody who works in their queue.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units. Complete units and gold are left out.
        people: Ids of people.

    Raises:
        InvalidValue: One of the people cannot work, or too many units are chosen.
    """
    _check_count(unit_ids, MOST_ASSIGNED)
    outcome = Outcome()
    units = _assignable(change.session, _visible(change.session, sight, unit_ids, outcome), outcome)
    assign_units(change, {unit_id: row.queue_id for unit_id, row in units.items()}, people)
    outcome.done = len(units)
    needed = max((row.overlap for row in units.values()), default=0)
    if people and len(set(people)) < needed:
        outcome.warning = f"up to {needed} people must do each of these tasks, and fewer are named"
    return outcome


def _check_count(unit_ids: Sequence[str], most: int) -> None:
    if not unit_ids:
        raise InvalidValue("choose at least one task", field="units")
    if len(unit_ids) > most:
        raise InvalidValue(
            f"{len(unit_ids):,} tasks are chosen, and at most {most:,} can be changed at once: filter the table",
            field="units",
        )


def _visible(session: Session, sight: Sight, unit_ids: Sequence[str], outcome: Outcome) -> list[str]:
    there = visible_ids(session, sight, unit_ids)
    for _ in range(len(set(unit_ids)) - len(there)):
        outcome.refuse("there is no such task")
    return there


def _assignable(session: Session, unit_ids: Sequence[str], outcome: Outcome) -> dict[str, _Unit]:
    found: dict[str, _Unit] = {}
    for start in range(0, len(unit_ids), _AT_ONCE):
        some = unit_ids[start : start + _AT_ONCE]
        is_gold = UnitRow.gold.is_not(None).label("is_gold")
        for row in session.execute(
            select(UnitRow.id, UnitRow.queue_id, UnitRow.state, QueueRow.task, QueueRow.overlap, is_gold)
            .join(QueueRow, QueueRow.id == UnitRow.queue_id)
            .where(UnitRow.id.in_(some))
        ):
            if row.is_gold:
                outcome.refuse("it is gold, which everybody gets")
            elif row.task not in TASKS:
                outcome.refuse("people do this work in pairs")
            elif row.state != OPEN:
                outcome.refuse("all work on it is in")
            else:
                found[row.id] = row
    return found


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
