"""Fences around text that is data: a language model sees all of it, and the text cannot close its fence."""

import hashlib
import re
import unicodedata
from typing import Final

FENCED: Final = re.compile(r"<<<DATA (?P<mark>\w{8})\n(?P<data>.*?)\nDATA (?P=mark)>>>", re.DOTALL)
"""A fenced text, with its mark."""


def fence(text: str) -> str:
    """Put a text that is data, as a model's answer, between fences that it cannot close.

    The fence ends in a mark that the text does not contain. The mark is a hash of the text, so that equal texts have
    equal fences and replies can be kept. Invisible characters are written out.
    """
    shown = escape_invisible(text)
    mark = hashlib.sha256(shown.encode("utf-8", "replace")).hexdigest()[:8]
    while mark in shown:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:8]
    return f"<<<DATA {mark}\n{shown}\nDATA {mark}>>>"


def escape_invisible(text: str) -> str:
    """Write out invisible characters: control, format and private ones are replaced by their code points."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cn", "Cs")
        else f"\\u{ord(character):04x}"
        for character in text.replace("\r\n", "\n")
    )
