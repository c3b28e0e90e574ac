"""Assignment: who works on which queue, as a page of owners and as JSON."""

from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import func, select

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, may
from reeltalk_review.administration import members
from reeltalk_review.database import ReviewProject
from reeltalk_review.duties import (
    assign_queue,
    drop_duty,
    queue_assignments,
)
from reeltalk_review.errors import ApiError, InvalidValue
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.people import User, names_by_id
from reeltalk_review.tables import DutyRow
from reeltalk_review.web import ProjectHere, ShortText, page, plain_text, require, require_api, require_form

router = APIRouter()
Owner = Annotated[User, require(Action.MANAGE)]
ChangingOwner = Annotated[User, require_form(Action.MANAGE)]
ChangingScript = Annotated[User, require_api(Action.MANAGE)]
Looker = Annotated[User, require(Action.SEE_TEAM)]
Names = Annotated[list[ShortText], Form(max_length=1000, default_factory=list)]
MOST_DUTIES: Final = 500
"""Most duties in one answer."""


@router.get("/assignment", response_class=HTMLResponse)
def show_assignment(request: Request, project: ProjectHere, person: Owner) -> Response:
    """Who works on each queue."""
    return _page(request, project, person)


def _page(
    request: Request, project: ReviewProject, person: User, *, problem: ApiError | None = None, at: str = ""
) -> Response:
    with project.database.reading() as session:
        team = [member.row for member in members(session) if member.row.disabled_at is None]
        return page(
            request,
            "assignment.html",
            person,
            status=problem.status if problem is not None else 200,
            queues=queue_assignments(session),
            workers=[row for row in team if may(row.role, Action.WORK)],
            problem=problem,
            at=at,
        )


@router.post("/assignment/queues/{queue_id}", response_class=HTMLResponse)
def assign_to(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    person: ChangingOwner,
    people: Names,
) -> Response:
    """Assign a queue to people."""
    try:
        with transaction(project.database, person.id) as change:
            assign_queue(change, queue_id, people)
    except InvalidValue as error:
        return _page(request, project, person, problem=error, at=queue_id)
    return RedirectResponse(f"/assignment#queue-{queue_id}", status_code=303)


@router.post("/assignment/duties/{duty_id}/end")
def end_duty(project: ProjectHere, duty_id: str, person: ChangingOwner) -> Response:
    """End a duty of a queue or a unit."""
    with transaction(project.database, person.id) as change:
        drop_duty(change, duty_id)
    return RedirectResponse("/assignment", status_code=303)


Id = Annotated[str, Field(max_length=200), AfterValidator(plain_text)]


class DutyView(BaseModel):
    """A queue or a unit that is assigned to a person."""

    id: str
    queue: str
    unit: str | None
    """None: the whole queue."""
    person: str
    name: str
    """Of the person."""


class DutyList(BaseModel):
    """Some duties."""

    duties: list[DutyView]
    total: int
    """Number of duties that match."""


class AssignQueue(BaseModel):
    """Body of the assignment of a whole queue."""

    model_config = ConfigDict(extra="forbid")

    queue: Id
    people: Annotated[list[Id], Field(max_length=1000)]


class ChangedId(BaseModel):
    """The id of what was made, changed or removed."""

    id: str


@router.get("/api/duties")
def list_duties(
    project: ProjectHere,
    person: Looker,
    queue: Annotated[str, Query(max_length=200), AfterValidator(plain_text)] = "",
    after: Annotated[str, Query(max_length=200), AfterValidator(plain_text)] = "",
) -> DutyList:
    """Duties of queues and units by id, at most 500. Ask again after the last until none come."""
    wanted = (DutyRow.queue_id == queue,) if queue else ()
    with project.database.reading() as session:
        total = session.scalar(select(func.count()).select_from(DutyRow).where(*wanted)) or 0
        rows = session.scalars(
            select(DutyRow).where(DutyRow.id > after, *wanted).order_by(DutyRow.id).limit(MOST_DUTIES)
        ).all()
        names = names_by_id(session)
    return DutyList(
        duties=[
            DutyView(
                id=row.id,
                queue=row.queue_id,
                unit=row.unit_id,
                person=row.person_id,
                name=names[row.person_id],
            )
            for row in rows
        ],
        total=total,
    )


@router.post("/api/duties", response_model=ChangedId)
def assign_queue_by_script(
    request: Request, project: ProjectHere, body: AssignQueue, person: ChangingScript, key: RequestKey
) -> JSONResponse:
    """Assign a whole queue to people."""

    def do(change: Transaction) -> Json:
        assign_queue(change, body.queue, body.people)
        return {"id": body.queue}

    return answer_once(project, person, key, request, body.model_dump(mode="json"), do)


@router.delete("/api/duties/{duty_id}", response_model=ChangedId)
def end_duty_by_script(
    request: Request, project: ProjectHere, duty_id: str, person: ChangingScript, key: RequestKey
) -> JSONResponse:
    """End a duty of a queue or a unit."""

    def do(change: Transaction) -> Json:
        drop_duty(change, duty_id)
        return {"id": duty_id}

    return answer_once(project, person, key, request, None, do)
