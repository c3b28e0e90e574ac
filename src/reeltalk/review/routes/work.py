"""What the work screens ask in the background: open, save, undo, submit, history."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from reeltalk.review import work
from reeltalk.review.access import Action
from reeltalk.review.assigning import ANNOTATOR, give_back, next_unit, renew
from reeltalk.review.events import Change
from reeltalk.review.people import Person
from reeltalk.review.tables import AssignmentRow, QueueRow, UnitRow, VideoRow
from reeltalk.review.web import PlainJson, ProjectHere, RequestKey, changing_by_api, once, seeing
from reeltalk.schema.record import Json

router = APIRouter(prefix="/api/work/{assignment_id}")
Worker = Annotated[Person, changing_by_api(Action.WORK)]


class Save(BaseModel):
    """What stands in the body of a save."""

    model_config = ConfigDict(extra="forbid")

    revision: Annotated[int, Field(ge=0, le=10**9)]
    value: PlainJson


@router.get("")
def open_work(
    project: ProjectHere, assignment_id: str, person: Annotated[Person, seeing(Action.WORK)]
) -> dict[str, Any]:
    """A unit, its draft, and what this person has made of it so far."""
    with project.database.reading() as session:
        assignment, unit, task = work.own(session, person.id, assignment_id)
        entries = work.entries(session, assignment.id)
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
                "title": unit.title,
                "video": video_of(session, unit),
                "content": task.shown(unit.content, {place: row.value for place, row in entries.items()}),
            },
            "places": list(task.places(unit.content)),
            "entries": {place: work.shown(row) for place, row in entries.items()},
        }


@router.put("/entries/{place}")
def save(
    request: Request, project: ProjectHere, assignment_id: str, place: str, body: Save, person: Worker, key: RequestKey
) -> JSONResponse:
    """Put a value at a place; it names the revision that was read."""

    def do(change: Change) -> Json:
        assignment, unit, task = work.own(change.session, person.id, assignment_id)
        row = work.save(change, assignment, unit, task, place, body.revision, body.value)
        renew(assignment, lease_minutes=project.settings.lease_minutes)
        change.session.flush()
        return {**work.shown(row), "stale": work.stale_places(change.session, assignment.id)}

    return once(project, person, key, request, [body.revision, body.value], do)


@router.post("/undo")
def undo(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Take the last change back."""
    return once(project, person, key, request, None, lambda change: _stepped(change, person, assignment_id, work.undo))


@router.post("/redo")
def redo(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Do again what was taken back."""
    return once(project, person, key, request, None, lambda change: _stepped(change, person, assignment_id, work.redo))


@router.post("/submit")
def submit(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Hand the work in, and say where to go on."""

    def do(change: Change) -> Json:
        assignment, unit, task = work.own(change.session, person.id, assignment_id)
        work.submit(change, assignment, unit, task, approval=project.settings.approval)
        change.session.flush()
        # Of a closed queue, what was begun is handed in all the same; only nothing follows.
        if assignment.role != ANNOTATOR or not change.session.get_one(QueueRow, unit.queue_id).is_open:
            return {"next": None}
        found = next_unit(change, person.id, unit.queue_id, lease_minutes=project.settings.lease_minutes)
        return {"next": f"/work/{found.id}" if found is not None else None}

    return once(project, person, key, request, None, do)


@router.post("/reopen")
def reopen(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Take submitted work back, as long as nobody else's has met it."""

    def do(change: Change) -> Json:
        assignment, unit, _ = work.own(change.session, person.id, assignment_id)
        work.reopen(change, assignment, unit)
        return {"state": assignment.state}

    return once(project, person, key, request, None, do)


@router.post("/lease")
def lease(request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """Hold the unit for another while."""

    def do(change: Change) -> Json:
        assignment, _, _ = work.own(change.session, person.id, assignment_id)
        renew(assignment, lease_minutes=project.settings.lease_minutes)
        return {"lease_until": assignment.lease_until}

    return once(project, person, key, request, None, do)


@router.post("/release")
def release(
    request: Request, project: ProjectHere, assignment_id: str, person: Worker, key: RequestKey
) -> JSONResponse:
    """Give a unit back in which nothing was saved."""

    def do(change: Change) -> Json:
        assignment, _, _ = work.own(change.session, person.id, assignment_id)
        give_back(change, assignment)
        return {"next": "/"}

    return once(project, person, key, request, None, do)


@router.get("/history/{place}")
def history(
    project: ProjectHere, assignment_id: str, place: str, person: Annotated[Person, seeing(Action.WORK)]
) -> dict[str, Any]:
    """All that stood at a place of one's own work, first to last."""
    with project.database.reading() as session:
        work.own(session, person.id, assignment_id)
        return {
            "versions": [
                {"revision": event.after["revision"], "value": event.after["value"], "at": event.at, "kind": event.kind}
                for event in work.history(session, assignment_id, place)
            ]
        }


def _stepped(change: Change, person: Person, assignment_id: str, step: Any) -> Json:
    assignment, unit, task = work.own(change.session, person.id, assignment_id)
    row = step(change, assignment, unit, task)
    change.session.flush()
    return {"place": row.place, "entries": _entries(change.session, assignment)}


def _entries(session: Session, assignment: AssignmentRow) -> dict[str, Json]:
    return {place: work.shown(row) for place, row in work.entries(session, assignment.id).items()}


def video_of(session: Session, unit: UnitRow) -> Json:
    """The unit's video as screens get it; None where it has none."""
    row = session.get(VideoRow, unit.video_id) if unit.video_id is not None else None
    if row is None:
        return None
    playable = f"/media/{row.sha256}" if row.file is not None else None
    return {
        "id": row.id,
        "sha256": row.sha256,
        "duration_s": row.duration_s,
        "playable": playable,
        "problem": row.problem,
    }
