"""Text broken into lines for a drawing, which does not break any itself.

Widths are estimated from kinds of characters, a little wide rather than narrow, as the font that will be used is not
known. Long words and text without spaces, as Chinese, break where they must.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from reeltalk.analysis.visible import visible

NARROW: Final = frozenset("iljtfrI.,;:'!|()[]{}`·- ")
WIDE: Final = frozenset("mwMWQOGD@%&—…")


@lru_cache(maxsize=4096)
def width_of_character(character: str) -> float:
    """About how wide a character is, as a share of the font's size."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.0
    if unicodedata.combining(character):
        return 0.0
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.92
    return 0.72 if character.isupper() else 0.58


def width_of(text: str, size: float) -> float:
    """About how wide a text is, in the units of `size`.

    Args:
        text: On one line.
        size: Of the font.
    """
    return sum(map(width_of_character, text)) * size


def wrapped(text: str, width: float, size: float, *, most_lines: int) -> list[str]:
    """A text in lines that fit.

    Args:
        text: A stranger's; line breaks count as spaces, and what is invisible is made visible.
        width: Of a line, in the units of `size`.
        size: Of the font.
        most_lines: A longer text ends with an ellipsis there.

    Returns:
        The lines; none where there is no text.
    """
    lines: list[str] = []
    line = ""
    room = width / size
    used = 0.0
    for piece in _pieces(visible(" ".join(text[: 400 * most_lines].split()))):
        length = sum(map(width_of_character, piece.rstrip()))
        if used + length > room and line:
            lines.append(line.rstrip())
            line, used = "", 0.0
        while length > room:
            # A word that is longer than a line.
            taken, filled = 0, 0.0
            while taken < len(piece) and (filled := filled + width_of_character(piece[taken])) <= room:
                taken += 1
            taken = max(taken, 1)
            lines.append(piece[:taken])
            piece = piece[taken:]
            length = sum(map(width_of_character, piece.rstrip()))
        line += piece
        used += sum(map(width_of_character, piece))
        if len(lines) > most_lines:
            break
    if line.strip():
        lines.append(line.rstrip())
    if len(lines) > most_lines or len(text) > 400 * most_lines:
        lines = lines[:most_lines]
        last = lines[-1]
        while last and width_of(last + "…", 1.0) > room:
            last = last[:-1]
        lines[-1] = last.rstrip() + "…"
    return lines


def _pieces(text: str) -> Iterator[str]:
    """What must not be broken: words with the space behind them, and each wide character by itself."""
    word = ""
    for character in text:
        if unicodedata.east_asian_width(character) in "WF":
            if word:
                yield word
            word = character
        elif character == " ":
            yield word + character
            word = ""
        else:
            if word and unicodedata.east_asian_width(word[-1]) in "WF" and character.isalnum():
                yield word
                word = ""
            word += character
    if word:
        yield word
