"""Shared by all routes: the project, who asks, form fields, CSRF checks, session cookies, and rendered pages."""

import contextlib
import hmac
import json
from functools import cache
from typing import Annotated, Any, Final

from fastapi import Depends, Form, Header, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import AfterValidator

from reeltalk._version import __version__
from reeltalk.errors import ReeltalkError
from reeltalk.schema.record import Json
from reeltalk.schema.texts import without_controls
from reeltalk_review.access import Action, Role, check_role, may
from reeltalk_review.bundle import bundles
from reeltalk_review.connections import SIGNED_IN
from reeltalk_review.credentials import keyed_hash
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import Forbidden, Unauthorized
from reeltalk_review.events import transaction
from reeltalk_review.guard import Address, LoginLimiter, network_of
from reeltalk_review.people import LONGEST_SESSION_DAYS, User, person_of_session, person_of_token, slide_session
from reeltalk_review.tables import canonical_json
from reeltalk_review.tasks.task import spoken_place

NAVIGATION: Final = (
    ("/", "Work", Action.LOOK),
    ("/units", "Tasks", Action.SEE_RESULTS),
    ("/quality", "Quality", Action.SEE_TEAM),
    ("/team", "Project", Action.MANAGE),
)
"""Pages in the navigation, with the action that a person must be allowed to see them."""
PROJECT_TABS: Final = (
    ("/team", "Team"),
    ("/setup", "Queues and settings"),
    ("/pairs", "Pairs"),
    ("/changes", "Changes"),
    ("/backup", "Backup"),
    ("/history", "History"),
)
"""The tabs of the project's page."""


@cache
def template_environment() -> Environment:
    """The Jinja environment of the templates."""
    found = Environment(
        loader=PackageLoader("reeltalk_review"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals |= {"version": __version__, "Action": Action, "Role": Role, "may": may, "PROJECT_TABS": PROJECT_TABS}
    found.globals |= {"script": bundles()["js"].name, "style": bundles()["css"].name}
    found.filters |= {"minute": _minute, "plain": _plain, "place": spoken_place, "sentence": _sentence}
    return found


def _minute(moment: str, *, seconds: bool = False) -> Markup:
    """A stored time for people: UTC to the minute. `times.js` shows it in the reader's zone.

    Args:
        moment: The time as it is stored.
        seconds: Show the seconds too.
    """
    shown = f"{moment[:10]} {moment[11 : 19 if seconds else 16]} UTC"
    attribute = Markup(" data-seconds") if seconds else ""
    return Markup('<time datetime="{}"{}>{}</time>').format(moment, attribute, shown)


def _plain(value: Json) -> str:
    """A JSON value for people."""
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)


def _sentence(text: object) -> str:
    """A message as a sentence. Names in it keep their letters."""
    words = str(text)
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?")) else ".")


def page(request: Request, template: str, person: User | None, *, status: int = 200, **values: Any) -> HTMLResponse:
    """A rendered page.

    Args:
        request: The request.
        template: The template's name, as `home.html`. It gets `person`, `project`, `here` (the address), `paths` (all
            addresses of the application) and `navigation`, in addition to the values.
        person: Who looks; None if nobody is signed in.
        status: The HTTP status.
        **values: Values for the template.
    """
    html = (
        template_environment()
        .get_template(template)
        .render(
            person=person,
            project=request.app.state.project,
            here=request.url.path,
            paths=request.app.state.paths,
            navigation=[
                (path, label)
                for path, label, action in NAVIGATION
                if person is not None and path in request.app.state.paths and may(person.role, action)
            ],
            **values,
        )
    )
    return HTMLResponse(html, status_code=status)


def plain_json(value: Json) -> Json:
    """The value without control characters other than tab and line ends, which no benchmark can hold.

    Raises:
        ValueError: It holds something that JSON text cannot hold.
    """
    try:
        canonical_json(value)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        # NaN is not JSON, and half a surrogate pair is not text.
        raise ValueError("holds a number or a character that JSON text cannot have") from None
    return without_controls(value)


def plain_text(value: str) -> str:
    """The text without control characters other than tab and line ends. They come with text pasted from a PDF.

    Raises:
        ValueError: It holds something that PostgreSQL or UTF-8 cannot hold.
    """
    if "\0" in value:
        raise ValueError("holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("holds a character that text cannot have") from None
    return str(without_controls(value))


PlainJson = Annotated[Any, AfterValidator(plain_json)]
"""A JSON value that can be stored and sent unchanged."""
FormText = Annotated[str, Form(max_length=20_000), AfterValidator(plain_text)]
"""A field of a form."""
ShortText = Annotated[str, Form(max_length=1_000), AfterValidator(plain_text)]
"""A field of a form with one line."""
FormNumber = Annotated[int, Form(ge=-(10**9), le=10**9)]
"""A field of a form with a whole number."""


# Dependencies that wait for nothing are coroutines: a plain function would cost a thread switch for every request.
async def project_of(request: Request) -> ReviewProject:
    """The served project."""
    found: ReviewProject = request.app.state.project
    return found


ProjectHere = Annotated[ReviewProject, Depends(project_of)]


def address_of_server(request: Request) -> Address:
    """How browsers reach the server."""
    found: Address = request.app.state.address
    return found


def login_limiter(request: Request) -> tuple[LoginLimiter, str]:
    """The limiter of sign-ins, and the address that a request counts for."""
    limiter: LoginLimiter = request.app.state.login_limiter
    return limiter, network_of(request.client.host if request.client is not None else None)


def link_to(request: Request, path: str) -> str:
    """A link of this application to give to somebody else.

    It uses the host name of this request, under which the server may answer.
    """
    scheme = "https" if address_of_server(request).behind_https else request.url.scheme
    return f"{scheme}://{request.headers.get('host', 'localhost')}{path}"


def cookie_name(project: ReviewProject, *, https: bool = False) -> str:
    """Name of the session's cookie. Browsers send cookies to all ports of a host, and two projects may be served.

    Under HTTPS the name has a prefix with which browsers let no other host or plain connection set it.
    """
    name = f"reeltalk_{keyed_hash(project.secret, 'cookie')[:8]}"
    return f"__Host-{name}" if https else name


def cookie_of(request: Request) -> str | None:
    """The session's cookie; None if there is none."""
    return request.cookies.get(cookie_name(request.app.state.project, https=is_https(request)))


def put_cookie(request: Request, answer: Response, token: str | None) -> None:
    """Set the session's cookie in an answer; None deletes it."""
    name, https = cookie_name(request.app.state.project, https=is_https(request)), is_https(request)
    if token is None:
        answer.delete_cookie(name, path="/", secure=https, httponly=True, samesite="lax")
        return
    # The database decides when a session ends. The browser must only keep the cookie long enough.
    max_age = LONGEST_SESSION_DAYS * 24 * 3600
    answer.set_cookie(name, token, max_age=max_age, path="/", httponly=True, samesite="lax", secure=https)


def is_https(request: Request) -> bool:
    """True if the browser speaks HTTPS, with this server or with a proxy in front of it."""
    return address_of_server(request).behind_https or request.url.scheme == "https"


def current_user(request: Request, project: ProjectHere) -> User | None:
    """The person who asks, by the session's cookie or a personal token; None if nobody is signed in."""
    person = _somebody(request, project)
    setattr(request.state, SIGNED_IN, person is not None)
    return person


def _somebody(request: Request, project: ReviewProject) -> User | None:
    authorization = request.headers.get("authorization", "")
    with project.database.reading() as session:
        if authorization:
            # A request with a token is never treated as the cookie's person, even if the token is no longer valid.
            scheme, _, token = authorization.partition(" ")
            return person_of_token(session, project.secret, token.strip()) if scheme.lower() == "bearer" else None
        cookie = cookie_of(request)
        person = person_of_session(session, project.secret, cookie) if cookie else None
    if person is not None and person.slides and cookie is not None:
        # If nothing can be written, reading must still work.
        with contextlib.suppress(ReeltalkError), transaction(project.database, person.id) as change:
            slide_session(change.session, project.secret, cookie)
    return person


def require(action: Action) -> Any:
    """A parameter of a route: the person who asks. Their role must allow the action.

    Raises:
        Unauthorized: Nobody is signed in.
        Forbidden: The role does not allow it.
    """

    async def see(person: Annotated[User | None, Depends(current_user)]) -> User:
        if person is None:
            raise Unauthorized("sign in first")
        check_role(person.role, action)
        return person

    return Depends(see)


def require_api(action: Action) -> Any:
    """Like `require`, for a JSON request that changes something. It must carry the session's CSRF token in a header."""

    async def change(
        request: Request,
        person: Annotated[User, require(action)],
        x_csrf_token: Annotated[str, Header(max_length=200)] = "",
    ) -> User:
        check_csrf(request, person, x_csrf_token)
        return person

    return Depends(change)


def require_form(action: Action) -> Any:
    """Like `require`, for a form that changes something. It must carry the session's CSRF token in a field.

    Forms are for browsers: nobody invites people, changes a password or makes another token with a personal token.
    """

    async def change(
        request: Request, person: Annotated[User, require(action)], csrf: Annotated[str, Form(max_length=200)] = ""
    ) -> User:
        if person.by_token:
            raise Forbidden("personal tokens are for addresses under /api/ and /media/; sign in for this")
        check_csrf(request, person, csrf)
        return person

    return Depends(change)


def check_csrf(request: Request, person: User, token: str) -> None:
    """Reject a change without the session's CSRF token, or that another site asks for.

    Raises:
        Forbidden: The token is wrong, or the request comes from another site.
    """
    if person.by_token:
        return
    # As bytes, since `compare_digest` refuses text that is not ASCII.
    if not hmac.compare_digest(token.encode(), person.csrf.encode()):
        raise Forbidden("this page is older than your session; reload it and try again", code="csrf")
    refuse_other_sites(request)


def refuse_other_sites(request: Request) -> None:
    """Reject a change that a page of another site requests. Browsers send one of two headers that show it.

    Raises:
        Forbidden: It comes from another site.
    """
    origin = request.headers.get("origin")
    # The scheme is not compared: behind a proxy the server sees another scheme than the browser.
    elsewhere = origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    if elsewhere or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Forbidden("this request comes from another site", code="other_site")
