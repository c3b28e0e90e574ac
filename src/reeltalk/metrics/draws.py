"""Draws of whole source videos with replacement, shared by all statistics that are to be compared with each other.

Two statistics of the same items that use the same draws can be subtracted draw by draw: their difference is then
resampled in pairs, and is far more exact than the difference of two intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.resampling import CONFIDENCE, drawn_clusters

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
    """Resamples of the videos of some items; `draw_videos` makes them."""

    codes: Ints
    """(N,) the number of each item's video, from 0; no number is left out."""
    weights: Floats
    """(R, V) how often each video is drawn."""

    @property
    def videos(self) -> int:
        """How many videos the items are about."""
        return int(self.weights.shape[1])

    @property
    def resamples(self) -> int:
        """How many draws there are."""
        return int(self.weights.shape[0])

    def subset(self, rows: NDArray[np.bool_]) -> "Draws":
        """The same draws, of some of the items.

        Args:
            rows: (N,) which.
        """
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        return Draws(codes.astype(np.intp), self.weights[:, present])

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
        n = len(self.codes)
        if value is None:
            return Statistic(None, None, None, n, self.videos, reason)
        if self.videos < 2 or drawn is None:
            return Statistic(value, None, None, n, self.videos, ONE_VIDEO)
        defined = drawn[np.isfinite(drawn)]
        if len(defined) < LEAST_DEFINED * len(drawn):
            return Statistic(value, None, None, n, self.videos, OFTEN_UNDEFINED)
        low, high = np.quantile(defined, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
        return Statistic(value, float(low), float(high), n, self.videos)


def draw_videos(clusters: Sequence[str], *, resamples: int, seed: int) -> Draws:
    """Draw videos with replacement.

    Args:
        clusters: The source video of each item.
        resamples: How many samples of videos are drawn, each of as many as there are.
        seed: Seed of numpy's `default_rng`; equal arguments give equal draws.

    Reference:
        Field & Welsh 2007, the cluster bootstrap.
    """
    names, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    videos = len(names)
    if videos == 0:
        return Draws(codes.astype(np.intp), np.zeros((resamples, 0)))
    return Draws(codes.astype(np.intp), drawn_clusters(videos, resamples, seed))


def ratio_of_sums(above: Floats, below: Floats, draws: Draws, *, reason: str | None) -> Statistic:
    """A sum over the items over another, as a mean or a share is, with a 95 % interval.

    Args:
        above: (N,) what each item adds above the line.
        below: (N,) and below it.
        draws: Of the items' videos.
        reason: Why there is no value where all is 0 below the line.
    """
    if not below.sum():
        return draws.statistic(None, None, reason=reason)
    drawn = None
    if draws.videos > 1:
        sums = draws.summed(np.stack([above, below], axis=1))
        drawn = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), np.nan), where=sums[:, 1] > 0)
    return draws.statistic(float(above.sum() / below.sum()), drawn)


def surely_differ(found: Floats, drawn: Floats, *, confidence: float = CONFIDENCE) -> NDArray[np.bool_]:
    """Which of several differences are more than chance, all judged together.

    One is where it is larger, in standard errors, than the largest of all is by chance in 95 % of the draws. So all
    together are wrong in at most 5 % of studies, about.

    Args:
        found: (P,) differences.
        drawn: (R, P) the same in each draw. Rows with NaN are left out.
        confidence: Of all together.

    Returns:
        (P,) False everywhere where fewer than two draws are defined.

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
    # What is the same in every draw differs surely, or not at all.
    sure: NDArray[np.bool_] = np.where(moves, np.abs(found) > limit * errors, found != 0)
    return sure
