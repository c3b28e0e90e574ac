"""Draws of whole source videos with replacement, shared by all statistics that are to be compared with each other.

Two statistics of the same items that use the same draws can be subtracted draw by draw: their difference is then
resampled in pairs, and is far more exact than the difference of two intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.resampling import CONFIDENCE

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

LEAST_DEFINED: Final = 0.95
"""Share of draws in which a statistic must be defined; below that its interval would be one of lucky draws."""
ONE_VIDEO: Final = "all items are about one video, so there is no interval"
OFTEN_UNDEFINED: Final = "in many draws of the videos it is undefined, so there is no interval"
FEW_VIDEOS: Final = 20
"""Below so many videos a percentile interval is known to be too narrow; tables that show one say so."""


@dataclass(frozen=True)
class Statistic:
    """A statistic with its interval, or the reason why there is none."""

    value: float | None
    """None where it is undefined."""
    low: float | None
    high: float | None
    n: int
    """Items that it rests on."""
    clusters: int
    """Source videos that it rests on."""
    reason: str | None = None
    """Why there is no value or no interval."""

    @property
    def rough(self) -> bool:
        """True where the interval rests on so few videos that it is rather too narrow."""
        return self.low is not None and self.clusters < FEW_VIDEOS


@dataclass(frozen=True, eq=False)
class Draws:
    """Resamples of the videos of some items.

    Args:
        clusters: The source video of each item.
        resamples: How many samples of videos are drawn.
        seed: Seed of numpy's `default_rng`; equal arguments give equal draws.

    Reference:
        Field & Welsh 2007, the cluster bootstrap.
    """

    clusters: Sequence[str]
    resamples: int
    seed: int

    @cached_property
    def _coded(self) -> tuple[int, Ints]:
        names, codes = np.unique(np.asarray(self.clusters, dtype=np.str_), return_inverse=True)
        return len(names), codes.astype(np.intp)

    @property
    def videos(self) -> int:
        """How many there are to draw from."""
        return self._coded[0]

    @property
    def codes(self) -> Ints:
        """(N,) the number of each item's video, from 0."""
        return self._coded[1]

    @cached_property
    def weights(self) -> Floats:
        """(R, V) how often each video is drawn."""
        videos = self.videos
        drawn = np.random.default_rng(self.seed).multinomial(videos, np.full(videos, 1 / videos), size=self.resamples)
        return drawn.astype(np.float64)

    def of_items(self, draw: int) -> Floats:
        """(N,) how often each item is drawn in one draw."""
        drawn: Floats = self.weights[draw][self.codes]
        return drawn

    def summed(self, table: Floats) -> Floats:
        """(R, K) sums over the items of each draw.

        Args:
            table: (N, K) what each item adds.
        """
        by_video = np.zeros((self.videos, table.shape[1]))
        np.add.at(by_video, self.codes, table)
        return self.weights @ by_video

    def statistic(self, value: float | None, drawn: Floats | None, *, reason: str | None = None) -> Statistic:
        """A value with the percentile interval of its draws.

        Args:
            value: Over all items; None where it is undefined.
            drawn: (R,) the value in each draw, NaN where it is undefined there; None below two videos.
            reason: Why there is no value.
        """
        n = len(self.clusters)
        if value is None:
            return Statistic(None, None, None, n, self.videos if n else 0, reason)
        if self.videos < 2 or drawn is None:
            return Statistic(value, None, None, n, self.videos, ONE_VIDEO)
        defined = drawn[np.isfinite(drawn)]
        if len(defined) < LEAST_DEFINED * len(drawn):
            return Statistic(value, None, None, n, self.videos, OFTEN_UNDEFINED)
        low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return Statistic(value, float(low), float(high), n, self.videos)


def told_apart(values: Floats, drawn: Floats, *, confidence: float = CONFIDENCE) -> NDArray[np.bool_]:
    """Which of several statistics of the same items differ, all pairs judged together.

    Two are told apart where their difference is larger, in standard errors, than the largest difference of any pair
    is by chance in all but 5 % of the draws. So all pairs together are wrong in at most 5 % of studies, about.

    Args:
        values: (K,) the statistics.
        drawn: (R, K) the same in each draw, one draw a row. Rows with NaN are left out.
        confidence: Of all pairs together.

    Returns:
        (K, K) symmetric; False on the diagonal, and everywhere where fewer than two draws are defined.

    Reference:
        Westfall & Young 1993, the single-step maximum of studentised differences.
    """
    count = len(values)
    apart = np.zeros((count, count), np.bool_)
    defined = drawn[np.isfinite(drawn).all(axis=1)]
    first, second = np.triu_indices(count, 1)
    if len(defined) < 2 or not len(first):
        return apart
    differences = defined[:, first] - defined[:, second]
    found = values[first] - values[second]
    errors = differences.std(axis=0, ddof=1)
    sure = errors > 0
    distances = np.abs(differences[:, sure] - found[sure]) / errors[sure]
    limit = np.quantile(distances.max(axis=1), confidence) if sure.any() else 0.0
    # Two that never differ from draw to draw differ surely, or not at all.
    told = np.where(sure, np.abs(found) > limit * errors, found != 0)
    apart[first, second] = apart[second, first] = told
    return apart
