"""Agreement of raters on the same items: the share of equal categories, Cohen's kappa, and Krippendorff's alpha.

Kappa compares two judges; alpha compares any number of people and allows missing ratings. We compute alpha ourselves,
because the licence of the known package does not fit ours; tests compare the two.
"""

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.draws import CORRELATION, Draws, Statistic, ratio_of_sums

Floats = NDArray[np.float64]
Weights = Literal["none", "linear", "quadratic"]

NO_ITEMS: Final = "no items that both scored"
NO_CHANCE: Final = "both say the same of all items, so chance would agree as well"


def raw_agreement(first: Floats, second: Floats, draws: Draws) -> Statistic:
    """The share of items to which two judges give the same category, with a 95 % interval.

    Args:
        first: (N,) categories by one judge.
        second: (N,) categories by the other judge.
        draws: Samples of the items' videos.
    """
    if not len(first):
        return draws.statistic(None, None, reason=NO_ITEMS)
    same = (first == second).astype(np.float64)
    return ratio_of_sums(same, np.ones_like(same), draws, reason=NO_ITEMS)


def cohen_kappa(first: Floats, second: Floats, draws: Draws, *, weights: Weights = "none") -> Statistic:
    """Cohen's kappa of two judges, with a 95 % interval.

    Args:
        first: (N,) categories by one judge.
        second: (N,) categories by the other judge.
        draws: Samples of the items' videos.
        weights: Distance of two categories: the same for all, or the distance or squared distance of their ranks among
            the categories that occur.

    Returns:
        1 for full agreement, 0 for agreement by chance. None without items, or if both use one category for all.

    Reference:
        Cohen 1960; weighted, Cohen, "Weighted kappa", Psychological Bulletin 70, 1968. As scikit-learn's.
    """
    if not len(first):
        return draws.statistic(None, None, reason=NO_ITEMS)
    by_video, distance = _tables(first, second, draws, weights)
    value = _kappa(by_video.sum(axis=0, keepdims=True), distance)[0]
    if not np.isfinite(value):
        return draws.statistic(None, None, reason=NO_CHANCE)
    drawn = _kappa(draws.weights @ by_video, distance) if draws.videos > 1 else None
    return draws.statistic(float(value), drawn, scale=_scale(by_video.sum(axis=0), distance, weights))


def mean_kappa_of_pairs(
    first: Floats, second: Floats, pairs: Sequence[str], draws: Draws, *, weights: Weights = "none"
) -> Statistic:
    """The mean of Cohen's kappa over pairs of judges, weighted by the number of items of each pair.

    A pair that uses one category for all its items has no kappa and does not count.

    Args:
        first: (N,) categories by the first judge of a pair, always the same of the two.
        second: (N,) categories by the second judge.
        pairs: (N,) name of the pair of each item.
        draws: Samples of the items' videos.
        weights: As for `cohen_kappa`.

    Reference:
        Light, "Measures of response agreement for qualitative data", Psychological Bulletin 76, 1971; there each pair
        sees all items, and weights are equal.
    """
    if not len(first):
        return draws.statistic(None, None, reason=NO_ITEMS)
    named = np.asarray(pairs, dtype=np.str_)
    whole, drawn, least = np.zeros(2), np.zeros((draws.resamples, 2)), 0.0
    for pair in np.unique(named):
        rows = named == pair
        some = draws.subset(rows)
        by_video, distance = _tables(first[rows], second[rows], some, weights)
        table = by_video.sum(axis=0, keepdims=True)
        found = _weighted(table, distance)[0]
        whole += found
        least += found[1] * (1 - 1 / _chance(table, distance)) if found[1] else 0.0
        drawn += _weighted(some.weights @ by_video, distance)
    if not whole[1]:
        return draws.statistic(None, None, reason=NO_CHANCE)
    means = np.divide(drawn[:, 0], drawn[:, 1], out=np.full(len(drawn), np.nan), where=drawn[:, 1] > 0)
    ends = (float(least / whole[1]), 1.0) if weights == "none" else CORRELATION
    return draws.statistic(float(whole[0] / whole[1]), means if draws.videos > 1 else None, scale=ends)


def _weighted(tables: Floats, distance: Floats) -> Floats:
    """(R, 2) kappa times items, and items; 0 without a kappa."""
    kappas, items = _kappa(tables, distance), tables.sum(axis=1)
    defined = np.isfinite(kappas)
    return np.stack([np.where(defined, kappas * items, 0), np.where(defined, items, 0)], axis=1)


def _tables(first: Floats, second: Floats, draws: Draws, weights: Weights) -> tuple[Floats, Floats]:
    """(V, K * K) counts of pairs of categories by video, and (K, K) distances of categories."""
    values, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    count = len(values)
    place = np.arange(count, dtype=np.float64)
    apart = np.abs(place[:, None] - place[None])
    distance = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    cells = codes[: len(first)] * count + codes[len(first) :]
    by_video = np.zeros((draws.videos, count * count))
    np.add.at(by_video, (draws.codes, cells), 1)
    return by_video, distance


def _scale(table: Floats, distance: Floats, weights: Weights) -> tuple[float, float] | Literal["correlation"]:
    """The kappa of judges that never agree, with the same agreement by chance, and of full agreement."""
    return (1 - 1 / _chance(table, distance), 1.0) if weights == "none" else CORRELATION


def _chance(table: Floats, distance: Floats) -> float:
    """Disagreement of two judges by chance."""
    found = table.reshape(len(distance), len(distance))
    return float(found.sum(axis=1) @ distance @ found.sum(axis=0)) / float(found.sum()) ** 2


def _kappa(tables: Floats, distance: Floats) -> Floats:
    """(R,) kappas of (R, K * K) tables of counts."""
    count = len(distance)
    found = tables.reshape(-1, count, count)
    total = found.sum(axis=(1, 2))
    observed = (found * distance).sum(axis=(1, 2))
    chance = np.einsum("rk,kl,rl->r", found.sum(axis=2), distance, found.sum(axis=1)) / np.maximum(total, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Floats = np.where(chance > 0, 1 - observed / chance, np.nan)
    return value


Scale = Literal["nominal", "ordinal", "interval", "ratio"]

SCALES: Final[tuple[Scale, ...]] = ("nominal", "ordinal", "interval", "ratio")
NOBODY_TWICE: Final = "no item has two ratings"
ALL_ALIKE: Final = "all ratings are alike, so chance would agree as well"


def krippendorff_alpha(ratings: Floats, draws: Draws, *, scale: Scale) -> Statistic:
    """Krippendorff's alpha with a 95 % interval.

    Args:
        ratings: (N, P) rating of each of N items by each of P people; NaN where there is none.
        draws: Samples of the N items' videos.
        scale: Level of measurement; ratings on a `ratio` scale are 0 or more.

    Returns:
        1 for full agreement, 0 for agreement by chance, below 0 for less. None if no item has two ratings, or if all
        ratings are equal.

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
    # An item with one rating forms no pair, and does not count for chance either.
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
    # On other than nominal scales, alpha is a correlation within items.
    ends = _ends(counts.sum(axis=0), 1 - np.eye(len(values))) if scale == "nominal" else CORRELATION
    return draws.statistic(float(whole), drawn, scale=ends)


def distance_alpha(ratings: Floats, distances: Floats, draws: Draws) -> Statistic:
    """Krippendorff's alpha for given distances, such as MASI for sets, with a 95 % interval.

    Args:
        ratings: (N, P) index of the value, from 0, of each of N items by each of P people; NaN where there is none.
        distances: (K, K) distances of any two values: symmetric, 0 on the diagonal.
        draws: Samples of the N items' videos.

    Returns:
        As for `krippendorff_alpha`.
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
    """The alpha of ratings with the largest distances, with the same agreement by chance, and of full agreement."""
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

    One minus the Jaccard coefficient times 1 for equal sets, 2/3 if one contains the other, 1/3 if each has elements
    of its own. Two empty sets are equal.

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
    """(R,) alpha of R samples with repeated items."""
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
        # Squares of values far from zero would lose digits.
        places = places - places.mean(axis=1, keepdims=True)
        at, squared = counts @ places.T, counts @ (places**2).T
        observed = (share.T * 2 * (each[:, None] * squared - at**2)).sum(axis=0)
        expected = 2 * (total * (marginals * places**2).sum(axis=1) - (marginals * places).sum(axis=1) ** 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha: Floats = np.where(expected > 1e-12 * np.maximum(total, 1), 1 - (total - 1) * observed / expected, np.nan)
    return alpha
