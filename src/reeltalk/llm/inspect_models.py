"""Models asked through inspect_ai: its providers, and the models of an evaluation, so that its log shows them all.

A kept reply is never asked for again, every request counts against the budget, and concurrency decreases if a server
receives too many requests. Importing inspect_ai is slow: import this module only if a model is asked.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakValueDictionary

from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    ResponseSchema,
    RetryDecision,
    get_model,
    modelapi,
)
from inspect_ai.util import AdaptiveConcurrency

from reeltalk.errors import ModelError, ReeltalkError
from reeltalk.llm.budget import Budget
from reeltalk.llm.client import ModelClient, Picture, Request
from reeltalk.llm.dialect import Dialect, DialectLearner, DialectStore, known_dialect, schema_name
from reeltalk.llm.model import INSPECT, AsyncModel, Endpoint, Message, Reply
from reeltalk.llm.replies import ReplyStore, reply_key
from reeltalk.llm.retrying import Breaker, TransientError, final_error
from reeltalk.llm.scrubbing import public_address, scrub, secrets_of
from reeltalk.llm.wire import (
    LearnedError,
    RateLimitedError,
    RefusedError,
    Sender,
    Sent,
    data_url,
    describe_endpoint,
    failure_kind,
    is_unreached,
    no_answer_within,
    status_of,
    token_logprobs,
)
from reeltalk.schema.record import Json


class InspectSender:
    """Sends requests through a provider of inspect_ai, as `openai/gpt-4o`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        batch: bool = False,
        kept: DialectStore | None = None,
        **model_args: Any,
    ) -> None:
        """Open the provider.

        Args:
            endpoint: The model, as `inspect:PROVIDER/MODEL`, and how it is asked.
            batch: Use the provider's batch API, if inspect_ai supports it: cheaper and much slower.
            kept: Store of dialects.
            model_args: Arguments that inspect_ai's `get_model` passes to the provider.

        Raises:
            ModelError: inspect_ai does not know the model, or a key is missing.
        """
        self.endpoint, self._name = endpoint, endpoint.model
        spec = endpoint.model.removeprefix(INSPECT)
        self.learner, self._secrets = DialectLearner(endpoint, kept), secrets_of(endpoint, None)
        self._model_args = dict(model_args)
        self._config = GenerateConfig(max_retries=0)
        if batch:
            self._config.batch = True
        try:
            # A provider that runs its model in this process reads `max_tokens` here and not in requests.
            config = self._config.model_copy(update={"max_tokens": endpoint.max_tokens})
            model: Any = get_model(spec, base_url=endpoint.base_url, config=config, memoize=False, **model_args)
        except Exception as error:
            raise ModelError(f"inspect_ai cannot open {spec}: {scrub(str(error), self._secrets)}") from None
        self.api: Any = model.api
        # The packages of OpenAI, Anthropic and others retry by themselves, below inspect_ai.
        client: Any = getattr(self.api, "client", None)
        if hasattr(client, "max_retries"):
            client.max_retries = 0
        self._timeout_s = None if batch else endpoint.timeout_s

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed as they are sent, and the arguments of the provider."""
        return inspect_sampling(self.learner.dialect, self.endpoint) | self._model_args

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """Send one request."""
        dialect = self.learner.dialect
        asked: dict[str, Any] = inspect_sampling(dialect, self.endpoint)
        config = self._config.model_copy(update=asked)
        if (
            schema is not None
            and dialect.takes("response_format")
            and (plain := without_references(schema)) is not None
        ):
            config.response_schema = ResponseSchema(name=schema_name(schema), json_schema=plain)
            asked["response_format"] = plain
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout_s):
                output: Any = await self.api.generate(
                    [chat_message(message) for message in messages], [], "none", config
                )
        except TimeoutError:
            return Sent(
                error=TransientError(f"{self._name} gave no reply within {self._timeout_s:g} s", kind="time-out")
            )
        except Exception as error:
            return Sent(error=self._problem(error, dialect, asked))
        output = output[0] if isinstance(output, tuple) else output
        if isinstance(output, Exception):
            return Sent(error=self._problem(output, dialect, asked))
        tokens = (output.usage.input_tokens, output.usage.output_tokens) if output.usage else (None, None)
        text = output.completion.strip()
        if output.error:
            return Sent(None, ModelError(f"{self._name}: {scrub(output.error, self._secrets)}"), *tokens)
        if not text and output.stop_reason == "max_tokens":
            return Sent(None, ModelError(f"{self._name} {no_answer_within(self.endpoint)}", kind="reply"), *tokens)
        if not text:
            return Sent(None, TransientError(f"{self._name} gave an empty reply", kind="reply"), *tokens)
        cut_off = output.stop_reason == "max_tokens"
        took_s = time.monotonic() - began_s
        told = output.completion if self.endpoint.keeps_space else text
        kept = output.choices[0].logprobs if self.endpoint.logprobs and output.choices else None
        logprobs = None if kept is None else token_logprobs(kept.model_dump())
        reply = Reply(told, output.model or self._name, tokens[0], tokens[1], cut_off, took_s=took_s, logprobs=logprobs)
        return Sent(reply, None, *tokens)

    async def close(self) -> None:
        await self.api.aclose()

    def _problem(self, error: Exception, dialect: Dialect, asked: dict[str, Any]) -> ModelError:
        problem = f"{self._name}: {scrub(str(error), self._secrets) or type(error).__name__}"
        decision: Any = self.api.should_retry(error)
        if decision:
            wait_s = getattr(decision, "retry_after", None)
            if getattr(decision, "kind", None) == "rate_limit":
                return RateLimitedError(problem, kind="busy", wait_s=wait_s)
            return TransientError(problem, kind=failure_kind(error), wait_s=wait_s, reached=not is_unreached(error))
        status = status_of(error)
        if status is None:
            return ModelError(problem, kind=failure_kind(error))
        body = getattr(error, "body", None)
        if self.learner.refused(dialect, asked, status, str(error) if body is None else body):
            return LearnedError(problem, status)
        return RefusedError(problem, status)


class ModelSender:
    """Passes requests to an `AsyncModel` of this process, as a local video model."""

    def __init__(self, model: AsyncModel) -> None:
        self.model = model

    @property
    def sampling(self) -> dict[str, Json]:
        """The sampling of the model."""
        return dict(self.model.sampling)

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None) -> Sent:
        """Send one request."""
        try:
            reply = await self.model.ask(messages, schema=schema)
        except ReeltalkError as error:
            return Sent(error=error)
        return Sent(reply, None, reply.prompt_tokens, reply.completion_tokens)

    async def close(self) -> None:
        """Do nothing: the owner of the model closes it."""


def chat_message(message: Message, *, pictures: bool = True) -> Any:
    """A message in the format of inspect_ai.

    Args:
        message: Our message.
        pictures: True to send its pictures; otherwise the text says how many there are.
    """
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    content: Any = message.text
    if message.images and pictures:
        content = [ContentImage(image=data_url(image)) for image in message.images]
        content.append(ContentText(text=message.text))
    elif message.images:
        content = f"[{len(message.images)} frames]\n{message.text}"
    return kinds[message.role](content=content)


def inspect_sampling(dialect: Dialect, endpoint: Endpoint) -> dict[str, Json]:
    """Temperature, longest reply, seed and effort as they are sent, by inspect_ai's names; providers rename them."""
    sent = dialect.sampling(endpoint)
    longest = sent.pop("max_completion_tokens", None)
    return sent if longest is None else {"max_tokens": longest} | sent


def without_references(schema: dict[str, Json]) -> dict[str, Json] | None:
    """A JSON schema in the keywords that inspect_ai knows: inlined definitions, `anyOf`, `enum`.

    Returns:
        None if that is impossible, as with a recursive definition: half a schema would ask for other replies.
    """
    definitions = schema.get("$defs", {})

    def plain(node: Any, within: tuple[str, ...]) -> Any:
        if isinstance(node, list):
            return [plain(item, within) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = str(node["$ref"]).removeprefix("#/$defs/")
            if name in within or name not in definitions:
                raise LookupError(name)
            return plain(definitions[name] | {key: node[key] for key in node if key != "$ref"}, (*within, name))
        new: dict[str, Any] = {}
        for key, value in node.items():
            if key == "properties":
                new[key] = {name: plain(inner, within) for name, inner in value.items()}
            elif key == "const":
                new["enum"] = [value]
            elif key in ("allOf", "not", "prefixItems", "patternProperties"):
                raise LookupError(key)
            elif key not in ("$defs", "discriminator"):
                new["anyOf" if key == "oneOf" else key] = plain(value, within)
        return new

    try:
        return dict(plain(schema, ()))
    except LookupError:
        return None


PROVIDER: Final = "reeltalk"
"""Name of our provider in the logs of inspect_ai."""


@dataclass
class _KeptRequest(Request):
    """The request under way. The messages that inspect_ai passes are only for its log."""

    key: str = ""
    reply: Reply | None = None


_REQUEST: ContextVar[_KeptRequest] = ContextVar("reeltalk_request")


@modelapi(name=PROVIDER)
class ServedAPI(ModelAPI):
    """Our models as a provider of inspect_ai. Created by `create_served_model`, which sets the attributes."""

    client: ModelClient
    store: ReplyStore

    async def generate(self, input: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        """The kept reply, or a new one."""
        request = _REQUEST.get()
        reply = self.store.get(request.key)
        if reply is None:
            reply = self.store.put(request.key, await self.client.attempt(request))
        else:
            self.client.breaker.record_kept()
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
        await self.client.close()

    def should_retry(self, ex: BaseException) -> RetryDecision:
        """Retry transient failures. Too many requests also lower concurrency."""
        request = _REQUEST.get()
        if not isinstance(ex, TransientError) or not self.client.should_retry(request, ex):
            return RetryDecision.no()
        limited = isinstance(ex, RateLimitedError)
        return RetryDecision.rate_limit(retry_after=ex.wait_s) if limited else RetryDecision.transient()

    def retry_wait(self) -> Any:
        """No wait here, since inspect_ai could not be woken from it. The next attempt waits."""
        return lambda state: 0.0

    def connection_key(self) -> str:
        """One limit for each model and address."""
        return describe_endpoint(self.client.endpoint)


@dataclass
class ServedModel:
    """An `AsyncModel` that inspect_ai runs."""

    name: str
    sees_images: bool
    asked_sampling: Mapping[str, Json]
    """Sampling as the user set it; kept replies are found by it, even if the server's dialect leaves some of it out."""
    model: Any
    """inspect_ai's own Model, for `eval`."""
    asked: int = 0
    """Number of questions, including those answered from kept replies."""
    kept: int = 0
    """Number of questions answered from kept replies."""
    peak_memory: Callable[[], Mapping[str, int]] | None = None
    """Returns the peak memory in bytes, if the model runs in this process."""
    _under_way: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)

    @property
    def sampling(self) -> Mapping[str, Json]:
        """Temperature, longest reply and seed as they are sent."""
        client: ModelClient = self.model.api.client
        return client.sender.sampling

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """Ask for one reply.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the reply shall follow.
            sample: Number of the sample, if the same is asked several times.

        Raises:
            ModelError: There is no reply.
            OutageError: The server fails for every request.
            BudgetError: A limit would be passed.
        """
        key = reply_key(self.name, messages, schema=schema, sampling=self.asked_sampling, sample=sample)
        # Paths of one video begin alike: an equal request under way is awaited, not sent a second time.
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
            raise final_error(error, request.times) from None
        finally:
            _REQUEST.reset(token)
        assert request.reply is not None
        return request.reply


def create_served_model(
    endpoint: Endpoint,
    sender: Sender,
    store: ReplyStore,
    *,
    connections: int,
    budget: Budget | None = None,
    picture: Picture | None = None,
    sees_images: bool = True,
    breaker: Breaker | None = None,
    arguments: Mapping[str, Json] | None = None,
) -> ServedModel:
    """Create a model for an evaluation.

    Args:
        endpoint: The model.
        sender: Sends the requests.
        store: Stores the replies.
        connections: Most requests at a time; fewer after the server received too many requests.
        budget: Limits; every request counts, retries too.
        picture: Returns the JPEG files for the references that messages hold in place of pictures.
        sees_images: True if the model takes pictures.
        breaker: Stops all requests if the server is dead; a new one by default.
        arguments: Arguments of the provider that change replies. Kept replies are found by them, too.

    Raises:
        SettingError: The budget limits the cost, and the endpoint has no prices.
    """
    client = ModelClient(endpoint, sender, budget=budget, breaker=breaker, picture=picture)
    config = GenerateConfig(
        **inspect_sampling(known_dialect(endpoint), endpoint),
        adaptive_connections=AdaptiveConcurrency(min=1, start=connections, max=connections),
    )
    # inspect_ai writes it into its logs.
    address = None if endpoint.base_url is None else public_address(endpoint.base_url)
    model: Any = get_model(f"{PROVIDER}/{endpoint.model}", config=config, base_url=address, memoize=False)
    model.api.client, model.api.store = client, store
    return ServedModel(endpoint.model, sees_images, endpoint.sampling | dict(arguments or {}), model)
