"""The manual by which people and models tag questions: one text for both, with a version, beside the vocabularies."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
TAGGING_MANUAL: Final = FOLDER / "tagging_manual.md"
"""CogME's vocabularies (CogSci 2024, tables 1 to 3) and VDAct's question types (AAAI 2025, table 1), in our words.

A change of it is another version, and shows in what it tagged.
"""
TAGGING_MANUALS: Final[Mapping[str, Path]] = {"en": TAGGING_MANUAL, "zh": FOLDER / "tagging_manual_zh.md"}
"""The manual by language."""
