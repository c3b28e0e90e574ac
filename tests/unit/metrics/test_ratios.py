"""Ratios over shared draws are those of the plain bootstrap; tests between models are clustered and corrected."""

import numpy as np
import pytest

from reeltalk.metrics.clustered import clustered_mean
from reeltalk.metrics.ratios import (
    by_cluster,
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


def test_a_ratio_that_many_samples_of_videos_hold_nothing_of_has_no_interval() -> None:
    possible = np.column_stack([np.ones(10), np.arange(10) < 2])
    samples = resampled_ratios(possible * np.arange(10)[:, None], possible, **DRAWS)
    common, rare = intervals(samples, (possible > 0).sum(axis=0))
    assert common is not None
    assert rare is None, "a tenth of the samples hold neither of its two videos"


def test_with_equal_weights_a_difference_is_that_of_two_means() -> None:
    one, two, _, videos = table(seed=5)
    found = paired_difference(one, two, np.full(len(one), 3.0), videos)
    plain = clustered_mean(one - two, videos)
    assert found.value == pytest.approx(plain.value, abs=1e-9)
    assert found.standard_error == pytest.approx(plain.standard_error, rel=1e-6)
    assert found.p == pytest.approx(plain.p, rel=1e-6)


def test_weights_count_a_turn_as_often_as_they_say() -> None:
    one, two, weights, videos = table(seed=6)
    found = paired_difference(one, two, weights, videos)
    assert found.value == pytest.approx(float((weights * (one - two)).sum() / weights.sum()), abs=1e-9)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high


def test_turns_of_one_video_are_no_evidence_and_many_turns_of_two_little() -> None:
    ones, zeros = np.ones(100), np.zeros(100)
    alone = paired_difference(ones, zeros, ones, ["v"] * 100)
    assert (alone.low, alone.high, alone.p) == (None, None, None)
    assert paired_difference(ones, zeros, ones, ["v", "w"] * 50).p == 0.5
    assert paired_difference(ones, ones, ones, ["v", "w"] * 50).p == 1.0


def test_nothing_in_common_cannot_be_compared() -> None:
    nothing = np.zeros(0)
    with pytest.raises(ValueError, match="at least one turn"):
        paired_difference(nothing, nothing, nothing, [])


def test_ranks_correlate_only_where_there_is_something_to_rank() -> None:
    assert rank_correlation([1, 2, 3], [10, 20, 40]) == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3], [3, 1, -5]) == pytest.approx(-1.0)
    assert rank_correlation([1, 2], [1, 2]) is None
    assert rank_correlation([1, 2, 3], [7, 7, 7]) is None
