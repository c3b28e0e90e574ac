"""Descriptions of metrics: title, scale, direction and digits."""

from dataclasses import dataclass
from typing import Final, Literal

Direction = Literal["higher", "neither"]
MeanOf = Literal["items", "dialogues", "tasks", "kinds", "file"]
"""How a number follows from the scores of its items: as their mean, as the mean of dialogues' means, of tasks' means of
dialogues or of kinds of units; or as a measure of the whole file."""

AMOUNT_DECIMALS: Final = 2
"""Decimals of an amount."""


@dataclass(frozen=True)
class MetricInfo:
    """A metric of texts, a judged measure, or a time."""

    name: str
    title: str
    """Name in tables and on pages."""
    low: float | None = 0.0
    """Lowest value; None without a bound."""
    high: float | None = 1.0
    """Highest value; None without a bound."""
    direction: Direction = "higher"
    decimals: int | None = None
    """Digits after the point as people read it; by default one for a share in percent, else two, or three below 1."""
    unit: str = ""
    """Unit of a metric without a scale, such as `s`."""
    mean_of: MeanOf = "items"
    """How the number follows from the scores of its items."""
    answer_rank: int | None = None
    """Rank among metrics of single answers if a page shows one of them, the lowest first; None if it is never
    shown there."""
    items: Literal["turns", "dialogues"] = "turns"
    """What its n counts: turns, or whole chains, paths and dialogues."""
    what: str = ""
    """A description for the documentation."""
    source: str = ""
    """The paper that defines it."""

    @property
    def scale(self) -> str:
        """The scale as text, such as `0–100`; empty without an upper bound."""
        if self.high is None:
            return ""
        high = f"{self.high:g}"
        return f"at most {high}" if self.low is None else f"{self.low:g}–{high}".replace("-", "−")

    @property
    def width(self) -> float | None:
        """Highest minus lowest value; None if one of them is unknown."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """Lowest and highest value; None where there is no end."""
        return self.low, self.high

    def share(self, value: float) -> float | None:
        """The position of a value on the scale, from 0 to 1; None without a scale.

        Args:
            value: Value of the metric; beyond an end of the scale it counts as that end.
        """
        if self.low is None or self.high is None:
            return None
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    @property
    def percent(self) -> float | None:
        """The factor that makes a value a percentage, for a share from 0 to 1 or from 0 to 100; None for others."""
        if self.high == 100.0 and self.low in (0.0, None):
            return 1.0
        return 100.0 if (self.low, self.high) == (0.0, 1.0) else None

    def digits(self, value: float) -> int:
        """Number of decimals with which a value is printed."""
        if self.percent is not None:
            return 1
        return (AMOUNT_DECIMALS if abs(value) >= 1 else 3) if self.decimals is None else self.decimals


def digits(value: float) -> int:
    """Number of decimals of a value of an unknown metric: two from 10 on, four below."""
    return AMOUNT_DECIMALS if abs(value) >= 10 else 4


TIMINGS: Final = tuple(
    MetricInfo(name, title, 0.0, None, "neither", decimals, unit)
    for name, title, decimals, unit in (
        ("took_s", "Answer (s)", 2, "s"),
        ("first_token_s", "First token (s)", 2, "s"),
        ("prompt_tokens", "Prompt tokens", 1, "tokens"),
        ("completion_tokens", "Answer tokens", 1, "tokens"),
        ("frames_seen", "Frames", 1, "frames"),
        ("new_frames", "New frames", 1, "frames"),
        ("memory_mib", "Memory (MiB)", 1, "MiB"),
    )
)
"""Time of an answer, and amounts of data sent and kept. They are not scores, so no value is best."""
