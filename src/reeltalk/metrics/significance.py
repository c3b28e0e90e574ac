"""What a comparison can show: corrected p values, the smallest difference that it would find, and the videos it takes.

Of twenty comparisons of equals one is "significant" at 5 % by chance, so p values are corrected together.
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
        p: Of all comparisons among which one might look for a winner.
        correction: `holm` bounds the chance of any false winner, whatever the comparisons have to do with each other.
            `bh` bounds the share of false ones among the winners, and finds more.

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


POWER: Final = 0.8
"""How surely a difference is to be found, where nothing else is asked."""
MOST_VIDEOS: Final = 1_000_000
"""Nobody films more; a difference that needs more is said to be out of reach."""


def power_of(difference: float, standard_error: float, df: float, *, alpha: float = 0.05) -> float:
    """How often a two-sided t test finds a difference that is there.

    Args:
        difference: The true one, in the metric's unit.
        standard_error: Of its estimate, above 0.
        df: Degrees of freedom.
        alpha: Level of the test.
    """
    from scipy.special import nctdtr, stdtrit

    bound = float(stdtrit(df, 1 - alpha / 2))
    away = abs(difference) / standard_error
    below, far = float(nctdtr(df, away, bound)), float(nctdtr(df, away, -bound))
    # SciPy has no value for a tail where it vanishes.
    return 1.0 - (0.0 if math.isnan(below) else below) + (0.0 if math.isnan(far) else far)


def detectable_difference(standard_error: float, df: float, *, alpha: float = 0.05, power: float = POWER) -> float:
    """The smallest true difference that a two-sided t test finds with a given power, above 0, in the metric's unit.

    Args:
        standard_error: Of the difference, as observed or from a pilot.
        df: Degrees of freedom.
        alpha: Level of the test.
        power: From `alpha` to 1, both excluded.

    Raises:
        ValueError: A power that no difference has.
    """
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    if not alpha < power < 1:
        raise ValueError(f"power must lie between alpha ({alpha:g}) and 1, got {power:g}")
    most = 20 * float(stdtrit(df, 1 - alpha / 2))
    return float(brentq(lambda away: power_of(away, 1.0, df, alpha=alpha) - power, 0.0, most)) * standard_error


def videos_needed(
    difference: float,
    standard_error: float,
    df: float,
    videos: int,
    *,
    alpha: float = 0.05,
    power: float = POWER,
) -> int | None:
    """How many videos like those of a pilot it takes to find a difference.

    With as many turns a video, the variance falls as the number of videos grows, and the degrees of freedom grow.

    Args:
        difference: To be found, in the metric's unit; not 0.
        standard_error: Of the pilot's difference.
        df: Degrees of freedom of the pilot.
        videos: Of the pilot, at least 2.
        alpha: Level of the test.
        power: How surely it is to be found.

    Returns:
        At least 2; None where it would be more than a million.
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
    """How many times larger the variance of a mean is than if all turns were independent (Kish 1965).

    Args:
        turns: A video; where videos differ in length, the sum of their squares over their sum.
        icc: Correlation of two turns of one video.
    """
    return 1 + (turns - 1) * icc


@lru_cache(maxsize=65_536)
def binomial_tail(successes: int, trials: int) -> float:
    """Probability that a fair coin shows heads at least `successes` times in `trials` throws.

    Args:
        successes: 0 to `trials`.
        trials: 0 or more.
    """
    from scipy.special import betainc

    return float(betainc(successes, trials - successes + 1, 0.5)) if successes else 1.0
