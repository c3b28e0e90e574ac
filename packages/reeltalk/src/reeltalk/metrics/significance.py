"""Significance and power of comparisons: corrected p values, detectable differences, and the number of videos needed.

Of twenty comparisons of equal models, about one is "significant" at 5 % by chance. So p values are corrected together.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal

import numpy as np

Correction = Literal["holm", "bh", "none"]

TITLES: Final[dict[Correction, str]] = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "none"}


def correct_p_values(p: Sequence[float], correction: Correction = "holm") -> list[float]:
    """Corrected p values, in the same order.

    Args:
        p: P values of all comparisons in which you look for a winner.
        correction: `holm` bounds the probability of any false winner, whatever the dependence of the comparisons. `bh`
            bounds the share of false winners, and finds more.

    Reference:
        Holm 1979; Benjamini & Hochberg 1995. Equal to statsmodels' `multipletests`, without its cost.
    """
    if correction == "none" or len(p) < 2:
        return list(p)
    given = np.asarray(p, np.float64)
    order = np.argsort(given, kind="stable")
    count = len(given)
    if correction == "holm":
        ordered = np.maximum.accumulate(given[order] * np.arange(count, 0, -1))
    else:
        ordered = np.minimum.accumulate((given[order] * count / np.arange(1, count + 1))[::-1])[::-1]
    found = np.empty(count)
    found[order] = np.minimum(ordered, 1.0)
    return [float(value) for value in found]


def levels_of_tests(p: Sequence[float], alpha: float, correction: Correction = "holm") -> list[float]:
    """The level at which a correction tests each of several p values, in the same order.

    A corrected p value is below `alpha` exactly where the p value is below its level, so an interval at that level
    leaves out 0 exactly where the corrected test finds something.

    Reference:
        Holm 1979; for `bh`, the intervals of Benjamini & Yekutieli, JASA 100, 2005, whose share of misses among the
        found is bounded.
    """
    count = len(p)
    corrected = np.asarray(correct_p_values(p, correction))
    found = int((corrected < alpha).sum())
    if correction == "none" or count < 2:
        return [alpha] * count
    if correction == "bh":
        return [alpha * max(found, 1) / count] * count
    levels = np.empty(count)
    levels[np.argsort(np.asarray(p), kind="stable")] = alpha / np.maximum(count - np.arange(count), count - found)
    return [float(level) for level in levels]


POWER: Final = 0.8
"""Default power: probability to find a difference that exists."""
MOST_VIDEOS: Final = 1_000_000
"""A difference that needs more videos is reported as out of reach."""


def power_of(difference: float, standard_error: float, df: float, *, alpha: float = 0.05) -> float:
    """Power of a two-sided t test: the probability to find a difference that exists.

    Args:
        difference: The true difference, in the unit of the metric.
        standard_error: Standard error of its estimate, above 0.
        df: Degrees of freedom.
        alpha: Level of the test.
    """
    from scipy.special import nctdtr, stdtrit

    bound = float(stdtrit(df, 1 - alpha / 2))
    away = abs(difference) / standard_error
    below, far = float(nctdtr(df, away, bound)), float(nctdtr(df, away, -bound))
    # SciPy returns NaN for a vanishing tail.
    return 1.0 - (0.0 if math.isnan(below) else below) + (0.0 if math.isnan(far) else far)


def detectable_difference(standard_error: float, df: float, *, alpha: float = 0.05, power: float = POWER) -> float:
    """The smallest true difference that a two-sided t test finds with a given power, above 0, in the metric's unit.

    Args:
        standard_error: Standard error of the difference, observed or from a pilot.
        df: Degrees of freedom.
        alpha: Level of the test.
        power: Between `alpha` and 1, both excluded.

    Raises:
        ValueError: The power is outside this range.
    """
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    if not alpha < power < 1:
        raise ValueError(f"power must lie between alpha ({alpha:g}) and 1, got {power:g}")
    most = 20 * float(stdtrit(df, 1 - alpha / 2))
    return float(brentq(lambda away: power_of(away, 1.0, df, alpha=alpha) - power, 0.0, most)) * standard_error


def videos_needed(
    difference: float, standard_error: float, df: float, videos: int, *, alpha: float = 0.05, power: float = POWER
) -> int | None:
    """Number of videos, like those of a pilot, that a test needs to find a difference.

    With equally many turns a video, the variance falls and the degrees of freedom grow with the number of videos.

    Args:
        difference: The difference to find, in the unit of the metric; not 0.
        standard_error: Standard error of the difference in the pilot.
        df: Degrees of freedom of the pilot.
        videos: Number of videos of the pilot, at least 2.
        alpha: Level of the test.
        power: Probability to find the difference.

    Returns:
        At least 2; None if it is more than a million.
    """

    def enough(count: int) -> bool:
        error = standard_error * (videos / count) ** 0.5
        return power_of(difference, error, max(df * (count - 1) / (videos - 1), 1e-6), alpha=alpha) >= power

    if not enough(MOST_VIDEOS):
        return None
    low, high = 1, MOST_VIDEOS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, 2)


def design_effect(turns: float, icc: float) -> float:
    """Ratio of the variance of a mean to that of independent turns (Kish 1965).

    Args:
        turns: Turns a video; if videos differ, the sum of squares over the sum.
        icc: Correlation of two turns of one video.
    """
    return 1 + (turns - 1) * icc


@lru_cache(maxsize=65_536)
def binomial_tail(successes: int, trials: int) -> float:
    """Probability that a fair coin shows heads at least `successes` times in `trials` throws."""
    from scipy.special import betainc

    return float(betainc(successes, trials - successes + 1, 0.5)) if successes else 1.0
