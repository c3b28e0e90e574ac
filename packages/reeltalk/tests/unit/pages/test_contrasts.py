"""Means and differences over turns, with intervals that know of videos."""

import numpy as np
import pytest

from reeltalk.analysis.estimates import Estimate, VideoValues, difference_estimate, mean_estimate
from reeltalk.metrics.uncertainty import clustered_mean

SHARES = (0.0, 100.0)


def entries(values: dict[str, list[float]]) -> VideoValues:
    videos = [video for video, found in values.items() for _ in found]
    return VideoValues(videos, np.array([value for found in values.values() for value in found], float))


def test_a_mean_has_an_interval_from_four_videos_on() -> None:
    one = mean_estimate(entries({"a": [0.0, 100.0]}), SHARES)
    assert one is not None
    assert (one.value, one.low, one.high, one.n) == (50.0, None, None, 2)
    four = mean_estimate(entries({"a": [0.0, 0.0], "b": [100.0], "c": [0.0], "d": [100.0, 100.0]}), SHARES)
    assert four is not None
    assert four.value == pytest.approx(50)
    assert four.low is not None
    assert four.high is not None
    assert 0 <= four.low < 20, "four videos say little"
    assert 80 < four.high <= 100
    assert mean_estimate(entries({}), SHARES) is None


def test_what_a_video_gives_to_both_does_not_widen_the_interval_of_their_difference() -> None:
    hard_to_easy = {f"v{video}": [float(10 * video)] * 3 for video in range(8)}
    first = entries(hard_to_easy)
    second = VideoValues(first.videos, first.values + 5 + np.arange(len(first.values)) % 2)
    found, alone = difference_estimate(first, second, SHARES), mean_estimate(second, SHARES)
    assert found is not None
    assert alone is not None
    assert found.low is not None
    assert found.high is not None
    assert found.value == pytest.approx(5.5)
    assert found.low < 5.5 < found.high
    assert found.high - found.low < 1
    assert alone.low is not None
    assert alone.high is not None
    assert alone.high - alone.low > 20


def test_a_difference_over_the_same_turns_is_that_of_compare() -> None:
    draw = np.random.default_rng(3)
    first = VideoValues([f"v{n % 7}" for n in range(60)], draw.random(60))
    second = VideoValues(first.videos, draw.random(60) + np.arange(60) % 3)
    found = difference_estimate(first, second, (None, None), paired=True)
    expected = clustered_mean(second.values - first.values, first.videos)
    assert found is not None
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)


def test_a_difference_without_scatter_has_the_interval_of_what_so_few_videos_would_miss() -> None:
    first = entries({"a": [0.0], "b": [100.0], "c": [0.0]})
    alike = difference_estimate(first, first, SHARES)
    assert alike is not None
    assert alike.value == 0
    assert alike.high == pytest.approx(100 * (1 - 0.025 ** (1 / 3)))
    assert alike.low == pytest.approx(100 * (0.025 ** (1 / 3) - 1))
    assert difference_estimate(first, first, (0.0, None)) == Estimate(0.0, None, None, 6, 3), "no end, no interval"


def test_a_difference_needs_both_and_two_videos_of_each() -> None:
    assert difference_estimate(entries({}), entries({"a": [1.0]}), SHARES) is None
    apart = difference_estimate(entries({"a": [0.0]}), entries({"b": [100.0], "c": [100.0]}), SHARES)
    assert apart is not None
    assert (apart.value, apart.low, apart.high) == (100.0, None, None)
