"""Reads replies as records: the JSON in a reply is found and validated, and asked for again if it cannot be read.

A reply is data: it is parsed and compared with a type, and the rest of its words has no effect. A reply with two
verdicts is not read, since one of them may be quoted from what the model was shown.
"""

import copy
import json
import re
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from reeltalk.errors import ModelError
from reeltalk.llm.loose_json import START, LooseReader
from reeltalk.llm.model import AsyncModel, Message, Model, Reply
from reeltalk.llm.own_words import own_reply, why_doubtful, why_not_own
from reeltalk.llm.prompts import Prompt
from reeltalk.llm.wire import first_problem, start_on_one_line
from reeltalk.schema.model_texts import plain_characters
from reeltalk.schema.record import Json

REPAIR: Final = Path(__file__).parent / "repair.md"
REPEATED_CHARS: Final = 20_000
"""Longest part of an unreadable reply that is shown to the model again."""

T = TypeVar("T")

_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,18})?", re.ASCII)


class MalformedReplyError(ModelError):
    """A reply that holds no record of the type that was asked for."""

    def __init__(self, reason: str, text: str) -> None:
        self.reason, self.text = reason, text
        super().__init__(f"the model's reply cannot be used: {reason}")


@dataclass(frozen=True)
class RecordResult(Generic[T]):
    """The result of asking for a record."""

    record: T | None
    """The record; None if neither reply had one."""
    replies: tuple[str, ...]
    """The raw replies, one or two."""
    reasons: tuple[str, ...]
    """Why each unusable reply could not be used, in order; empty if the first one could."""
    given: tuple[Reply, ...] = field(default=(), compare=False, repr=False)
    """The same replies with what they took."""


def read_record(text: str, kind: type[T], *, shown: Sequence[str] = ()) -> T:
    """The record in a reply: its one JSON object of the type, with any text around it.

    JSON may be in the careless notation of `llm.loose_json`. Types are strict, but "3" is a number where one is wanted;
    1 is not true. The same record may occur twice. The reply is ambiguous, and nothing is read, if two records differ,
    if an object of another type follows, or if one with a usable field or in careless notation comes before. A record
    that the writer may only quote, or takes back, is not read either; see `llm.own_words`.

    Args:
        text: The reply.
        kind: A pydantic model, dataclass or other type whose JSON is an object.
        shown: Texts that the writer was shown. A record amid prose that occurs in one of them is a quotation.

    Raises:
        MalformedReplyError: It holds no JSON object, none of the type, or several that disagree.
    """
    record, told, before, after = _only_record(text, kind, shown)
    if (why := why_not_own(before, after, told, shown)) is not None:
        raise MalformedReplyError(f"{why}; send the JSON object alone", text)
    return record


def read_amid_prose(text: str, kind: type[T], *, shown: Sequence[str]) -> T:
    """The one record in a reply whose other words do not say whose verdict it is, as those of an explanation.

    For replies that cannot be asked for again. The record is not read if the words before it attribute it to somebody
    else, if words around it take it back, or if a text that the writer was shown has a verdict of its own.

    Args:
        text: The reply.
        kind: A pydantic model, dataclass or other type whose JSON is an object.
        shown: The candidate's answers.

    Raises:
        MalformedReplyError: It holds no JSON object of the type, several that disagree, or one that may not hold.
    """
    record, told, before, after = _only_record(text, kind, shown)
    if (why := why_doubtful(before, after, told, shown)) is not None:
        raise MalformedReplyError(why, text)
    return record


def _only_record(text: str, kind: type[T], shown: Sequence[str]) -> tuple[T, Json, str, str]:
    """The one record in a reply, the same as JSON, and the text before and after it."""
    adapter: TypeAdapter[T] = _adapter(cast(Hashable, kind))
    answer = own_reply(text, shown)
    if not answer and text.strip():
        raise MalformedReplyError("it begins with a thought that has no end", text)
    objects, pieces, broken = _objects(answer)
    records: list[tuple[T, Json]] = []
    last = 0
    others: list[Json] = []
    problem, unclear = None, False
    for number, (found, loose) in enumerate(objects):
        try:
            records.append(_validated(found, adapter))
            last = number
        except ValidationError as error:
            problem = problem or f"{first_problem(error)} ({error.error_count()} in all)"
            if records:
                raise MalformedReplyError(f"beside a record, it holds another: {problem}", text) from None
            others.append(found)
            unclear = unclear or loose
    if not records:
        raise MalformedReplyError(problem or broken or "there is no JSON object in it", text)
    record, told = records[0]
    if len({json.dumps(one, sort_keys=True) for _, one in records}) > 1:
        raise MalformedReplyError("it holds several records that differ; write one and quote none", text)
    if broken is not None:
        raise MalformedReplyError(f"beside a record, {broken}", text)
    if unclear or any(_could_be_meant(other, told, adapter) for other in others):
        raise MalformedReplyError("beside a record, it holds one that cannot be read; write one and quote none", text)
    return record, told, "".join(pieces[: last + 1]), "".join(pieces[last + 1 :])


def _objects(answer: str) -> tuple[list[tuple[Json, bool]], list[str], str | None]:
    """The objects in a text, each with True if it is no strict JSON; the text around; the problem of a broken one."""
    decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_number, object_pairs_hook=_once_each)
    careless = LooseReader(answer, decoder.decode, _once_each)
    objects: list[tuple[Json, bool]] = []
    around: list[str] = []
    position = 0
    while (start := START.search(answer, position)) is not None:
        around.append(plain_characters(answer[position : start.start()]))
        loose = False
        try:
            try:
                found, position = decoder.raw_decode(answer, start.start())
            except json.JSONDecodeError as error:
                strictly, loose = error, True
                found, position = careless.read(start.start())
            # 1e999 is read as infinity.
            json.dumps(found, allow_nan=False)
        except (ValueError, RecursionError) as error:
            return objects, around, _why_broken(answer, strictly if loose else error)
        objects.append((found, loose))
    return objects, [*around, plain_characters(answer[position:])], None


def _why_broken(answer: str, error: Exception) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"the JSON cannot be read: {start_on_one_line(str(error))}"
    # Inner objects of a broken one are not the record, however well they may fit.
    ends = error.pos >= len(answer.rstrip()) or error.msg.startswith("Unterminated string")
    where = "before its end" if ends else f"is broken at {answer[error.pos : error.pos + 20]!r}"
    return f"the JSON {'stops ' if ends else ''}{where}: {error.msg}"


def _validated(found: Json, adapter: TypeAdapter[T]) -> tuple[T, Json]:
    """The record in an object, and the object with plain names, numbers and given words."""
    try:
        return adapter.validate_json(json.dumps(found), strict=True), found
    except ValidationError:
        found = _with_plain_names(found)
    try:
        return adapter.validate_json(json.dumps(found), strict=True), found
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            _make_plain(found, problem)
    return adapter.validate_json(json.dumps(found), strict=True), found


def _with_plain_names(value: Json) -> Json:
    """A copy with names in plain characters, unless two would be the same."""
    if isinstance(value, list):
        return [_with_plain_names(one) for one in value]
    if not isinstance(value, dict):
        return value
    plain = {plain_characters(name): _with_plain_names(one) for name, one in value.items()}
    return plain if len(plain) == len(value) else value


def _make_plain(found: Json, problem: ErrorDetails) -> None:
    """Replace a text where a number or one of some words is wanted, if it is one in other characters."""
    *path, last = problem["loc"] or ("",)
    place: Any = found
    try:
        for step in path:
            place = place[step]
        told = plain_characters(place[last]).strip()
    except (KeyError, IndexError, TypeError):
        return
    if problem["type"] in ("int_type", "float_type") and _NUMBER.fullmatch(told):
        place[last] = _number(told) if "." in told else int(told)
    elif problem["type"] == "literal_error":
        place[last] = told


def _could_be_meant(other: Json, told: Json, adapter: TypeAdapter[Any]) -> bool:
    """True if an object of another type has, at any depth, a field of the record with a usable value."""
    waiting = [other]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            waiting += value.values()
            wrong: set[Any] = set()
            try:
                adapter.validate_python(value, strict=False)
            except ValidationError as error:
                wrong = {place for problem in error.errors() for place in problem["loc"][:1]}
            if not (value.keys() & told.keys()) <= wrong:
                return True
    return False


def ask_for(
    model: Model,
    messages: Sequence[Message],
    kind: type[T],
    *,
    check: Callable[[T], str | None] | None = None,
    repair: Prompt | None = None,
) -> RecordResult[T]:
    """Ask for a record. A reply that cannot be used is shown to the model once, with the reason.

    Args:
        messages: The conversation.
        kind: A pydantic model, dataclass or other type whose JSON is an object. Its schema is sent too.
        check: Returns what is wrong with a record of the right type; None if nothing is.
        repair: Prompt that asks again; ours by default.

    Raises:
        ModelError: There is no reply.
        BudgetError: A limit would be passed.
    """
    steps = _conversation(messages, kind, check, repair)
    conversation = next(steps)
    try:
        while True:
            conversation = steps.send(model.ask(conversation, schema=json_schema(kind)))
    except StopIteration as end:
        asked: RecordResult[T] = end.value
        return asked


async def ask_for_async(
    model: AsyncModel,
    messages: Sequence[Message],
    kind: type[T],
    *,
    check: Callable[[T], str | None] | None = None,
    sample: int = 0,
    repair: Prompt | None = None,
) -> RecordResult[T]:
    """Like `ask_for`, from an event loop; `sample` is the number of the sample, if the same is asked several times."""
    steps = _conversation(messages, kind, check, repair)
    conversation = next(steps)
    try:
        while True:
            conversation = steps.send(await model.ask(conversation, schema=json_schema(kind), sample=sample))
    except StopIteration as end:
        asked: RecordResult[T] = end.value
        return asked


def _conversation(
    messages: Sequence[Message], kind: type[T], check: Callable[[T], str | None] | None, repair: Prompt | None
) -> Generator[list[Message], Reply, RecordResult[T]]:
    """Yields the messages to send, receives each reply, and returns the result."""
    replies: list[str] = []
    reasons: list[str] = []
    given: list[Reply] = []
    conversation = list(messages)
    while True:
        reply = yield conversation
        replies.append(reply.text)
        given.append(reply)
        try:
            record = _record(reply.text, reply.cut_off, kind, check, [message.text for message in messages])
        except MalformedReplyError as error:
            reasons.append(error.reason)
        else:
            return RecordResult(record, tuple(replies), tuple(reasons), tuple(given))
        if len(replies) == 2:
            return RecordResult(None, tuple(replies), tuple(reasons), tuple(given))
        schema = json.dumps(json_schema(kind), ensure_ascii=False)
        again = (repair or _repair()).fill(reason=reasons[0], schema=schema)
        conversation += [Message("assistant", reply.text[:REPEATED_CHARS]), Message("user", again)]


def json_schema(kind: type[Any]) -> dict[str, Json]:
    """The JSON schema that replies of a type follow."""
    return copy.deepcopy(_schema(cast(Hashable, kind)))


def repair_signature() -> str:
    """Signature of the prompt that asks again; replies depend on it."""
    return _repair().signature


def _record(
    text: str, cut_off: bool, kind: type[T], check: Callable[[T], str | None] | None, shown: Sequence[str]
) -> T:
    if cut_off:
        raise MalformedReplyError("it was cut off at the longest length that is allowed; write less", text)
    record = read_record(text, kind, shown=shown)
    if check is not None and (complaint := check(record)) is not None:
        raise MalformedReplyError(complaint, text)
    return record


@cache
def _repair() -> Prompt:
    return Prompt.load(REPAIR)


@cache
def _schema(kind: Any) -> dict[str, Json]:
    # Making it takes longer than many servers take to reply, and it is sent with each request.
    return _adapter(kind).json_schema()


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _number(text: str) -> float | int:
    """The number; 6.0 is 6, so that it is accepted as a whole number."""
    value = float(text)
    return int(value) if re.fullmatch(r"-?\d{1,15}\.0+", text) else value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _once_each(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """The object of names and values. Python's own reader would keep the last of two equal names."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands in one object twice")
    return found
