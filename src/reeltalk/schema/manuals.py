"""Manuals by which people and models tag questions: one text for both, with a version, kept beside the vocabularies."""

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent
TAGGING_MANUAL: Final = FOLDER / "tagging_manual.md"
"""CogME's three vocabularies, in our words. A change of it is another version, and shows in what it tagged."""
QUESTION_TYPES: Final = FOLDER / "question_types.md"
"""VDAct's thirteen question types, in our words."""
