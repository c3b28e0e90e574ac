"""Answers and references as integers, with their n-grams counted once for all metrics that need them.

Answers about videos repeat themselves ("No, he does not."), so every distinct sentence is counted once, and every
distinct pair of an answer and a reference is compared once.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Tokens = Sequence[str]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LONGEST_NGRAM: Final = 4


class NgramCounts(NamedTuple):
    """How often each n-gram of one length stands in each distinct sentence, sorted by sentence, then n-gram."""

    sentence: Ints
    """(M,) index of the distinct sentence."""
    ngram: Ints
    """(M,) number of the n-gram, from 0."""
    times: Ints
    """(M,) 1 or more."""
    different: int
    """How many different n-grams there are, at least 1."""


class Matches(NamedTuple):
    """The n-grams of one length that an answer and a reference share, for every distinct pair of the two."""

    pair: Ints
    """(K,) index of the distinct pair, in order."""
    in_answer: Ints
    """(K,) row of `NgramCounts` for the answer."""
    in_reference: Ints
    """(K,) row of `NgramCounts` for the reference."""


class Corpus:
    """Tokenised answers, each with one or more tokenised references.

    Args:
        answers: One token list an item.
        references: For each item its references' token lists, at least one.

    Raises:
        ValueError: The lengths differ, there are no items, or an item has no reference.
    """

    def __init__(self, answers: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> None:
        if len(answers) != len(references) or not answers:
            raise ValueError(f"need as many references as answers, and some: {len(answers)} and {len(references)}")
        if not all(references):
            raise ValueError(f"item {next(i for i, group in enumerate(references) if not group)} has no reference")
        known: dict[Tokens, int] = {}
        number = known.setdefault
        self.items: Final = len(answers)
        answer_of_item = np.array([number(tuple(tokens), len(known)) for tokens in answers], np.int64)
        reference = np.array([number(tuple(tokens), len(known)) for group in references for tokens in group], np.int64)
        numbers: dict[str, int] = {}
        of_token = numbers.setdefault
        self.sentences: list[list[int]] = [[of_token(token, len(numbers)) for token in tokens] for tokens in known]
        """Distinct sentences as token numbers."""
        self.vocabulary: Final = len(numbers)
        self.lengths: Ints = np.fromiter(map(len, self.sentences), np.int64, len(self.sentences))
        """(S,) tokens in each distinct sentence."""
        self.item_of_reference: Ints = np.repeat(
            np.arange(self.items), np.fromiter(map(len, references), np.int64, self.items)
        )
        """(R,) the item that each reference belongs to."""
        self.answer: Ints = answer_of_item
        """(N,) the distinct sentence that each answer is."""
        self.reference: Ints = reference
        """(R,) the distinct sentence that each reference is."""
        pairs, pair_of_reference = np.unique(
            answer_of_item[self.item_of_reference] * len(known) + reference, return_inverse=True
        )
        self.pair_answer, self.pair_reference = np.divmod(pairs, len(known))
        """(P,) each: the two distinct sentences of every distinct pair."""
        self.pair_of_reference: Ints = pair_of_reference
        """(R,) the distinct pair of each reference and its item's answer."""

    @property
    def one_reference_each(self) -> bool:
        """True where every item has one reference."""
        return len(self.reference) == self.items

    @cached_property
    def ngrams(self) -> list[NgramCounts]:
        """Counts for n = 1 to 4."""
        sentence = np.repeat(np.arange(len(self.lengths)), self.lengths)
        token = np.fromiter((n for tokens in self.sentences for n in tokens), np.int64, int(self.lengths.sum()))
        # `left[i]` tells how many tokens of its sentence stand at and after position i.
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(token))
        code, different, start = token, self.vocabulary, np.arange(len(token))
        counts: list[NgramCounts] = []
        for n in range(1, LONGEST_NGRAM + 1):
            if n > 1:
                # An n-gram is an (n-1)-gram and the token after it; renumbering keeps the codes below 2^63.
                start = np.flatnonzero(left >= n)
                kinds, renumbered = np.unique(code[start] * self.vocabulary + token[start + n - 1], return_inverse=True)
                code = np.full(len(token), -1, np.int64)
                code[start] = renumbered
                different = len(kinds)
            size = max(different, 1)
            keys, times = np.unique(sentence[start] * size + code[start], return_counts=True)
            where, ngram = np.divmod(keys, size)
            counts.append(NgramCounts(where, ngram, times, size))
        return counts

    @cached_property
    def matches(self) -> list[Matches]:
        """Shared n-grams of every distinct pair, for n = 1 to 4."""
        found = []
        for counts in self.ngrams:
            rows = np.bincount(counts.sentence, minlength=len(self.lengths))
            first = np.cumsum(rows) - rows
            size = rows[self.pair_reference]
            pair = np.repeat(np.arange(len(size)), size)
            in_reference = np.arange(len(pair)) + np.repeat(first[self.pair_reference] - (np.cumsum(size) - size), size)
            keys = counts.sentence * counts.different + counts.ngram
            wanted = self.pair_answer[pair] * counts.different + counts.ngram[in_reference]
            in_answer = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
            shared = keys[in_answer] == wanted if len(keys) else np.zeros(0, bool)
            found.append(Matches(pair[shared], in_answer[shared], in_reference[shared]))
        return found
