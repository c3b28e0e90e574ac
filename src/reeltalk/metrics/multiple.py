"""Correction of several p values at once: of twenty comparisons of equals one is "significant" at 5 % by chance."""

from collections.abc import Sequence
from typing import Final, Literal

Correction = Literal["holm", "bh", "none"]

TITLES: Final[dict[Correction, str]] = {"holm": "Holm", "bh": "Benjamini-Hochberg", "none": "none"}
_NAMES: Final = {"holm": "holm", "bh": "fdr_bh"}


def corrected(p: Sequence[float], correction: Correction = "holm") -> list[float]:
    """Corrected p values, in the same order, by statsmodels.

    Args:
        p: Of all comparisons among which one might look for a winner.
        correction: `holm` bounds the chance of any false winner, whatever the comparisons have to do with each other.
            `bh` bounds the share of false ones among the winners, and finds more.

    Reference:
        Holm 1979; Benjamini & Hochberg 1995.
    """
    if correction == "none" or len(p) < 2:
        return list(p)
    from statsmodels.stats.multitest import multipletests

    return [float(value) for value in multipletests(p, method=_NAMES[correction])[1]]
