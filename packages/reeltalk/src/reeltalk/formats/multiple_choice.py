"""Options of multiple choice: the letters that they carry, and a turn whose right option is named in any way."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from reeltalk.formats.layout import OpenedFile
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.turn_sense import LETTERS

_LETTER = re.compile(
    r"\s*(?:[(（\[【]\s*([A-Za-zＡ-Ｚａ-ｚ])\s*[)）\]】][.:：]?|([A-Za-zＡ-Ｚａ-ｚ])\s?[.．:：)）、])(?![A-Za-z][.])\s*(?=\S)"
)
_NUMBER = re.compile(r"\s*(?:\(([0-9]{1,2})\)\s*|([0-9]{1,2})(?:[.:]\s+|[)．、：）]\s*))(?=\S)")


def without_letters(options: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Options without the letters or numbers that all of them carry, and these; none if they do not carry all.

    Letters (`A. red`, `(B) blue`, `Ｃ、绿`) are taken off in any order, numbers only in the order of their places.
    """
    expected = tuple(LETTERS[: len(options)])
    for pattern, marks in ((_LETTER, expected), (_NUMBER, tuple(str(n + 1) for n in range(len(options))))):
        found = [pattern.match(option) for option in options]
        carried = tuple(unicodedata.normalize("NFKC", one[1] or one[2]).upper() for one in found if one)
        if len(options) > 1 and (sorted(carried) == [*marks] if pattern is _LETTER else carried == marks):
            return tuple(option[one.end() :] for option, one in zip(options, found, strict=True) if one), carried
    return tuple(options), ()


def choice(
    file: OpenedFile,
    place: str,
    *,
    question: str,
    options: Sequence[str],
    right: str | int | None,
    labels: Mapping[str, tuple[str, ...]],
    asked_at_s: float | None = None,
) -> Turn:
    """A turn with options, which lose their letters.

    Args:
        place: The place of the question in it.
        options: The options, as they are in the file.
        right: The right one: its words, its letter, or its index from 0; None if it is hidden.
        labels: Labels of the turn.
        asked_at_s: When it is asked.

    Raises:
        InputError: `right` is none of the options.
    """
    texts, marks = without_letters(options)
    index = right
    if isinstance(right, str):
        names = (tuple(options), texts, marks or tuple(LETTERS[: len(texts)]))
        index = next((known.index(right) for known in names if right in known), len(texts))
    if index is not None and not 0 <= int(index) < len(texts):
        hint = "an index counts from 0" if isinstance(right, int) else None
        raise file.error(f"the answer is none of the {len(texts)} options", place, right, hint)
    return Turn(
        question=question,
        references=() if index is None else (texts[int(index)],),
        options=texts,
        correct_option=None if index is None else int(index),
        asked_at_s=asked_at_s,
        labels=dict(labels),
    )
