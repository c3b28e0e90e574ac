"""What owners change and see: roles, accounts, queues, settings, and the project's history.

The history shows no work on a unit that is not complete, to anybody in any role. Hashes of events are left out. They
cover withheld values, and somebody who guesses a decision could check the guess against them. `reeltalk review status
--verify` checks the chain on the machine of the database.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from sqlalchemy import ColumnElement, Row, Select, func, or_, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, Role, may
from reeltalk_review.assigning import ADJUDICATOR, IN_BULK, LABELS, ORDER, ORDERS, UNFINISHED
from reeltalk_review.database import Database, ProjectSettings
from reeltalk_review.describing import has_words
from reeltalk_review.errors import Conflict, InvalidValue, NotFound
from reeltalk_review.events import ROWS, Transaction
from reeltalk_review.people import clean_line, end_sessions
from reeltalk_review.settling import OPEN, release_work, set_overlap
from reeltalk_review.tables import (
    AssignmentRow,
    EventRow,
    InvitationRow,
    LiveDialogueRow,
    PersonRow,
    ProjectRow,
    QueueRow,
    TokenRow,
    UnitRow,
    moment,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import spoken_place


@dataclass(frozen=True)
class Member:
    """A person on the team as owners see them: amounts of work, but no content."""

    row: PersonRow
    unfinished: int
    submitted: int


def members(session: Session) -> list[Member]:
    """All people by name; those who may sign in come first."""
    counts: dict[tuple[str, str], int] = {
        (person, state): count
        for person, state, count in session.execute(
            select(AssignmentRow.person_id, AssignmentRow.state, func.count()).group_by(
                AssignmentRow.person_id, AssignmentRow.state
            )
        )
    }
    rows = session.scalars(select(PersonRow).order_by(PersonRow.disabled_at.is_not(None), PersonRow.sign_in)).all()
    return [
        Member(row, sum(counts.get((row.id, state), 0) for state in UNFINISHED), counts.get((row.id, "submitted"), 0))
        for row in rows
    ]


def open_invitations(session: Session) -> list[InvitationRow]:
    """Invitations that can still be used, newest first."""
    query = select(InvitationRow).where(
        InvitationRow.used_by.is_(None), InvitationRow.withdrawn_at.is_(None), InvitationRow.expires_at > moment()
    )
    return list(session.scalars(query.order_by(InvitationRow.created_at.desc(), InvitationRow.id)))


def change_role(change: Transaction, person_id: str, role: str, *, approval: bool) -> None:
    """Give somebody another role. It counts from their next request on.

    If they may no longer work or adjudicate, their unfinished work goes to others. What they typed is kept.

    Args:
        change: The transaction.
        person_id: Whose role.
        role: The new role.
        approval: Whether an adjudicator approves units that become complete by this.

    Raises:
        NotFound: There is no such person.
        InvalidValue: There is no such role.
        Conflict: They are the last owner.
    """
    person = _person(change.session, person_id)
    if role not in list(Role):
        raise InvalidValue(f"choose {', '.join(Role)}", field="role")
    if person.role == role:
        return
    if person.role == Role.OWNER:
        _keep_an_owner(change.session, person)
    before, person.role = person.role, role
    change.record("role", person.id, before={"role": before}, after={"role": role})
    if not may(role, Action.WORK):
        release_work(change, person.id, approval=approval)
    elif not may(role, Action.ADJUDICATE):
        release_work(change, person.id, approval=approval, roles=(ADJUDICATOR,))


def disable_account(change: Transaction, person_id: str, *, approval: bool) -> None:
    """Close somebody's account: their sessions and tokens end, and their unfinished work goes to others.

    Args:
        change: The transaction.
        person_id: Whose account.
        approval: Whether an adjudicator approves units that become complete by this.

    Raises:
        NotFound: There is no such person.
        Conflict: They are the last owner.
    """
    person = _person(change.session, person_id)
    if person.disabled_at is not None:
        return
    if person.role == Role.OWNER:
        _keep_an_owner(change.session, person)
    person.disabled_at = change.at
    end_sessions(change, person.id)
    for token in change.session.scalars(
        select(TokenRow).where(TokenRow.person_id == person.id, TokenRow.revoked_at.is_(None))
    ).all():
        token.revoked_at = change.at
    change.record("disable", person.id)
    release_work(change, person.id, approval=approval)


def enable_account(change: Transaction, person_id: str) -> None:
    """Open an account again. Its tokens stay revoked.

    Raises:
        NotFound: There is no such person.
    """
    person = _person(change.session, person_id)
    if person.disabled_at is not None:
        person.disabled_at = None
        change.record("enable", person.id)


def _person(session: Session, person_id: str) -> PersonRow:
    found = session.get(PersonRow, person_id)
    if found is None:
        raise NotFound("there is no such person")
    return found


def _keep_an_owner(session: Session, leaving: PersonRow) -> None:
    others = session.scalar(
        select(func.count())
        .select_from(PersonRow)
        .where(PersonRow.role == Role.OWNER, PersonRow.disabled_at.is_(None), PersonRow.id != leaving.id)
    )
    if leaving.disabled_at is None and not others:
        raise Conflict("this is the project's last owner; make somebody else an owner first", code="last_owner")


LARGEST_OVERLAP = 10
LONGEST_TITLE = 80
PROJECT = "project"


def change_queue(
    change: Transaction,
    queue_id: str,
    *,
    title: str,
    position: int,
    overlap: int,
    is_open: bool,
    approval: bool,
    order: str = ORDERS[0],
    in_bulk: bool = False,
    labels: bool = False,
) -> None:
    """Change a queue.

    Args:
        change: The transaction.
        queue_id: Which queue.
        title: Its title for people.
        position: Its place among the queues, 0 to 999.
        overlap: How many people do each unit. Complete units stay complete.
        is_open: Whether people may take units. Work that was begun can be finished in any case.
        approval: Whether an adjudicator approves units that become complete because fewer people do each.
        order: The order in which people get its units: one of `ORDERS`.
        in_bulk: Whether people may accept at once the turns without findings.
        labels: Whether people are asked for the labels of turns.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: A value cannot be used.
        Conflict: A unit already has more people than `overlap`.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    title = clean_line(title, "a title", LONGEST_TITLE, field="title")
    if not 0 <= position < 1000:
        raise InvalidValue("the order is a number from 1 to 1000", field="position")
    if not 1 <= overlap <= LARGEST_OVERLAP:
        raise InvalidValue(f"1 to {LARGEST_OVERLAP} people can do each task", field="overlap")
    if order not in ORDERS:
        raise InvalidValue(f"people get tasks in one of these orders: {', '.join(ORDERS)}", field="order")
    if overlap != queue.overlap and queue.task not in TASKS:
        raise InvalidValue("this kind of work is always done by two people", field="overlap")
    if overlap != queue.overlap:
        set_overlap(change, queue, TASKS[queue.task], overlap, approval=approval)
    before = _queue(queue)
    queue.title, queue.position, queue.is_open = title, position, is_open
    # A new mapping, since changes inside it would go unnoticed.
    queue.settings = {**queue.settings, ORDER: order, IN_BULK: in_bulk, LABELS: labels}
    if _queue(queue) != before:
        change.record("queue", queue.id, before=before, after=_queue(queue))


def _queue(queue: QueueRow) -> dict[str, Json]:
    defaults: dict[str, Json] = {ORDER: ORDERS[0], IN_BULK: False, LABELS: False}
    settings = {name: queue.settings.get(name, default) for name, default in defaults.items()}
    return {"title": queue.title, "position": queue.position, "is_open": queue.is_open, **settings}


def change_settings(change: Transaction, **changes: Any) -> ProjectSettings:
    """Change some of the project's settings; returns all of them.

    Raises:
        Conflict: Nothing was imported into the project yet.
    """
    row = change.session.scalars(select(ProjectRow)).one_or_none()
    if row is None:
        raise Conflict("no benchmark was loaded into this project yet")
    # What is stored counts: another process of the server may have changed a setting meanwhile.
    settings = ProjectSettings.model_validate(row.settings).model_copy(update=changes)
    before, after = dict(row.settings), settings.model_dump(mode="json")
    if before != after:
        row.settings = after
        change.record("settings", PROJECT, before=before, after=after)
    return settings


MOST_EVENTS: Final = 500
"""Most events in one answer."""
TEAM_EVENTS: Final = frozenset(
    {
        *("invite", "withdraw", "join", "role", "disable", "enable"),
        *("sign_in", "sign_out", "sign_out_everywhere", "password", "reset_link", "token", "revoke"),
        *("load", "benchmark", "queue", "overlap", "settings", "apply", "pair", "backup"),
        *("line", "guideline"),
        *("assign", "unassign"),
    }
)
"""Kinds of events that contain no work. All others belong to a unit, or are withheld."""
UNIT_EVENTS: Final = frozenset(
    {
        *("take", "save", "undo", "redo", "active", "submit", "reopen", "return", "lapse", "regain"),
        *("complete", "result", "settle", "unsettle", "reconsider", "gold", "set_aside"),
        *("begin", "say", "finish", "judge"),
    }
)
"""Kinds of events that belong to a unit, or to a dialogue of a pair."""


@dataclass(frozen=True)
class EventFilter:
    """Which events to show. What is empty selects all."""

    person: str = ""
    """The author's id, or `operator`."""
    kind: str = ""
    queue: str = ""
    """Id of a queue: it, its units, and the work on them."""
    unit: str = ""
    """A unit's id, or part of its name."""
    day: str = ""
    """A day in UTC, as `2026-11-22`."""

    def conditions(self) -> list[ColumnElement[bool]]:
        """As SQL about an event.

        Raises:
            InvalidValue: The day is no day.
        """
        found: list[ColumnElement[bool]] = []
        if self.person:
            found.append(EventRow.author == self.person)
        if self.kind:
            found.append(EventRow.kind == self.kind)
        if self.queue:
            units = select(UnitRow.id).where(UnitRow.queue_id == self.queue)
            found.append(or_(EventRow.subject == self.queue, _is_about(units)))
        if self.unit:
            found.append(_is_about(select(UnitRow.id).where(or_(UnitRow.id == self.unit, has_words(self.unit)))))
        if self.day:
            try:
                first = datetime.fromisoformat(f"{self.day}T00:00:00+00:00")
            except ValueError:
                raise InvalidValue("a day is written as 2026-11-22", field="day") from None
            found += [EventRow.at >= moment(first), EventRow.at < moment(first + timedelta(days=1))]
        return found

    def address(self) -> str:
        """As the query of an address, with an `&` in front; empty if it selects all."""
        given = {name: value for name, value in vars(self).items() if value}
        return f"&{urlencode(given)}" if given else ""


def _is_about(units: Select[str]) -> ColumnElement[bool]:
    works = select(AssignmentRow.id).where(AssignmentRow.unit_id.in_(units))
    dialogues = select(LiveDialogueRow.id).where(LiveDialogueRow.unit_id.in_(units))
    return or_(*(EventRow.subject.in_(subjects) for subjects in (units, works, dialogues)))


@dataclass(frozen=True)
class VisibleEvent:
    """An event without what may not be shown yet."""

    seq: int
    at: str
    author: str
    kind: str
    subject: str
    unit: str | None
    """Id of the unit that it belongs to."""
    name: str | None
    """The unit's name."""
    place: str | None
    before: Json
    after: Json
    withheld: bool
    """True if place and values are left out."""

    @property
    def spoken_place(self) -> str:
        """The place for people, who count from 1; empty if there is none."""
        if self.place is None:
            return ""
        if self.kind == "say":
            return f"message {int(self.place) + 1}"
        return spoken_place(self.place)

    def document(self) -> dict[str, Json]:
        """As JSON for scripts."""
        return dict(vars(self))


def visible_events(session: Session, rows: Sequence[EventRow]) -> list[VisibleEvent]:
    """Events without what may not be shown yet.

    Places are withheld too: for drawn links and added labels, the place reveals the work.
    """
    units = _units(session, {row.subject for row in rows if row.kind not in TEAM_EVENTS})
    found = []
    for row in rows:
        unit = units.get(row.subject)
        hidden = row.kind not in TEAM_EVENTS and (unit is None or unit.state == OPEN)
        found.append(
            VisibleEvent(
                seq=row.seq,
                at=row.at,
                author=row.author,
                kind=row.kind,
                subject=row.subject,
                unit=unit.id if unit is not None else None,
                name=unit.title if unit is not None else None,
                place=None if hidden else row.place,
                before=None if hidden else row.before,
                after=None if hidden else row.after,
                withheld=hidden,
            )
        )
    return found


EVERYTHING: Final = EventFilter()


def events_after(session: Session, seq: int, limit: int, chosen: EventFilter = EVERYTHING) -> list[VisibleEvent]:
    """The events that follow one, first to last.

    Raises:
        InvalidValue: The filter cannot be used.
    """
    query = select(EventRow).where(EventRow.seq > seq, *chosen.conditions()).order_by(EventRow.seq)
    return visible_events(session, session.scalars(query.limit(min(limit, MOST_EVENTS))).all())


def events_before(
    session: Session, seq: int | None, limit: int, chosen: EventFilter = EVERYTHING
) -> list[VisibleEvent]:
    """The events before one, or the latest, last to first; those that only have hashes of rows tell people nothing.

    Raises:
        InvalidValue: The filter cannot be used.
    """
    told = EventRow.kind != ROWS, *chosen.conditions()
    query = select(EventRow).where(*told).order_by(EventRow.seq.desc()).limit(min(limit, MOST_EVENTS))
    return visible_events(session, session.scalars(query if seq is None else query.where(EventRow.seq < seq)).all())


def all_events(database: Database, chosen: EventFilter) -> Iterator[VisibleEvent]:
    """All events that a filter selects, first to last. They are read a few at a time.

    Raises:
        InvalidValue: The filter cannot be used.
    """
    last, found = 0, True
    while found:
        with database.reading() as session:
            some = events_after(session, last, MOST_EVENTS, chosen)
        yield from some
        found = len(some) == MOST_EVENTS
        last = some[-1].seq if some else last


def _units(session: Session, subjects: Iterable[str]) -> dict[str, Row[Any]]:
    """The unit of each subject that is one or is work on one, with its id, title and state.

    A complete unit is open again while work on it was returned. Its events are then withheld again.
    """
    subjects = list(subjects)
    shown = (UnitRow.id, UnitRow.title, UnitRow.state)
    own = select(UnitRow.id.label("subject"), *shown).where(UnitRow.id.in_(subjects))
    work = (
        select(AssignmentRow.id.label("subject"), *shown)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.id.in_(subjects))
    )
    rows: list[Row[Any]] = [*session.execute(own), *session.execute(work)]
    return {row.subject: row for row in rows}
