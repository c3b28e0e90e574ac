"""ROUGE-L (Lin 2004, W04-1013) as the COCO caption evaluation computes it: beta 1.2, best precision and best recall."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from reeltalk.metrics.corpus import Corpus, Floats
from reeltalk.metrics.info import MetricInfo

INFO: Final = MetricInfo(
    "rouge_l",
    "ROUGE-L",
    answer_rank=10,
    what="ROUGE-L, beta 1.2, best precision and best recall over references; mean of items",
    source="Lin 2004, W04-1013",
)
BETA: Final = 1.2


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


def per_item(corpus: Corpus) -> Floats:
    """(N,) ROUGE-L in [0, 1].

    An empty text counts as one empty token, as it does in the COCO code, where it is what splitting leaves.
    """
    # The empty token needs a number that no other token has.
    empty = [corpus.vocabulary]
    sentences = [tokens or empty for tokens in corpus.sentences]
    common = np.array(
        [
            longest_common_subsequence(sentences[answer], sentences[reference])
            for answer, reference in zip(corpus.pair_answer.tolist(), corpus.pair_reference.tolist(), strict=True)
        ],
        np.float64,
    )
    lengths = np.maximum(corpus.lengths, 1)
    precision, recall = np.zeros(corpus.items), np.zeros(corpus.items)
    of_reference, item = corpus.pair_of_reference, corpus.item_of_reference
    np.maximum.at(precision, item, (common / lengths[corpus.pair_answer])[of_reference])
    np.maximum.at(recall, item, (common / lengths[corpus.pair_reference])[of_reference])
    below = recall + BETA**2 * precision
    return np.divide((1 + BETA**2) * precision * recall, below, out=np.zeros(corpus.items), where=below > 0)
