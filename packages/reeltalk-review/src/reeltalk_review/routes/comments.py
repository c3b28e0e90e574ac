"""Comments on units: from the editor, from a unit's page, and all that somebody may read."""

from typing import Annotated, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.access import Action
from reeltalk_review.assigning import ADJUDICATOR
from reeltalk_review.comments import LONGEST_COMMENT, add_comment, all_comments, comments_view
from reeltalk_review.errors import NotFound
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.naming import unit_names
from reeltalk_review.people import User
from reeltalk_review.settling import own_dispute
from reeltalk_review.sheets import CSV, Format, sheet_answer
from reeltalk_review.tables import UnitRow
from reeltalk_review.tasks.task import spoken_place
from reeltalk_review.web import (
    FormText,
    ProjectHere,
    ShortText,
    page,
    plain_text,
    require,
    require_api,
    require_form,
)

router = APIRouter()
LONGEST_PLACE: Final = 200


class NewComment(BaseModel):
    """Body of a comment."""

    model_config = ConfigDict(extra="forbid")

    place: Annotated[str, Field(max_length=LONGEST_PLACE), AfterValidator(plain_text)] | None = None
    """The place; null for the whole unit."""
    text: Annotated[str, Field(max_length=LONGEST_COMMENT), AfterValidator(plain_text)]


@router.post("/api/work/{assignment_id}/comments")
def comment_on_work(
    request: Request,
    project: ProjectHere,
    assignment_id: str,
    body: NewComment,
    person: Annotated[User, require_api(Action.WORK)],
    key: RequestKey,
) -> JSONResponse:
    """Comment on a unit on which you work or that you adjudicate, and return its comments."""

    def do(change: Transaction) -> Json:
        assignment, unit, _ = work.own_work(change.session, person.id, assignment_id)
        settles = assignment.role == ADJUDICATOR
        if settles:
            own_dispute(change.session, person.id, assignment_id)
        add_comment(change, person.id, unit, body.place, body.text)
        change.session.flush()
        return {"comments": comments_view(change.session, person.id, unit, names=not settles)["comments"]}

    return answer_once(project, person, key, request, [body.place, body.text], do)


@router.post("/units/{unit_id}/comments")
def comment_on_unit(
    project: ProjectHere,
    unit_id: str,
    person: Annotated[User, require_form(Action.ADJUDICATE)],
    text: FormText,
    place: ShortText = "",
) -> Response:
    """Comment on a unit from its page."""
    with transaction(project.database, person.id) as change:
        unit = change.session.get(UnitRow, unit_id)
        if unit is None:
            raise NotFound("there is no such task")
        add_comment(change, person.id, unit, place or None, text)
    return RedirectResponse(f"/units/{unit_id}#comments", status_code=303)


class CommentLine(BaseModel):
    """A comment in the list of all comments."""

    id: str
    at: str
    author: str
    unit: str
    name: str
    place: str | None
    text: str


class CommentTable(BaseModel):
    """Comments, first to last."""

    rows: list[CommentLine]


@router.get("/api/comments", response_model=CommentTable, responses=CSV)
def get_comments(
    project: ProjectHere, person: Annotated[User, require(Action.ADJUDICATE)], format: Format = "json"
) -> Response:
    """All comments that you may read."""
    with project.database.reading() as session:
        found = all_comments(session, person.id)
        names = unit_names(session, {comment.unit_id for comment in found})
    rows = [
        {
            "id": comment.id,
            "at": comment.at,
            "author": comment.author,
            "unit": comment.unit_id,
            "name": names[comment.unit_id],
            "place": spoken_place(comment.place) if comment.place is not None and format == "csv" else comment.place,
            "text": comment.text,
        }
        for comment in found
    ]
    return sheet_answer("comments", rows, list(CommentLine.model_fields), format)


@router.get("/comments", response_class=HTMLResponse)
def show_comments(
    request: Request, project: ProjectHere, person: Annotated[User, require(Action.ADJUDICATE)]
) -> Response:
    """All comments that you may read, newest first."""
    with project.database.reading() as session:
        found = all_comments(session, person.id)[::-1]
        names = unit_names(session, {comment.unit_id for comment in found})
    return page(request, "comments.html", person, comments=found, names=names)
