"""Replies as records: the JSON in a reply is found and validated, and what cannot be read is asked for once more.

A reply is data. It is parsed and compared with a type, and whatever else it says has no effect.
"""

import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from reeltalk.errors import ModelError
from reeltalk.llm.model import Message, Model, first_problem, one_line
from reeltalk.llm.prompts import Prompt
from reeltalk.schema.record import Json

REPAIR: Final = Path(__file__).parent / "repair.md"
REPEATED_CHARS: Final = 20_000
"""Of a reply that cannot be read, so much is shown to the model again."""

T = TypeVar("T")

_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
# A brace alone may be part of a sentence; an object goes on with a name, or ends.
_OBJECT = re.compile(r'\{(?=\s*(?:["}]|\Z))')


class MalformedReplyError(ModelError):
    """A reply that holds no record of the type that was asked for.

    Args:
        reason: What is wrong with it.
        text: The reply.
    """

    def __init__(self, reason: str, text: str) -> None:
        self.reason, self.text = reason, text
        super().__init__(f"the model's reply cannot be used: {reason}")


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What came of asking for a record."""

    record: T | None
    """The record; None where neither reply held one."""
    replies: tuple[str, ...]
    """The replies as they came, one or two."""
    reasons: tuple[str, ...]
    """Why replies could not be used, in their order; empty where the first one could."""


def read_record(text: str, kind: type[T]) -> T:
    """The record in a reply: its first JSON object, whatever stands around it, that is of the type.

    Types are taken at their word: "3" is no number, and 1 is not true.

    Args:
        text: The reply.
        kind: A pydantic model, dataclass or other type whose JSON is an object.

    Raises:
        MalformedReplyError: It holds no JSON object, or none of the type.
    """
    adapter: TypeAdapter[T] = _adapter(cast(Hashable, kind))
    problem: str | None = None
    answer = _THOUGHT.sub("", text, count=1)
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    position = 0
    while (start := _OBJECT.search(answer, position)) is not None:
        try:
            found, position = decoder.raw_decode(answer, start.start())
        except json.JSONDecodeError as error:
            # Inner objects of a broken one are not the record, however well they may fit.
            ends = error.pos >= len(answer.rstrip()) or error.msg.startswith("Unterminated string")
            where = "before its end" if ends else f"is broken at {answer[error.pos : error.pos + 20]!r}"
            problem = problem or f"the JSON {'stops ' if ends else ''}{where}: {error.msg}"
            break
        except (ValueError, RecursionError) as error:
            problem = problem or f"the JSON cannot be read: {one_line(str(error))}"
            break
        try:
            return adapter.validate_json(json.dumps(found), strict=True)
        except ValidationError as error:
            problem = problem or f"{first_problem(error)} ({error.error_count()} in all)"
    raise MalformedReplyError(problem or "there is no JSON object in it", text)


def ask_for(
    model: Model, messages: Sequence[Message], kind: type[T], *, check: Callable[[T], str | None] | None = None
) -> Asked[T]:
    """Ask for a record. A reply that cannot be used is shown to the model once, with the reason.

    Args:
        model: Who is asked.
        messages: The conversation.
        kind: A pydantic model, dataclass or other type whose JSON is an object. Its schema goes along.
        check: Says what is wrong with a record of the right type, if anything.

    Raises:
        ModelError: There is no reply to be had.
        BudgetError: A limit would be passed.
    """
    schema = json_schema(kind)
    replies: list[str] = []
    reasons: list[str] = []
    conversation = list(messages)
    while True:
        reply = model.ask(conversation, schema=schema)
        replies.append(reply.text)
        try:
            record = _record(reply.text, reply.cut_off, kind, check)
        except MalformedReplyError as error:
            reasons.append(error.reason)
        else:
            return Asked(record, tuple(replies), tuple(reasons))
        if len(replies) == 2:
            return Asked(None, tuple(replies), tuple(reasons))
        repair = _repair().fill(reason=reasons[0], schema=json.dumps(schema, ensure_ascii=False))
        conversation += [Message("assistant", reply.text[:REPEATED_CHARS]), Message("user", repair)]


def json_schema(kind: type[Any]) -> dict[str, Json]:
    """The JSON schema that replies of a type follow."""
    return _adapter(cast(Hashable, kind)).json_schema()


def repair_signature() -> str:
    """Name, version and hash of the prompt that asks once more; replies depend on it."""
    return _repair().signature


def _record(text: str, cut_off: bool, kind: type[T], check: Callable[[T], str | None] | None) -> T:
    if cut_off:
        raise MalformedReplyError("it was cut off at the longest length that is allowed; write less", text)
    record = read_record(text, kind)
    if check is not None and (complaint := check(record)) is not None:
        raise MalformedReplyError(complaint, text)
    return record


@cache
def _repair() -> Prompt:
    return Prompt.load(REPAIR)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
