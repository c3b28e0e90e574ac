"""BLEU (Papineni et al. 2002, P02-1040) as the COCO caption evaluation computes it (arXiv 1504.00325).

Not sacreBLEU's: no smoothing but two tiny constants, and the reference length of an item is the closest one.
"""

from typing import Final

import numpy as np

from reeltalk.metrics.corpus import LONGEST_NGRAM, Corpus, Floats, Ints, Matches
from reeltalk.metrics.info import MetricInfo

INFO: Final = tuple(
    MetricInfo(
        f"bleu_{order}",
        f"BLEU-{order}",
        corpus=True,
        what=f"BLEU-{order} of the whole file, closest reference length, no smoothing",
        source="Papineni et al. 2002, P02-1040",
    )
    for order in range(1, 5)
)
TINY: Final = 1e-15
SMALL: Final = 1e-9
"""The COCO code adds TINY above and SMALL below each fraction bar, which keeps empty answers at zero."""


def statistics(corpus: Corpus) -> Floats:
    """What BLEU needs of each item.

    Returns:
        (N, 10): matched n-grams for n = 1 to 4, n-grams of the answer for n = 1 to 4, answer length, reference length.
    """
    columns: list[Ints | Floats] = []
    for counts, matches in zip(corpus.ngrams, corpus.matches, strict=True):
        clipped = np.minimum(counts.times[matches.in_answer], counts.times[matches.in_reference])
        if corpus.one_reference_each:
            matched = np.bincount(matches.pair, weights=clipped, minlength=len(corpus.pair_answer))
            columns.append(matched[corpus.pair_of_reference])
        else:
            columns.append(_best_over_references(corpus, matches, clipped))
    lengths = corpus.lengths[corpus.answer]
    columns += [np.maximum(lengths - n, 0) for n in range(LONGEST_NGRAM)]
    columns += [lengths, _closest_reference_lengths(corpus)]
    return np.stack(columns, axis=1).astype(np.float64)


def _best_over_references(corpus: Corpus, matches: Matches, clipped: Ints) -> Floats:
    """(N,) matched n-grams, each counted as often as the one reference has it that has it most."""
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
    """The length nearest to the answer's, the shorter of two as near."""
    item, length = corpus.item_of_reference, corpus.lengths[corpus.reference]
    distance = np.abs(length - corpus.lengths[corpus.answer][item])
    order = np.lexsort((length, distance, item))
    first = np.concatenate([[True], item[order][1:] != item[order][:-1]])
    return np.asarray(length[order][first])


def from_statistics(sums: Floats) -> Floats:
    """BLEU-1 to BLEU-4 from statistics, of single items or summed over many.

    Args:
        sums: (R, 10) as `statistics` gives them.

    Returns:
        (R, 4) in [0, 1].
    """
    matched, total, answer, reference = sums[:, :4], sums[:, 4:8], sums[:, 8], sums[:, 9]
    products = np.cumprod((matched + TINY) / (total + SMALL), axis=1)
    bleu = products ** (1 / np.arange(1, LONGEST_NGRAM + 1))
    ratio = (answer + TINY) / (reference + SMALL)
    penalty = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    return np.asarray(bleu * penalty[:, None])
