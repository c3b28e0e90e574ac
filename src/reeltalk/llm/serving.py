"""The models that an evaluation asks: many questions at a time, through inspect_ai, so that its log shows them all.

A reply that is kept is never asked for again, every request counts against the budget, and concurrency goes down where
a server says that it is asked too often. One home of `inspect_ai` and of `openai`; loaded only where a model is asked.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
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

from reeltalk.llm.breaker import Breaker
from reeltalk.llm.budget import Budget
from reeltalk.llm.client import ModelClient, Picture, Request
from reeltalk.llm.dialect import profile
from reeltalk.llm.model import Endpoint, Message, Reply
from reeltalk.llm.replies import ReplyStore, reply_key
from reeltalk.llm.retrying import TransientError, asked_in_vain
from reeltalk.llm.scrubbing import public_address
from reeltalk.llm.senders import chat_message, inspect_sampling
from reeltalk.llm.wire import RateLimitedError, Sender, place
from reeltalk.schema.record import Json

PROVIDER: Final = "reeltalk"
"""Under this name inspect_ai's logs show our models."""


@dataclass
class _KeptRequest(Request):
    """What is asked now; inspect_ai's own messages are only what its log shows."""

    key: str = ""
    reply: Reply | None = None


_REQUEST: ContextVar[_KeptRequest] = ContextVar("reeltalk_request")


@modelapi(name=PROVIDER)
class ServedAPI(ModelAPI):
    """Our models as inspect_ai sees them. Made by `served_model`, which sets what it needs."""

    client: ModelClient
    store: ReplyStore

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        """The reply that is kept, else a new one."""
        request = _REQUEST.get()
        reply = self.store.get(request.key)
        if reply is None:
            reply = self.store.put(request.key, await self.client.attempt(request))
        else:
            self.client.breaker.kept()
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
        await self.client.close()

    def should_retry(self, ex: BaseException) -> RetryDecision:
        """What may pass is asked again; a server that is asked too often also lowers concurrency."""
        request = _REQUEST.get()
        if not isinstance(ex, TransientError) or not self.client.goes_on(request, ex):
            return RetryDecision.no()
        limited = isinstance(ex, RateLimitedError)
        return RetryDecision.rate_limit(retry_after=ex.wait_s) if limited else RetryDecision.transient()

    def retry_wait(self) -> Any:
        """None: inspect_ai could not be woken from it. The next attempt waits."""
        return lambda state: 0.0

    def connection_key(self) -> str:
        """One limit for each model and address."""
        return place(self.client.endpoint)


@dataclass
class ServedModel:
    """An `AsyncModel` that inspect_ai runs."""

    name: str
    sees_images: bool
    asked_sampling: Mapping[str, Json]
    """What the user asked for; replies are kept under it, whatever the server's dialect leaves out."""
    model: Any
    """inspect_ai's own Model, for `eval`."""
    asked: int = 0
    """Questions, those answered from kept replies too."""
    kept: int = 0
    """Questions answered from kept replies."""
    peak_memory: Callable[[], Mapping[str, int]] | None = None
    """Bytes in use at most, where the model runs in this process."""
    _under_way: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def sampling(self) -> Mapping[str, Json]:
        """What is really sent of temperature, longest reply and seed."""
        client: ModelClient = self.model.api.client
        return client.sender.sampling

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
            OutageError: The model answers nobody.
            BudgetError: A limit would be passed.
        """
        key = reply_key(self.name, messages, schema=schema, sampling=self.asked_sampling, sample=sample)
        # Paths of one video begin alike: what is being asked now is not asked a second time beside it.
        async with self._under_way.setdefault(key, asyncio.Lock()):
            reply = await self._generated(_KeptRequest(messages, schema, key=key))
        self.asked += 1
        self.kept += reply.cached
        return reply

    async def _generated(self, request: _KeptRequest) -> Reply:
        token = _REQUEST.set(request)
        try:
            await self.model.generate([chat_message(message, pictures=False) for message in request.messages])
        except TransientError as error:
            raise asked_in_vain(error, request.times) from None
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
    breaker: Breaker | None = None,
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
        breaker: Ends all requests where the model answers nobody; a new one by default.

    Raises:
        SettingError: The budget is in money, and the endpoint names no prices.
    """
    client = ModelClient(endpoint, sender, budget=budget, breaker=breaker, picture=picture)
    config = GenerateConfig(
        **inspect_sampling(profile(endpoint), endpoint),
        adaptive_connections=AdaptiveConcurrency(min=1, start=connections, max=connections),
    )
    # inspect_ai writes it into its logs.
    address = None if endpoint.base_url is None else public_address(endpoint.base_url)
    model: Any = get_model(f"{PROVIDER}/{endpoint.model}", config=config, base_url=address, memoize=False)
    model.api.client, model.api.store = client, store
    return ServedModel(endpoint.model, sees_images, endpoint.sampling, model)
