"""Guidelines: everybody reads them, owners write them with a preview, and earlier versions stay."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.access import Action
from reeltalk_review.errors import ApiError, Conflict, InvalidValue, NotFound
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.guiding import (
    LONGEST_GUIDELINE,
    LONGEST_LINE,
    Guideline,
    changed_lines,
    guideline_of,
    guideline_versions,
    line_of,
    read_versions,
    record_reading,
    render_guideline,
    write_guideline,
)
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.people import User, names_by_id
from reeltalk_review.tables import QueueRow
from reeltalk_review.web import FormNumber, ProjectHere, ShortText, page, plain_text, require, require_api, require_form

router = APIRouter()
Owner = Annotated[User, require(Action.MANAGE)]
LARGEST_VERSION = 10**6


@router.get("/guidelines/{queue_id}", response_class=HTMLResponse)
def show_guideline(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    person: Annotated[User, require(Action.LOOK)],
    version: Annotated[int | None, Query(ge=0, le=LARGEST_VERSION)] = None,
) -> Response:
    """A version of a queue's guideline, what changed in it, and the other versions."""
    with project.database.reading() as session:
        queue = _queue(session, queue_id)
        versions = guideline_versions(session, queue)
        shown = guideline_of(session, queue, version)
        before = next((found for found in versions if found.version < shown.version), None)
        return page(
            request,
            "guideline.html",
            person,
            queue=queue,
            shown=shown,
            html=render_guideline(shown.text),
            versions=versions,
            changes=changed_lines(before.text, shown.text) if before is not None else (),
            read=read_versions(session, person.id).get(queue_id),
            names=names_by_id(session),
        )


@router.post("/guidelines/{queue_id}/read")
def read_guideline(
    project: ProjectHere,
    queue_id: str,
    person: Annotated[User, require_form(Action.LOOK)],
    version: Annotated[int, Form(ge=0, le=LARGEST_VERSION)],
) -> Response:
    """Record that you read a version."""
    with transaction(project.database, person.id) as change:
        record_reading(change, person.id, queue_id, version)
    return RedirectResponse("/", status_code=303)


class GuidelineRead(BaseModel):
    """Body of a reading."""

    model_config = ConfigDict(extra="forbid")

    version: Annotated[int, Field(ge=0, le=LARGEST_VERSION)]


@router.post("/api/guidelines/{queue_id}/read")
def read_in_editor(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    body: GuidelineRead,
    person: Annotated[User, require_api(Action.LOOK)],
    key: RequestKey,
) -> JSONResponse:
    """Record that you opened a version; the answer has the newest version that you have read."""

    def do(change: Transaction) -> Json:
        return {"version": record_reading(change, person.id, queue_id, body.version)}

    return answer_once(project, person, key, request, body.version, do)


@router.get("/setup/queues/{queue_id}/guideline", response_class=HTMLResponse)
def edit_guideline(request: Request, project: ProjectHere, queue_id: str, person: Owner) -> Response:
    """The form in which an owner writes a queue's guideline and its line."""
    with project.database.reading() as session:
        queue = _queue(session, queue_id)
        return _form(request, session, person, queue, guideline_of(session, queue))


@router.post("/setup/queues/{queue_id}/guideline", response_class=HTMLResponse)
def save_guideline(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    person: Annotated[User, require_form(Action.MANAGE)],
    text: Annotated[str, Form(max_length=2 * LONGEST_GUIDELINE)],
    based_on: FormNumber,
    says: ShortText = "",
    action: Annotated[Literal["preview", "save"], Form()] = "save",
) -> Response:
    """Show how a guideline will look, or write it as the next version."""
    try:
        text = plain_text(text)
    except ValueError as error:
        raise InvalidValue(f"the guideline {error}", field="text") from None
    problem: ApiError | None = None
    if action == "save":
        try:
            with transaction(project.database, person.id) as change:
                write_guideline(change, queue_id, text, based_on=based_on, says=says)
            return RedirectResponse(f"/guidelines/{queue_id}", status_code=303)
        except (InvalidValue, Conflict) as error:
            problem = error
    with project.database.reading() as session:
        queue = _queue(session, queue_id)
        typed = Guideline(based_on, text, None, None)
        return _form(request, session, person, queue, typed, says=says, preview=True, problem=problem)


def _form(
    request: Request,
    session: Session,
    person: User,
    queue: QueueRow,
    shown: Guideline,
    *,
    says: str | None = None,
    preview: bool = False,
    problem: ApiError | None = None,
) -> Response:
    values: dict[str, Any] = {"line": line_of(queue) if says is None else says, "most": LONGEST_LINE}
    return page(
        request,
        "guideline_form.html",
        person,
        status=problem.status if problem is not None else 200,
        queue=queue,
        shown=shown,
        current=guideline_of(session, queue).version,
        html=render_guideline(shown.text) if preview else None,
        problem=problem,
        longest=LONGEST_GUIDELINE,
        **values,
    )


def _queue(session: Session, queue_id: str) -> QueueRow:
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    return queue
