"""How far two judges agree on the same items: the share of equal categories, and Cohen's kappa."""

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
        first: (N,) one judge's categories.
        second: (N,) the other's, of the same items.
        draws: Of the items' videos.
    """
    if not len(first):
        return draws.statistic(None, None, reason=NO_ITEMS)
    same = (first == second).astype(np.float64)
    return ratio_of_sums(same, np.ones_like(same), draws, reason=NO_ITEMS)


def cohen_kappa(first: Floats, second: Floats, draws: Draws, *, weights: Weights = "none") -> Statistic:
    """Cohen's kappa of two judges, with a 95 % interval.

    Args:
        first: (N,) one judge's categories.
        second: (N,) the other's, of the same items.
        draws: Of the items' videos.
        weights: How far apart two categories are: all alike, or by the distance or squared distance of their places
            among the categories that occur, in ascending order.

    Returns:
        1 is full agreement, 0 that of chance. None without items, or where both say the same one thing of all.

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
    """Cohen's kappa of several pairs of judges, each on items of its own: their mean, weighted by the pairs' items.

    Pairs that say the same one thing of all have no kappa, and do not count.

    Args:
        first: (N,) the categories of the one of a pair, always the same of the two.
        second: (N,) the other's, of the same items.
        pairs: (N,) names of the pairs.
        draws: Of the items' videos.
        weights: As of `cohen_kappa`.

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
    """(R, 2) kappas times items, and items; 0 where there is no kappa."""
    kappas, items = _kappa(tables, distance), tables.sum(axis=1)
    defined = np.isfinite(kappas)
    return np.stack([np.where(defined, kappas * items, 0), np.where(defined, items, 0)], axis=1)


def _tables(first: Floats, second: Floats, draws: Draws, weights: Weights) -> tuple[Floats, Floats]:
    """(V, K * K) counts of pairs of categories by video, and (K, K) how far categories are apart."""
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
    """The kappa of judges that never agree, if chance stays as it is, and that of full agreement.

    So kappa is the share of agreement, stretched, and near 1 it has the interval of such a share. Where categories are
    more or less far apart, it is a correlation.
    """
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
