"""Intervals by resampling whole source videos: turns of one video are not independent."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE: Final = 0.95


class ConfidenceInterval(NamedTuple):
    """A percentile interval."""

    low: float
    high: float
    clusters: int
    """How many videos there were to draw from."""
    resamples: int


class BootstrapTest(NamedTuple):
    """A percentile interval and the p value that belongs to it."""

    interval: ConfidenceInterval
    p: float
    """Two-sided, of the statistic being 0: the level at which the interval would end there."""
    standard_error: float
    """Standard deviation of the resampled values."""


_MOST_KEPT: Final = 2_000_000
"""Draws that are kept hold at most as many numbers."""


def drawn_clusters(count: int, resamples: int, seed: int) -> Floats:
    """How often each of some clusters is drawn in each sample.

    Args:
        count: Clusters.
        resamples: Samples.
        seed: Seed of numpy's `default_rng` (PCG64).

    Returns:
        (resamples, count), whole numbers; each row adds up to `count`.
    """
    draw = _kept_draws if count * resamples <= _MOST_KEPT else _draws
    return draw(count, resamples, seed).astype(np.float64)


def _draws(count: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)


@lru_cache(maxsize=64)
def _kept_draws(count: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """A report asks for the same draws hundreds of times, and to draw takes longer than all that follows."""
    return _draws(count, resamples, seed).astype(np.uint16)


def cluster_bootstrap(
    statistics: Floats,
    clusters: Sequence[str],
    from_sums: Callable[[Floats, Floats], Floats],
    *,
    resamples: int,
    seed: int,
    confidence: float = CONFIDENCE,
) -> ConfidenceInterval | None:
    """The percentile interval of a statistic when videos are drawn with replacement.

    Args:
        statistics: (N, K) what each item adds to the statistic.
        clusters: The source video of each item.
        from_sums: Gives (R,) values from (R, K) sums and (R,) numbers of items.
        resamples: How many samples of videos are drawn.
        seed: Seed of numpy's `default_rng` (PCG64); equal arguments give equal intervals.
        confidence: Share of the resampled values inside the interval.

    Returns:
        None where there are fewer than two videos: then there is nothing to resample.

    Reference:
        Davison & Hinkley 1997, section 3.8; Field & Welsh 2007 for the cluster bootstrap.
    """
    drawn = _resampled(statistics, clusters, from_sums, resamples, seed)
    return None if drawn is None else _interval(*drawn, confidence)


def cluster_bootstrap_test(
    statistics: Floats,
    clusters: Sequence[str],
    from_sums: Callable[[Floats, Floats], Floats],
    *,
    resamples: int,
    seed: int,
    confidence: float = CONFIDENCE,
) -> BootstrapTest | None:
    """The same interval with a p value; for a difference of two models, `from_sums` gives the difference.

    Args:
        statistics: (N, K) what each item adds; those of two models side by side for a paired difference.
        clusters: The source video of each item.
        from_sums: Gives (R,) values from (R, K) sums and (R,) numbers of items.
        resamples: How many samples of videos are drawn.
        seed: Seed of numpy's `default_rng` (PCG64).
        confidence: Share of the resampled values inside the interval.

    Returns:
        None where there are fewer than two videos.

    Reference:
        Davison & Hinkley 1997, sections 3.8 and 4.4.
    """
    drawn = _resampled(statistics, clusters, from_sums, resamples, seed)
    if drawn is None:
        return None
    values, _ = drawn
    beyond = min(int((values <= 0).sum()), int((values >= 0).sum()))
    p = min(1.0, 2 * (beyond + 1) / (resamples + 1))
    return BootstrapTest(_interval(*drawn, confidence), p, float(values.std(ddof=1)))


def _resampled(
    statistics: Floats,
    clusters: Sequence[str],
    from_sums: Callable[[Floats, Floats], Floats],
    resamples: int,
    seed: int,
) -> tuple[Floats, int] | None:
    """(R,) values, and how many videos there were to draw from."""
    names, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    if len(names) < 2:
        return None
    # Summed by cluster first, a resample of videos is a row of weights times this table.
    table = np.zeros((len(names), statistics.shape[1] + 1))
    np.add.at(table[:, :-1], cluster, statistics)
    table[:, -1] = np.bincount(cluster, minlength=len(names))
    sums = drawn_clusters(len(names), resamples, seed) @ table
    return from_sums(sums[:, :-1], sums[:, -1]), len(names)


def _interval(values: Floats, clusters: int, confidence: float) -> ConfidenceInterval:
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return ConfidenceInterval(float(low), float(high), clusters, len(values))
