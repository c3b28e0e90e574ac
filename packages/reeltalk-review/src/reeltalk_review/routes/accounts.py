"""Joining, signing in and out, resetting a password, and the account page."""

import sys
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from reeltalk_review import people
from reeltalk_review.access import Action
from reeltalk_review.credentials import keyed_hash
from reeltalk_review.errors import InvalidValue, TooManyRequests, Unauthorized
from reeltalk_review.events import transaction
from reeltalk_review.people import User, person_of_reset, reset_password
from reeltalk_review.tables import PersonRow
from reeltalk_review.web import (
    FormText,
    ProjectHere,
    check_csrf,
    cookie_of,
    current_user,
    login_limiter,
    page,
    put_cookie,
    refuse_other_sites,
    require,
    require_form,
)

router = APIRouter()
Somebody = Annotated[User | None, Depends(current_user)]
JOINING = "\n join "
"""Prefix of the limiter's key for joining with a link. No sign-in name has a line break."""


@router.get("/join/{token}", response_class=HTMLResponse)
def show_invitation(request: Request, token: str, project: ProjectHere) -> Response:
    """The form in which an invited person chooses a name and a password."""
    with project.database.reading() as session:
        invitation = people.invitation_of(session, project.secret, token)
        return page(request, "join.html", None, token=token, role=invitation.role, name="")


@router.post("/join/{token}", response_class=HTMLResponse)
def join(request: Request, token: str, project: ProjectHere, name: FormText, password: FormText) -> Response:
    """Join the team and sign in."""
    refuse_other_sites(request)
    # A form that asks which names are taken, and one whose link may be guessed at, is limited like signing in.
    limiter, address = login_limiter(request)
    limiter.hit(JOINING + token, address)
    try:
        with transaction(project.database, "") as change:
            row = people.join_team(change, project.secret, token, name, password)
            cookie = people.start_session(change, project.secret, row.id)
    except InvalidValue as error:
        with project.database.reading() as session:
            role = people.invitation_of(session, project.secret, token).role
        return page(request, "join.html", None, token=token, role=role, name=name, problem=error)
    limiter.reset(JOINING + token, address)
    return _signed_in(request, cookie, "/")


@router.get("/sign-in", response_class=HTMLResponse)
def show_sign_in(request: Request, person: Somebody, next: str = "/") -> Response:
    if person is not None:
        return RedirectResponse(_inside(next), status_code=303)
    return page(request, "sign_in.html", None, next=_inside(next), name="")


@router.post("/sign-in", response_class=HTMLResponse)
def sign_in(
    request: Request, project: ProjectHere, name: FormText, password: FormText, next: FormText = "/"
) -> Response:
    """Sign in by name and password."""
    refuse_other_sites(request)
    limiter, address = login_limiter(request)
    compared = people.sign_in_name(name)
    try:
        limiter.hit(compared, address)
        with project.database.reading() as session:
            row = people.find_by_password(session, name, password)
    except (Unauthorized, TooManyRequests) as error:
        answer = page(request, "sign_in.html", None, next=_inside(next), name=name, problem=error)
        if isinstance(error, TooManyRequests):
            answer.headers["retry-after"] = str(error.wait_s)
        else:
            # Never the name: a password is typed there often enough.
            sys.stderr.write(f"sign-in from {address}: {error}\n")
        return answer
    limiter.reset(compared, address)
    with transaction(project.database, row.id) as change:
        # A new sign-in in this browser ends the session before it.
        people.end_session(change, project.secret, cookie_of(request) or "")
        cookie = people.start_session(change, project.secret, row.id)
    return _signed_in(request, cookie, _inside(next))


@router.get("/api/session")
def show_session(person: Annotated[User, require(Action.LOOK)]) -> dict[str, str]:
    """The CSRF token, for a page that was opened before its person signed in again."""
    return {"csrf": person.csrf, "person": person.id}


@router.post("/sign-out")
def sign_out(
    request: Request, project: ProjectHere, person: Somebody, csrf: Annotated[str, Form(max_length=200)] = ""
) -> Response:
    """End this browser's session. Nothing happens if it has ended, as after a double click."""
    refuse_other_sites(request)
    answer = RedirectResponse("/sign-in", status_code=303)
    if person is not None:
        check_csrf(request, person, csrf)
        with transaction(project.database, person.id) as change:
            people.end_session(change, project.secret, cookie_of(request) or "")
        put_cookie(request, answer, None)
    return answer


def _inside(address: str) -> str:
    """A path of this application; a link to another site would be a trap."""
    plain = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if plain and address.isascii() and len(address) <= 2000 else "/"


def _signed_in(request: Request, cookie: str, address: str) -> Response:
    answer = RedirectResponse(address, status_code=303)
    put_cookie(request, answer, cookie)
    return answer


@router.get("/reset/{token}", response_class=HTMLResponse)
def show_reset(request: Request, token: str, project: ProjectHere) -> Response:
    """The form for a new password."""
    with project.database.reading() as session:
        name = person_of_reset(session, project.secret, token).name
    return page(request, "reset.html", None, token=token, name=name)


@router.post("/reset/{token}", response_class=HTMLResponse)
def reset(request: Request, token: str, project: ProjectHere, password: FormText) -> Response:
    """Set the new password. The person then signs in with it."""
    refuse_other_sites(request)
    try:
        with transaction(project.database, "") as change:
            reset_password(change, project.secret, token, password)
    except InvalidValue as error:
        with project.database.reading() as session:
            name = person_of_reset(session, project.secret, token).name
        return page(request, "reset.html", None, token=token, name=name, problem=error)
    return RedirectResponse("/sign-in", status_code=303)


@router.get("/account", response_class=HTMLResponse)
def show_account(request: Request, person: Annotated[User, require(Action.LOOK)], done: str = "") -> Response:
    """The form to change the password."""
    return page(request, "account.html", person, done=done == "password")


@router.post("/account/password", response_class=HTMLResponse)
def change_password(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require_form(Action.LOOK)],
    current: FormText,
    password: FormText,
) -> Response:
    """Change the password. Other browsers are signed out."""
    # A stranger at a browser that is signed in must not guess the password here.
    limiter, address = login_limiter(request)
    limiter.hit(person.id, address)
    try:
        with transaction(project.database, person.id) as change:
            people.change_password(
                change,
                change.session.get_one(PersonRow, person.id),
                current,
                password,
                keep=keyed_hash(project.secret, cookie_of(request) or ""),
            )
    except InvalidValue as error:
        return page(request, "account.html", person, problem=error, done=False)
    limiter.reset(person.id, address)
    return RedirectResponse("/account?done=password", status_code=303)
