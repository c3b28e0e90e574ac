"""What every route shares: the project, who asks, the token that a change must carry, and a change made only once."""

import contextlib
import hashlib
import hmac
import json
from collections.abc import Callable
from typing import Annotated, Any, Final

from fastapi import Depends, Form, Header, Request
from fastapi.responses import JSONResponse, Response
from pydantic import AfterValidator

from reeltalk.errors import ReeltalkError
from reeltalk.review.access import Action, check_role
from reeltalk.review.address import Address
from reeltalk.review.connections import SIGNED_IN
from reeltalk.review.events import Change, changing, forget_requests
from reeltalk.review.people import LONGEST_SESSION_DAYS, Person, keyed, person_of_session, slide_session
from reeltalk.review.project import Project
from reeltalk.review.refusals import BadValueError, ConflictError, NotAllowedError, SignInFirstError
from reeltalk.review.tables import RequestRow, canonical
from reeltalk.review.throttle import Door, network_of
from reeltalk.review.tokens import person_of_token
from reeltalk.schema.record import Json
from reeltalk.schema.texts import without_controls

LONGEST_KEY: Final = 100


def plain_json(value: Json) -> Json:
    """The value, its texts without control characters other than tab and line ends: no benchmark can hold them.

    Raises:
        ValueError: It holds what JSON text cannot have.
    """
    try:
        canonical(value)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        # NaN is no JSON, and half a surrogate pair no text.
        raise ValueError("holds a number or a character that JSON text cannot have") from None
    return without_controls(value)


def plain_text(value: str) -> str:
    """The text without control characters other than tab and line ends, which come with what is pasted from a PDF.

    Raises:
        ValueError: It holds what PostgreSQL, or UTF-8, cannot have.
    """
    if "\0" in value:
        raise ValueError("holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("holds a character that text cannot have") from None
    return str(without_controls(value))


PlainJson = Annotated[Any, AfterValidator(plain_json)]
"""A JSON value that can be stored and sent as it is."""
FormText = Annotated[str, Form(max_length=20_000), AfterValidator(plain_text)]
"""A field of a form."""
ShortText = Annotated[str, Form(max_length=1_000), AfterValidator(plain_text)]
"""A field of a form that holds a line."""
FormNumber = Annotated[int, Form(ge=-(10**9), le=10**9)]
"""A field of a form that holds a whole number."""


# What waits for nothing is a coroutine: each plain function would cost a change of threads for every request.
async def project_of(request: Request) -> Project:
    """The project that is served."""
    found: Project = request.app.state.project
    return found


ProjectHere = Annotated[Project, Depends(project_of)]


def address_of_server(request: Request) -> Address:
    """How browsers reach the server."""
    found: Address = request.app.state.address
    return found


def door_of(request: Request) -> tuple[Door, str]:
    """What counts tries to sign in, and what counts as the address of whoever asks."""
    door: Door = request.app.state.door
    return door, network_of(request.client.host if request.client is not None else None)


def link_to(request: Request, path: str) -> str:
    """An address of this application to hand to somebody else.

    Its name is the one by which this request reached the server, which is one that the server was told.
    """
    scheme = "https" if address_of_server(request).behind_https else request.url.scheme
    return f"{scheme}://{request.headers.get('host', 'localhost')}{path}"


def cookie_name(project: Project, *, https: bool = False) -> str:
    """Name of the session's cookie: browsers send cookies to all ports of a host, and two projects may be served.

    Under HTTPS the name says so, and browsers then let no other host or plain connection set it.
    """
    name = f"reeltalk_{keyed(project.secret, 'cookie')[:8]}"
    return f"__Host-{name}" if https else name


def cookie_of(request: Request) -> str | None:
    """What the session's cookie holds, where there is one."""
    return request.cookies.get(cookie_name(request.app.state.project, https=is_https(request)))


def put_cookie(request: Request, answer: Response, token: str | None) -> None:
    """Let an answer set the session's cookie, or take it away."""
    name, https = cookie_name(request.app.state.project, https=is_https(request)), is_https(request)
    if token is None:
        answer.delete_cookie(name, path="/", secure=https, httponly=True, samesite="lax")
        return
    # The database decides when a session is over; a browser only must not forget it before.
    max_age = LONGEST_SESSION_DAYS * 24 * 3600
    answer.set_cookie(name, token, max_age=max_age, path="/", httponly=True, samesite="lax", secure=https)


def is_https(request: Request) -> bool:
    """True where the browser speaks HTTPS, with this server or with a proxy in front of it."""
    return address_of_server(request).behind_https or request.url.scheme == "https"


def somebody(request: Request, project: ProjectHere) -> Person | None:
    """Who asks: by the session's cookie, or by a personal token; None where nobody is signed in."""
    person = _somebody(request, project)
    setattr(request.state, SIGNED_IN, person is not None)
    return person


def _somebody(request: Request, project: Project) -> Person | None:
    authorization = request.headers.get("authorization", "")
    with project.database.reading() as session:
        if authorization:
            # Whoever names themself by a token is nobody else, also where the token is good no longer.
            scheme, _, token = authorization.partition(" ")
            return person_of_token(session, project.secret, token.strip()) if scheme.lower() == "bearer" else None
        cookie = cookie_of(request)
        person = person_of_session(session, project.secret, cookie) if cookie else None
    if person is not None and person.slides and cookie is not None:
        # Where nothing can be written, what can be read is read all the same.
        with contextlib.suppress(ReeltalkError), project.database.writing() as writing:
            slide_session(writing, project.secret, cookie)
    return person


def seeing(action: Action) -> Any:
    """A parameter of a route: the person who asks, who must be allowed the action.

    Raises:
        SignInFirstError: Nobody is signed in.
        NotAllowedError: The role does not allow it.
    """

    async def see(person: Annotated[Person | None, Depends(somebody)]) -> Person:
        if person is None:
            raise SignInFirstError("sign in first")
        check_role(person.role, action)
        return person

    return Depends(see)


def changing_by_api(action: Action) -> Any:
    """As `seeing`, for a JSON request that changes something: it must carry the session's CSRF token in a header."""

    async def change(
        request: Request,
        person: Annotated[Person, seeing(action)],
        x_csrf_token: Annotated[str, Header(max_length=200)] = "",
    ) -> Person:
        check_csrf(request, person, x_csrf_token)
        return person

    return Depends(change)


def changing_by_form(action: Action) -> Any:
    """As `seeing`, for a form that changes something: it must carry the session's CSRF token in a field.

    Forms are for browsers: with a personal token nobody invites people, changes a password or makes another token.
    """

    async def change(
        request: Request, person: Annotated[Person, seeing(action)], csrf: Annotated[str, Form(max_length=200)] = ""
    ) -> Person:
        if person.by_token:
            raise NotAllowedError("personal tokens are for addresses under /api/ and /media/; sign in for this")
        check_csrf(request, person, csrf)
        return person

    return Depends(change)


def check_csrf(request: Request, person: Person, token: str) -> None:
    """Refuse a change that does not carry the session's CSRF token, or that another site asks for.

    Raises:
        NotAllowedError: It does not, or it does.
    """
    if person.by_token:
        return
    # Bytes, since the comparison of texts refuses other characters than ASCII.
    if not hmac.compare_digest(token.encode(), person.csrf.encode()):
        raise NotAllowedError("the page is older than your session; reload it and try again", code="csrf")
    refuse_other_sites(request)


def refuse_other_sites(request: Request) -> None:
    """Refuse a change that a page of another site asks for; browsers say so themselves, by one header or the other.

    Raises:
        NotAllowedError: It comes from another site.
    """
    origin = request.headers.get("origin")
    # The scheme is not compared: behind a proxy the server sees another than the browser.
    elsewhere = origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    if elsewhere or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowedError("this request comes from another site", code="other_site")


async def request_key(idempotency_key: Annotated[str, Header(max_length=LONGEST_KEY)] = "") -> str:
    """The key of a change: whoever did not hear the answer asks again with the same.

    Raises:
        BadValueError: There is none, or it has other characters than printable ASCII.
    """
    if not 8 <= len(idempotency_key) <= LONGEST_KEY or not (
        idempotency_key.isascii() and idempotency_key.isprintable()
    ):
        raise BadValueError(
            f"every change needs a header Idempotency-Key of 8 to {LONGEST_KEY} printable ASCII characters, kept when "
            "it is sent again",
            field="Idempotency-Key",
        )
    return idempotency_key


RequestKey = Annotated[str, Depends(request_key)]


def once(
    project: Project, person: Person, key: str, request: Request, body: Json, do: Callable[[Change], Json]
) -> JSONResponse:
    """Make a change, or answer again what was answered when it was made.

    Args:
        project: Where.
        person: Who asks.
        key: The key of the request.
        request: The request, whose method and address belong to what the key stands for.
        body: Its body, which belongs to it too.
        do: Makes the change in one transaction with the record that it was made; gives the body of the answer.

    Raises:
        ConflictError: The key was used for another change (`key_used`).
    """
    what = hashlib.sha256(canonical([request.method, request.url.path, body]).encode()).hexdigest()
    with changing(project.database, person.id) as change:
        known = change.session.get(RequestRow, (person.id, key))
        if known is not None:
            if known.what != what:
                raise ConflictError("this key was used for another change; make a new one", code="key_used")
            return JSONResponse(known.body, status_code=known.status)
        answer = do(change)
        change.session.add(RequestRow(person_id=person.id, key=key, what=what, status=200, body=answer, at=change.at))
        forget_requests(change)
    return JSONResponse(answer)
