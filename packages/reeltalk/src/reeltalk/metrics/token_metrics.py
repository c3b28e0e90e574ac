"""Metrics of tokens: BLEU, ROUGE-L, CIDEr-D, token F1 and exact match, with n-grams counted once for all of them.

BLEU, ROUGE-L and CIDEr-D are computed as the COCO caption evaluation does (Chen et al. 2015, arXiv 1504.00325). Answers
about videos repeat themselves ("No, he does not."), so every distinct sentence is counted once, and every distinct pair
of an answer and a reference is compared once.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.info import MetricInfo

Tokens = Sequence[str]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LONGEST_NGRAM: Final = 4


class NgramCounts(NamedTuple):
    """Counts of the n-grams of one length in each distinct sentence, sorted by sentence, then n-gram."""

    sentence: Ints
    """(M,) index of the distinct sentence."""
    ngram: Ints
    """(M,) index of the n-gram."""
    times: Ints
    """(M,) 1 or more."""
    different: int
    """Number of different n-grams, at least 1."""


class Matches(NamedTuple):
    """The n-grams of one length that answer and reference share, for every distinct pair."""

    pair: Ints
    """(K,) index of the distinct pair, in order."""
    in_answer: Ints
    """(K,) row of `NgramCounts` for the answer."""
    in_reference: Ints
    """(K,) row of `NgramCounts` for the reference."""


class _Sentences(Sequence[list[int]]):
    """Sentences as token numbers, 4 bytes a token."""

    def __init__(self, known: Iterable[bytes]) -> None:
        self._tokens = array("i")
        self._ends = array("q", [0])
        for sentence in known:
            self._tokens.frombytes(sentence)
            self._ends.append(len(self._tokens))

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, place: int) -> list[int]: ...
    @overload
    def __getitem__(self, place: slice) -> list[list[int]]: ...
    def __getitem__(self, place: int | slice) -> list[int] | list[list[int]]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        number = range(len(self))[place]
        return self._tokens[self._ends[number] : self._ends[number + 1]].tolist()


class Corpus:
    """Tokenised answers, each with one or more tokenised references.

    Args:
        answers: One token list an item.
        references: Token lists of the references of each item, at least one.

    Raises:
        ValueError: The lengths differ, there are no items, or an item has no reference.
    """

    def __init__(self, answers: Iterable[Tokens], references: Iterable[Sequence[Tokens]]) -> None:
        known: dict[bytes, int] = {}
        numbers: dict[str, int] = {}

        def sentence(tokens: Tokens) -> int:
            own = array("i", [numbers.setdefault(token, len(numbers)) for token in tokens])
            return known.setdefault(own.tobytes(), len(known))

        # All answers are numbered before all references, and this decides the order in which values are added.
        answer_of_item = np.fromiter(map(sentence, answers), np.int64)
        self.items: Final = len(answer_of_item)
        counts = array("i")
        found = array("q")
        for group in references:
            counts.append(len(group))
            found.extend(map(sentence, group))
        if len(counts) != self.items or not self.items:
            raise ValueError(f"need as many references as answers, and some: {self.items} and {len(counts)}")
        if 0 in counts:
            raise ValueError(f"item {counts.index(0)} has no reference")
        reference = np.array(found, np.int64)
        self.sentences: Sequence[list[int]] = _Sentences(known)
        """Distinct sentences as token numbers."""
        self.vocabulary: Final = len(numbers)
        self.lengths: Ints = np.fromiter(map(len, self.sentences), np.int64, len(self.sentences))
        """(S,) tokens in each distinct sentence."""
        self.item_of_reference: Ints = np.repeat(np.arange(self.items), np.array(counts, np.int64))
        """(R,) item of each reference."""
        self.answer: Ints = answer_of_item
        """(N,) distinct sentence of each answer."""
        self.reference: Ints = reference
        """(R,) distinct sentence of each reference."""
        pairs, pair_of_reference = np.unique(
            answer_of_item[self.item_of_reference] * len(known) + reference, return_inverse=True
        )
        self.pair_answer, self.pair_reference = np.divmod(pairs, len(known))
        """(P,) each: the two distinct sentences of every distinct pair."""
        self.pair_of_reference: Ints = pair_of_reference
        """(R,) distinct pair of each reference and the answer of its item."""

    @property
    def one_reference_each(self) -> bool:
        """True if every item has one reference."""
        return len(self.reference) == self.items

    @cached_property
    def ngrams(self) -> list[NgramCounts]:
        """Counts for n = 1 to 4."""
        sentence = np.repeat(np.arange(len(self.lengths)), self.lengths)
        token = np.fromiter((n for tokens in self.sentences for n in tokens), np.int64, int(self.lengths.sum()))
        # `left[i]` is the number of tokens of its sentence from position i on.
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


BLEU: Final = tuple(
    MetricInfo(
        f"bleu_{order}",
        f"BLEU-{order}",
        mean_of="file",
        what=f"BLEU-{order} of the whole file, closest reference length, no smoothing",
        source="Papineni et al. 2002, P02-1040",
    )
    for order in range(1, 5)
)
_TINY: Final = 1e-15
_SMALL: Final = 1e-9
"""The COCO code adds _TINY above and _SMALL below each fraction bar, which keeps empty answers at zero."""


def bleu_statistics(corpus: Corpus) -> Floats:
    """The statistics of BLEU for each item.

    Returns:
        (N, 10): matched n-grams for n = 1 to 4, n-grams of the answer for n = 1 to 4, answer length, reference length.
    """
    lengths = corpus.lengths[corpus.answer]
    statistics = np.zeros((len(lengths), 2 * LONGEST_NGRAM + 2))
    for n, (counts, matches) in enumerate(zip(corpus.ngrams, corpus.matches, strict=True)):
        clipped = np.minimum(counts.times[matches.in_answer], counts.times[matches.in_reference])
        if corpus.one_reference_each:
            matched = np.bincount(matches.pair, weights=clipped, minlength=len(corpus.pair_answer))
            statistics[:, n] = matched[corpus.pair_of_reference]
        else:
            statistics[:, n] = _best_over_references(corpus, matches, clipped)
        statistics[:, LONGEST_NGRAM + n] = np.maximum(lengths - n, 0)
    statistics[:, -2], statistics[:, -1] = lengths, _closest_reference_lengths(corpus)
    return statistics


def _best_over_references(corpus: Corpus, matches: Matches, clipped: Ints) -> Floats:
    """(N,) matched n-grams, each clipped at its largest count in one reference."""
    rows = np.bincount(matches.pair, minlength=len(corpus.pair_answer))
    first = np.cumsum(rows) - rows
    size = rows[corpus.pair_of_reference]
    row = np.arange(int(size.sum())) + np.repeat(first[corpus.pair_of_reference] - (np.cumsum(size) - size), size)
    item = np.repeat(corpus.item_of_reference, size)
    order = np.lexsort((-clipped[row], matches.in_answer[row], item))
    item, ngram, most = item[order], matches.in_answer[row][order], clipped[row][order]
    is_first = np.ones(len(item), bool)
    is_first[1:] = (item[1:] != item[:-1]) | (ngram[1:] != ngram[:-1])
    return np.bincount(item[is_first], weights=most[is_first], minlength=corpus.items).astype(np.float64)


def _closest_reference_lengths(corpus: Corpus) -> Ints:
    """The length of the reference closest to that of the answer, the shorter of two equally close."""
    item, length = corpus.item_of_reference, corpus.lengths[corpus.reference]
    distance = np.abs(length - corpus.lengths[corpus.answer][item])
    order = np.lexsort((length, distance, item))
    first = np.concatenate([[True], item[order][1:] != item[order][:-1]])
    return np.asarray(length[order][first])


def bleu_from_statistics(sums: Floats) -> Floats:
    """BLEU-1 to BLEU-4 from statistics, of single items or summed over many.

    Args:
        sums: (R, 10) of `bleu_statistics`.

    Returns:
        (R, 4) in [0, 1].
    """
    matched, total, answer, reference = sums[:, :4], sums[:, 4:8], sums[:, 8], sums[:, 9]
    products = np.cumprod((matched + _TINY) / (total + _SMALL), axis=1)
    bleu = products ** (1 / np.arange(1, LONGEST_NGRAM + 1))
    ratio = (answer + _TINY) / (reference + _SMALL)
    penalty = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    return np.asarray(bleu * penalty[:, None])


ROUGE_L: Final = MetricInfo(
    "rouge_l",
    "ROUGE-L",
    answer_rank=10,
    what="ROUGE-L, beta 1.2, best precision and best recall over references; mean of items",
    source="Lin 2004, W04-1013",
)
ROUGE_BETA: Final = 1.2


def longest_common_subsequence(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest common subsequence, by the bit-vector algorithm of Hyyrö (2004)."""
    positions: dict[int, int] = {}
    bit = 1
    for token in first:
        positions[token] = positions.get(token, 0) | bit
        bit <<= 1
    unmatched = all_bits = bit - 1
    for token in second:
        if here := unmatched & positions.get(token, 0):
            unmatched = ((unmatched + here) | (unmatched - here)) & all_bits
    return len(first) - unmatched.bit_count()


def rouge_l_per_item(corpus: Corpus) -> Floats:
    """(N,) ROUGE-L in [0, 1].

    An empty text counts as one empty token, as in the COCO code, where splitting leaves one.
    """
    # The empty token needs an index that no other token has.
    empty = [corpus.vocabulary]
    sentences = corpus.sentences
    common = np.fromiter(
        (
            longest_common_subsequence(sentences[int(answer)] or empty, sentences[int(reference)] or empty)
            for answer, reference in zip(corpus.pair_answer, corpus.pair_reference, strict=True)
        ),
        np.float64,
    )
    lengths = np.maximum(corpus.lengths, 1)
    precision, recall = np.zeros(corpus.items), np.zeros(corpus.items)
    of_reference, item = corpus.pair_of_reference, corpus.item_of_reference
    np.maximum.at(precision, item, (common / lengths[corpus.pair_answer])[of_reference])
    np.maximum.at(recall, item, (common / lengths[corpus.pair_reference])[of_reference])
    below = recall + ROUGE_BETA**2 * precision
    return np.divide((1 + ROUGE_BETA**2) * precision * recall, below, out=np.zeros(corpus.items), where=below > 0)


CIDER: Final = MetricInfo(
    "cider",
    "CIDEr",
    high=10.0,
    answer_rank=50,
    what="CIDEr-D, sigma 6, document frequencies of the file's own references; mean of items",
    source="Vedantam et al. 2015, arXiv 1411.5726",
)
CIDER_SIGMA: Final = 6.0
"""Width of the length penalty, in tokens."""
CIDER_SCALE: Final = 10.0


def cider_per_item(corpus: Corpus) -> Floats:
    """(N,) CIDEr-D, 0 or more; unscaled, as the COCO code gives it (0 to 10)."""
    log_items = np.log(float(corpus.items))
    # The COCO code takes the number of bigrams as the length of a text.
    bigrams = np.maximum(corpus.lengths - 1, 0)
    difference = (bigrams[corpus.pair_answer] - bigrams[corpus.pair_reference]).astype(np.float64)
    penalty = np.exp(-(difference**2) / (2 * CIDER_SIGMA**2))
    similarity = np.zeros(len(corpus.pair_answer))
    for counts, matches in zip(corpus.ngrams, corpus.matches, strict=True):
        frequency = np.maximum(_document_frequency(corpus, counts), 1.0)
        value = counts.times * (log_items - np.log(frequency))[counts.ngram]
        norm = np.sqrt(np.bincount(counts.sentence, weights=value**2, minlength=len(corpus.lengths)))
        in_reference = value[matches.in_reference]
        common = np.minimum(value[matches.in_answer], in_reference) * in_reference
        product = np.bincount(matches.pair, weights=common, minlength=len(penalty)).astype(np.float64)
        norms = norm[corpus.pair_answer] * norm[corpus.pair_reference]
        np.divide(product, norms, out=product, where=norms != 0)
        similarity += product * penalty
    item = corpus.item_of_reference
    totals = np.bincount(item, weights=similarity[corpus.pair_of_reference], minlength=corpus.items)
    return np.asarray(totals / LONGEST_NGRAM / np.bincount(item, minlength=corpus.items) * CIDER_SCALE)


def _document_frequency(corpus: Corpus, counts: NgramCounts) -> Floats:
    """Number of items in which a reference has each n-gram."""
    if corpus.one_reference_each:
        items_with = np.bincount(corpus.reference, minlength=len(corpus.lengths)).astype(np.float64)
        return np.bincount(counts.ngram, weights=items_with[counts.sentence], minlength=counts.different).astype(
            np.float64
        )
    rows = np.bincount(counts.sentence, minlength=len(corpus.lengths))
    first = np.cumsum(rows) - rows
    size = rows[corpus.reference]
    row = np.arange(int(size.sum())) + np.repeat(first[corpus.reference] - (np.cumsum(size) - size), size)
    seen = np.unique(np.repeat(corpus.item_of_reference, size) * counts.different + counts.ngram[row])
    return np.bincount(seen % counts.different, minlength=counts.different).astype(np.float64)


TOKEN_F1: Final = MetricInfo(
    "token_f1",
    "Token F1",
    answer_rank=20,
    what="F1 of token bags, best reference; mean of items",
    source="Rajpurkar et al. 2016, arXiv 1606.05250",
)
EXACT_MATCH: Final = MetricInfo(
    "exact_match", "Exact match", what="tokens equal those of a reference; mean of items", source="as above"
)


def token_f1_per_item(corpus: Corpus) -> Floats:
    """(N,) the best F1 of token bags over an item's references, in [0, 1]. Two empty texts agree: 1."""
    bags = [Counter(tokens) for tokens in corpus.sentences]
    values = np.zeros(corpus.items)
    for item, reference in zip(corpus.item_of_reference.tolist(), corpus.reference.tolist(), strict=True):
        answer_bag, reference_bag = bags[corpus.answer[item]], bags[reference]
        total = answer_bag.total() + reference_bag.total()
        value = 2 * (answer_bag & reference_bag).total() / total if total else 1.0
        values[item] = max(values[item], value)
    return values


def exact_match_per_item(corpus: Corpus) -> Floats:
    """(N,) 1 if the tokens of the answer equal those of a reference, else 0."""
    values = np.zeros(corpus.items)
    np.maximum.at(values, corpus.item_of_reference, corpus.answer[corpus.item_of_reference] == corpus.reference)
    return values
