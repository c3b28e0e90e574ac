"""Means of turns, and differences between two of them, with intervals for which whole videos are drawn anew."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.resampling import Floats, cluster_bootstrap
from reeltalk.report.figures import Estimate

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
    """Mean of the second less that of the first; `n` counts the entries of both.

    Both are drawn anew together, video by video, so that what a video gives to both does not widen the interval.

    Args:
        first: Numbers of turns.
        second: Numbers of the same turns, or of others about the same videos.

    Returns:
        None where one of them is empty; without an interval where there are fewer than two videos, or where samples of
        videos often hold nothing of one of them.
    """
    if not first or not second:
        return None
    table = np.zeros((len(first) + len(second), 4))
    table[: len(first), 0], table[: len(first), 1] = [entry.value for entry in first], 1
    table[len(first) :, 2], table[len(first) :, 3] = [entry.value for entry in second], 1
    usable = 1.0

    def differences(sums: Floats, counts: NDArray[np.float64]) -> Floats:
        nonlocal usable
        there = (sums[:, 1] > 0) & (sums[:, 3] > 0)
        usable = float(there.mean())
        found = sums[there] if there.any() else np.full((1, 4), 1.0)
        return found[:, 2] / found[:, 3] - found[:, 0] / found[:, 1]

    interval = cluster_bootstrap(
        table, [entry.video_id for entry in (*first, *second)], differences, resamples=RESAMPLES, seed=SEED
    )
    value = float(table[len(first) :, 2].mean() - table[: len(first), 0].mean())
    if interval is None or usable < 0.95:
        return Estimate(value, None, None, len(first) + len(second))
    return Estimate(value, interval.low, interval.high, len(first) + len(second))
