"""Correction of several p values at once: of twenty comparisons of equals one is "significant" at 5 % by chance."""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

Correction = Literal["holm", "bh", "none"]

TITLES: Final[dict[Correction, str]] = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "none"}


def corrected(p: Sequence[float], correction: Correction = "holm") -> list[float]:
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
