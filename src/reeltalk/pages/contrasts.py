"""Means of turns, with intervals as on the leaderboard, and differences of two, tested as comparisons are."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from reeltalk.metrics.clustered import clustered_difference, clustered_mean
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.pages.charts import Estimate

DIFFERENCES: Final = "Differences: t intervals clustered by source video (CR2, Imbens-Kolesár degrees of freedom)"


class Entry(NamedTuple):
    """A number of one turn, and the video that it is about."""

    video_id: str
    value: float


def mean_of(entries: Sequence[Entry], scale: tuple[float, float] | None) -> Estimate | None:
    """A mean with its 95 % interval, which is None for fewer than two videos; None for no entries.

    Args:
        entries: Numbers of turns.
        scale: Lowest and highest value that a turn can have; None where there are no such bounds.
    """
    if not entries:
        return None
    found = mean_interval(np.asarray([entry.value for entry in entries]), [e.video_id for e in entries], scale)
    return Estimate(found.value, found.low, found.high, found.n, found.clusters)


def difference_of(first: Sequence[Entry], second: Sequence[Entry], *, paired: bool = False) -> Estimate | None:
    """Mean of the second less that of the first, with a 95 % interval clustered by video; `n` counts both.

    What a video gives to both does not widen the interval.

    Args:
        first: Numbers of turns.
        second: Numbers of the same turns, or of others about the same videos.
        paired: True where both hold the same turns in the same order; the difference is then tested as `compare` does.

    Returns:
        None where one of them is empty; without an interval where one of them is about a single video, or where no
        video differs from another.
    """
    if not first or not second:
        return None
    if paired:
        differences = np.asarray([own.value - other.value for other, own in zip(first, second, strict=True)])
        mean = clustered_mean(differences, [entry.video_id for entry in second])
        return Estimate(mean.value, mean.low, mean.high, mean.items, mean.clusters)
    ours, theirs = ([entry.value for entry in entries] for entries in (second, first))
    found = clustered_difference(
        np.asarray(ours),
        np.asarray(theirs),
        [entry.video_id for entry in second],
        [entry.video_id for entry in first],
    )
    return Estimate(found.value, found.low, found.high, found.items, found.clusters)
