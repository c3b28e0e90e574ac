"""Queues and units that are assigned to people.

A queue that is assigned to people is only for them, and so is a unit. Begun and returned work can always be finished.
Gold is for everybody who works in its queue.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import ColumnElement, false, or_, select, true
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, may
from reeltalk_review.errors import InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.tables import DutyRow, PersonRow, QueueRow, UnitRow
from reeltalk_review.tasks.registry import TASKS

_BATCH: Final = 400


def assign_queue(change: Transaction, queue_id: str, people: Iterable[str]) -> None:
    """Assign a whole queue to exactly these people; to nobody means to everybody who works here."""
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    wanted = _workers(change.session, people)
    if wanted and queue.task not in TASKS:
        raise InvalidValue("people do this work in pairs, which an owner makes on the page of pairs", field="queue")
    _assign(change, {None: queue_id}, wanted, queue_duties(change.session, queue_id))


def assign_units(change: Transaction, units: Mapping[str, str], people: Iterable[str]) -> None:
    """Assign units, given with their queues, to exactly these people; to nobody means to everybody who works there."""
    _assign(change, units, _workers(change.session, people), unit_duties(change.session, units))


def unit_duties(session: Session, unit_ids: Iterable[str]) -> list[DutyRow]:
    """To whom some units are assigned."""
    wanted = list(unit_ids)
    found: list[DutyRow] = []
    for start in range(0, len(wanted), _BATCH):
        query = select(DutyRow).where(DutyRow.unit_id.in_(wanted[start : start + _BATCH]))
        found += session.scalars(query.order_by(DutyRow.created_at, DutyRow.id)).all()
    return found


def queue_duties(session: Session, queue_id: str) -> list[DutyRow]:
    """To whom a whole queue is assigned."""
    query = select(DutyRow).where(DutyRow.queue_id == queue_id, DutyRow.unit_id.is_(None))
    return list(session.scalars(query.order_by(DutyRow.created_at, DutyRow.id)))


def is_for(session: Session, person_id: str, queue_id: str) -> ColumnElement[bool]:
    """As SQL about a unit of a queue: it is for this person, by what is assigned to whom."""
    people = {row.person_id for row in queue_duties(session, queue_id)}
    works_here = not people or person_id in people
    assigned = select(DutyRow.unit_id).where(DutyRow.queue_id == queue_id, DutyRow.unit_id.is_not(None))
    if session.scalars(assigned.limit(1)).first() is None:
        return true() if works_here else false()
    own = assigned.where(DutyRow.person_id == person_id)
    if works_here:
        return or_(UnitRow.id.in_(own), UnitRow.id.not_in(assigned))
    has_own = session.scalars(own.limit(1)).first() is not None
    return or_(UnitRow.id.in_(own), UnitRow.gold.is_not(None)) if has_own else false()


def _workers(session: Session, people: Iterable[str]) -> list[str]:
    wanted = sorted(set(people))
    found = session.scalars(select(PersonRow).where(PersonRow.id.in_(wanted))).all()
    if len(found) != len(wanted):
        raise InvalidValue("one of them is not on the team any more; reload the page", field="people")
    for person in found:
        if person.disabled_at is not None or not may(person.role, Action.WORK):
            raise InvalidValue(f"{person.name} cannot work here: choose somebody else", field="people")
    return wanted


def _assign(change: Transaction, places: Mapping[Any, str], people: Sequence[str], there: Sequence[DutyRow]) -> None:
    """Make and end duties until each place has exactly these people. A place is a unit, or None for the queue."""
    kept = {(row.unit_id, row.person_id) for row in there if row.person_id in people}
    for row in there:
        if row.person_id not in people:
            change.record("unassign", row.unit_id or row.queue_id, before=_duty(row), after={"id": row.id})
            change.session.delete(row)
    for unit_id, queue_id in places.items():
        for person_id in people:
            if (unit_id, person_id) not in kept:
                row = DutyRow(id=secrets.token_hex(8), queue_id=queue_id, unit_id=unit_id, created_at=change.at)
                row.person_id = person_id
                change.session.add(row)
                change.record("assign", unit_id or queue_id, after=_duty(row))
    change.session.flush()


def _duty(row: DutyRow) -> dict[str, Json]:
    return {name: getattr(row, name) for name in ("id", "queue_id", "unit_id", "person_id")}
