"""The FastAPI application: its routes, its error answers, and the server that runs it."""

import contextlib
import socket
import sys
from collections.abc import Mapping
from importlib.resources import files
from typing import Final
from urllib.parse import quote, urlencode

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy import select
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Scope

from reeltalk._version import __version__
from reeltalk.errors import ReeltalkError, SettingError
from reeltalk_review.access import Role
from reeltalk_review.bundle import bundles
from reeltalk_review.connections import BoundedServer, connection_limits
from reeltalk_review.credentials import decoy_hash
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import ApiError, InvalidValue, NotFound, TooManyRequests, Unauthorized
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.guard import JSON_ALONE, TOO_LARGE, TOO_LARGE_TO_SAVE, Address, Guard, LoginLimiter
from reeltalk_review.people import invite, withdraw
from reeltalk_review.routes import (
    accounts,
    administration,
    backups,
    changes,
    collecting,
    guidelines,
    media,
    quality,
    units,
    work,
)
from reeltalk_review.tables import InvitationRow, PersonRow
from reeltalk_review.web import page

AREAS: Final = (accounts, work, media, quality, units, collecting, guidelines, backups, changes, administration)
"""The modules of all routes."""


TITLES: Final = {
    401: "Sign in first",
    403: "Not allowed",
    404: "Nothing here",
    409: "Changed meanwhile",
    429: "Too many tries",
    503: "Not just now",
}
"""Titles of the pages of errors, by status."""


def create_app(project: ReviewProject, address: Address | None = None) -> FastAPI:
    """The application that serves one project; by default only under this machine's own names."""
    address = address or Address()
    app = FastAPI(title="reeltalk review", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.project, app.state.address = project, address
    app.state.login_limiter = LoginLimiter()
    # `include_router` would analyse all routes again for each application, at its first request.
    routes = [route for area in AREAS for route in area.router.routes]
    app.router.routes += routes
    app.mount("/static", PackageFiles(directory=str(files("reeltalk_review") / "static")), name="static")
    app.state.paths = frozenset(route.path for route in routes if isinstance(route, Route))
    app.add_exception_handler(ApiError, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ReeltalkError, _failed)
    app.add_middleware(Guard, address=address)
    decoy_hash()
    bundles()
    return app


class PackageFiles(StaticFiles):
    """The two bundles, which browsers keep for ever, and their sources. None of them are secret."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        bundle = next((each for each in bundles().values() if each.name == path), None)
        if bundle is None or scope["method"] not in ("GET", "HEAD"):
            return await super().get_response(path, scope)
        headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        if "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            return Response(bundle.content, headers=headers, media_type=bundle.media_type)
        headers["content-encoding"] = "gzip"
        return Response(bundle.packed, headers=headers, media_type=bundle.media_type)


def accepts_json(request: Request) -> bool:
    """True for scripts and for background requests of pages."""
    return request.url.path.startswith(JSON_ALONE) or "application/json" in request.headers.get("accept", "")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    headers = {"retry-after": str(error.wait_s)} if isinstance(error, TooManyRequests) else {}
    if isinstance(error, Unauthorized) and request.method == "GET" and not accepts_json(request):
        where = quote(request.url.path) + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"/sign-in?{urlencode({'next': where})}", status_code=303)
    return _answer(request, error, error.status, headers)


def _answer(request: Request, error: ApiError, status: int, headers: Mapping[str, str] | None = None) -> Response:
    """An error as a page, or as JSON."""
    if accepts_json(request):
        return JSONResponse(error.document(), status_code=status, headers=headers)
    title = TITLES.get(status, "That does not work")
    answer = page(request, "refused.html", None, status=status, message=str(error), title=title)
    answer.headers.update(headers or {})
    return answer


async def _not_valid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # The value is not repeated in the answer: it may not be text that an answer can hold.
    first = error.errors()[0]
    if first["type"] in ("extra_forbidden", "json_invalid"):
        problem = "the request has a field that is not known here" if first["type"] == "extra_forbidden" else "no JSON"
        return await _refused(request, InvalidValue(problem, code="bad_request"))
    field = ".".join(map(str, first["loc"][1:])) or None
    problem = str(first["msg"]).removeprefix("Value error, ")
    message = "".join(c for c in (f"{field}: {problem}" if field else problem) if c.isprintable())
    return await _refused(request, InvalidValue(message, code="bad_request", field=field and field[:80]))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return await _refused(request, NotFound("there is nothing at this address"))
    said = {
        400: "the request cannot be read",
        405: "this address does not take this kind of request",
        TOO_LARGE: TOO_LARGE_TO_SAVE,
    }.get(error.status_code, "the request cannot be answered")
    return _answer(request, ApiError(said, code=f"http_{error.status_code}"), error.status_code, error.headers)


async def _failed(request: Request, error: Exception) -> Response:
    # The disk is full or the database cannot be reached. Nothing was changed, and the browser stores the typed text.
    # This may concern every request of a minute, so each writes one line only.
    sys.stderr.write(f"{request.method} {request.url.path}: {error}\n")
    said = "the server cannot store anything at the moment; what you typed stays in this browser and is sent again"
    return _answer(request, ApiError(said, code="unavailable"), 503)


SWITCH_S: Final = 0.0005
"""Seconds after which a thread that computes lets others go on."""
FIRST_OWNER: Final = "the first owner"


def first_invitation(project: ReviewProject) -> str | None:
    """The token with which an owner joins a team that has none; None if it has one. Earlier such links end."""
    with transaction(project.database, OPERATOR) as change:
        owners = select(PersonRow.id).where(PersonRow.role == Role.OWNER, PersonRow.disabled_at.is_(None))
        if change.session.scalars(owners).first() is not None:
            return None
        earlier = select(InvitationRow.id).where(
            InvitationRow.created_by == OPERATOR, InvitationRow.note == FIRST_OWNER, InvitationRow.used_by.is_(None)
        )
        for invitation_id in change.session.scalars(earlier).all():
            withdraw(change, invitation_id)
        return invite(change, project.secret, Role.OWNER, FIRST_OWNER)[1]


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Made first, so that a taken port is reported before anything else is done.

    Raises:
        SettingError: The address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sets TCP_NODELAY. Otherwise each answer on a kept connection would wait 40 ms for
    # the browser's acknowledgement.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except (OSError, OverflowError) as error:
        found.close()
        reason = error.strerror if isinstance(error, OSError) else "ports are 0 to 65535"
        raise SettingError(f"--host {host} --port {port}: {reason}; choose another --port, or 0 for any") from None
    found.listen(2048)
    return found


def run_server(
    project: ReviewProject,
    listening: socket.socket,
    address: Address | None = None,
) -> None:
    """Serve until Ctrl-C or SIGTERM. Requests that are being answered are finished first."""
    address = address or Address()
    app = create_app(project, address)
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        # Only named proxies may report the client's address; others could send any address.
        proxy_headers=bool(address.proxies),
        forwarded_allow_ips=list(address.proxies),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )
    # A person who saves waits for the database a dozen times while others wait for them. Each time they must get the
    # interpreter back at once, not after the 5 ms that Python gives to threads that compute.
    sys.setswitchinterval(SWITCH_S)
    # uvicorn raises the signal again after it has closed everything.
    with contextlib.suppress(KeyboardInterrupt):
        BoundedServer(config, connection_limits()).run(sockets=[listening])
