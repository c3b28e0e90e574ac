"""Differences of weighted means are clustered by video, and ranks correlate where there are some."""

import numpy as np
import pytest

from reeltalk.metrics.correlation import correlation
from reeltalk.metrics.uncertainty import clustered_mean, paired_difference


def table(seed: int = 0, videos: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    place = rng.integers(0, videos, 300)
    return rng.random(300), rng.random(300), rng.integers(1, 4, 300).astype(float), [f"v{p:02d}" for p in place]


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


@pytest.mark.parametrize(
    ("second", "rho"), [([10, 20, 40], 1.0), ([3, 1, -5], -1.0), ([7, 7, 7], None), ([1, 2], None)]
)
def test_ranks_correlate_only_where_there_is_something_to_rank(second: list[float], rho: float | None) -> None:
    found, reason = correlation("spearman", np.array([1.0, 2, 3][: len(second)]), np.array(second, np.float64))
    assert found == (rho if rho is None else pytest.approx(rho))
    assert (reason is None) == (rho is not None)
