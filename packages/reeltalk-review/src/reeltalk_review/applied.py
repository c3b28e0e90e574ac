"""Which settled work `reeltalk review apply` has written into the benchmark."""

from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk_review.tables import AssignmentRow, EventRow, UnitRow

PROJECT: Final = "project"
"""The subject of events about the whole project."""
APPLY: Final = "apply"
HEAD: Final = "events"
"""Key in an `apply` event: the last event that it read."""


def is_applied(session: Session, assignment: AssignmentRow, unit: UnitRow) -> bool:
    """True if the last time that reviews were applied, the results of a unit were written into the benchmark.

    For gold, which has no results, this is true if reviews were applied since its work was submitted: it must behave
    like other units.

    Args:
        session: The database.
        assignment: Submitted work on the unit.
        unit: The unit.
    """
    apply = session.scalars(
        select(EventRow)
        .where(EventRow.subject == PROJECT, EventRow.kind == APPLY)
        .order_by(EventRow.seq.desc())
        .limit(1)
    ).first()
    if apply is None:
        return False
    read = apply.after[HEAD]
    if unit.gold is not None:
        subject, kinds = assignment.id, ["submit"]
    elif unit.state == "done" and unit.set_aside is None:
        subject, kinds = unit.id, ["complete", "settle"]
    else:
        return False
    last = session.scalar(select(func.max(EventRow.seq)).where(EventRow.subject == subject, EventRow.kind.in_(kinds)))
    return last is not None and last <= read
