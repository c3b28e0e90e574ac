"""Guidelines: everybody reads them, owners write them, and earlier versions stay."""

from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy.orm import Session

from reeltalk_review.access import Action
from reeltalk_review.errors import ApiError, Conflict, InvalidValue, NotFound
from reeltalk_review.events import transaction
from reeltalk_review.guiding import (
    LONGEST_GUIDELINE,
    LONGEST_LINE,
    Guideline,
    guideline_of,
    guideline_versions,
    line_of,
    render_guideline,
    write_guideline,
)
from reeltalk_review.people import User, names_by_id
from reeltalk_review.tables import QueueRow
from reeltalk_review.web import FormNumber, ProjectHere, ShortText, page, plain_text, require, require_form

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
    """A version of a queue's guideline, and the other versions."""
    with project.database.reading() as session:
        queue = _queue(session, queue_id)
        shown = guideline_of(session, queue, version)
        return page(
            request,
            "guideline.html",
            person,
            queue=queue,
            shown=shown,
            html=render_guideline(shown.text),
            versions=guideline_versions(session, queue),
            names=names_by_id(session),
        )


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
) -> Response:
    """Write a guideline as the next version."""
    try:
        text = plain_text(text)
    except ValueError as error:
        raise InvalidValue(f"the guideline {error}", field="text") from None
    try:
        with transaction(project.database, person.id) as change:
            write_guideline(change, queue_id, text, based_on=based_on, says=says)
    except (InvalidValue, Conflict) as error:
        with project.database.reading() as session:
            queue = _queue(session, queue_id)
            return _form(request, session, person, queue, Guideline(based_on, text, None, None), says, error)
    return RedirectResponse(f"/guidelines/{queue_id}", status_code=303)


def _form(
    request: Request,
    session: Session,
    person: User,
    queue: QueueRow,
    shown: Guideline,
    says: str | None = None,
    problem: ApiError | None = None,
) -> Response:
    return page(
        request,
        "guideline_form.html",
        person,
        status=problem.status if problem is not None else 200,
        queue=queue,
        shown=shown,
        current=guideline_of(session, queue).version,
        problem=problem,
        line=line_of(queue) if says is None else says,
        most=LONGEST_LINE,
        longest=LONGEST_GUIDELINE,
    )


def _queue(session: Session, queue_id: str) -> QueueRow:
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    return queue
