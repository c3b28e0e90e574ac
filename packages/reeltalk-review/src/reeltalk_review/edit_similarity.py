"""Agreement of two people who edited the same draft of a text.

There are two numbers. The *edit similarity* is one minus the Levenshtein distance in words over the length of the
longer text: how similar the two texts are. Two people who hardly change a draft have similar texts whatever they
change, so the *edit overlap* asks how many of the changed words both changed in the same way: the Dice coefficient of
the two edits, 0 if they share nothing and 1 if they are equal.

Chance-corrected coefficients would compare with texts of other questions. These have other drafts, so any two edits of
one draft would seem to agree far better than chance. The overlap uses the draft itself as the agreement by chance.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.draws import Draws, Statistic, ratio_of_sums

Floats = NDArray[np.float64]

NO_TEXTS: Final = "no text that both wrote"
NOTHING_EDITED: Final = "neither changed a word"

_TOKEN: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|"
    r"[^\W\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+|[^\w\s]"
)
"""A Han or Kana character, a run of letters and digits of other scripts, or one mark."""


@dataclass(frozen=True)
class EditAgreement:
    """Two people's versions of the same drafts."""

    similarity: Statistic
    """Mean edit similarity, 0 to 1, over all texts."""
    similarity_of_edited: Statistic
    """The same over texts that at least one of the two changed."""
    overlap: Statistic
    """Share of the changed words that both changed in the same way, 0 to 1; None if neither changed a word."""
    untouched: int
    """Number of texts that neither changed."""


def edit_tokens(text: str) -> list[str]:
    """The tokens in which edits are counted: words, single Han and Kana characters, and punctuation marks.

    A change of case is an edit. Characters are normalised (NFC), and spaces do not count.
    """
    return _TOKEN.findall(unicodedata.normalize("NFC", text))


def word_distances(first: Sequence[str], second: Sequence[str]) -> tuple[Floats, Floats]:
    """Levenshtein distances in words of pairs of texts.

    Args:
        first: N texts.
        second: N others.

    Returns:
        (N,) number of words to insert, delete or replace to turn one text into the other, and (N,) number of words of
        the longer text, an upper bound. Both are 0 for equal texts, whose words are not counted.

    Reference:
        Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", Soviet Physics Doklady
        10, 1966.
    """
    distances, lengths = np.zeros(len(first)), np.zeros(len(first))
    for place, (one, other) in enumerate(zip(first, second, strict=True)):
        if one != other:
            words, others = edit_tokens(one), edit_tokens(other)
            distances[place], lengths[place] = _levenshtein(words, others), max(len(words), len(others))
    return distances, lengths


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Number of words that both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))


def _levenshtein(first: Sequence[str], second: Sequence[str]) -> int:
    # Most edits are small: what is the same at both ends needs no table.
    begin = _common(first, second)
    end = _common(first[begin:][::-1], second[begin:][::-1])
    first, second = first[begin : len(first) - end], second[begin : len(second) - end]
    row = list(range(len(second) + 1))
    for number, word in enumerate(first, 1):
        diagonal, row[0] = row[0], number
        for place, other in enumerate(second, 1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (word != other))
    return row[-1]


def _similar(distances: Floats, lengths: Floats) -> Floats:
    return 1 - distances / np.maximum(lengths, 1)


def edit_agreement(first: Sequence[str], second: Sequence[str], drafts: Sequence[str], draws: Draws) -> EditAgreement:
    """Agreement of two people's edits of the same drafts, with 95 % intervals.

    Args:
        first: N texts of one person.
        second: N texts of the other person.
        drafts: N drafts that both edited.
        draws: Samples of the texts' videos.

    Reference:
        The overlap is 1 - Σ d(first, second) / Σ (d(first, draft) + d(second, draft)). Seen as sets of changed words,
        d(first, second) is their symmetric difference, and this is Dice's coefficient (Ecology 26, 1945), as with F1 of
        edits in Bryant & Ng, "How Far are We from Fully Automatic High Quality Grammatical Error Correction?", 2015.
        The triangle inequality holds it between 0 and 1.
    """
    if not len(first):
        none = draws.statistic(None, None, reason=NO_TEXTS)
        return EditAgreement(none, none, none, 0)
    apart, lengths = word_distances(first, second)
    changed = word_distances(first, drafts)[0] + word_distances(second, drafts)[0]
    edited = changed > 0
    ones = np.ones(len(apart))
    similar = _similar(apart, lengths)
    of_edited = draws.subset(edited)
    return EditAgreement(
        ratio_of_sums(similar, ones, draws, reason=NO_TEXTS),
        ratio_of_sums(similar[edited], ones[edited], of_edited, reason=NOTHING_EDITED),
        ratio_of_sums(changed[edited] - apart[edited], changed[edited], of_edited, reason=NOTHING_EDITED),
        int((~edited).sum()),
    )
