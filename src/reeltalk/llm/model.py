"""What a language model is to reeltalk, and one behind any OpenAI-compatible endpoint.

The home of the `openai` package. A reply is data: nothing here acts on what it says.
"""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.errors import MissingExtraError, ModelError, SettingError
from reeltalk.llm.budget import Budget, Prices
from reeltalk.llm.retrying import Persistence, TransientError, retry_after
from reeltalk.schema.record import Json

PASSING_STATUS: Final = frozenset({408, 409, 429})
"""With all from 500 on, those after which the same request is sent again."""
REFUSED_SCHEMA_STATUS: Final = frozenset({400, 422})
"""How servers answer a `response_format` that they do not know."""
MESSAGE_TOKENS: Final = 16
"""More than any chat template that we know of adds to a message."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    text: str
    images: tuple[bytes, ...] = ()
    """JPEG files; they stand before the text."""


class Endpoint(BaseModel):
    """Which model answers, where, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    model: str
    """Name of the model, as the server knows it."""
    base_url: str | None = None
    """Address of an OpenAI-compatible server, as http://localhost:8000/v1; OpenAI's own by default."""
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    """Sampling temperature."""
    max_tokens: Annotated[int, Field(ge=1)] = 2048
    """Longest reply."""
    seed: int | None = 17
    """Seed, where the server knows one."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for one reply."""
    max_retries: Annotated[int, Field(ge=0)] = 5
    """How often a request that failed on the way is sent again."""
    backoff_s: Annotated[float, Field(ge=0)] = 1.0
    """Wait before a request is sent again; each further one is twice as long, with jitter."""
    longest_wait_s: Annotated[float, Field(ge=0)] = 60.0
    """Longest wait before a request is sent again, whatever the server asks for."""
    image_tokens: Annotated[int, Field(ge=0)] = 2048
    """Most tokens that the server counts for one picture: what a budget sets aside for it."""
    price_in: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens of prompt; a budget of money needs it."""
    price_out: Annotated[float, Field(ge=0)] | None = None
    """Price of a million tokens of reply; a budget of money needs it."""

    @property
    def sampling(self) -> dict[str, Json]:
        """What a reply depends on beside the model and the messages."""
        return {"temperature": self.temperature, "max_tokens": self.max_tokens, "seed": self.seed}

    @property
    def prices(self) -> Prices | None:
        """Both prices, where both are known."""
        if self.price_in is None or self.price_out is None:
            return None
        return Prices(input=self.price_in, output=self.price_out)


@dataclass(frozen=True)
class Reply:
    """What a model answered."""

    text: str
    model: str
    """Name that the server gave."""
    prompt_tokens: int | None
    completion_tokens: int | None
    cut_off: bool
    """True where the reply ended at `max_tokens`."""
    cached: bool = False
    """True where it was kept from an earlier run and cost nothing now."""


class Model(Protocol):
    """Whatever answers messages; safe to share among threads."""

    @property
    def name(self) -> str:
        """Name of the model, the same wherever it runs."""
        ...

    @property
    def sees_images(self) -> bool:
        """True where messages may hold pictures."""
        ...

    @property
    def sampling(self) -> Mapping[str, Json]:
        """What a reply depends on beside the model and the messages, as temperature and seed."""
        ...

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """The next message of the conversation.

        Args:
            messages: The conversation so far.
            schema: JSON schema that the reply shall follow. Not every server enforces it.

        Raises:
            ModelError: There is no reply to be had.
            BudgetError: A limit would be passed.
        """
        ...

    def close(self) -> None:
        """Close connections; whoever waits for a reply gives up soon."""
        ...


class _RefusedError(ModelError):
    def __init__(self, problem: str, status: int) -> None:
        self.status = status
        super().__init__(problem)


# What we read of an answer. Servers leave out or add what they like besides.
class _AnswerMessage(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _AnswerChoice(BaseModel):
    message: _AnswerMessage
    finish_reason: str | None = None


class _AnswerUsage(BaseModel):
    prompt_tokens: Annotated[int, Field(ge=0)] | None = None
    completion_tokens: Annotated[int, Field(ge=0)] | None = None


class _Answer(BaseModel):
    model: str | None = None
    choices: list[_AnswerChoice] = Field(default_factory=list)
    usage: _AnswerUsage | None = None


class LanguageModel:
    """A model behind an OpenAI-compatible endpoint."""

    def __init__(
        self, endpoint: Endpoint, *, api_key: str | None = None, budget: Budget | None = None, sees_images: bool = True
    ) -> None:
        """Connect lazily.

        Args:
            endpoint: Which model, and where.
            api_key: Key of the server; a local one usually needs none.
            budget: Limits; every request counts, those that are sent again too.
            sees_images: Whether the model takes pictures.

        Raises:
            MissingExtraError: The `openai` package is not installed.
            SettingError: The budget is in money, and the endpoint names no prices.
        """
        try:
            import openai
        except ImportError:
            raise MissingExtraError("asking a language model", extra="llm") from None
        check_prices(endpoint, budget)
        self.endpoint, self.sees_images, self._budget, self._errors = endpoint, sees_images, budget, openai
        self._persistence = Persistence(
            endpoint.max_retries, backoff_s=endpoint.backoff_s, longest_wait_s=endpoint.longest_wait_s
        )
        # Requests are sent again here and not by the package, for each one counts against the budget.
        self._client = openai.OpenAI(
            api_key=api_key or "none", base_url=endpoint.base_url, timeout=endpoint.timeout_s, max_retries=0
        )
        self._refused_schemas: set[str] = set()

    @property
    def name(self) -> str:
        """Name of the model, as the server knows it."""
        return self.endpoint.model

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed."""
        return self.endpoint.sampling

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        """One reply. A server that refuses the schema is asked without it, from then on at once.

        Raises:
            ModelError: The server cannot be reached, refuses, or answers with nothing, again and again.
            BudgetError: A limit would be passed.
            ValueError: A message holds pictures and the model sees none.
        """
        if not self.sees_images and any(message.images for message in messages):
            raise ValueError(f"{self.name} sees no pictures, but a message holds some")
        sent = [_on_the_wire(message) for message in messages]
        most = most_prompt_tokens(messages, schema, self.endpoint.image_tokens)
        canonical = json.dumps(schema, sort_keys=True)
        if schema is None or canonical in self._refused_schemas:
            return self._persistence(lambda: self._once(sent, None, most))
        try:
            return self._persistence(lambda: self._once(sent, schema, most))
        except _RefusedError as refusal:
            if refusal.status not in REFUSED_SCHEMA_STATUS:
                raise
        reply = self._persistence(lambda: self._once(sent, None, most))
        # Only now is it certain that the schema was what the server did not like.
        self._refused_schemas.add(canonical)
        return reply

    def close(self) -> None:
        """Close connections; whoever waits to ask again gives up."""
        self._persistence.stop()
        self._client.close()

    def _once(self, sent: list[Any], schema: dict[str, Json] | None, most_tokens: int) -> Reply:
        errors, endpoint = self._errors, self.endpoint
        where = f"{endpoint.model} at {endpoint.base_url or 'the default endpoint'}"
        more: dict[str, Any] = {}
        if schema is not None:
            title = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "reply"))[:64]
            more["response_format"] = {"type": "json_schema", "json_schema": {"name": title, "schema": schema}}
        reserved = self._budget.reserve(most_tokens, endpoint.max_tokens, endpoint.prices) if self._budget else None
        # What was set aside counts, unless the server says what it took.
        prompt_tokens: int | None = None
        completion_tokens: int | None = None
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                model=endpoint.model,
                messages=sent,
                temperature=endpoint.temperature,
                max_tokens=endpoint.max_tokens,
                seed=endpoint.seed,
                **more,
            )
            # Read by ourselves: the package takes any body for an answer.
            answer = _Answer.model_validate_json(raw.content)
            usage = answer.usage or _AnswerUsage()
            prompt_tokens, completion_tokens = usage.prompt_tokens, usage.completion_tokens
        except errors.APITimeoutError:
            raise TransientError(f"{where} gave no reply within {endpoint.timeout_s:g} s") from None
        except errors.APIConnectionError as error:
            cause = one_line(str(error.__cause__ or error))
            raise TransientError(
                f"{endpoint.base_url or 'the default endpoint'} cannot be reached: {cause}; check --base-url"
            ) from None
        except errors.APIStatusError as error:
            problem = f"{where} answered {error.status_code}: {one_line(error.message)}"
            if error.status_code in PASSING_STATUS or error.status_code >= 500:
                if error.status_code < 500:
                    prompt_tokens = completion_tokens = 0
                raise TransientError(problem, wait_s=retry_after(error.response.headers)) from None
            prompt_tokens = completion_tokens = 0
            raise _RefusedError(problem, error.status_code) from None
        except errors.OpenAIError as error:
            raise ModelError(f"{where}: {one_line(str(error))}") from None
        except ValidationError as error:
            raise TransientError(f"{where} sent no valid answer: {first_problem(error)}") from None
        finally:
            if self._budget and reserved:
                self._budget.settle(reserved, prompt_tokens, completion_tokens)
        choice = answer.choices[0] if answer.choices else None
        text = ((choice.message.content or choice.message.refusal or "") if choice else "").strip()
        if choice is not None and not text and choice.finish_reason == "length":
            raise ModelError(f"{where} wrote no answer within {endpoint.max_tokens:,} tokens; allow a longer reply")
        if choice is None or not text:
            raise TransientError(f"{where} gave an empty reply")
        return Reply(
            text=text,
            model=answer.model or endpoint.model,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cut_off=choice.finish_reason == "length",
        )


def check_prices(endpoint: Endpoint, budget: Budget | None) -> None:
    """Refuse a budget of money for a model without prices.

    Raises:
        SettingError: The budget is in money, and the endpoint names no prices.
    """
    if budget is not None and budget.max_cost is not None and endpoint.prices is None:
        raise SettingError(
            f"a limit on cost needs the prices of {endpoint.model}; give its price of input and of output tokens"
        )


def most_prompt_tokens(messages: Sequence[Message], schema: dict[str, Json] | None, image_tokens: int) -> int:
    """No prompt has more tokens: byte-level vocabularies, which all current models have, spend one a byte at most."""
    tokens = len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "replace")) if schema is not None else 0
    for message in messages:
        tokens += len(message.text.encode("utf-8", "replace")) + MESSAGE_TOKENS + len(message.images) * image_tokens
    return tokens


def data_url(jpeg: bytes) -> str:
    """A JPEG file as a `data:` address."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


def one_line(text: str) -> str:
    """The beginning of a message on one line."""
    return " ".join(text.split())[:300]


def first_problem(error: ValidationError) -> str:
    """Place and kind of the first problem, without the value."""
    problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    return one_line(f"{place}: {message}" if place else message)


def _on_the_wire(message: Message) -> dict[str, Any]:
    if not message.images:
        return {"role": message.role, "content": message.text}
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images
    ]
    parts.append({"type": "text", "text": message.text})
    return {"role": message.role, "content": parts}
