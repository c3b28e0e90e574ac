"""Adjudication: disagreements side by side, for a third person to decide or return."""

from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.review import work
from reeltalk.review.access import Action
from reeltalk.review.adjudicating import dispute_view, next_dispute, open_disputes, own_dispute
from reeltalk.review.errors import NotFound
from reeltalk.review.events import Transaction, transaction
from reeltalk.review.idempotency import RequestKey, answer_once
from reeltalk.review.people import User
from reeltalk.review.routes.work import video_of
from reeltalk.review.settling import submitted_works
from reeltalk.review.web import ProjectHere, page, plain_text, require, require_api, require_form
from reeltalk.schema.record import Json

router = APIRouter()
Adjudicator = Annotated[User, require(Action.ADJUDICATE)]


class Return(BaseModel):
    """Body of a return."""

    model_config = ConfigDict(extra="forbid")

    assignment: Annotated[str, Field(max_length=100)]
    """The assignment to return."""
    note: Annotated[str, Field(max_length=2000), AfterValidator(plain_text)]


@router.get("/adjudicate", response_class=HTMLResponse)
def show_waiting(request: Request, project: ProjectHere, person: Adjudicator) -> Response:
    """How many units wait for a decision, by queue."""
    with project.database.reading() as session:
        return page(request, "disputes.html", person, queues=open_disputes(session, person.id))


@router.post("/adjudicate/queues/{queue_id}/next")
def go_on(project: ProjectHere, queue_id: str, person: Annotated[User, require_form(Action.ADJUDICATE)]) -> Response:
    """Continue with what this person decides, or take the next unit on which people differ."""
    with transaction(project.database, person.id) as change:
        found = next_dispute(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    return RedirectResponse(f"/adjudicate/{found.id}" if found is not None else "/adjudicate", status_code=303)


@router.get("/adjudicate/{assignment_id}", response_class=HTMLResponse)
def show_dispute(request: Request, project: ProjectHere, assignment_id: str, person: Adjudicator) -> Response:
    """The page on which one unit is decided."""
    with project.database.reading() as session:
        assignment, unit = own_dispute(session, person.id, assignment_id)
        task = work.task_of_unit(session, unit)
        return page(request, "adjudicate.html", person, assignment=assignment, unit=unit, task=task)


@router.get("/api/adjudicate/{assignment_id}")
def open_dispute(project: ProjectHere, assignment_id: str, person: Adjudicator, names: bool = False) -> dict[str, Any]:
    """Everybody's work on a unit, the draft, and this person's decisions so far."""
    with project.database.reading() as session:
        assignment, unit = own_dispute(session, person.id, assignment_id)
        task = work.task_of_unit(session, unit)
        return {
            "assignment": {"id": assignment.id, "state": assignment.state, "queue": unit.queue_id},
            "unit": {
                "id": unit.id,
                "task": task.kind,
                "title": unit.title,
                "video": video_of(session, unit),
                "content": unit.content,
            },
            **dispute_view(session, unit, task, names=names),
            "entries": {place: work.entry_view(row) for place, row in work.entries(session, assignment.id).items()},
        }


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
        work.send_back(change, person.id, body.assignment, body.note)
        return {"next": "/adjudicate"}

    return answer_once(project, person, key, request, [body.assignment, body.note], do)
