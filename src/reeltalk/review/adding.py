"""Adds a queue of units to a project, while it is served or not."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import func, insert, select

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.review.entering import enter_queue, new_unit, shown_of
from reeltalk.review.events import Change
from reeltalk.review.tables import QueueRow, UnitRow, VideoRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.task import Draft
from reeltalk.schema.record import Json

QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")


def add_queue(
    change: Change,
    kind: str,
    queue_id: str,
    drafts: Sequence[Draft],
    *,
    title: str,
    overlap: int = 1,
    settings: Mapping[str, Json] | None = None,
) -> int:
    """Add a queue, after those that are there; how many units it has.

    Args:
        change: The transaction.
        kind: The kind of work: one of `TASKS`, or `collect`, whose units are talked about in pairs.
        queue_id: Its name in addresses.
        drafts: Its units, in the order in which they are worked on.
        title: As people read it.
        overlap: How many people do each unit.
        settings: What the task needs to know.

    Raises:
        SettingError: The name cannot stand in an address.
        BenchmarkError: There is such a queue already, or there are no units.
    """
    session = change.session
    if not drafts:
        raise BenchmarkError(f"there is nothing to do for '{queue_id}': no units were found")
    if not QUEUE_NAME.fullmatch(queue_id):
        raise SettingError(
            f"--name {queue_id}: a queue is named by 1 to 60 letters, digits, dots, dashes and underscores"
        )
    if session.get(QueueRow, queue_id) is not None:
        raise BenchmarkError(f"the project has a queue '{queue_id}' already; give another --name")
    last = session.scalar(select(func.max(QueueRow.position)))
    position = last + 1 if last is not None else 0
    queue = enter_queue(
        change, queue_id, kind, title=title, position=position, overlap=overlap, settings=settings or {}
    )
    task, videos = TASKS.get(kind), set(session.scalars(select(VideoRow.id)))
    rows = [new_unit(queue, draft, number, shown_of(task, draft, videos)) for number, draft in enumerate(drafts)]
    session.execute(insert(UnitRow), rows)
    change.record("load", queue_id, after={"units": len(rows), "overlap": overlap, "task": kind})
    return len(rows)
