"""Values against a quantity, as the length of a video: a line for each model on an axis whose distances are true.

Where groups get wider along the axis, as those of video time do, a plot by position would bend a straight growth.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.report.figures import COLOURS, MOST_BANDS, Estimate, dash, marker, spread, ticks
from reeltalk.report.leaderboard import key_of
from reeltalk.report.svg import open_svg
from reeltalk.report.visible import escaped

LETTER_HEIGHT: Final = 11.0
_MINUTES_FROM_S: Final = 180.0

_Scale = Callable[[float], float]


@dataclass(frozen=True)
class Stop:
    """One point of a line."""

    at: float
    """Where on the axis, in its unit."""
    name: str
    """What it stands for, as `60-90 s`, for the drawing's tooltips."""
    value: Estimate


@dataclass(frozen=True)
class Course:
    """One model's line."""

    index: int
    """The model's place in the leaderboard, which decides its letter and looks."""
    name: str
    stops: Sequence[Stop]
    """In the order of the axis."""


def courses(found: Sequence[Course], *, title: str, axis: str, few: int = 1, log: bool = False) -> str:
    """Lines against seconds, each interval as a band, each letter at the line's end; empty without stops.

    Args:
        found: The lines; their stops are at seconds.
        title: What is plotted, for readers who do not see it.
        axis: What the seconds are, as `asked at`; the unit, seconds or minutes, is put behind it.
        few: Stops on fewer items are faded and not joined.
        log: A logarithmic axis of values, on which values of zero stand at its foot.
    """
    stops = [stop for line in found for stop in line.stops]
    if not stops:
        return ""
    width, left, right, top, bottom = 460, 52, 18, 8, 40
    height = max(250, top + bottom + round(LETTER_HEIGHT * len(found)))
    last = max(stop.at for stop in stops) or 1.0
    values = _Values.of(stops, few, log)

    def x(at: float) -> float:
        return left + at / last * (width - left - right)

    def y(value: float) -> float:
        return top + (1 - values.share(value)) * (height - top - bottom)

    parts = [open_svg(width, height, title)]
    for tick in values.ticks():
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{left - 7}" y="{y(tick) + 4:.1f}" class="tick end">{_plain(tick)}</text>')
    parts += _axis(last, x, axis, left, width - right, height - bottom)
    for line in found if len(found) <= MOST_BANDS else ():
        parts += [_band(stretch, x, y, line.index) for stretch in _solid(line, few) if len(stretch) > 1]
    for line in found:
        for stretch in _solid(line, few):
            path = " ".join(f"{x(stop.at):.1f},{y(stop.value.value):.1f}" for stop in stretch)
            parts.append(f'<polyline points="{path}" class="line m{line.index % COLOURS}"{dash(line.index)}/>')
        for stop in line.stops:
            told = f"{key_of(line.index)} {line.name}, {axis} {stop.name}: {stop.value}, n = {stop.value.n}"
            faded = stop.value.n < few
            parts.append(marker(line.index, x(stop.at), y(stop.value.value), 2.6, faded=faded, title=told))
    ends = sorted((y(end.value.value), x(end.at) + 7, line.index) for line in found for end in [_end(line, few)])
    heights = spread([at for at, *_ in ends], lowest=top, highest=height - bottom)
    for at, (_, start, index) in zip(heights, ends, strict=True):
        looks = f'class="letter halo m{index % COLOURS}"'
        parts.append(f'<text x="{start:.1f}" y="{at + 4:.1f}" {looks}>{key_of(index)}</text>')
    parts.append("</svg>")
    return "".join(parts)


@dataclass(frozen=True)
class _Values:
    """The axis of values."""

    lowest: float
    highest: float
    log: bool

    @classmethod
    def of(cls, stops: Sequence[Stop], few: int, log: bool) -> "_Values":
        estimates = [stop.value for stop in stops]
        ends = [estimate.value for estimate in estimates]
        # Bands of stops on very few items would squeeze all else.
        ends += [end for e in estimates if e.n >= few for end in (e.low, e.high) if end is not None]
        positive = [end for end in ends if end > 0]
        if log and positive:
            return cls(10.0 ** math.floor(math.log10(min(positive))), max(positive) * 1.3, True)
        lowest, highest = min(0.0, *ends), max(0.0, *ends)
        return cls(lowest, highest + (highest - lowest or 1.0) * 0.05, False)

    def share(self, value: float) -> float:
        clipped = min(max(value, self.lowest), self.highest)
        if self.log:
            return math.log(clipped / self.lowest) / math.log(self.highest / self.lowest)
        return (clipped - self.lowest) / (self.highest - self.lowest)

    def ticks(self) -> list[float]:
        if not self.log:
            return ticks(self.lowest, self.highest)
        powers = range(round(math.log10(self.lowest)), math.floor(math.log10(self.highest)) + 1)
        return [10.0**power for power in powers]


def _axis(last: float, x: _Scale, axis: str, left: float, right: float, bottom: float) -> list[str]:
    """The axis of seconds, in minutes where it is long."""
    seconds, unit = (60.0, "min") if last > _MINUTES_FROM_S else (1.0, "s")
    parts = [f'<line x1="{left:g}" x2="{right:g}" y1="{bottom:g}" y2="{bottom:g}" class="axis"/>']
    for tick in ticks(0.0, last / seconds, 7):
        at = x(tick * seconds)
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{bottom:g}" y2="{bottom + 4:g}" class="axis"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 17:g}" class="tick middle">{tick:g}</text>')
    middle = (left + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{bottom + 34:g}" class="tick middle">{escaped(axis)} ({unit})</text>')
    return parts


def _plain(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 10_000 or value % 1 else f"{value:,.0f}"


def _solid(line: Course, few: int) -> list[list[Stop]]:
    """The stretches that no stop on few items interrupts."""
    stretches: list[list[Stop]] = [[]]
    for stop in line.stops:
        if stop.value.n >= few:
            stretches[-1].append(stop)
        elif stretches[-1]:
            stretches.append([])
    return [stretch for stretch in stretches if stretch]


def _end(line: Course, few: int) -> Stop:
    solid = _solid(line, few)
    return solid[-1][-1] if solid else line.stops[-1]


def _band(stretch: Sequence[Stop], x: _Scale, y: _Scale, index: int) -> str:
    known = [
        (stop.at, stop.value.low, stop.value.high)
        for stop in stretch
        if stop.value.low is not None and stop.value.high is not None
    ]
    upper = [f"{x(at):.1f},{y(high):.1f}" for at, _, high in known]
    lower = [f"{x(at):.1f},{y(low):.1f}" for at, low, _ in reversed(known)]
    return f'<polygon points="{" ".join(upper + lower)}" class="band m{index % COLOURS}"/>' if known else ""
