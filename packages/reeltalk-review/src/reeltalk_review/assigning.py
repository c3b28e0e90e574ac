"""Who gets which unit: queues, leases, and work that stays with its annotator.

A unit has as many places as its queue's overlap. A copy of the work is *live* while it has a place: it is in work, was
returned, or was submitted. There are never more live copies than places. A copy whose place went to somebody else has
*lapsed*: what its person saved stays, they may go on, and the first to submit counts.
"""

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk_review.access import Action, may
from reeltalk_review.collecting import hidden_videos, known_videos
from reeltalk_review.duties import is_for
from reeltalk_review.errors import Conflict, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.gold import gold_rules
from reeltalk_review.tables import AssignmentRow, EntryRow, EventRow, PersonRow, QueueRow, UnitRow, timestamp
from reeltalk_review.tasks.registry import TASKS

ANNOTATOR: Final = "annotator"
ADJUDICATOR: Final = "adjudicator"
UNFINISHED: Final = ("working", "returned")
LIVE: Final = (*UNFINISHED, "submitted")
LAPSED: Final = "lapsed"
TEST: Final = "test"
"""The kind of work in which people answer questions that they must not know."""
LONGEST_LEASE: Final = timedelta(hours=24)
"""A lease that ends later was given by a wrong clock and holds nothing."""
ORDER: Final = "order"
"""Key in a queue's settings: one of `ORDERS`."""
ORDERS: Final = ("films", "doubt")
IN_BULK: Final = "in_bulk"
"""Key in a queue's settings: people may accept at once the turns without findings. Also the mark of such values."""
LABELS: Final = "labels"
"""Key in a queue's settings: people are asked for the labels of turns."""


def next_unit(change: Transaction, person_id: str, queue_id: str, *, lease_minutes: int) -> AssignmentRow | None:
    """The next work of a person in a queue: returned work, work they began, or a unit that needs one more person.

    A unit is held for everybody whose lease runs, and for everybody who has saved something in it. If nobody saved
    anything and the lease is over, its place goes to the next person who asks.

    Returns:
        The assignment with its lease renewed; None if nothing is left for this person.

    Raises:
        NotFound: There is no such queue, or it is closed.
    """
    session = change.session
    queue = session.get(QueueRow, queue_id)
    # Pairs collect dialogues about the units of a `collect` queue; nobody takes one alone.
    if queue is None or not queue.is_open or queue.task not in TASKS:
        raise NotFound("there is no such queue, or it is closed")
    own = session.scalars(
        select(AssignmentRow)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(
            UnitRow.queue_id == queue_id,
            AssignmentRow.person_id == person_id,
            AssignmentRow.role == ANNOTATOR,
            or_(
                AssignmentRow.state.in_(UNFINISHED),
                and_(
                    AssignmentRow.state == LAPSED,
                    UnitRow.state == "open",
                    places_held(change.at) < queue.overlap,
                    may_take(session, queue, person_id),
                ),
            ),
        )
        # `returned` sorts before `working`: returned work comes first.
        .order_by(AssignmentRow.state == LAPSED, AssignmentRow.state, UnitRow.position)
        .limit(1)
    ).one_or_none()
    if own is not None:
        if own.state == LAPSED:
            regain_place(change, own, session.get_one(UnitRow, own.unit_id))
        renew_lease(own, lease_minutes=lease_minutes, now=change.at)
        return own
    unit = _first_free(session, queue, person_id, change.at)
    return take_unit(change, unit, person_id, ANNOTATOR, lease_minutes=lease_minutes) if unit is not None else None


def _first_free(session: Session, queue: QueueRow, person_id: str, now: str) -> UnitRow | None:
    """The first unit in the queue's order that is for somebody and has a place for them."""
    mine = exists().where(AssignmentRow.unit_id == UnitRow.id, AssignmentRow.person_id == person_id)
    return session.scalars(
        select(UnitRow)
        .where(
            UnitRow.queue_id == queue.id,
            UnitRow.state == "open",
            is_for(session, person_id, queue.id),
            ~mine,
            or_(UnitRow.gold.is_not(None), places_held(now) < queue.overlap),
            may_take(session, queue, person_id),
        )
        .order_by(*order_of(queue))
        .limit(1)
    ).one_or_none()


def order_of(queue: QueueRow) -> tuple[Any, ...]:
    """As SQL: the order in which people get the units of a queue, as its setting `order` says.

    `films` is the order of the benchmark; `doubt` begins with the units that its checks leave most doubtful. Training
    sets come first in both.
    """
    by_doubt = queue.settings.get(ORDER, ORDERS[0]) == "doubt"
    return (*([UnitRow.doubt.desc()] if by_doubt else []), UnitRow.position, UnitRow.gold.is_(None))


def may_take(session: Session, queue: QueueRow, person_id: str) -> ColumnElement[bool]:
    """As SQL about a unit of a queue: nothing that this person has seen, or may not see, keeps them from working on it.

    What holds for all units of the queue is looked up here, so that no unit is checked for it.
    """
    person = session.get_one(PersonRow, person_id)
    rules = [*gold_rules(session, queue.id, person_id), may_know(person_id, queue.id)]
    if queue.task == TEST:
        rules.append(may_answer(person_id, queue.id))
    if may(person.role, Action.ADJUDICATE):
        # People who see the table of units would recognise gold in their own hands.
        rules += [was_not_shown(), UnitRow.gold.is_(None)]
    return and_(*rules)


@lru_cache(maxsize=1024)
def may_know(person_id: str, queue_id: Any = UnitRow.queue_id) -> ColumnElement[bool]:
    """As SQL about a unit: it reveals nothing about a video that this person asks about, or is examined on, now.

    Args:
        queue_id: The queue of the unit. If it is given, the videos are found once, and not for each unit.
    """
    unit, queue = aliased(UnitRow), aliased(QueueRow)
    examined = (
        select(unit.video_id)
        .join(AssignmentRow, AssignmentRow.unit_id == unit.id)
        .join(queue, queue.id == unit.queue_id)
        .where(
            unit.video_id.is_not(None),
            queue.task == TEST,
            queue.id != queue_id,
            AssignmentRow.person_id == person_id,
            AssignmentRow.state.in_(UNFINISHED),
        )
        .correlate(UnitRow)
    )
    return or_(
        UnitRow.video_id.is_(None),
        and_(UnitRow.video_id.not_in(hidden_videos(person_id)), UnitRow.video_id.not_in(examined)),
    )


@lru_cache(maxsize=1024)
def may_answer(person_id: str, queue_id: str) -> ColumnElement[bool]:
    """As SQL about a unit of a test: this person has not worked on its video in another queue."""
    return or_(UnitRow.video_id.is_(None), UnitRow.video_id.not_in(known_videos(person_id, queue_id)))


def was_not_shown() -> ColumnElement[bool]:
    """As SQL about a unit: an owner or adjudicator could not see all work on it.

    They can once all is in, so they do not work on the unit if it is open again.
    """
    return ~exists().where(EventRow.subject == UnitRow.id, EventRow.kind == "unsettle")


def holds_place(now: str, role: str = ANNOTATOR) -> ColumnElement[bool]:
    """As SQL: a copy whose place nobody else gets. It is submitted, returned, has saved values, or a running lease."""
    saved = exists().where(EntryRow.assignment_id == AssignmentRow.id)
    latest = timestamp(datetime.fromisoformat(now) + LONGEST_LEASE)
    leased = and_(AssignmentRow.lease_until > now, AssignmentRow.lease_until <= latest)
    return and_(
        AssignmentRow.role == role,
        or_(
            AssignmentRow.state.in_(("submitted", "returned")),
            and_(AssignmentRow.state == "working", or_(leased, saved)),
        ),
    )


def places_held(now: str) -> ColumnElement[int]:
    """As SQL: how many places of a unit are held."""
    return (
        select(func.count())
        .select_from(AssignmentRow)
        .where(AssignmentRow.unit_id == UnitRow.id, holds_place(now))
        .correlate(UnitRow)
        .scalar_subquery()
    )


def take_unit(change: Transaction, unit: UnitRow, person_id: str, role: str, *, lease_minutes: int) -> AssignmentRow:
    """Give a unit to somebody.

    Raises:
        Conflict: They have it already, in this or another role; others hold all its places; or what they have seen
            keeps them from working on it.
    """
    session = change.session
    if session.scalars(
        select(AssignmentRow.id).where(AssignmentRow.unit_id == unit.id, AssignmentRow.person_id == person_id)
    ).first():
        raise Conflict("you have worked on this task already; somebody else must do it")
    if unit.state != ("adjudication" if role == ADJUDICATOR else "open"):
        raise Conflict("this task needs nobody else; take another")
    queue = session.get_one(QueueRow, unit.queue_id)
    fitting = select(UnitRow.id).where(UnitRow.id == unit.id, may_take(session, queue, person_id))
    if role == ANNOTATOR and session.scalars(fitting).first() is None:
        raise Conflict("this person has seen, or may not see, what this task shows; somebody else must do it")
    row = AssignmentRow(
        id=secrets.token_hex(8),
        unit_id=unit.id,
        person_id=person_id,
        role=role,
        state="working",
        round=1,
        note="",
        created_at=change.at,
        lease_until=_lease(change.at, lease_minutes),
    )
    session.add(row)
    session.flush()
    change.record("take", row.id, after={"unit": unit.id, "person": person_id, "role": role})
    idle = select(AssignmentRow.id).where(
        AssignmentRow.unit_id == unit.id, AssignmentRow.state == "working", ~holds_place(change.at, role)
    )
    if make_room(change, unit, role, session.scalars(idle).all()):
        raise Conflict("other people have this task now; take another")
    return row


def unfinished_copies(change: Transaction, unit: UnitRow, role: str) -> Sequence[str]:
    """Ids of the copies of a unit that may lapse: first those without a hold, then the ones begun last."""
    query = (
        select(AssignmentRow.id)
        .where(AssignmentRow.unit_id == unit.id, AssignmentRow.role == role, AssignmentRow.state == "working")
        .order_by(holds_place(change.at, role), AssignmentRow.created_at.desc(), AssignmentRow.id)
    )
    return change.session.scalars(query).all()


def make_room(change: Transaction, unit: UnitRow, role: str, may_lapse: Sequence[str]) -> bool:
    """Let copies lapse, in the order of `may_lapse`, until each has a place; returns whether there are still more."""
    live = {row.id: row for row in _live(change.session, unit, role)}
    surplus = len(live) - _places(change.session, unit, role)
    for assignment_id in may_lapse:
        if surplus > 0 and assignment_id in live:
            lapse_work(change, live[assignment_id])
            surplus -= 1
    return surplus > 0


def regain_place(change: Transaction, assignment: AssignmentRow, unit: UnitRow) -> bool:
    """Give a lapsed copy a place again if one is free; returns whether the copy is live now."""
    if assignment.state != LAPSED:
        return True
    session = change.session
    wanted = "adjudication" if assignment.role == ADJUDICATOR else "open"
    if unit.state != wanted or len(_live(session, unit, assignment.role)) >= _places(session, unit, assignment.role):
        return False
    assignment.state = "working"
    change.record("regain", assignment.id, before={"state": LAPSED}, after={"state": "working"})
    return True


def lapse_work(change: Transaction, assignment: AssignmentRow) -> None:
    """Let a copy's place go to somebody else. Its saved values stay."""
    before, assignment.state = assignment.state, LAPSED
    change.record("lapse", assignment.id, before={"state": before}, after={"state": LAPSED})


def renew_lease(assignment: AssignmentRow, *, lease_minutes: int, now: str | None = None) -> None:
    """Hold a unit for its person for another lease, from now or a given moment. This adds no event.

    A lease with at least 95 % of its time left stays as it is, so frequent saves rarely write it.
    """
    until = _lease(now or timestamp(), lease_minutes)
    gained = datetime.fromisoformat(until) - datetime.fromisoformat(assignment.lease_until)
    if abs(gained) > timedelta(minutes=lease_minutes) / 20:
        assignment.lease_until = until


def open_units(session: Session, queue_id: str, person_id: str, now: str) -> int:
    """How many units of a queue somebody could still work on: units they have begun and units with a free place."""
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        return 0
    # Each set is computed once. Checking every unit against it would take a second in a large project.
    own = select(AssignmentRow.unit_id).where(AssignmentRow.person_id == person_id)
    unfinished = own.where(AssignmentRow.role == ANNOTATOR, AssignmentRow.state.in_(UNFINISHED))
    full = (
        select(AssignmentRow.unit_id)
        .where(holds_place(now))
        .group_by(AssignmentRow.unit_id)
        .having(func.count() >= queue.overlap)
    )
    has_room = or_(UnitRow.id.not_in(full), UnitRow.gold.is_not(None))
    free = and_(
        UnitRow.id.not_in(own), has_room, is_for(session, person_id, queue_id), may_take(session, queue, person_id)
    )
    units = select(func.count()).select_from(UnitRow).where(UnitRow.queue_id == queue_id, UnitRow.state == "open")
    return session.scalar(units.where(or_(free, UnitRow.id.in_(unfinished)))) or 0


def _live(session: Session, unit: UnitRow, role: str) -> Sequence[AssignmentRow]:
    return session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.unit_id == unit.id,
            AssignmentRow.role == role,
            AssignmentRow.state.in_(LIVE),
        )
    ).all()


def _places(session: Session, unit: UnitRow, role: str) -> float:
    if role == ADJUDICATOR:
        return 1
    # Everybody gets each unit of gold.
    return float("inf") if unit.gold is not None else session.get_one(QueueRow, unit.queue_id).overlap


def _lease(now: str, minutes: int) -> str:
    return timestamp(datetime.fromisoformat(now) + timedelta(minutes=minutes))
