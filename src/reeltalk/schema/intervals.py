"""Half-open intervals of time, in seconds, and their arithmetic."""

from typing import Final, Self

from pydantic import BaseModel, ConfigDict, model_validator

from reeltalk.schema.record import Seconds

RESOLUTION_S: Final = 0.001
"""Times of moments are kept to a millisecond, those of frames are not: times that differ by at most half of it are the
same time. `0.1 + 2.0` and `2.1` are two numbers, and one time."""


def no_later(time_s: float, than_s: float) -> bool:
    """True if a time comes before another or is the same, to half a `RESOLUTION_S`.

    Compare times in this way wherever a sum or a difference of them meets a limit: a reply that is 2.0 s late is then
    within 2.0 s, whatever the rounding of binary fractions makes of it.

    Args:
        time_s: In seconds; or a length of time.
        than_s: In seconds; what it is compared with.
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
        """True if `other` lies inside, give or take `tolerance_s` at both ends."""
        return no_later(self.start_s - tolerance_s, other.start_s) and no_later(other.end_s, self.end_s + tolerance_s)

    def reaches(self, time_s: float, *, tolerance_s: float = 0.0) -> bool:
        """True if a time lies inside or at an end, give or take `tolerance_s` at both ends."""
        return no_later(self.start_s - tolerance_s, time_s) and no_later(time_s, self.end_s + tolerance_s)

    def intersection(self, other: "Interval") -> "Interval | None":
        """The common part, or None if the two do not overlap for a positive time."""
        start_s, end_s = max(self.start_s, other.start_s), min(self.end_s, other.end_s)
        return Interval(start_s=start_s, end_s=end_s) if start_s < end_s else None

    def iou(self, other: "Interval") -> float:
        """Intersection over union in [0, 1]; 0 where the union has no length."""
        common = self.intersection(other)
        common_s = common.duration_s if common else 0.0
        union_s = self.duration_s + other.duration_s - common_s
        return common_s / union_s if union_s > 0 else 0.0
