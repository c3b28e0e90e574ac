"""Many ratios of sums over the same draws of source videos, their differences between two models, and rank correlation.

A profile has 19 ratios and a matrix of it hundreds. One draw of videos serves them all, so that a difference of two
ratios, of a tag and the whole say, has an interval too.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from reeltalk.metrics.clustered import ClusteredEstimate, clustered_mean, linearised
from reeltalk.metrics.draws import LEAST_DEFINED
from reeltalk.metrics.resampling import CONFIDENCE, drawn_clusters

Floats = NDArray[np.float64]


def by_cluster(values: Floats, clusters: NDArray[np.int64], count: int) -> Floats:
    """Sums of rows that belong to one video.

    Args:
        values: (N, K).
        clusters: (N,) number of each row's video, from 0.
        count: Videos.

    Returns:
        (count, K)
    """
    summed = np.zeros((count, values.shape[1]))
    np.add.at(summed, clusters, values)
    return summed


def resampled_ratios(earned: Floats, possible: Floats, *, resamples: int, seed: int) -> Floats:
    """Ratios of sums when videos are drawn with replacement.

    Args:
        earned: (V, K) numerators, summed by video.
        possible: (V, K) denominators.
        resamples: How many samples of videos are drawn.
        seed: Seed of numpy's `default_rng`; with equal seed and V the draws are those of `cluster_bootstrap`.

    Returns:
        (resamples, K); NaN where a draw holds nothing of a ratio.
    """
    drawn = drawn_clusters(len(earned), resamples, seed)
    below = drawn @ possible
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios: Floats = np.where(below > 0, (drawn @ earned) / below, np.nan)
    return ratios


def intervals(samples: Floats, present: NDArray[np.int64]) -> list[tuple[float, float] | None]:
    """Percentile intervals of resampled values.

    Args:
        samples: (R, K) as of `resampled_ratios`, or differences of such.
        present: (K,) how many videos hold something of each.

    Returns:
        None where that are fewer than two, or where so few that many samples hold nothing of it.
    """
    found: list[tuple[float, float] | None] = [None] * samples.shape[1]
    defined = np.isfinite(samples).mean(axis=0)
    kept = np.flatnonzero((present >= 2) & (defined >= LEAST_DEFINED))
    if len(kept):
        ends = np.nanquantile(samples[:, kept], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
        for place, low, high in zip(kept, *ends, strict=True):
            found[place] = (float(low), float(high))
    return found


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
