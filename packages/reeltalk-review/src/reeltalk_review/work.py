"""One person's work on a unit: open, save, undo, submit. Every change is an event and names the revision it read."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision
from reeltalk_review.access import Action, may
from reeltalk_review.applied import is_applied
from reeltalk_review.assigning import (
    ADJUDICATOR,
    IN_BULK,
    LAPSED,
    UNFINISHED,
    lapse_work,
    make_room,
    regain_place,
    unfinished_copies,
)
from reeltalk_review.errors import Conflict, Forbidden, InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.gold import is_training
from reeltalk_review.reasons import check_reasons
from reeltalk_review.settling import (
    ADJUDICATION,
    OPEN,
    check_settlement,
    disputed_places,
    reconsider,
    settle_as_decided,
    settle_if_complete,
    submitted_works,
    undecided_disputes,
    unsettle,
)
from reeltalk_review.tables import AssignmentRow, EntryRow, EventRow, PersonRow, QueueRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import ReviewTask, remarks_of

EDIT_KINDS: Final = ("save", "undo", "redo")
"""Kinds of events that change an entry."""
Step = Literal["undo", "redo"]
TRAINED: Final = "this task was training, and what was settled has been shown; it stays as it was submitted"
ACTIVE: Final = "active"
"""Kind of an event that only adds activity to an entry."""


def own_work(session: Session, person_id: str, assignment_id: str) -> tuple[AssignmentRow, UnitRow, ReviewTask]:
    """An assignment of the person who asks, with its unit and task.

    Raises:
        NotFound: There is none with this id, or it belongs to somebody else. The answer is the same in both cases.
    """
    found = session.execute(
        select(AssignmentRow, UnitRow, QueueRow)
        .outerjoin(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .outerjoin(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(AssignmentRow.id == assignment_id, AssignmentRow.person_id == person_id)
    ).one_or_none()
    if found is None:
        raise NotFound("you have no such work")
    assignment, unit, queue = found
    if unit is None:
        raise NotFound("this task was taken out of the project; what you did in it is in the history")
    return assignment, unit, TASKS[queue.task]


def own_dispute(session: Session, person_id: str, assignment_id: str) -> tuple[AssignmentRow, UnitRow, ReviewTask]:
    """Somebody's own work as adjudicator, on a unit for which all work is in.

    Raises:
        NotFound: They have no such work.
        Conflict: Work on the unit was returned and is not in again.
    """
    assignment, unit, task = own_work(session, person_id, assignment_id)
    if assignment.role != ADJUDICATOR:
        raise NotFound("you have no such work")
    # Returned work is blind again: nobody sees it until all of it is in.
    if unit.state == OPEN:
        raise Conflict("work on this task was returned to its annotator; continue when it is submitted again")
    return assignment, unit, task


def task_of_unit(session: Session, unit: UnitRow) -> ReviewTask:
    """The kind of work of a unit."""
    return TASKS[session.get_one(QueueRow, unit.queue_id).task]


def entries(session: Session, assignment_id: str) -> dict[str, EntryRow]:
    """The entries of an assignment, by place."""
    found = session.scalars(select(EntryRow).where(EntryRow.assignment_id == assignment_id).order_by(EntryRow.place))
    return {row.place: row for row in found}


def entry_view(row: EntryRow) -> dict[str, Json]:
    """An entry as the screens get it."""
    return {"revision": row.revision, "value": row.value, "stale": row.stale, "at": row.at}


def save_value(
    change: Transaction,
    assignment: AssignmentRow,
    unit: UnitRow,
    task: ReviewTask,
    place: str,
    revision: int,
    value: Json,
    *,
    active_s: float = 0.0,
) -> EntryRow:
    """Save a value at a place; `revision` is the one that was read, 0 if there was none.

    Seconds of activity since the last save (`active_s`) are added up.

    Raises:
        Conflict: Another window saved meanwhile (`stale_save`, with the current entry), or the work was submitted.
        InvalidValue: The value cannot be stored.
    """
    _check_open(assignment, unit)
    rows = entries(change.session, assignment.id)
    found = rows.get(place)
    current = found.revision if found is not None else 0
    if revision != current:
        raise Conflict(
            f"revision {revision} was read, but the current one is {current}: another window saved it meanwhile",
            code="stale_save",
            more={"current": entry_view(found) if found else {"revision": 0, "value": None, "stale": False}},
        )
    stored = check_value(change.session, assignment, unit, task, place, value)
    # Saving an equal value that is not stale changes nothing. An event for it would be an empty step of undo.
    if found is not None and found.value == stored and not found.stale:
        if active_s:
            change.record(ACTIVE, assignment.id, place=place, after={"active_s": _add_activity(found, active_s)})
        return found
    marked = _newly_stale(rows, unit, task, place, stored) if assignment.role != ADJUDICATOR else []
    there = {"value": stored, "stale": False, "others": dict.fromkeys(marked, True)}
    return _put(change, rows, assignment, unit, task, place, there, kind="save", active_s=active_s)


def _add_activity(row: EntryRow, active_s: float) -> float:
    """Add seconds of activity to an entry; returns what was added. The history adds up the same numbers."""
    added = round(active_s, 2)
    row.active_s = round(row.active_s + added, 2)
    return added


def check_value(
    session: Session, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, place: str, value: Json
) -> Json:
    """The value as it is stored.

    Raises:
        InvalidValue: It cannot be stored, or makes no sense; `more` has the findings.
    """
    if assignment.role != ADJUDICATOR:
        return check_reasons(session, task.check(unit.content, place, value))
    stored = check_settlement(session, unit, task, place, value)
    taken = {row.id: values for row, values in submitted_works(session, unit.id)}.get(stored.get("take"), {})
    # A reloaded benchmark may refuse what it took before. Then the adjudicator writes another value.
    if (old := taken.get(place)) is not None:
        task.check(unit.content, place, old)
    return stored


def findings(
    assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, rows: Mapping[str, EntryRow], places: Iterable[str]
) -> dict[str, Json]:
    """What makes no sense at some places of an assignment: in its values, or in the draft where it has none."""
    found = {}
    for place in places:
        value = rows[place].value if place in rows else None
        if assignment.role == ADJUDICATOR:
            value = (value or {}).get("write")
        elif value is None and place in task.places(unit.content):
            value = task.draft_value(unit.content, place)
        if value is not None and (some := task.findings(unit.content, place, value)):
            found[place] = some
    return found


def acceptable_places(
    assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, queue: QueueRow, rows: Mapping[str, EntryRow]
) -> list[str]:
    """The places that somebody may accept at once: their drafts passed all checks, and nothing was typed there."""
    if not queue.settings.get(IN_BULK) or assignment.role == ADJUDICATOR or assignment.state not in UNFINISHED:
        return []
    empty = (place for place in task.places(unit.content) if place not in rows or rows[place].value is None)
    return [place for place in empty if task.passed(unit.content, place)]


def accept_in_bulk(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask) -> int:
    """Accept the drafts of all `acceptable_places`, each as an entry of its own with the mark `in_bulk`.

    Returns:
        The number of places.

    Raises:
        Forbidden: The queue does not allow it.
        Conflict: The work was submitted.
    """
    _check_open(assignment, unit)
    queue = change.session.get_one(QueueRow, unit.queue_id)
    if not queue.settings.get(IN_BULK):
        raise Forbidden("in this queue every turn is decided by itself; an owner can change that")
    rows = entries(change.session, assignment.id)
    places = acceptable_places(assignment, unit, task, queue, rows)
    for place in places:
        value = task.draft_value(unit.content, place) | {"decision": Decision.ACCEPT.value}
        stored = check_value(change.session, assignment, unit, task, place, value) | {IN_BULK: True}
        there = {"value": stored, "stale": False, "others": {}}
        _put(change, rows, assignment, unit, task, place, there, kind="save")
    return len(places)


def _check_open(assignment: AssignmentRow, unit: UnitRow) -> None:
    # Nothing about others' work may be answered before all is in.
    if assignment.role == ADJUDICATOR and unit.state == OPEN:
        raise Conflict("work on this task was returned to its annotator; continue when it is submitted again")
    if assignment.state not in (*UNFINISHED, LAPSED):
        raise Conflict("this work was submitted; take it back, or ask an adjudicator to return it")


def undo_or_redo(
    change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, kind: Step
) -> EntryRow:
    """Undo the last change of an assignment, back to the beginning of its history, or redo what was undone last.

    Raises:
        Conflict: There is nothing to undo or redo (`nothing_to_undo`), or the work was submitted.
    """
    _check_open(assignment, unit)
    done: list[int] = []
    undone: list[int] = []
    edits = select(EventRow.seq, EventRow.kind).where(EventRow.subject == assignment.id, EventRow.kind.in_(EDIT_KINDS))
    for seq, edit in change.session.execute(edits.order_by(EventRow.seq)):
        if edit == "save":
            done.append(seq)
            undone.clear()
        elif edit == "undo":
            undone.append(done.pop())
        else:
            done.append(undone.pop())
    steps = done if kind == "undo" else undone
    if not steps:
        raise Conflict(f"there is nothing to {kind}", code=f"nothing_to_{kind}")
    event = change.session.get_one(EventRow, steps[-1])
    assert event.place is not None
    # Steps are undone in reverse order, so that other places' marks are restored too.
    there = event.before if kind == "undo" else event.after
    rows = entries(change.session, assignment.id)
    return _put(change, rows, assignment, unit, task, event.place, there, kind=kind)


def entry_history(session: Session, assignment_id: str, place: str | None = None) -> list[EventRow]:
    """All changes of an assignment's entries, first to last; only those at one place if it is given."""
    query = (
        select(EventRow).where(EventRow.subject == assignment_id, EventRow.kind.in_(EDIT_KINDS)).order_by(EventRow.seq)
    )
    return list(session.scalars(query if place is None else query.where(EventRow.place == place)))


def _put(
    change: Transaction,
    rows: Mapping[str, EntryRow],
    assignment: AssignmentRow,
    unit: UnitRow,
    task: ReviewTask,
    place: str,
    there: Json,
    *,
    kind: str,
    active_s: float = 0.0,
) -> EntryRow:
    """Set the value and the stale mark of a place, and the stale marks of other places."""
    values = {other: entry.value for other, entry in rows.items()}
    if assignment.role != ADJUDICATOR and (reason := task.lock_reason(unit.content, values, place)) is not None:
        raise Conflict(reason, code="locked")
    regain_place(change, assignment, unit)
    row = rows.get(place)
    if row is None:
        row = EntryRow(
            assignment_id=assignment.id, place=place, revision=0, value=None, stale=False, at=change.at, active_s=0.0
        )
        change.session.add(row)
    marks = {other: mark for other, mark in there["others"].items() if other in rows}
    before = _there(row, {other: rows[other].stale for other in marks})
    row.revision, row.value, row.stale, row.at = row.revision + 1, there["value"], there["stale"], change.at
    row.unsure, row.noted = remarks_of(row.value)
    for other, mark in marks.items():
        rows[other].stale = mark
    after = _there(row, marks)
    if active_s:
        after = {**after, "active_s": _add_activity(row, active_s)}
    change.record(kind, assignment.id, place=place, before=before, after=after)
    return row


def _there(row: EntryRow, others: Mapping[str, bool]) -> dict[str, Json]:
    return {"revision": row.revision, "value": row.value, "stale": row.stale, "others": dict(others)}


def _newly_stale(rows: Mapping[str, EntryRow], unit: UnitRow, task: ReviewTask, place: str, new: Json) -> list[str]:
    """Decided places to look at again because something that they rest on changes."""
    draft = task.draft_value(unit.content, place)
    old = rows[place].value if place in rows else None
    if not task.affects_others(old if old is not None else draft, new):
        return []
    resting = [(other, rows[other]) for other in task.dependents(unit.content, place) if other in rows]
    return [other for other, row in resting if not row.stale and row.value is not None and task.is_decided(row.value)]


def stale_places(session: Session, assignment_id: str) -> list[str]:
    """The places of an assignment that must be looked at again."""
    query = select(EntryRow.place).where(EntryRow.assignment_id == assignment_id, EntryRow.stale)
    return list(session.scalars(query.order_by(EntryRow.place)))


def submit(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, *, approval: bool) -> None:
    """Submit work. The last submission that a unit needs settles what all agree on; the rest goes to an adjudicator.

    Raises:
        InvalidValue: Places are undecided or stale (`incomplete`, with the places).
        Conflict: It was submitted before, or its place went to others who finished first.
    """
    if assignment.state == "submitted":
        raise Conflict("this work was submitted already")
    _check_open(assignment, unit)
    rows = entries(change.session, assignment.id)
    adjudicating = assignment.role == ADJUDICATOR
    if unit.state != (ADJUDICATION if adjudicating else OPEN):
        raise Conflict("other people finished this task first; your work is kept, continue with another task")
    lacking = lacking_places(unit, task, rows, adjudicating=adjudicating, session=change.session)
    if lacking:
        raise InvalidValue(
            f"{len(lacking)} places are undecided or must be checked again",
            code="incomplete",
            more={"places": lacking},
        )
    _check_again(change.session, assignment, unit, task, rows)
    had_lapsed = assignment.state == LAPSED
    assignment.state, assignment.submitted_at = "submitted", change.at
    # The first to submit counts: if this work had lapsed, the copy begun last makes room.
    if had_lapsed and make_room(change, unit, assignment.role, unfinished_copies(change, unit, assignment.role)):
        raise Conflict("other people finished this task first; your work is kept, continue with another task")
    change.record("submit", assignment.id, after={"unit": unit.id, "role": assignment.role, "round": assignment.round})
    if adjudicating:
        settle_as_decided(change, assignment, unit, task, {place: row.value for place, row in rows.items()})
    else:
        unit.submitted += 1
        settle_if_complete(change, unit, task, approval=approval)


def lacking_places(
    unit: UnitRow, task: ReviewTask, rows: Mapping[str, EntryRow], *, adjudicating: bool, session: Session
) -> list[str]:
    """Places that are undecided or stale."""
    if adjudicating:
        return undecided_disputes(session, unit, task, rows)
    # Added places, such as a drawn link, must be decided too, unless they were undone.
    fixed = list(task.places(unit.content))
    made = [place for place, row in rows.items() if place not in set(fixed) and row.value is not None]
    return [
        place
        for place in (*made, *fixed)
        if place not in rows or rows[place].stale or rows[place].value is None or not task.is_decided(rows[place].value)
    ]


def _check_again(
    session: Session, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, rows: Mapping[str, EntryRow]
) -> None:
    """Reject work with values that cannot be stored now, as an undo may have brought back."""
    problems: dict[str, str] = {}
    places = disputed_places(session, unit, task) if assignment.role == ADJUDICATOR else list(rows)
    for place in places if task.adjudicated else ():
        value = rows[place].value if place in rows else None
        try:
            if value is not None:
                check_value(session, assignment, unit, task, place, value)
        except InvalidValue as error:
            problems[place] = str(error)
    if problems:
        raise InvalidValue(next(iter(problems.values())), more={"places": list(problems)})


def reopen(change: Transaction, assignment: AssignmentRow, unit: UnitRow) -> None:
    """Take back submitted work until it is applied; that of annotators only until it is adjudicated.

    If all work on the unit was in, its results are deleted, and it is open again.

    Raises:
        Conflict: It was not submitted; an adjudicator has decided about it; it was applied; or this person's role may
            see the work of others on it, which is in.
    """
    if assignment.state != "submitted":
        raise Conflict("this work was not submitted")
    if is_training(unit):
        raise Conflict(TRAINED)
    if is_applied(change.session, assignment, unit):
        raise Conflict("this work was written into the benchmark; an adjudicator or an owner can return it")
    if assignment.role == ADJUDICATOR:
        reconsider(change, unit)
    else:
        _check_blind(change.session, assignment, unit)
        if unit.state != OPEN:
            unsettle(change, unit)
        unit.submitted -= 1
    assignment.state, assignment.submitted_at = "working", None
    change.record("reopen", assignment.id, before={"round": assignment.round})


def _check_blind(session: Session, assignment: AssignmentRow, unit: UnitRow) -> None:
    """Reject taking back work that an adjudicator has judged, or whose author may have seen others' work on it."""
    others = select(AssignmentRow.id).where(AssignmentRow.unit_id == unit.id, AssignmentRow.id != assignment.id)
    judged = others.where(
        AssignmentRow.role == ADJUDICATOR,
        exists().where(EntryRow.assignment_id == AssignmentRow.id),
    )
    if session.scalars(judged.limit(1)).first() is not None:
        raise Conflict("an adjudicator has decided about this task; only an adjudicator or an owner can return it")
    person = session.get(PersonRow, assignment.person_id)
    sees = person is not None and may(person.role, Action.SEE_RESULTS)
    seen = others.where(AssignmentRow.role != ADJUDICATOR, AssignmentRow.state == "submitted").limit(1)
    if sees and unit.state != OPEN and session.scalars(seen).first() is not None:
        raise Conflict("your role may see the others' work on this task now; somebody else must return yours")
    if unit.gold is None and unit.submitted > session.get_one(QueueRow, unit.queue_id).overlap:
        raise Conflict("fewer people do each task now, and yours is among more; only an adjudicator can return it")


def check_note(note: str) -> str:
    """The note of a return, without spaces around it.

    Raises:
        InvalidValue: It says nothing, or too much.
    """
    if not 1 <= len(note.strip()) <= 2000:
        raise InvalidValue("say in 1 to 2,000 characters what should be done again", field="note")
    return note.strip()


def send_back(change: Transaction, person_id: str, assignment_id: str, note: str, *, approval: bool = False) -> None:
    """Return submitted work to its annotator, at any time. Only they can continue it.

    If its annotator has left, its place is free for others instead. The note says what should be done again.

    Raises:
        NotFound: There is no such work of an annotator.
        Forbidden: It is the person's own, and others have worked on the unit too.
        Conflict: It is not submitted.
        InvalidValue: There is no note that says what to do.
    """
    session = change.session
    assignment = session.get(AssignmentRow, assignment_id)
    unit = session.get(UnitRow, assignment.unit_id) if assignment is not None else None
    if assignment is None or unit is None or assignment.role == ADJUDICATOR:
        raise NotFound("there is no such work")
    if assignment.person_id == person_id and len(submitted_works(session, unit.id)) > 1:
        raise Forbidden("somebody else must return your own work")
    if assignment.state != "submitted":
        raise Conflict("this work was not submitted, and cannot be returned")
    if is_training(unit):
        raise Conflict(TRAINED)
    note = check_note(note)
    if unit.state != OPEN:
        unsettle(change, unit)
    assignment.state, assignment.note, assignment.round = "returned", note, assignment.round + 1
    assignment.submitted_at = None
    unit.submitted -= 1
    change.record("return", assignment.id, after={"note": assignment.note, "round": assignment.round})
    person = session.get(PersonRow, assignment.person_id)
    if person is None or person.disabled_at is not None or not may(person.role, Action.WORK):
        lapse_work(change, assignment)
        settle_if_complete(change, unit, task_of_unit(session, unit), approval=approval)
