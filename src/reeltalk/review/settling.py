"""When all work on a unit is in: what people agree on is settled, and a third person decides the rest."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from reeltalk.review.assigning import ADJUDICATOR, ANNOTATOR
from reeltalk.review.events import Change
from reeltalk.review.refusals import BadValueError
from reeltalk.review.tables import AssignmentRow, EntryRow, QueueRow, ResultRow, UnitRow
from reeltalk.review.tasks.task import Task
from reeltalk.schema.record import Json

OPEN: Final = "open"
ADJUDICATION: Final = "adjudication"
DONE: Final = "done"
WAITING: Final = "waiting"
"""An adjudicator's work on a unit of which some was returned to its annotator."""


def works(session: Session, unit_id: str) -> list[tuple[AssignmentRow, dict[str, Json]]]:
    """All submitted work of annotators on a unit, in the order of submission, with the values by place.

    Callers look first that the unit is complete: until then nobody sees another's work.
    """
    rows = session.scalars(
        select(AssignmentRow)
        .where(AssignmentRow.unit_id == unit_id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id)
    ).all()
    found = []
    for row in rows:
        entries = session.scalars(select(EntryRow).where(EntryRow.assignment_id == row.id).order_by(EntryRow.place))
        found.append((row, {entry.place: entry.value for entry in entries}))
    return found


def settle(change: Change, unit: UnitRow, task: Task, *, approval: bool) -> None:
    """Count one more submission, and settle what can be where it was the last that the unit needs."""
    change.session.flush()
    unit.submitted += 1
    queue = change.session.get_one(QueueRow, unit.queue_id)
    if unit.gold is not None or unit.submitted < queue.overlap:
        return
    if not task.adjudicated:
        unit.state = DONE
        change.record("complete", unit.id, after={"state": unit.state, "disputed": []})
        return
    found = works(change.session, unit.id)
    change.session.execute(delete(ResultRow).where(ResultRow.unit_id == unit.id))
    people = [row.person_id for row, _ in found]
    open_places = _differing(unit, task, [values for _, values in found])
    if approval:
        open_places = _all_places(unit, task, [values for _, values in found])
    for place in _all_places(unit, task, [values for _, values in found]):
        if place not in open_places:
            how = "sole" if len(found) == 1 else "agreed"
            _result(change, unit, place, found[0][1].get(place), how, people)
    unit.state = ADJUDICATION if open_places else DONE
    if open_places:
        for row in change.session.scalars(
            select(AssignmentRow).where(AssignmentRow.unit_id == unit.id, AssignmentRow.state == WAITING)
        ):
            row.state = "working"
    change.record("complete", unit.id, after={"state": unit.state, "disputed": open_places})


def disputed(session: Session, unit: UnitRow, task: Task) -> list[str]:
    """The places of a complete unit that nobody has settled."""
    settled = set(session.scalars(select(ResultRow.place).where(ResultRow.unit_id == unit.id)))
    values = [values for _, values in works(session, unit.id)]
    return [place for place in _all_places(unit, task, values) if place not in settled]


def check_settlement(session: Session, unit: UnitRow, task: Task, place: str, value: Json) -> Json:
    """An adjudicator's decision about a place: somebody's work by its assignment, or a value of their own.

    Args:
        session: The database.
        unit: A complete unit.
        task: Its task.
        place: Where.
        value: `{"take": ASSIGNMENT}` or `{"write": VALUE}`; with `"note"` at will.

    Raises:
        BadValueError: It is neither.
    """
    known = {"take", "write", "note"}
    if not isinstance(value, dict) or value.keys() - known or len(value.keys() & {"take", "write"}) != 1:
        raise BadValueError("give either 'take' with whose work, or 'write' with a value", field="value")
    note = value.get("note", "")
    if not isinstance(note, str) or len(note) > 2000:
        raise BadValueError("a note is a text of at most 2,000 characters", field="note")
    if "take" in value:
        taken = next((values for row, values in works(session, unit.id) if row.id == value["take"]), None)
        if taken is None:
            raise BadValueError("there is no such work on this unit", field="take")
        return {"take": value["take"], "note": note}
    written = task.check(unit.content, place, value["write"])
    if not task.decided(written):
        raise BadValueError("decide what becomes of it", field="write")
    return {"write": written, "note": note}


def settle_by(
    change: Change, assignment: AssignmentRow, unit: UnitRow, task: Task, decisions: Mapping[str, Json]
) -> None:
    """Settle all disputed places of a unit as its adjudicator decided."""
    found = {row.id: (row.person_id, values) for row, values in works(change.session, unit.id)}
    for place in disputed(change.session, unit, task):
        decision = decisions[place]
        if "take" in decision:
            person_id, values = found[decision["take"]]
            _result(change, unit, place, values.get(place), "taken", [person_id, assignment.person_id])
        else:
            _result(change, unit, place, decision["write"], "written", [assignment.person_id])
    unit.state = DONE
    change.record("settle", unit.id, after={"by": assignment.id})


def unsettle(change: Change, unit: UnitRow) -> None:
    """Open a complete unit again, as some of its work is returned; what was settled is no longer."""
    change.session.execute(delete(ResultRow).where(ResultRow.unit_id == unit.id))
    for row in change.session.scalars(
        select(AssignmentRow).where(AssignmentRow.unit_id == unit.id, AssignmentRow.role == ADJUDICATOR)
    ).all():
        # What the adjudicator wrote stays theirs; it is looked at again when the work is in once more.
        row.state, row.submitted_at = WAITING, None
        for entry in change.session.scalars(select(EntryRow).where(EntryRow.assignment_id == row.id)):
            entry.stale = True
    change.record("unsettle", unit.id, before={"state": unit.state})
    unit.state = OPEN


def _result(change: Change, unit: UnitRow, place: str, value: Json, how: str, people: Sequence[str]) -> None:
    row = ResultRow(unit_id=unit.id, place=place, value=value, how=how, people=list(people), at=change.at)
    change.session.add(row)
    change.record("result", unit.id, place=place, after={"value": value, "how": how, "people": list(people)})


def _all_places(unit: UnitRow, task: Task, works_values: Sequence[Mapping[str, Json]]) -> list[str]:
    fixed = list(task.places(unit.content))
    known = set(fixed)
    return fixed + sorted({place for values in works_values for place in values} - known)


def _differing(unit: UnitRow, task: Task, works_values: Sequence[Mapping[str, Json]]) -> list[str]:
    places: list[str] = []
    for place in _all_places(unit, task, works_values):
        essences: list[Any] = [
            task.essence(unit.content, place, values[place]) if values.get(place) is not None else None
            for values in works_values
        ]
        if any(essence != essences[0] for essence in essences[1:]):
            places.append(place)
    return places
