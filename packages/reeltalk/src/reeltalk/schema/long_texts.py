"""Long texts of models, made short before rules read them.

A model that loses its way repeats a character, a word or a sentence until its tokens are used up. Patterns that take a
moment on an answer take minutes on that. What is stored stays as it came.
"""

import re
from typing import Final

SHORT_CHARS: Final = 1_000
"""Texts of up to so many characters are read as they are."""
HEAD, TAIL = 6_000, 14_000
"""Characters that are read of the beginning and of the end of a longer text."""
LONGEST_PERIOD: Final = 200
"""Characters of the longest passage whose repetition is seen."""
MOST_REPEATS: Final = 8
"""Times in a row that a passage is read."""

# Possessive, and only from the beginning of a run: each character is looked at once.
_SIGNS: Final = re.compile(r"(?<!\W)(\W{64})\W++")
_SPACES: Final = re.compile(r"(?<!\s)(\s{64})\s++")


def shortened(text: str) -> str:
    """A text as rules read it: its beginning and end, without endless repetition.

    Args:
        text: Any text. Up to `SHORT_CHARS` characters, it is returned as it is.

    Returns:
        At most `HEAD` + `TAIL` + 1 characters. No passage of up to `LONGEST_PERIOD` characters stands there much more
        than `MOST_REPEATS` times in a row, and of a run of signs and spaces the first 64.
    """
    if len(text) <= SHORT_CHARS:
        return text
    if len(text) > HEAD + TAIL:
        text = f"{text[:HEAD]}\n{text[-TAIL:]}"
    return _without_repetition(_SIGNS.sub(r"\1", text))


def without_long_spaces(text: str) -> str:
    """A text in which at most 64 spaces and line ends stand in a row: for JSON, where repetition may be data."""
    return text if len(text) <= SHORT_CHARS else _SPACES.sub(r"\1", text)


def _without_repetition(text: str) -> str:
    import numpy as np

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    for period in range(1, LONGEST_PERIOD + 1):
        enough = max(MOST_REPEATS * period, 64)
        same = codes[period:] == codes[:-period]
        if np.count_nonzero(same) < enough:
            continue
        edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).view(np.int8))).reshape(-1, 2)
        kept = np.ones(len(codes), dtype=bool)
        for start, end in edges[edges[:, 1] - edges[:, 0] >= enough]:
            # What is left of the last passage stays, so that the words after it are whole.
            kept[start + enough // period * period : start + (end - start) // period * period] = False
        codes = codes[kept]
    return codes.tobytes().decode("utf-32-le", "surrogatepass")
