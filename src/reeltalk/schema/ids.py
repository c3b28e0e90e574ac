"""Typed identifiers, and how an identifier derives from content.

A record from a published file keeps its identifier. A record that we make is named by a hash of its content, so that
the same inputs give the same identifiers on every machine.
"""

import hashlib
import json
from typing import Annotated, NewType

from pydantic import AfterValidator, Field

from reeltalk.schema.record import LONGEST_NAME, check_one_line

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

ID_HEX_DIGITS = 16
"""64 bits: at a million records the chance of any collision is below 3e-8."""


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
