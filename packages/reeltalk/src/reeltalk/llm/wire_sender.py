"""Sends requests to an OpenAI-compatible endpoint and reads replies within bounds, for any input from a server.

The decoded length of a reply is bounded, and redirects are not followed. This module imports `openai`, which is slow:
import it only if a model is asked.
"""

import asyncio
import dataclasses
import json
import time
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2
import openai

from reeltalk.errors import OF_ONE_REQUEST, ModelError
from reeltalk.llm.connections import Queue
from reeltalk.llm.dialect import DialectLearner, DialectStore
from reeltalk.llm.model import Endpoint, Message
from reeltalk.llm.retrying import TransientError, retry_after
from reeltalk.llm.scrubbing import endpoint_address, public_address, scrub, secrets_of
from reeltalk.llm.wire import (
    PASSING_STATUS,
    TOO_SHORT,
    CompletionBody,
    LearnedError,
    RateLimitedError,
    RefusedError,
    Sent,
    code_of,
    describe_endpoint,
    failure_of_request,
    is_spent,
    is_unreached,
    kind_of_request,
    kind_of_status,
    longest_reply_chars,
    message_text,
    no_answer_within,
    request_fields,
    words_of_body,
)
from reeltalk.schema.record import Json

COUNTED: Final = ("prompt_tokens", "completion_tokens", "total_tokens")
"""Fields of the usage of a stream."""
MOST_BYTES: Final = 8 * 1024 * 1024
"""Longest reply that is read, decoded."""
STREAMED_TOKEN_BYTES: Final = 1024
"""Additional bytes a token of a streamed reply, since each comes as a separate JSON object."""
MOST_OBJECTS: Final = 100_000
"""Most JSON objects in a reply; parsed, each needs a hundred times its bytes."""
STREAMED_TOKEN_OBJECTS: Final = 16
"""Additional objects a token of a streamed reply."""
PIECE_BYTES: Final = 64 * 1024
QUOTED_BYTES: Final = 4096
"""Bytes of a reply of no use that are kept, so that a key in them is found before the quotation is cut."""
QUOTED_CHARS: Final = 100
END_BYTES: Final = 64
"""Bytes at the end of a stream in which `[DONE]` is looked for."""
CONNECT_S: Final = 10.0
"""Longest wait for a connection."""


def openai_client(endpoint: Endpoint, api_key: str | None, *, connect_s: float = CONNECT_S) -> Any:
    """A client of the `openai` package that reads within bounds, follows no redirect and does not retry.

    Args:
        endpoint: The model.
        api_key: Key of the server.
        connect_s: Longest wait for a connection.
    """
    address = urlsplit(endpoint_address(endpoint))
    secrets = secrets_of(endpoint, api_key)
    user, _, host = address.netloc.rpartition("@")
    name, _, password = user.partition(":")

    async def bounded(response: Any) -> None:
        if response.has_redirect_location:
            target = scrub(public_address(str(response.url.join(response.headers["location"]))), secrets)
            raise ModelError(
                f"{describe_endpoint(endpoint)} answered {response.status_code} and sends requests on to {target}, "
                "which is not followed; give that address in its place if you trust it",
                kind="invalid",
            )
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        most = MOST_BYTES + (STREAMED_TOKEN_BYTES * endpoint.max_tokens if streamed else 0)
        objects = MOST_OBJECTS + (STREAMED_TOKEN_OBJECTS * endpoint.max_tokens if streamed else 0)
        coding = response.headers.pop("content-encoding", "identity").strip().lower()
        response.stream = _Bounded(response, coding, most, objects, describe_endpoint(endpoint))

    http_client = openai.DefaultAsyncHttpxClient(
        # User and password would be logged with the address and shown in errors.
        auth=httpx2.BasicAuth(unquote(name), unquote(password)) if user else None,
        event_hooks={"response": [bounded]},
        follow_redirects=False,
        headers={"Accept-Encoding": "gzip"},
    )
    return openai.AsyncOpenAI(
        api_key=api_key or "none",
        base_url=urlunsplit(address._replace(netloc=host)),
        # The sender limits the time of a reply, and knows of queues.
        timeout=httpx2.Timeout(endpoint.timeout_s, connect=min(connect_s, endpoint.timeout_s), read=None),
        max_retries=0,
        http_client=http_client,
    )


class _Bounded(httpx2.AsyncByteStream):
    """The body of a response, decoded piece by piece: a small body may decode to a huge one."""

    def __init__(self, response: Any, coding: str, most: int, most_objects: int, where: str) -> None:
        self._inner, self._most, self._most_objects, self._where = response.stream, most, most_objects, where
        self._decoder = None
        self._head = f"{response.status_code} and {response.headers.get('content-type', 'no content type')[:60]}"
        self._began = self._end = b""
        if coding in ("gzip", "x-gzip", "deflate"):
            self._decoder = zlib.decompressobj(zlib.MAX_WBITS | 32)
        elif coding not in ("identity", ""):
            raise ModelError(
                f"{where} answered {self._head} with a reply in the coding '{coding[:40]}', which was not asked for",
                kind="reply",
            )

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
                self._began += piece[: QUOTED_BYTES - len(self._began)]
                self._end = (self._end + piece)[-END_BYTES:]
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

    @property
    def is_done(self) -> bool:
        """True if the server said that its stream is whole. Some of them give no other reason for its end."""
        return b"[DONE]" in self._end

    def quote(self, secrets: Collection[str]) -> str:
        """Status, content type and the beginning of the body, for errors."""
        told = self._began.decode("utf-8", "replace").split()
        # The last word may be half a key.
        began = scrub(" ".join(told if len(self._began) < QUOTED_BYTES else told[:-1]), secrets)
        return f"{self._head}, which begins {began[:QUOTED_CHARS]!r}" if began else self._head

    async def aclose(self) -> None:
        await self._inner.aclose()


class WireSender:
    """Sends to an OpenAI-compatible endpoint, in its dialect, and reads the reply within bounds."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        api_key: str | None = None,
        stream: bool = False,
        store: DialectStore | None = None,
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: The model.
            api_key: Key of the server; a local server usually needs none.
            stream: Stream replies, so that the time to the first token is known.
            kept: Store of dialects.
        """
        self.endpoint, self.stream = endpoint, stream
        self.learner = DialectLearner(endpoint, store)
        self._api_key, self._secrets = api_key, secrets_of(endpoint, api_key)
        self._client: Any = None
        self._open: AsyncGenerator[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._queue = Queue()

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed as they are sent."""
        return self.learner.dialect.sampling(self.endpoint)

    async def connected(self) -> Any:
        """The client of this event loop; its connections belong to the loop."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop, self._client = loop, openai_client(self.endpoint, self._api_key)
            # After Ctrl-C `close` is not called, but an event loop ends its generators when it ends.
            self._open = _until_closed(self._client)
            await anext(self._open)
        return self._client

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None, sample: int = 0) -> Sent:
        """Send one request."""
        dialect = self.learner.dialect
        asked = request_fields(self.endpoint.of_sample(sample), messages, schema, dialect)
        if self.stream:
            asked["stream"] = True
            if dialect.takes("stream_options"):
                asked["stream_options"] = {"include_usage": True}
        # The package validates and copies messages, which takes a quarter of the CPU of a call of 15 turns. The extra
        # body is put into the same place unchanged.
        fields = asked | {"messages": [], "extra_body": {"messages": asked["messages"]}}
        client = await self.connected()  # before the clock starts: the first time takes a while
        began_s = time.monotonic()
        first_token_s: float | None = None
        tokens: tuple[int | None, int | None] = (None, None)
        came: list[Any] = []
        try:
            async with self._queue.reply_within(self.endpoint.timeout_s):
                if self.stream:
                    answer, first_token_s = await self._streamed(client, fields, began_s, came)
                else:
                    raw = await client.chat.completions.with_raw_response.create(**fields)
                    came.append(raw.http_response)
                    answer = CompletionBody.read(raw.content, self.endpoint)
            tokens = answer.tokens
            took_s = time.monotonic() - began_s
            told = {"took_s": took_s, "first_token_s": first_token_s}
            reply = answer.reply(self.endpoint, secrets=self._secrets, **told)
            host = urlsplit(endpoint_address(self.endpoint)).hostname
            return Sent(dataclasses.replace(reply, host=host, dialect=dialect.differences), None, *tokens)
        except TimeoutError:
            gone = TransientError(
                f"{describe_endpoint(self.endpoint)} gave no reply within {self.endpoint.timeout_s:g} s",
                kind="time-out",
            )
            return Sent(error=gone)
        except openai.OpenAIError as error:
            problem, cost_nothing = model_error(error, self.endpoint, self._secrets)
            if (
                isinstance(problem, RefusedError)
                and problem.kind not in ("request", "content", "quota")
                and self.learner.refused(dialect, asked, problem.status, getattr(error, "body", None))
            ):
                problem = LearnedError(str(problem), problem.status)
            return Sent(None, problem, 0, 0) if cost_nothing else Sent(error=problem)
        except ModelError as error:
            if error.kind == "reply" and came:
                quoted = f"{error}; it answered {came[0].stream.quote(self._secrets)}"
                error = type(error)(quoted, kind=error.kind)
            return Sent(None, error, *tokens)
        except OSError as error:
            problem = TransientError(f"{describe_endpoint(self.endpoint)}: {self._describe(error)}", kind="connection")
            return Sent(error=problem)

    async def close(self) -> None:
        """Close connections; a later request opens new ones."""
        opened, self._open, self._client = self._open, None, None
        if opened is not None:
            await opened.aclose()

    async def _streamed(
        self, client: Any, fields: dict[str, Any], began_s: float, came: list[Any]
    ) -> tuple[CompletionBody, float | None]:
        first_token_s: float | None = None
        pieces: list[str] = []
        refusal = ""
        finish_reason: str | None = None
        model: str | None = None
        usage: Any = None
        stream: Any = await client.chat.completions.create(**fields)
        came.append(stream.response)
        if stream.response.headers.get("content-type", "").startswith(("application/json", "text/html")):
            return CompletionBody.read(await stream.response.aread(), self.endpoint), None
        longest, length = longest_reply_chars(self.endpoint), 0
        try:
            async for chunk in stream:
                model = model or getattr(chunk, "model", None)
                if (told := getattr(chunk, "usage", None)) is not None:
                    usage = {name: getattr(told, name, None) for name in COUNTED}
                for choice in getattr(chunk, "choices", None) or []:
                    content = message_text(getattr(choice.delta, "content", None))
                    if isinstance(content, str) and content:
                        if first_token_s is None:
                            first_token_s = time.monotonic() - began_s
                        pieces.append(content)
                        length += len(content)
                    refusal += message_text(getattr(choice.delta, "refusal", None)) or ""
                    finish_reason = choice.finish_reason or finish_reason
                if length > longest:
                    finish_reason = "length"
                    break
        except (openai.APITimeoutError, TimeoutError, ModelError):
            raise
        except Exception as error:
            if type(error) is openai.APIError:
                raise self._broken_off(error) from None
            if isinstance(error, openai.OpenAIError) and not isinstance(error, openai.APIConnectionError):
                raise
            # The package lets errors of its HTTP library and of JSON through here.
            raise TransientError(
                f"{describe_endpoint(self.endpoint)} broke off its reply: {self._describe(error)}", kind="reply"
            ) from None
        finally:
            await stream.close()
        if finish_reason is None and not came[0].stream.is_done:
            raise TransientError(f"{describe_endpoint(self.endpoint)} broke off its reply", kind="reply")
        choice = {"message": {"content": "".join(pieces), "refusal": refusal}, "finish_reason": finish_reason}
        body = {"model": model, "choices": [choice], "usage": usage}
        return CompletionBody.read(json.dumps(body), self.endpoint), first_token_s

    def _broken_off(self, error: Any) -> ModelError:
        """The error of a stream that broke off: servers that fail after they began send an event."""
        problem = f"{describe_endpoint(self.endpoint)} broke off its reply: {self._describe(error)}"
        told = error.body if isinstance(error.body, dict) else {}
        if is_spent(code_of(told), f"{error.message} {told}"):
            return RefusedError(problem, code_of(told), kind="quota")
        code = told.get("code")
        if isinstance(code, int) and 400 <= code < 500 and code not in PASSING_STATUS:
            # The request was accepted, so this is no failure of the server.
            return ModelError(problem, kind="reply")
        return TransientError(problem, kind="server")

    def _describe(self, error: Exception) -> str:
        return scrub(str(error), self._secrets)


async def _until_closed(client: Any) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await client.close()


def model_error(error: Exception, endpoint: Endpoint, secrets: Collection[str]) -> tuple[ModelError, bool]:
    """An error of the `openai` package as one of ours, and whether the request certainly used no tokens."""
    where = describe_endpoint(endpoint)
    if isinstance(error, openai.APITimeoutError):
        if is_unreached(error):
            problem = f"{public_address(endpoint_address(endpoint))} cannot be reached: nothing answers there"
            return TransientError(problem, kind="connection", reached=False), True
        return TransientError(f"{where} gave no reply within {endpoint.timeout_s:g} s", kind="time-out"), False
    if isinstance(error, openai.APIConnectionError):
        cause = scrub(str(error.__cause__ or error), secrets)
        problem = f"{public_address(endpoint_address(endpoint))} cannot be reached: {cause}; check --base-url"
        return TransientError(problem, kind="connection", reached=not is_unreached(error)), False
    if isinstance(error, openai.APIStatusError):
        status = error.status_code
        problem = f"{where} answered {status}: {scrub(words_of_body(error.body) or error.message, secrets)}"
        if (what := failure_of_request(status, f"{error.message} {error.body}")) is not None:
            return RefusedError(f"{problem} ({OF_ONE_REQUEST} {what})", status, kind=kind_of_request(what)), True
        if is_spent(status, f"{error.message} {error.body}"):
            return RefusedError(problem, status, kind="quota"), True
        if status in (429, 503):
            # Ollama answers 503 once its queue is full, and many proxies do.
            busy = RateLimitedError(problem, kind="busy", wait_s=retry_after(error.response.headers))
            return busy, status == 429
        if status in PASSING_STATUS or status >= 500:
            return TransientError(
                problem, kind=kind_of_status(status, ""), wait_s=retry_after(error.response.headers)
            ), status < 500
        if status == 400 and TOO_SHORT in str(error.message):
            # OpenAI's answer if a reasoning model has used all its tokens.
            return ModelError(f"{where} {no_answer_within(endpoint)}", kind="empty"), False
        return RefusedError(problem, status, kind=kind_of_status(status, str(error.body or error.message))), True
    return ModelError(f"{where}: {scrub(str(error), secrets)}", kind="reply"), False
