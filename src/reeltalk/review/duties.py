"""Groups of people, and duties: queues and units that are assigned to people or groups.

A queue with duties is only for the people of its duties. A unit with duties of its own is only for their people, who
get it first. `most` limits how many units of a queue somebody gets; begun and returned work can always be finished.
Gold has no duties: everybody gets the gold of queues in which they may work.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, func, or_, select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, may
from reeltalk.review.errors import InvalidValue, NotFound
from reeltalk.review.events import Transaction
from reeltalk.review.people import clean_line
from reeltalk.review.tables import (
    AssignmentRow,
    DutyRow,
    MembershipRow,
    PeopleGroupRow,
    PersonRow,
    QueueRow,
    UnitRow,
)
from reeltalk.review.tasks.registry import TASKS
from reeltalk.schema.record import Json

LONGEST_NAME: Final = 80
LARGEST: Final = 100_000
"""The largest `least` and `most`."""
_BATCH: Final = 400


@dataclass(frozen=True)
class Group:
    """A group of people."""

    id: str
    name: str
    members: tuple[tuple[str, str], ...]
    """Id and name of each member, by name."""


def all_groups(session: Session) -> list[Group]:
    """All groups by name, with their members."""
    members: dict[str, list[tuple[str, str]]] = {}
    for group_id, person_id, name in session.execute(
        select(MembershipRow.group_id, PersonRow.id, PersonRow.name)
        .join(PersonRow, PersonRow.id == MembershipRow.person_id)
        .order_by(PersonRow.sign_in)
    ):
        members.setdefault(group_id, []).append((person_id, name))
    rows = session.scalars(select(PeopleGroupRow).order_by(PeopleGroupRow.name))
    return [Group(row.id, row.name, tuple(members.get(row.id, ()))) for row in rows]


def put_group(change: Transaction, group_id: str | None, name: str, people: Iterable[str]) -> str:
    """Make a group, or change its name and members; returns its id.

    Args:
        change: The transaction.
        group_id: Which group; None for a new one.
        name: Its name.
        people: Ids of all its members.

    Raises:
        NotFound: There is no such group.
        InvalidValue: The name is taken or cannot be used, or there is no such person.
    """
    session = change.session
    name = clean_line(name, "a name", LONGEST_NAME, field="name")
    if session.scalars(
        select(PeopleGroupRow.id).where(PeopleGroupRow.name == name, PeopleGroupRow.id != (group_id or ""))
    ).first():
        raise InvalidValue("there is a group of this name; choose another", field="name")
    wanted = _known(session, PersonRow, people, "people")
    row = session.get(PeopleGroupRow, group_id) if group_id is not None else None
    if group_id is not None and row is None:
        raise NotFound("there is no such group")
    before = _group(session, row) if row is not None else None
    if row is None:
        row = PeopleGroupRow(id=secrets.token_hex(8), name=name, created_at=change.at)
        session.add(row)
    row.name = name
    session.flush()
    session.execute(delete(MembershipRow).where(MembershipRow.group_id == row.id))
    session.add_all([MembershipRow(group_id=row.id, person_id=person_id) for person_id in wanted])
    after = {"name": name, "members": wanted}
    if before != after:
        change.record("group", row.id, before=before, after=after)
    return row.id


def drop_group(change: Transaction, group_id: str) -> None:
    """Remove a group and its duties.

    Raises:
        NotFound: There is no such group.
    """
    session = change.session
    row = session.get(PeopleGroupRow, group_id)
    if row is None:
        raise NotFound("there is no such group")
    _drop(change, session.scalars(select(DutyRow).where(DutyRow.group_id == group_id)).all())
    before = _group(session, row)
    session.execute(delete(MembershipRow).where(MembershipRow.group_id == group_id))
    session.delete(row)
    change.record("ungroup", group_id, before=before)


def _group(session: Session, row: PeopleGroupRow) -> dict[str, Json]:
    members = select(MembershipRow.person_id).where(MembershipRow.group_id == row.id)
    return {"name": row.name, "members": sorted(session.scalars(members))}


def _known(session: Session, table: Any, ids: Iterable[str], field: str) -> list[str]:
    wanted = sorted(set(ids))
    known = set(session.scalars(select(table.id).where(table.id.in_(wanted))))
    if len(known) != len(wanted):
        raise InvalidValue("one of them is not on the team any more; reload the page", field=field)
    return wanted


@dataclass(frozen=True)
class Terms:
    """What is asked of the people of a duty."""

    deadline: str | None = None
    """The last day, as `2026-12-31`."""
    least: int | None = None
    most: int | None = None

    def check(self) -> None:
        """Reject terms that cannot be used.

        Raises:
            InvalidValue: A value is out of range, or there is no such day.
        """
        if self.deadline is not None:
            try:
                if date.fromisoformat(self.deadline).isoformat() != self.deadline:
                    raise ValueError
            except ValueError:
                raise InvalidValue("a deadline is a day as 2026-12-31", field="deadline") from None
        for name, value in (("least", self.least), ("most", self.most)):
            if value is not None and not 1 <= value <= LARGEST:
                raise InvalidValue(f"a number of tasks is 1 to {LARGEST:,}", field=name)
        if self.least is not None and self.most is not None and self.least > self.most:
            raise InvalidValue(f"at least {self.least} and at most {self.most} tasks cannot both hold", field="least")


def assign_queue(
    change: Transaction, queue_id: str, people: Iterable[str], groups: Iterable[str], terms: Terms
) -> None:
    """Assign a whole queue to people and groups. Who has it already gets the new terms.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: Nobody is named, one of them cannot work, or the terms cannot be used.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    if queue.task not in TASKS:
        raise InvalidValue("people do this work in pairs, which an owner makes on the page of pairs", field="queue")
    terms.check()
    _put(change, [(queue_id, None)], *_workers(change.session, people, groups), terms)


def assign_units(
    change: Transaction,
    units: Mapping[str, str],
    people: Iterable[str],
    groups: Iterable[str],
    deadline: str | None,
    *,
    instead: bool = False,
) -> None:
    """Assign units to people and groups, each unit to all of them.

    Args:
        change: The transaction.
        units: The queue of each unit, by the unit's id.
        people: Ids of people.
        groups: Ids of groups.
        deadline: The last day, as `2026-12-31`.
        instead: True: earlier duties of these units end.

    Raises:
        InvalidValue: Nobody is named, one of them cannot work, or there is no such day.
    """
    terms = Terms(deadline)
    terms.check()
    found = _workers(change.session, people, groups)
    if instead:
        kept = {("person", name) for name in found[0]} | {("group", name) for name in found[1]}
        _drop(change, [row for row in unit_duties(change.session, units) if _who(row) not in kept])
    _put(change, [(queue_id, unit_id) for unit_id, queue_id in units.items()], *found, terms)


def set_deadline(change: Transaction, unit_ids: Iterable[str], deadline: str | None) -> int:
    """Set the deadline of all duties of units, None for none; returns how many duties changed.

    Raises:
        InvalidValue: There is no such day.
    """
    Terms(deadline).check()
    changed = 0
    for row in unit_duties(change.session, unit_ids):
        if row.deadline != deadline:
            before = _duty(row)
            row.deadline = deadline
            change.record("assign", row.unit_id or row.queue_id, before=before, after=_duty(row))
            changed += 1
    return changed


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


def _workers(session: Session, people: Iterable[str], groups: Iterable[str]) -> tuple[list[str], list[str]]:
    found = _known(session, PersonRow, people, "people"), _known(session, PeopleGroupRow, groups, "groups")
    if not any(found):
        raise InvalidValue("name at least one person or group", field="people")
    for person in session.scalars(select(PersonRow).where(PersonRow.id.in_(found[0]))):
        if person.disabled_at is not None or not may(person.role, Action.WORK):
            raise InvalidValue(f"{person.name} cannot work here: choose somebody else", field="people")
    return found


def _put(
    change: Transaction,
    places: Sequence[tuple[str, str | None]],
    people: Sequence[str],
    groups: Sequence[str],
    terms: Terms,
) -> None:
    """Make duties for all of the people and groups at each place, or change their terms."""
    session = change.session
    unit_ids = [unit_id for _, unit_id in places if unit_id is not None]
    there = {(row.unit_id, *_who(row)): row for row in unit_duties(session, unit_ids)}
    for queue_id, unit_id in places:
        if unit_id is None:
            there |= {(None, *_who(row)): row for row in queue_duties(session, queue_id)}
    whose = [*(("person", name) for name in people), *(("group", name) for name in groups)]
    for queue_id, unit_id in places:
        for kind, name in whose:
            row = there.get((unit_id, kind, name))
            before = _duty(row) if row is not None else None
            if row is None:
                row = DutyRow(id=secrets.token_hex(8), queue_id=queue_id, unit_id=unit_id, created_at=change.at)
                row.person_id, row.group_id = (name, None) if kind == "person" else (None, name)
                session.add(row)
            row.deadline, row.least, row.most = terms.deadline, terms.least, terms.most
            if before != _duty(row):
                change.record("assign", unit_id or queue_id, before=before, after=_duty(row))


def _drop(change: Transaction, rows: Iterable[DutyRow]) -> None:
    for row in rows:
        change.record("unassign", row.unit_id or row.queue_id, before=_duty(row), after={"id": row.id})
        change.session.delete(row)


def _who(row: DutyRow) -> tuple[str, str | None]:
    return ("person", row.person_id) if row.person_id is not None else ("group", row.group_id)


def _duty(row: DutyRow) -> dict[str, Json]:
    names = ("id", "queue_id", "unit_id", "person_id", "group_id", "deadline", "least", "most")
    return {name: getattr(row, name) for name in names}


def queue_duties(session: Session, queue_id: str) -> list[DutyRow]:
    """The duties of a whole queue."""
    query = select(DutyRow).where(DutyRow.queue_id == queue_id, DutyRow.unit_id.is_(None))
    return list(session.scalars(query.order_by(DutyRow.created_at, DutyRow.id)))


def of_person(person_id: str) -> ColumnElement[bool]:
    """As SQL about a duty: it is this person's, or one of a group of theirs."""
    groups = select(MembershipRow.group_id).where(MembershipRow.person_id == person_id)
    return or_(DutyRow.person_id == person_id, DutyRow.group_id.in_(groups))


@dataclass(frozen=True)
class Reach:
    """Which units of a queue somebody may take."""

    person_id: str
    queue_id: str
    general: bool
    """Units without duties of their own are for them."""
    most: int | None
    """Most units of the queue that they get without a duty for the unit itself."""
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
        return UnitRow.id.in_(self.taken.where(of_person(self.person_id)))

    def is_general(self) -> ColumnElement[bool]:
        """As SQL about a unit: it has no duties of its own."""
        return UnitRow.id.not_in(self.taken)


def reach_of(session: Session, person_id: str, queue_id: str) -> Reach:
    """Which units of a queue somebody may take."""
    every = queue_duties(session, queue_id)
    own = _own(session, person_id, every)
    units = select(DutyRow.id).where(DutyRow.queue_id == queue_id, DutyRow.unit_id.is_not(None)).limit(1)
    has_units = session.scalars(units).first() is not None
    general = not every or bool(own)
    works = general or (has_units and session.scalars(units.where(of_person(person_id))).first() is not None)
    return Reach(person_id, queue_id, general, _most(own), has_units, works)


def _own(session: Session, person_id: str, duties: Sequence[DutyRow]) -> list[DutyRow]:
    """The duties that count for a person: their own, or else those of their groups."""
    personal = [row for row in duties if row.person_id == person_id]
    if personal or not any(row.group_id for row in duties):
        return personal
    groups = set(session.scalars(select(MembershipRow.group_id).where(MembershipRow.person_id == person_id)))
    return [row for row in duties if row.group_id in groups]


def _most(duties: Sequence[DutyRow]) -> int | None:
    limits = [row.most for row in duties]
    return None if not limits or None in limits else max(limit for limit in limits if limit is not None)


@dataclass(frozen=True)
class Duty:
    """What is asked of one person in a queue."""

    deadline: str | None
    """The last day, as `2026-12-31`: the earliest of the queue's and of their assigned units."""
    least: int | None
    most: int | None
    done: int
    """Units of the queue that they have submitted."""
    assigned: int
    """Units assigned to them that they have not submitted."""

    @property
    def is_met(self) -> bool:
        """True if nothing more is asked."""
        return self.assigned == 0 and self.done >= (self.least or 0)


def duty_of(session: Session, person_id: str, queue_id: str) -> Duty | None:
    """What is asked of a person in a queue; None if nothing was assigned to them."""
    own = _own(session, person_id, queue_duties(session, queue_id))
    submitted = select(AssignmentRow.unit_id).where(
        AssignmentRow.person_id == person_id, AssignmentRow.role == "annotator", AssignmentRow.state == "submitted"
    )
    units = session.execute(
        select(func.count(DutyRow.unit_id.distinct()), func.min(DutyRow.deadline))
        .join(UnitRow, UnitRow.id == DutyRow.unit_id)
        .where(
            DutyRow.queue_id == queue_id,
            of_person(person_id),
            UnitRow.state == "open",
            UnitRow.id.not_in(submitted),
        )
    ).one()
    if not own and not units[0]:
        return None
    deadlines = [day for day in (*(row.deadline for row in own), units[1]) if day is not None]
    least = [row.least for row in own if row.least is not None]
    return Duty(
        min(deadlines, default=None),
        max(least, default=None),
        _most(own),
        units_of_person(session, person_id, queue_id, ("submitted",)),
        int(units[0]),
    )


def units_of_person(session: Session, person_id: str, queue_id: str, states: Sequence[str]) -> int:
    """How many units of a queue somebody has, as an annotator. Gold counts: it must not be told from other units."""
    return (
        session.scalar(
            select(func.count())
            .select_from(AssignmentRow)
            .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
            .where(
                AssignmentRow.person_id == person_id,
                AssignmentRow.state.in_(states),
                AssignmentRow.role == "annotator",
                UnitRow.queue_id == queue_id,
            )
        )
        or 0
    )


@dataclass(frozen=True)
class QueueDuty:
    """A duty of a whole queue, with how far its people are."""

    id: str
    name: str
    """Of the person or the group."""
    is_group: bool
    terms: Terms
    people: tuple[tuple[str, int], ...]
    """Name of each of its people, and how many units of the queue they have submitted. Who cannot work is left out."""

    @property
    def reached(self) -> int:
        """How many of its people have submitted as many units as they should."""
        return sum(done >= (self.terms.least or 0) for _, done in self.people)

    def is_late(self, today: str) -> bool:
        """True if the deadline has passed and somebody has done too little."""
        return self.terms.deadline is not None and self.terms.deadline < today and self.reached < len(self.people)


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
        return len({name for duty in self.duties for name, _ in duty.people})


def queue_assignments(session: Session) -> list[QueueAssignment]:
    """Who works on each queue of units, in the order of the queues."""
    people = {
        row.id: row.name
        for row in session.scalars(select(PersonRow).where(PersonRow.disabled_at.is_(None)).order_by(PersonRow.sign_in))
        if may(row.role, Action.WORK)
    }
    groups = {group.id: group for group in all_groups(session)}
    whole = select(DutyRow).where(DutyRow.unit_id.is_(None)).order_by(DutyRow.created_at, DutyRow.id)
    rows = session.scalars(whole).all()
    duties: dict[str, list[QueueDuty]] = {}
    names = {row.id: row.name for row in session.execute(select(PersonRow.id, PersonRow.name))}
    done = _done(session) if rows else {}
    for row in rows:
        group = groups.get(row.group_id or "")
        of = [name for name, _ in group.members] if group is not None else [row.person_id or ""]
        found = tuple((people[name], done.get((row.queue_id, name), 0)) for name in of if name in people)
        name = group.name if group is not None else names.get(row.person_id or "", "")
        terms = Terms(row.deadline, row.least, row.most)
        duties.setdefault(row.queue_id, []).append(QueueDuty(row.id, name, group is not None, terms, found))
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
