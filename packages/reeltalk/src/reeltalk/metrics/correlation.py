"""Kendall's tau-b, Spearman's rho and Pearson's r, with intervals over whole source videos.

SciPy computes tau-b and r; rho is the correlation of mean ranks, as in SciPy. Resampling weighs each item by the number
of times that its video was drawn. This gives exactly the coefficient of the sample, ties included, without sorting it
again.
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.draws import CORRELATION, Draws, Statistic

Floats = NDArray[np.float64]
Coefficient = Literal["kendall", "spearman", "pearson"]

COEFFICIENTS: Final[tuple[Coefficient, ...]] = ("kendall", "spearman", "pearson")
FEWEST_ITEMS: Final = 3
"""Any two points lie on a line."""
TOO_FEW: Final = "fewer than three items"
CONSTANT_SIDE: Final = "{side} {verb} the same of all items, so there is no correlation"
_BLOCK: Final = 512


def correlation(kind: Coefficient, x: Floats, y: Floats) -> tuple[float | None, str | None]:
    """A coefficient, or why there is none.

    Args:
        x: (N,) finite values.
        y: (N,) finite values of the same items.

    Returns:
        The coefficient, -1 to 1, and None; or None and the reason, if a side is constant or N is below three.
    """
    reason = undefined_reason(x, y)
    if reason is not None:
        return None, reason
    if kind == "spearman":
        # In columns, for the same bits as scipy.stats.spearmanr.
        coefficients: Floats = np.corrcoef(np.column_stack((mean_ranks(x), mean_ranks(y))), rowvar=False)
        value = float(coefficients[1, 0])
    else:
        # Importing scipy.stats takes a second; every report needs rho, and only people's ratings need the others.
        from scipy import stats

        value = float({"kendall": stats.kendalltau, "pearson": stats.pearsonr}[kind](x, y).statistic)
    # SciPy may treat values as constant that differ in the last digit only.
    return (value, None) if np.isfinite(value) else (None, CONSTANT_SIDE.format(side="one of the two", verb="says"))


def undefined_reason(x: Floats, y: Floats, *, names: tuple[str, str] = ("the first", "the second")) -> str | None:
    """Why no correlation is defined; None if it is.

    Args:
        x: (N,) values.
        y: (N,) values.
        names: Names of the two, for the reason.
    """
    if len(x) < FEWEST_ITEMS:
        return TOO_FEW
    for values, name in ((x, names[0]), (y, names[1])):
        if np.ptp(values) == 0:
            return CONSTANT_SIDE.format(side=name, verb="says")
    return None


def correlations(
    x: Floats, y: Floats, draws: Draws, *, kinds: Sequence[Coefficient] = COEFFICIENTS
) -> dict[Coefficient, Statistic]:
    """Coefficients with 95 % intervals.

    Args:
        x: (N,) finite values.
        y: (N,) finite values of the same items.
        draws: Samples of the items' videos.
    """
    found: dict[Coefficient, Statistic] = {}
    for kind in kinds:
        value, reason = correlation(kind, x, y)
        drawn = drawn_correlations(kind, x, y, draws) if value is not None and draws.videos > 1 else None
        found[kind] = draws.statistic(value, drawn, reason=reason, scale=CORRELATION)
    return found


def drawn_correlations(kind: Coefficient, x: Floats, y: Floats, draws: Draws) -> Floats:
    """(R,) coefficient in each sample of videos; NaN where it is undefined.

    Args:
        x: (N,) values.
        y: (N,) values of the same items.
        draws: Samples of the items' videos.
    """
    if kind == "kendall":
        return _kendall(x, y, draws)
    if kind == "spearman":
        return _spearman(x, y, draws)
    centred_x, centred_y = x - x.mean(), y - y.mean()
    ones = np.ones_like(centred_x)
    columns = [ones, centred_x, centred_y, centred_x * centred_y, centred_x**2, centred_y**2]
    return _from_moments(*draws.summed(np.stack(columns, axis=1)).T)


def spearman_of_held_ranks(x: Floats, y: Floats, draws: Draws) -> tuple[float, Floats]:
    """Spearman's rho, and (R,) correlations of the ranks among all items in each sample.

    Ranking each sample again, as `drawn_correlations` does, takes minutes for tens of thousands of items; the results
    hardly differ.

    Args:
        x: (N,) values, not constant.
        y: (N,) values of the same items, not constant.
        draws: Samples of the items' videos.
    """
    ranks = mean_ranks(x), mean_ranks(y)
    return float(np.corrcoef(*ranks)[0, 1]), drawn_correlations("pearson", *ranks, draws)


def mean_ranks(values: Floats) -> Floats:
    """(N,) rank of each of (N,) values, from 1; equal values share the mean of their ranks."""
    return _weighted_ranks(np.unique(values, return_inverse=True)[1], np.ones(len(values)))


def partial_correlation(with_y: Floats, with_z: Floats, y_with_z: Floats) -> Floats:
    """The partial correlation of x and y given z, from the three pairwise correlations.

    Args:
        with_y: Correlation of x and y; any shape.
        with_z: Correlation of x and z.
        y_with_z: Correlation of y and z.

    Returns:
        NaN where x or y follows from z.
    """
    rest = (1 - with_z**2) * (1 - y_with_z**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Floats = np.where(rest > 1e-12, (with_y - with_z * y_with_z) / np.sqrt(np.maximum(rest, 0)), np.nan)
    return value


def _from_moments(n: Floats, x: Floats, y: Floats, xy: Floats, xx: Floats, yy: Floats) -> Floats:
    # A sample may have none of these items.
    n = np.maximum(n, 1)
    covariance, x_part, y_part = xy - x * y / n, xx - x * x / n, yy - y * y / n
    least = 1e-12
    defined = (x_part > least * np.maximum(xx, least)) & (y_part > least * np.maximum(yy, least))
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Floats = np.where(defined, covariance / np.sqrt(x_part * y_part), np.nan)
    return np.clip(value, -1, 1)


def _spearman(x: Floats, y: Floats, draws: Draws) -> Floats:
    x_codes, y_codes = (np.unique(side, return_inverse=True)[1] for side in (x, y))
    found = np.empty(draws.resamples)
    for draw in range(draws.resamples):
        weights = draws.of_items(draw)
        total = weights.sum()
        a, b = (_weighted_ranks(codes, weights) - (total + 1) / 2 for codes in (x_codes, y_codes))
        wa, wb = weights * a, weights * b
        found[draw] = _from_moments(
            np.array([total]),
            np.array([wa.sum()]),
            np.array([wb.sum()]),
            np.array([wa @ b]),
            np.array([wa @ a]),
            np.array([wb @ b]),
        )[0]
    return found


def _weighted_ranks(codes: NDArray[np.intp], weights: Floats) -> Floats:
    """(N,) mean rank, from 1, of each item's value in a sample with items repeated by weight."""
    counts = np.bincount(codes, weights=weights)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    found: Floats = ranks[codes]
    return found


def _kendall(x: Floats, y: Floats, draws: Draws) -> Floats:
    """Kendall's tau-b in each sample, from (V, V) sums over pairs of items between pairs of videos."""
    order = np.argsort(draws.codes, kind="stable")
    a, b, codes = x[order], y[order], draws.codes[order]
    starts = np.searchsorted(codes, np.arange(draws.videos))
    tables = np.zeros((3, draws.videos, draws.videos))
    for begin in range(0, len(a), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        signs = np.sign(a[rows, None] - a[None]).astype(np.int8), np.sign(b[rows, None] - b[None]).astype(np.int8)
        products = (signs[0] * signs[1], np.abs(signs[0]), np.abs(signs[1]))
        here, first = np.unique(codes[rows], return_index=True)
        for table, product in zip(tables, products, strict=True):
            sums = np.add.reduceat(product, starts, axis=1, dtype=np.int64)
            table[here] += np.add.reduceat(sums, first, axis=0)
    agreeing, x_untied, y_untied = (np.einsum("rv,rv->r", draws.weights @ table, draws.weights) for table in tables)
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Floats = np.where((x_untied > 0) & (y_untied > 0), agreeing / np.sqrt(x_untied * y_untied), np.nan)
    return np.clip(value, -1, 1)
