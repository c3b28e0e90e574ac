"""Means and differences over turns, with intervals that know of videos."""

import numpy as np
import pytest

from reeltalk.analysis.estimates import VideoValue, difference_estimate, mean_estimate
from reeltalk.metrics.clustered import clustered_mean

SHARES = (0.0, 100.0)


def entries(values: dict[str, list[float]]) -> list[VideoValue]:
    return [VideoValue(video, value) for video, found in values.items() for value in found]


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
    assert mean_estimate([], SHARES) is None


def test_what_a_video_gives_to_both_does_not_widen_the_interval_of_their_difference() -> None:
    hard_to_easy = {f"v{video}": [float(10 * video)] * 3 for video in range(8)}
    first = entries(hard_to_easy)
    second = [VideoValue(entry.video_id, entry.value + 5 + number % 2) for number, entry in enumerate(first)]
    found, alone = difference_estimate(first, second), mean_estimate(second, SHARES)
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
    first = [VideoValue(f"v{n % 7}", float(draw.random())) for n in range(60)]
    second = [VideoValue(entry.video_id, float(draw.random()) + n % 3) for n, entry in enumerate(first)]
    found = difference_estimate(first, second, paired=True)
    expected = clustered_mean(
        np.array([b.value - a.value for a, b in zip(first, second, strict=True)]), [entry.video_id for entry in first]
    )
    assert found is not None
    assert (found.value, found.low, found.high) == (expected.value, expected.low, expected.high)


def test_a_difference_without_scatter_has_no_interval() -> None:
    first = entries({"a": [0.0], "b": [100.0], "c": [0.0]})
    alike = difference_estimate(first, first)
    assert alike is not None
    assert (alike.value, alike.low, alike.high) == (0.0, None, None)


def test_a_difference_needs_both_and_two_videos_of_each() -> None:
    assert difference_estimate([], entries({"a": [1.0]})) is None
    apart = difference_estimate(entries({"a": [0.0]}), entries({"b": [100.0], "c": [100.0]}))
    assert apart is not None
    assert (apart.value, apart.low, apart.high) == (100.0, None, None)
