"""Ratios over shared draws are those of the plain bootstrap; tests between models are clustered and corrected."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import WLS

from reeltalk.metrics.ratios import (
    by_cluster,
    holm,
    intervals,
    paired_difference,
    rank_correlation,
    resampled_ratios,
)
from reeltalk.metrics.resampling import cluster_bootstrap

DRAWS = {"resamples": 500, "seed": 3}


def table(seed: int = 0, videos: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    place = rng.integers(0, videos, 300)
    return rng.random(300), rng.random(300), rng.integers(1, 4, 300).astype(float), [f"v{p:02d}" for p in place]


def test_one_draw_for_many_ratios_gives_the_intervals_of_a_bootstrap_for_each() -> None:
    one, two, weights, videos = table()
    names, place = np.unique(np.asarray(videos), return_inverse=True)
    earned = by_cluster(np.column_stack([one * weights, two * weights]), place, len(names))
    possible = by_cluster(np.column_stack([weights, weights]), place, len(names))
    shared = intervals(resampled_ratios(earned, possible, **DRAWS), (possible > 0).sum(axis=0))
    for credit, found in zip((one, two), shared, strict=True):
        statistics = np.column_stack([credit * weights, weights])
        alone = cluster_bootstrap(statistics, videos, lambda sums, _: sums[:, 0] / sums[:, 1], **DRAWS)
        assert alone is not None
        assert found == pytest.approx((alone.low, alone.high), abs=1e-12)


def test_a_ratio_that_one_video_holds_has_no_interval() -> None:
    possible = np.array([[1.0, 0.0], [1.0, 2.0], [1.0, 0.0]])
    samples = resampled_ratios(possible * 0.5, possible, **DRAWS)
    assert intervals(samples, (possible > 0).sum(axis=0)) == [(0.5, 0.5), None]
    assert np.isnan(samples[:, 1]).any()


def test_the_error_of_a_difference_is_that_of_a_regression_clustered_by_video() -> None:
    one, two, weights, videos = table(seed=5)
    found = paired_difference(one, two, weights, videos, **DRAWS)
    groups = np.unique(np.asarray(videos), return_inverse=True)[1]
    fitted = WLS(one - two, np.ones((len(one), 1)), weights=weights).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, use_t=True
    )
    videos_there = found.clusters
    t = fitted.tvalues[0] / np.sqrt(videos_there / (videos_there - 1))
    assert found.value == pytest.approx(fitted.params[0], abs=1e-12)
    assert found.p is not None
    from scipy.stats import t as student

    assert found.p == pytest.approx(2 * student.sf(abs(t), videos_there - 1), abs=1e-12)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_turns_of_one_video_are_no_evidence_and_many_turns_of_two_little() -> None:
    ones, zeros = np.ones(100), np.zeros(100)
    alone = paired_difference(ones, zeros, ones, ["v"] * 100, **DRAWS)
    assert (alone.low, alone.high, alone.p) == (None, None, None)
    both = paired_difference(ones, zeros, ones, ["v", "w"] * 50, **DRAWS)
    assert both.p == 0.5
    assert paired_difference(ones, ones, ones, ["v", "w"] * 50, **DRAWS).p == 1.0


def test_nothing_in_common_cannot_be_compared() -> None:
    nothing = np.zeros(0)
    with pytest.raises(ValueError, match="at least one turn"):
        paired_difference(nothing, nothing, nothing, [], **DRAWS)


def test_what_was_not_tested_does_not_count_among_the_tests() -> None:
    assert holm([0.01, None, 0.04]) == pytest.approx([0.02, None, 0.04])
    assert holm([None, None]) == [None, None]


def test_ranks_correlate_only_where_there_is_something_to_rank() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 40]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3], [3, 1, -5]) == pytest.approx(-1.0)
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 2, 3], [7, 7, 7]) is None
