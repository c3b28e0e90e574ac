r"""A judge's mean corrected by a few human labels, with an interval that is never wider than that of the labels.

A judge scores every item, and people score some. With :math:`Y` the labels, :math:`f` the judge's scores and
:math:`\lambda` the power, the mean is :math:`\bar Y - \lambda (\bar f_\text{labelled} - \bar f_\text{all})`. This
is power-tuned prediction-powered inference (PPI++): the mean is valid for any errors of the judge, and :math:`\lambda`
is chosen for the least variance.

1. The power of a video is the slope of labels on scores in all other videos (cross-fitting), shrunk towards 0 as far as
   chance may have made it (James & Stein 1961). So no label chooses how it is itself used, and a judge that knows
   nothing is not used.
2. The variance is CR2 of what each video adds, by the residuals of its labels and by its scores, and the interval is
   that of all means (`bounded_interval`). Of a judge that few labels contradict, the next label may be the first to do
   so: one and a half entire contradictions are added.
3. If that interval is not narrower than the one of the labels alone, the labels stand alone.

Everything is computed from the sums of each video (`VideoSums`), so that simulations can do thousands of studies at a
time; `bench/judge_correction.py` prints their coverage and width, beside labels alone and ppi-python.

Reference:
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, "Prediction-Powered Inference", Science 382, 2023, arXiv 2301.09633;
    Angelopoulos, Duchi & Zrnic, "PPI++: Efficient Prediction-Powered Inference", arXiv 2311.01453; Zrnic & Candès,
    "Cross-Prediction-Powered Inference", PNAS 121, 2024, for the cross-fitting.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reeltalk.metrics.uncertainty import (
    CONFIDENCE,
    PRIOR_CORRELATION,
    bounded_interval,
    correlation_within,
    degrees_of_freedom_of_mean,
)

Floats = NDArray[np.float64]

FEWEST_VIDEOS: Final = 10
"""Least number of labelled videos for an interval; coverage was simulated from this number."""
FEWEST_LABELS: Final = 20
"""Least number of labels for an interval, for the same reason."""
SLOPE_SHRINKAGE: Final = 1.0
"""How many standard errors of the slope, squared, are taken from it (James & Stein 1961, positive part)."""
UNSEEN_RESIDUALS: Final = 1.5
"""Squared residuals that are added, as of one label and a half that contradict the judge entirely."""
LEAST_LEFT: Final = 0.1
"""A video has at most this influence on its own residuals."""
_ALIKE: Final = 1e-12
_BOUNDS: Final[Mapping[float, Literal["at least", "at most"]]] = {0.0: "at most", 1.0: "at least"}

_ALIKE_SAYS: Final = {
    "at least": "the highest, so there is only a lower bound",
    "at most": "the lowest, so there is only an upper bound",
}


@dataclass(frozen=True)
class CorrectedInterval:
    """A judge's mean corrected by people's labels, on their scale, with its 95 % interval or why there is none."""

    value: float | None
    """None without labels."""
    low: float | None
    """Lower end; with an upper bound alone, the lower end of the scale; None without an interval."""
    high: float | None
    """Upper end; with a lower bound alone, the upper end of the scale; None without an interval."""
    bound: Literal["at least", "at most"] | None
    """`at least` if the labels give a lower bound only, `at most` if they give an upper bound only."""
    n: int
    """Number of labels."""
    labelled_clusters: int
    """Number of videos with labels."""
    clusters: int
    """Number of videos with judged items."""
    reason: str | None
    """Why there is no interval, or only one bound."""
    more_labels: int
    """More labels needed for an interval; if all labels are equal, more labels that halve the distance of the bound."""
    more_clusters: int
    """More videos that need labels."""
    power: float = 0.0
    """How far the judge's scores are used: 0 is the labels alone; on the judge's scale from lowest to highest score."""
    next_width: float | None = None
    """Width to expect with as many labels again, of as many other videos; None without an interval."""

    def width_after(self, labels: int) -> float | None:
        """The width to expect with so many more labels, drawn evenly over the videos; None without an interval.

        The variance is that of the labels, which shrinks with their number, and that of the judge's scores, which does
        not. Both follow from the width now and the one with twice as many labels.
        """
        if self.low is None or self.high is None or self.next_width is None:
            return None
        now, twice = (self.high - self.low) ** 2, self.next_width**2
        of_labels = max(2 * (now - twice), 0.0)
        shrunk: float = (now - of_labels * labels / (self.n + labels)) ** 0.5
        return shrunk

    @property
    def advice(self) -> str | None:
        """What to rate next, and what it would bring; None without an interval."""
        if self.low is None or self.high is None or self.next_width is None:
            return None
        others = min(self.labelled_clusters, self.clusters - self.labelled_clusters)
        where = f"of {_counted(others, 'other video')}" if others else "drawn evenly over the videos"
        width = f"from {self.high - self.low:.3g} to about {self.next_width:.3g}"
        return f"{_counted(self.n, 'more rating')} {where} would narrow the interval {width}"


@dataclass(frozen=True)
class VideoSums:
    """Sums of a study by video: each (..., V), any number of studies at a time. Labels and scores are 0 to 1."""

    labels: Floats
    """Number of labelled items."""
    total: Floats
    """Sum of their labels."""
    squares: Floats
    """Sum of the labels' squares."""
    items: Floats
    """Number of items that the judge scored, labelled or not."""
    scores: Floats
    """Sum of the judge's scores of all items."""
    score_squares: Floats
    """Sum of their squares."""
    labelled_scores: Floats
    """Sum of the judge's scores of labelled items."""
    labelled_squares: Floats
    """Sum of their squares."""
    products: Floats
    """Sum of the products of label and score."""


@dataclass(frozen=True)
class Intervals:
    """Corrected means of many studies on 0 to 1: each (...)."""

    value: Floats
    low: Floats
    high: Floats
    alike: NDArray[np.bool_]
    """True if all labels of a study are equal; the ends are then exact bounds from their number."""
    power: Floats
    """How far the judge's scores are used: the slope of labels on scores, shrunk; 0 is the labels alone."""


def corrected_interval(
    people: ArrayLike,
    judge: ArrayLike,
    labelled: ArrayLike,
    clusters: Sequence[str] | NDArray[np.generic],
    scale: tuple[float, float],
) -> CorrectedInterval:
    """Estimate the mean that people would give all items, from a judge's scores of all and people's labels of some.

    From 10 labelled videos and 20 labels on, with a correlation within videos of at most 0.2, it covers in 93 % of
    simulated studies or more, in 91 % near an end with 10 videos of ten labels each. With fewer there is no interval.

    Args:
        people: (n,) labels of the labelled items, in the order of `labelled`; or (N,), of which only those of labelled
            items are read.
        judge: (N,) scores of the judge for all items, on any scale.
        labelled: (N,) booleans, True for labelled items; or (n,) their indices from 0.
        clusters: (N,) source video of each item.
        scale: Lowest and highest possible label.

    Raises:
        ValueError: The lengths differ, a number is not finite, a label is outside the scale, or the scale is empty.
    """
    scores, mask, given = _checked(people, judge, labelled, clusters, scale)
    codes = np.unique(np.asarray(clusters), return_inverse=True)[1].ravel() if len(scores) else np.zeros(0, np.intp)
    n, videos = int(mask.sum()), int(codes.max(initial=-1)) + 1
    labelled_videos = len(np.unique(codes[mask]))
    more_videos = max(FEWEST_VIDEOS - labelled_videos, 0)
    more_labels = max(FEWEST_LABELS - n, more_videos)
    if n == 0:
        reason = f"people rated nothing; rate {FEWEST_LABELS} items of {FEWEST_VIDEOS} videos or more"
        return CorrectedInterval(None, None, None, None, 0, 0, videos, reason, more_labels, more_videos)
    sums = _summed(given, _on_unit_scale(scores), mask, codes)
    found, again = corrected_intervals(sums), corrected_intervals(_labelled_twice(sums))
    width = scale[1] - scale[0]
    value = scale[0] + width * float(found.value)
    if more_labels or more_videos:
        reason = _too_little(n, labelled_videos, more_labels, more_videos)
        return CorrectedInterval(value, None, None, None, n, labelled_videos, videos, reason, more_labels, more_videos)
    low, high = scale[0] + width * float(found.low), scale[0] + width * float(found.high)
    if found.alike:
        bound = _BOUNDS.get(float(found.value))
        says = _ALIKE_SAYS[bound] if bound else "so their number alone bounds the mean"
        reason = f"all {n:,} ratings are {value:g}, {says}"
        return CorrectedInterval(value, low, high, bound, n, labelled_videos, videos, reason, n, 0)
    power, after = float(found.power), width * float(again.high - again.low)
    return CorrectedInterval(value, low, high, None, n, labelled_videos, videos, None, 0, 0, power, after)


def _labelled_twice(sums: VideoSums) -> VideoSums:
    """A study with as many labels again, of as many other videos that are like the labelled ones."""
    parts = [getattr(sums, field.name) for field in fields(VideoSums)]
    labelled = parts[0] > 0
    others = np.flatnonzero(~labelled)[int(labelled.sum()) :]
    return VideoSums(*(np.concatenate([part[labelled], part[labelled], part[others]]) for part in parts))


def _on_unit_scale(scores: Floats) -> Floats:
    """The judge's scores, from 0 for the lowest to 1 for the highest."""
    width = float(np.ptp(scores))
    return (scores - scores.min()) / width if width > 0 else np.zeros_like(scores)


def corrected_intervals(sums: VideoSums) -> Intervals:
    """Corrected means of any number of studies, each with labels."""
    with np.errstate(invalid="ignore", divide="ignore"):
        n = sums.labels.sum(-1)
        plain = sums.total.sum(-1) / n
        alone, low, high, _ = _interval(sums, np.zeros_like(sums.labels))
        value, lowest, highest, used = _interval(sums, _power(sums))
        # A judge that does not help is left out, so that its interval is never wider than that of the labels.
        helps = highest - lowest < high - low
        value, low, high = np.where(helps, value, alone), np.where(helps, lowest, low), np.where(helps, highest, high)
        # Equal labels do not show their correlation. Clopper and Pearson's bound of the share of other labels.
        alike = sums.squares.sum(-1) / n - plain**2 <= _ALIKE
        equal = ((1 - CONFIDENCE) / 2) ** (1 / _effective(sums.labels)[..., 0])
        return Intervals(
            np.where(alike, plain, value),
            np.where(alike, equal * plain, low),
            np.where(alike, 1 - equal * (1 - plain), high),
            alike,
            np.where(helps & ~alike, used, 0.0),
        )


def _interval(sums: VideoSums, power: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """(...) means, lower and upper ends, and the mean power, with the judge's scores used as far as `power` says."""
    sizes, n = sums.labels, sums.labels.sum(-1, keepdims=True)
    every = sums.items.sum(-1, keepdims=True)
    centre = sums.scores.sum(-1, keepdims=True) / every
    moved, moved_squares, products = _from_centre(sums)
    left = sums.total - power * moved
    left_squares = sums.squares - 2 * power * products + power**2 * moved_squares
    value = left.sum(-1, keepdims=True) / n
    used = (power * sizes).sum(-1, keepdims=True) / n
    residuals = left - sizes * value
    squares = np.maximum(left_squares.sum(-1, keepdims=True) - n * value**2, 0.0)
    icc = correlation_within(residuals, sizes, squares)
    of_labels = residuals / n / np.sqrt(np.maximum(1 - sizes / n, LEAST_LEFT))
    of_scores = used * (sums.scores - sums.items * centre) / every
    of_scores = of_scores / np.sqrt(np.maximum(1 - sums.items / every, LEAST_LEFT))
    worth = _effective(sizes)
    # Of a judge that few labels contradict, the next label may be the first to do so.
    unseen = np.where(used != 0, UNSEEN_RESIDUALS * _part_of_binary(sums), 0.0)
    variance = ((of_labels + of_scores) ** 2).sum(-1) + (unseen / worth**2)[..., 0]
    spread_of_scores = np.maximum(sums.score_squares.sum(-1, keepdims=True) / every - centre**2, 0.0)
    beside = used**2 * spread_of_scores * worth / _effective(sums.items)
    spread = ((squares + unseen) / (n - 1) + beside)[..., 0]
    mean = np.clip(value[..., 0], 0.0, 1.0)
    low, high = bounded_interval(mean, variance, degrees_of_freedom_of_mean(sizes, icc[..., 0]), spread, sizes)
    return mean, low, high, used[..., 0]


def _from_centre(sums: VideoSums) -> tuple[Floats, Floats, Floats]:
    """(..., V) sums of labelled scores, of their squares and of their products with labels, from the mean of all."""
    centre = sums.scores.sum(-1, keepdims=True) / sums.items.sum(-1, keepdims=True)
    moved = sums.labelled_scores - sums.labels * centre
    squares = sums.labelled_squares - 2 * centre * sums.labelled_scores + centre**2 * sums.labels
    return moved, squares, sums.products - centre * sums.total


def _effective(sizes: Floats) -> Floats:
    """(..., 1) number of independent items that items with the assumed correlation are worth."""
    effect = (sizes * (1 + (sizes - 1) * PRIOR_CORRELATION)).sum(-1, keepdims=True)
    found: Floats = sizes.sum(-1, keepdims=True) ** 2 / effect
    return found


def _part_of_binary(sums: VideoSums) -> Floats:
    """(..., 1) variance of the labels over that of labels at the ends with the same mean, at most 1."""
    n, total, squares = (part.sum(-1, keepdims=True) for part in (sums.labels, sums.total, sums.squares))
    most = total * (1 - total / n)
    found: Floats = np.clip((squares - total**2 / n) / np.where(most > 0, most, 1.0), 0.0, 1.0)
    return found


def _power(sums: VideoSums) -> Floats:
    """(..., V) the slope of labels on scores in all other videos, shrunk as far as chance may have made it."""
    n, y, yy, f, ff, yf = (
        part.sum(-1, keepdims=True) - part for part in (sums.labels, sums.total, sums.squares, *_from_centre(sums))
    )
    across, along = yf - y * f / n, ff - f**2 / n
    slope = np.where(along > _ALIKE, across / np.where(along > _ALIKE, along, 1.0), 0.0)
    up = np.maximum(yy - y**2 / n, _ALIKE)
    explained = np.clip(slope * across / up, 0.0, 1.0)
    worth = np.maximum(_effective(sums.labels) - 2, 1.0)
    kept = np.maximum(1 - SLOPE_SHRINKAGE * (1 - explained) / np.maximum(explained * worth, _ALIKE), 0.0)
    found: Floats = slope * kept
    return found


def _summed(given: Floats, scores: Floats, mask: NDArray[np.bool_], codes: NDArray[np.intp]) -> VideoSums:
    videos = int(codes.max()) + 1

    def of(rows: NDArray[np.intp], weights: Floats | None = None) -> Floats:
        return np.bincount(rows, weights=weights, minlength=videos).astype(np.float64)

    inside, said = codes[mask], scores[mask]
    return VideoSums(
        of(inside), of(inside, given), of(inside, given**2), of(codes), of(codes, scores), of(codes, scores**2),
        of(inside, said), of(inside, said**2), of(inside, given * said),
    )  # fmt: skip


def _checked(
    people: ArrayLike,
    judge: ArrayLike,
    labelled: ArrayLike,
    clusters: Sequence[str] | NDArray[np.generic],
    scale: tuple[float, float],
) -> tuple[Floats, NDArray[np.bool_], Floats]:
    """(N,) scores, (N,) True for labelled items, and (n,) their labels on 0 to 1 in the order of the items."""
    scores, said, which = np.asarray(judge, np.float64), np.asarray(people, np.float64), np.asarray(labelled)
    if scores.ndim != 1 or said.ndim != 1 or which.ndim != 1 or len(clusters) != len(scores):
        raise ValueError(
            f"judge, people and labelled need one dimension, and clusters a name for each score of judge; got shapes "
            f"{scores.shape}, {said.shape}, {which.shape} and {len(clusters)} clusters"
        )
    if which.size == 0:
        which = np.zeros(len(scores), np.bool_)
    order = None
    if which.dtype == np.bool_:
        if len(which) != len(scores):
            raise ValueError(f"labelled has {len(which)} booleans for {len(scores)} items")
        mask = which
    else:
        if not np.issubdtype(which.dtype, np.integer) or len(np.unique(which)) != len(which):
            raise ValueError("labelled needs booleans, one for each item, or indices of items, each once")
        if which.min() < 0 or which.max() >= len(scores):
            raise ValueError(f"labelled has an index outside 0 to {len(scores) - 1}")
        mask = np.zeros(len(scores), np.bool_)
        mask[which] = True
        order = np.argsort(which, kind="stable")
    n = int(mask.sum())
    if len(said) == n:
        given = said if order is None else said[order]
    elif len(said) == len(scores):
        given = said[mask]
    else:
        raise ValueError(f"people has {len(said)} labels; {n} items are labelled, of {len(scores)}")
    low, high = scale
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise ValueError(f"a scale goes from a lower to a higher finite number; got {low:g} to {high:g}")
    if not np.isfinite(scores).all() or not np.isfinite(given).all():
        raise ValueError("every item needs a finite score of the judge, and every labelled one a finite label")
    if n and (given.min() < low or given.max() > high):
        raise ValueError(f"labels go from {given.min():g} to {given.max():g}, outside the scale of {low:g} to {high:g}")
    return scores, mask, (given - low) / (high - low)


def _too_little(n: int, videos: int, more_labels: int, more_videos: int) -> str:
    have = f"{_counted(n, 'rating')} of {_counted(videos, 'video')}"
    wanted = [_counted(more_labels, "more answer")] if more_labels else []
    if more_videos:
        wanted.append(f"{'some of' if wanted else 'answers of'} {_counted(more_videos, 'more video')}")
    return f"{have} {'is' if n == 1 else 'are'} too few for an interval; rate {', '.join(wanted)}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
