"""Assignment: groups of people, and who works on which queue, as a page of owners and as JSON."""

from typing import Annotated, Final

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import func, select

from reeltalk.review.access import Action, may
from reeltalk.review.administration import members
from reeltalk.review.database import ReviewProject
from reeltalk.review.duties import (
    LARGEST,
    Terms,
    all_groups,
    assign_queue,
    drop_duty,
    drop_group,
    put_group,
    queue_assignments,
)
from reeltalk.review.errors import ApiError, InvalidValue
from reeltalk.review.events import Transaction, transaction
from reeltalk.review.idempotency import RequestKey, answer_once
from reeltalk.review.people import User, names_by_id
from reeltalk.review.tables import DutyRow, moment
from reeltalk.review.web import ProjectHere, ShortText, page, plain_text, require, require_api, require_form
from reeltalk.schema.record import Json

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
    """Who works on each queue, and the groups."""
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
            groups=all_groups(session),
            people=team,
            workers=[row for row in team if may(row.role, Action.WORK)],
            today=moment()[:10],
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
    groups: Names,
    deadline: ShortText = "",
    least: ShortText = "",
    most: ShortText = "",
) -> Response:
    """Assign a queue to people and groups."""
    try:
        terms = Terms(deadline.strip() or None, _number(least, "least"), _number(most, "most"))
        with transaction(project.database, person.id) as change:
            assign_queue(change, queue_id, people, groups, terms)
    except InvalidValue as error:
        return _page(request, project, person, problem=error, at=queue_id)
    return RedirectResponse(f"/assignment#queue-{queue_id}", status_code=303)


def _number(text: str, field: str) -> int | None:
    if not text.strip():
        return None
    if not (text.strip().isascii() and text.strip().isdigit() and len(text.strip()) < 9):
        raise InvalidValue(f"a number of tasks is 1 to {LARGEST:,}, or empty", field=field)
    return int(text)


@router.post("/assignment/duties/{duty_id}/end")
def end_duty(project: ProjectHere, duty_id: str, person: ChangingOwner) -> Response:
    """End a duty of a queue or a unit."""
    with transaction(project.database, person.id) as change:
        drop_duty(change, duty_id)
    return RedirectResponse("/assignment", status_code=303)


@router.post("/groups", response_class=HTMLResponse)
def make_group(
    request: Request, project: ProjectHere, person: ChangingOwner, name: ShortText, people: Names
) -> Response:
    """Make a group."""
    return _put_group(request, project, person, None, name, people)


@router.post("/groups/{group_id}", response_class=HTMLResponse)
def change_group(
    request: Request,
    project: ProjectHere,
    group_id: str,
    person: ChangingOwner,
    name: ShortText,
    people: Names,
) -> Response:
    """Change a group's name and members."""
    return _put_group(request, project, person, group_id, name, people)


def _put_group(
    request: Request, project: ReviewProject, person: User, group_id: str | None, name: str, people: list[str]
) -> Response:
    try:
        with transaction(project.database, person.id) as change:
            put_group(change, group_id, name, people)
    except InvalidValue as error:
        return _page(request, project, person, problem=error, at=group_id or "groups")
    return RedirectResponse("/assignment#groups", status_code=303)


@router.post("/groups/{group_id}/drop")
def remove_group(project: ProjectHere, group_id: str, person: ChangingOwner) -> Response:
    """Remove a group and its duties."""
    with transaction(project.database, person.id) as change:
        drop_group(change, group_id)
    return RedirectResponse("/assignment#groups", status_code=303)


Id = Annotated[str, Field(max_length=200), AfterValidator(plain_text)]


class MemberView(BaseModel):
    """A member of a group."""

    id: str
    name: str


class GroupView(BaseModel):
    """A group of people."""

    id: str
    name: str
    members: list[MemberView]


class GroupList(BaseModel):
    """All groups."""

    groups: list[GroupView]


class DutyView(BaseModel):
    """A queue or a unit that is assigned to a person or a group."""

    id: str
    queue: str
    unit: str | None
    """None: the whole queue."""
    person: str | None
    group: str | None
    name: str
    """Of the person or the group."""
    deadline: str | None
    """The last day, as `2026-12-31`."""
    least: int | None
    most: int | None


class DutyList(BaseModel):
    """Some duties."""

    duties: list[DutyView]
    total: int
    """Number of duties that match."""


class PutGroup(BaseModel):
    """Body that makes or changes a group."""

    model_config = ConfigDict(extra="forbid")

    id: Id | None = None
    """Which group; null for a new one."""
    name: Id
    people: Annotated[list[Id], Field(max_length=1000)]
    """Ids of all its members."""


class AssignQueue(BaseModel):
    """Body of the assignment of a whole queue."""

    model_config = ConfigDict(extra="forbid")

    queue: Id
    people: Annotated[list[Id], Field(max_length=1000)] = []
    groups: Annotated[list[Id], Field(max_length=1000)] = []
    deadline: Id | None = None
    """The last day, as `2026-12-31`."""
    least: Annotated[int, Field(ge=1, le=LARGEST)] | None = None
    most: Annotated[int, Field(ge=1, le=LARGEST)] | None = None


class ChangedId(BaseModel):
    """The id of what was made, changed or removed."""

    id: str


@router.get("/api/groups")
def list_groups(project: ProjectHere, person: Looker) -> GroupList:
    """All groups with their members."""
    with project.database.reading() as session:
        found = all_groups(session)
    return GroupList(
        groups=[
            GroupView(
                id=group.id, name=group.name, members=[MemberView(id=id, name=name) for id, name in group.members]
            )
            for group in found
        ]
    )


@router.post("/api/groups", response_model=ChangedId)
def put_group_by_script(
    request: Request, project: ProjectHere, body: PutGroup, person: ChangingScript, key: RequestKey
) -> JSONResponse:
    """Make a group, or change its name and members."""

    def do(change: Transaction) -> Json:
        return {"id": put_group(change, body.id, body.name, body.people)}

    return answer_once(project, person, key, request, body.model_dump(mode="json"), do)


@router.delete("/api/groups/{group_id}", response_model=ChangedId)
def drop_group_by_script(
    request: Request, project: ProjectHere, group_id: str, person: ChangingScript, key: RequestKey
) -> JSONResponse:
    """Remove a group and its duties."""

    def do(change: Transaction) -> Json:
        drop_group(change, group_id)
        return {"id": group_id}

    return answer_once(project, person, key, request, None, do)


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
        names = {**names_by_id(session), **{group.id: group.name for group in all_groups(session)}}
    return DutyList(
        duties=[
            DutyView(
                id=row.id,
                queue=row.queue_id,
                unit=row.unit_id,
                person=row.person_id,
                group=row.group_id,
                name=names.get(row.person_id or row.group_id or "", ""),
                deadline=row.deadline,
                least=row.least,
                most=row.most,
            )
            for row in rows
        ],
        total=total,
    )


@router.post("/api/duties", response_model=ChangedId)
def assign_queue_by_script(
    request: Request, project: ProjectHere, body: AssignQueue, person: ChangingScript, key: RequestKey
) -> JSONResponse:
    """Assign a whole queue to people and groups. Who has it already gets the new terms."""

    def do(change: Transaction) -> Json:
        assign_queue(change, body.queue, body.people, body.groups, Terms(body.deadline, body.least, body.most))
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
