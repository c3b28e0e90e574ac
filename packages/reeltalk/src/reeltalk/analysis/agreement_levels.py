"""Agreement of a judge with people on answers, within each model, and on models; and of people with each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agreement import cohen_kappa, raw_agreement
from reeltalk.metrics.correlation import (
    COEFFICIENTS,
    Coefficient,
    correlation,
    correlations,
    drawn_correlations,
    mean_ranks,
)
from reeltalk.metrics.draws import CORRELATION, Draws, Statistic

Floats = NDArray[np.float64]
Names = NDArray[np.object_]

MOST_CATEGORIES: Final = 11
"""A scale from 0 to 10 has eleven levels; scales with more are not categories."""
FEWEST_MODELS: Final = 3
NO_MARK: Final = "people rate on another scale, and it has no pass mark; --pass-mark gives one"
NO_MODEL: Final = "in no model do both vary over three answers or more"


@dataclass(frozen=True)
class Correlations:
    """The three coefficients at one level."""

    kendall: Statistic
    spearman: Statistic
    pearson: Statistic
    models: int
    """Number of models."""


@dataclass(frozen=True)
class Categories:
    """Agreement of a judge and people as categories."""

    how: str
    """`same scale`, or `pass` if each has its own pass mark."""
    people_pass: float | None
    judge_passes: float | None
    raw: Statistic
    kappa: Statistic
    linear: Statistic | None
    """Kappa weighted by distance; None for pass and fail, where all weights are one."""
    quadratic: Statistic | None


@dataclass(frozen=True)
class ModelMeans:
    """One model at the level of models."""

    model: str
    n: int
    people: float
    judge: float


@dataclass(frozen=True)
class Levels:
    """Agreement of a judge with people at all levels."""

    answers: Correlations
    within: Correlations
    """The mean of the correlations within each model; here a judge gains nothing by knowing which model answered."""
    models: Correlations
    means: tuple[ModelMeans, ...]


def agreement_levels(people: Floats, judge: Floats, models: Names, draws: Draws) -> Levels:
    """Correlations at all levels.

    Args:
        people: (N,) people's ratings.
        judge: (N,) the judge's values of the same answers.
        models: (N,) model of each answer.
        draws: Samples of the answers' videos.
    """
    names = sorted(set(models.tolist()))
    rows = [models == name for name in names]
    means = tuple(
        ModelMeans(name, int(row.sum()), float(people[row].mean()), float(judge[row].mean()))
        for name, row in zip(names, rows, strict=True)
    )
    return Levels(
        Correlations(**correlations(people, judge, draws), models=len(names)),
        _within(people, judge, rows, draws),
        _of_models(people, judge, rows, draws),
        means,
    )


def _within(people: Floats, judge: Floats, rows: Sequence[NDArray[np.bool_]], draws: Draws) -> Correlations:
    found: dict[Coefficient, Statistic] = {}
    counted = 0
    for kind in COEFFICIENTS:
        values, drawn, used = [], [], np.zeros(len(people), np.bool_)
        for row in rows:
            value, _ = correlation(kind, people[row], judge[row])
            if value is not None:
                values.append(value)
                used |= row
                drawn.append(drawn_correlations(kind, people[row], judge[row], draws.subset(row)))
        counted = len(values)
        own = draws.subset(used)
        mean = _mean_of_defined(np.stack(drawn)) if drawn else None
        found[kind] = own.statistic(
            float(np.mean(values)) if values else None, mean, reason=NO_MODEL, scale=CORRELATION
        )
    return Correlations(**found, models=counted)


def _mean_of_defined(drawn: Floats) -> Floats:
    """(R,) means over the defined values of (M, R) in each draw."""
    there = np.isfinite(drawn)
    sums = np.where(there, drawn, 0).sum(axis=0)
    means: Floats = np.where(there.any(axis=0), sums / np.maximum(there.sum(axis=0), 1), np.nan)
    return means


def _of_models(people: Floats, judge: Floats, rows: Sequence[NDArray[np.bool_]], draws: Draws) -> Correlations:
    """Correlations of the models' means. The models are fixed; their videos are resampled."""
    count = len(rows)
    first = np.array([people[row].mean() for row in rows])
    second = np.array([judge[row].mean() for row in rows])
    member = np.stack(rows, axis=1).astype(np.float64)
    found: dict[Coefficient, Statistic] = {}
    drawn_means = None
    if draws.videos > 1 and count >= FEWEST_MODELS:
        counts = draws.summed(member)
        whole = np.where(counts > 0, counts, np.nan)
        drawn_means = draws.summed(member * people[:, None]) / whole, draws.summed(member * judge[:, None]) / whole
    for kind in COEFFICIENTS:
        if count < FEWEST_MODELS:
            reason = f"{count} model{'s' if count != 1 else ''}: a correlation of models' means needs three"
            found[kind] = replace(draws.statistic(None, None, reason=reason), n=count)
            continue
        value, why = correlation(kind, first, second)
        drawn = None
        if value is not None and drawn_means is not None:
            drawn = np.array(
                [_defined(kind, one, other) for one, other in zip(*drawn_means, strict=True)], dtype=np.float64
            )
        found[kind] = replace(draws.statistic(value, drawn, reason=why, scale=CORRELATION), n=count)
    return Correlations(**found, models=count)


def _defined(kind: Coefficient, first: Floats, second: Floats) -> float:
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return np.nan
    # SciPy is a hundred times slower for so few numbers.
    if kind == "kendall":
        a, b = np.sign(first[:, None] - first), np.sign(second[:, None] - second)
        scale = np.sqrt(np.abs(a).sum() * np.abs(b).sum())
        return float((a * b).sum() / scale) if scale > 0 else np.nan
    if kind == "spearman":
        first, second = mean_ranks(first), mean_ranks(second)
    first, second = first - first.mean(), second - second.mean()
    scale = np.sqrt((first @ first) * (second @ second))
    return float(first @ second / scale) if scale > 1e-12 else np.nan


def agreement_categories(
    people: Floats, judge: Floats, draws: Draws, *, people_pass: float | None, judge_passes: float | None
) -> Categories | str:
    """Agreement as categories: on the judge's own scale if people used the same, else as pass and fail.

    Args:
        people: (N,) people's ratings.
        judge: (N,) the judge's values.
        draws: Samples of the answers' videos.
        people_pass: People pass an answer from this value.
        judge_passes: The judge passes an answer from this value; None if unknown.

    Returns:
        The agreement; or the reason for none, if the scales differ and the judge has no pass mark.
    """
    if _same_scale(people, judge):
        return Categories(
            "same scale",
            None,
            None,
            raw_agreement(people, judge, draws),
            cohen_kappa(people, judge, draws),
            cohen_kappa(people, judge, draws, weights="linear"),
            cohen_kappa(people, judge, draws, weights="quadratic"),
        )
    if judge_passes is None or people_pass is None:
        return NO_MARK
    first, second = (people >= people_pass).astype(np.float64), (judge >= judge_passes).astype(np.float64)
    raw, kappa = raw_agreement(first, second, draws), cohen_kappa(first, second, draws)
    return Categories("pass", people_pass, judge_passes, raw, kappa, None, None)


def _same_scale(people: Floats, judge: Floats) -> bool:
    levels = np.unique(people), np.unique(judge)
    if any(len(found) > MOST_CATEGORIES or len(found) < 2 for found in levels):
        return False
    return bool(levels[0][0] == levels[1][0] and levels[0][-1] == levels[1][-1])


def pair_differences(
    judges: Sequence[tuple[Floats, NDArray[np.bool_]]], people: Floats, draws: Draws
) -> tuple[list[tuple[int, int]], Floats, Floats]:
    """Differences of judges' Spearman correlations with people, each pair on the answers that both scored.

    Args:
        judges: For each judge (N,) values, and (N,) True if it has one.
        people: (N,) people's ratings.
        draws: Samples of the answers' videos.

    Returns:
        Pairs of indices, (P,) differences, and (R, P) differences in each draw; only pairs with a difference.
    """
    known: dict[tuple[int, bytes], tuple[float, Floats] | None] = {}

    def on(index: int, rows: NDArray[np.bool_]) -> tuple[float, Floats] | None:
        key = (index, rows.tobytes())
        if key not in known:
            own, said = judges[index][0][rows], people[rows]
            value, _ = correlation("spearman", own, said)
            known[key] = (
                None if value is None else (value, drawn_correlations("spearman", own, said, draws.subset(rows)))
            )
        return known[key]

    pairs, found, drawn = [], [], []
    for first in range(len(judges)):
        for second in range(first + 1, len(judges)):
            rows = judges[first][1] & judges[second][1]
            one, other = on(first, rows), on(second, rows)
            if one is not None and other is not None:
                pairs.append((first, second))
                found.append(one[0] - other[0])
                drawn.append(one[1] - other[1])
    return pairs, np.array(found), np.stack(drawn, axis=1) if drawn else np.zeros((draws.resamples, 0))


def replacement_test(
    ratings: Floats, draws: Draws, judge: Floats | None = None
) -> tuple[Statistic, tuple[tuple[int, float | None], ...], Floats | None]:
    """Agreement of one person with the mean of all others, on answers that both rated; averaged over people.

    Args:
        ratings: (N, P) ratings of each person; NaN if missing.
        draws: Samples of the answers' videos.
        judge: (N,) values of a judge, NaN if missing; if given, the judge takes each person's place in turn.

    Returns:
        Spearman's rho with its interval, each person's with how many answers it rests on, and (R,) the mean in each
        draw.
    """
    present = np.isfinite(ratings)
    values, drawn, used = [], [], np.zeros(len(ratings), np.bool_)
    each: list[tuple[int, float | None]] = []
    for person in range(ratings.shape[1]):
        others = np.delete(ratings, person, axis=1)
        there = np.isfinite(others)
        rows = present[:, person] & there.any(axis=1)
        own = ratings[:, person] if judge is None else judge
        rows &= np.isfinite(own)
        rest = np.where(there, others, 0).sum(axis=1)[rows] / there.sum(axis=1)[rows]
        value, _ = correlation("spearman", own[rows], rest)
        each.append((int(rows.sum()), value))
        if value is not None:
            values.append(value)
            used |= rows
            drawn.append(drawn_correlations("spearman", own[rows], rest, draws.subset(rows)))
    if not values:
        return draws.subset(used).statistic(None, None, reason="no two people rated three answers in common"), (), None
    mean = _mean_of_defined(np.stack(drawn))
    found = draws.subset(used).statistic(float(np.mean(values)), mean, scale=CORRELATION)
    return found, tuple(each), mean
