"""The fields of a request that a server accepts: known for some servers, learned from refusals for others.

Servers with the same API differ. OpenAI's current models want `max_completion_tokens` in place of `max_tokens` and no
temperature; Gemini's compatible server refuses `seed`; Anthropic's wants `strict` with a schema. A refusal names the
field, which is stored, so that it is not sent to that server again.
"""

import re
import threading
from collections.abc import Iterator
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from reeltalk.llm.model import Endpoint
from reeltalk.llm.scrubbing import endpoint_address, public_address
from reeltalk.schema.record import Json

Field = Literal[
    "max_tokens", "max_completion_tokens", "temperature", "seed", "reasoning_effort", "response_format", "strict",
    "stream_options", "logprobs", "top_logprobs",
]  # fmt: skip
FIELDS: Final[tuple[Field, ...]] = Field.__args__  # type: ignore[attr-defined]
"""Fields of a request that some servers refuse."""
ALTERNATIVES: Final = 10
"""Alternatives of each token whose probabilities are asked for."""

# Messages of servers that do not accept a field at all. Sources: OpenAI ("Unsupported parameter: 'max_tokens' is not
# supported with this model", "Unsupported value: 'temperature' does not support 0 with this model", "Unrecognized
# request argument supplied"), vLLM and Mistral ("extra_forbidden", "Extra inputs are not permitted"), Gemini's
# compatible server ('Unknown name "seed": Cannot find field'), Anthropic's ("`temperature` is deprecated for this
# model").
_REFUSES = re.compile(
    r"unsupported|not (?:yet )?(?:supported|permitted|allowed|available|implemented)|n't supported|not support\b"
    r"|unknown|unrecogni[sz]ed|unexpected|extra[_ ](?:inputs|fields|forbidden)|deprecated|cannot find field|no longer",
    re.IGNORECASE,
)
# The server accepts the field with another value, which the user has to choose.
_OTHER_VALUE = re.compile(
    r"too (?:large|long|high|small)|at (?:most|least)|maximum|minimum|exceed|between|invalid schema", re.IGNORECASE
)
# Anthropic's compatible server accepts a schema only with `strict: true`.
_WANTS_STRICT = re.compile(r"\bstrict\b.*\b(?:true|required)\b|\b(?:true|required)\b.*\bstrict\b", re.IGNORECASE)

_REASONING = re.compile(r"(?:o[1-9]|gpt-(?:[5-9]|\d\d))(?![\w])(?!-chat)")
_KNOWN_HOSTS: Final[dict[str, tuple[Field, ...]]] = {
    # https://ai.google.dev/gemini-api/docs/openai names no seed, and the server refuses unknown fields.
    "generativelanguage.googleapis.com": ("seed",),
    # https://platform.claude.com/docs/en/api/openai-sdk: seed and reasoning_effort are ignored.
    "api.anthropic.com": ("reasoning_effort", "seed"),
}


class Dialect(BaseModel):
    """The fields that one server accepts."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    refuses: tuple[Field, ...] = ()
    """Fields that are not sent, sorted. Without `max_tokens`, `max_completion_tokens` is sent in its place."""
    strict: bool = False
    """True to send a schema as `strict`, with every field required and no other allowed."""

    def takes(self, field: Field) -> bool:
        """True if a field is sent."""
        return field not in self.refuses

    def sampling(self, endpoint: Endpoint) -> dict[str, Json]:
        """Temperature, longest reply, seed and effort, as far as the server accepts them, by its names."""
        values = endpoint.sampling
        longest = values.pop("max_tokens", None)
        sent = {name: value for name, value in values.items() if name not in self.refuses}
        if "logprobs" in sent:
            # Without alternatives, the probability of the other word is not known.
            sent |= {"top_logprobs": ALTERNATIVES} if "top_logprobs" not in self.refuses else {}
        if longest is not None:
            for name in ("max_tokens", "max_completion_tokens"):
                if name not in self.refuses:
                    return {name: longest} | sent
        return sent

    def response_format(self, schema: dict[str, Json]) -> dict[str, Json] | None:
        """The field that asks for a schema; None if the server accepts none."""
        if "response_format" in self.refuses:
            return None
        title = schema_name(schema)
        asked: dict[str, Json] = {"name": title, "schema": schema}
        if self.strict:
            asked = {"name": title, "strict": True, "schema": strict_schema(schema)}
        return {"type": "json_schema", "json_schema": asked}

    def without(self, field: Field) -> "Dialect":
        """The dialect of a server that also refuses a field."""
        if field == "strict":
            return self.model_copy(update={"strict": False})
        if field == "top_logprobs":
            field = "logprobs"
        refuses = {*self.refuses, field}
        if field == "max_completion_tokens":
            # It was tried because of the name of the model, but an older server knows only the older field.
            refuses.discard("max_tokens")
        return self.model_copy(update={"refuses": tuple(sorted(refuses))})

    @property
    def differences(self) -> str | None:
        """Differences from the full request, as the end of a sentence; None if the server accepts every field."""
        words = {"response_format": "JSON schema, so that replies follow the prompt alone"}
        parts = [f"no {words.get(field, field)}" for field in self.refuses if field != "max_tokens"]
        if "max_tokens" in self.refuses and "max_completion_tokens" not in self.refuses:
            parts.insert(0, "max_completion_tokens in place of max_tokens")
        elif "max_tokens" in self.refuses:
            parts.insert(0, "no max_tokens")
        if self.strict:
            parts.append("a strict schema")
        return ", ".join(parts) or None


def known_dialect(endpoint: Endpoint) -> Dialect:
    """The dialect that is known before the first request, from the name of the model and the host."""
    name = endpoint.model.lower().rsplit("/", 1)[-1]
    host = (urlsplit(endpoint_address(endpoint)).hostname or "").lower()
    refuses: set[Field] = set(_KNOWN_HOSTS.get(host, ()))
    if _REASONING.match(name):
        refuses |= {"max_tokens", "temperature"}
    return Dialect(refuses=tuple(sorted(refuses)), strict=host == "api.anthropic.com")


def learn_dialect(dialect: Dialect, sent: dict[str, Any], status: int, body: Any) -> Dialect:
    """Learn from a refusal.

    Returns:
        The new dialect; the same one if the refusal has another reason.
    """
    if status not in (400, 422):
        return dialect
    asked: set[Field] = {name for name in FIELDS if name in sent}
    if "response_format" in sent:
        asked.add("strict")
    for message, named in _problems(body):
        if _OTHER_VALUE.search(message) and not _REFUSES.search(message):
            continue
        if "response_format" in sent and not dialect.strict and _WANTS_STRICT.search(f"{' '.join(named)} {message}"):
            return dialect.model_copy(update={"strict": True})
        if not _REFUSES.search(message) or re.search("invalid schema", message, re.IGNORECASE):
            continue
        fields = [name for name in named if name in asked]
        if not fields:
            # The first name in a sentence is the refused one: "... Use 'max_completion_tokens' instead".
            found = [name for name in re.findall(r"\w+", message) if name in asked]
            fields = found if message.lower().count("unknown name") > 1 else found[:1]
        new = dialect
        for field in fields:
            if field != "strict" or dialect.strict:
                new = new.without(field)
        if new != dialect:
            return new
    return dialect


def _problems(body: Any) -> Iterator[tuple[str, list[str]]]:
    """Each message in the body of a refusal, with the fields that it names."""
    if isinstance(body, str):
        yield body, re.findall(r"'loc': \('body', '(\w+)'", body)
        return
    if isinstance(body, list):
        for part in body:
            yield from _problems(part)
        return
    if not isinstance(body, dict):
        return
    for inner in ("error", "detail", "errors"):
        if isinstance(body.get(inner), (dict, list, str)):
            yield from _problems(body[inner])
    message = body.get("message", body.get("msg"))
    if isinstance(message, (list, dict)):
        yield from _problems(message)
    elif isinstance(message, str):
        kind = body.get("type")
        named = [str(part) for part in body["loc"]] if isinstance(body.get("loc"), (list, tuple)) else []
        if isinstance(body.get("param"), str):
            named += re.findall(r"\w+", body["param"])[::-1]
        named += re.findall(r"'loc': \('body', '(\w+)'", message)
        # A gateway passes on the message of another server as a text.
        yield f"{message} {kind if isinstance(kind, str) else ''}", named


def schema_name(schema: dict[str, Json]) -> str:
    """Name of a JSON schema in a request: its title, in characters that servers accept."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", str(schema.get("title") or "reply"))[:64]


def strict_schema(schema: dict[str, Json]) -> dict[str, Json]:
    """A JSON schema for `strict`: every field of an object is required, and none may be added."""

    def strict(node: Any) -> Any:
        if isinstance(node, list):
            return [strict(item) for item in node]
        if not isinstance(node, dict):
            return node
        new = {key: strict(value) for key, value in node.items() if key not in ("default", "properties", "$defs")}
        for key in ("properties", "$defs"):
            if isinstance(node.get(key), dict):
                # Keys are names of fields here, not keywords: a field may be called `default`.
                new[key] = {name: strict(value) for name, value in node[key].items()}
        if isinstance(node.get("properties"), dict):
            new |= {"required": list(node["properties"]), "additionalProperties": False}
        return new

    return dict(strict(schema))


class DialectStore(Protocol):
    """A store of dialects, as `ReplyStore`."""

    def dialect(self, model: str, address: str) -> Dialect | None:
        """The stored dialect of a model at an address; None if there is none."""
        ...

    def keep_dialect(self, model: str, address: str, dialect: Dialect) -> None:
        """Store a dialect."""
        ...


class DialectLearner:
    """The dialect of one endpoint as known so far; safe to share among threads."""

    def __init__(self, endpoint: Endpoint, store: DialectStore | None = None) -> None:
        """Begin with the stored dialect, or the known one.

        Args:
            endpoint: The model.
            kept: Store of dialects, so that a command that is run again sends the same requests.
        """
        self._endpoint, self._store, self._lock = endpoint, store, threading.Lock()
        self._place = (endpoint.model, public_address(endpoint_address(endpoint)))
        self._own: Dialect | None = None

    @property
    def dialect(self) -> Dialect:
        """The dialect as known now."""
        stored = self._store.dialect(*self._place) if self._store is not None else None
        return stored or self._own or known_dialect(self._endpoint)

    def refused(self, used: Dialect, sent: dict[str, Any], status: int, body: Any) -> bool:
        """Learn from a refusal.

        Returns:
            True if the request should be sent again in the new dialect.
        """
        with self._lock:
            new = learn_dialect(used, sent, status, body)
            if new == used:
                return False
            # Otherwise another request has learned something meanwhile, which is tried first.
            if self.dialect == used:
                self.keep(new)
            return True

    def keep(self, dialect: Dialect) -> None:
        """Use a dialect from now on."""
        self._own = dialect
        if self._store is not None:
            self._store.keep_dialect(*self._place, dialect)
