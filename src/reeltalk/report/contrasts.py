"""Means of turns, by draws of whole videos as on the leaderboard, and differences of two, tested as comparisons are."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from reeltalk.metrics.clustered import clustered_difference
from reeltalk.metrics.resampling import cluster_bootstrap
from reeltalk.report.figures import Estimate

DIFFERENCES: Final = "Differences: t intervals clustered by source video (CR2, Imbens-Kolesár degrees of freedom)"
RESAMPLES: Final = 1000
SEED: Final = 17


class Entry(NamedTuple):
    """A number of one turn, and the video that it is about."""

    video_id: str
    value: float


def mean_of(entries: Sequence[Entry]) -> Estimate | None:
    """A mean with its 95 % interval, which is None for fewer than two videos; None for no entries."""
    if not entries:
        return None
    values = np.asarray([[entry.value] for entry in entries])
    interval = cluster_bootstrap(
        values,
        [entry.video_id for entry in entries],
        lambda sums, counts: sums[:, 0] / counts,
        resamples=RESAMPLES,
        seed=SEED,
    )
    low, high = (interval.low, interval.high) if interval else (None, None)
    return Estimate(float(values.mean()), low, high, len(entries))


def difference_of(first: Sequence[Entry], second: Sequence[Entry]) -> Estimate | None:
    """Mean of the second less that of the first, with a 95 % interval clustered by video; `n` counts both.

    What a video gives to both does not widen the interval.

    Args:
        first: Numbers of turns.
        second: Numbers of the same turns, or of others about the same videos.

    Returns:
        None where one of them is empty; without an interval where one of them is about a single video, or where no
        video differs from another.
    """
    if not first or not second:
        return None
    ours, theirs = ([entry.value for entry in entries] for entries in (second, first))
    found = clustered_difference(
        np.asarray(ours),
        np.asarray(theirs),
        [entry.video_id for entry in second],
        [entry.video_id for entry in first],
    )
    return Estimate(found.value, found.low, found.high, found.items)
