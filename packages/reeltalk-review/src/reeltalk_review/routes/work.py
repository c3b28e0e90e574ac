"""The home page, a person's own work, and adjudication: pages and JSON API.

People open, save, undo and submit their work, and see its history. An adjudicator sees the work of others side by side,
and decides or returns it.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.access import Action, may
from reeltalk_review.assigning import (
    ADJUDICATOR,
    ANNOTATOR,
    TEST,
    UNFINISHED,
    give_back,
    known_units,
    next_unit,
    open_units,
    renew_lease,
)
from reeltalk_review.collecting import awaiting_approval, pair_turns
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import NotFound
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.guiding import guideline_html, line_of
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.naming import unit_name, unit_names
from reeltalk_review.people import User
from reeltalk_review.reasons import offered_reasons
from reeltalk_review.routes.media import video_view
from reeltalk_review.settling import (
    ADJUDICATION,
    DONE,
    dispute_view,
    next_dispute,
    open_disputes,
    own_dispute,
    submitted_works,
)
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, UnitRow, moment
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import ReviewTask
from reeltalk_review.web import PlainJson, ProjectHere, page, plain_text, require, require_api, require_form

router = APIRouter()
RECENT = 50
"""How many submitted units are listed."""


@router.get("/", response_class=HTMLResponse)
def show_home(
    request: Request, project: ProjectHere, person: Annotated[User, require(Action.LOOK)], nothing: str = ""
) -> Response:
    """The inbox: returned and begun work, what is to be settled or approved, queues, and submitted work."""
    with project.database.reading() as session:
        own = _own(session, person.id, UNFINISHED)
        judges = may(person.role, Action.ADJUDICATE)
        disputed = open_disputes(session, person.id) if judges else []
        approvals = awaiting_approval(session, person.id) if judges else []
        return page(
            request,
            "home.html",
            person,
            queues=_queues(session, person),
            returned=[row for row in own if row["state"] == "returned"],
            begun=[row for row in own if row["state"] == "working"],
            handed_in=_own(session, person.id, ("submitted",), RECENT),
            disputed=disputed,
            approvals=approvals,
            step=_next_step(session, person, len(disputed) + len(approvals)),
            nothing=nothing == "1",
        )


@router.post("/queues/{queue_id}/next")
def continue_work(project: ProjectHere, queue_id: str, person: Annotated[User, require_form(Action.WORK)]) -> Response:
    """Continue your work in a queue, or take the next unit."""
    with transaction(project.database, person.id) as change:
        found = next_unit(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    if found is None:
        return RedirectResponse("/?nothing=1", status_code=303)
    return RedirectResponse(f"/work/{found.id}", status_code=303)


@router.get("/work/{assignment_id}", response_class=HTMLResponse)
def show_work(
    request: Request, project: ProjectHere, assignment_id: str, person: Annotated[User, require(Action.WORK)]
) -> Response:
    """The screen of your own work on a unit."""
    with project.database.reading() as session:
        assignment, unit, task = work.own_work(session, person.id, assignment_id)
        if assignment.role == ADJUDICATOR:
            return RedirectResponse(f"/adjudicate/{assignment.id}", status_code=303)
        opened = _opened(project, session, assignment, unit, task)
        name = unit_name(session, unit, seen_by=person.id)
        return page(
            request,
            task.template,
            person,
            assignment=assignment,
            name=name,
            task=task,
            opened=_as_text(opened),
            guideline=guideline_html(session, unit.queue_id),
        )


def _own(session: Session, person_id: str, states: Sequence[str], limit: int | None = None) -> list[Mapping[str, Any]]:
    """The person's work in some states, most recently touched first."""
    saved = select(func.max(EntryRow.at)).where(EntryRow.assignment_id == AssignmentRow.id).scalar_subquery()
    touched = func.coalesce(AssignmentRow.submitted_at, saved, AssignmentRow.created_at)
    query = (
        select(
            AssignmentRow.id,
            AssignmentRow.role,
            AssignmentRow.state,
            AssignmentRow.note,
            AssignmentRow.unit_id,
            QueueRow.title.label("queue"),
            touched.label("touched"),
        )
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(AssignmentRow.person_id == person_id, AssignmentRow.state.in_(states))
        .order_by(touched.desc(), AssignmentRow.id)
        .limit(limit)
    )
    rows = session.execute(query).mappings().all()
    names = {
        role: unit_names(
            session,
            [row["unit_id"] for row in rows if row["role"] == role],
            seen_by=None if role == ADJUDICATOR else person_id,
        )
        for role in (ANNOTATOR, ADJUDICATOR)
    }
    return [{**row, "name": names[row["role"]][row["unit_id"]]} for row in rows]


def _queues(session: Session, person: User) -> list[Mapping[str, Any]]:
    """Queues with how many of their units are complete, and what there is in them for this person."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    # Gold is not part of the progress.
    for queue, state, count in session.execute(
        select(UnitRow.queue_id, UnitRow.state, func.count())
        .where(UnitRow.gold.is_(None))
        .group_by(UnitRow.queue_id, UnitRow.state)
    ):
        counts[queue][state] = count
    works, now = may(person.role, Action.WORK), moment()
    begun = _begun_counts(session, person.id) if works else {}
    pairs = pair_turns(session, person.id) if works else []
    found: list[Mapping[str, Any]] = []
    for row in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id)):
        takes = works and row.is_open and row.task in TASKS
        found.append(
            {
                "row": row,
                "says": line_of(row),
                "total": sum(counts[row.id].values()),
                "complete": sum(counts[row.id].get(state, 0) for state in (DONE, ADJUDICATION)),
                "left": open_units(session, row.id, person.id, now) if takes else 0,
                "begun": begun.get(row.id, 0),
                "known": known_units(session, row.id, person.id) if takes and row.task == TEST else 0,
                "in_pairs": row.task not in TASKS,
                "pairs": [turn for turn in pairs if turn.queue_id == row.id],
            }
        )
    return found


def _begun_counts(session: Session, person_id: str) -> dict[str, int]:
    """How many units of each queue somebody has begun and not submitted."""
    query = (
        select(UnitRow.queue_id, func.count())
        .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
        .where(
            AssignmentRow.person_id == person_id,
            AssignmentRow.role == ANNOTATOR,
            AssignmentRow.state.in_(UNFINISHED),
        )
        .group_by(UnitRow.queue_id)
    )
    return {queue_id: count for queue_id, count in session.execute(query)}


def _next_step(session: Session, person: User, waiting: int) -> tuple[str, str, str] | None:
    """What an owner does next: a sentence, and the address and name of a page; None if it waits in their inbox."""
    if not may(person.role, Action.MANAGE) or waiting:
        return None
    others = select(PersonRow.id).where(PersonRow.disabled_at.is_(None), PersonRow.id != person.id)
    if session.scalars(others.limit(1)).first() is None:
        return "You are alone on the team.", "/team", "Invite people"
    if session.scalars(select(AssignmentRow.id).limit(1)).first() is None:
        return "Nobody has begun yet.", "/setup", "Check the queues, their guidelines and how many people do each task"
    real = select(UnitRow.id).where(UnitRow.gold.is_(None), UnitRow.state != DONE)
    if session.scalars(real.limit(1)).first() is not None:
        return "People are at work.", "/quality", "See how far they agree"
    return (
        "All work is settled, and reeltalk review apply writes it into the benchmark.",
        "/changes",
        "See what changes",
    )


Worker = Annotated[User, require_api(Action.WORK)]


class Save(BaseModel):
    """Body of a save."""

    model_config = ConfigDict(extra="forbid")

    revision: Annotated[int, Field(ge=0, le=10**9)]
    value: PlainJson
    active_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 0.0
    """Seconds of activity at this place since the last save that was answered."""


@router.get("/api/work/{assignment_id}")
def open_work(
    project: ProjectHere, assignment_id: str, person: Annotated[User, require(Action.WORK)]
) -> dict[str, Any]:
    """A unit, its draft, and this person's values so far."""
    with project.database.reading() as session:
        return _opened(project, session, *work.own_work(session, person.id, assignment_id))


def _opened(
    project: ReviewProject, session: Session, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask
) -> dict[str, Any]:
    """The answer about somebody's work, which the page of the work holds too, so that it need not ask."""
    entries = work.entries(session, assignment.id)
    content = task.visible_content(unit.content, {place: row.value for place, row in entries.items()})
    return _work_view(project, session, assignment, unit, task, content) | {"places": list(task.places(unit.content))}


def _as_text(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)


def _work_view(
    project: ReviewProject,
    session: Session,
    assignment: AssignmentRow,
    unit: UnitRow,
    task: ReviewTask,
    content: Mapping[str, Json],
    *,
    names: bool = True,
) -> dict[str, Any]:
    name = unit_name(session, unit, seen_by=None if assignment.role == ADJUDICATOR else assignment.person_id)
    rows = work.entries(session, assignment.id)
    return {
        "assignment": {
            "id": assignment.id,
            "role": assignment.role,
            "state": assignment.state,
            "round": assignment.round,
            "note": assignment.note,
            "lease_until": assignment.lease_until,
        },
        "unit": {
            "id": unit.id,
            "task": task.kind,
            "name": name,
            "video": video_view(project, session, assignment.person_id, unit),
            "content": content,
        },
        "reasons": offered_reasons(session, task.kind),
        "entries": {place: work.entry_view(row) for place, row in rows.items()},
        "findings": work.findings(assignment, unit, task, rows, task.places(unit.content)),
    }


@router.put("/api/work/{assignment_id}/entries/{place}")
def save(
    request: Request, project: ProjectHere, assignment_id: str, place: str, body: Save, person: Worker, key: RequestKey
) -> JSONResponse:
    """Save a value at a place. The body names the revision that was read."""

    def do(change: Transaction) -> Json:
        assignment, unit, task = work.own_work(change.session, person.id, assignment_id)
        row = work.save_value(change, assignment, unit, task, place, body.revision, body.value, active_s=body.active_s)
        renew_lease(assignment, lease_minutes=project.settings.lease_minutes)
        change.session.flush()
        found = work.findings(assignment, unit, task, {place: row}, [place])
        stale = work.stale_places(change.session, assignment.id)
        return {**work.entry_view(row), "stale": stale, "findings": found.get(place, [])}

    return answer_once(project, person, key, request, [body.revision, body.value], do)


@router.post("/api/work/{assignment_id}/undo")
def undo(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Undo the last change."""
    return answer_once(
        project, person, key, request, None, lambda change: _stepped(change, person, assignment_id, work.undo)
    )


@router.post("/api/work/{assignment_id}/redo")
def redo(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Redo the change that was undone last."""
    return answer_once(
        project, person, key, request, None, lambda change: _stepped(change, person, assignment_id, work.redo)
    )


@router.post("/api/work/{assignment_id}/submit")
def submit(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Submit the work, and return the address of the next."""

    def do(change: Transaction) -> Json:
        assignment, unit, task = work.own_work(change.session, person.id, assignment_id)
        work.submit(change, assignment, unit, task, approval=project.settings.approval)
        change.session.flush()
        if assignment.role == ADJUDICATOR:
            dispute = next_dispute(change, person.id, unit.queue_id, lease_minutes=project.settings.lease_minutes)
            return {"next": f"/adjudicate/{dispute.id}" if dispute is not None else None}
        # Begun work of a closed queue can be submitted, but nothing follows it.
        if not change.session.get_one(QueueRow, unit.queue_id).is_open:
            return {"next": None}
        found = next_unit(change, person.id, unit.queue_id, lease_minutes=project.settings.lease_minutes)
        return {"next": f"/work/{found.id}" if found is not None else None}

    return answer_once(project, person, key, request, None, do)


@router.post("/api/work/{assignment_id}/reopen")
def reopen(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Take submitted work back until it is adjudicated or applied."""

    def do(change: Transaction) -> Json:
        assignment, unit, _ = work.own_work(change.session, person.id, assignment_id)
        work.reopen(change, assignment, unit)
        return {"state": assignment.state}

    return answer_once(project, person, key, request, None, do)


class Note(BaseModel):
    """Body of a return: what should be done again."""

    model_config = ConfigDict(extra="forbid")

    note: Annotated[str, Field(max_length=2000), AfterValidator(plain_text)]


@router.post("/api/work/{assignment_id}/return")
def return_work(
    request: Request,
    project: ProjectHere,
    assignment_id: str,
    body: Note,
    person: Annotated[User, require_api(Action.ADJUDICATE)],
    key: RequestKey,
) -> JSONResponse:
    """Return anybody's submitted work to them, with a note, at any time."""

    def do(change: Transaction) -> Json:
        work.send_back(change, person.id, assignment_id, body.note, approval=project.settings.approval)
        return {"state": change.session.get_one(AssignmentRow, assignment_id).state}

    return answer_once(project, person, key, request, body.note, do)


@router.post("/api/work/{assignment_id}/lease")
def lease(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Hold the unit for another lease."""

    def do(change: Transaction) -> Json:
        assignment, _, _ = work.own_work(change.session, person.id, assignment_id)
        renew_lease(assignment, lease_minutes=project.settings.lease_minutes)
        return {"lease_until": assignment.lease_until}

    return answer_once(project, person, key, request, None, do)


@router.post("/api/work/{assignment_id}/release")
def release(
    request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey
) -> JSONResponse:
    """Give back a unit in which nothing was saved."""

    def do(change: Transaction) -> Json:
        assignment, _, _ = work.own_work(change.session, person.id, assignment_id)
        give_back(change, assignment)
        return {"next": "/"}

    return answer_once(project, person, key, request, None, do)


@router.get("/api/work/{assignment_id}/history/{place}")
def history(
    project: ProjectHere, assignment_id: str, place: str, person: Annotated[User, require(Action.WORK)]
) -> dict[str, Any]:
    """All values that were saved at a place of your own work, first to last."""
    with project.database.reading() as session:
        work.own_work(session, person.id, assignment_id)
        return {
            "versions": [
                {"revision": event.after["revision"], "value": event.after["value"], "at": event.at, "kind": event.kind}
                for event in work.entry_history(session, assignment_id, place)
            ]
        }


def _stepped(change: Transaction, person: User, assignment_id: str, step: Any) -> Json:
    assignment, unit, task = work.own_work(change.session, person.id, assignment_id)
    row = step(change, assignment, unit, task)
    change.session.flush()
    rows = work.entries(change.session, assignment.id)
    return {
        "place": row.place,
        "entries": {place: work.entry_view(row) for place, row in rows.items()},
        "findings": work.findings(assignment, unit, task, rows, task.places(unit.content)),
    }


Adjudicator = Annotated[User, require(Action.ADJUDICATE)]


class Return(BaseModel):
    """Body of a return."""

    model_config = ConfigDict(extra="forbid")

    assignment: Annotated[str, Field(max_length=100)]
    """The assignment to return."""
    note: Annotated[str, Field(max_length=2000), AfterValidator(plain_text)]


@router.post("/adjudicate/queues/{queue_id}/next")
def continue_dispute(
    project: ProjectHere, queue_id: str, person: Annotated[User, require_form(Action.ADJUDICATE)]
) -> Response:
    """Continue with what this person decides, or take the next unit on which people differ."""
    with transaction(project.database, person.id) as change:
        found = next_dispute(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    return RedirectResponse(f"/adjudicate/{found.id}" if found is not None else "/", status_code=303)


@router.get("/adjudicate/{assignment_id}", response_class=HTMLResponse)
def show_dispute(request: Request, project: ProjectHere, assignment_id: str, person: Adjudicator) -> Response:
    """The page on which one unit is decided."""
    with project.database.reading() as session:
        assignment, unit = own_dispute(session, person.id, assignment_id)
        opened = _as_text(_dispute(project, session, assignment, unit, names=False))
        name = unit_name(session, unit)
        guideline = guideline_html(session, unit.queue_id)
        return page(
            request, "adjudicate.html", person, assignment=assignment, name=name, opened=opened, guideline=guideline
        )


@router.get("/api/adjudicate/{assignment_id}")
def open_dispute(project: ProjectHere, assignment_id: str, person: Adjudicator, names: bool = False) -> dict[str, Any]:
    """Everybody's work on a unit, the draft, and this person's decisions so far."""
    with project.database.reading() as session:
        return _dispute(project, session, *own_dispute(session, person.id, assignment_id), names=names)


def _dispute(
    project: ReviewProject, session: Session, assignment: AssignmentRow, unit: UnitRow, *, names: bool
) -> dict[str, Any]:
    """The answer about a unit on which people differ, which its page holds too."""
    task = work.task_of_unit(session, unit)
    content = task.visible_content(unit.content, {})
    shown = _work_view(project, session, assignment, unit, task, content, names=names)
    return shown | dispute_view(session, unit, task, names=names)


@router.post("/api/adjudicate/{assignment_id}/return")
def send_back(
    request: Request,
    project: ProjectHere,
    assignment_id: str,
    body: Return,
    person: Annotated[User, require_api(Action.ADJUDICATE)],
    key: RequestKey,
) -> JSONResponse:
    """Return one person's work to them, with a note."""

    def do(change: Transaction) -> Json:
        _, unit = own_dispute(change.session, person.id, assignment_id)
        if body.assignment not in {row.id for row, _ in submitted_works(change.session, unit.id)}:
            raise NotFound("there is no such work on this task")
        work.send_back(change, person.id, body.assignment, body.note, approval=project.settings.approval)
        return {"next": "/"}

    return answer_once(project, person, key, request, [body.assignment, body.note], do)
