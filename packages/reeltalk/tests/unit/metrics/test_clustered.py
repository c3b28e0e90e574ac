"""Means and differences clustered by video: by their matrices, by statsmodels, by property, and by simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from paired_tests import Design, simulate, simulate_family, simulate_unpaired
from reeltalk.metrics.uncertainty import (
    Means,
    clustered_contrast,
    clustered_mean,
    degrees_of_freedom,
    linearise,
    mean_interval,
    unpaired_difference,
)

Floats = NDArray[np.float64]

tables = st.lists(
    st.tuples(st.integers(0, 5), st.floats(-100, 100, allow_nan=False).map(lambda value: round(value, 3))),
    min_size=2,
    max_size=40,
)


class Plain:
    """The estimate as its papers write it: matrices of items, nothing taken together."""

    def __init__(self, values: Floats, clusters: list[str], strata: NDArray[np.intp], weights: Floats) -> None:
        items = len(values)
        design = np.eye(len(weights))[strata]
        inverse = np.linalg.inv(design.T @ design)
        hat = design @ inverse @ design.T
        residuals = values - hat @ values
        rows = [np.flatnonzero(np.array(clusters) == name) for name in np.unique(clusters)]
        products = sum(float(np.outer(residuals[own], residuals[own]).sum()) for own in rows) - float(
            residuals @ residuals
        )
        pairs = sum(len(own) * (len(own) - 1) for own in rows)
        self.icc = min(max(products / pairs / float(residuals @ residuals) * items, 0.0), 1.0) if pairs else 0.0
        model = np.eye(items)
        for own in rows:
            model[np.ix_(own, own)] = self.icc
        np.fill_diagonal(model, 1.0)
        corrected, uncorrected, directions = 0.0, 0.0, []
        for own in rows:
            values_of, vectors = np.linalg.eigh(np.eye(len(own)) - hat[np.ix_(own, own)])
            # The pseudo-inverse: a stratum may fill no cluster, but a cluster with one item of two has an exact zero.
            adjusted = vectors @ np.diag(values_of**-0.5) @ vectors.T
            corrected += float(weights @ inverse @ design[own].T @ adjusted @ residuals[own]) ** 2
            uncorrected += float(weights @ inverse @ design[own].T @ residuals[own]) ** 2
            directions.append((np.eye(items) - hat)[:, own] @ adjusted @ design[own] @ inverse @ weights)
        spread = np.array(directions) @ model @ np.array(directions).T
        self.value = float(weights @ inverse @ design.T @ values)
        self.cr2 = corrected**0.5
        self.cr1 = (uncorrected * len(rows) / (len(rows) - 1) * (items - 1) / (items - len(weights))) ** 0.5
        self.df = float(np.trace(spread) ** 2 / (spread**2).sum())
        self.p = float(2 * stats.t.sf(abs(self.value) / self.cr2, self.df))


def random_table(draw: np.random.Generator, strata: int = 1) -> tuple[Floats, list[str], NDArray[np.intp]]:
    """Values with a part that a video shares; every stratum stands in at least two videos."""
    videos = int(draw.integers(3, 9))
    video = np.concatenate([np.repeat(np.arange(2), strata), draw.integers(0, videos, int(draw.integers(5, 50)))])
    stratum = np.concatenate([np.tile(np.arange(strata), 2), draw.integers(0, strata, len(video) - 2 * strata)])
    shared = draw.uniform(0, 2) * draw.standard_normal(videos)
    binary = draw.random() < 0.3
    values = shared[video] + draw.standard_normal(len(video))
    return (
        (values > 0).astype(np.float64) if binary else values,
        [f"v{number}" for number in video],
        stratum.astype(np.intp),
    )


def test_equals_its_matrices_on_random_tables(full: bool) -> None:
    draw = np.random.default_rng(5)
    for number in range(1000 if full else 100):
        strata = 1 + number % 3
        values, videos, stratum = random_table(draw, strata)
        weights = np.array([1.0]) if strata == 1 else draw.uniform(-1, 1, strata)
        found = clustered_contrast(values, videos, stratum, weights)
        if found.df is None:
            continue
        plain = Plain(values, videos, stratum, weights)
        for ours, theirs in (
            (found.value, plain.value),
            (found.standard_error, plain.cr2),
            (found.df, plain.df),
            (found.icc, plain.icc),
            (found.p, plain.p),
        ):
            assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-9), number


def test_without_its_corrections_it_is_the_cluster_robust_ols_of_statsmodels(full: bool) -> None:
    """Where videos are alike in length so does the corrected one; else CR1 of the same scores."""
    from statsmodels.api import OLS

    draw = np.random.default_rng(6)
    for number in range(1000 if full else 100):
        if balanced := number % 2 == 0:
            videos, length = int(draw.integers(3, 9)), int(draw.integers(2, 9))
            names = np.repeat(np.arange(videos), length)
            values = draw.standard_normal(videos)[names] + draw.standard_normal(len(names))
        else:
            values, texts, _ = random_table(draw)
            names = np.array([int(text[1:]) for text in texts])
            if values.std() == 0:
                continue
        reference = OLS(values, np.ones(len(values))).fit(
            cov_type="cluster", cov_kwds={"groups": names, "use_correction": True, "df_correction": True}, use_t=True
        )
        clusters = names.astype(str).tolist()
        plain = Plain(values, clusters, np.zeros(len(values), np.intp), np.ones(1))
        assert plain.cr1 == pytest.approx(float(reference.bse[0]), rel=1e-9, abs=1e-12)
        if balanced:
            found = clustered_mean(values, clusters)
            low, high = reference.conf_int()[0]
            assert found.standard_error == pytest.approx(float(reference.bse[0]), rel=1e-9)
            assert (found.low, found.high, found.p) == pytest.approx((low, high, float(reference.pvalues[0])), abs=1e-9)
            assert found.df == pytest.approx(len(set(clusters)) - 1, rel=1e-9)


@given(tables)
def test_changing_sides_changes_the_sign_and_nothing_else(rows: list[tuple[int, float]]) -> None:
    values, videos = np.array([value for _, value in rows]), [f"v{video}" for video, _ in rows]
    found, other = clustered_mean(values, videos), clustered_mean(-values, videos)
    assert other.value == -found.value
    assert other.p == found.p
    assert other.standard_error == found.standard_error
    if found.low is not None and found.high is not None:
        assert (other.low, other.high) == (-found.high, -found.low)


@given(tables, st.randoms(use_true_random=False))
def test_order_and_names_of_videos_do_not_matter(rows: list[tuple[int, float]], shuffler: object) -> None:
    values, videos = np.array([value for _, value in rows]), [f"v{video}" for video, _ in rows]
    order = np.random.default_rng(len(rows)).permutation(len(rows))
    found = clustered_mean(values, videos)
    other = clustered_mean(values[order], [f"renamed {5 - int(videos[row][1:])}" for row in order])
    assert other.value == pytest.approx(found.value, abs=1e-9)
    assert (other.p is None) == (found.p is None)
    if found.standard_error:
        assert other.standard_error == pytest.approx(found.standard_error, rel=1e-6, abs=1e-9)


@given(tables)
def test_the_interval_holds_the_value_and_the_p_value_agrees_with_it(rows: list[tuple[int, float]]) -> None:
    found = clustered_mean(np.array([value for _, value in rows]), [f"v{video}" for video, _ in rows])
    if found.low is None or found.high is None or found.p is None:
        return
    assert found.low <= found.value <= found.high
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0) or found.p == pytest.approx(0.05, abs=1e-9)


def test_one_video_tells_no_interval() -> None:
    found = clustered_mean(np.array([1.0, 2.0, 3.0]), ["v"] * 3)
    assert found.value == 2.0
    assert (found.standard_error, found.low, found.high, found.p) == (None, None, None, None)
    lone = clustered_contrast(np.arange(4.0), ["a", "b", "a", "b"], np.array([0, 0, 1, 0]), np.array([0.5, 0.5]))
    assert lone.p is None, "a stratum of one video has no scatter to see"


def test_without_any_scatter_the_test_is_that_of_signs() -> None:
    """Right everywhere against wrong everywhere in six videos: by chance all signs agree once in 32 times."""
    found = clustered_mean(np.ones(12), [f"v{n % 6}" for n in range(12)], bounds=(-1, 1))
    assert found.p == pytest.approx(1 / 32)
    assert found.high == 1
    assert found.low is not None
    assert found.low > 0
    assert clustered_mean(np.zeros(12), [f"v{n % 6}" for n in range(12)]).p == 1.0


@given(st.integers(2, 40), st.floats(0.01, 100), st.floats(0.6, 0.999))
def test_the_interval_of_equal_clusters_leaves_out_0_where_the_test_finds_something(
    videos: int, value: float, confidence: float
) -> None:
    found = clustered_mean(np.full(videos, value), np.arange(videos), bounds=(-100, 100), confidence=confidence)
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    if found.p != pytest.approx(1 - confidence):
        assert (found.low > 0) == (found.p < 1 - confidence)
    assert found.low < value <= found.high <= 100


def test_turns_that_agree_within_videos_count_less() -> None:
    values = np.repeat([0.0, 1.0] * 10, 10)
    clustered = clustered_mean(values, [str(n // 10) for n in range(200)])
    alone = clustered_mean(values, [str(n) for n in range(200)])
    assert clustered.standard_error is not None
    assert alone.standard_error is not None
    assert clustered.standard_error > 3 * alone.standard_error
    assert clustered.icc == 1.0
    assert clustered.design_effect == pytest.approx((clustered.standard_error / alone.standard_error) ** 2)
    assert alone.design_effect == pytest.approx(1.0)


def test_very_unequal_videos_have_few_degrees_of_freedom() -> None:
    equal = degrees_of_freedom(np.full((20, 1), 10.0), np.full((20, 1), 1.0), 0.2)
    unequal = degrees_of_freedom(np.array([[100.0], *[[5.0]] * 19]), np.full((20, 1), 1.0), 0.2)
    assert equal == pytest.approx(19)
    assert unequal < 5


def means_of(values: Floats, videos: NDArray[np.intp]) -> Means:
    return Means(values, videos, np.zeros(len(values), np.intp), np.ones(1))


def test_models_without_a_common_turn_are_compared_by_their_means() -> None:
    draw = np.random.default_rng(1)
    first, second = draw.standard_normal(60) + 1, draw.standard_normal(40)
    found = unpaired_difference(
        means_of(first, np.arange(60) % 10), means_of(second, 10 + np.arange(40) % 10), (None, None)
    )
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert found.clusters == 20
    assert found.p is not None
    assert found.p < 0.01


shares = st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=8, max_size=40)


@given(shares, shares, st.floats(0.6, 0.999))
def test_two_means_differ_within_the_scale_and_as_their_p_value_says(
    one: list[float], two: list[float], confidence: float
) -> None:
    first, second = (means_of(np.array(side), np.arange(len(side)) % 6) for side in (one, two))
    found = unpaired_difference(first, second, (0, 1), confidence=confidence)
    turned = unpaired_difference(second, first, (0, 1), confidence=confidence)
    assert found.low is not None
    assert found.high is not None
    assert found.p is not None
    assert turned.low == pytest.approx(-found.high)
    assert turned.p == pytest.approx(found.p)
    assert -1 - 1e-9 <= found.low <= found.value <= found.high <= 1 + 1e-9
    if found.p != pytest.approx(1 - confidence, abs=1e-6):
        assert (found.low <= 0 <= found.high) == (found.p > 1 - confidence)


def test_the_same_turns_give_the_paired_difference() -> None:
    draw = np.random.default_rng(4)
    videos = np.arange(200) % 20
    first = draw.random(200) + draw.random(20)[videos]
    second = first + draw.normal(0.1, 0.05, 200)
    found = unpaired_difference(means_of(first, videos), means_of(second, videos), (None, None))
    paired = clustered_mean(first - second, videos)
    assert found.value == pytest.approx(paired.value)
    assert found.standard_error == pytest.approx(paired.standard_error)
    assert found.low is not None
    assert found.high is not None
    alone = mean_interval(first, videos)
    assert alone.low is not None
    assert alone.high is not None
    assert found.high - found.low < (alone.high - alone.low) / 2, "what a video gives to both does not widen it"


def test_a_linearised_mean_is_the_mean_and_a_ratio_has_the_delta_methods_error() -> None:
    draw = np.random.default_rng(2)
    values, videos = draw.random(80), [f"v{n % 12}" for n in range(80)]
    again = linearise(values[:, None], lambda sums, n: sums[:, 0] / n)
    assert again == pytest.approx(values, abs=1e-7)
    pairs = draw.random((80, 2)) + 0.5
    found = clustered_mean(linearise(pairs, lambda sums, _: sums[:, 0] / sums[:, 1]), videos)
    ratio = pairs[:, 0].sum() / pairs[:, 1].sum()
    by_hand = clustered_mean((pairs[:, 0] - ratio * pairs[:, 1]) / pairs[:, 1].mean(), videos)
    assert found.value == pytest.approx(ratio)
    assert found.standard_error == pytest.approx(by_hand.standard_error, rel=1e-6)


def test_empty_tables_are_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="there must be values"):
        clustered_mean(np.array([]), [])
    with pytest.raises(ValueError, match="some in every stratum"):
        clustered_contrast(np.ones(2), ["a", "b"], np.zeros(2, np.intp), np.ones(2))


@pytest.mark.parametrize("kind", ["continuous", "binary"])
@pytest.mark.parametrize("icc", [0.0, 0.05, 0.1, 0.2])
def test_false_winners_and_coverage_on_the_design_of_135_videos(kind: str, icc: float, full: bool) -> None:
    """The promise is 6 % and 93 to 97 %; a hundredth of it holds with few trials only within wide bounds."""
    trials = 5000 if full else 300
    found = simulate(Design(135, 5887), kind, icc, trials=trials)  # type: ignore[arg-type]
    assert found.default <= (0.06 if full else 0.10)
    assert (0.93 if full else 0.89) <= found.covered <= (0.97 if full else 0.995)
    assert found.bootstrap <= (0.075 if full else 0.12)
    if icc > 0:
        assert found.naive > 0.25, "a test that takes turns for independent finds winners among equals"
        if found.mcnemar is not None:
            assert found.mcnemar > 0.25


@pytest.mark.parametrize("design", [Design(60, 2616), Design(30, 1308)], ids=["60 videos", "30 videos"])
def test_false_winners_with_fewer_videos(design: Design, full: bool) -> None:
    found = simulate(design, "continuous", 0.1, trials=5000 if full else 300)
    assert found.default <= (0.06 if full else 0.10)


def test_a_larger_difference_is_found_more_often() -> None:
    found = [
        simulate(Design(60, 600), "continuous", 0.1, trials=200, effect=effect).default for effect in (0.0, 0.15, 0.5)
    ]
    assert found[0] < 0.12 < found[1] < found[2]


def test_holm_keeps_a_family_of_equals_quiet(full: bool) -> None:
    found = simulate_family(Design(40, 800), 0.1, 6, 1000 if full else 120)
    assert found.holm < 0.12
    assert found.uncorrected > 0.2
    assert found.naive_holm > 0.3


def test_equals_on_different_videos_are_seldom_told_apart(full: bool) -> None:
    assert simulate_unpaired(Design(30, 600), 0.1, 1000 if full else 120) < 0.12
