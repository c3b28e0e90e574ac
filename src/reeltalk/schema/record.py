"""The base of all records: frozen, strict about its own fields, and lossless for fields of a source."""

import math
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from reeltalk.schema.texts import code_point, refused_in_name

LONGEST_NAME: Final = 512

Json = Any
"""A JSON value. Not pydantic's `JsonValue`, whose validation of every value is slow."""


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

Finite = Annotated[float, AfterValidator(_is_finite)]
Seconds = Annotated[float, Field(ge=0), AfterValidator(_is_finite)]
"""Seconds from the first presentation timestamp of the video."""


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
