"""Guidelines of queues: everybody reads them, owners write them."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AfterValidator
from sqlalchemy.orm import Session

from reeltalk_review.access import Action
from reeltalk_review.errors import Conflict, InvalidValue, NotFound
from reeltalk_review.events import transaction
from reeltalk_review.guiding import (
    LONGEST_GUIDELINE,
    LONGEST_LINE,
    guideline_text,
    line_of,
    render_guideline,
    write_guideline,
)
from reeltalk_review.people import User, names_by_id
from reeltalk_review.tables import GuidelineRow, QueueRow
from reeltalk_review.web import ProjectHere, ShortText, page, plain_text, require, require_form

router = APIRouter()


@router.get("/guidelines/{queue_id}", response_class=HTMLResponse)
def show_guideline(
    request: Request, project: ProjectHere, queue_id: str, person: Annotated[User, require(Action.LOOK)]
) -> Response:
    """A queue's guideline."""
    with project.database.reading() as session:
        queue = _queue(session, queue_id)
        return page(
            request,
            "guideline.html",
            person,
            queue=queue,
            html=render_guideline(guideline_text(session, queue)),
            written=session.get(GuidelineRow, queue_id),
            names=names_by_id(session),
        )


@router.get("/setup/queues/{queue_id}/guideline", response_class=HTMLResponse)
def edit_guideline(
    request: Request, project: ProjectHere, queue_id: str, person: Annotated[User, require(Action.MANAGE)]
) -> Response:
    """The form in which an owner writes a queue's guideline and its line."""
    with project.database.reading() as session:
        queue = _queue(session, queue_id)
        written = session.get(GuidelineRow, queue_id)
        return _form(
            request,
            person,
            queue=queue,
            text=guideline_text(session, queue),
            based_on=written.at if written is not None else "",
            says=line_of(queue),
        )


@router.post("/setup/queues/{queue_id}/guideline", response_class=HTMLResponse)
def save_guideline(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    person: Annotated[User, require_form(Action.MANAGE)],
    text: Annotated[str, Form(max_length=2 * LONGEST_GUIDELINE), AfterValidator(plain_text)],
    based_on: ShortText = "",
    says: ShortText = "",
) -> Response:
    """Write a queue's guideline."""
    try:
        with transaction(project.database, person.id) as change:
            write_guideline(change, _queue(change.session, queue_id), text, based_on=based_on, says=says)
    except (InvalidValue, Conflict) as error:
        with project.database.reading() as session:
            queue = _queue(session, queue_id)
        return _form(request, person, queue=queue, text=text, based_on=based_on, says=says, problem=error)
    return RedirectResponse(f"/guidelines/{queue_id}", status_code=303)


def _form(request: Request, person: User, **values: Any) -> Response:
    return page(request, "guideline_form.html", person, most=LONGEST_LINE, longest=LONGEST_GUIDELINE, **values)


def _queue(session: Session, queue_id: str) -> QueueRow:
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    return queue
