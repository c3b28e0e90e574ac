"""The client of language models: it sends again what may pass, keeps to a budget, and stops at a server that is dead.

`ModelClient` is asked from an event loop, `LanguageModel` from threads. What goes over the wire is up to a `Sender`.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from reeltalk.errors import ModelError
from reeltalk.llm.budget import Budget
from reeltalk.llm.model import Endpoint, Message, Reply, check_prices
from reeltalk.llm.retrying import Breaker, RetryPolicy, TransientError, final_error
from reeltalk.llm.wire import (
    REFUSED_SCHEMA_STATUS,
    LearnedError,
    RefusedError,
    Sender,
    Sent,
    create_breaker,
    describe_endpoint,
    most_prompt_tokens,
)
from reeltalk.schema.record import Json

Picture = Callable[[bytes], Awaitable[bytes]]
"""Gives the JPEG file for what a message holds in its place."""


@dataclass
class Request:
    """One question, through all its attempts."""

    messages: Sequence[Message]
    schema: dict[str, Json] | None = None
    times: int = 0
    """How often it was sent."""
    began_s: float = field(default_factory=time.monotonic)
    wait_s: float = 0.0
    """Before it is sent again."""


class ModelClient:
    """Asks one model from an event loop, through a sender."""

    def __init__(
        self,
        endpoint: Endpoint,
        sender: Sender,
        *,
        budget: Budget | None = None,
        breaker: Breaker | None = None,
        picture: Picture | None = None,
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            sender: Sends one request, once.
            budget: Limits; every request counts, those that are sent again too.
            breaker: Shared by all that ask this model at this address; its own by default.
            picture: Gives the JPEG files for what messages hold in place of pictures.

        Raises:
            SettingError: The budget is in money, and the endpoint names no prices.
        """
        check_prices(endpoint, budget)
        self.endpoint, self.sender = endpoint, sender
        self.breaker = breaker or create_breaker(endpoint)
        self._budget, self._picture = budget, picture
        self._policy = RetryPolicy(endpoint, self.breaker)
        self._refused_schemas: set[str] = set()
        self._closed = False

    async def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """One reply. A server that refuses the schema is asked without it, from then on at once.

        Raises:
            ModelError: The server cannot be reached, refuses, or answers with nothing, again and again.
            OutageError: It does so for whatever is asked.
            BudgetError: A limit would be passed.
        """
        request = Request(messages, schema)
        while True:
            try:
                return await self.attempt(request)
            except TransientError as error:
                if not self.should_retry(request, error):
                    raise final_error(error, request.times) from None

    async def attempt(self, request: Request) -> Reply:
        """The reply to a request that is sent once, after the wait that its last failure asks for.

        Raises:
            TransientError: It failed, and `should_retry` says whether to send it again.
            ModelError: There is no reply to be had.
            OutageError: The model answers nobody.
            BudgetError: A limit would be passed.
        """
        if request.wait_s:
            await self._pause(request.wait_s)
        if self.breaker.is_untried:
            await asyncio.to_thread(self.breaker.check)
        self.breaker.check()
        if self._closed:
            raise ModelError("the model was closed before it gave a reply")
        request.times += 1
        try:
            reply = await self._reply(request)
        except ModelError as error:
            self.breaker.record_failure(error, first=request.times == 1)
            raise
        self.breaker.record_success()
        return reply

    def should_retry(self, request: Request, error: TransientError) -> bool:
        """Whether a request is sent again after a failure; the next attempt waits as long as it should."""
        if not self._policy.should_retry(error, request.times, request.began_s):
            return False
        request.wait_s = self._policy.wait_s(error, request.times)
        return True

    async def close(self) -> None:
        """Close connections; nothing is sent any more."""
        self._closed = True
        await self.sender.close()

    async def _pause(self, seconds: float) -> None:
        """Wait, or until the breaker stops the command."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        with self.breaker.wake_on_stop(lambda: loop.call_soon_threadsafe(woken.set)), contextlib.suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), seconds)

    async def _reply(self, request: Request) -> Reply:
        messages = request.messages
        if self._picture is not None and any(message.images for message in messages):
            messages = [await _with_pictures(message, self._picture) for message in messages]
        canonical = json.dumps(request.schema, sort_keys=True)
        schema = None if canonical in self._refused_schemas else request.schema
        try:
            return await self._sent(messages, schema)
        except RefusedError as refusal:
            if schema is None or refusal.status not in REFUSED_SCHEMA_STATUS:
                raise
        reply = await self._sent(messages, None)
        # Only now is it certain that the schema was what the server did not like.
        self._refused_schemas.add(canonical)
        return reply

    async def _sent(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Reply:
        sent = await send_within(self._budget, self.sender, self.endpoint, messages, schema)
        if sent.reply is None:
            raise sent.error or ModelError(f"{describe_endpoint(self.endpoint)} gave nothing")
        return sent.reply


async def send_within(
    budget: Budget | None,
    sender: Sender,
    endpoint: Endpoint,
    messages: Sequence[Message],
    schema: dict[str, Json] | None,
) -> Sent:
    """What comes of one request, sent once more for each field that the server does not take.

    Args:
        budget: Limits; each sending counts.
        sender: Sends it.
        endpoint: Who is asked.
        messages: The conversation.
        schema: JSON schema that the reply shall follow.

    Raises:
        BudgetError: A limit would be passed.
    """
    most = most_prompt_tokens(messages, schema, endpoint.image_tokens)
    while True:
        reserved = await budget.reserve(most, endpoint.max_tokens, endpoint.prices) if budget is not None else None
        # What was set aside counts, unless the server says what it took.
        sent = Sent()
        try:
            sent = await sender.send(messages, schema)
        finally:
            if budget is not None and reserved is not None:
                budget.settle(reserved, sent.prompt_tokens, sent.completion_tokens, reached=sent.reached)
        if not isinstance(sent.error, LearnedError):
            return sent


async def _with_pictures(message: Message, picture: Picture) -> Message:
    images = [await picture(image) for image in message.images]
    return Message(message.role, message.text, tuple(images))
