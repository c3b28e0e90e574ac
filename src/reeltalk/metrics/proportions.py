"""Shares of few trials, with intervals that hold also near 0 and 1."""

from typing import NamedTuple

from reeltalk.metrics.resampling import CONFIDENCE


class Proportion(NamedTuple):
    """So many of so many, with Wilson's interval."""

    successes: int
    trials: int
    share: float | None
    """None of none."""
    low: float | None
    high: float | None


def wilson(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> Proportion:
    """The share of trials that succeeded, with Wilson's score interval.

    Args:
        successes: 0 to `trials`.
        trials: Independent ones.
        confidence: Of the interval.

    Reference:
        Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", JASA 22, 1927.
    """
    if not trials:
        return Proportion(0, 0, None, None, None)
    # scipy takes a quarter of a second to import.
    from scipy.stats import binomtest

    interval = binomtest(successes, trials).proportion_ci(confidence_level=confidence, method="wilson")
    return Proportion(successes, trials, successes / trials, float(interval.low), float(interval.high))
