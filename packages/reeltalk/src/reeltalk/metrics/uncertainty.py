"""The one engine of all uncertainty: means, differences, floors and corrected means of clustered items.

Turns of one video resemble each other, so videos are the units. The standard error is CR2, the cluster-robust one that
is unbiased for independent items of equal variance (Bell & McCaffrey 2002). The degrees of freedom are Imbens and
Kolesár's (2016), from the within-cluster correlation of the residuals. Of the tests that `make bench-statistics`
simulates, only this one stays near its nominal level with 30 videos of very unequal length. There the usual CR1 with
G - 1 degrees of freedom finds false winners in 9 % of trials instead of 5 %.

Near the ends of a bounded scale, a t interval of a mean has two problems: it ignores that the variance shrinks towards
the end, and the variance is estimated from the few items that are not at the end. So on a bounded scale the interval is
Wilson's (1927), with the effective number of items from the variance, as in Korn and Graubard (1998). The less reliable
the variance is, the more it is replaced by the variance of items with the correlation `PRIOR_CORRELATION` within a
video. Differences of means over different items combine the intervals of both (Zou & Donner 2008).
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Clusters = Sequence[str] | Ints
"""The source video of each item: its name, or its number in the order of names."""

Bounds = tuple[float | None, float | None]
"""Least and largest possible value; None where there is no end."""

CONFIDENCE: Final = 0.95
"""Confidence of all intervals."""
NO_SPREAD: Final = 1e-12
"""A standard error below this share of the largest value is rounding error."""
FEWEST_VIDEOS: Final = 4
"""With fewer videos, no simulated interval has the right coverage."""
NO_INTERVAL: Final = f"its items are about fewer than {FEWEST_VIDEOS} videos, and of so few no interval holds"
ALL_ALIKE: Final = "all its values are alike, and without ends of a scale nothing tells how far others may lie"
PRIOR_CORRELATION: Final = 0.15
"""Correlation of two items of one video that is assumed if the items cannot show it."""
PRIOR_DF: Final = 0.5
"""Weight of the assumed variance, in degrees of freedom, compared with the estimated one."""
INTERVAL: Final = "95%-by-video-cr2-wilson"
"""Name of these intervals in signatures."""
FEW_VIDEOS: Final = 10
"""With fewer source videos, an interval or test depends on the assumption that other videos vary like these."""
ROUNDING: Final = 1e-9
"""A spread below this share of the scale is rounding error."""
STEP: Final = 1e-5
"""Relative step of numerical slopes."""


Ends = tuple[float, float] | tuple[None, None]
"""Lower and upper end of an interval; None without one."""


def no_ends(confidence: float) -> Ends:
    """The ends of an interval where there is none."""
    return None, None


@dataclass(frozen=True)
class ClusteredEstimate:
    """A mean, or a weighted sum of means, with its cluster-robust interval and test."""

    value: float
    standard_error: float | None
    """CR2; None if a stratum has fewer than two clusters."""
    df: float | None
    """Degrees of freedom of its t distribution; None if there is no spread to estimate them from."""
    p: float | None
    """Two-sided p value of the value being 0; None if there are too few clusters.

    If all clusters are equal, the probability that all have the same sign: 2 to the power of 1 - clusters.
    """
    items: int
    clusters: int
    icc: float
    """Correlation of two items of one cluster, 0 to 1, estimated from the residuals."""
    design_effect: float | None
    """Ratio of the variance to that of independent items; None if it cannot be estimated."""
    confidence: float = CONFIDENCE
    """Confidence of the interval."""
    ends: Callable[[float], Ends] = field(default=no_ends, repr=False, compare=False)
    """The interval at any confidence; it leaves out 0 exactly where `p` is below 1 minus the confidence."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval; None if there are too few clusters."""
        return self.ends(self.confidence)[0]

    @property
    def high(self) -> float | None:
        """Upper end of the interval; None if there are too few clusters."""
        return self.ends(self.confidence)[1]


def clustered_mean(
    values: Floats, clusters: Clusters, *, bounds: Bounds = (None, None), confidence: float = CONFIDENCE
) -> ClusteredEstimate:
    """A mean; the mean of differences of two models on the same items is their paired difference.

    Args:
        values: (N,) one number an item, N at least 1.
        clusters: (N,) source video of each item.
        bounds: Least and largest possible value; a difference on a scale of width W lies from -W to W.
        confidence: Confidence of the interval.

    Reference:
        Bell & McCaffrey 2002 (CR2), Imbens & Kolesár 2016 (degrees of freedom). Without their corrections, and with
        G - 1 degrees of freedom, it is statsmodels' OLS on a constant with `cov_type="cluster"`.
    """
    strata = np.zeros(len(values), np.intp)
    return clustered_contrast(values, clusters, strata, np.ones(1), bounds=bounds, confidence=confidence)


def clustered_contrast(
    values: Floats,
    clusters: Clusters,
    strata: Ints,
    weights: Floats,
    *,
    bounds: Bounds = (None, None),
    confidence: float = CONFIDENCE,
) -> ClusteredEstimate:
    """A weighted sum of the means of several strata, such as the mean of six tasks with equal weights.

    If all clusters are equal, the test is that of signs: the chance that all have the same sign. Its interval leaves
    open that the share of videos that as many would rarely miss has the opposite sign, so it holds 0 exactly where the
    test finds nothing.

    Args:
        values: (N,) one number an item.
        clusters: (N,) source video of each item; a video may have items of several strata.
        strata: (N,) stratum of each item, from 0; none is empty.
        weights: (T,) weight of the mean of each stratum.
        bounds: Least and largest possible value of the sum; the interval does not go beyond them.
        confidence: Confidence of the interval.

    Raises:
        ValueError: There are no values, or a stratum is empty.
    """
    from scipy.special import stdtr, stdtrit

    names, cluster = np.unique(np.asarray(clusters), return_inverse=True)
    wide, deep = len(names), len(weights)
    cell = cluster * deep + strata
    n: Floats = np.bincount(cell, minlength=wide * deep).reshape(wide, deep).astype(np.float64)
    totals = n.sum(axis=0)
    if not len(values) or not totals.all():
        raise ValueError("there must be values, and some in every stratum")
    sums = np.bincount(cell, weights=values, minlength=wide * deep).reshape(wide, deep)
    means = sums.sum(axis=0) / totals
    value = float(means @ weights)
    residuals = values - means[strata]
    squares = float(residuals @ residuals)
    by_cluster: Floats = np.bincount(cluster, weights=residuals, minlength=wide).astype(np.float64)
    icc = correlation_of_residuals(by_cluster, n.sum(axis=1), squares, len(values))
    known = ClusteredEstimate(value, None, None, None, len(values), wide, icc, None, confidence)
    if ((n > 0).sum(axis=0) < 2).any():
        return known
    # (I - H)^(-1/2) of a cluster's block of the hat matrix, applied to a constant, is this factor.
    factors = weights / totals / np.sqrt(1 - n / totals)
    scores = ((sums - n * means) * factors).sum(axis=1)
    error = float(np.sqrt(scores @ scores))
    if error <= NO_SPREAD * float(np.abs(values).max()):
        p = 1.0 if value == 0 else min(1.0, 2.0 ** (1 - wide))
        ends = partial(_ends_of_equal_clusters, value, wide, bounds)
        return replace(known, standard_error=0.0, p=p, ends=ends)
    df = degrees_of_freedom(n, factors, icc)

    def t_ends(confidence: float) -> Ends:
        half = float(stdtrit(df, (1 + confidence) / 2)) * error
        return _within(value - half, value + half, bounds)

    spread = np.bincount(strata, weights=residuals**2, minlength=deep)
    alone = float((weights**2 * spread / totals / np.maximum(totals - 1, 1)).sum())
    return replace(
        known,
        standard_error=error,
        df=df,
        p=float(2 * stdtr(df, -abs(value) / error)),
        design_effect=error**2 / alone if alone > 0 else None,
        ends=t_ends,
    )


def difference_bounds(scale: Bounds) -> Bounds:
    """The least and the largest difference of two values on a scale."""
    low, high = scale
    return (None, None) if low is None or high is None else (low - high, high - low)


def _ends_of_equal_clusters(value: float, clusters: int, bounds: Bounds, confidence: float) -> Ends:
    """The interval of a value that is the same in all clusters; None for 0 without bounds."""
    unseen = 1 - ((1 - confidence) / 2) ** (1 / clusters)
    if value:
        return _within(value - 2 * abs(value) * unseen, value + 2 * abs(value) * unseen, bounds)
    if bounds[0] is None or bounds[1] is None:
        return None, None
    return bounds[0] * unseen, bounds[1] * unseen


def _within(low: float, high: float, bounds: Bounds) -> tuple[float, float]:
    """An interval without what lies beyond the bounds."""
    least, most = bounds
    return low if least is None else max(low, least), high if most is None else min(high, most)


class Means(NamedTuple):
    """The items of a weighted mean of the means of strata, as a leaderboard averages them."""

    values: Floats
    """(N,)"""
    clusters: Ints
    """(N,) source video of each item, numbered alike in all means that are compared."""
    strata: Ints
    """(N,) stratum of each item, from 0; none is empty."""
    weights: Floats
    """(T,) weight of the mean of each stratum; together 1."""


def unpaired_difference(
    first: Means, second: Means, scale: Bounds, *, confidence: float = CONFIDENCE
) -> ClusteredEstimate:
    """The difference of two means over different items, such as a model on all turns and a floor on some of them.

    The intervals of both means, which hold near the ends of the scale too, are combined with the correlation of what
    the same videos add to both. So the difference never leaves what the scale allows, and neither mean is taken as
    known. Where both are about the same items, it agrees with the paired difference.

    Args:
        first: Items of one mean.
        second: Items of the mean that is subtracted.
        scale: Least and largest value of an item.
        confidence: Confidence of the interval.

    Returns:
        Without an interval if one of the two has none.

    Reference:
        Zou & Donner, "Construction of confidence limits about effect measures", Statistics in Medicine 27, 2008; for
        proportions Newcombe, "Interval estimation for the difference between independent proportions", ibid. 17, 1998.
    """
    strata = np.concatenate([first.strata, second.strata + len(first.weights)])
    weights = np.concatenate([first.weights, -second.weights])
    values = np.concatenate([first.values, second.values])
    clusters = np.concatenate([first.clusters, second.clusters])
    plain = clustered_contrast(
        values, clusters, strata, weights, bounds=difference_bounds(scale), confidence=confidence
    )
    one, other = _effects(first), _effects(second)
    wide = int(clusters.max()) + 1
    scores = [np.bincount(side.names, weights=side.scores, minlength=wide) for side in (one, other)]
    size = math.sqrt(float((scores[0] @ scores[0]) * (scores[1] @ scores[1])))
    together = min(max(float(scores[0] @ scores[1]) / size, -1.0), 1.0) if size > 0 else 0.0

    def combined(confidence: float) -> Ends:
        (a, b), (c, d), (low, high) = (
            side(confidence) for side in (partial(one.ends, scale), partial(other.ends, scale), plain.ends)
        )
        if a is None or b is None or c is None or d is None or low is None or high is None:
            return None, None

        def reach(up: float, down: float) -> float:
            return math.sqrt(max(up**2 + down**2 - 2 * together * up * down, 0.0))

        # Few videos show their correlation badly; the t interval allows for it, but is short near the ends.
        lowest = plain.value - reach(one.value - a, d - other.value)
        highest = plain.value + reach(b - one.value, other.value - c)
        return min(lowest, low), max(highest, high)

    if combined(confidence)[0] is None:
        return replace(plain, p=None, ends=no_ends)
    return replace(plain, p=_p_of(plain.value, combined), ends=combined)


SMALLEST_P: Final = 1e-12


def _p_of(value: float, ends: Callable[[float], Ends]) -> float:
    """The level at which an interval begins to leave out 0."""
    from scipy.optimize import brentq

    if value == 0:
        return 1.0

    def beyond(level: float) -> float:
        low, high = ends(1 - math.exp(level))
        # With hardly any confidence, an interval is so short that it has no ends.
        return abs(value) if low is None or high is None else low if value > 0 else -high

    least = math.log(SMALLEST_P)
    return SMALLEST_P if beyond(least) > 0 else math.exp(float(brentq(beyond, least, 0.0, xtol=1e-10)))


def linearise(statistics: Floats, from_sums: Callable[[Floats, Floats], Floats]) -> Floats:
    """(N,) values with the mean and the variance of a measure of the whole file, such as BLEU.

    Each value is the measure plus N times the first-order effect of the item: the infinitesimal jackknife.
    `clustered_mean` of the values tests the measure, or a difference of two, as it tests a mean.

    Args:
        statistics: (N, K) contribution of each item; those of two models side by side for a paired difference.
        from_sums: Returns (R,) values from (R, K) sums and (R,) numbers of items.

    Reference:
        Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, chapter 6.
    """
    items = len(statistics)
    sums = np.append(statistics.sum(axis=0), items)
    # A statistic that is 0 for all items has no effect, and must not be moved below 0.
    steps = np.where(np.append(statistics.any(axis=0), True), STEP * np.maximum(np.abs(sums), 1.0), 0.0)
    moved = np.vstack([sums + np.diag(steps), sums - np.diag(steps), sums])
    values = from_sums(moved[:, :-1], moved[:, -1])
    slopes = (values[: len(sums)] - values[len(sums) : -1]) / np.where(steps > 0, 2 * steps, 1.0)
    # In place, since a benchmark can have millions of items.
    found: Floats = statistics @ slopes[:-1]
    found += slopes[-1]
    found *= items
    found += values[-1]
    return found


def degrees_of_freedom(n: Floats, factors: Floats, icc: float) -> float:
    """Degrees of freedom of a CR2 variance, if items of one cluster correlate by `icc` and others do not.

    They belong to the chi-square distribution with the mean and variance of the estimated variance (Satterthwaite).

    Args:
        n: (G, T) items of each cluster in each stratum.
        factors: (G, T) factor of the sum of residuals of a cluster.
        icc: 0 to 1. With 0 the result is Bell and McCaffrey's, with the correlation of the residuals Imbens and
            Kolesár's.

    Reference:
        Imbens & Kolesár 2016, Review of Economics and Statistics 98(4), section IV.
    """
    share = factors * n / n.sum(axis=0)
    # Of the covariance V of a cluster's (T,) sums: n (1 - icc) on the diagonal, and icc n n'.
    turned = (1 - icc) * n * factors + icc * n * (n * factors).sum(axis=1, keepdims=True)
    total = (1 - icc) * np.diag(n.sum(axis=0)) + icc * n.T @ n
    own = (turned * factors).sum(axis=1)
    # The scores' covariance is diag(own) - turned share' - share turned' + share total share'.
    sides = np.hstack([turned, share])
    size = n.shape[1]
    middle = np.block([[np.zeros((size, size)), -np.eye(size)], [-np.eye(size), total]])
    beside = ((sides @ middle) * sides).sum(axis=1)
    trace = float((own + beside).sum())
    low_rank = middle @ (sides.T @ sides)
    square = float((own**2 + 2 * own * beside).sum() + np.trace(low_rank @ low_rank))
    return trace**2 / square


def degrees_of_freedom_of_mean(sizes: Floats, icc: Floats) -> Floats:
    """(...) `degrees_of_freedom` of means of many studies at a time.

    Args:
        sizes: (..., G) items of each cluster; a cluster without items counts for nothing.
        icc: (...) correlation of two items of one cluster, 0 to 1.
    """
    total = sizes.sum(axis=-1, keepdims=True)
    spread = sizes * (1 - icc[..., None]) + icc[..., None] * sizes**2
    whole = spread.sum(axis=-1, keepdims=True)
    squared = 1 / np.maximum(1 - sizes / total, ROUNDING)
    own = spread - 2 * sizes * spread / total + sizes**2 * whole / total**2
    trace = (squared * own).sum(axis=-1)
    nn, vv, nv = ((squared * part).sum(axis=-1) for part in (sizes**2, spread**2, sizes * spread))
    total, q = total[..., 0], whole[..., 0] / total[..., 0] ** 2
    square = (2 * nn * vv + 2 * nv**2) / total**2 - 4 * q * nn * nv / total + q**2 * nn**2
    square += (squared**2 * (2 * spread * (own - spread) + spread**2)).sum(axis=-1)
    found: Floats = trace**2 / square
    return found


def correlation_within(sums: Floats, sizes: Floats, squares: Floats) -> Floats:
    """(..., 1) `correlation_of_residuals` of many studies at a time.

    Args:
        sums: (..., G) sum of the residuals of each cluster.
        sizes: (..., G) items of each cluster.
        squares: (..., 1) sum of all squared residuals.
    """
    pairs = (sizes * (sizes - 1)).sum(axis=-1, keepdims=True)
    known = (pairs > 0) & (squares > 0)
    items = sizes.sum(axis=-1, keepdims=True)
    products = (sums**2).sum(axis=-1, keepdims=True) - squares
    found: Floats = np.clip(products * items / np.where(known, pairs * squares, 1.0), 0.0, 1.0) * known
    return found


def correlation_of_residuals(sums: Floats, sizes: Floats, squares: float, items: int) -> float:
    """The mean product of two residuals of one cluster, divided by their mean square, from 0 to 1.

    Args:
        sums: (G,) sum of the residuals of each cluster.
        sizes: (G,) items of each cluster.
        squares: Sum of all squared residuals.
        items: Number of items.
    """
    pairs = float((sizes * (sizes - 1)).sum())
    if pairs == 0 or squares <= 0:
        return 0.0
    return float(np.clip(((sums @ sums) - squares) / pairs / (squares / items), 0.0, 1.0))


def paired_difference(
    one: Floats, two: Floats, weights: Floats, clusters: Clusters, scale: Bounds = (None, None)
) -> ClusteredEstimate:
    """The difference of two weighted means over the same turns, with interval and test clustered by source video.

    Args:
        one: (N,) credits of the first model, N at least 1.
        two: (N,) credits of the second model.
        weights: (N,) weights of the turns, above 0.
        clusters: (N,) source video of each turn.
        scale: Least and largest credit.

    Raises:
        ValueError: There are no turns.
    """
    if not len(one):
        raise ValueError("two models can be compared on at least one turn")
    differences = one - two
    mean = float(differences @ weights / weights.sum())
    values = mean + (differences - mean) * weights * (len(weights) / weights.sum())
    return clustered_mean(values, clusters, bounds=difference_bounds(scale))


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
        return NO_INTERVAL if self.clusters < FEWEST_VIDEOS else ALL_ALIKE


def mean_interval(
    values: Floats,
    clusters: Sequence[str] | NDArray[np.intp],
    scale: Bounds = (None, None),
    *,
    weights: Floats | None = None,
    confidence: float = CONFIDENCE,
) -> MeanInterval:
    """A mean with its interval.

    Args:
        values: (N,) one number an item, N at least 1.
        clusters: (N,) source video of each item.
        scale: Least and largest value of an item.
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
    start, end = scale
    least, most = float(values.min()), float(values.max())
    slack = ROUNDING * max(1.0, abs(start or 0.0), abs(end or 0.0))
    if (start is not None and least < start - slack) or (end is not None and most > end + slack):
        raise ValueError(f"values from {least:g} to {most:g} are outside the scale from {start} to {end}")
    value = float(values @ counts / counts.sum())
    moves = (values - value) * (counts * (len(values) / counts.sum()))
    sizes = _sizes(cluster, wide, counts)
    first = np.bincount(cluster, weights=moves, minlength=wide) / len(values)
    out = first / np.where(wide > 1, 1 - sizes / len(values), 1.0)
    low, high = _ends(value, len(moves), float(moves @ moves), first, out, sizes, scale, confidence)
    return MeanInterval(value, low, high, len(values), wide)


def measure_interval(
    statistics: Floats,
    clusters: Sequence[str] | NDArray[np.intp],
    from_sums: Callable[[Floats, Floats], Floats],
    scale: Bounds = (None, None),
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
        scale: Least and largest value of the measure.
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
    low, high = _ends(value, len(moves), float(moves @ moves), first, out, sizes, scale, confidence)
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
        differences = "; a difference needs 2" if fewest > 2 else ""
        return f"Some numbers rest on fewer than {fewest} source videos, so they have no interval{differences}."
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


class _Effects(NamedTuple):
    """A mean with what each item and each cluster adds to it."""

    value: float
    items: int
    squares: float
    """Sum of the squares of N times the first-order effect of each item."""
    names: Ints
    """(G,) the clusters."""
    first: Floats
    """(G,) first-order effect of each cluster."""
    out: Floats
    """(G,) change of the mean without each cluster."""
    sizes: Floats
    """(G,) items of each cluster."""

    @property
    def scores(self) -> Floats:
        """(G,) what each cluster adds, of which the squares are the variance CR2."""
        found: Floats = np.sign(self.first) * np.sqrt(np.maximum(self.first * self.out, self.first**2))
        return found

    def ends(self, scale: Bounds, confidence: float) -> Ends:
        """The interval of the mean."""
        return _ends(self.value, self.items, self.squares, self.first, self.out, self.sizes, scale, confidence)


def _effects(mean: Means) -> _Effects:
    values, clusters, strata, weights = mean
    totals = np.bincount(strata, minlength=len(weights))
    means = np.bincount(strata, weights=values, minlength=len(weights)) / totals
    counts = (weights / totals)[strata]
    moves = (values - means[strata]) * counts * len(values)
    names, cluster = np.unique(clusters, return_inverse=True)
    sizes = _sizes(cluster, len(names), counts)
    first = np.bincount(cluster, weights=moves, minlength=len(names)) / len(values)
    out = first / np.where(len(names) > 1, 1 - sizes / len(values), 1.0)
    return _Effects(float(means @ weights), len(values), float(moves @ moves), names, first, out, sizes)


def _ends(
    value: float,
    items: int,
    squares: float,
    first: Floats,
    out: Floats,
    sizes: Floats,
    scale: Bounds,
    confidence: float,
) -> Ends:
    """The interval.

    Args:
        value: The measure.
        items: Number of items, N.
        squares: Sum of the squares of N times the first-order effect of each item.
        first: (G,) first-order effect of each cluster.
        out: (G,) change of the measure without each cluster.
        sizes: (G,) items of each cluster.
        scale: Least and largest value of the measure.
        confidence: Confidence of the interval.
    """
    if len(sizes) < FEWEST_VIDEOS:
        return None, None
    variance = float(np.maximum(first * out, first**2).sum())
    factors = 1 / items / np.sqrt(1 - sizes / items)
    icc = correlation_of_residuals(first * items, sizes, squares, items)
    df = degrees_of_freedom(sizes[:, None], factors[:, None], icc)
    start, end = scale
    if start is not None and end is not None:
        width = end - start
        share = np.clip((value - start) / width, 0.0, 1.0)
        spread = squares / (items - 1) / width**2
        ends = bounded_interval(
            np.asarray(share), np.asarray(variance / width**2), np.asarray(df), np.asarray(spread), sizes,
            confidence=confidence,
        )  # fmt: skip
        return start + width * float(ends[0]), start + width * float(ends[1])
    from scipy.special import stdtrit

    half = float(stdtrit(df, (1 + confidence) / 2)) * variance**0.5
    return _within(value - half, value + half, scale) if half > ROUNDING * abs(value) else (None, None)


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
