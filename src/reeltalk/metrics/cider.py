"""CIDEr-D (Vedantam et al. 2015, arXiv 1411.5726), as the COCO caption evaluation computes what it prints as CIDEr.

Document frequencies come from the references that are scored, so a value depends on the whole file.
"""

from typing import Final

import numpy as np

from reeltalk.metrics.corpus import LONGEST_NGRAM, Corpus, Floats, NgramCounts
from reeltalk.metrics.info import MetricInfo

INFO: Final = MetricInfo(
    "cider",
    "CIDEr",
    high=10.0,
    answer_rank=50,
    what="CIDEr-D, sigma 6, document frequencies of the file's own references; mean of items",
    source="Vedantam et al. 2015, arXiv 1411.5726",
)
SIGMA: Final = 6.0
"""Width of the length penalty, in tokens."""
SCALE: Final = 10.0


def per_item(corpus: Corpus) -> Floats:
    """(N,) CIDEr-D, 0 or more; unscaled, as the COCO code gives it (0 to 10)."""
    log_items = np.log(float(corpus.items))
    # The COCO code takes the number of bigrams for a text's length.
    bigrams = np.maximum(corpus.lengths - 1, 0)
    difference = (bigrams[corpus.pair_answer] - bigrams[corpus.pair_reference]).astype(np.float64)
    penalty = np.exp(-(difference**2) / (2 * SIGMA**2))
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
    return np.asarray(totals / LONGEST_NGRAM / np.bincount(item, minlength=corpus.items) * SCALE)


def _document_frequency(corpus: Corpus, counts: NgramCounts) -> Floats:
    """In how many items some reference has each n-gram."""
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
