"""Shots to clips, by SVBench's paper and by its script."""

import math
from collections.abc import Sequence
from typing import Final

from reeltalk.schema.intervals import Interval

COMPAT_SKIP_S: Final = 1.5


def clips_of(shots: Sequence[Interval], duration_s: float, *, merge_below_s: float, extend_s: float) -> list[Interval]:
    """Clips as SVBench's paper makes them (arXiv 2502.10810).

    Shots shorter than `merge_below_s` join a neighbour, shortest first, the neighbour being the shorter of the two and
    the earlier one where they are equal. What is left reaches `extend_s` further on both sides, within the video.

    Args:
        shots: One after another without gaps.
        duration_s: Length of the video.
        merge_below_s: Shortest clip before it is extended.
        extend_s: How much two neighbouring clips reach into one another, halved.
    """
    parts = list(shots)
    while len(parts) > 1:
        shortest = min(range(len(parts)), key=lambda index: (parts[index].duration_s, index))
        if parts[shortest].duration_s >= merge_below_s:
            break
        neighbours = [index for index in (shortest - 1, shortest + 1) if 0 <= index < len(parts)]
        other = min(neighbours, key=lambda index: (parts[index].duration_s, index))
        first, last = min(shortest, other), max(shortest, other)
        parts[first : last + 1] = [Interval(start_s=parts[first].start_s, end_s=parts[last].end_s)]
    return [
        Interval(start_s=max(0.0, part.start_s - extend_s), end_s=min(duration_s, part.end_s + extend_s))
        for part in parts
    ]


def clips_of_script(shots: Sequence[Interval], duration_s: float) -> list[Interval]:
    """Clips as SVBench's script makes them: shots below 1.5 s are left out, bounds are whole seconds.

    The script's last clip may end after the video; here it ends with it.
    """
    return [
        Interval(start_s=float(math.floor(shot.start_s)), end_s=min(float(math.ceil(shot.end_s)), duration_s))
        for shot in shots
        if shot.duration_s >= COMPAT_SKIP_S
    ]
