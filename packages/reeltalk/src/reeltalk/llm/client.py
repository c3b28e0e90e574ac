"""The client of language models: it retries requests, keeps to a budget, and stops if a server is dead.

`ModelClient` is asked from an event loop; `language_model.LanguageModel` wraps it for threads. A `Sender` decides what
goes over the wire.
"""

import asyncio
import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from reeltalk.errors import ModelError
from reeltalk.llm.budget import Budget
from reeltalk.llm.connections import CUT, HALF, Connections
from reeltalk.llm.model import Endpoint, Message, Reply, check_prices
from reeltalk.llm.retrying import Breaker, RetryPolicy, TransientError, final_error
from reeltalk.llm.wire import (
    REFUSED_SCHEMA_STATUS,
    LearnedError,
    RateLimitedError,
    RefusedError,
    Sender,
    Sent,
    create_breaker,
    describe_endpoint,
    longest_reply_chars,
    most_prompt_tokens,
    start_on_one_line,
)
from reeltalk.schema.record import Json

Picture = Callable[[bytes], Awaitable[bytes]]
"""Returns the JPEG file for the reference that a message holds in place of a picture."""


@dataclass
class Request:
    """One question and its attempts."""

    messages: Sequence[Message]
    schema: dict[str, Json] | None = None
    sample: int = 0
    times: int = 0
    """Number of attempts so far."""
    began_s: float = field(default_factory=time.monotonic)
    wait_s: float = 0.0
    """Wait before the next attempt."""


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
        connections: Connections | None = None,
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            sender: Sends one request, once.
            budget: Limits; every request counts, retries too.
            breaker: Shared by all clients of this model at this address; a new one by default.
            picture: Returns the JPEG files for the references that messages hold in place of pictures.
            connections: How many questions are asked at a time; any number by default.

        Raises:
            SettingError: The budget limits the cost, and the endpoint has no prices.
        """
        check_prices(endpoint, budget)
        self.endpoint, self.sender = endpoint, sender
        self.breaker = breaker or create_breaker(endpoint)
        self.connections = connections
        self._budget, self._picture = budget, picture
        self._policy = RetryPolicy(endpoint, self.breaker)
        self._refused_schemas: set[str] = set()
        self._closed = False

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """Ask for one reply. If the server refuses the schema, it is asked without one from then on.

        Raises:
            ModelError: The server cannot be reached, refuses, or sends no answer, again and again.
            OutageError: It fails for every request.
            BudgetError: A limit would be passed.
        """
        request, connections = Request(messages, schema, sample), self.connections
        while True:
            # Whoever waits before it asks again takes no place from others.
            if request.wait_s:
                await self._pause(request.wait_s)
            async with connections.place() if connections is not None else contextlib.nullcontext() as place:
                try:
                    reply = await self.attempt(request)
                except TransientError as error:
                    if connections is not None and (isinstance(error, RateLimitedError) or error.kind == "time-out"):
                        connections.cut(HALF if error.kind == "time-out" else CUT)
                    if not self.should_retry(request, error):
                        raise final_error(error, request.times) from None
                else:
                    if connections is not None and request.times == 1:
                        connections.grow(place)
                    return reply

    async def attempt(self, request: Request) -> Reply:
        """Send a request once.

        Raises:
            TransientError: It failed; `should_retry` says whether to send it again.
            ModelError: It failed for good.
            OutageError: The server fails for every request.
            BudgetError: A limit would be passed.
        """
        if self.breaker.is_untried:
            await _in_daemon(self.breaker.check)
        self.breaker.check()
        if self._closed:
            raise ModelError("the model was closed before it gave a reply")
        request.times += 1
        try:
            reply = await self._reply(request)
        except ModelError as error:
            self.breaker.record_failure(error, first=request.times == 1)
            raise
        if reply.refused:
            refusal = f"{describe_endpoint(self.endpoint)} refused: {start_on_one_line(reply.text)}"
            self.breaker.record_failure(ModelError(refusal, kind="content"), first=request.times == 1)
        else:
            self.breaker.record_success()
        return reply

    def should_retry(self, request: Request, error: TransientError) -> bool:
        """True if a request is sent again after a failure; sets the wait before the next attempt."""
        if not self._policy.should_retry(error, request.times, request.began_s):
            return False
        request.wait_s = self._policy.wait_s(error, request.times)
        return True

    async def close(self) -> None:
        """Close connections. No request is sent after this."""
        self._closed = True
        await self.sender.close()

    async def _pause(self, seconds: float) -> None:
        """Wait, at most until the breaker stops the command."""
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
            return await self._sent(messages, schema, request.sample)
        except RefusedError as refusal:
            if schema is None or refusal.status not in REFUSED_SCHEMA_STATUS or refusal.kind != "invalid":
                raise
        reply = await self._sent(messages, None, request.sample)
        # Only now is it certain that the server refused because of the schema.
        self._refused_schemas.add(canonical)
        return reply

    async def _sent(self, messages: Sequence[Message], schema: dict[str, Json] | None, sample: int) -> Reply:
        sent = await send_within(self._budget, self.sender, self.endpoint, messages, schema, sample)
        if sent.reply is None:
            raise sent.error or ModelError(f"{describe_endpoint(self.endpoint)} gave nothing")
        longest = longest_reply_chars(self.endpoint)
        if len(sent.reply.text) <= longest:
            return sent.reply
        return dataclasses.replace(sent.reply, text=sent.reply.text[:longest], cut_off=True, cut_at=longest)


async def send_within(
    budget: Budget | None,
    sender: Sender,
    endpoint: Endpoint,
    messages: Sequence[Message],
    schema: dict[str, Json] | None,
    sample: int = 0,
) -> Sent:
    """Send one request, again for each field that the server does not accept.

    Raises:
        BudgetError: A limit would be passed.
    """
    most = most_prompt_tokens(messages, schema, endpoint)
    while True:
        reserved = await budget.reserve(most, endpoint.max_tokens, endpoint.prices) if budget is not None else None
        # The reservation counts unless the server reports the usage.
        sent = Sent()
        try:
            sent = await sender.send(messages, schema, sample)
        finally:
            if budget is not None and reserved is not None:
                budget.settle(reserved, sent.prompt_tokens, sent.completion_tokens, reached=sent.reached)
        if not isinstance(sent.error, LearnedError):
            return sent


async def _in_daemon(check: Callable[[], None]) -> None:
    """As `asyncio.to_thread`, in a thread that no end of a command waits for: a server may take minutes."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    raised = list[Exception]()

    def work() -> None:
        try:
            check()
        except Exception as error:
            raised.append(error)
        # The loop may be gone by now.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=work, name="preflight", daemon=True).start()
    await ended.wait()
    for error in raised:
        raise error


async def _with_pictures(message: Message, picture: Picture) -> Message:
    images = [await picture(image) for image in message.images]
    return dataclasses.replace(message, images=tuple(images))
