"""The moments of a video that a turn sees. Each policy is a function of the turns so far and the length of the video.

A policy does not know later turns, so it cannot show the future. The exception is the one rate of `FixedRate`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from reeltalk.evaluation.playing.script import Step
from reeltalk.evaluation.settings import FrameSettings
from reeltalk.schema.intervals import Interval
from reeltalk.video.sampling import svbench, uniform


class Policy(Protocol):
    """Chooses the moments of a video that a turn sees."""

    @property
    def append_only(self) -> bool:
        """True if the frames of a turn begin with all frames of the turn before, in the same order.

        Then frames can be sent as they come, and the prefix cache of a server stays valid.
        """
        ...

    def times(self, steps: Sequence[Step], duration_s: float) -> tuple[float, ...]:
        """The moments that the last step sees, each once, none after its question.

        Args:
            steps: The turns up to the current one, which is the last.
            duration_s: Length of the video.
        """
        ...


@dataclass(frozen=True)
class Uniform:
    """The middles of equal parts of the visible video, chosen anew for each turn."""

    frames: int
    """Number of parts."""
    append_only: ClassVar[bool] = False

    def times(self, steps: Sequence[Step], duration_s: float) -> tuple[float, ...]:
        return _uniform_until(visible_until(steps[-1], duration_s), self.frames)


@dataclass(frozen=True)
class FirstTurn:
    """Frames spread over the visible video at the first turn, and no later frames (VDAct's protocol)."""

    frames: int
    """Number of frames."""
    append_only: ClassVar[bool] = True

    def times(self, steps: Sequence[Step], duration_s: float) -> tuple[float, ...]:
        return _uniform_until(visible_until(steps[0], duration_s), self.frames)


@dataclass(frozen=True)
class FixedRate:
    """A fixed interval from the start of the video up to the question."""

    fps: float
    """Frames per second of the grid."""
    every: int = 1
    """Take every n-th time of the grid."""
    append_only: ClassVar[bool] = True

    @classmethod
    def at_most(cls, frames: int, *, fps: float, until_s: float) -> "FixedRate":
        """The densest grid that has at most `frames` times in the whole script.

        If each turn were thinned separately, the frames of earlier turns would change, and a server could not use its
        prefix cache. So one rate is chosen from the last moment of the script. That moment reveals nothing of the
        video.

        Args:
            frames: Maximum number of times.
            fps: Rate of the grid before it is thinned.
            until_s: The last moment that any turn may see.
        """
        return cls(fps, -(-_grid_size(until_s, fps) // frames))

    def times(self, steps: Sequence[Step], duration_s: float) -> tuple[float, ...]:
        size = _grid_size(visible_until(steps[-1], duration_s), self.fps)
        return tuple(index / self.fps for index in range(0, size, self.every))


@dataclass(frozen=True)
class PerClip:
    """Whole seconds of each clip, from the first turn about it (SVBench).

    New frames come after the earlier ones, even if their clip begins earlier: frames that were sent stay. A turn that
    names no clip is about the time since the latest moment of the turns before it.
    """

    frames: int
    """Maximum number of frames of a clip."""
    append_only: ClassVar[bool] = True

    def times(self, steps: Sequence[Step], duration_s: float) -> tuple[float, ...]:
        shown: dict[float, None] = {}
        waiting: set[float] = set()
        known: set[Interval] = set()
        covered_s = 0.0
        for step in steps:
            until_s = visible_until(step, duration_s)
            about = step.clips
            if not about and (until_s > covered_s or not shown):
                about = (Interval(start_s=min(covered_s, until_s), end_s=until_s),)
            for clip in about:
                start_s, end_s = min(clip.start_s, duration_s), min(clip.end_s, duration_s)
                part = Interval(start_s=start_s, end_s=end_s)
                if part not in known:
                    known.add(part)
                    waiting.update(svbench(part, frames=self.frames))
                covered_s = max(covered_s, min(end_s, until_s))
            now = {time for time in waiting if time <= until_s}
            waiting -= now
            shown.update(dict.fromkeys(sorted(now)))
        return tuple(shown)


@dataclass(frozen=True)
class NoFrames:
    """No frames, for players that do not look."""

    append_only: ClassVar[bool] = True

    def times(self, steps: Sequence[Step], duration_s: float) -> tuple[float, ...]:
        return ()


def policy_of(settings: FrameSettings, steps: Sequence[Step], duration_s: float) -> Policy:
    """The policy for one script."""
    match settings.policy:
        case "uniform":
            return Uniform(settings.frames)
        case "first-turn":
            return FirstTurn(settings.frames)
        case "per-clip":
            return PerClip(settings.frames)
        case "none":
            return NoFrames()
        case "fps":
            until_s = max((visible_until(step, duration_s) for step in steps), default=0.0)
            return FixedRate.at_most(settings.frames, fps=settings.fps, until_s=until_s)


def visible_until(step: Step, duration_s: float) -> float:
    """The last moment that a turn may see: the time of its question, or the end of the video."""
    return duration_s if step.asked_at_s is None else min(step.asked_at_s, duration_s)


def _uniform_until(until_s: float, frames: int) -> tuple[float, ...]:
    return tuple(dict.fromkeys(uniform(Interval(start_s=0.0, end_s=until_s), frames=frames)))


MOST_GRID: Final = 1 << 53
"""Above this, whole numbers of a grid can no longer be distinguished."""


def _grid_size(until_s: float, fps: float) -> int:
    """Number of times `index / fps` up to `until_s`, computed with the same arithmetic as the times."""
    size = min(math.floor(until_s * fps) + 1, MOST_GRID)
    while size > 1 and (size - 1) / fps > until_s:
        size -= 1
    while size < MOST_GRID and size / fps <= until_s:
        size += 1
    return size
