"""Text that is data, as a language model is shown it: between fences that it cannot close, with nothing hidden."""

import hashlib
import unicodedata


def fence(text: str) -> str:
    """A model's answer, or any other text that is data, between fences that it cannot close.

    The fence ends in letters that the text does not hold. They are drawn from the text itself, so that the same text is
    fenced the same way and a reply can be kept. Characters that cannot be seen are written out.
    """
    shown = escape_invisible(text)
    mark = hashlib.sha256(shown.encode("utf-8", "replace")).hexdigest()[:8]
    while mark in shown:
        mark = hashlib.sha256(mark.encode()).hexdigest()[:8]
    return f"<<<DATA {mark}\n{shown}\nDATA {mark}>>>"


def escape_invisible(text: str) -> str:
    """A text with what cannot be seen written out: control, format and private characters by their code points."""
    return "".join(
        character
        if character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Co", "Cn", "Cs")
        else f"\\u{ord(character):04x}"
        for character in text.replace("\r\n", "\n")
    )
