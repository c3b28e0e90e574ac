"""Means and differences over turns, with intervals that know of videos."""

import pytest

from reeltalk.report.contrasts import Entry, difference_of, mean_of


def entries(values: dict[str, list[float]]) -> list[Entry]:
    return [Entry(video, value) for video, found in values.items() for value in found]


def test_a_mean_has_an_interval_from_two_videos_on() -> None:
    one = mean_of(entries({"a": [0.0, 100.0]}))
    assert one is not None
    assert (one.value, one.low, one.high, one.n) == (50.0, None, None, 2)
    two = mean_of(entries({"a": [0.0, 0.0], "b": [100.0]}))
    assert two is not None
    assert two.value == pytest.approx(100 / 3)
    assert (two.low, two.high) == (0.0, 100.0)
    assert mean_of([]) is None


def test_what_a_video_gives_to_both_does_not_widen_the_interval_of_their_difference() -> None:
    hard_to_easy = {f"v{video}": [float(10 * video)] * 3 for video in range(8)}
    first = entries(hard_to_easy)
    second = [Entry(entry.video_id, entry.value + 5 + number % 2) for number, entry in enumerate(first)]
    found, alone = difference_of(first, second), mean_of(second)
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


def test_a_difference_without_scatter_has_no_interval() -> None:
    first = entries({"a": [0.0], "b": [100.0], "c": [0.0]})
    alike = difference_of(first, first)
    assert alike is not None
    assert (alike.value, alike.low, alike.high) == (0.0, None, None)


def test_a_difference_needs_both_and_two_videos_of_each() -> None:
    assert difference_of([], entries({"a": [1.0]})) is None
    apart = difference_of(entries({"a": [0.0]}), entries({"b": [100.0], "c": [100.0]}))
    assert apart is not None
    assert (apart.value, apart.low, apart.high) == (100.0, None, None)
