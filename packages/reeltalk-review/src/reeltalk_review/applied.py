"""Which settled work `reeltalk review apply` has written into the benchmark."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, exists, func, select
from sqlalchemy.orm import Session

from reeltalk_review.settling import DONE
from reeltalk_review.tables import AssignmentRow, EventRow, QueueRow, UnitRow

PROJECT: Final = "project"
"""The subject of events about the whole project."""
APPLY: Final = "apply"
HEAD_KEY: Final = "events"
"""Key in an `apply` event: the last event that it read."""
_SETTLES: Final = ("complete", "settle")
"""Kinds of events after which a unit has results."""


def _last_read(session: Session) -> int | None:
    """The last event that was read when reviews were applied last; None if they never were."""
    applied = select(EventRow.after).where(EventRow.subject == PROJECT, EventRow.kind == APPLY)
    after = session.scalars(applied.order_by(EventRow.seq.desc()).limit(1)).first()
    return None if after is None else int(after[HEAD_KEY])


def is_applied(session: Session, assignment: AssignmentRow, unit: UnitRow) -> bool:
    """True if the last time that reviews were applied, the results of a unit were written into the benchmark.

    For gold, which has no results, this is true if reviews were applied since its work was submitted: it must behave
    like other units.
    """
    read = _last_read(session)
    kinds: Sequence[str]
    if unit.gold is not None:
        subject, kinds = assignment.id, ("submit",)
    elif unit.state == DONE and unit.set_aside is None:
        subject, kinds = unit.id, _SETTLES
    else:
        return False
    last = session.scalar(select(func.max(EventRow.seq)).where(EventRow.subject == subject, EventRow.kind.in_(kinds)))
    return read is not None and last is not None and last <= read


def waiting_units(session: Session, kinds: Sequence[str], *, skipped: int, most: int) -> Sequence[tuple[str, str]]:
    """Kind of work and id of finished units whose results the benchmark does not have, in the order of their queues.

    Args:
        session: The database.
        kinds: Kinds of work that are looked at.
        skipped: How many of them are left out at the start.
        most: How many are read.
    """
    settled: ColumnElement[bool] = exists().where(
        EventRow.subject == UnitRow.id, EventRow.kind.in_(_SETTLES), EventRow.seq > (_last_read(session) or 0)
    )
    query = (
        select(QueueRow.task, UnitRow.id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(QueueRow.task.in_(kinds), UnitRow.state == DONE, UnitRow.gold.is_(None), UnitRow.set_aside.is_(None))
        .where(settled)
        .order_by(QueueRow.position, UnitRow.position, UnitRow.id)
    )
    return [(kind, unit_id) for kind, unit_id in session.execute(query.offset(skipped).limit(most))]
