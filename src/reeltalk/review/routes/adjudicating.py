"""Adjudication: what people differ on, side by side, for a third person to decide or to return."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.review import work
from reeltalk.review.access import Action
from reeltalk.review.adjudicating import dispute, next_dispute, own_dispute, waiting
from reeltalk.review.errors import NotThereError
from reeltalk.review.events import Change, changing
from reeltalk.review.idempotency import RequestKey, once
from reeltalk.review.people import Person
from reeltalk.review.routes.work import video_of
from reeltalk.review.settling import works
from reeltalk.review.web import ProjectHere, changing_by_api, changing_by_form, page, plain_text, seeing
from reeltalk.schema.record import Json

router = APIRouter()
Adjudicator = Annotated[Person, seeing(Action.ADJUDICATE)]


class Return(BaseModel):
    """What stands in the body of a return."""

    model_config = ConfigDict(extra="forbid")

    assignment: Annotated[str, Field(max_length=100)]
    """Whose work."""
    note: Annotated[str, Field(max_length=2000), AfterValidator(plain_text)]


@router.get("/adjudicate", response_class=HTMLResponse)
def show_waiting(request: Request, project: ProjectHere, person: Adjudicator) -> Response:
    """How much waits to be decided, by queue."""
    with project.database.reading() as session:
        return page(request, "disputes.html", person, queues=waiting(session, person.id))


@router.post("/adjudicate/queues/{queue_id}/next")
def go_on(
    project: ProjectHere, queue_id: str, person: Annotated[Person, changing_by_form(Action.ADJUDICATE)]
) -> Response:
    """Go on with what this person decides, or take the next unit on which people differ."""
    with changing(project.database, person.id) as change:
        found = next_dispute(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    return RedirectResponse(f"/adjudicate/{found.id}" if found is not None else "/adjudicate", status_code=303)


@router.get("/adjudicate/{assignment_id}", response_class=HTMLResponse)
def show_dispute(request: Request, project: ProjectHere, assignment_id: str, person: Adjudicator) -> Response:
    """The page on which one unit is decided."""
    with project.database.reading() as session:
        assignment, unit = own_dispute(session, person.id, assignment_id)
        task = work.task_of(session, unit)
        return page(request, "adjudicate.html", person, assignment=assignment, unit=unit, task=task)


@router.get("/api/adjudicate/{assignment_id}")
def open_dispute(project: ProjectHere, assignment_id: str, person: Adjudicator, names: bool = False) -> dict[str, Any]:
    """Both people's work on a unit, the draft, and what this person has decided so far."""
    with project.database.reading() as session:
        assignment, unit = own_dispute(session, person.id, assignment_id)
        task = work.task_of(session, unit)
        return {
            "assignment": {"id": assignment.id, "state": assignment.state, "queue": unit.queue_id},
            "unit": {
                "id": unit.id,
                "task": task.kind,
                "title": unit.title,
                "video": video_of(session, unit),
                "content": unit.content,
            },
            **dispute(session, unit, task, names=names),
            "entries": {place: work.shown(row) for place, row in work.entries(session, assignment.id).items()},
        }


@router.post("/api/adjudicate/{assignment_id}/return")
def send_back(
    request: Request,
    project: ProjectHere,
    assignment_id: str,
    body: Return,
    person: Annotated[Person, changing_by_api(Action.ADJUDICATE)],
    key: RequestKey,
) -> JSONResponse:
    """Return one person's work to them, with a note."""

    def do(change: Change) -> Json:
        _, unit = own_dispute(change.session, person.id, assignment_id)
        if body.assignment not in {row.id for row, _ in works(change.session, unit.id)}:
            raise NotThereError("there is no such work on this unit")
        work.send_back(change, person.id, body.assignment, body.note)
        return {"next": "/adjudicate"}

    return once(project, person, key, request, [body.assignment, body.note], do)
