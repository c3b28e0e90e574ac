"""Who gets which unit: queues, leases, work that stays with its annotator."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session

from reeltalk.review.events import Change
from reeltalk.review.gold_units import may_get
from reeltalk.review.refusals import ConflictError, NotThereError
from reeltalk.review.tables import AssignmentRow, EntryRow, QueueRow, UnitRow, moment
from reeltalk.review.tasks.registry import TASKS

ANNOTATOR: Final = "annotator"
ADJUDICATOR: Final = "adjudicator"
UNFINISHED: Final = ("working", "returned")


def next_unit(change: Change, person_id: str, queue_id: str, *, lease_minutes: int) -> AssignmentRow | None:
    """What somebody does next in a queue: work that came back, work they began, or a unit that needs one more person.

    A unit is held for everybody whose lease runs, and for everybody who has saved something in it: work stays with
    its annotator. Where nobody saved anything and the lease is over, its place goes to the next who asks.

    Returns:
        The assignment, with its lease renewed; None where nothing is left for this person.

    Raises:
        NotThereError: There is no such queue, or it is closed.
    """
    session = change.session
    queue = session.get(QueueRow, queue_id)
    # Pairs talk about the units of a queue for collecting; nobody takes one alone.
    if queue is None or not queue.is_open or queue.task not in TASKS:
        raise NotThereError("there is no such queue, or it is closed")
    own = session.scalars(
        select(AssignmentRow)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(
            UnitRow.queue_id == queue_id,
            AssignmentRow.person_id == person_id,
            AssignmentRow.role == ANNOTATOR,
            AssignmentRow.state.in_(UNFINISHED),
        )
        # `returned` sorts before `working`: what came back is done first.
        .order_by(AssignmentRow.state, UnitRow.position)
        .limit(1)
    ).one_or_none()
    if own is not None:
        own.lease_until = _lease(lease_minutes)
        return own
    mine = exists().where(AssignmentRow.unit_id == UnitRow.id, AssignmentRow.person_id == person_id)
    unit = session.scalars(
        select(UnitRow)
        .where(
            UnitRow.queue_id == queue_id,
            UnitRow.state == "open",
            ~mine,
            or_(UnitRow.gold.is_not(None), held(change.at) < queue.overlap),
            may_get(person_id),
        )
        .order_by(UnitRow.position, UnitRow.gold.is_(None))
        .limit(1)
    ).one_or_none()
    return take(change, unit, person_id, ANNOTATOR, lease_minutes=lease_minutes) if unit is not None else None


def held(now: str) -> ColumnElement[int]:
    """How many people hold a place of a unit, as SQL: who submitted, who saved something, whose lease runs."""
    saved = exists().where(EntryRow.assignment_id == AssignmentRow.id)
    return (
        select(func.count())
        .select_from(AssignmentRow)
        .where(
            AssignmentRow.unit_id == UnitRow.id,
            AssignmentRow.role == ANNOTATOR,
            or_(
                AssignmentRow.state.in_(("submitted", "returned")),
                and_(AssignmentRow.state == "working", or_(AssignmentRow.lease_until > now, saved)),
            ),
        )
        .correlate(UnitRow)
        .scalar_subquery()
    )


def take(change: Change, unit: UnitRow, person_id: str, role: str, *, lease_minutes: int) -> AssignmentRow:
    """Give a unit to somebody.

    Raises:
        ConflictError: They have it already, in this or another role.
    """
    if change.session.scalars(
        select(AssignmentRow.id).where(AssignmentRow.unit_id == unit.id, AssignmentRow.person_id == person_id)
    ).first():
        raise ConflictError("you have worked on this unit already; somebody else must do it")
    row = AssignmentRow(
        id=secrets.token_hex(8),
        unit_id=unit.id,
        person_id=person_id,
        role=role,
        state="working",
        round=1,
        note="",
        created_at=change.at,
        lease_until=_lease(lease_minutes),
    )
    change.session.add(row)
    change.session.flush()
    change.record("take", row.id, after={"unit": unit.id, "person": person_id, "role": role})
    return row


def renew(assignment: AssignmentRow, *, lease_minutes: int) -> None:
    """Hold a unit for its person for another while. No event: it changes no work."""
    assignment.lease_until = _lease(lease_minutes)


def give_back(change: Change, assignment: AssignmentRow) -> None:
    """Give a unit back to whoever asks next.

    Raises:
        ConflictError: Something was saved in it, or it was submitted: what was typed stays with its person.
    """
    saved = change.session.scalars(select(EntryRow.place).where(EntryRow.assignment_id == assignment.id)).first()
    if assignment.state != "working" or saved is not None:
        raise ConflictError("work that was begun stays with you; only a unit without any can be given back")
    change.record("give_back", assignment.id, before={"unit": assignment.unit_id, "person": assignment.person_id})
    change.session.delete(assignment)


def open_units(session: Session, queue_id: str, person_id: str, now: str) -> int:
    """How many units of a queue somebody could still get."""
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        return 0
    mine = exists().where(
        AssignmentRow.unit_id == UnitRow.id,
        AssignmentRow.person_id == person_id,
        AssignmentRow.state.not_in(UNFINISHED),
    )
    return (
        session.scalar(
            select(func.count())
            .select_from(UnitRow)
            .where(
                UnitRow.queue_id == queue_id,
                UnitRow.state == "open",
                ~mine,
                or_(UnitRow.gold.is_not(None), held(now) < queue.overlap),
                may_get(person_id),
            )
        )
        or 0
    )


def _lease(minutes: int) -> str:
    return moment(datetime.now(UTC) + timedelta(minutes=minutes))
