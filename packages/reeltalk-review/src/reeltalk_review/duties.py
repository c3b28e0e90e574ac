"""Duties: queues and units that are assigned to people.

A queue with duties is only for the people of its duties. A unit with duties of its own is only for their people, who
get it first. Begun and returned work can always be finished. Gold has no duties: everybody gets the gold of queues in
which they may work.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, may
from reeltalk_review.errors import InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.tables import (
    AssignmentRow,
    DutyRow,
    PersonRow,
    QueueRow,
    UnitRow,
)
from reeltalk_review.tasks.registry import TASKS

_BATCH: Final = 400


def assign_queue(change: Transaction, queue_id: str, people: Iterable[str]) -> None:
    """Assign a whole queue to people.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: Nobody is named, or one of them cannot work.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    if queue.task not in TASKS:
        raise InvalidValue("people do this work in pairs, which an owner makes on the page of pairs", field="queue")
    _put(change, [(queue_id, None)], _workers(change.session, people))


def assign_units(
    change: Transaction, units: Mapping[str, str], people: Iterable[str], *, instead: bool = False
) -> None:
    """Assign units to people, each unit to all of them.

    Args:
        change: The transaction.
        units: The queue of each unit, by the unit's id.
        people: Ids of people.
        instead: True: earlier duties of these units end.

    Raises:
        InvalidValue: Nobody is named, or one of them cannot work.
    """
    found = _workers(change.session, people)
    if instead:
        _drop(change, [row for row in unit_duties(change.session, units) if row.person_id not in found])
    _put(change, [(queue_id, unit_id) for unit_id, queue_id in units.items()], found)


def unassign_units(change: Transaction, unit_ids: Iterable[str]) -> int:
    """End all duties of units; returns how many ended."""
    rows = unit_duties(change.session, unit_ids)
    _drop(change, rows)
    return len(rows)


def drop_duty(change: Transaction, duty_id: str) -> None:
    """End one duty.

    Raises:
        NotFound: There is no such duty.
    """
    row = change.session.get(DutyRow, duty_id)
    if row is None:
        raise NotFound("there is no such duty; somebody else may have ended it")
    _drop(change, [row])


def drop_duties(change: Transaction, unit_ids: Iterable[str]) -> None:
    """End all duties of units that are taken out of the project."""
    unassign_units(change, unit_ids)
    change.session.flush()


def unit_duties(session: Session, unit_ids: Iterable[str]) -> list[DutyRow]:
    """All duties of some units."""
    wanted = list(unit_ids)
    found: list[DutyRow] = []
    for start in range(0, len(wanted), _BATCH):
        query = select(DutyRow).where(DutyRow.unit_id.in_(wanted[start : start + _BATCH]))
        found += session.scalars(query.order_by(DutyRow.created_at, DutyRow.id)).all()
    return found


def _workers(session: Session, people: Iterable[str]) -> list[str]:
    wanted = sorted(set(people))
    if not wanted:
        raise InvalidValue("name at least one person", field="people")
    found = session.scalars(select(PersonRow).where(PersonRow.id.in_(wanted))).all()
    if len(found) != len(wanted):
        raise InvalidValue("one of them is not on the team any more; reload the page", field="people")
    for person in found:
        if person.disabled_at is not None or not may(person.role, Action.WORK):
            raise InvalidValue(f"{person.name} cannot work here: choose somebody else", field="people")
    return wanted


def _put(change: Transaction, places: Sequence[tuple[str, str | None]], people: Sequence[str]) -> None:
    """Make duties for all of the people at each place."""
    session = change.session
    unit_ids = [unit_id for _, unit_id in places if unit_id is not None]
    there = {(row.unit_id, row.person_id) for row in unit_duties(session, unit_ids)}
    for queue_id, unit_id in places:
        if unit_id is None:
            there |= {(None, row.person_id) for row in queue_duties(session, queue_id)}
    for queue_id, unit_id in places:
        for person_id in people:
            if (unit_id, person_id) not in there:
                row = DutyRow(id=secrets.token_hex(8), queue_id=queue_id, unit_id=unit_id, created_at=change.at)
                row.person_id = person_id
                session.add(row)
                change.record("assign", unit_id or queue_id, after=_duty(row))


def _drop(change: Transaction, rows: Iterable[DutyRow]) -> None:
    for row in rows:
        change.record("unassign", row.unit_id or row.queue_id, before=_duty(row), after={"id": row.id})
        change.session.delete(row)


def _duty(row: DutyRow) -> dict[str, Json]:
    return {name: getattr(row, name) for name in ("id", "queue_id", "unit_id", "person_id")}


def queue_duties(session: Session, queue_id: str) -> list[DutyRow]:
    """The duties of a whole queue."""
    query = select(DutyRow).where(DutyRow.queue_id == queue_id, DutyRow.unit_id.is_(None))
    return list(session.scalars(query.order_by(DutyRow.created_at, DutyRow.id)))


@dataclass(frozen=True)
class Reach:
    """Which units of a queue somebody may take."""

    person_id: str
    queue_id: str
    general: bool
    """Units without duties of their own are for them."""
    has_units: bool
    """Some units of the queue have duties of their own."""
    works: bool
    """They may take some units of the queue, or could."""

    @property
    def taken(self) -> Any:
        """As SQL: ids of the units that have duties of their own."""
        return select(DutyRow.unit_id).where(DutyRow.queue_id == self.queue_id, DutyRow.unit_id.is_not(None))

    def is_assigned(self) -> ColumnElement[bool]:
        """As SQL about a unit: it is assigned to this person."""
        return UnitRow.id.in_(self.taken.where(DutyRow.person_id == self.person_id))

    def is_general(self) -> ColumnElement[bool]:
        """As SQL about a unit: it has no duties of its own."""
        return UnitRow.id.not_in(self.taken)


def reach_of(session: Session, person_id: str, queue_id: str) -> Reach:
    """Which units of a queue somebody may take."""
    people = {row.person_id for row in queue_duties(session, queue_id)}
    units = select(DutyRow.id).where(DutyRow.queue_id == queue_id, DutyRow.unit_id.is_not(None)).limit(1)
    has_units = session.scalars(units).first() is not None
    general = not people or person_id in people
    works = general or (has_units and session.scalars(units.where(DutyRow.person_id == person_id)).first() is not None)
    return Reach(person_id, queue_id, general, has_units, works)


def assigned_units(session: Session, person_id: str, queue_id: str) -> int:
    """How many open units of a queue are assigned to somebody who has not submitted them."""
    submitted = select(AssignmentRow.unit_id).where(
        AssignmentRow.person_id == person_id, AssignmentRow.role == "annotator", AssignmentRow.state == "submitted"
    )
    counted = (
        select(func.count(DutyRow.unit_id.distinct()))
        .join(UnitRow, UnitRow.id == DutyRow.unit_id)
        .where(
            DutyRow.queue_id == queue_id,
            DutyRow.person_id == person_id,
            UnitRow.state == "open",
            UnitRow.id.not_in(submitted),
        )
    )
    return session.scalar(counted) or 0


@dataclass(frozen=True)
class QueueDuty:
    """A duty of a whole queue."""

    id: str
    name: str
    """Of the person."""
    done: int
    """How many units of the queue they have submitted."""
    works: bool
    """False if they can work no more."""


@dataclass(frozen=True)
class QueueAssignment:
    """Who works on a queue."""

    id: str
    title: str
    overlap: int
    duties: tuple[QueueDuty, ...]
    """Empty: everybody who works here."""
    units: int
    """How many of its units are assigned to people of their own."""

    @property
    def able(self) -> int:
        """How many people may take units without duties of their own; counts only where the queue has duties."""
        return sum(duty.works for duty in self.duties)


def queue_assignments(session: Session) -> list[QueueAssignment]:
    """Who works on each queue of units, in the order of the queues."""
    rows = session.execute(
        select(DutyRow, PersonRow)
        .join(PersonRow, PersonRow.id == DutyRow.person_id)
        .where(DutyRow.unit_id.is_(None))
        .order_by(DutyRow.created_at, DutyRow.id)
    ).all()
    duties: dict[str, list[QueueDuty]] = {}
    done = _done(session) if rows else {}
    for row, person in rows:
        works = person.disabled_at is None and may(person.role, Action.WORK)
        found = QueueDuty(row.id, person.name, done.get((row.queue_id, person.id), 0), works)
        duties.setdefault(row.queue_id, []).append(found)
    counted = select(DutyRow.queue_id, func.count(DutyRow.unit_id.distinct())).where(DutyRow.unit_id.is_not(None))
    units = {queue_id: count for queue_id, count in session.execute(counted.group_by(DutyRow.queue_id))}
    queues = session.scalars(select(QueueRow).where(QueueRow.task.in_(TASKS)).order_by(QueueRow.position, QueueRow.id))
    return [
        QueueAssignment(row.id, row.title, row.overlap, tuple(duties.get(row.id, ())), units.get(row.id, 0))
        for row in queues
    ]


def _done(session: Session) -> dict[tuple[str, str], int]:
    """How many units each person has submitted, by queue and person."""
    query = (
        select(UnitRow.queue_id, AssignmentRow.person_id, func.count())
        .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
        .where(AssignmentRow.role == "annotator", AssignmentRow.state == "submitted")
        .group_by(UnitRow.queue_id, AssignmentRow.person_id)
    )
    return {(queue_id, person_id): count for queue_id, person_id, count in session.execute(query)}
