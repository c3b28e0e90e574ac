"""What owners set: queues (open, how many people do each unit, order, title) and the project's settings."""

from sqlalchemy import select

from reeltalk.review.events import Change
from reeltalk.review.people import printed
from reeltalk.review.project import ProjectSettings
from reeltalk.review.refusals import BadValueError, ConflictError, NotThereError
from reeltalk.review.settling import set_overlap
from reeltalk.review.tables import ProjectRow, QueueRow
from reeltalk.review.tasks.registry import TASKS

LARGEST_OVERLAP = 10
LONGEST_TITLE = 80
PROJECT = "project"


def change_queue(
    change: Change, queue_id: str, *, title: str, position: int, overlap: int, is_open: bool, approval: bool
) -> None:
    """Set a queue up.

    Args:
        change: The transaction.
        queue_id: Which.
        title: As people read it.
        position: Queues are shown by it, from 0 to 1000.
        overlap: How many people do each unit. Units that are complete stay so.
        is_open: Whether people may take units. Work that was begun can be finished all the same.
        approval: Whether an adjudicator approves units that become complete as fewer people do each.

    Raises:
        NotThereError: There is no such queue.
        BadValueError: A value cannot be used.
        ConflictError: More people than `overlap` are at a unit already.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotThereError("there is no such queue")
    title = printed(title, "a title", LONGEST_TITLE, field="title")
    if not 0 <= position <= 1000:
        raise BadValueError("the order is a number from 0 to 1000", field="position")
    if not 1 <= overlap <= LARGEST_OVERLAP:
        raise BadValueError(f"1 to {LARGEST_OVERLAP} people can do each unit", field="overlap")
    if overlap != queue.overlap and queue.task not in TASKS:
        raise BadValueError("this kind of work is always done by two people", field="overlap")
    if overlap != queue.overlap:
        set_overlap(change, queue, TASKS[queue.task], overlap, approval=approval)
    before = _queue(queue)
    queue.title, queue.position, queue.is_open = title, position, is_open
    if _queue(queue) != before:
        change.record("queue", queue.id, before=before, after=_queue(queue))


def _queue(queue: QueueRow) -> dict[str, str | int | bool]:
    return {"title": queue.title, "position": queue.position, "is_open": queue.is_open}


def change_settings(change: Change, settings: ProjectSettings) -> None:
    """Set the project up.

    Raises:
        ConflictError: Nothing was loaded into the project yet.
    """
    row = change.session.scalars(select(ProjectRow)).one_or_none()
    if row is None:
        raise ConflictError("no benchmark was loaded into this project yet")
    before, after = dict(row.settings), settings.model_dump(mode="json")
    if before != after:
        row.settings = after
        change.record("settings", PROJECT, before=before, after=after)
