"""How far two people agree on a text that both edited, starting from the same draft.

Two numbers, since they answer two questions. The *edit similarity* is one minus the Levenshtein distance in words over
the length of the longer text: how alike the two texts are. Two people who hardly touch a draft are alike by that
measure whatever they touch, so the *edit overlap* asks how much of what either changed both changed alike: the Dice
coefficient of the two edits, 0 where they share nothing and 1 where they are the same.

Chance-corrected coefficients compare with texts of other questions. Those share no draft, so that any two edits of one
draft would seem to agree well beyond chance; the overlap takes the draft itself as what is agreed upon beforehand.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.draws import Draws, Statistic, ratio_of_sums

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

NO_TEXTS: Final = "no text that both wrote"
NOTHING_EDITED: Final = "neither changed a word"

_MOST_CELLS: Final = 1 << 20
"""Pairs that are compared together fill at most so many cells of a row; one pair of longer texts is compared alone."""
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
    """The same over the texts that at least one of the two changed."""
    overlap: Statistic
    """Share of the changed words that both changed alike, 0 to 1; None where neither changed a word."""
    untouched: int
    """Texts that both left as they were drafted."""


def edit_tokens(text: str) -> list[str]:
    """The units in which edits are counted: words, single Han and Kana characters, and punctuation marks.

    Case counts, as a change of case is an edit. Equal characters of Unicode are equal (NFC); spaces do not count.
    """
    return _TOKEN.findall(unicodedata.normalize("NFC", text))


def word_distances(first: Sequence[str], second: Sequence[str]) -> tuple[Floats, Floats]:
    """Levenshtein distances in words of pairs of texts.

    Args:
        first: N texts.
        second: N others.

    Returns:
        (N,) how many words must be put in, taken out or replaced to turn one into the other, and (N,) the words of the
        longer of the two, which is the most it can be; 0 where the texts are the same, which nobody need count.

    Reference:
        Levenshtein, "Binary codes capable of correcting deletions, insertions, and reversals", Soviet Physics Doklady
        10, 1966.
    """
    distances, lengths = np.zeros(len(first)), np.zeros(len(first))
    # Most texts are left as they were drafted: only those that differ are taken apart.
    waiting = [place for place, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    numbers: dict[str, int] = {}
    coded: dict[str, Ints] = {}
    for text in {text for place in waiting for text in (first[place], second[place])}:
        coded[text] = np.array([numbers.setdefault(word, len(numbers)) for word in edit_tokens(text)], np.int32)
    for place in waiting:
        lengths[place] = max(len(coded[first[place]]), len(coded[second[place]]))
    # Texts of about one length are compared together, so that little is padded.
    waiting.sort(key=lambda place: lengths[place])
    start = 0
    while start < len(waiting):
        end = start + 1
        while end < len(waiting) and (end + 1 - start) * (lengths[waiting[end]] + 1) <= _MOST_CELLS:
            if lengths[waiting[end]] > 1.25 * lengths[waiting[start]] + 4:
                break
            end += 1
        rows = waiting[start:end]
        distances[rows] = _levenshtein([coded[first[row]] for row in rows], [coded[second[row]] for row in rows])
        start = end
    return distances, lengths


def _levenshtein(first: list[Ints], second: list[Ints]) -> Ints:
    """(N,) distances of N pairs, by the usual table, a row of all pairs at a time."""
    a, a_lengths = _padded(first, -1)
    b, b_lengths = _padded(second, -2)
    place = np.arange(b.shape[1] + 1, dtype=np.int32)
    row = np.broadcast_to(place, (len(a), len(place))).copy()
    found = row[np.arange(len(a)), b_lengths].copy()
    for step in range(a.shape[1]):
        replaced = row[:, :-1] + (b != a[:, step : step + 1])
        best = np.empty_like(row)
        best[:, 0] = step + 1
        np.minimum(row[:, 1:] + 1, replaced, out=best[:, 1:])
        # A word may also be put in after the best of the places before: the least of value - place so far.
        row = np.minimum.accumulate(best - place, axis=1) + place
        ends = a_lengths == step + 1
        found[ends] = row[ends, b_lengths[ends]]
    return found


def _padded(codes: list[Ints], filler: int) -> tuple[Ints, NDArray[np.intp]]:
    lengths = np.array([len(code) for code in codes], np.intp)
    table = np.full((len(codes), int(lengths.max(initial=0))), filler, np.int32)
    for row, code in enumerate(codes):
        table[row, : len(code)] = code
    return table, lengths


def edit_similarity(first: Sequence[str], second: Sequence[str]) -> Floats:
    """(N,) edit similarities of pairs of texts, 0 to 1; 1 where both are empty.

    Args:
        first: N texts.
        second: N others.

    Returns:
        One minus the distance in words over the words of the longer text.
    """
    return _similar(*word_distances(first, second))


def _similar(distances: Floats, lengths: Floats) -> Floats:
    return 1 - distances / np.maximum(lengths, 1)


def edit_agreement(first: Sequence[str], second: Sequence[str], drafts: Sequence[str], draws: Draws) -> EditAgreement:
    """How far two people's edits of the same drafts agree, with 95 % intervals.

    Args:
        first: N texts of the one.
        second: N of the other, of the same places.
        drafts: N drafts that both were shown.
        draws: Of the places' videos.

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
