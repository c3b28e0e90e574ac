"""When all work on a unit is in: what people agree on is settled, and a third person decides the rest."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, may
from reeltalk.review.assigning import (
    ADJUDICATOR,
    ANNOTATOR,
    LAPSED,
    UNFINISHED,
    lapse_work,
    make_room,
    unfinished_copies,
)
from reeltalk.review.errors import InvalidValue
from reeltalk.review.events import Transaction
from reeltalk.review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.task import ReviewTask
from reeltalk.schema.record import Json

OPEN: Final = "open"
ADJUDICATION: Final = "adjudication"
DONE: Final = "done"
WAITING: Final = "waiting"
"""An adjudicator's work while some work on the unit was returned to its annotator."""


def submitted_works(session: Session, unit_id: str) -> list[tuple[AssignmentRow, dict[str, Json]]]:
    """All submitted work of annotators on a unit, in the order of submission, with the values by place.

    Callers first check that the unit is complete: until then nobody sees another's work.
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


def count_submission(change: Transaction, unit: UnitRow, task: ReviewTask, *, approval: bool) -> None:
    """Count one more submission, and settle the unit if it was the last one needed."""
    unit.submitted += 1
    settle_if_complete(change, unit, task, approval=approval)


def settle_if_complete(change: Transaction, unit: UnitRow, task: ReviewTask, *, approval: bool) -> bool:
    """Settle what can be settled if all work on a unit is in; returns whether it is.

    All work is in if enough people have submitted and no returned work is open.

    Args:
        change: The transaction.
        unit: An open unit.
        task: Its task.
        approval: True: an adjudicator looks at all places, even without disagreement.
    """
    session = change.session
    session.flush()
    if unit.gold is not None or unit.submitted < session.get_one(QueueRow, unit.queue_id).overlap:
        return False
    unfinished = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.unit_id == unit.id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state.in_(UNFINISHED)
        )
    ).all()
    if any(row.state == "returned" for row in unfinished):
        return False
    for row in unfinished:
        lapse_work(change, row)
    disputed_places: list[str] = []
    if task.adjudicated:
        found = submitted_works(session, unit.id)
        values = [values for _, values in found]
        places = _all_places(unit, task, values)
        disputed_places = places if approval else _differing(unit, task, places, values)
        how, people = ("sole" if len(found) == 1 else "agreed"), [row.person_id for row, _ in found]
        for place in places:
            if place not in disputed_places:
                _result(change, unit, place, values[0].get(place), how, people)
    unit.state = ADJUDICATION if disputed_places else DONE
    change.record("complete", unit.id, after={"state": unit.state, "disputed": disputed_places})
    # Who adjudicated it before goes on; where nothing is left to dispute, or they may no longer, their work lapses.
    for row in _adjudicators(session, unit, WAITING):
        person = session.get_one(PersonRow, row.person_id)
        goes_on = disputed_places and person.disabled_at is None and may(person.role, Action.ADJUDICATE)
        _set_state(change, row, "working" if goes_on else LAPSED, "resume")
    return True


def set_overlap(change: Transaction, queue: QueueRow, task: ReviewTask, overlap: int, *, approval: bool) -> int:
    """Change how many people do each unit of a queue. Units that now have enough work become complete at once.

    Args:
        change: The transaction.
        queue: The queue.
        task: Its task.
        overlap: Number of people, from 1.
        approval: As in `settle_if_complete`.

    Returns:
        How many units became complete.
    """
    session = change.session
    change.record("overlap", queue.id, before={"overlap": queue.overlap}, after={"overlap": overlap})
    queue.overlap = overlap
    begun = exists().where(AssignmentRow.unit_id == UnitRow.id)
    units = session.scalars(
        select(UnitRow).where(UnitRow.queue_id == queue.id, UnitRow.state == OPEN, UnitRow.gold.is_(None), begun)
    ).all()
    for unit in units:
        make_room(change, unit, ANNOTATOR, unfinished_copies(change, unit, ANNOTATOR))
    return sum(settle_if_complete(change, unit, task, approval=approval) for unit in units)


def release_work(
    change: Transaction, person_id: str, *, approval: bool, roles: Sequence[str] = (ANNOTATOR, ADJUDICATOR)
) -> int:
    """Give all unfinished work of a person to others, as when they leave the team; returns the number of copies.

    Args:
        change: The transaction.
        person_id: The person.
        approval: As in `settle_if_complete`.
        roles: Only work in these roles.
    """
    session = change.session
    found = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.person_id == person_id,
            AssignmentRow.role.in_(roles),
            AssignmentRow.state.in_((*UNFINISHED, WAITING)),
        )
    ).all()
    for row in found:
        lapse_work(change, row)
        unit = session.get_one(UnitRow, row.unit_id)
        if unit.state == OPEN:
            settle_if_complete(change, unit, TASKS[session.get_one(QueueRow, unit.queue_id).task], approval=approval)
    return len(found)


def disputed_places(session: Session, unit: UnitRow, task: ReviewTask) -> list[str]:
    """The places of a complete unit that are not settled."""
    settled = set(session.scalars(select(ResultRow.place).where(ResultRow.unit_id == unit.id)))
    values = [values for _, values in submitted_works(session, unit.id)]
    return [place for place in _all_places(unit, task, values) if place not in settled]


def check_settlement(session: Session, unit: UnitRow, task: ReviewTask, place: str, value: Json) -> Json:
    """An adjudicator's decision about a place: somebody's work by its assignment, or a value of their own.

    Args:
        session: The database.
        unit: A complete unit.
        task: Its task.
        place: The place.
        value: `{"take": ASSIGNMENT}` or `{"write": VALUE}`, with an optional `"note"`.

    Raises:
        InvalidValue: It is neither, or the place is settled.
    """
    known = {"take", "write", "note"}
    if place not in disputed_places(session, unit, task):
        raise InvalidValue("there is nothing to settle at this place", field="place")
    if not isinstance(value, dict) or value.keys() - known or len(value.keys() & {"take", "write"}) != 1:
        raise InvalidValue("give either 'take' with an assignment, or 'write' with a value", field="value")
    note = value.get("note", "")
    if not isinstance(note, str) or len(note) > 2000:
        raise InvalidValue("a note is a text of at most 2,000 characters", field="note")
    if "take" in value:
        taken = next((values for row, values in submitted_works(session, unit.id) if row.id == value["take"]), None)
        if taken is None:
            raise InvalidValue("there is no such work on this task", field="take")
        return {"take": value["take"], "note": note}
    written = task.check(unit.content, place, value["write"])
    if not task.is_decided(written):
        raise InvalidValue("the value needs a decision", field="write")
    return {"write": written, "note": note}


def undecided_disputes(
    session: Session, unit: UnitRow, task: ReviewTask, decisions: Mapping[str, EntryRow]
) -> list[str]:
    """Disputed places that an adjudicator has not decided, or must look at again."""
    there = {row.id for row, _ in submitted_works(session, unit.id)}
    found = []
    for place in disputed_places(session, unit, task):
        row = decisions.get(place)
        if row is None or row.value is None or row.stale:
            found.append(place)
        # Work that was taken may no longer be submitted.
        elif "take" in row.value and row.value["take"] not in there:
            found.append(place)
    return found


def settle_as_decided(
    change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, decisions: Mapping[str, Json]
) -> None:
    """Settle all disputed places of a unit as its adjudicator decided."""
    found = {row.id: (row.person_id, values) for row, values in submitted_works(change.session, unit.id)}
    for place in disputed_places(change.session, unit, task):
        decision = decisions[place]
        if "take" in decision:
            person_id, values = found[decision["take"]]
            _result(change, unit, place, values.get(place), "taken", [person_id, assignment.person_id])
        else:
            _result(change, unit, place, decision["write"], "written", [assignment.person_id])
    unit.state = DONE
    change.record("settle", unit.id, after={"by": assignment.id, "state": DONE})


def unsettle(change: Transaction, unit: UnitRow) -> None:
    """Open a complete unit again because some of its work is returned. Its results are deleted."""
    session = change.session
    session.execute(delete(ResultRow).where(ResultRow.unit_id == unit.id))
    change.record("unsettle", unit.id, before={"state": unit.state}, after={"state": OPEN})
    unit.state = OPEN
    for row in _adjudicators(session, unit, "working", "submitted", LAPSED):
        # The adjudicator keeps what they wrote, and looks at it again when all work is in.
        row.submitted_at = None
        _set_state(change, row, LAPSED if row.state == LAPSED else WAITING, "wait")
        for entry in session.scalars(select(EntryRow).where(EntryRow.assignment_id == row.id)):
            entry.stale = True


def _adjudicators(session: Session, unit: UnitRow, *states: str) -> Sequence[AssignmentRow]:
    return session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.unit_id == unit.id, AssignmentRow.role == ADJUDICATOR, AssignmentRow.state.in_(states)
        )
    ).all()


def _set_state(change: Transaction, assignment: AssignmentRow, state: str, kind: str) -> None:
    change.record(kind, assignment.id, before={"state": assignment.state}, after={"state": state})
    assignment.state = state


def _result(change: Transaction, unit: UnitRow, place: str, value: Json, how: str, people: Sequence[str]) -> None:
    row = ResultRow(unit_id=unit.id, place=place, value=value, how=how, people=list(people), at=change.at)
    change.session.add(row)
    change.record("result", unit.id, place=place, after={"value": value, "how": how, "people": list(people)})


def _all_places(unit: UnitRow, task: ReviewTask, works_values: Sequence[Mapping[str, Json]]) -> list[str]:
    fixed = list(task.places(unit.content))
    more = {place for values in works_values for place, value in values.items() if value is not None}
    return fixed + sorted(more - set(fixed))


def _differing(
    unit: UnitRow, task: ReviewTask, places: Sequence[str], works_values: Sequence[Mapping[str, Json]]
) -> list[str]:
    found: list[str] = []
    for place in places:
        essences: list[Any] = [
            task.essence(unit.content, place, values[place]) if values.get(place) is not None else None
            for values in works_values
        ]
        if any(essence != essences[0] for essence in essences[1:]):
            found.append(place)
    return found
