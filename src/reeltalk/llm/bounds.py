"""Replies within bounds, whatever a server sends: their length once decoded, and the place that they come from."""

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2
import openai

from reeltalk.errors import ModelError
from reeltalk.llm.model import Endpoint
from reeltalk.llm.scrubbing import address_of, public_address, scrubbed, secrets_of
from reeltalk.llm.wire import place

MOST_BYTES: Final = 8 * 1024 * 1024
"""So much of a reply is read, decoded."""
STREAMED_TOKEN_BYTES: Final = 1024
"""What a token of a streamed reply may take besides, for each comes as a JSON object of its own."""
MOST_OBJECTS: Final = 100_000
"""So many JSON objects a reply may have: read, each takes a hundred times its bytes."""
STREAMED_TOKEN_OBJECTS: Final = 16
"""Objects that a token of a streamed reply may have besides."""
PIECE_BYTES: Final = 64 * 1024
CONNECT_S: Final = 10.0
"""Longest wait for a connection."""


def openai_client(endpoint: Endpoint, api_key: str | None, *, connect_s: float = CONNECT_S) -> Any:
    """A client of the `openai` package that reads within bounds, follows no redirect and sends nothing again.

    Args:
        endpoint: Which model, and where.
        api_key: Key of the server.
        connect_s: Longest wait for a connection.
    """
    address = urlsplit(address_of(endpoint))
    secrets = secrets_of(endpoint, api_key)
    user, _, host = address.netloc.rpartition("@")
    name, _, password = user.partition(":")

    async def bounded(response: Any) -> None:
        if response.has_redirect_location:
            target = scrubbed(public_address(str(response.url.join(response.headers["location"]))), secrets)
            raise ModelError(
                f"{place(endpoint)} answered {response.status_code} and sends requests on to {target}, which is not "
                "followed; give that address in its place if you trust it",
                kind="invalid",
            )
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        most = MOST_BYTES + (STREAMED_TOKEN_BYTES * endpoint.max_tokens if streamed else 0)
        objects = MOST_OBJECTS + (STREAMED_TOKEN_OBJECTS * endpoint.max_tokens if streamed else 0)
        coding = response.headers.pop("content-encoding", "identity").strip().lower()
        response.stream = _Bounded(response.stream, coding, most, objects, place(endpoint))

    http_client = openai.DefaultAsyncHttpxClient(
        # What is in an address is logged with it, and named in errors.
        auth=httpx2.BasicAuth(unquote(name), unquote(password)) if user else None,
        event_hooks={"response": [bounded]},
        follow_redirects=False,
        headers={"Accept-Encoding": "gzip"},
    )
    return openai.AsyncOpenAI(
        api_key=api_key or "none",
        base_url=urlunsplit(address._replace(netloc=host)),
        timeout=httpx2.Timeout(endpoint.timeout_s, connect=min(connect_s, endpoint.timeout_s)),
        max_retries=0,
        http_client=http_client,
    )


class _Bounded(httpx2.AsyncByteStream):
    """The body of a response, decoded piece by piece: a small one may hold a huge one."""

    def __init__(self, inner: Any, coding: str, most: int, most_objects: int, where: str) -> None:
        self._inner, self._most, self._most_objects, self._where = inner, most, most_objects, where
        self._decoder = None
        if coding in ("gzip", "x-gzip", "deflate"):
            self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif coding not in ("identity", ""):
            raise ModelError(f"{where} sent a reply as '{coding[:40]}', which was not asked for", kind="reply")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        came = told = objects = 0
        async for raw in self._inner:
            came += len(raw)
            for piece in self._pieces(raw):
                told += len(piece)
                objects += piece.count(b"{")
                if objects > self._most_objects:
                    raise ModelError(
                        f"{self._where} sent a reply of more than {self._most_objects:,} JSON objects, of which the "
                        "rest was not read; check that the address is that of a language model",
                        kind="reply",
                    )
                if max(came, told) > self._most:
                    break
                yield piece
            if max(came, told) > self._most:
                raise ModelError(
                    f"{self._where} sent a reply of more than {self._most / 1024 / 1024:.0f} MB, of which the rest "
                    "was not read; check that the address is that of a language model",
                    kind="reply",
                )

    def _pieces(self, raw: bytes) -> Iterator[bytes]:
        if self._decoder is None:
            yield raw
            return
        while not self._decoder.eof:
            try:
                piece = self._decoder.decompress(raw, PIECE_BYTES)
            except zlib.error as error:
                raise ModelError(f"{self._where} sent a reply that cannot be decoded: {error}", kind="reply") from None
            yield piece
            raw = self._decoder.unconsumed_tail
            if not raw and len(piece) < PIECE_BYTES:
                return

    async def aclose(self) -> None:
        await self._inner.aclose()
