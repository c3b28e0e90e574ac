"""Krippendorff's alpha: how far several people, or judges, agree beyond chance, whoever rated what.

A few lines of ours, as the known package is not under a licence that ours may depend on; tests compare the two.
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.draws import CORRELATION, Draws, Statistic

Floats = NDArray[np.float64]
Scale = Literal["nominal", "ordinal", "interval", "ratio"]

SCALES: Final[tuple[Scale, ...]] = ("nominal", "ordinal", "interval", "ratio")
NOBODY_TWICE: Final = "no item has two ratings"
ALL_ALIKE: Final = "all ratings are alike, so chance would agree as well"


def krippendorff_alpha(ratings: Floats, draws: Draws, *, scale: Scale) -> Statistic:
    """Krippendorff's alpha with a 95 % interval.

    Args:
        ratings: (N, P) what each of P people says of each of N items; NaN where they said nothing.
        draws: Of the N items' videos.
        scale: What differences of ratings mean. Of `ratio` all ratings are zero or more.

    Returns:
        1 is full agreement, 0 is that of chance, less is less. None where no item has two ratings, or all are alike.

    Raises:
        ValueError: A rating on a `ratio` scale is negative.

    Reference:
        Krippendorff, "Computing Krippendorff's Alpha-Reliability", 2011. Values as of the package krippendorff.
    """
    present = np.isfinite(ratings)
    if scale == "ratio" and (ratings[present] < 0).any():
        raise ValueError("ratings on a ratio scale must not be negative")
    values, codes = np.unique(ratings[present], return_inverse=True)
    counts = np.zeros((len(ratings), max(len(values), 1)))
    np.add.at(counts, (np.nonzero(present)[0], codes), 1)
    # An item that one person rated pairs with nothing, and does not count for chance either.
    counts[counts.sum(axis=1) < 2] = 0
    rated = counts.sum(axis=1) >= 2
    if not rated.any():
        return draws.statistic(None, None, reason=NOBODY_TWICE)
    whole = _alpha(counts, values, np.ones((1, len(counts))), scale)[0]
    if not np.isfinite(whole):
        return draws.statistic(None, None, reason=ALL_ALIKE)
    drawn = None
    if draws.videos > 1:
        drawn = np.concatenate(
            [
                _alpha(counts, values, draws.weights[rows][:, draws.codes], scale)
                for rows in np.array_split(np.arange(draws.resamples), max(1, draws.resamples // 64))
            ]
        )
    # Where ratings may differ a little or much, alpha is a correlation within items.
    ends = _ends(counts.sum(axis=0), 1 - np.eye(len(values))) if scale == "nominal" else CORRELATION
    return draws.statistic(float(whole), drawn, scale=ends)


def distance_alpha(ratings: Floats, distances: Floats, draws: Draws) -> Statistic:
    """Krippendorff's alpha of ratings whose distances are given, as of sets by MASI, with a 95 % interval.

    Args:
        ratings: (N, P) the number of the value, from 0, that each of P people gave each of N items; NaN for none.
        distances: (K, K) how far any two values are apart: symmetric, 0 on the diagonal.
        draws: Of the N items' videos.

    Returns:
        As of `krippendorff_alpha`.
    """
    present = np.isfinite(ratings)
    counts = np.zeros((len(ratings), len(distances)))
    np.add.at(counts, (np.nonzero(present)[0], ratings[present].astype(np.intp)), 1)
    counts[counts.sum(axis=1) < 2] = 0
    each = counts.sum(axis=1)
    if not each.any():
        return draws.statistic(None, None, reason=NOBODY_TWICE)
    observed = ((counts @ distances) * counts).sum(axis=1) / np.maximum(each - 1, 1)
    table = np.concatenate([observed[:, None], counts], axis=1)
    whole = _of_sums(table.sum(axis=0, keepdims=True), distances)[0]
    if not np.isfinite(whole):
        return draws.statistic(None, None, reason=ALL_ALIKE)
    drawn = _of_sums(draws.summed(table), distances) if draws.videos > 1 else None
    return draws.statistic(float(whole), drawn, scale=_ends(counts.sum(axis=0), distances))


def _ends(marginals: Floats, distances: Floats) -> tuple[float, float]:
    """The alpha of ratings that lie as far apart as can be, if chance stays as it is, and that of full agreement."""
    total = float(marginals.sum())
    expected = float(marginals @ distances @ marginals) / total / (total - 1)
    return 1 - float(distances.max()) / expected, 1.0


def _of_sums(sums: Floats, distances: Floats) -> Floats:
    """(R,) alpha from (R, 1 + K) sums of observed distances and of values."""
    marginals = sums[:, 1:]
    total = marginals.sum(axis=1)
    expected = ((marginals @ distances) * marginals).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: Floats = np.where(
            expected > 1e-12 * np.maximum(total, 1), 1 - (total - 1) * sums[:, 0] / expected, np.nan
        )
    return alpha


def masi_distances(sets: Sequence[frozenset[str]]) -> Floats:
    """(K, K) MASI distances of sets of tags: 0 of equal sets, 1 of sets that share nothing.

    One minus the Jaccard coefficient times 1 for equal sets, 2/3 where one holds the other, 1/3 where both hold
    something of their own. Two empty sets are equal.

    Reference:
        Passonneau, "Measuring Agreement on Set-valued Items (MASI) for Semantic and Pragmatic Annotation", LREC 2006.
        NLTK's rounds the factors to 0.67 and 0.33.
    """
    tags = sorted({tag for found in sets for tag in found})
    holds = np.array([[tag in found for tag in tags] for found in sets], np.float64).reshape(len(sets), len(tags))
    sizes = holds.sum(axis=1)
    shared = holds @ holds.T
    either = sizes[:, None] + sizes[None] - shared
    equal = (shared == sizes[:, None]) & (shared == sizes[None])
    nested = (shared == np.minimum(sizes[:, None], sizes[None])) & (shared > 0)
    factor = np.where(equal, 1.0, np.where(nested, 2 / 3, 1 / 3))
    similar: Floats = np.where(equal, 1.0, factor * shared / np.maximum(either, 1))
    return 1 - similar


def _alpha(counts: Floats, values: Floats, weights: Floats, scale: Scale) -> Floats:
    """(R,) alpha of R samples that hold items as often as they weigh.

    Args:
        counts: (N, K) how many gave each value to each item.
        values: (K,) the values, ascending.
        weights: (R, N) how often each sample holds each item.
        scale: As of `krippendorff_alpha`.
    """
    each = counts.sum(axis=1)
    share = weights / np.maximum(each - 1, 1)
    marginals = weights @ counts
    total = marginals.sum(axis=1)
    if scale == "nominal":
        observed = share @ (each**2 - (counts**2).sum(axis=1))
        expected = total**2 - (marginals**2).sum(axis=1)
    elif scale == "ratio":
        sums = values[:, None] + values[None]
        with np.errstate(invalid="ignore", divide="ignore"):
            distances = np.where(sums > 0, ((values[:, None] - values[None]) / sums) ** 2, 0.0)
        observed = share @ np.einsum("nk,kl,nl->n", counts, distances, counts)
        expected = np.einsum("rk,kl,rl->r", marginals, distances, marginals)
    else:
        # The ordinal distance is that of the values' mean ranks among all ratings of the sample.
        places = np.cumsum(marginals, axis=1) - marginals / 2 if scale == "ordinal" else values[None]
        # Values far from zero would lose digits where they are squared.
        places = places - places.mean(axis=1, keepdims=True)
        at, squared = counts @ places.T, counts @ (places**2).T
        observed = (share.T * 2 * (each[:, None] * squared - at**2)).sum(axis=0)
        expected = 2 * (total * (marginals * places**2).sum(axis=1) - (marginals * places).sum(axis=1) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: Floats = np.where(expected > 1e-12 * np.maximum(total, 1), 1 - (total - 1) * observed / expected, np.nan)
    return alpha
