"""Chooses the times of the frames that a model sees. All samplers but SVBench's published rule stay inside the clip."""

import math
from collections.abc import Sequence
from typing import Final

from reeltalk.schema.intervals import Interval

SVBENCH_FRAMES: Final = 10


def uniform(interval: Interval, *, frames: int = SVBENCH_FRAMES) -> tuple[float, ...]:
    """The middles of `frames` equal parts of a clip, in seconds.

    Raises:
        ValueError: `frames` is below 1.
    """
    if frames < 1:
        raise ValueError(f"at least one frame must be asked for, got {frames}")
    part_s = interval.duration_s / frames
    return tuple(interval.start_s + (index + 0.5) * part_s for index in range(frames))


def fixed_rate(interval: Interval, *, fps: float = 1.0, cap: int | None = None) -> tuple[float, ...]:
    """Times on the video's own grid of `fps` frames a second that lie in a clip.

    If there are more than `cap`, it takes `cap` of them, spread as evenly as possible. The grid belongs to the video,
    so clips that overlap share their frames. If no time of the grid lies in a clip, the result is its start.

    Raises:
        ValueError: `fps` is not above 0, or `cap` is below 1.
    """
    if fps <= 0 or (cap is not None and cap < 1):
        raise ValueError(f"fps must be above 0 and cap at least 1, got {fps} and {cap}")
    first, last = math.ceil(interval.start_s * fps), math.ceil(interval.end_s * fps)
    times = [index / fps for index in range(first, last)] or [interval.start_s]
    return tuple(pick_evenly(times, cap)) if cap is not None and len(times) > cap else tuple(times)


def svbench(interval: Interval, *, frames: int = SVBENCH_FRAMES) -> tuple[float, ...]:
    """SVBench's ten frames, with its defects fixed: whole seconds of the clip, spread evenly from first to last.

    Reference: Yang et al. 2025, arXiv 2502.10810; their script takes frames from before the clip (`svbench_published`).
    """
    seconds = [float(second) for second in range(math.ceil(interval.start_s), math.ceil(interval.end_s))]
    return tuple(pick_evenly(seconds or [interval.start_s], frames))


def svbench_published(interval: Interval, *, frames_of_video: int | None = None) -> tuple[float, ...]:
    """SVBench's ten frames as its script chooses them. They may lie before the clip and never include second 0.

    With S and E the clip's bounds, floored and ceiled: all whole seconds if E − S + 1 ≤ 10; else every (⌊(E − S) /
    9⌋ + 1)-th second backwards from E, down to but without max(0, E − 9 step − 1).

    Args:
        interval: The clip.
        frames_of_video: How many frames the script has of the video, one a second. If the clip ends later, it counts
            back from the last of them.
    """
    start, end = math.floor(interval.start_s), math.ceil(interval.end_s)
    last = end if frames_of_video is None else min(end, frames_of_video - 1)
    if end - start + 1 <= SVBENCH_FRAMES:
        return tuple(float(second) for second in range(start, last + 1))
    step = (end - start) // 9 + 1
    before = max(0, end - 9 * step - 1)
    return tuple(float(second) for second in reversed(range(last, before, -step)))


def pick_evenly(times: Sequence[float], count: int) -> list[float]:
    """Picks `count` times, from the first to the last, as evenly as possible; all if there are fewer."""
    if len(times) <= count:
        return list(times)
    if count < 2:
        return [times[len(times) // 2]] if count else []
    return [times[round(index * (len(times) - 1) / (count - 1))] for index in range(count)]
