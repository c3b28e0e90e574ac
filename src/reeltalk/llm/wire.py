"""What goes over the wire to an OpenAI-compatible endpoint, and what comes back: shared by all who ask one.

A reply is read by ourselves: the package takes any body for an answer.
"""

import base64
import json
import re
from collections.abc import Sequence
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field, ValidationError

from reeltalk.errors import ModelError
from reeltalk.llm.model import Endpoint, Message, Reply
from reeltalk.llm.retrying import TransientError, retry_after
from reeltalk.schema.record import Json

PASSING_STATUS: Final = frozenset({408, 409, 429})
"""With all from 500 on, those after which the same request is sent again."""
REFUSED_SCHEMA_STATUS: Final = frozenset({400, 422})
"""How servers answer a `response_format` that they do not know."""
MESSAGE_TOKENS: Final = 16
"""More than any chat template that we know of adds to a message."""


class RefusedError(ModelError):
    """A server that will not answer this request, however often it is sent."""

    def __init__(self, problem: str, status: int) -> None:
        self.status = status
        super().__init__(problem)


class RateLimitedError(TransientError):
    """A server that is asked too often."""


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


class Answer(BaseModel):
    """The body of an answer."""

    model: str | None = None
    choices: list[_AnswerChoice] = Field(default_factory=list)
    usage: _AnswerUsage | None = None

    @classmethod
    def read(cls, content: bytes | str, endpoint: Endpoint) -> "Answer":
        """An answer from the bytes of a body.

        Raises:
            TransientError: It is none.
        """
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            raise TransientError(f"{place(endpoint)} sent no valid answer: {first_problem(error)}") from None

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Tokens of the prompt and of the reply, where the server says."""
        usage = self.usage or _AnswerUsage()
        return usage.prompt_tokens, usage.completion_tokens

    def reply(self, endpoint: Endpoint, *, took_s: float | None = None, first_token_s: float | None = None) -> Reply:
        """The reply in an answer.

        Raises:
            ModelError: The reply was cut off before it said anything.
            TransientError: It is empty.
        """
        where = place(endpoint)
        choice = self.choices[0] if self.choices else None
        came = (choice.message.content or choice.message.refusal or "") if choice else ""
        text = came.strip()
        if choice is not None and not text and choice.finish_reason == "length":
            raise ModelError(f"{where} wrote no answer within {endpoint.max_tokens:,} tokens; allow a longer reply")
        if choice is None or not text:
            raise TransientError(f"{where} gave an empty reply")
        prompt_tokens, completion_tokens = self.tokens
        return Reply(
            text=came if endpoint.keeps_space else text,
            model=self.model or endpoint.model,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cut_off=choice.finish_reason == "length",
            took_s=took_s,
            first_token_s=first_token_s,
        )


def place(endpoint: Endpoint) -> str:
    """Model and address, as errors name them."""
    return f"{endpoint.model} at {endpoint.base_url or 'the default endpoint'}"


def request_fields(endpoint: Endpoint, messages: Sequence[Message], schema: dict[str, Json] | None) -> dict[str, Any]:
    """The fields of a request."""
    fields: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [on_the_wire(message) for message in messages],
        **endpoint.sampling,
    }
    if schema is not None:
        title = re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "reply"))[:64]
        fields["response_format"] = {"type": "json_schema", "json_schema": {"name": title, "schema": schema}}
    return fields


def problem_of(error: Exception, endpoint: Endpoint, errors: Any) -> tuple[ModelError, bool]:
    """An error of the `openai` package as one of ours, and whether the request certainly took no tokens.

    Args:
        error: What was raised.
        endpoint: Who was asked.
        errors: The `openai` package.
    """
    where = place(endpoint)
    if isinstance(error, errors.APITimeoutError):
        return TransientError(f"{where} gave no reply within {endpoint.timeout_s:g} s"), False
    if isinstance(error, errors.APIConnectionError):
        cause = one_line(str(error.__cause__ or error))
        address = endpoint.base_url or "the default endpoint"
        return TransientError(f"{address} cannot be reached: {cause}; check --base-url"), False
    if isinstance(error, errors.APIStatusError):
        status = error.status_code
        problem = f"{where} answered {status}: {one_line(error.message)}"
        if status == 429:
            return RateLimitedError(problem, wait_s=retry_after(error.response.headers)), True
        if status in PASSING_STATUS or status >= 500:
            return TransientError(problem, wait_s=retry_after(error.response.headers)), status < 500
        return RefusedError(problem, status), True
    return ModelError(f"{where}: {one_line(str(error))}"), False


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


def on_the_wire(message: Message) -> dict[str, Any]:
    """A message as the protocol has it, pictures as `data:` addresses before the text."""
    if not message.images:
        return {"role": message.role, "content": message.text}
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": data_url(image)}} for image in message.images
    ]
    parts.append({"type": "text", "text": message.text})
    return {"role": message.role, "content": parts}
