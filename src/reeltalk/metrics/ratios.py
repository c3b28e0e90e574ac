"""Many ratios of sums over the same draws of source videos, their differences between two models, and rank correlation.

A profile has 19 ratios and a matrix of it hundreds. One draw of videos serves them all, so that a difference of two
ratios, of a tag and the whole say, has an interval too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests

from reeltalk.metrics.resampling import CONFIDENCE, cluster_bootstrap, drawn_clusters

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedDifference:
    """What one model earns more than another on the same turns."""

    value: float
    low: float | None
    """Lower end of the 95 % interval; None with fewer than two videos."""
    high: float | None
    p: float | None
    """Two-sided, of no difference; None with fewer than two videos."""
    n: int
    """Turns."""
    clusters: int
    """Videos."""


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
        None where that are fewer than two: then there is nothing to resample.
    """
    found: list[tuple[float, float] | None] = [None] * samples.shape[1]
    kept = np.flatnonzero(present >= 2)
    if len(kept):
        ends = np.nanquantile(samples[:, kept], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
        for place, low, high in zip(kept, *ends, strict=True):
            found[place] = (float(low), float(high))
    return found


def paired_difference(
    one: Floats, two: Floats, weights: Floats, clusters: Sequence[str], *, resamples: int, seed: int
) -> PairedDifference:
    """The difference of two weighted means over the same turns, clustered by source video.

    Interval and test are two methods: the percentile bootstrap over videos, and Student's t with the cluster-robust
    error of a ratio and one degree of freedom less than there are videos. Where every video says the same, the error is
    zero; then p is that of as many fair coins that all fall alike.

    Args:
        one: (N,) credits of the first model.
        two: (N,) credits of the second.
        weights: (N,) above 0.
        clusters: The source video of each turn.
        resamples: For the interval.
        seed: Of the draws.

    Raises:
        ValueError: There are no turns.

    Reference:
        Cameron & Miller 2015, A practitioner's guide to cluster-robust inference, sections 2 and 6.
    """
    if not len(one):
        raise ValueError("two models can be compared on at least one turn")
    apart = weights * (one - two)
    value = float(apart.sum() / weights.sum())
    names, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    interval = cluster_bootstrap(
        np.column_stack([apart, weights]),
        clusters,
        lambda sums, _: sums[:, 0] / sums[:, 1],
        resamples=resamples,
        seed=seed,
    )
    if interval is None:
        return PairedDifference(value, None, None, None, len(one), len(names))
    residuals = np.bincount(cluster, weights=apart - value * weights)
    videos = len(names)
    error = float(np.sqrt(videos / (videos - 1) * (residuals**2).sum()) / weights.sum())
    if error > 1e-12:
        p = float(2 * student.sf(abs(value) / error, videos - 1))
    else:
        p = 1.0 if abs(value) < 1e-12 else 2.0 ** (1 - videos)
    return PairedDifference(value, interval.low, interval.high, p, len(one), videos)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction of several tests.

    Args:
        p_values: One a test; None where there was none, which does not count.

    Reference:
        Holm 1979, A simple sequentially rejective multiple test procedure.
    """
    tested = [p for p in p_values if p is not None]
    if not tested:
        return list(p_values)
    corrected = iter(multipletests(tested, method="holm")[1].tolist())
    return [None if p is None else float(next(corrected)) for p in p_values]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation; None for fewer than three pairs, or where one of the two never changes.

    Args:
        first: Values.
        second: As many.
    """
    if len(first) < 3 or len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(spearmanr(first, second).statistic)
