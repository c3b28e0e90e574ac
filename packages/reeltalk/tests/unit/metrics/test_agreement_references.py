"""Agreement and correlation against the reference packages, on random tables with ties and gaps."""

import warnings
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats

from reeltalk.metrics import mean_interval
from reeltalk.metrics.agreement import (
    ALL_ALIKE,
    NOBODY_TWICE,
    SCALES,
    Scale,
    Weights,
    cohen_kappa,
    distance_alpha,
    krippendorff_alpha,
    masi_distances,
    mean_kappa_of_pairs,
    raw_agreement,
)
from reeltalk.metrics.correlation import (
    COEFFICIENTS,
    CONSTANT_SIDE,
    TOO_FEW,
    Coefficient,
    correlation,
    correlations,
    drawn_correlations,
    partial_correlation,
    spearman_of_held_ranks,
)
from reeltalk.metrics.draws import CORRELATION, Draws, draw_videos, significant_differences

EXACT = 1e-9


@pytest.fixture
def tables(full: bool) -> int:
    """How many random tables."""
    return 1000 if full else 100


def draws_of(videos: int, items: int, *, resamples: int = 40, seed: int = 5) -> Draws:
    return draw_videos([f"v{n % videos}" for n in range(items)], resamples=resamples, seed=seed)


def repeated(draws: Draws, draw: int) -> np.ndarray:
    """The items of a draw, each as often as its video was drawn."""
    return np.repeat(np.arange(len(draws.codes)), draws.of_items(draw).astype(int))


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_is_scikit_learns(weights: Weights, tables: int) -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(1)
    for _ in range(tables):
        n, categories = int(rng.integers(2, 80)), int(rng.integers(2, 7))
        first = rng.integers(1, categories + 1, n).astype(float)
        second = np.where(rng.random(n) < 0.5, first, rng.integers(1, categories + 1, n)).astype(float)
        found = cohen_kappa(first, second, draws_of(9, n), weights=weights)
        if len(np.unique(np.concatenate([first, second]))) < 2:
            assert found.value is None
            continue
        expected = cohen_kappa_score(
            first.astype(int), second.astype(int), weights=None if weights == "none" else weights
        )
        assert found.value == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize("scale", SCALES)
def test_alpha_is_that_of_the_krippendorff_package(scale: Scale, tables: int) -> None:
    rng = np.random.default_rng(2)
    compared = 0
    for _ in range(tables):
        n, people, levels = (int(rng.integers(2, most)) for most in (40, 6, 8))
        truth = rng.integers(0, levels, n)[:, None]
        ratings = np.where(rng.random((n, people)) < 0.6, truth, rng.integers(0, levels, (n, people))).astype(float)
        ratings[rng.random(ratings.shape) < rng.uniform(0, 0.6)] = np.nan
        found = krippendorff_alpha(ratings, draws_of(6, n), scale=scale)
        pairable = (np.isfinite(ratings).sum(axis=1) > 1).any()
        paired = ratings[np.isfinite(ratings).sum(axis=1) > 1]
        if not pairable or len(np.unique(paired[np.isfinite(paired)])) < 2:
            assert found.value is None
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=scale)
        assert found.value == pytest.approx(expected, abs=EXACT)
        compared += 1
    assert compared > tables * 0.8


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_correlations_are_scipys(kind: Coefficient, tables: int) -> None:
    rng = np.random.default_rng(3)
    reference = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[kind]
    for _ in range(tables):
        n = int(rng.integers(3, 90))
        x = rng.integers(0, rng.integers(2, 9), n).astype(float)
        y = x + rng.normal(0, rng.uniform(0.1, 5), n) if rng.random() < 0.5 else rng.integers(0, 5, n).astype(float)
        found = correlations(x, y, draws_of(7, n), kinds=[kind])[kind]
        if np.ptp(x) == 0 or np.ptp(y) == 0:
            assert found.value is None
            continue
        assert found.value == pytest.approx(reference(x, y).statistic, abs=EXACT)


@pytest.mark.parametrize("kind", COEFFICIENTS)
def test_a_draw_gives_scipys_value_of_the_drawn_sample(kind: Coefficient, tables: int) -> None:
    rng = np.random.default_rng(4)
    reference = {"kendall": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}[kind]
    for _ in range(max(1, tables // 20)):
        n = int(rng.integers(20, 60))
        x, y = rng.integers(0, 4, n).astype(float), rng.normal(size=n).round(1)
        draws = draws_of(8, n, resamples=20, seed=int(rng.integers(1000)))
        for draw, found in enumerate(drawn_correlations(kind, x, y, draws)):
            rows = repeated(draws, draw)
            if np.ptp(x[rows]) and np.ptp(y[rows]):
                assert found == pytest.approx(reference(x[rows], y[rows]).statistic, abs=EXACT)
            else:
                assert np.isnan(found)


@pytest.mark.parametrize("scale", SCALES)
def test_a_draw_gives_the_alpha_of_the_drawn_sample(scale: Scale) -> None:
    rng = np.random.default_rng(6)
    ratings = rng.integers(1, 5, (30, 3)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    draws = draws_of(10, 30, resamples=0)
    found = krippendorff_alpha(ratings, draws, scale=scale)
    of_draws = [
        krippendorff.alpha(reliability_data=ratings[repeated(draws, draw)].T, level_of_measurement=scale)
        for draw in range(draws.resamples)
    ]
    assert len(of_draws) == 10
    said = ratings[np.isfinite(ratings).sum(axis=1) >= 2]
    marginals = np.unique(said[np.isfinite(said)], return_counts=True)[1]
    total = marginals.sum()
    chance = (total**2 - (marginals**2).sum()) / total / (total - 1)
    ends = (1 - 1 / chance, 1.0) if scale == "nominal" else CORRELATION
    known = draws.statistic(found.value, np.array(of_draws), scale=ends)
    assert found.low is not None
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=EXACT)


def test_intervals_of_kappa_and_agreement_are_those_of_drawn_samples() -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(7)
    first, second = rng.integers(1, 4, 50).astype(float), rng.integers(1, 4, 50).astype(float)
    draws = draws_of(12, 50, resamples=0)
    rows = [repeated(draws, draw) for draw in range(12)]
    kappas = [cohen_kappa_score(first[row].astype(int), second[row].astype(int), weights="linear") for row in rows]
    found = cohen_kappa(first, second, draws, weights="linear")
    known = draws.statistic(found.value, np.array(kappas), scale=CORRELATION)
    assert found.low is not None
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=EXACT)
    raw = raw_agreement(first, second, draws)
    alone = mean_interval((first == second).astype(float), draws.codes, (0, 1))
    assert raw.value == pytest.approx((first == second).mean())
    assert (raw.low, raw.high) == pytest.approx((alone.low, alone.high), abs=EXACT)


@pytest.mark.parametrize("videos", [4, 5, 20])
def test_full_agreement_has_an_interval_of_some_width(videos: int) -> None:
    rng = np.random.default_rng(3)
    same = rng.integers(0, 2, 6 * videos).astype(float)
    draws = draws_of(videos, len(same), resamples=0)
    table = np.stack([same, same], axis=1)
    for found in (
        cohen_kappa(same, same, draws),
        cohen_kappa(same, same, draws, weights="quadratic"),
        krippendorff_alpha(table, draws, scale="nominal"),
        krippendorff_alpha(table, draws, scale="interval"),
        correlations(same, same, draws, kinds=("pearson",))["pearson"],
    ):
        assert found.value == pytest.approx(1)
        assert found.low is not None
        assert found.high == pytest.approx(1)
        assert -1 <= found.low < 0.99


def test_of_normal_values_the_interval_of_a_correlation_is_nearly_fishers() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=3000)
    y = 0.6 * x + 0.8 * rng.normal(size=3000)
    found = correlations(x, y, draws_of(3000, 3000, resamples=0), kinds=("pearson",))["pearson"]
    known = stats.pearsonr(x, y).confidence_interval()
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=0.003)


def covers(kind: str, trials: int) -> float:
    """How often intervals of simulated ratings of five videos hold the truth."""
    rng = np.random.default_rng(21)
    held = 0
    for _ in range(trials):
        video = np.repeat(np.arange(5), 12)
        truth = np.sqrt(0.1) * rng.normal(size=5)[video] + np.sqrt(0.9) * rng.normal(size=60)
        both = np.sqrt(0.6) * truth[:, None] + np.sqrt(0.4) * rng.normal(size=(60, 2))
        draws = draw_videos([str(n) for n in video], resamples=0, seed=0)
        yes = (both > 0).astype(np.float64)
        if kind == "kappa":
            found, true = cohen_kappa(yes[:, 0], yes[:, 1], draws), 2 / np.pi * np.arcsin(0.6)
        else:
            found, true = correlations(both[:, 0], both[:, 1], draws, kinds=("pearson",))["pearson"], 0.6
        held += found.low is not None and found.high is not None and found.low <= true <= found.high
    return held / trials


@pytest.mark.parametrize("kind", ["kappa", "pearson"])
def test_intervals_of_five_videos_hold(kind: str, full: bool) -> None:
    # 300 trials of 93 % and more give less than 88.5 % once in a thousand times.
    assert covers(kind, 3000 if full else 300) > (0.92 if full else 0.885)


def test_what_is_undefined_has_a_reason_and_no_number() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert correlation("spearman", x, np.ones(4)) == (None, CONSTANT_SIDE.format(side="the second", verb="says"))
    assert correlation("kendall", x[:2], x[:2]) == (None, TOO_FEW)
    draws = draws_of(2, 4)
    assert krippendorff_alpha(np.full((4, 2), 3.0), draws, scale="ordinal").reason == ALL_ALIKE
    lonely = np.array([[1.0, np.nan], [np.nan, 2.0], [1.0, np.nan], [2.0, np.nan]])
    assert krippendorff_alpha(lonely, draws, scale="nominal").reason == NOBODY_TWICE
    assert cohen_kappa(np.ones(4), np.ones(4), draws).value is None
    with pytest.raises(ValueError, match="negative"):
        krippendorff_alpha(-np.ones((4, 2)), draws, scale="ratio")


def test_one_video_gives_a_value_without_an_interval() -> None:
    rng = np.random.default_rng(8)
    found = correlations(rng.normal(size=9), rng.normal(size=9), draws_of(1, 9))["spearman"]
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert found.reason is not None


def test_a_partial_correlation_is_that_of_what_is_left_after_regression() -> None:
    rng = np.random.default_rng(9)
    z = rng.normal(size=400)
    x, y = z + rng.normal(size=400), -z + rng.normal(size=400)
    left = [side - np.polyval(np.polyfit(z, side, 1), z) for side in (x, y)]
    pairs = [np.array(stats.pearsonr(a, b).statistic) for a, b in ((x, y), (x, z), (y, z))]
    assert float(partial_correlation(*pairs)) == pytest.approx(stats.pearsonr(*left).statistic, abs=EXACT)
    assert np.isnan(partial_correlation(np.array(0.5), np.array(1.0), np.array(0.5)))


def test_held_ranks_give_the_same_rho_and_nearly_the_same_interval() -> None:
    rng = np.random.default_rng(13)
    x = rng.normal(size=900)
    y = x + rng.normal(size=900)
    draws = draws_of(60, 900, resamples=400)
    value, held = spearman_of_held_ranks(x, y, draws)
    assert value == pytest.approx(stats.spearmanr(x, y).statistic, abs=EXACT)
    anew = drawn_correlations("spearman", x, y, draws)
    assert held.std() == pytest.approx(anew.std(), rel=0.15)


def test_some_of_the_items_keep_their_draws() -> None:
    draws = draws_of(6, 30)
    some = draws.subset(np.arange(30) % 6 >= 4)
    assert some.videos == 2
    for draw in range(draws.resamples):
        assert some.of_items(draw).tolist() == draws.of_items(draw)[np.arange(30) % 6 >= 4].tolist()


def test_judges_are_told_apart_only_where_all_pairs_together_allow_it() -> None:
    rng = np.random.default_rng(10)
    found = np.array([0.01, 0.3, 0.0218, 0.0])
    errors = np.array([0.02, 0.02, 0.01, 0.0])
    drawn = found + rng.normal(0, 1, (500, 4)) * errors
    # Twice its standard error is enough for a difference alone, and not for one of four.
    assert significant_differences(found, drawn).tolist() == [False, True, False, False]
    assert significant_differences(found[2:3], drawn[:, 2:3]).tolist() == [True]


def test_judges_that_are_equal_are_seldom_told_apart() -> None:
    # Ten judges that are equally good: 45 pairs, each at 5 % alone, would find some difference nearly always.
    rng = np.random.default_rng(12)
    first, second = np.triu_indices(10, 1)
    wrong = 0
    for _ in range(200):
        values = rng.normal(0, 1, 10)
        drawn = values + rng.normal(0, 1, (300, 10))
        wrong += bool(significant_differences(values[first] - values[second], drawn[:, first] - drawn[:, second]).any())
    assert wrong < 200 * 0.2


def test_alpha_of_given_distances_is_the_reference_packages(tables: int) -> None:
    rng = np.random.default_rng(8)
    for _ in range(tables):
        n, people, count = int(rng.integers(1, 40)), int(rng.integers(2, 5)), int(rng.integers(2, 7))
        distances = np.triu(rng.random((count, count)), 1)
        distances += distances.T
        ratings = rng.integers(0, count, (n, people)).astype(float)
        ratings[rng.random((n, people)) < 0.3] = np.nan
        found = distance_alpha(ratings, distances, draws_of(4, n))
        paired = ratings[np.isfinite(ratings).sum(axis=1) >= 2]
        if len(np.unique(paired[np.isfinite(paired)])) < 2:
            assert found.value is None
            continue

        between: Any = lambda first, second, apart=distances, **_: apart[first.astype(int), second.astype(int)]  # noqa: E731
        expected = krippendorff.alpha(
            reliability_data=ratings.T, level_of_measurement=between, value_domain=np.arange(count, dtype=float)
        )
        assert found.value == pytest.approx(expected, abs=EXACT)


def test_alpha_of_equal_distances_is_nominal() -> None:
    rng = np.random.default_rng(9)
    ratings = rng.integers(0, 4, (60, 3)).astype(float)
    ratings[rng.random((60, 3)) < 0.2] = np.nan
    draws = draws_of(7, 60)
    nominal = krippendorff_alpha(ratings, draws, scale="nominal")
    given = distance_alpha(ratings, 1 - np.eye(4), draws)
    assert (given.value, given.low, given.high) == pytest.approx((nominal.value, nominal.low, nominal.high))


def test_masi_of_worked_pairs() -> None:
    sets = [frozenset(tags) for tags in ("", "a", "ab", "bc", "abc", "d")]
    found = masi_distances(sets)
    assert found[0] == pytest.approx([0, 1, 1, 1, 1, 1])
    assert found[1] == pytest.approx([1, 0, 1 - 1 / 2 * 2 / 3, 1, 1 - 1 / 3 * 2 / 3, 1])
    assert found[2, 3] == pytest.approx(1 - 1 / 3 * 1 / 3)
    assert found[3, 4] == pytest.approx(1 - 2 / 3 * 2 / 3)
    assert (found == found.T).all()


def test_mean_kappa_of_pairs_weighs_each_pairs_kappa_by_its_items(tables: int) -> None:
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(10)
    for _ in range(tables // 4):
        n = int(rng.integers(20, 90))
        pairs = rng.choice(["a-b", "a-c", "b-c"], n)
        first = rng.integers(0, 3, n).astype(float)
        second = np.where(rng.random(n) < 0.5, first, rng.integers(0, 3, n)).astype(float)
        draws = draws_of(9, n)
        sums = np.zeros(2)
        for pair in np.unique(pairs):
            rows = pairs == pair
            if len(np.unique(np.concatenate([first[rows], second[rows]]))) > 1:
                sums += np.array([cohen_kappa_score(first[rows], second[rows]), 1]) * rows.sum()
        assert mean_kappa_of_pairs(first, second, pairs.tolist(), draws).value == pytest.approx(sums[0] / sums[1])


def test_mean_kappa_of_one_pair_is_its_kappa() -> None:
    rng = np.random.default_rng(11)
    first = rng.integers(0, 3, 80).astype(float)
    second = np.where(rng.random(80) < 0.5, first, rng.integers(0, 3, 80)).astype(float)
    draws = draws_of(9, 80)
    assert mean_kappa_of_pairs(first, second, ["p"] * 80, draws) == cohen_kappa(first, second, draws)
    assert mean_kappa_of_pairs(first * 0, first * 0, ["p"] * 80, draws).value is None
