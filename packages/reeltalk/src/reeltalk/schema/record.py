"""The base class of all records, and the types of their names and identifiers.

A record from a published file keeps its identifier. A record that we make is named by a hash of its content, so that
the same inputs give the same identifiers on every machine.
"""

import hashlib
import json
import math
from functools import lru_cache
from typing import Annotated, Any, Final, NewType

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.schema.texts import code_point, refused_in_name

LONGEST_NAME: Final = 512
CACHED_NAMES: Final = 4096
"""Names whose check is kept, since the rows of a table repeat them."""

Json = Any
"""A JSON value. Not pydantic's `JsonValue`, whose validation of every value is slow."""


@lru_cache(CACHED_NAMES)
def check_one_line(text: str) -> str:
    """Return the text if it can be a name.

    Raises:
        ValueError: It is empty, has outer spaces, or holds a character that no name may hold.
    """
    if text != text.strip() or not text:
        raise ValueError("must be a non-empty line without control characters or outer spaces")
    if found := refused_in_name(text):
        raise ValueError(f"holds {code_point(found)}, a character that no name may hold: it cannot be seen")
    return text


def _is_finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError("must be a finite number")
    return value


Name = Annotated[str, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
"""An identifier or name: one line, 1 to 512 characters."""

Index = Annotated[int, Field(ge=0, lt=2**31)]
"""A place in a list, counted from 0. Tables of scores hold it in 32 bits."""

VideoId = NewType("VideoId", str)
ClipId = NewType("ClipId", str)
ChainId = NewType("ChainId", str)
DialogueId = NewType("DialogueId", str)
PathId = NewType("PathId", str)
EntityId = NewType("EntityId", str)
EventId = NewType("EventId", str)

# The checks of `Name`, spelled out: as metadata of another `Annotated`, `Name` itself would check nothing.
VideoKey = Annotated[VideoId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
ClipKey = Annotated[ClipId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
ChainKey = Annotated[ChainId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
DialogueKey = Annotated[DialogueId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
PathKey = Annotated[PathId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
EntityKey = Annotated[EntityId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]
EventKey = Annotated[EventId, Field(max_length=LONGEST_NAME), AfterValidator(check_one_line)]

Finite = Annotated[float, AfterValidator(_is_finite)]
LONGEST_S: Final = 1e12
"""A time beyond it is none of a video, and sums of such times overflow."""
Seconds = Annotated[float, Field(ge=0, le=LONGEST_S), AfterValidator(_is_finite)]
"""Seconds from the first presentation timestamp of the video, at most `LONGEST_S`."""


class Record(BaseModel):
    """One row of a table. Frozen; a field that reeltalk does not know is an error, never dropped.

    Other fields of a published file are kept in `extra`, under the source's own names, and the exporter of that format
    writes them again.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, ser_json_inf_nan="constants")

    extra: dict[str, Json] = Field(default_factory=dict)
    """Fields of the source that are not fields of the record, as JSON values."""

    def to_json(self) -> str:
        """One line of JSON: fields in declaration order, those equal to their default left out."""
        return self.model_dump_json(exclude_defaults=True)


ID_HEX_DIGITS = 16
"""64 bits: at a million records the chance of any collision is below 3e-8."""


def name_key(name: str) -> int:
    """64 bits of a hash of a name. Of a million names, two agree with a probability of 3 in 100 million."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def derive_id(prefix: str, *content: object) -> str:
    """Name content by its hash.

    Args:
        prefix: Kind of the record, such as `clip`.
        content: JSON-serialisable parts that identify it, in a fixed order.

    Returns:
        `prefix-` and 16 hexadecimal digits of the SHA-256 of the parts' canonical JSON.
    """
    canonical = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return f"{prefix}-{hashlib.sha256(canonical.encode()).hexdigest()[:ID_HEX_DIGITS]}"
