"""How far each queue is, as a command prints it."""

from collections import defaultdict
from collections.abc import Iterator

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.review.settling import ADJUDICATION, DONE
from reeltalk.review.tables import AssignmentRow, QueueRow, UnitRow

HEADINGS = ("queue", "units", "turns", "done", "to adjudicate", "under way", "left", "people each")


def queue_counts(session: Session) -> Iterator[tuple[str, ...]]:
    """A line of headings and one for each queue; nothing where there is none. Planted units are not counted."""
    queues = session.scalars(select(QueueRow).order_by(QueueRow.position)).all()
    if not queues:
        return
    yield HEADINGS
    states: dict[str, dict[str, int]] = defaultdict(dict)
    turns: dict[str, int] = defaultdict(int)
    real = UnitRow.gold.is_(None)
    grouped = select(UnitRow.queue_id, UnitRow.state, func.count(), func.sum(UnitRow.turns)).where(real)
    for queue_id, state, count, places in session.execute(grouped.group_by(UnitRow.queue_id, UnitRow.state)):
        states[queue_id][state] = count
        turns[queue_id] += int(places or 0)
    under_way = (
        select(UnitRow.queue_id, func.count(UnitRow.id.distinct()))
        .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
        .where(real, UnitRow.state.not_in((DONE, ADJUDICATION)))
        .group_by(UnitRow.queue_id)
    )
    begun: dict[str, int] = {queue_id: count for queue_id, count in session.execute(under_way)}
    for queue in queues:
        found = states[queue.id]
        total, done, disputed = sum(found.values()), found.get(DONE, 0), found.get(ADJUDICATION, 0)
        left = total - done - disputed - begun.get(queue.id, 0)
        numbers = (total, turns[queue.id], done, disputed, begun.get(queue.id, 0), left, queue.overlap)
        yield (queue.id + ("" if queue.is_open else " (closed)"), *(f"{number:,}" for number in numbers))
