"""Intervals of means and other measures of clustered items that also hold near the ends of a scale.

Turns of one video resemble each other, so the variance is the cluster-robust CR2 (Bell & McCaffrey 2002), with the
degrees of freedom of Imbens and Kolesár (2016). Near the ends of a bounded scale, a t interval has two problems: it
ignores that the variance shrinks towards the end, and the variance is estimated from the few items that are not at the
end. So on a bounded scale the interval is Wilson's (1927), with the effective number of items from the variance, as in
Korn and Graubard (1998). The less reliable the variance is, the more it is replaced by the variance of items with the
correlation `PRIOR_CORRELATION` within a video. `make bench-statistics` simulates both.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.clustered import CONFIDENCE, correlation_of_residuals, degrees_of_freedom, linearise

Floats = NDArray[np.float64]

FEWEST_VIDEOS: Final = 4
"""With fewer videos, no simulated interval has the right coverage."""
NO_INTERVAL: Final = f"its items are about fewer than {FEWEST_VIDEOS} videos, and of so few no interval holds"
ALIKE: Final = "all its values are alike, and without ends of a scale nothing tells how far others may lie"
PRIOR_CORRELATION: Final = 0.2
"""Correlation of two items of one video that is assumed if the items cannot show it."""
PRIOR_DF: Final = 0.5
"""Weight of the assumed variance, in degrees of freedom, compared with the estimated one."""
INTERVAL: Final = "95%-by-video-cr2-wilson"
"""Name of these intervals in signatures."""
FEW_VIDEOS: Final = 10
"""With fewer source videos, an interval or test depends on the assumption that other videos vary like these."""
ROUNDING: Final = 1e-9
"""A spread below this share of the scale is rounding error."""


@dataclass(frozen=True)
class MeanInterval:
    """A mean, or another measure, with its interval."""

    value: float
    low: float | None
    """Lower end; None if there is no interval, as with fewer than four videos."""
    high: float | None
    n: int
    """Number of items."""
    clusters: int
    """Number of source videos."""

    @property
    def reason(self) -> str | None:
        """Why there is no interval, as text; None if there is one."""
        if self.low is not None:
            return None
        return NO_INTERVAL if self.clusters < FEWEST_VIDEOS else ALIKE


def mean_interval(
    values: Floats,
    clusters: Sequence[str] | NDArray[np.intp],
    scale: tuple[float, float] | None = None,
    *,
    weights: Floats | None = None,
    confidence: float = CONFIDENCE,
) -> MeanInterval:
    """A mean with its interval.

    Args:
        values: (N,) one number an item, N at least 1.
        clusters: (N,) source video of each item.
        scale: Least and largest value of an item; None without bounds.
        weights: (N,) weights of the items, above 0; None if all weigh the same.
        confidence: Confidence of the interval.

    Returns:
        Without an interval if items are about fewer than four videos, or if all values are equal on a scale without
        bounds.

    Raises:
        ValueError: There are no values, lengths differ, or a value is not finite or outside the scale.

    Reference:
        Bell & McCaffrey 2002; Imbens & Kolesár 2016; Wilson, JASA 22, 1927; Korn & Graubard, "Confidence Intervals
        for Proportions with Small Expected Number of Positive Counts Estimated from Survey Data", Survey
        Methodology 24, 1998.
    """
    values = np.asarray(values, np.float64)
    counts = np.ones_like(values) if weights is None else np.asarray(weights, np.float64)
    if values.shape != counts.shape or not (counts > 0).all():
        raise ValueError("weights must be as many as the values, and above 0")
    if not np.isfinite(values).all():
        raise ValueError(f"value {int(np.flatnonzero(~np.isfinite(values))[0])} is not finite")
    wide, cluster = _numbered(clusters, len(values))
    if scale is not None:
        slack = ROUNDING * (scale[1] - scale[0])
        least, most = float(values.min()), float(values.max())
        if least < scale[0] - slack or most > scale[1] + slack:
            raise ValueError(
                f"values from {least:g} to {most:g} are outside the scale from {scale[0]:g} to {scale[1]:g}"
            )
    value = float(values @ counts / counts.sum())
    moves = (values - value) * (counts * (len(values) / counts.sum()))
    sizes = _sizes(cluster, wide, counts)
    first = np.bincount(cluster, weights=moves, minlength=wide) / len(values)
    out = first / np.where(wide > 1, 1 - sizes / len(values), 1.0)
    low, high = _ends(value, moves, first, out, sizes, scale, confidence)
    return MeanInterval(value, low, high, len(values), wide)


def measure_interval(
    statistics: Floats,
    clusters: Sequence[str] | NDArray[np.intp],
    from_sums: Callable[[Floats, Floats], Floats],
    scale: tuple[float, float] | None = None,
    *,
    weights: Floats | None = None,
    confidence: float = CONFIDENCE,
) -> MeanInterval:
    """A measure of a whole file with its interval: a mean of means, BLEU, or any function of sums over items.

    The variance of a cluster is the product of the change of the measure without the cluster and of its first-order
    change. For a mean that is CR2.

    Args:
        statistics: (N, K) contribution of each item.
        clusters: (N,) source video of each item.
        from_sums: Returns (R,) values from (R, K) sums and (R,) numbers of items.
        scale: Least and largest value of the measure; None without bounds.
        weights: (N,) weights of the items in the measure; None if all weigh about the same.
        confidence: Confidence of the interval.

    Returns:
        As for `mean_interval`.

    Raises:
        ValueError: There are no items, lengths differ, or the measure of all items is not finite.

    Reference:
        Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, chapters 3 and 6.
    """
    items = len(statistics)
    wide, cluster = _numbered(clusters, items)
    table = np.empty((wide, statistics.shape[1] + 1))
    table[:, -1] = np.bincount(cluster, minlength=wide)
    for column in range(statistics.shape[1]):
        table[:, column] = np.bincount(cluster, weights=statistics[:, column], minlength=wide)
    total = table.sum(axis=0)
    value = float(from_sums(total[None, :-1], total[None, -1])[0])
    if not np.isfinite(value):
        raise ValueError("the measure of all items is not finite")
    moves = linearise(statistics, from_sums) - value
    sizes = _sizes(cluster, wide, np.ones(items) if weights is None else weights)
    first = np.bincount(cluster, weights=moves, minlength=wide) / items
    rest = total - table
    with np.errstate(all="ignore"):
        out = value - from_sums(rest[:, :-1], rest[:, -1])
        out = np.where(np.isfinite(out), out, first / (1 - sizes / items))
    low, high = _ends(value, moves, first, out, sizes, scale, confidence)
    return MeanInterval(value, low, high, items, wide)


def few_videos_warning(videos: Iterable[int | None], fewest: int = FEWEST_VIDEOS) -> str | None:
    """A warning about intervals over few source videos; None if all have enough.

    Args:
        videos: Number of source videos of each interval; None if unknown.
        fewest: Least number of videos of an interval; paired differences need 2.
    """
    least = min((count for count in videos if count is not None), default=FEW_VIDEOS)
    if least >= FEW_VIDEOS:
        return None
    if least < fewest:
        return f"Some numbers rest on fewer than {fewest} source videos, so they have no interval."
    return f"Some intervals rest on {least} source videos only. So few videos may not show how much others differ."


def _numbered(clusters: Sequence[str] | NDArray[np.intp], items: int) -> tuple[int, NDArray[np.intp]]:
    """Number of clusters, and (N,) index of the cluster of each item."""
    if not items or len(clusters) != items:
        raise ValueError(f"need as many clusters as items, and some: {len(clusters)} and {items}")
    if not isinstance(clusters, np.ndarray):
        clusters = numbered_clusters(clusters)
    names, cluster = np.unique(clusters, return_inverse=True)
    return len(names), cluster


def numbered_clusters(names: Iterable[str]) -> NDArray[np.intp]:
    """(N,) place of each name among the sorted names. An array of the names takes ten times as much memory."""
    numbers: dict[str, int] = {}
    first = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), np.intp)
    rank = np.empty(len(numbers), np.intp)
    rank[[numbers[name] for name in sorted(numbers)]] = np.arange(len(numbers))
    return rank[first]


def _sizes(cluster: NDArray[np.intp], wide: int, counts: Floats) -> Floats:
    """(G,) weight of each cluster; together they weigh as much as there are items."""
    return np.bincount(cluster, weights=counts * (len(cluster) / counts.sum()), minlength=wide).astype(np.float64)


def _ends(
    value: float,
    moves: Floats,
    first: Floats,
    out: Floats,
    sizes: Floats,
    scale: tuple[float, float] | None,
    confidence: float,
) -> tuple[float, float] | tuple[None, None]:
    """The interval.

    Args:
        value: The measure.
        moves: (N,) N times the first-order effect of each item.
        first: (G,) first-order effect of each cluster.
        out: (G,) change of the measure without each cluster.
        sizes: (G,) items of each cluster.
        scale: Least and largest value of the measure.
        confidence: Confidence of the interval.
    """
    if len(sizes) < FEWEST_VIDEOS:
        return None, None
    items, squares = len(moves), float(moves @ moves)
    variance = float(np.maximum(first * out, first**2).sum())
    factors = 1 / items / np.sqrt(1 - sizes / items)
    icc = correlation_of_residuals(first * items, sizes, squares, items)
    df = degrees_of_freedom(sizes[:, None], factors[:, None], icc)
    if scale is not None:
        width = scale[1] - scale[0]
        share = np.clip((value - scale[0]) / width, 0.0, 1.0)
        spread = squares / (items - 1) / width**2
        ends = bounded_interval(
            np.asarray(share), np.asarray(variance / width**2), np.asarray(df), np.asarray(spread), sizes,
            confidence=confidence,
        )  # fmt: skip
        return scale[0] + width * float(ends[0]), scale[0] + width * float(ends[1])
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + confidence) / 2)) * variance**0.5
    return (value - half, value + half) if half > ROUNDING * abs(value) else (None, None)


def bounded_interval(
    mean: Floats, variance: Floats, df: Floats, spread: Floats, sizes: Floats, *, confidence: float = CONFIDENCE
) -> tuple[Floats, Floats]:
    """Intervals of means on a scale from 0 to 1, from summary statistics of their items.

    Args:
        mean: (...) means, 0 to 1.
        variance: (...) CR2 variances of the means.
        df: (...) Imbens and Kolesár's degrees of freedom of the variances.
        spread: (...) variances of the items.
        sizes: (..., G) items of each cluster.
        confidence: Confidence of the intervals.

    Returns:
        (...) lower and (...) upper ends, 0 to 1, never equal.
    """
    from scipy.special import ndtri, stdtrit

    level = (1 + confidence) / 2
    items = sizes.sum(axis=-1)
    alike = spread <= ROUNDING**2
    binary = np.where(alike, 1.0, np.maximum(mean * (1 - mean), ROUNDING**2))
    effective = items**2 / (sizes * (1 + (sizes - 1) * PRIOR_CORRELATION)).sum(axis=-1)
    # Near an end, few items determine the spread, and unseen ones may be at the other end.
    known = np.where(alike, 0.0, effective * binary)
    part = (known * np.minimum(spread / binary, 1.0) + 1) / (known + 1)
    assumed = part / effective
    shown = np.where(alike, 0.0, _shown((mean + assumed / 2) / (1 + assumed), part, sizes))
    trust = df * shown / (df * shown + PRIOR_DF * (1 - shown))
    estimated = trust * variance / binary
    found = estimated + (1 - trust) * assumed
    z = float(ndtri(level))
    t = np.where(estimated > 0, stdtrit(df * (found / np.where(estimated > 0, estimated, 1.0)) ** 2, level), z)
    # Means of videos may be equal by chance, so their interval is at least half as wide as the interval of the items.
    k = np.maximum(t**2 * found, (z / 2) ** 2 * part / items)
    centre = (mean + k / 2) / (1 + k)
    half = np.sqrt(k * mean * (1 - mean) + k**2 / 4) / (1 + k)
    # If all values are equal, this is the share of values at the ends that a sample would rarely miss.
    missed = k / (1 + k)
    low = np.where(alike, mean * (1 - missed), np.maximum(centre - half, 0.0))
    high = np.where(alike, mean + missed * (1 - mean), np.minimum(centre + half, 1.0))
    return low, high


def _shown(mean: Floats, part: Floats, sizes: Floats) -> Floats:
    """How well the sums of the clusters estimate their variance: 1 for normal sums, near 0 if most are at one end.

    It is the variance of the variance for normal sums, divided by the same for beta-binomial sums.

    Args:
        mean: (...) 0 to 1, both excluded.
        part: (...) variance of an item over that of an item at either end.
        sizes: (..., G) items of each cluster.
    """
    mean, part = mean[..., None], part[..., None]
    prior = part * PRIOR_CORRELATION
    # An item that varies less than a binary one counts as several of those.
    n = sizes * (1 - prior) / (part - prior)
    size = (1 - prior) / prior
    # Moments of the beta distribution about 0.
    one = mean
    two = one * (mean * size + 1) / (size + 1)
    three = two * (mean * size + 2) / (size + 2)
    four = three * (mean * size + 3) / (size + 3)
    third = two - 3 * three + 2 * four - mean * (one - 3 * two + 2 * three)
    product = three - four - 2 * mean * (two - three) + mean**2 * (one - two)
    beta = four - 4 * mean * three + 6 * mean**2 * two - 4 * mean**3 * one + mean**4
    flat = two - 2 * three + four
    fourth = 3 * n**2 * flat + n * (one - two - 6 * flat) + 4 * n**2 * third + 6 * n**3 * product + n**4 * beta
    second = (n * mean * (1 - mean) * (1 + (n - 1) * prior)) ** 2
    share = sizes / sizes.sum(axis=-1, keepdims=True)
    weight = 1 / np.maximum(1 - share, ROUNDING) ** 2
    found: Floats = (weight * 2 * second).sum(axis=-1) / (weight * (fourth - second)).sum(axis=-1)
    return np.minimum(found, 1.0)


class Proportion(NamedTuple):
    """A share of trials with Wilson's interval."""

    successes: int
    trials: int
    share: float | None
    """None without trials."""
    low: float | None
    high: float | None


def wilson(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> Proportion:
    """The share of successful trials with Wilson's score interval, which also holds near 0 and 1.

    Args:
        successes: 0 to `trials`.
        trials: Number of independent trials.
        confidence: Confidence of the interval.

    Reference:
        Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927.
    """
    if not trials:
        return Proportion(0, 0, None, None, None)
    from scipy.special import ndtri

    share, z = successes / trials, float(ndtri(0.5 + 0.5 * confidence))
    middle, width = (2 * trials * share + z**2), z * math.sqrt(4 * trials * share * (1 - share) + z**2)
    twice = 2 * (trials + z**2)
    low = 0.0 if successes == 0 else (middle - width) / twice
    high = 1.0 if successes == trials else (middle + width) / twice
    return Proportion(successes, trials, share, low, high)
