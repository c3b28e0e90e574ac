"""What stands before every route: what no route needs is refused, and every answer protects its browser."""

import traceback
from typing import Final

from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from reeltalk.review.address import Address

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # To this site alone: with `no-referrer`, browsers hide from a form's own site that it comes from there.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)
HTTPS_ALONE: Final = (b"strict-transport-security", b"max-age=31536000")
LARGEST_BODY: Final = 2 << 20
"""Bytes of a request. A turn's texts have at most some hundred thousand."""
JSON_ALONE: Final = ("/api/", "/media/")
"""Where addresses begin whose refusals are JSON whoever asks."""


class Guard:
    """Refuses what no route needs, and adds the headers that protect a browser, also to what went wrong.

    Args:
        app: What stands behind it.
        address: The names that the server answers to.
    """

    def __init__(self, app: ASGIApp, address: Address) -> None:
        self._app, self._address = app, address
        self._headers = (*HEADERS, HTTPS_ALONE) if address.behind_https else HEADERS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = False

        async def with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                present = {name.lower() for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in self._headers if name not in present),
                ]
                if b"cache-control" not in present:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, with_headers)
            return
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > LARGEST_BODY:
                raise HTTPException(413)
            return message

        try:
            await self._app(scope, bounded, with_headers)
        except Exception as error:
            # A mistake of ours: told in the server's log, never to whoever asks.
            traceback.print_exception(error)
            if begun:
                raise
            broken = json_error(500, "broken", "the server made a mistake; what you typed stays in this browser")
            await broken(scope, receive, with_headers)

    def _refused(self, scope: Scope) -> JSONResponse | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or not self._address.answers_to(hosts[0].decode("latin-1")):
            return json_error(
                400,
                "unknown_host",
                "the server was not told that it is reached by this name; start it with --public-host NAME",
            )
        lengths = [value for name, value in scope["headers"] if name == b"content-length"] or [b"0"]
        if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 15 or int(lengths[0]) > LARGEST_BODY:
            return json_error(413, "too_large", f"a request has at most {LARGEST_BODY:,} bytes")
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return json_error(400, "bad_address", "the address holds a NUL character")
        return None


def json_error(status: int, code: str, message: str) -> JSONResponse:
    """An error in the form in which scripts read it."""
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)
