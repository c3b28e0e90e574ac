"""Criteria and scales of judges, their scores, and the signature of every number."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum
from functools import cache
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from reeltalk.schema.record import Finite, Index, Name, Record, VideoKey

HASH_DIGITS: Final = 8
"""Digits of a hash in a signature."""


class RubricCriterion(Record):
    """One thing a judge scores."""

    name: Name
    lowest: Finite
    highest: Finite
    levels: dict[str, str]
    """The meaning of each level or range of the scale; every level is described."""
    may_not_apply: bool = False


class Rubric(Record):
    """The criteria by which a unit is judged."""

    name: Name
    version: Name
    unit: Literal["turn", "chain", "path", "dialogue"]
    criteria: tuple[RubricCriterion, ...]


class ScoreState(StrEnum):
    """Whether a score is a number."""

    SCORED = "scored"
    NOT_APPLICABLE = "not_applicable"
    UNSCORED = "unscored"
    """The judge or metric failed. Counted and shown, never turned into zero."""


NO_REFERENCE: Final = "there is no reference answer"
NO_UNIT: Final = "no turn has an answer and a reference"
NOTHING_TO_JUDGE: Final = (NO_REFERENCE, NO_UNIT)
"""Reasons of a `JudgedScore` without a request to the judge. They are not failures."""


class JudgedScore(Record):
    """One criterion's score of one model on one turn, chain, path or dialogue."""

    unit: Literal["turn", "chain", "path", "dialogue"]
    unit_id: Name
    turn_index: Index | None = None
    """If `unit` is `turn`: the index of the turn in the chain or dialogue `unit_id`, from 0."""
    model: Name
    criterion: Name
    value: Finite | None = None
    state: ScoreState = ScoreState.SCORED
    reason: str | None = None
    """Why there is no value."""
    explanation: str | None = None
    lenient: bool = False
    """True if the value was read although the judge did not keep to the form that it was asked for."""
    judge: Name
    video_id: VideoKey | None = None
    sample: Index = 0
    """Number of the judging, from 0, if a judge is asked several times (MT-Video-Bench's eval rounds)."""
    epoch: Index = 0
    """As of the answers."""
    replies: tuple[str, ...] = ()
    """The judge's original replies; two if the first could not be used."""

    @model_validator(mode="after")
    def _value_matches_state(self) -> Self:
        if (self.value is not None) != (self.state is ScoreState.SCORED):
            raise ValueError(f"state is {self.state.value!r} but value is {self.value!r}")
        return self


class Signature(BaseModel):
    """Everything that can change a number, in print order.

    `str(signature)` is `vdact.answers|data:9c1e04d2|tok:coco|…|v:0.1.0`, after sacreBLEU (Post 2018, W18-6319).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    subject: Name
    parts: tuple[tuple[Name, Name], ...]

    @model_validator(mode="after")
    def _can_be_read_back(self) -> Self:
        for text in (self.subject, *(key for key, _ in self.parts), *(value for _, value in self.parts)):
            if "|" in text:
                raise ValueError(f"a signature part must not contain '|': {text!r}")
        for key, _ in self.parts:
            if ":" in key:
                raise ValueError(f"a signature key must not contain ':': {key!r}")
        return self

    def __str__(self) -> str:
        return "|".join([self.subject, *(f"{key}:{value}" for key, value in self.parts)])

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Read a signature as it is printed.

        Raises:
            ValueError: A part has no `key:value` form.
        """
        subject, *rest = text.split("|")
        parts = [tuple(part.split(":", 1)) for part in rest]
        if any(len(part) != 2 for part in parts):
            raise ValueError(f"not a signature: {text!r}")
        return cls(subject=subject, parts=tuple((part[0], part[1]) for part in parts))


def short_hash(value: object) -> str:
    """A hash of a value, of eight digits: equal for equal records, whatever their `extra` holds.

    Args:
        value: Records, dataclasses, mappings, sequences and plain values.
    """
    text = json.dumps(plain_value(value), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_DIGITS]


def hash_texts(texts: Iterable[bytes], *more: object) -> str:
    """`short_hash` of a list, or of a list and more values, without the list in memory.

    Args:
        texts: Each item of the list as JSON, as `short_hash` writes it.
        more: Values after the list.
    """
    digest = hashlib.sha256(b"[[" if more else b"[")
    for number, text in enumerate(texts):
        digest.update(b", " + text if number else text)
    for value in more:
        digest.update(f"], {json.dumps(plain_value(value), sort_keys=True, ensure_ascii=True)}".encode())
    digest.update(b"]")
    return digest.hexdigest()[:HASH_DIGITS]


def plain_value(value: Any) -> Any:
    """A value as plain JSON, without `extra`. Empty fields are left out, so that a new field does not change a hash.

    Args:
        value: Records, dataclasses, mappings, sequences and plain values.
    """
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if (names := _field_names(kind)) is not None:
        held = ((name, getattr(value, name)) for name in names)
    elif isinstance(value, Mapping):
        held = ((str(key), one) for key, one in value.items())
    elif isinstance(value, list | tuple):
        return [one if type(one) is str else plain_value(one) for one in value]
    else:
        return value.value if isinstance(value, Enum) else value
    return {name: plain_value(one) for name, one in held if one or isinstance(one, str | int | float)}


_PLAIN: Final = frozenset({str, int, float, bool, type(None)})


@cache
def _field_names(kind: type) -> tuple[str, ...] | None:
    """The fields of a record or dataclass; None for another type."""
    if issubclass(kind, BaseModel):
        return tuple(name for name in kind.model_fields if name != "extra")
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None
