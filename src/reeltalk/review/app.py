"""The FastAPI application: its routes and its error answers."""

import os
import sys
from importlib.resources import files
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Scope

from reeltalk._version import __version__
from reeltalk.errors import ReeltalkError
from reeltalk.review.credentials import decoy_hash
from reeltalk.review.errors import ApiError, InvalidValue, NotFound, TooManyRequests, Unauthorized
from reeltalk.review.guard import JSON_ALONE, LARGEST_BODY, Address, Guard, json_error
from reeltalk.review.idempotency import OneTimeSecrets
from reeltalk.review.project import ReviewProject
from reeltalk.review.routes import (
    accounts,
    adjudicating,
    administration,
    board,
    collecting,
    media,
    work,
)
from reeltalk.review.throttle import LoginLimiter
from reeltalk.review.web import page


def create_app(project: ReviewProject, address: Address | None = None) -> FastAPI:
    """The application that serves one project.

    Args:
        project: The project.
        address: How browsers reach it; by default only under this machine's own names.
    """
    address = address or Address()
    app = FastAPI(title="reeltalk review", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.project, app.state.address = project, address
    app.state.login_limiter, app.state.one_time_secrets = LoginLimiter(), OneTimeSecrets()
    areas = (accounts, work, media, board, adjudicating, collecting, administration)
    for area in areas:
        app.include_router(area.router)
    app.mount("/static", PackageFiles(directory=str(files("reeltalk.review") / "static")), name="static")
    app.state.paths = frozenset(
        route.path for area in areas for route in area.router.routes if isinstance(route, Route)
    )
    app.add_exception_handler(ApiError, _refused)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ReeltalkError, _failed)
    app.add_middleware(Guard, address=address)
    decoy_hash()
    return app


class PackageFiles(StaticFiles):
    """Files of the package. They are not secret. Browsers keep them and ask whether they have changed."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        found = super().file_response(full_path, stat_result, scope, status_code)
        found.headers["cache-control"] = "private, no-cache"
        return found


def wants_json(request: Request) -> bool:
    """True for scripts and for background requests of pages."""
    return request.url.path.startswith(JSON_ALONE) or "application/json" in request.headers.get("accept", "")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    headers = {"retry-after": str(error.wait_s)} if isinstance(error, TooManyRequests) else {}
    answer: Response
    if wants_json(request):
        answer = JSONResponse(error.document(), status_code=error.status)
    elif isinstance(error, Unauthorized) and request.method == "GET":
        where = quote(request.url.path) + (f"?{request.url.query}" if request.url.query else "")
        answer = RedirectResponse(f"/sign-in?{urlencode({'next': where})}", status_code=303)
    else:
        answer = page(
            request, "refused.html", None, status=error.status, message=str(error), title=_title(error.status)
        )
    answer.headers.update(headers)
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
    words = {
        400: "the request cannot be read",
        405: "this address does not take this kind of request",
        413: f"a request has at most {LARGEST_BODY:,} bytes",
    }
    refusal = ApiError(words.get(error.status_code, "the request cannot be answered"), code=f"http_{error.status_code}")
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
    # The disk is full or the database cannot be reached. Nothing was changed, and the browser keeps what was typed.
    # This may concern every request of a minute, so each writes one line only.
    sys.stderr.write(f"{request.method} {request.url.path}: {error}\n")
    message = "the server cannot store anything at the moment; what you typed stays in this browser and is sent again"
    if wants_json(request):
        return json_error(503, "unavailable", message)
    return page(request, "refused.html", None, status=503, message=message, title=_title(503))


def _title(status: int) -> str:
    return {
        401: "Sign in first",
        403: "Not allowed",
        404: "Nothing here",
        409: "Changed meanwhile",
        429: "Too many tries",
        503: "Not just now",
    }.get(status, "That does not work")
