"""Half-open intervals of time, in seconds, and their arithmetic."""

from collections.abc import Iterable
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from reeltalk.schema.record import Seconds

RESOLUTION_S: Final = 0.001
"""Moments are stored to a millisecond; frame times are not rounded. Times that differ by at most half of this are
equal: `0.1 + 2.0` and `2.1` are two numbers and one time."""


def no_later(time_s: float, than_s: float) -> bool:
    """True if a time is before another or equal to it, to half a `RESOLUTION_S`.

    Use this to compare a sum or difference of times with a limit: a reply that is 2.0 s late is then within 2.0 s,
    whatever the rounding of binary fractions.

    Args:
        time_s: A time or length of time, in seconds.
        than_s: The time to compare with, in seconds.
    """
    return time_s <= than_s + RESOLUTION_S / 2


class Interval(BaseModel):
    """`[start_s, end_s)` in seconds from the first presentation timestamp; a moment has `start_s == end_s`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start_s: Seconds
    end_s: Seconds

    @model_validator(mode="after")
    def _starts_before_it_ends(self) -> Self:
        if self.end_s < self.start_s:
            raise ValueError(f"an interval ends before it starts: [{self.start_s}, {self.end_s})")
        return self

    @property
    def duration_s(self) -> float:
        """Length in seconds, 0 or more."""
        return self.end_s - self.start_s

    def contains(self, other: "Interval", *, tolerance_s: float = 0.0) -> bool:
        """True if `other` is inside, within `tolerance_s` at both ends."""
        return no_later(self.start_s - tolerance_s, other.start_s) and no_later(other.end_s, self.end_s + tolerance_s)

    def reaches(self, time_s: float, *, tolerance_s: float = 0.0) -> bool:
        """True if a time is inside or at an end, within `tolerance_s` at both ends."""
        return no_later(self.start_s - tolerance_s, time_s) and no_later(time_s, self.end_s + tolerance_s)

    def intersection(self, other: "Interval") -> "Interval | None":
        """The common part, or None if the two do not overlap for a positive time."""
        start_s, end_s = max(self.start_s, other.start_s), min(self.end_s, other.end_s)
        return Interval(start_s=start_s, end_s=end_s) if start_s < end_s else None


def union(intervals: Iterable[Interval], *, tolerance_s: float = 0.0) -> tuple[Interval, ...]:
    """Intervals in the order of time. Those that overlap, or lie at most `tolerance_s` apart, are one."""
    found: list[Interval] = []
    for interval in sorted(intervals, key=lambda one: (one.start_s, one.end_s)):
        if found and no_later(interval.start_s, found[-1].end_s + tolerance_s):
            interval = Interval(start_s=found[-1].start_s, end_s=max(found.pop().end_s, interval.end_s))
        found.append(interval)
    return tuple(found)
