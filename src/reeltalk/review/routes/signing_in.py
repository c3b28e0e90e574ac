"""Joining by an invitation, signing in, signing out."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from reeltalk.review import people
from reeltalk.review.access import Action
from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.project import Project
from reeltalk.review.refusals import BadValueError, SignInFirstError
from reeltalk.review.web import (
    FormText,
    ProjectHere,
    changing_by_form,
    cookie_name,
    refuse_other_sites,
    somebody,
)

router = APIRouter()
Somebody = Annotated[Person | None, Depends(somebody)]


@router.get("/join/{token}", response_class=HTMLResponse)
def show_invitation(request: Request, token: str, project: ProjectHere) -> Response:
    """The form by which somebody who was invited chooses a name and a password."""
    with project.database.reading() as session:
        invitation = people.invitation_of(session, project.secret, token)
        return page(request, "join.html", None, token=token, role=invitation.role, name="", problem=None)


@router.post("/join/{token}", response_class=HTMLResponse)
def join(request: Request, token: str, project: ProjectHere, name: FormText, password: FormText) -> Response:
    """Become a member and sign in."""
    refuse_other_sites(request)
    try:
        with changing(project.database, "") as change:
            row = people.join(change, project.secret, token, name, password)
            cookie = people.start_session(change, project.secret, row.id)
    except BadValueError as error:
        with project.database.reading() as session:
            role = people.invitation_of(session, project.secret, token).role
        return page(request, "join.html", None, status=422, token=token, role=role, name=name, problem=error)
    return _signed_in(request, project, cookie, "/")


@router.get("/sign-in", response_class=HTMLResponse)
def show_sign_in(request: Request, person: Somebody, next: str = "/") -> Response:
    """The form to sign in."""
    if person is not None:
        return RedirectResponse(_inside(next), status_code=303)
    return page(request, "sign_in.html", None, next=_inside(next), name="", problem=None)


@router.post("/sign-in", response_class=HTMLResponse)
def sign_in(
    request: Request, project: ProjectHere, name: FormText, password: FormText, next: FormText = "/"
) -> Response:
    """Sign in by name and password."""
    refuse_other_sites(request)
    try:
        with project.database.reading() as session:
            row = people.find_by_password(session, name, password)
    except SignInFirstError as error:
        return page(request, "sign_in.html", None, status=401, next=_inside(next), name=name, problem=error)
    with changing(project.database, row.id) as change:
        cookie = people.start_session(change, project.secret, row.id)
    return _signed_in(request, project, cookie, _inside(next))


@router.post("/sign-out")
def sign_out(
    request: Request, project: ProjectHere, person: Annotated[Person, changing_by_form(Action.LOOK)]
) -> Response:
    """End this browser's session."""
    token = request.cookies.get(cookie_name(project), "")
    with changing(project.database, person.id) as change:
        people.end_session(change, project.secret, token)
    answer = RedirectResponse("/sign-in", status_code=303)
    answer.delete_cookie(cookie_name(project))
    return answer


def _inside(address: str) -> str:
    """An address of this application alone: another site's would be a trap."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if plain and address.isascii() else "/"


def _signed_in(request: Request, project: Project, cookie: str, address: str) -> Response:
    answer = RedirectResponse(address, status_code=303)
    answer.set_cookie(
        cookie_name(project),
        cookie,
        max_age=people.SESSION_DAYS * 24 * 3600,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return answer
