"""For everybody: their password, their personal tokens, and where they are signed in."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select

from reeltalk.review import people, tokens
from reeltalk.review.access import Action
from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.project import Project
from reeltalk.review.refusals import BadValueError, Refusal
from reeltalk.review.shown_once import form_key, make_once
from reeltalk.review.tables import PersonRow, SessionRow, TokenRow, moment
from reeltalk.review.web import (
    FormNumber,
    FormText,
    ProjectHere,
    ShortText,
    changing_by_form,
    cookie_of,
    door_of,
    put_cookie,
    seeing,
)

router = APIRouter(prefix="/account")
Self = Annotated[Person, changing_by_form(Action.LOOK)]


@router.get("", response_class=HTMLResponse)
def show_account(
    request: Request, project: ProjectHere, person: Annotated[Person, seeing(Action.LOOK)], done: str = ""
) -> Response:
    """The forms to change a password, make and revoke tokens, and sign out everywhere."""
    return _page(request, project, person, done=done)


@router.post("/password", response_class=HTMLResponse)
def change_password(
    request: Request, project: ProjectHere, person: Self, current: FormText, password: FormText
) -> Response:
    """Choose a new password; other browsers are signed out."""
    # Whoever finds a browser that is signed in must not guess the password here.
    door, address = door_of(request)
    door.knock(person.id, address)
    try:
        with changing(project.database, person.id) as change:
            people.change_password(
                change, change.session.get_one(PersonRow, person.id), current, password, keep=_here(request, project)
            )
    except BadValueError as error:
        return _page(request, project, person, problem=error, at="password")
    door.let_in(person.id, address)
    return RedirectResponse("/account?done=password", status_code=303)


@router.post("/tokens", response_class=HTMLResponse)
def make_token(
    request: Request,
    project: ProjectHere,
    person: Self,
    label: ShortText,
    key: ShortText,
    days: FormNumber = tokens.TOKEN_DAYS,
) -> Response:
    """Make a personal token and show it, once."""
    try:
        with changing(project.database, person.id) as change:
            token = make_once(
                change,
                request.app.state.shown_once,
                person.id,
                key,
                "token",
                lambda: tokens.make_token(change, project.secret, person.id, label, days)[1],
            )
    except BadValueError as error:
        return _page(request, project, person, problem=error, at="token", label=label)
    return _page(request, project, person, token=token or "")


@router.post("/tokens/{token_id}/revoke")
def revoke_token(project: ProjectHere, person: Self, token_id: str) -> Response:
    """Make a personal token useless."""
    with changing(project.database, person.id) as change:
        tokens.revoke_token(change, person.id, token_id)
    return RedirectResponse("/account?done=token", status_code=303)


@router.post("/sign-out-everywhere")
def sign_out_everywhere(request: Request, project: ProjectHere, person: Self) -> Response:
    """End the person's sessions in all browsers, this one too."""
    with changing(project.database, person.id) as change:
        if people.end_sessions(change, person.id):
            change.record("sign_out_everywhere", person.id)
    answer = RedirectResponse("/sign-in", status_code=303)
    put_cookie(request, answer, None)
    return answer


def _here(request: Request, project: Project) -> str:
    return people.keyed(project.secret, cookie_of(request) or "")


def _page(
    request: Request,
    project: Project,
    person: Person,
    *,
    problem: Refusal | None = None,
    at: str = "",
    token: str | None = None,
    label: str = "",
    done: str = "",
) -> Response:
    with project.database.reading() as session:
        own = select(TokenRow).where(TokenRow.person_id == person.id, TokenRow.revoked_at.is_(None))
        browsers = select(func.count()).where(SessionRow.person_id == person.id, SessionRow.expires_at >= moment())
        return page(
            request,
            "account.html",
            person,
            status=problem.status if problem is not None else 200,
            tokens=session.scalars(own.order_by(TokenRow.created_at.desc(), TokenRow.id)).all(),
            browsers=session.scalar(browsers) or 0,
            now=moment(),
            problem=problem,
            at=at,
            token=token,
            label=label,
            done=done if done in ("password", "token") else "",
            key=form_key(),
            days=tokens.TOKEN_DAYS,
        )
