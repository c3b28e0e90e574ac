"""Tags that a tagger proposed for a turn, with their probabilities, and the manual that people and models tag by."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.schema.record import Finite, Name, Record

TagUnit = Literal["chain", "dialogue", "path"]
Probability = Annotated[Finite, Field(ge=0, le=1)]


class TagProposal(Record):
    """What a tagger made of one turn in one vocabulary. It stays a proposal until a person has looked at it."""

    unit: TagUnit
    unit_id: Name
    turn_index: Annotated[int, Field(ge=0)]
    """From 0."""
    vocabulary: Name
    """As `cogme.target`."""
    tags: tuple[Name, ...] = ()
    """What the turn was tagged with; none if the tagger gave nothing that could be used."""
    probabilities: dict[str, Probability] = Field(default_factory=dict)
    """How likely each tag of the vocabulary is, by the tagger; empty if it does not say."""
    margin: Probability | None = None
    """How far the probabilities are from other tags, 0 to 0.5; None if the tagger does not say."""
    tagger: Name
    """Signature: `linear:NAME#1f2e3d4c`, or `model:NAME#1f2e3d4c`."""
    needs_review: bool = False
    """True for the most uncertain ones, and for those without tags."""
    reason: str | None = None
    """Why there are no tags."""
    raw: tuple[str, ...] = ()
    """Replies of a model that could not be used, as they came."""


_FOLDER: Final = Path(__file__).parent
TAGGING_MANUAL: Final = _FOLDER / "tagging_manual.md"
"""CogME's vocabularies (CogSci 2024, tables 1 to 3) and VDAct's question types (AAAI 2025, table 1), in our words.

A change of it is another version, and shows in what it tagged.
"""
TAGGING_MANUALS: Final[Mapping[str, Path]] = {"en": TAGGING_MANUAL, "zh": _FOLDER / "tagging_manual_zh.md"}
"""The manual by language."""
