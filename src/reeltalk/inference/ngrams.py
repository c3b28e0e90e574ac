"""Weighted word and character n-grams of short texts, with exactly the values of scikit-learn's TfidfVectorizer.

A model that was trained with scikit-learn runs with only this module and numpy.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Analyzer = Literal["word", "char_wb"]

LONGEST_TEXT_CHARS: Final = 20_000
"""Only the beginning of a longer text counts, for example if a reference answer quotes a book."""

_WORD = re.compile(r"(?u)\b\w\w+\b")
_SPACES = re.compile(r"\s\s+")


@dataclass(frozen=True)
class NGrams:
    """The n-grams of a text that count, and their weights."""

    analyzer: Analyzer
    """Runs of words, or of characters inside words."""
    shortest: int
    """Length of the shortest run in words or characters, 1 or more."""
    longest: int
    terms: tuple[str, ...]
    """The runs that count, one per column."""
    idf: Floats
    """(F,) weight of each run."""

    @cached_property
    def column(self) -> dict[str, int]:
        """Column by run."""
        return {term: column for column, term in enumerate(self.terms)}

    def weights(self, text: str) -> tuple[NDArray[np.intp], Floats]:
        """Columns with non-zero values, and the values, scaled to length 1; two empty arrays if no run is known.

        Args:
            text: The original text; case is ignored.
        """
        cut = text[:LONGEST_TEXT_CHARS].lower()
        runs = word_ngrams(cut, self) if self.analyzer == "word" else characters_of(cut, self)
        counts = Counter(column for run in runs if (column := self.column.get(run)) is not None)
        columns = np.array(sorted(counts), dtype=np.intp)
        values = np.array([1.0 + math.log(counts[column]) for column in columns]) * self.idf[columns]
        length = float(np.sqrt(values @ values))
        return columns, values / length if length else values


def word_ngrams(text: str, spec: NGrams) -> Iterator[str]:
    """Runs of words of two letters or more, in a text in lower case."""
    words = _WORD.findall(text)
    for n in range(spec.shortest, spec.longest + 1):
        for start in range(len(words) - n + 1):
            yield " ".join(words[start : start + n])


def characters_of(text: str, spec: NGrams) -> Iterator[str]:
    """Runs of characters inside words, each word with a space before and after it, of a text in lower case."""
    for word in _SPACES.sub(" ", text).split():
        padded = f" {word} "
        for n in range(spec.shortest, spec.longest + 1):
            yield padded[:n]
            if n >= len(padded):
                # A word that is shorter than the run counts once.
                break
            for start in range(1, len(padded) - n + 1):
                yield padded[start : start + n]


def matrix(specs: Sequence[tuple[NGrams, Sequence[str]]]) -> Floats:
    """(N, F) values of all n-grams of N items, side by side.

    specs: N-grams, each with the N texts in which it counts.
        specs: N-grams, each with the N texts it is to count in.
    """
    parts: list[Floats] = []
    for spec, texts in specs:
        part = np.zeros((len(texts), len(spec.terms)))
        for row, text in enumerate(texts):
            columns, values = spec.weights(text)
            part[row, columns] = values
        parts.append(part)
    return np.concatenate(parts, axis=1)
