"""The models that an evaluation asks: many questions at a time, through inspect_ai, so that its log shows them all.

A reply that is kept is never asked for again, every request counts against the budget, and concurrency goes down where
a server says that it is asked too often. One home of `inspect_ai` and of `openai`; loaded only where a model is asked.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakValueDictionary

from inspect_ai.model import (
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    RetryDecision,
    get_model,
    modelapi,
)
from inspect_ai.util import AdaptiveConcurrency

from reeltalk.errors import BudgetError, ModelError
from reeltalk.llm.budget import Budget
from reeltalk.llm.model import Endpoint, Message, Reply, check_prices
from reeltalk.llm.replies import ReplyStore, reply_key
from reeltalk.llm.retrying import Persistence, TransientError
from reeltalk.llm.senders import Sender, Sent, chat_message
from reeltalk.llm.wire import (
    REFUSED_SCHEMA_STATUS,
    RateLimitedError,
    RefusedError,
    most_prompt_tokens,
    place,
)
from reeltalk.schema.record import Json

PROVIDER: Final = "reeltalk"
"""Under this name inspect_ai's logs show our models."""
BUDGET_WAIT_S: Final = 0.02
"""How often a request that waits for others to leave some of the budget looks again."""

Picture = Callable[[bytes], Awaitable[bytes]]
"""Gives the JPEG file for what a message holds in its place."""


@dataclass
class _Request:
    """What is asked now; inspect_ai's own messages are only what its log shows."""

    messages: Sequence[Message]
    schema: dict[str, Json] | None
    key: str
    reply: Reply | None = None


_REQUEST: ContextVar[_Request] = ContextVar("reeltalk_request")


@modelapi(name=PROVIDER)
class ServedAPI(ModelAPI):
    """Our models as inspect_ai sees them. Made by `served_model`, which sets what it needs."""

    sender: Sender
    endpoint: Endpoint
    store: ReplyStore
    budget: Budget | None
    picture: Picture | None
    persistence: Persistence

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        """The reply that is kept, else a new one."""
        request = _REQUEST.get()
        reply = self.store.get(request.key)
        if reply is None:
            reply = self.store.put(request.key, await self._asked(request))
        request.reply = reply
        output = ModelOutput.from_content(
            model=reply.model, content=reply.text, stop_reason="max_tokens" if reply.cut_off else "stop"
        )
        if not reply.cached and reply.prompt_tokens is not None and reply.completion_tokens is not None:
            output.usage = ModelUsage(
                input_tokens=reply.prompt_tokens,
                output_tokens=reply.completion_tokens,
                total_tokens=reply.prompt_tokens + reply.completion_tokens,
            )
        return output

    async def aclose(self) -> None:
        """Close connections."""
        await self.sender.close()

    def should_retry(self, ex: BaseException) -> RetryDecision:
        """What may pass is asked again; a server that is asked too often also lowers concurrency."""
        if isinstance(ex, RateLimitedError):
            return RetryDecision.rate_limit(retry_after=ex.wait_s)
        return RetryDecision.transient() if isinstance(ex, TransientError) else RetryDecision.no()

    def retry_wait(self) -> Any:
        """Growing waits, or what the server asks for."""
        return self.persistence.wait

    def connection_key(self) -> str:
        """One limit for each model and address."""
        return place(self.endpoint)

    async def _asked(self, request: _Request) -> Reply:
        messages = request.messages
        if self.picture is not None and any(message.images for message in messages):
            messages = [await self._with_pictures(message) for message in messages]
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

    async def _with_pictures(self, message: Message) -> Message:
        assert self.picture is not None
        images = [await self.picture(image) for image in message.images]
        return Message(message.role, message.text, tuple(images))

    async def _sent(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Reply:
        reserved = None
        if self.budget is not None:
            most = most_prompt_tokens(messages, schema, self.endpoint.image_tokens)
            while True:
                reserved = self.budget.try_reserve(most, self.endpoint.max_tokens, self.endpoint.prices)
                if reserved is not None:
                    break
                await asyncio.sleep(BUDGET_WAIT_S)
        sent = Sent()
        try:
            sent = await self.sender.send(messages, schema)
        finally:
            if self.budget is not None and reserved is not None:
                self.budget.settle(reserved, sent.prompt_tokens, sent.completion_tokens)
        if sent.reply is None:
            raise sent.error or ModelError(f"{place(self.endpoint)} gave nothing")
        return sent.reply

    @property
    def _refused_schemas(self) -> set[str]:
        return self.__dict__.setdefault("refused_schemas", set())  # type: ignore[no-any-return]


@dataclass
class ServedModel:
    """An `AsyncModel` that inspect_ai runs."""

    name: str
    sees_images: bool
    sampling: Mapping[str, Json]
    model: Any
    """inspect_ai's own Model, for `eval`."""
    asked: int = 0
    """Questions, those answered from kept replies too."""
    kept: int = 0
    """Questions answered from kept replies."""
    peak_memory: Callable[[], Mapping[str, int]] | None = None
    """Bytes in use at most, where the model runs in this process."""
    _under_way: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """One reply.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the reply shall follow.
            sample: Number of the sample, where the same is asked several times for several replies.

        Raises:
            ModelError: There is no reply to be had.
            BudgetError: A limit would be passed.
        """
        key = reply_key(self.name, messages, schema=schema, sampling=self.sampling, sample=sample)
        # Paths of one video begin alike: what is being asked now is not asked a second time beside it.
        async with self._under_way.setdefault(key, asyncio.Lock()):
            reply = await self._generated(_Request(messages, schema, key))
        self.asked += 1
        self.kept += reply.cached
        return reply

    async def _generated(self, request: "_Request") -> Reply:
        token = _REQUEST.set(request)
        try:
            await self.model.generate([chat_message(message, pictures=False) for message in request.messages])
        except Exception as raised:
            # inspect_ai, after its last attempt, wraps what was raised in a RetryError.
            attempt: Any = getattr(raised, "last_attempt", None)
            error = (attempt.exception() if attempt is not None else None) or raised
            if isinstance(error, BudgetError) or not isinstance(error, TransientError):
                raise error from None
            raise ModelError(f"{error} (asked {attempt.attempt_number} times)" if attempt else str(error)) from None
        finally:
            _REQUEST.reset(token)
        assert request.reply is not None
        return request.reply


def served_model(
    endpoint: Endpoint,
    sender: Sender,
    store: ReplyStore,
    *,
    connections: int,
    budget: Budget | None = None,
    picture: Picture | None = None,
    sees_images: bool = True,
) -> ServedModel:
    """A model for an evaluation.

    Args:
        endpoint: How it is asked.
        sender: Who sends requests.
        store: Where replies are kept.
        connections: Most requests at a time; fewer after a server said that it is asked too often.
        budget: Limits; every request counts, those that are sent again too.
        picture: Gives the JPEG files for what messages hold in place of pictures.
        sees_images: Whether the model takes pictures.

    Raises:
        SettingError: The budget is in money, and the endpoint names no prices.
    """
    check_prices(endpoint, budget)
    config = GenerateConfig(
        **endpoint.sampling,
        max_retries=endpoint.max_retries,
        adaptive_connections=AdaptiveConcurrency(min=1, start=connections, max=connections),
    )
    model: Any = get_model(f"{PROVIDER}/{endpoint.model}", config=config, base_url=endpoint.base_url, memoize=False)
    api = model.api
    api.sender, api.endpoint, api.store, api.budget, api.picture = sender, endpoint, store, budget, picture
    api.persistence = Persistence(
        endpoint.max_retries, backoff_s=endpoint.backoff_s, longest_wait_s=endpoint.longest_wait_s
    )
    return ServedModel(endpoint.model, sees_images, endpoint.sampling, model)
