"""Who sends a request to a model, once: over the wire, through a provider of inspect_ai, or to a model of this process.

One home of `inspect_ai` and of `openai`.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    ResponseSchema,
    get_model,
)

from reeltalk.errors import ModelError, ReeltalkError
from reeltalk.llm.inspected import PREFIX, without_references
from reeltalk.llm.model import AsyncModel, Endpoint, Message, Reply
from reeltalk.llm.retrying import TransientError
from reeltalk.llm.wire import (
    PASSING_STATUS,
    Answer,
    RateLimitedError,
    RefusedError,
    data_url,
    one_line,
    place,
    problem_of,
    request_fields,
)
from reeltalk.schema.record import Json


@dataclass(frozen=True)
class Sent:
    """What came of one request."""

    reply: Reply | None = None
    error: ReeltalkError | None = None
    """Why there is no reply."""
    prompt_tokens: int | None = None
    """None where nobody knows; then what was set aside counts."""
    completion_tokens: int | None = None


class Sender(Protocol):
    """Sends one request, once."""

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """One request; it never raises for what the server did."""
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


class WireSender:
    """Sends to an OpenAI-compatible endpoint."""

    def __init__(self, endpoint: Endpoint, *, api_key: str | None = None, stream: bool = False) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            api_key: Key of the server; a local one usually needs none.
            stream: Let replies come in pieces, so that the time to the first one is known.
        """
        import openai

        self.endpoint, self.stream, self._errors = endpoint, stream, openai
        self._api_key = api_key or "none"
        self._client: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def _connected(self) -> Any:
        # Connections belong to the event loop in which they were opened.
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            self._loop = loop
            self._client = self._errors.AsyncOpenAI(
                api_key=self._api_key,
                base_url=self.endpoint.base_url,
                timeout=self.endpoint.timeout_s,
                max_retries=0,
            )
        return self._client

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """One request."""
        fields = request_fields(self.endpoint, messages, schema)
        # The package walks messages by their types and copies them: a quarter of the CPU of a call of 15 turns. What is
        # extra goes into the same place of the body as it is.
        fields |= {"messages": [], "extra_body": {"messages": fields["messages"]}}
        began_s = time.monotonic()
        first_token_s: float | None = None
        tokens: tuple[int | None, int | None] = (None, None)
        try:
            async with asyncio.timeout(self.endpoint.timeout_s):
                if self.stream:
                    answer, first_token_s = await self._streamed(fields, began_s)
                else:
                    raw = await self._connected.chat.completions.with_raw_response.create(**fields)
                    answer = Answer.read(raw.content, self.endpoint)
            tokens = answer.tokens
            took_s = time.monotonic() - began_s
            return Sent(answer.reply(self.endpoint, took_s=took_s, first_token_s=first_token_s), None, *tokens)
        except TimeoutError:
            gone = TransientError(f"{place(self.endpoint)} gave no reply within {self.endpoint.timeout_s:g} s")
            return Sent(error=gone)
        except self._errors.OpenAIError as error:
            problem, cost_nothing = problem_of(error, self.endpoint, self._errors)
            return Sent(None, problem, 0, 0) if cost_nothing else Sent(error=problem)
        except ModelError as error:
            return Sent(None, error, *tokens)
        except OSError as error:
            return Sent(error=TransientError(f"{place(self.endpoint)}: {one_line(str(error))}"))

    async def close(self) -> None:
        """Close connections; whoever sends again opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _streamed(self, fields: dict[str, Any], began_s: float) -> tuple[Answer, float | None]:
        first_token_s: float | None = None
        pieces: list[str] = []
        finish_reason: str | None = None
        model: str | None = None
        usage: dict[str, Any] | None = None
        stream: Any = await self._connected.chat.completions.create(
            **fields, stream=True, stream_options={"include_usage": True}
        )
        try:
            async for chunk in stream:
                model = model or getattr(chunk, "model", None)
                if getattr(chunk, "usage", None) is not None:
                    usage = chunk.usage.model_dump()
                for choice in getattr(chunk, "choices", None) or []:
                    if choice.delta is not None and choice.delta.content:
                        if first_token_s is None:
                            first_token_s = time.monotonic() - began_s
                        pieces.append(choice.delta.content)
                    finish_reason = choice.finish_reason or finish_reason
        except (self._errors.APITimeoutError, TimeoutError):
            raise
        except Exception as error:
            errors = self._errors
            if type(error) is errors.APIError:
                raise self._broken_off(error) from None
            if isinstance(error, errors.OpenAIError) and not isinstance(error, errors.APIConnectionError):
                raise
            # The package lets errors of its HTTP library and of JSON through here.
            raise TransientError(f"{place(self.endpoint)} broke off its reply: {one_line(str(error))}") from None
        finally:
            await stream.close()
        if finish_reason is None:
            raise TransientError(f"{place(self.endpoint)} broke off its reply")
        choice = {"message": {"content": "".join(pieces)}, "finish_reason": finish_reason}
        body = {"model": model, "choices": [choice], "usage": usage}
        return Answer.read(json.dumps(body), self.endpoint), first_token_s

    def _broken_off(self, error: Any) -> ModelError:
        """What an error amid a stream means: servers that fail after they began send an event that says so."""
        problem = f"{place(self.endpoint)} broke off its reply: {one_line(error.message)}"
        code = error.body.get("code") if isinstance(error.body, dict) else None
        if isinstance(code, int) and 400 <= code < 500 and code not in PASSING_STATUS:
            return RefusedError(problem, code)
        return TransientError(problem)


class InspectSender:
    """Sends through a provider that inspect_ai knows, as `openai/gpt-4o`."""

    def __init__(self, spec: str, endpoint: Endpoint, *, batch: bool = False, **model_args: Any) -> None:
        """Open the provider.

        Args:
            spec: `provider/model`.
            endpoint: How it is asked.
            batch: Use the provider's batch API, where inspect_ai offers it: cheaper, and much later.
            model_args: What inspect_ai's `get_model` hands on to the provider.

        Raises:
            ModelError: inspect_ai does not know the model, or a key is missing.
        """
        self.endpoint, self._name = endpoint, f"{PREFIX}{spec}"
        self._config = GenerateConfig(**endpoint.sampling, max_retries=0)
        if batch:
            self._config.batch = True
        try:
            model: Any = get_model(spec, base_url=endpoint.base_url, config=self._config, memoize=False, **model_args)
        except Exception as error:
            raise ModelError(f"inspect_ai cannot open {spec}: {one_line(str(error))}") from None
        self.api: Any = model.api
        # The packages of OpenAI, Anthropic and their like send again by themselves, below inspect_ai.
        client: Any = getattr(self.api, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0
        self._timeout_s = None if batch else endpoint.timeout_s

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """One request."""
        config = self._config.model_copy()
        if schema is not None and (plain := without_references(schema)) is not None:
            config.response_schema = ResponseSchema(name=str(schema.get("title") or "reply"), json_schema=plain)
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                output: Any = await self.api.generate(
                    [chat_message(message) for message in messages], [], "none", config
                )
        except TimeoutError:
            return Sent(error=TransientError(f"{self._name} gave no reply within {self._timeout_s:g} s"))
        except Exception as error:
            return Sent(error=self._problem(error))
        output = output[0] if isinstance(output, tuple) else output
        if isinstance(output, Exception):
            return Sent(error=self._problem(output))
        tokens = (output.usage.input_tokens, output.usage.output_tokens) if output.usage else (None, None)
        text = output.completion.strip()
        if output.error:
            return Sent(None, ModelError(f"{self._name}: {one_line(output.error)}"), *tokens)
        if not text and output.stop_reason == "max_tokens":
            problem = f"{self._name} wrote no answer within {self.endpoint.max_tokens:,} tokens; allow a longer reply"
            return Sent(None, ModelError(problem), *tokens)
        if not text:
            return Sent(None, TransientError(f"{self._name} gave an empty reply"), *tokens)
        cut_off = output.stop_reason == "max_tokens"
        took_s = time.monotonic() - began_s
        told = output.completion if self.endpoint.keeps_space else text
        reply = Reply(told, output.model or self._name, tokens[0], tokens[1], cut_off, took_s=took_s)
        return Sent(reply, None, *tokens)

    async def close(self) -> None:
        """Close connections."""
        await self.api.aclose()

    def _problem(self, error: Exception) -> ModelError:
        problem = f"{self._name}: {one_line(str(error)) or type(error).__name__}"
        decision: Any = self.api.should_retry(error)
        if not decision:
            return ModelError(problem)
        wait_s = getattr(decision, "retry_after", None)
        if getattr(decision, "kind", None) == "rate_limit":
            return RateLimitedError(problem, wait_s=wait_s)
        return TransientError(problem, wait_s=wait_s)


class ModelSender:
    """Hands requests to an `AsyncModel` of this process, as a local video model."""

    def __init__(self, model: AsyncModel) -> None:
        self.model = model

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """One request."""
        try:
            reply = await self.model.ask(messages, schema=schema)
        except ReeltalkError as error:
            return Sent(error=error)
        return Sent(reply, None, reply.prompt_tokens, reply.completion_tokens)

    async def close(self) -> None:
        """Nothing to close: whoever made the model closes it."""


def chat_message(message: Message, *, pictures: bool = True) -> Any:
    """A message as inspect_ai has it.

    Args:
        message: Ours.
        pictures: Whether its pictures go along; without them it says how many there are.
    """
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    content: Any = message.text
    if message.images and pictures:
        content = [ContentImage(image=data_url(image)) for image in message.images]
        content.append(ContentText(text=message.text))
    elif message.images:
        content = f"[{len(message.images)} frames]\n{message.text}"
    return kinds[message.role](content=content)
