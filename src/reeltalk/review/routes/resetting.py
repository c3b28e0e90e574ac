"""Choosing a new password by a link that an operator made."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.refusals import BadValueError
from reeltalk.review.resetting import person_of_reset, reset_password
from reeltalk.review.web import FormText, ProjectHere, refuse_other_sites

router = APIRouter()


@router.get("/reset/{token}", response_class=HTMLResponse)
def show_reset(request: Request, token: str, project: ProjectHere) -> Response:
    """The form for a new password."""
    with project.database.reading() as session:
        name = person_of_reset(session, project.secret, token).name
    return page(request, "reset.html", None, token=token, name=name, problem=None)


@router.post("/reset/{token}", response_class=HTMLResponse)
def reset(request: Request, token: str, project: ProjectHere, password: FormText) -> Response:
    """Take the new password; whoever chose it signs in with it."""
    refuse_other_sites(request)
    try:
        with changing(project.database, "") as change:
            reset_password(change, project.secret, token, password)
    except BadValueError as error:
        with project.database.reading() as session:
            name = person_of_reset(session, project.secret, token).name
        return page(request, "reset.html", None, status=422, token=token, name=name, problem=error)
    return RedirectResponse("/sign-in", status_code=303)
