"""What owners change and see: roles, accounts, queues, settings, and the project's history.

The history shows no work on a unit that is not complete, to anybody in any role. Hashes of events are left out. They
cover withheld values, and somebody who guesses a decision could check the guess against them. `reeltalk review status
--verify` checks the chain on the machine of the database.
"""

from typing import Any, Final

from sqlalchemy import Row, func, or_, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, Role, may
from reeltalk_review.assigning import ADJUDICATOR, IN_BULK, LABELS, ORDER, ORDERS, UNFINISHED
from reeltalk_review.database import ProjectSettings
from reeltalk_review.describing import has_words
from reeltalk_review.errors import Conflict, InvalidValue, NotFound
from reeltalk_review.events import ROWS_KIND, Transaction
from reeltalk_review.people import clean_line, end_sessions
from reeltalk_review.settling import OPEN, release_work, set_overlap
from reeltalk_review.tables import (
    AssignmentRow,
    EventRow,
    LiveDialogueRow,
    PersonRow,
    ProjectRow,
    QueueRow,
    UnitRow,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import spoken_place

LARGEST_OVERLAP: Final = 10
LARGEST_POSITION: Final = 1000
LONGEST_TITLE: Final = 80
PROJECT: Final = "project"


def change_role(change: Transaction, person_id: str, role: str, *, approval: bool) -> None:
    """Give somebody another role. It counts from their next request on.

    If they may no longer work or adjudicate, their unfinished work goes to others. What they typed is kept.
    With `approval`, an adjudicator approves units that become complete by this.
    """
    person = _person(change.session, person_id)
    if role not in list(Role):
        raise InvalidValue(f"choose {', '.join(Role)}", field="role")
    if person.role == role:
        return
    _keep_an_owner(change.session, person)
    before, person.role = person.role, role
    change.record("role", person.id, before={"role": before}, after={"role": role})
    if not may(role, Action.WORK):
        release_work(change, person.id, approval=approval)
    elif not may(role, Action.ADJUDICATE):
        release_work(change, person.id, approval=approval, roles=(ADJUDICATOR,))


def disable_account(change: Transaction, person_id: str, *, approval: bool) -> None:
    """Close somebody's account: their sessions end, and their unfinished work goes to others, as in `change_role`."""
    person = _person(change.session, person_id)
    if person.disabled_at is not None:
        return
    _keep_an_owner(change.session, person)
    person.disabled_at = change.at
    end_sessions(change, person.id)
    change.record("disable", person.id)
    release_work(change, person.id, approval=approval)


def enable_account(change: Transaction, person_id: str) -> None:
    """Open an account again."""
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
    if leaving.role != Role.OWNER or leaving.disabled_at is not None:
        return
    others = select(PersonRow.id).where(
        PersonRow.role == Role.OWNER, PersonRow.disabled_at.is_(None), PersonRow.id != leaving.id
    )
    if session.scalars(others).first() is None:
        raise Conflict("this is the project's last owner; make somebody else an owner first", code="last_owner")


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
        title: Its title for people.
        position: Its place among the queues, from 0.
        overlap: How many people do each unit. Complete units stay complete.
        is_open: Whether people may take units. Work that was begun can be finished in any case.
        approval: Whether an adjudicator approves units that become complete because fewer people do each.
        order: The order in which people get its units: one of `ORDERS`.
        in_bulk: Whether people may accept at once the turns without findings.
        labels: Whether people are asked for the labels of turns.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    title = clean_line(title, "a title", LONGEST_TITLE, field="title")
    if overlap != queue.overlap:
        if queue.task not in TASKS:
            raise InvalidValue("this kind of work is always done by two people", field="overlap")
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
    """Change some of the project's settings; returns all of them."""
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


TEAM_EVENTS: Final = frozenset(
    {
        *("invite", "withdraw", "join", "role", "disable", "enable"),
        *("sign_in", "sign_out", "password", "reset_link"),
        *("load", "benchmark", "queue", "overlap", "settings", "apply", "pair", "backup"),
        *("line", "guideline"),
        *("assign", "unassign"),
    }
)
"""Kinds of events that contain no work. All others belong to a unit, or are withheld."""


def past_events(
    session: Session, limit: int, *, before: int | None = None, person: str = "", unit: str = ""
) -> list[dict[str, Any]]:
    """Events without what may not be shown yet, last to first.

    Places are withheld too: for drawn links and added labels, the place reveals the work. Events that only have hashes
    of rows tell people nothing.

    Args:
        session: The database.
        limit: How many.
        before: The number of the event that they precede; by default the latest.
        person: Only of this author, or of `operator`.
        unit: Only about units of this id, or with this part of a name, and about the work on them.
    """
    query = select(EventRow).where(EventRow.kind != ROWS_KIND).order_by(EventRow.seq.desc()).limit(limit)
    if before is not None:
        query = query.where(EventRow.seq < before)
    if person:
        query = query.where(EventRow.author == person)
    if unit:
        units = select(UnitRow.id).where(or_(UnitRow.id == unit, has_words(unit)))
        works = select(AssignmentRow.id).where(AssignmentRow.unit_id.in_(units))
        dialogues = select(LiveDialogueRow.id).where(LiveDialogueRow.unit_id.in_(units))
        query = query.where(or_(*(EventRow.subject.in_(subjects) for subjects in (units, works, dialogues))))
    rows = session.scalars(query).all()
    units_by_subject = _units(session, [row.subject for row in rows if row.kind not in TEAM_EVENTS])
    shown = []
    for row in rows:
        about = units_by_subject.get(row.subject)
        event = {"seq": row.seq, "at": row.at, "author": row.author, "kind": row.kind, "subject": row.subject}
        event |= {"unit": about.title if about is not None else None, "withheld": True, "place": ""}
        if row.kind in TEAM_EVENTS or (about is not None and about.state != OPEN):
            place = spoken_place(row.place) if row.place is not None else ""
            event |= {"withheld": False, "place": place, "before": row.before, "after": row.after}
        shown.append(event)
    return shown


def _units(session: Session, subjects: list[str]) -> dict[str, Any]:
    """The unit of each subject that is one or is work on one, with its id, title and state."""
    shown = (UnitRow.id, UnitRow.title, UnitRow.state)
    own = select(UnitRow.id.label("subject"), *shown).where(UnitRow.id.in_(subjects))
    work = (
        select(AssignmentRow.id.label("subject"), *shown)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.id.in_(subjects))
    )
    return {row.subject: row for query in (own, work) for row in session.execute(query)}


def members(session: Session) -> list[Row[Any]]:
    """All people with their numbers of unfinished and submitted units; those who may sign in come first, by name."""
    unfinished = func.count().filter(AssignmentRow.state.in_(UNFINISHED))
    submitted = func.count().filter(AssignmentRow.state == "submitted")
    query = select(PersonRow, unfinished, submitted).outerjoin(AssignmentRow, AssignmentRow.person_id == PersonRow.id)
    order = PersonRow.disabled_at.is_not(None), PersonRow.sign_in
    return list(session.execute(query.group_by(PersonRow.id).order_by(*order)))
