"""Samples of whole source videos, shared by all statistics that are compared with each other.

The first samples leave out one video each (the jackknife). Intervals use these, because percentile intervals of draws
with replacement are too narrow below about 60 videos. The others are draws with replacement. Two statistics of the same
items with the same draws can be subtracted draw by draw, and so tested together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.uncertainty import (
    CONFIDENCE,
    FEW_VIDEOS,
    FEWEST_VIDEOS,
    NO_INTERVAL,
    PRIOR_CORRELATION,
    Bounds,
    bounded_interval,
    degrees_of_freedom,
    mean_interval,
)

Floats = NDArray[np.float64]


_MOST_CACHED: Final = 2_000_000
"""Maximum number of values in a cached table of draws."""


def draw_clusters(count: int, resamples: int, seed: int) -> Floats:
    """Draw clusters with replacement.

    Args:
        count: Number of clusters.
        resamples: Number of samples.
        seed: Seed of numpy's `default_rng` (PCG64).

    Returns:
        (resamples, count), whole numbers; each row adds up to `count`.
    """
    draw = _cached_draws if count * resamples <= _MOST_CACHED else _cluster_draws
    return draw(count, resamples, seed).astype(np.float64)


def _cluster_draws(count: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)


@lru_cache(maxsize=64)
def _cached_draws(count: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """Cached, because a report uses the same draws hundreds of times, and drawing takes longest."""
    return _cluster_draws(count, resamples, seed).astype(np.uint16)


Ints = NDArray[np.intp]

ONE_DECIDES: Final = "without one of the videos it is undefined, so there is no interval"
CORRELATION: Final[Literal["correlation"]] = "correlation"
"""Replaces a scale: the interval is computed on Fisher's scale."""
LARGEST_CORRELATION: Final = 1 - 1e-9


@dataclass(frozen=True)
class Statistic:
    """A statistic with its interval, or the reason why there is none."""

    value: float | None
    """None if it is undefined."""
    low: float | None
    high: float | None
    n: int
    """Number of items."""
    clusters: int
    """Number of source videos."""
    reason: str | None = None
    """Why there is no value or no interval, if so."""

    @property
    def rough(self) -> bool:
        """True if there are too few videos for a reliable interval."""
        return self.low is not None and self.clusters < FEW_VIDEOS


@dataclass(frozen=True, eq=False)
class Draws:
    """Samples of the videos of some items; `draw_videos` creates them."""

    codes: Ints
    """(N,) index of each item's video, from 0, without gaps."""
    weights: Floats
    """(R, V) number of times that each sample has each video."""
    left_out: int
    """Number of samples at the start that leave out one video each."""

    @property
    def videos(self) -> int:
        """Number of videos."""
        return int(self.weights.shape[1])

    @property
    def resamples(self) -> int:
        """Number of samples, including those that leave out a video."""
        return int(self.weights.shape[0])

    def subset(self, rows: NDArray[np.bool_]) -> "Draws":
        """The same draws for some of the items."""
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        return Draws(codes.astype(np.intp), self.weights[:, present], self.left_out)

    def of_items(self, draw: int) -> Floats:
        """(N,) number of times that each item is in one sample."""
        drawn: Floats = self.weights[draw][self.codes]
        return drawn

    def summed(self, table: Floats) -> Floats:
        """(R, K) sums over the items of each draw."""
        by_video = np.zeros((self.videos, table.shape[1]))
        np.add.at(by_video, self.codes, table)
        return self.weights @ by_video

    def statistic(
        self,
        value: float | None,
        drawn: Floats | None,
        *,
        reason: str | None = None,
        scale: tuple[float, float] | Literal["correlation"] | None = None,
    ) -> Statistic:
        """A value with its 95 % interval, from its changes when a video is left out.

        Args:
            value: Value over all items; None if it is undefined.
            drawn: (R,) value in each sample, NaN where it is undefined; None below two videos.
            reason: Why there is no value.
            scale: Least and largest value, as for `mean_interval`, or `correlation`. The scale of a chance-corrected
                agreement may begin below -1; its interval still ends at -1.

        Reference:
            Efron 1982, chapter 3, with the weights of Bell & McCaffrey's CR2 (2002) and Imbens and Kolesár's degrees of
            freedom (2016).
        """
        n = len(self.codes)
        if value is None:
            return Statistic(None, None, None, n, self.videos, reason)
        if self.videos < FEWEST_VIDEOS or drawn is None:
            return Statistic(value, None, None, n, self.videos, NO_INTERVAL)
        kept = drawn[: self.left_out]
        if not np.isfinite(kept).all():
            return Statistic(value, None, None, n, self.videos, ONE_DECIDES)
        sizes = np.bincount(self.codes, minlength=self.videos).astype(np.float64)
        missing = (1 - self.weights[: self.left_out]) @ sizes / n
        df = degrees_of_freedom(sizes[:, None], 1 / n / np.sqrt(1 - sizes[:, None] / n), PRIOR_CORRELATION)
        low, high = _around(value, kept, 1 - missing, df, sizes, scale)
        return Statistic(value, low, high, n, self.videos)


def _around(
    value: float,
    kept: Floats,
    shares: Floats,
    df: float,
    sizes: Floats,
    scale: tuple[float, float] | Literal["correlation"] | None,
) -> tuple[float, float]:
    """The interval of a value that becomes `kept` if only the share `shares` of the items remains."""
    from scipy.special import stdtrit

    t = float(stdtrit(df, (1 + CONFIDENCE) / 2))
    if scale == CORRELATION and abs(value) < LARGEST_CORRELATION:
        here, there = np.arctanh(value), np.arctanh(np.clip(kept, -LARGEST_CORRELATION, LARGEST_CORRELATION))
        # Videos may agree by chance: the half width is never less than one standard error of independent items.
        least = 1 / np.sqrt(max(sizes.sum() - 3, 1))
        half = max(t * float(np.sqrt(((here - there) ** 2 * shares).sum())), least)
        return float(np.tanh(here - half)), float(np.tanh(here + half))
    variance = float(((value - kept) ** 2 * shares).sum())
    if scale is None:
        half = t * variance**0.5
        return value - half, value + half
    low, high = (-1.0, 1.0) if scale == CORRELATION else scale
    width = high - low
    mean = np.clip(np.asarray((value - low) / width), 0.0, 1.0)
    ends = bounded_interval(mean, np.asarray(variance / width**2), np.asarray(df), mean * (1 - mean), sizes)
    return max(low + width * float(ends[0]), min(value, -1.0) if low < -1 else low), low + width * float(ends[1])


def draw_videos(clusters: Sequence[str], *, resamples: int = 0, seed: int = 0) -> Draws:
    """Leave out each video once, and draw videos with replacement.

    Args:
        clusters: Source video of each item.
        resamples: Number of samples with replacement, each of as many videos as there are. Intervals need none;
            `significant_differences` needs some.
        seed: Seed of numpy's `default_rng`; equal arguments give equal draws.

    Reference:
        Field & Welsh 2007, the cluster bootstrap.
    """
    names, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    videos = len(names)
    if videos == 0:
        return Draws(codes.astype(np.intp), np.zeros((resamples, 0)), 0)
    weights = np.vstack([1 - np.eye(videos), draw_clusters(videos, resamples, seed)])
    return Draws(codes.astype(np.intp), weights, videos)


def ratio_of_sums(
    above: Floats, below: Floats, draws: Draws, *, reason: str | None, scale: Bounds = (0.0, 1.0)
) -> Statistic:
    """A ratio of two sums over the items, such as a mean or a share, with the 95 % interval of `mean_interval`.

    Args:
        above: (N,) contribution of each item to the numerator.
        below: (N,) contribution of each item to the denominator.
        draws: Samples of the items' videos.
        reason: Why there is no value if the denominator is 0.
        scale: Least and largest value of an item.
    """
    counted = below > 0
    if not counted.any():
        return draws.statistic(None, None, reason=reason)
    found = mean_interval(above[counted] / below[counted], draws.codes[counted], scale, weights=below[counted])
    return Statistic(found.value, found.low, found.high, len(draws.codes), draws.videos, found.reason)


def significant_differences(found: Floats, drawn: Floats, *, confidence: float = CONFIDENCE) -> NDArray[np.bool_]:
    """Which of several differences are significant, tested together.

    A difference is significant if it is larger, in standard errors, than the largest of all differences is by chance in
    95 % of the draws. So at most about 5 % of studies have any false one.

    Args:
        found: (P,) differences.
        drawn: (R, P) differences in each draw with replacement. Rows with NaN are left out.
        confidence: Confidence of all together.

    Returns:
        (P,) True for significant ones; all False if fewer than two draws are defined.

    Reference:
        Westfall & Young 1993, the single-step maximum of studentised differences.
    """
    defined = drawn[np.isfinite(drawn).all(axis=1)]
    if len(defined) < 2 or not len(found):
        return np.zeros(len(found), np.bool_)
    errors = defined.std(axis=0, ddof=1)
    moves = errors > 0
    distances = np.abs(defined[:, moves] - found[moves]) / errors[moves]
    limit = np.quantile(distances.max(axis=1), confidence) if moves.any() else 0.0
    # A difference that is the same in every draw is significant unless it is 0.
    sure: NDArray[np.bool_] = np.where(moves, np.abs(found) > limit * errors, found != 0)
    return sure
