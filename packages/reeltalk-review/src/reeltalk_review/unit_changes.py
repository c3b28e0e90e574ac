"""What those who lead a team do to many units at once: return, assign, end assignments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.access import Action, may
from reeltalk_review.assigning import ANNOTATOR, UNFINISHED, lapse_work
from reeltalk_review.duties import assign_units, unassign_units, unit_duties
from reeltalk_review.errors import ApiError, Conflict, InvalidValue
from reeltalk_review.events import Transaction
from reeltalk_review.settling import (
    OPEN,
    WAITING,
    settle_if_complete,
    submitted_works,
)
from reeltalk_review.tables import (
    AssignmentRow,
    PersonRow,
    QueueRow,
    UnitRow,
)
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
    warnings: list[str] = field(default_factory=list)

    def refuse(self, reason: str) -> None:
        """Count a unit that is left as it is."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def document(self) -> dict[str, Json]:
        """As JSON for scripts."""
        return {"done": self.done, "refused": dict(self.refused), "warnings": list(self.warnings)}


def return_units(
    change: Transaction, sight: Sight, unit_ids: Sequence[str], note: str, *, person_id: str | None = None
) -> Outcome:
    """Return the submitted work on units to its annotators.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units.
        note: What should be done again.
        person_id: Only this person's work.

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
        for row in copies if person_id is None else [row for row in copies if row.person_id == person_id]:
            try:
                work.send_back(change, sight.person_id, row.id, note)
                returned += 1
            except ApiError as error:
                reason = str(error)
        outcome.done += returned > 0
        if not returned:
            outcome.refuse(reason)
    return outcome


def give_units(
    change: Transaction,
    sight: Sight,
    unit_ids: Sequence[str],
    people: Sequence[str],
    *,
    instead: bool = False,
    release: bool = False,
    approval: bool = False,
) -> Outcome:
    """Assign units to people.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units. Complete units and gold are left out.
        people: Ids of people.
        instead: Earlier duties of these units end.
        release: Unfinished work of people to whom the unit is not assigned makes room. What they saved is kept.
        approval: As in `settle_if_complete`.

    Raises:
        InvalidValue: Nobody is named, one of them cannot work, or too many units are chosen.
    """
    _check_count(unit_ids, MOST_ASSIGNED)
    outcome = Outcome()
    units = _assignable(change.session, _visible(change.session, sight, unit_ids, outcome), outcome)
    assign_units(change, {unit_id: row.queue_id for unit_id, row in units.items()}, people, instead=instead)
    change.session.flush()
    if release:
        _release(change, units, approval=approval)
    outcome.done = len(units)
    outcome.warnings += _too_few(change.session, units)
    return outcome


def take_units_away(change: Transaction, sight: Sight, unit_ids: Sequence[str], *, release: bool = False,
    approval: bool = False) -> Outcome:  # fmt: skip
    """End all duties of units, so that they are for everybody who works in their queue.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units.
        release: Unfinished work on them makes room, too. What people saved is kept.
        approval: As in `settle_if_complete`.

    Raises:
        InvalidValue: Too many units are chosen.
    """
    _check_count(unit_ids, MOST_ASSIGNED)
    outcome = Outcome()
    units = _assignable(change.session, _visible(change.session, sight, unit_ids, outcome), outcome)
    unassign_units(change, units)
    change.session.flush()
    if release:
        _release(change, units, approval=approval)
    outcome.done = len(units)
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


def _holders(session: Session, unit_ids: Sequence[str]) -> dict[str, set[str]]:
    """The people who can work and to whom units are assigned, by unit."""
    able = {
        row.id
        for row in session.execute(select(PersonRow.id, PersonRow.role).where(PersonRow.disabled_at.is_(None)))
        if may(row.role, Action.WORK)
    }
    found: dict[str, set[str]] = {}
    for duty in unit_duties(session, unit_ids):
        found.setdefault(duty.unit_id or "", set()).update(able & {duty.person_id})
    return found


def _copies_of(session: Session, unit_ids: Sequence[str], states: Sequence[str]) -> list[AssignmentRow]:
    found: list[AssignmentRow] = []
    for start in range(0, len(unit_ids), _AT_ONCE):
        found += session.scalars(
            select(AssignmentRow).where(
                AssignmentRow.unit_id.in_(unit_ids[start : start + _AT_ONCE]),
                AssignmentRow.role == ANNOTATOR,
                AssignmentRow.state.in_(states),
            )
        )
    return found


def _release(change: Transaction, units: Mapping[str, _Unit], *, approval: bool) -> None:
    """Let the unfinished work on units lapse, except that of people to whom they are assigned."""
    holders = _holders(change.session, list(units))
    for row in _copies_of(change.session, list(units), UNFINISHED):
        if row.person_id not in holders.get(row.unit_id, ()):
            lapse_work(change, row)
            unit = change.session.get_one(UnitRow, row.unit_id)
            settle_if_complete(change, unit, TASKS[units[row.unit_id].task], approval=approval)


def _too_few(session: Session, units: Mapping[str, _Unit]) -> list[str]:
    """Warnings about units that fewer people may take than must do them."""
    holders = _holders(session, list(units))
    for row in _copies_of(session, list(units), (*UNFINISHED, "submitted", WAITING)):
        holders.setdefault(row.unit_id, set()).add(row.person_id)
    short = [row for unit_id, row in units.items() if len(holders.get(unit_id, ())) < row.overlap]
    if not short:
        return []
    needed = max(row.overlap for row in short)
    return [
        f"{len(short):,} of these tasks need more people: up to {needed} must do each, and fewer are named. Assign "
        "them to more people, too"
    ]


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
