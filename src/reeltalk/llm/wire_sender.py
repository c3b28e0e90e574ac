"""Who sends a request to an OpenAI-compatible endpoint. One home of the `openai` package."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from reeltalk.errors import ModelError
from reeltalk.llm.dialect import KeptDialects, Learner
from reeltalk.llm.model import Endpoint, Message
from reeltalk.llm.retrying import TransientError
from reeltalk.llm.scrubbing import scrubbed, secrets_of
from reeltalk.llm.wire import (
    PASSING_STATUS,
    Answer,
    LearnedError,
    RefusedError,
    Sent,
    place,
    problem_of,
    request_fields,
    said,
)
from reeltalk.schema.record import Json


class WireSender:
    """Sends to an OpenAI-compatible endpoint, in its dialect, and reads what comes within bounds."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        api_key: str | None = None,
        stream: bool = False,
        kept: KeptDialects | None = None,
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            api_key: Key of the server; a local one usually needs none.
            stream: Let replies come in pieces, so that the time to the first one is known.
            kept: Where dialects are kept.
        """
        import openai

        self.endpoint, self.stream, self._errors = endpoint, stream, openai
        self.learner = Learner(endpoint, kept)
        self._api_key, self._secrets = api_key, secrets_of(endpoint, api_key)
        self._client: Any = None
        self._open: AsyncGenerator[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def sampling(self) -> dict[str, Json]:
        """What is really sent of temperature, longest reply and seed."""
        return self.learner.dialect.sampling(self.endpoint)

    async def connected(self) -> Any:
        """The client of this event loop, to which its connections belong."""
        from reeltalk.llm.bounds import openai_client

        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop, self._client = loop, openai_client(self.endpoint, self._api_key)
            # An event loop ends its generators when it ends: nobody may come to close this, as after Ctrl-C.
            self._open = _until_closed(self._client)
            await anext(self._open)
        return self._client

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """One request."""
        dialect = self.learner.dialect
        asked = request_fields(self.endpoint, messages, schema, dialect)
        if self.stream:
            asked["stream"] = True
            if dialect.takes("stream_options"):
                asked["stream_options"] = {"include_usage": True}
        # The package walks messages by their types and copies them: a quarter of the CPU of a call of 15 turns. What is
        # extra goes into the same place of the body as it is.
        fields = asked | {"messages": [], "extra_body": {"messages": asked["messages"]}}
        client = await self.connected()  # which takes a while the first time, and is none of the server's
        began_s = time.monotonic()
        first_token_s: float | None = None
        tokens: tuple[int | None, int | None] = (None, None)
        try:
            async with asyncio.timeout(self.endpoint.timeout_s):
                if self.stream:
                    answer, first_token_s = await self._streamed(client, fields, began_s)
                else:
                    raw = await client.chat.completions.with_raw_response.create(**fields)
                    answer = Answer.read(raw.content, self.endpoint)
            tokens = answer.tokens
            took_s = time.monotonic() - began_s
            told = {"took_s": took_s, "first_token_s": first_token_s}
            return Sent(answer.reply(self.endpoint, secrets=self._secrets, **told), None, *tokens)
        except TimeoutError:
            gone = TransientError(
                f"{place(self.endpoint)} gave no reply within {self.endpoint.timeout_s:g} s", kind="time-out"
            )
            return Sent(error=gone)
        except self._errors.OpenAIError as error:
            problem, cost_nothing = problem_of(error, self.endpoint, self._errors, secrets=self._secrets)
            if isinstance(problem, RefusedError) and self.learner.refused(
                dialect, asked, problem.status, getattr(error, "body", None)
            ):
                problem = LearnedError(str(problem), problem.status)
            return Sent(None, problem, 0, 0) if cost_nothing else Sent(error=problem)
        except ModelError as error:
            return Sent(None, error, *tokens)
        except OSError as error:
            problem = TransientError(f"{place(self.endpoint)}: {self._told(error)}", kind="connection")
            return Sent(error=problem)

    async def close(self) -> None:
        """Close connections; whoever sends again opens new ones."""
        opened, self._open, self._client = self._open, None, None
        if opened is not None:
            await opened.aclose()

    async def _streamed(self, client: Any, fields: dict[str, Any], began_s: float) -> tuple[Answer, float | None]:
        first_token_s: float | None = None
        pieces: list[str] = []
        finish_reason: str | None = None
        model: str | None = None
        usage: Any = None
        stream: Any = await client.chat.completions.create(**fields)
        try:
            async for chunk in stream:
                model = model or getattr(chunk, "model", None)
                if (told := getattr(chunk, "usage", None)) is not None:
                    usage = {name: getattr(told, name, None) for name in ("prompt_tokens", "completion_tokens")}
                for choice in getattr(chunk, "choices", None) or []:
                    content = said(getattr(choice.delta, "content", None))
                    if isinstance(content, str) and content:
                        if first_token_s is None:
                            first_token_s = time.monotonic() - began_s
                        pieces.append(content)
                    finish_reason = choice.finish_reason or finish_reason
        except (self._errors.APITimeoutError, TimeoutError, ModelError):
            raise
        except Exception as error:
            errors = self._errors
            if type(error) is errors.APIError:
                raise self._broken_off(error) from None
            if isinstance(error, errors.OpenAIError) and not isinstance(error, errors.APIConnectionError):
                raise
            # The package lets errors of its HTTP library and of JSON through here.
            raise TransientError(
                f"{place(self.endpoint)} broke off its reply: {self._told(error)}", kind="reply"
            ) from None
        finally:
            await stream.close()
        if finish_reason is None:
            raise TransientError(f"{place(self.endpoint)} broke off its reply", kind="reply")
        choice = {"message": {"content": "".join(pieces)}, "finish_reason": finish_reason}
        body = {"model": model, "choices": [choice], "usage": usage}
        return Answer.read(json.dumps(body), self.endpoint), first_token_s

    def _broken_off(self, error: Any) -> ModelError:
        """What an error amid a stream means: servers that fail after they began send an event that says so."""
        problem = f"{place(self.endpoint)} broke off its reply: {self._told(error)}"
        code = error.body.get("code") if isinstance(error.body, dict) else None
        if isinstance(code, int) and 400 <= code < 500 and code not in PASSING_STATUS:
            # The request was taken, so that this says nothing of the server.
            return ModelError(problem, kind="reply")
        return TransientError(problem, kind="server")

    def _told(self, error: Exception) -> str:
        return scrubbed(str(error), self._secrets)


async def _until_closed(client: Any) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        await client.close()
