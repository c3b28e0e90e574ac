"""Token F1 and exact match (Rajpurkar et al. 2016, arXiv 1606.05250), over the same tokens as the other metrics."""

from collections import Counter
from typing import Final

import numpy as np

from reeltalk.metrics.corpus import Corpus, Floats
from reeltalk.metrics.info import MetricInfo

TOKEN_F1: Final = MetricInfo(
    "token_f1",
    "Token F1",
    answer_rank=20,
    what="F1 of token bags, best reference; mean of items",
    source="Rajpurkar et al. 2016, arXiv 1606.05250",
)
EXACT_MATCH: Final = MetricInfo(
    "exact_match",
    "Exact match",
    what="tokens equal those of a reference; mean of items",
    source="as above",
)


def token_f1(corpus: Corpus) -> Floats:
    """(N,) the best F1 of token bags over an item's references, in [0, 1]. Two empty texts agree: 1."""
    bags = [Counter(tokens) for tokens in corpus.sentences]
    values = np.zeros(corpus.items)
    for item, reference in zip(corpus.item_of_reference.tolist(), corpus.reference.tolist(), strict=True):
        answer_bag, reference_bag = bags[corpus.answer[item]], bags[reference]
        total = answer_bag.total() + reference_bag.total()
        value = 2 * (answer_bag & reference_bag).total() / total if total else 1.0
        values[item] = max(values[item], value)
    return values


def exact_match(corpus: Corpus) -> Floats:
    """(N,) 1 where the tokens of the answer are those of one of the references, else 0."""
    values = np.zeros(corpus.items)
    np.maximum.at(values, corpus.item_of_reference, corpus.answer[corpus.item_of_reference] == corpus.reference)
    return values
