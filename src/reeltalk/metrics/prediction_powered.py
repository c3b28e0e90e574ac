"""A judge's mean corrected by a few human labels: prediction-powered inference, with turns of one video dependent.

A judge scores everything, people score a little of it. The corrected mean is the judge's over what nobody labelled,
plus what people and judge differ by over what was labelled. It is right whatever the judge's error is, and its interval
is narrower than that of the labels alone as far as the judge follows the people.

All that is needed of a video are five sums (`VideoSums`), so that simulations can do thousands of studies at a time.

Reference:
    Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, "Prediction-Powered Inference", Science 382, 2023, arXiv 2301.09633;
    power tuning, Angelopoulos, Duchi & Zrnic, "PPI++", 2023, arXiv 2311.01453. Sums by video and their degrees of
    freedom are ours. Rogan & Gladen, American Journal of Epidemiology 107, 1978.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reeltalk.metrics.resampling import CONFIDENCE

Floats = NDArray[np.float64]

FEWEST_VIDEOS: Final = 3
"""Labelled videos below which the labels alone have no interval: of two, nothing is left to tell the spread from."""
FEWEST_TUNED: Final = 5
"""Labelled videos below which a corrected mean with a tuned power has no interval."""
FEW_LABELLED_VIDEOS: Final = 10
"""From so many labelled videos on, intervals of corrected means cover as they should in all simulated studies; with 5
they cover 92 to 95 % (`bench/judge_correction.py`)."""
_LEAST_LEFT: Final = 0.1


@dataclass(frozen=True)
class Estimated:
    """A mean with its interval."""

    value: float
    low: float | None
    high: float | None
    error: float | None
    """Standard error; None as the interval where there are too few labelled videos."""


@dataclass(frozen=True)
class Corrected:
    """A mean three ways."""

    corrected: Estimated
    people: Estimated
    """From the labels alone."""
    judge: float
    """The judge's mean over everything, as it is."""
    power: float
    """How far the judge is relied on: 0 not at all; 1 in full, as in prediction-powered inference without tuning."""
    labels: int
    videos: int
    """Videos with labels."""

    @property
    def worth(self) -> float | None:
        """How many labels would give an interval of the same width without a judge; None without an interval."""
        if not self.corrected.error or self.people.error is None:
            return None
        return self.labels * (self.people.error / self.corrected.error) ** 2


@dataclass(frozen=True)
class VideoSums:
    """What a study adds up to, video by video: each (..., V), any number of studies at a time."""

    labels: Floats
    """Sum of what people say."""
    labelled: Floats
    """Sum of what the judge says of the same items."""
    labelled_n: Floats
    unlabelled: Floats
    """Sum of what the judge says of items that nobody labelled."""
    unlabelled_n: Floats


@dataclass(frozen=True)
class Estimates:
    """Means of many studies: each (...)."""

    value: Floats
    low: Floats
    high: Floats
    error: Floats
    power: Floats


def corrected_mean(
    labels: Floats,
    labelled: Floats,
    unlabelled: Floats,
    *,
    power: float | None = None,
    confidence: float = CONFIDENCE,
) -> Estimates:
    """The corrected mean of independent items, with a normal interval: as the package ppi_py has it.

    Args:
        labels: (n,) what people say.
        labelled: (n,) what the judge says of the same items.
        unlabelled: (N,) what the judge says of other items.
        power: How far the judge is relied on, 0 to 1; tuned for the narrowest interval where it is not given.
        confidence: Of the interval.

    Raises:
        ValueError: There are no labels, no other items, or the labels and the judge's values are not of equal number.
    """
    n, others = len(labels), len(unlabelled)
    if n == 0 or others == 0 or n != len(labelled):
        raise ValueError(f"needs labels, a judgement for each, and more judgements; got {n}, {len(labelled)}, {others}")
    if power is None:
        together = np.concatenate([labelled, unlabelled]).var(ddof=1)
        covariance = ((labels - labels.mean()) * (labelled - labelled.mean())).mean()
        power = float(np.clip(covariance / ((1 + n / others) * together), 0, 1)) if together > 0 else 0.0
    value = power * unlabelled.mean() + (labels - power * labelled).mean()
    error = np.sqrt((power * unlabelled).var() / others + (labels - power * labelled).var() / n)
    reach = stats.norm.ppf((1 + confidence) / 2) * error
    return Estimates(*(np.asarray(found) for found in (value, value - reach, value + reach, error, power)))


def corrected_by_video(sums: VideoSums, *, power: float | None = None, confidence: float = CONFIDENCE) -> Estimates:
    r"""The corrected mean where items of one video depend on each other, labelled ones on unlabelled ones too.

    With :math:`\lambda` the power, the mean is :math:`\bar Y + \lambda(\bar f_u - \bar f_l)`. Its variance is the sum
    of squares of what each video adds to it once it is linearised, so that whatever dependence there is inside a video
    is allowed for. What a video adds is enlarged by its share of the items (the HC2 or CR2 correction), and the
    interval is Student's t with Satterthwaite's degrees of freedom. The videos with labels give those of as many videos
    of equal size as their labels are worth, less one for the mean and, where the power is tuned, one for the power.

    The tuned power is what makes that variance least, not below 0. As it then fits the labelled videos' noise too, what
    a video adds is divided by one less its leverage on the power, as the jackknife has it.

    Args:
        sums: Of one study or more.
        power: How far the judge is relied on; 0 gives the people's mean alone. Tuned where it is not given.
        confidence: Of the interval.

    Returns:
        Interval and error are NaN where a study has too few labelled videos; all is, where it has no labels.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return _by_video(sums, power, confidence)


def _by_video(sums: VideoSums, power: float | None, confidence: float) -> Estimates:
    n, others = sums.labelled_n.sum(-1), sums.unlabelled_n.sum(-1)
    has_labels, has_others = sums.labelled_n > 0, sums.unlabelled_n > 0
    videos, other_videos = has_labels.sum(-1), has_others.sum(-1)
    labels_mean, judge_labelled = sums.labels.sum(-1) / n, sums.labelled.sum(-1) / n
    # Where everything is labelled the judge has nothing to add.
    judge_others = np.where(others > 0, sums.unlabelled.sum(-1) / others, judge_labelled)
    people = _added(sums.labels, sums.labelled_n, labels_mean, n)
    followed = _added(sums.labelled, sums.labelled_n, judge_labelled, n)
    beyond = np.where(others[..., None] > 0, _added(sums.unlabelled, sums.unlabelled_n, judge_others, others), 0.0)
    by_judge = np.where(others[..., None] > 0, beyond - followed, 0.0)
    tuned = power is None
    if power is None:
        least = (by_judge**2).sum(-1)
        found = np.where(least > 0, -(people * by_judge).sum(-1) / np.where(least > 0, least, 1.0), 0.0)
        relied = np.maximum(found, 0.0)
    else:
        relied = np.broadcast_to(np.float64(power), n.shape)
    value = labels_mean + relied * (judge_others - judge_labelled)
    each = people + relied[..., None] * by_judge
    if tuned:
        # A power tuned on few videos fits their noise too: each video is held against the power of all others.
        leverage = np.where(least > 0, 1 / np.where(least > 0, least, 1.0), 0.0)[..., None] * by_judge**2
        each = np.where(relied[..., None] > 0, each / np.maximum(1 - leverage, _LEAST_LEFT), each)
    with_labels = (each**2 * has_labels).sum(-1)
    without = (each**2 * ~has_labels).sum(-1)
    variance = with_labels + without
    free = n**2 / (sums.labelled_n**2).sum(-1) - 1 - (tuned & (relied > 0))
    other_free = np.maximum((other_videos - (has_labels & has_others).sum(-1)), 1)
    degrees = variance**2 / (with_labels**2 / np.maximum(free, 1) + without**2 / other_free)
    enough = videos >= (FEWEST_TUNED if tuned else FEWEST_VIDEOS)
    error = np.where(enough, np.sqrt(variance), np.nan)
    # Where nothing varies there are no degrees of freedom, and no need of any.
    reach = np.where(error == 0, 0.0, stats.t.ppf((1 + confidence) / 2, np.maximum(degrees, 1)) * error)
    return Estimates(value, value - reach, value + reach, error, relied)


def _added(values: Floats, counts: Floats, mean: Floats, n: Floats) -> Floats:
    """(..., V) what each video adds to a mean beside the mean itself, enlarged by its share of the items."""
    share = counts / n[..., None]
    added: Floats = (values / n[..., None] - mean[..., None] * share) / np.sqrt(np.maximum(1 - share, _LEAST_LEFT))
    return added


def corrected(
    labels: Floats,
    judged: Floats,
    has_label: NDArray[np.bool_],
    clusters: Sequence[str],
    *,
    power: float | None = None,
    scale: tuple[float, float] = (-np.inf, np.inf),
) -> Corrected | None:
    """A judge's mean over all items, the people's over some, and both together.

    Args:
        labels: (N,) what people say; anything where they say nothing.
        judged: (N,) what the judge says of every item.
        has_label: (N,) where people say something.
        clusters: The source video of each item.
        power: As of `corrected_by_video`.
        scale: Of the labels; values and intervals are cut at its ends.

    Returns:
        None where there are no labels.
    """
    if not has_label.any():
        return None
    names, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)

    def summed(values: Floats) -> Floats:
        return np.bincount(codes, weights=values, minlength=len(names)).astype(np.float64)

    given = np.where(has_label, labels, 0.0)
    share = has_label.astype(np.float64)
    sums = VideoSums(
        summed(given), summed(judged * share), summed(share), summed(judged * (1 - share)), summed(1 - share)
    )
    found, alone = corrected_by_video(sums, power=power), corrected_by_video(sums, power=0.0)
    return Corrected(
        _single(found, scale),
        _single(alone, scale),
        float(judged.mean()),
        float(found.power),
        int(has_label.sum()),
        int((sums.labelled_n > 0).sum()),
    )


def rogan_gladen(
    labels: NDArray[np.bool_], judged: NDArray[np.bool_], has_label: NDArray[np.bool_], clusters: Sequence[str]
) -> tuple[Estimated | None, str | None]:
    """The share of right answers from a judge that passes or fails, its two kinds of error taken out.

    Sensitivity and specificity come from the labels. The interval is linearised by video as in `corrected_by_video`,
    and cut at 0 and 1. Unlike prediction-powered inference it leans on the errors being the same where nobody labelled,
    and is wide where the judge is little better than chance.

    Args:
        labels: (N,) whether people pass an answer; anything where they say nothing.
        judged: (N,) whether the judge does.
        has_label: (N,) where people say something.
        clusters: The source video of each item.

    Returns:
        The share and None; or None and why there is none.
    """
    right, wrong = has_label & labels, has_label & ~labels
    if not right.any() or not wrong.any():
        return None, "people pass all labelled answers, or none, so one of the judge's errors is unknown"
    passed = judged.mean()
    sensitivity, specificity = judged[right].mean(), 1 - judged[wrong].mean()
    better = sensitivity + specificity - 1
    if better <= 0:
        return None, "the judge is no better than chance on the labelled answers"
    share = (passed + specificity - 1) / better
    names, codes = np.unique(np.asarray(clusters, dtype=np.str_), return_inverse=True)
    by_item = (judged - passed) / len(judged) / better
    by_item = by_item - share / better * right * (judged - sensitivity) / right.sum()
    by_item = by_item + (1 - share) / better * wrong * (~judged - specificity) / wrong.sum()
    added = np.bincount(codes, weights=by_item, minlength=len(names))
    with_labels = np.unique(codes[has_label])
    inside = np.isin(np.arange(len(names)), with_labels)
    videos = len(with_labels)
    value = float(np.clip(share, 0, 1))
    if videos < FEWEST_VIDEOS:
        return Estimated(value, None, None, None), None
    first, rest = (added[inside] ** 2).sum() * videos / (videos - 1), (added[~inside] ** 2).sum()
    variance = first + rest
    if variance == 0:
        return Estimated(value, value, value, 0.0), None
    degrees = variance**2 / (first**2 / (videos - 1) + rest**2 / max(len(names) - videos, 1))
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * np.sqrt(variance)
    low, high = (float(np.clip(share + side * reach, 0, 1)) for side in (-1, 1))
    return Estimated(value, low, high, float(np.sqrt(variance))), None


def _single(found: Estimates, scale: tuple[float, float]) -> Estimated:
    value, low, high = (float(np.clip(part, *scale)) for part in (found.value, found.low, found.high))
    error = float(found.error)
    if not np.isfinite(error):
        return Estimated(value, None, None, None)
    return Estimated(value, low, high, error)
