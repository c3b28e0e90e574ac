"""What a check found about a turn, a chain, a linkage or a scene."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from reeltalk.schema.record import Finite, Name, Record

GateUnit = Literal["chain", "dialogue", "linkage", "path", "scene", "clip", "video"]


class GateOutcome(StrEnum):
    """What became of the unit."""

    PASSED = "passed"
    FLAGGED = "flagged"
    """Kept, and shown to whoever reviews it."""
    DROPPED = "dropped"
    """Left out of the tables by a set rule."""
    UNWRITTEN = "unwritten"
    """A writer gave nothing that could be used; its raw replies are kept, and nothing stands in its place."""
    UNCHECKED = "unchecked"
    """The check could not be made."""


class GateResult(Record):
    """One check of one unit. A check that found nothing has a row too, so that what was checked is known."""

    gate: Name
    """Which check, as `lint` or `leak.blind`."""
    unit: GateUnit
    unit_id: Name
    turn_index: Annotated[int, Field(ge=0)] | None = None
    """From 0, where it is about one turn."""
    outcome: GateOutcome
    reason: str | None = None
    """Why it did not pass."""
    value: Finite | None = None
    """What was measured, as an overall quality of 0 to 100."""
    raw: tuple[str, ...] = ()
    """Replies of a model that could not be used, as they came."""
