"""Requests to and answers from an OpenAI-compatible endpoint, shared by all senders.

Answers are validated here, since the `openai` package accepts any body as an answer.
"""

import base64
import json
import math
import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, Protocol

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from reeltalk.errors import OF_ONE_REQUEST, FailureKind, ModelError, ReeltalkError
from reeltalk.llm.dialect import Dialect
from reeltalk.llm.model import Endpoint, Message, Reply
from reeltalk.llm.picture_tokens import ROOM, UNKNOWN, jpeg_size, picture_tokens
from reeltalk.llm.retrying import AT_ONCE, Breaker, TransientError
from reeltalk.llm.scrubbing import endpoint_address, public_address, scrub
from reeltalk.schema.record import Json

PASSING_STATUS: Final = frozenset({408, 409, 429})
"""After these, and all from 500 on, the same request is sent again."""
REFUSED_SCHEMA_STATUS: Final = frozenset({400, 422})
"""Status with which servers refuse a `response_format` that they do not know."""
TOO_SHORT: Final = "max_tokens or model output limit was reached"
TOKEN_CHARS: Final = 10
"""Most characters a token of a whole reply; texts have about 4, and tables and code fewer than 8."""
MESSAGE_TOKENS: Final = 16
"""More tokens than any known chat template adds to a message."""


def kind_of_status(status: int, body: str) -> FailureKind:
    """Kind of failure by the status of an answer, and by what it says where that tells of all requests.

    Args:
        status: HTTP status of the answer.
        body: Its body, or the message in it with type and code.
    """
    kind: FailureKind
    if status in NO_ACCESS:
        return "access"
    for kind, statuses, pattern in _request_failures()["lasting"]:
        if status in statuses and pattern.search(body[:MOST_BODY_CHARS]):
            return kind
    return "server" if status >= 500 else "busy" if status in PASSING_STATUS else "invalid"


REQUEST_FAILURES: Final = Path(__file__).parent / "request_failures.toml"
NO_ACCESS: Final = frozenset({401, 407})
TOO_LARGE: Final = 413
PAYMENT: Final = 402
MOST_BODY_CHARS: Final = 4_000
"""Characters of a body in which a reason is looked for."""


def failure_of_request(status: int, body: str) -> str | None:
    """What is wrong with a request that is refused alone, as `is too long for the model`; None for other refusals.

    Args:
        status: HTTP status of the answer.
        body: Its body, or the message in it with type and code.
    """
    forms, body = _request_failures(), body[:MOST_BODY_CHARS]
    if forms["others"].search(body) or any(_is_reply_alone(form.search(body)) for form in forms["reply_alone"]):
        return None
    for what, statuses, pattern in forms["failures"]:
        if status in statuses and pattern.search(body):
            return str(what)
    return "is too large for the server" if status == TOO_LARGE else None


def kind_of_request(what: str) -> FailureKind:
    """Kind of a failure that `failure_of_request` names."""
    return "content" if what.startswith("is refused for its content") else "request"


def is_spent(status: int, body: str) -> bool:
    """True if a server refuses since money or quota is used up, which no waiting of minutes brings back.

    Args:
        status: HTTP status of the answer.
        body: As for `failure_of_request`.
    """
    spent = _request_failures()["spent"].search(body[:MOST_BODY_CHARS]) is not None
    return status == PAYMENT or (400 <= status < 500 and spent)


def _is_reply_alone(found: re.Match[str] | None) -> bool:
    return found is not None and int(found["reply"]) >= int(found["most"])


@cache
def _request_failures() -> dict[str, Any]:
    raw = tomllib.loads(REQUEST_FAILURES.read_text(encoding="utf-8"))

    def of(pattern: str) -> re.Pattern[str]:
        return re.compile(pattern.replace("\n", ""), re.IGNORECASE)

    return {
        "failures": [(row["what"], frozenset(row["status"]), of(row["pattern"])) for row in raw["failure"]],
        "lasting": [(row["kind"], frozenset(row["status"]), of(row["pattern"])) for row in raw["lasting"]],
        "others": of(raw["others"]["pattern"]),
        "spent": of(raw["quota"]["pattern"]),
        "reply_alone": [of(pattern) for pattern in raw["others"]["reply_alone"]],
        "refused": of(raw["replies"]["refused"]),
        "too_long": of(raw["replies"]["too_long"]),
    }


class RefusedError(ModelError):
    """A server refuses this request, however often it is sent."""

    def __init__(self, problem: str, status: int, *, kind: FailureKind | None = None) -> None:
        self.status = status
        super().__init__(problem, kind=kind or kind_of_status(status, problem))


class RateLimitedError(TransientError):
    """A server receives too many requests."""


class LearnedError(RefusedError):
    """A server does not accept one field of a request. The request is sent again without it; this is no failure."""


# The fields of an answer that we read. Servers leave out or add others, and a broken field beside a good reply must not
# spoil it.
MOST_TOKENS: Final = 2**31


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


def _first(value: Any) -> Any:
    return value[:1] if isinstance(value, list) else value or []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def message_text(value: Any) -> Any:
    """Text of a message; of a list of parts, the text parts without thoughts of the model."""
    if not isinstance(value, list):
        return value
    parts = [part for part in value if isinstance(part, (str, dict))]
    return "".join(
        part if isinstance(part, str) else part["text"]
        for part in parts
        if isinstance(part, str) or (part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str))
    )


TEXT_PARTS: Final = ("text", "output_text", None)
"""Types of the parts of a message that are its text."""
_Count = Annotated[int | None, BeforeValidator(_count)]
_Text = Annotated[str | None, BeforeValidator(_text)]


class _AnswerMessage(BaseModel):
    content: Annotated[str | None, BeforeValidator(message_text)] = None
    refusal: _Text = None


class _AnswerChoice(BaseModel):
    # Gemini's compatible server leaves out the message of a reply that it blocks.
    message: Annotated[_AnswerMessage, BeforeValidator(lambda told: told or {})] = _AnswerMessage()
    finish_reason: _Text = None
    logprobs: Any = None


class _AnswerUsage(BaseModel):
    prompt_tokens: _Count = None
    completion_tokens: _Count = None
    total_tokens: _Count = None


BROKEN_OFF: Final = ("abort", "error")
"""Why vLLM and SGLang end a reply that they do not finish. What came of it is no answer."""


class CompletionBody(BaseModel):
    """The body of an answer."""

    model: _Text = None
    choices: Annotated[list[_AnswerChoice], BeforeValidator(_first)] = Field(default_factory=list)
    error: Any = None
    """Gateways report errors in this field, with status 200."""
    prompt_feedback: Any = Field(None, validation_alias="promptFeedback")
    base_resp: Any = None
    """The last two say why Gemini and MiniMax sent no reply."""
    usage: Annotated[_AnswerUsage | None, BeforeValidator(lambda told: told if isinstance(told, dict) else None)] = None

    @classmethod
    def read(cls, content: bytes | str, endpoint: Endpoint) -> "CompletionBody":
        """Read an answer from the bytes of a body.

        Raises:
            TransientError: The body is no answer.
        """
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            raise TransientError(
                f"{describe_endpoint(endpoint)} sent no valid answer: {first_problem(error)}", kind="reply"
            ) from None

    @property
    def tokens(self) -> tuple[int | None, int | None]:
        """Tokens of the prompt and of the reply; None if the server does not report them."""
        usage = self.usage or _AnswerUsage()
        prompt, completion, total = usage.prompt_tokens, usage.completion_tokens, usage.total_tokens
        if prompt is not None and completion is not None and total is not None:
            # Gemini's and xAI's servers leave a model's thoughts out of the reply and count them in the total alone.
            completion = max(completion, total - prompt)
        return prompt, completion

    def reply(
        self,
        endpoint: Endpoint,
        *,
        took_s: float | None = None,
        first_token_s: float | None = None,
        secrets: Collection[str] = (),
    ) -> Reply:
        """The reply in an answer.

        Args:
            endpoint: The model.
            took_s: Seconds to the end of the reply.
            first_token_s: Seconds to its first token.
            secrets: Secrets that errors may not repeat.

        Raises:
            ModelError: The reply was cut off before its first word.
            TransientError: The reply is empty.
        """
        where = describe_endpoint(endpoint)
        choice = self.choices[0] if self.choices else None
        came = (choice.message.content or choice.message.refusal or "") if choice else ""
        text = came.strip()
        if (what := self._failure_of_request(text)) is not None:
            told = scrub(f"{where} gave no answer: {OF_ONE_REQUEST} {what}", secrets)
            raise ModelError(told, kind=kind_of_request(what))
        if choice is not None and not text and choice.finish_reason == "length":
            raise ModelError(f"{where} {no_answer_within(endpoint)}", kind="empty")
        if choice is None and self.error is not None:
            words = scrub(words_of_body({"error": self.error}) or str(self.error), secrets)
            problem, code = f"{where} answered with an error: {words}", code_of(self.error)
            if is_spent(code, json.dumps(self.error)):
                raise RefusedError(problem, code, kind="quota")
            if (kind := kind_of_status(code, json.dumps(self.error))) in AT_ONCE:
                raise RefusedError(problem, code, kind=kind)
            raise TransientError(problem, kind="reply")
        if choice is None:
            raise TransientError(f"{where} sent no reply", kind="reply")
        if not text:
            raise TransientError(f"{where} gave an empty reply", kind="empty")
        if choice.finish_reason in BROKEN_OFF:
            raise TransientError(f"{where} broke off its reply ({choice.finish_reason})", kind="reply")
        prompt_tokens, completion_tokens = self.tokens
        return Reply(
            text=came if endpoint.keeps_space else text,
            model=scrub(self.model or "", secrets) or endpoint.model,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
            cut_off=choice.finish_reason == "length",
            took_s=took_s,
            first_token_s=first_token_s,
            logprobs=token_logprobs(choice.logprobs) if endpoint.logprobs else None,
            refused=not choice.message.content,
        )

    def _failure_of_request(self, text: str) -> str | None:
        """What is wrong with the request alone, if it has no answer; with the server's own words."""
        forms = _request_failures()
        if not self.choices:
            told = self.error or self.prompt_feedback or self.base_resp
            body = {"error": told, "promptFeedback": self.prompt_feedback}
            what = failure_of_request(code_of(told), json.dumps(body, ensure_ascii=False))
            return f"{what} ({words_of_body(body) or told})" if what is not None else None
        ended = self.choices[0].finish_reason or ""
        if forms["too_long"].match(text) or (not text and ended == "length" and self.tokens[1] == 0):
            return "is too long for the model"  # it wrote no token at all, so that no limit on the reply was reached
        return f"is refused for its content ({ended})" if not text and forms["refused"].search(ended) else None


FIRST_TOKENS: Final = 16
"""Tokens of a reply whose probabilities are kept."""


def token_logprobs(told: Any) -> tuple[dict[str, float], ...] | None:
    """The logarithms of probabilities in an answer, as `Reply.logprobs`; None if there are none that can be read.

    Args:
        told: The field `logprobs` of a choice, parsed.
    """
    content = told.get("content") if isinstance(told, dict) else None
    found = []
    for token in content[:FIRST_TOKENS] if isinstance(content, list) else ():
        if not isinstance(token, dict):
            return None
        others = token.get("top_logprobs")
        alternatives = [token, *(others if isinstance(others, list) else ())]
        known = {
            one["token"]: float(one["logprob"])
            for one in alternatives
            if isinstance(one, dict)
            and isinstance(one.get("token"), str)
            and isinstance(one.get("logprob"), float | int)
        }
        if not known or not all(value <= 1e-6 for value in known.values()):
            return None
        found.append(known)
    return tuple(found) or None


@dataclass(frozen=True)
class Sent:
    """The result of one request."""

    reply: Reply | None = None
    error: ReeltalkError | None = None
    """Why there is no reply, if there is none."""
    prompt_tokens: int | None = None
    """None if unknown; then the reserved number counts."""
    completion_tokens: int | None = None

    @property
    def reached(self) -> bool:
        """False if no connection could be opened, so that no server has seen the request."""
        return not isinstance(self.error, TransientError) or self.error.reached


class Sender(Protocol):
    """Sends a request once."""

    @property
    def sampling(self) -> dict[str, Json]:
        """Temperature, longest reply and seed as they are sent."""
        ...

    async def send(self, messages: Sequence[Message], schema: dict[str, Json] | None, sample: int = 0) -> Sent:
        """Send one request. Failures of the server are returned, not raised.

        After a `LearnedError` the request is to be sent again: the server refused a field, which is left out from now
        on.
        """
        ...

    async def close(self) -> None: ...


def describe_endpoint(endpoint: Endpoint) -> str:
    """Model and address, for errors."""
    return f"{endpoint.model} at {public_address(endpoint_address(endpoint))}"


def create_breaker(endpoint: Endpoint) -> Breaker:
    """A new breaker for a model at its address."""
    return Breaker(describe_endpoint(endpoint), give_up_after_s=endpoint.give_up_after_s)


def request_fields(
    endpoint: Endpoint, messages: Sequence[Message], schema: dict[str, Json] | None, dialect: Dialect
) -> dict[str, Any]:
    """The fields of a request, in the server's dialect."""
    fields: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [wire_message(message) for message in messages],
        # Null is a value that some servers refuse.
        **{name: value for name, value in dialect.sampling(endpoint).items() if value is not None},
    }
    if schema is not None and (asked := dialect.response_format(schema)) is not None:
        fields["response_format"] = asked
    return fields


def longest_reply_chars(endpoint: Endpoint) -> int:
    """Most characters of a reply that is kept. Not every server keeps to the limit that it is sent."""
    return TOKEN_CHARS * endpoint.max_tokens


def no_answer_within(endpoint: Endpoint) -> str:
    """The problem of a reply that was cut off before its first word."""
    return f"wrote no answer within {endpoint.max_tokens:,} tokens; allow a longer reply"


def words_of_body(body: Any) -> str | None:
    """The message in the body of a refusal; None if there is none."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, dict):
        for name in ("error", "message", "detail", "msg", "errors"):
            if isinstance(body.get(name), str):
                return str(body[name])
            if isinstance(body.get(name), (dict, list)):
                return words_of_body(body[name])
    return None


def code_of(told: Any) -> int:
    """The status that the error in a body names; 400 if it names none."""
    code = told.get("code") if isinstance(told, dict) else None
    return code if type(code) is int else 400


def is_unreached(error: BaseException | None) -> bool:
    """True if an error or its cause says that no connection could be opened, so that no server saw the request."""
    while error is not None:
        # httpx and aiohttp, which providers' packages use, name their classes so.
        names = {kind.__name__ for kind in type(error).__mro__}
        if names & {"ConnectError", "ConnectTimeout", "ClientConnectorError", "ConnectionRefusedError", "gaierror"}:
            return True
        error = error.__cause__ or error.__context__
    return False


def status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries; None if there was no answer."""
    for name in ("status_code", "code", "status"):
        if type(status := getattr(error, name, None)) is int and status < 600:
            return int(status)
    return None


def failure_kind(error: BaseException) -> FailureKind:
    """Kind of failure by an error of any package: from its status, or the name of its class; else a reply of no use."""
    found: BaseException | None = error
    while found is not None:
        if (status := status_of(found)) is not None and status >= 400:
            what = failure_of_request(status, str(found))
            return kind_of_request(what) if what is not None else kind_of_status(status, str(found))
        names = [kind.__name__ for kind in type(found).__mro__]
        if any("Timeout" in name for name in names):
            return "time-out"
        if any("Connect" in name for name in names):
            return "connection"
        found = found.__cause__ or found.__context__
    return "reply"


def most_prompt_tokens(messages: Sequence[Message], schema: dict[str, Json] | None, endpoint: Endpoint) -> int:
    """Upper bound of the tokens of a prompt: the byte-level vocabularies of current models use at most one a byte."""

    def of_picture(jpeg: bytes) -> int:
        if endpoint.image_tokens is not None:
            return endpoint.image_tokens
        size = jpeg_size(jpeg)
        counted = picture_tokens(endpoint.model, *size) if size is not None else None
        return UNKNOWN if counted is None else math.ceil(ROOM * counted)

    tokens = len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "replace")) if schema is not None else 0
    for message in messages:
        text = message.text + "".join(message.captions)
        tokens += len(text.encode("utf-8", "replace")) + MESSAGE_TOKENS + sum(map(of_picture, message.images))
    return tokens


def data_url(jpeg: bytes) -> str:
    """A JPEG file as a `data:` address."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


def start_on_one_line(text: str) -> str:
    """The first 300 characters of a message, on one line."""
    return " ".join(text.split())[:300]


def first_problem(error: ValidationError) -> str:
    """Field and kind of the first problem, without the value."""
    problem = error.errors(include_input=False, include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in problem["loc"])
    message = problem["msg"].removeprefix("Value error, ")
    return start_on_one_line(f"{field}: {message}" if field else message)


def wire_message(message: Message) -> dict[str, Any]:
    """A message in the format of the API: pictures as `data:` addresses, each behind its caption, then the text."""
    if not message.images:
        return {"role": message.role, "content": message.text}
    parts: list[dict[str, Any]] = []
    for place, image in enumerate(message.images):
        if message.captions:
            parts.append({"type": "text", "text": message.captions[place]})
        parts.append({"type": "image_url", "image_url": {"url": data_url(image)}})
    parts.append({"type": "text", "text": message.text})
    return {"role": message.role, "content": parts}
