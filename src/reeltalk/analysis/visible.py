"""Strangers' text made fit to be shown: what is invisible or turns the line's direction round becomes visible."""

import re
from html import escape
from typing import Final

# Control characters are no valid HTML; the bidirectional ones make what follows read backwards; a lone surrogate
# cannot be written as UTF-8.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """`text` with every character that cannot or must not be shown replaced by U+FFFD."""
    # Most text holds none, which is seen at once where it is plain; pages put each of their words through here.
    return text if text.isascii() and text.isprintable() else _INVISIBLE.sub("\ufffd", text)


def escaped(text: str) -> str:
    """`text` as it may stand in a figure's markup."""
    return escape(visible(text))
