r"""A judge's mean corrected by a few human labels, with an interval that also holds near the ends of the scale.

A judge scores every item, and people score some. Items are divided into strata by the judge's verdicts, or by ranges of
its scores. Each stratum is weighted by its share of all items, and its mean comes from the people's labels in it. This
is prediction-powered inference with the judge's scores recalibrated by the labels: the mean is valid for any errors of
the judge. The better the judge predicts people, the narrower the interval is, compared with the interval of the labels
alone.

With :math:`w_s` the share of a stratum, :math:`n_s` its labels and :math:`p_s` their mean, all on 0 to 1, the mean is
:math:`\sum_s w_s p_s`. The interval is made in three steps.

1. The intraclass correlation of the items of one video is estimated from the contribution of each video to the mean, by
   its labels, by the judge's scores, and by both. Ten videos are a weak estimate, so each correlation is shrunk towards
   0.2 with the weight of 15 videos. With the sizes of the videos it gives the design effect.
2. Each stratum has an interval between Jeffreys' and Clopper and Pearson's, of as many labels as its own are worth
   after the design effect, after Student's t for the number of labelled videos (Korn & Graubard), and for labels
   between the ends after their smaller spread.
3. The intervals of the strata are combined by the distances of their ends from their means (MOVER), together with the
   error of the shares :math:`w_s`, which matters if few videos were judged, and its correlation with theirs.

Everything is computed from the sums of each video by stratum (`VideoSums`), so that simulations can do thousands of
studies at a time; `bench/judge_correction.py` prints their coverage.

Reference:
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, "Prediction-Powered Inference", Science 382, 2023, arXiv 2301.09633;
    its power-tuned form, arXiv 2311.01453, gives the same mean for a judge of two verdicts. Korn & Graubard,
    "Confidence Intervals for Proportions With Small Expected Number of Positive Counts Estimated From Survey Data",
    Survey Methodology 24, 1998. Brown, Cai & DasGupta, "Interval Estimation for a Binomial Proportion", Statistical
    Science 16, 2001. Zou & Donner, "Construction of confidence limits about effect measures", Statistics in Medicine
    27, 2008.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reeltalk.metrics.uncertainty import CONFIDENCE

Floats = NDArray[np.float64]

FEWEST_VIDEOS: Final = 10
"""Least number of labelled videos for an interval; coverage was simulated from this number."""
FEWEST_LABELS: Final = 20
"""Least number of labels for an interval, for the same reason."""
_PRIOR_CORRELATION: Final = 0.2
"""Assumed correlation of items of one video."""
_PRIOR_VIDEOS: Final = 15.0
"""Weight of that assumption, in videos."""
_PRIOR_DEGREES: Final = 5.0
"""Degrees of freedom that the assumption adds."""
_PRIOR_SPREAD: Final = 0.5
"""Squares of labels' distances that are added before their spread is compared with that of labels at the ends."""
_BETWEEN: Final = 0.45
"""0.5 is Jeffreys' interval, which holds on average over truths but not at each, and 0 that of Clopper and Pearson."""
_LEAST_LEFT: Final = 0.1
FEWEST_IN_STRATUM: Final = 5
MOST_STRATA: Final = 5
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
    """Why there is no interval, only one bound, or a wider interval than the labels could give."""
    more_labels: int
    """More labels needed for an interval; if all labels are equal, more labels that halve the distance of the bound."""
    more_clusters: int
    """More videos that need labels."""


@dataclass(frozen=True)
class VideoSums:
    """Sums of a study by video and stratum: each (..., V, K), any number of studies at a time."""

    labels: Floats
    """Number of labelled items."""
    total: Floats
    """Sum of their labels, each 0 to 1."""
    squares: Floats
    """Sum of the labels' squares."""
    items: Floats
    """Number of items that the judge scored, labelled or not."""


@dataclass(frozen=True)
class Intervals:
    """Corrected means of many studies on 0 to 1: each (...)."""

    value: Floats
    low: Floats
    high: Floats
    alike: NDArray[np.bool_]
    """True if all labels of a study are equal; the ends are then exact bounds from their number."""
    correlation: Floats
    """Correlation of labels of one video, given the judge's scores."""


def corrected_interval(
    people: ArrayLike,
    judge: ArrayLike,
    labelled: ArrayLike,
    clusters: Sequence[str] | NDArray[np.generic],
    scale: tuple[float, float],
) -> CorrectedInterval:
    """Estimate the mean that people would give all items, from a judge's scores of all and people's labels of some.

    The interval is for the mean over videos like these. It covers in at least 93 % of simulated studies (90 % where
    the truth is within 3 % of an end) from 10 labelled videos and 20 labels on, where labels of one video correlate by
    at most 0.2; below that there is none.

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
    strata = strata_of(scores, mask)
    sums = _summed(given, mask, codes, strata)
    found = corrected_intervals(sums)
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
    unseen = int(sums.items.sum(axis=0)[sums.labels.sum(axis=0) == 0].sum())
    left_open = (
        f"people rated none of {_counted(unseen, 'item')} of which the judge says something else than of the rated "
        f"ones, so the interval leaves open what they are like; rate {FEWEST_IN_STRATUM} of them"
    )
    told, more = (left_open, FEWEST_IN_STRATUM) if unseen else (None, 0)
    return CorrectedInterval(value, low, high, None, n, labelled_videos, videos, told, more, 0)


def corrected_intervals(sums: VideoSums) -> Intervals:
    """Corrected means of any number of studies, each with labels.

    Args:
        sums: Sums of one or more studies; with one stratum, the labels alone count.
    """
    from scipy.special import stdtrit

    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        labels, items = sums.labels.sum(-2), sums.items.sum(-2)
        n, every = labels.sum(-1), items.sum(-1)
        seen, counted = labels > 0, np.maximum(labels, 1)
        plain = sums.total.sum((-2, -1)) / n
        means = np.where(seen, sums.total.sum(-2) / counted, plain[..., None])
        share = items / every[..., None]
        value = (share * means).sum(-1)
        squares = np.maximum(sums.squares.sum(-2) - labels * means**2, 0)
        at_ends = labels * means * (1 - means)
        spread = np.minimum((squares.sum(-1) + _PRIOR_SPREAD) / (at_ends.sum(-1) + _PRIOR_SPREAD), 1.0)[..., None]
        by_label = np.where(seen, share / counted, 0.0)
        by_video, of_all = sums.labels.sum(-1), sums.items.sum(-1) / every[..., None]
        videos, judged_videos = n**2 / (by_video**2).sum(-1), 1 / (of_all**2).sum(-1)
        score = (share * (means - value[..., None]) ** 2).sum(-1)

        def agreed(of_labels: Floats) -> Floats:
            """(..., V) contribution of each video if all its labels were one standard deviation above their means."""
            found: Floats = (sums.labels * (by_label * np.sqrt(of_labels * spread))[..., None, :]).sum(-1)
            return found

        # The contribution of each video to the mean by its labels and by its shares, enlarged by its leverage (HC2).
        left = np.maximum(1 - sums.labels / counted[..., None, :], _LEAST_LEFT)
        added = ((sums.total - sums.labels * means[..., None, :]) * by_label[..., None, :] / np.sqrt(left)).sum(-1)
        beyond = (sums.items * (means - value[..., None])[..., None, :]).sum(-1) / every[..., None]
        beyond = beyond / np.sqrt(np.maximum(1 - of_all, _LEAST_LEFT))
        by_share, of_share = score / every, of_all * np.sqrt(score)[..., None]
        variance, of_label = means * (1 - means), agreed(means * (1 - means))
        alone = (by_label**2 * labels * variance * spread).sum(-1)
        correlation = _drawn(((added**2).sum(-1) - alone), (of_label**2).sum(-1) - alone, videos)
        of_scores = _drawn((beyond**2).sum(-1) - by_share, (of_share**2).sum(-1) - by_share, judged_videos)
        of_both = _drawn((added * beyond).sum(-1), (of_label * of_share).sum(-1), videos)
        # If all labels of a stratum are equal, half a label of each kind keeps their variance above 0.
        smooth = (sums.total.sum(-2) + 0.5) / (labels + 1)
        alone = (by_label**2 * labels * smooth * (1 - smooth) * spread).sum(-1)
        of_label = agreed(smooth * (1 - smooth))
        effect = 1 + correlation * np.maximum((of_label**2).sum(-1) - alone, 0) / alone
        shares = by_share + of_scores * np.maximum((of_share**2).sum(-1) - by_share, 0)
        together = of_both * (of_label * of_share).sum(-1) / np.sqrt(alone * effect * shares)
        together = np.where(shares > 0, np.minimum(together, 1), 0)
        upper = (1 + CONFIDENCE) / 2
        t, z = stdtrit(videos - 1 + _PRIOR_DEGREES, upper), stdtrit(np.inf, upper)
        worth = labels / (effect * (t / z) ** 2)[..., None] / spread
        low, high = _ends(means * worth, worth)
        low, high = np.where(seen, np.minimum(low, means), means), np.where(seen, np.maximum(high, means), means)
        unseen = np.where(seen, 0.0, share)
        reach = stdtrit(judged_videos - 1 + _PRIOR_DEGREES, upper) * np.sqrt(shares)

        def combined(distances: Floats) -> Floats:
            squares = (share**2 * distances**2).sum(-1)
            found: Floats = np.sqrt(squares + reach**2 + 2 * together * np.sqrt(squares) * reach)
            return found

        lowest = value - combined(means - low) - (unseen * means).sum(-1)
        highest = value + combined(high - means) + (unseen * (1 - means)).sum(-1)
        # Equal labels do not show their correlation. Clopper and Pearson's bound of the share of other labels.
        alike = sums.squares.sum((-2, -1)) / n - plain**2 <= _ALIKE
        effect = 1 + _PRIOR_CORRELATION * np.maximum((by_video**2).sum(-1) / n - 1, 0)
        equal = ((1 - CONFIDENCE) / 2) ** (effect / n)
        return Intervals(
            np.where(alike, plain, value),
            np.where(alike, equal * plain, np.clip(lowest, 0, 1)),
            np.where(alike, 1 - equal * (1 - plain), np.clip(highest, 0, 1)),
            alike,
            correlation,
        )


def _drawn(excess: Floats, room: Floats, videos: Floats) -> Floats:
    """The observed correlation, shrunk towards the assumed one."""
    shown = np.where(room > 0, np.clip(excess / np.where(room > 0, room, 1.0), 0, 1), 0.0)
    found: Floats = (videos * shown + _PRIOR_VIDEOS * _PRIOR_CORRELATION) / (videos + _PRIOR_VIDEOS)
    return found


def _ends(successes: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """The interval of a share; the number of trials need not be whole."""
    from scipy.special import betaincinv

    below, failures = (1 - CONFIDENCE) / 2, np.maximum(trials - successes, 0)
    low: Floats = betaincinv(successes + _BETWEEN, failures + 1 - _BETWEEN, below)
    high: Floats = betaincinv(successes + 1 - _BETWEEN, failures + _BETWEEN, 1 - below)
    return low, high


def strata_of(judge: Floats, labelled: NDArray[np.bool_]) -> NDArray[np.intp]:
    """(N,) stratum of each item, from 0 for the judge's lowest scores.

    If the judge has two verdicts, each is a stratum. Otherwise neighbouring scores are merged until a stratum has
    `FEWEST_IN_STRATUM` labels; with more than `MOST_STRATA` scores, until it has a fifth of all labels. At least two
    strata are left. The values of the labels are not used.

    Args:
        judge: (N,) scores of the judge.
        labelled: (N,) True for labelled items.
    """
    values, level = np.unique(judge, return_inverse=True)
    level = level.ravel()
    if len(values) <= 2:
        return level.astype(np.intp)
    labels = np.bincount(level[labelled], minlength=len(values))
    least = FEWEST_IN_STRATUM if len(values) <= MOST_STRATA else max(FEWEST_IN_STRATUM, labels.sum() / MOST_STRATA)
    stratum, begun, of_level = 0, 0, np.zeros(len(values), np.intp)
    after = labels.sum() - np.cumsum(labels)
    for number, count in enumerate(labels.tolist()):
        of_level[number] = stratum
        begun += count
        if begun >= least and after[number] >= least:
            stratum, begun = stratum + 1, 0
    if stratum == 0:
        # One score has nearly all labels: divide into two strata with as equal numbers of labels as possible.
        of_level[np.argmin(np.abs(np.cumsum(labels)[:-1] - labels.sum() / 2)) + 1 :] = 1
    return of_level[level]


def _summed(given: Floats, mask: NDArray[np.bool_], codes: NDArray[np.intp], strata: NDArray[np.intp]) -> VideoSums:
    shape = (int(codes.max()) + 1, int(strata.max()) + 1)
    cell = codes * shape[1] + strata

    def counted(rows: NDArray[np.intp], weights: Floats | None = None) -> Floats:
        return np.bincount(rows, weights=weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)

    inside = cell[mask]
    return VideoSums(counted(inside), counted(inside, given), counted(inside, given**2), counted(cell))


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
