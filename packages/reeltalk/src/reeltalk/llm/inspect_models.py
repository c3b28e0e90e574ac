"""Models of inspect_ai's providers. Importing inspect_ai is slow: import this module only for such a model."""

import time
from collections.abc import Sequence
from typing import Any, Final

from reeltalk.errors import OF_ONE_REQUEST, MissingExtraError, ModelError
from reeltalk.llm.connections import Queue
from reeltalk.llm.dialect import Dialect, DialectLearner, DialectStore, schema_name
from reeltalk.llm.model import INSPECT, Endpoint, Message, Reply
from reeltalk.llm.retrying import TransientError
from reeltalk.llm.scrubbing import scrub, secrets_of
from reeltalk.llm.wire import (
    LearnedError,
    RateLimitedError,
    RefusedError,
    Sent,
    data_url,
    failure_kind,
    failure_of_request,
    is_spent,
    is_unreached,
    kind_of_request,
    kind_of_status,
    no_answer_within,
    start_on_one_line,
    status_of,
    token_logprobs,
)
from reeltalk.schema.record import Json

try:
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
except ImportError:
    raise MissingExtraError("a model of a provider of inspect_ai", extra="inspect") from None

REFUSALS: Final = {"content_filter": "is refused for its content", "model_length": "is too long for the model"}
"""What inspect_ai's reasons for the end of a reply say about the request."""


class InspectSender:
    """Sends requests through a provider of inspect_ai, as `openai/gpt-4o`."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        batch: bool = False,
        store: DialectStore | None = None,
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
        self.learner, self._secrets = DialectLearner(endpoint, store), secrets_of(endpoint, None)
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
        self._queue = Queue()

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed as they are sent, and the arguments of the provider."""
        return inspect_sampling(self.learner.dialect, self.endpoint) | self._model_args

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None, sample: int = 0) -> Sent:
        """Send one request."""
        dialect = self.learner.dialect
        asked: dict[str, Any] = inspect_sampling(dialect, self.endpoint.of_sample(sample))
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
            async with self._queue.reply_within(self._timeout_s):
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
            problem = ModelError(f"{self._name}: {scrub(output.error, self._secrets)}", kind="reply")
            return Sent(None, problem, *tokens)
        if output.stop_reason in REFUSALS and (not text or output.usage is None):
            # Providers turn such a refusal into a reply whose text is the error.
            words = f" ({start_on_one_line(scrub(text, self._secrets))})" if text else ""
            told = f"{self._name} gave no answer: {OF_ONE_REQUEST} {REFUSALS[output.stop_reason]}{words}"
            return Sent(None, ModelError(told, kind=kind_of_request(REFUSALS[output.stop_reason])), *tokens)
        if not text and output.stop_reason == "max_tokens":
            return Sent(None, ModelError(f"{self._name} {no_answer_within(self.endpoint)}", kind="empty"), *tokens)
        if not text:
            return Sent(None, TransientError(f"{self._name} gave an empty reply", kind="empty"), *tokens)
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
        status, body = status_of(error), getattr(error, "body", None)
        if status is not None and is_spent(status, f"{error} {body}"):
            return RefusedError(problem, status, kind="quota")
        decision: Any = self.api.should_retry(error)
        if decision:
            wait_s = getattr(decision, "retry_after", None)
            if getattr(decision, "kind", None) == "rate_limit":
                return RateLimitedError(problem, kind="busy", wait_s=wait_s)
            return TransientError(problem, kind=failure_kind(error), wait_s=wait_s, reached=not is_unreached(error))
        if status is None:
            return ModelError(problem, kind=failure_kind(error))
        if (what := failure_of_request(status, f"{error} {body}")) is not None:
            return RefusedError(f"{problem} ({OF_ONE_REQUEST} {what})", status, kind=kind_of_request(what))
        if self.learner.refused(dialect, asked, status, str(error) if body is None else body):
            return LearnedError(problem, status)
        return RefusedError(problem, status, kind=kind_of_status(status, str(body or error)))


def chat_message(message: Message) -> Any:
    """A message in the format of inspect_ai."""
    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    content: Any = message.text
    if message.images:
        content = []
        for place, image in enumerate(message.images):
            if message.captions:
                content.append(ContentText(text=message.captions[place]))
            content.append(ContentImage(image=data_url(image)))
        content.append(ContentText(text=message.text))
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
