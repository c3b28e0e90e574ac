"""What people said of complete units, as agreement compares it: blind, as it stood when all work first was in.

Work that an adjudicator returned was done again by somebody who knew what the adjudicator thought. It counts as it was
handed in the first time. Units that are not complete, and gold, never leave the database here.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.review.agreement import Coded
from reeltalk.review.assigning import ANNOTATOR
from reeltalk.review.tables import AssignmentRow, EntryRow, EventRow, QueueRow, UnitRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.work import EDITS
from reeltalk.schema.record import Json

_AT_ONCE: Final = 400
"""Units that one query names; databases take some thousand values at most."""


def completed_units(session: Session) -> list[str]:
    """The ids of all units that all work is in for."""
    query = select(UnitRow.id).where(UnitRow.state.in_(("adjudication", "done")), UnitRow.gold.is_(None))
    return list(session.scalars(query))


def codes_of(session: Session, unit_ids: Sequence[str]) -> Iterator[tuple[str, str, list[Coded]]]:
    """Each unit that is complete, with its queue and what each of its annotators said of each place.

    Args:
        session: The database.
        unit_ids: Which units; those that are not complete, or gold, are left out.
    """
    for start in range(0, len(unit_ids), _AT_ONCE):
        yield from _codes_of(session, unit_ids[start : start + _AT_ONCE])


def _codes_of(session: Session, unit_ids: Sequence[str]) -> Iterator[tuple[str, str, list[Coded]]]:
    units = session.execute(
        select(UnitRow.id, UnitRow.queue_id, QueueRow.task, UnitRow.video_id, UnitRow.content)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.id.in_(unit_ids), UnitRow.state.in_(("adjudication", "done")), UnitRow.gold.is_(None))
    ).all()
    values: dict[str, dict[str, dict[str, Json]]] = defaultdict(lambda: defaultdict(dict))
    again: set[str] = set()
    for unit_id, person_id, rounds, place, value in session.execute(
        select(AssignmentRow.unit_id, AssignmentRow.person_id, AssignmentRow.round, EntryRow.place, EntryRow.value)
        .join(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
        .where(
            AssignmentRow.unit_id.in_([unit.id for unit in units]),
            AssignmentRow.role == ANNOTATOR,
            AssignmentRow.state == "submitted",
        )
        .order_by(AssignmentRow.unit_id, EntryRow.place)
    ):
        values[unit_id][person_id][place] = value
        if rounds > 1:
            again.add(unit_id)
    for unit_id in again:
        values[unit_id] = _first_values(session, unit_id)
    for unit in units:
        task = TASKS[unit.task]
        coded = []
        for person_id, places in values[unit.id].items():
            for place, value in places.items():
                if value is None or not task.decided(value):
                    continue
                codes = {code.variable: code for code in task.codes(unit.content, place, value)}
                coded.append(Coded(unit.id, place, unit.video_id or unit.id, person_id, codes))
        yield unit.id, unit.queue_id, coded


def _first_values(session: Session, unit_id: str) -> dict[str, dict[str, Json]]:
    """What stood at the places of each person's work on a unit when all of it first was in."""
    complete = session.scalar(
        select(func.min(EventRow.seq)).where(EventRow.subject == unit_id, EventRow.kind == "complete")
    )
    found: dict[str, dict[str, Any]] = {}
    for assignment in session.scalars(
        select(AssignmentRow).where(AssignmentRow.unit_id == unit_id, AssignmentRow.role == ANNOTATOR)
    ):
        edits = session.execute(
            select(EventRow.place, EventRow.after)
            .where(EventRow.subject == assignment.id, EventRow.kind.in_(EDITS), EventRow.seq < complete)
            .order_by(EventRow.seq)
        )
        last = {place: after["value"] for place, after in edits if place is not None}
        if last:
            found[assignment.person_id] = last
    return found
