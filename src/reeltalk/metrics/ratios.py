"""The difference of two models' weighted means, and rank correlation, as profiles have them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from reeltalk.metrics.clustered import ClusteredEstimate, clustered_mean, linearised

Floats = NDArray[np.float64]


def paired_difference(one: Floats, two: Floats, weights: Floats, clusters: Sequence[str]) -> ClusteredEstimate:
    """The difference of two weighted means over the same turns, with interval and test clustered by source video.

    Args:
        one: (N,) credits of the first model, N at least 1.
        two: (N,) credits of the second.
        weights: (N,) above 0.
        clusters: The source video of each turn.

    Raises:
        ValueError: There are no turns.
    """
    if not len(one):
        raise ValueError("two models can be compared on at least one turn")
    table = np.column_stack([weights * (one - two), weights])
    return clustered_mean(linearised(table, lambda sums, _: sums[:, 0] / sums[:, 1]), clusters)


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than three pairs, or where one of the two never changes.

    Args:
        first: Values.
        second: As many.
    """
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic)
