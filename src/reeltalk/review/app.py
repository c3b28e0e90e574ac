"""The application: routes, what every answer carries, and how refusals are told."""

import sys
from importlib.resources import files
from typing import Final
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reeltalk import __version__
from reeltalk.errors import ReeltalkError
from reeltalk.review.pages import page
from reeltalk.review.project import Project
from reeltalk.review.refusals import BadValueError, NotThereError, Refusal, SignInFirstError
from reeltalk.review.routes import adjudicating, board, collecting, home, media, resetting, signing_in, work

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
LARGEST_BODY: Final = 2 << 20
"""Bytes of a request. A turn's texts have at most some hundred thousand."""


def create_app(project: Project) -> FastAPI:
    """The application that serves one project."""
    app = FastAPI(title="reeltalk review", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.project = project
    for routes in (signing_in, resetting, home, work, media, board, adjudicating, collecting):
        app.include_router(routes.router)
    app.mount("/static", StaticFiles(directory=str(files("reeltalk.review") / "static")), name="static")
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ReeltalkError, _failed)
    app.add_middleware(Guard)
    return app


class Guard:
    """Refuses what no route needs (NUL in an address, huge bodies), and adds the headers that protect a browser."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in HEADERS if name not in present),
                ]
                if b"cache-control" not in present:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            await _json(400, "bad_address", "the address holds a NUL character")(scope, receive, with_headers)
            return
        if not length.isdigit() or int(length) > LARGEST_BODY:
            await _json(413, "too_large", f"a request has at most {LARGEST_BODY:,} bytes")(scope, receive, with_headers)
            return
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST_BODY:
                raise HTTPException(413, f"a request has at most {LARGEST_BODY:,} bytes")
            return message

        await self._app(scope, bounded, with_headers)


def _json(status: int, code: str, message: str) -> JSONResponse:
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)


def wants_json(request: Request) -> bool:
    """True for scripts and for what pages ask in the background."""
    return request.url.path.startswith(("/api/", "/media/")) or "application/json" in request.headers.get("accept", "")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    if wants_json(request):
        return JSONResponse(error.document(), status_code=error.status)
    if isinstance(error, SignInFirstError) and request.method == "GET":
        return RedirectResponse(f"/sign-in?next={quote(request.url.path)}", status_code=303)
    return page(request, "refused.html", None, status=error.status, message=str(error), title=_title(error.status))


async def _not_valid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # What was sent is not echoed: it may be no text that an answer can hold.
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"][1:])) or None
    problem = str(first["msg"]).removeprefix("Value error, ")
    message = "".join(c for c in (f"{field}: {problem}" if field else problem) if c.isprintable())
    return await _refused(request, BadValueError(message, code="bad_request", field=field and field[:80]))


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return await _refused(request, NotThereError("there is nothing at this address"))
    refusal = Refusal(str(error.detail), code=f"http_{error.status_code}")
    if wants_json(request):
        return JSONResponse(refusal.document(), status_code=error.status_code, headers=error.headers)
    return page(
        request,
        "refused.html",
        None,
        status=error.status_code,
        message=str(refusal),
        title=_title(error.status_code),
    )


async def _failed(request: Request, error: Exception) -> Response:
    # The disk is full, the database away: nothing was changed, and the browser keeps what was typed.
    # It may be so for every request of a minute: one line each, which says what is wrong.
    sys.stderr.write(f"{request.method} {request.url.path}: {error}\n")
    message = "the server cannot store anything just now; what you typed stays in this browser and is sent again"
    if wants_json(request):
        return _json(503, "unavailable", message)
    return page(request, "refused.html", None, status=503, message=message, title=_title(503))


def _title(status: int) -> str:
    return {
        401: "Sign in first",
        403: "Not allowed",
        404: "Nothing here",
        409: "Changed meanwhile",
        503: "Not just now",
    }.get(status, "That does not work")
