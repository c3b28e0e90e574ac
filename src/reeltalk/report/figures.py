"""Plots as inline SVG: values with their intervals, and curves over turn positions.

A model is told by its letter, and besides by its colour, its marker and its dash, so that no figure needs colour. The
colours are the style sheet's classes `m0` to `m7`, after Okabe & Ito (2008), darkened until each stands out on paper.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.report.leaderboard import key_of, shown
from reeltalk.report.svg import open_svg
from reeltalk.report.visible import escaped

COLOURS: Final = 8
DASHES: Final = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 2", "12 4")
"""Seven, not eight: colour and dash together repeat after 56 models."""
FEW: Final = 30
"""A point that rests on fewer turns is drawn faded and without a line to it."""
MOST_BANDS: Final = 8
"""With more lines their bands would hide each other, and are not drawn."""

_LETTER_HEIGHT: Final = 11.0
_POSITIONS_SHOWN: Final = 16
_AXIS_LETTERS: Final = 72
"""Letters that fit below the plot."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval."""

    value: float
    low: float | None
    high: float | None
    n: int = 0
    videos: int | None = None
    """Source videos that it rests on; None where a run of an older version does not say."""

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return shown(self.value)
        return f"{shown(self.value)} [{shown(self.low)}, {shown(self.high)}]"


@dataclass(frozen=True)
class Series:
    """One model's line."""

    index: int
    """The model's place in the leaderboard, which decides its letter and looks."""
    name: str
    points: Sequence[tuple[int, Estimate]]
    """By position from 1, in order."""


_Point = tuple[int, Estimate]
_Scale = Callable[[float], float]


def marker(
    index: int, x: float, y: float, size: float, *, faded: bool = False, hollow: bool = False, title: str = ""
) -> str:
    """The shape of a model: one of six; hollow for the second of two values."""
    paths = (
        "",
        "M-.9-.9H.9V.9H-.9Z",
        "M0-1.15L1.1.85H-1.1Z",
        "M0-1.25L1.25 0 0 1.25-1.25 0Z",
        "M0 1.15L1.1-.85H-1.1Z",
        "M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
    )
    path = paths[index % len(paths)]
    shape = f'class="dot m{index % COLOURS}{" faded" if faded else ""}{" hollow" if hollow else ""}"'
    if hollow:
        # Paths are drawn in units of their size, lines too.
        shape += f' stroke-width="{1.6 / size if path else 1.6:.2g}"'
    inner = f"<title>{escaped(title)}</title>" if title else ""
    if not path:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" {shape}>{inner}</circle>'
    return f'<path d="{path}" transform="translate({x:.1f} {y:.1f}) scale({size:g})" {shape}>{inner}</path>'


def swatch(index: int) -> str:
    """The line and marker of a model, for a legend."""
    return (
        '<svg viewBox="0 0 30 10" class="swatch" aria-hidden="true">'
        f'<line x1="1" x2="29" y1="5" y2="5" class="line m{index % COLOURS}"{dash(index)}/>'
        f"{marker(index, 15, 5, 3.2)}</svg>"
    )


def whiskers(
    rows: Sequence[tuple[str, Estimate | None]],
    *,
    title: str,
    band: Estimate | None = None,
    floors: Sequence[float | None] = (),
) -> str:
    """A marker with its interval for each model, one below the other; empty where no model has a value.

    Args:
        rows: Model names with their values; None where there is none.
        title: What is plotted, for readers who do not see it.
        band: An estimate whose interval is drawn behind all rows, to compare them with.
        floors: For each row what knows nothing would get, as a dashed mark; None, or none at all, where nobody knows.
    """
    width, row_height, top, left, right = 340, 19, 4, 26, 12
    ends = [end for _, e in rows if e for end in (e.value, e.low, e.high) if end is not None]
    if not ends:
        return ""
    ends += [floor for floor in floors if floor is not None]
    lowest, highest = min(ends), max(ends)
    margin = (highest - lowest or abs(highest) or 1.0) * 0.06
    lowest, highest = lowest - margin, highest + margin
    bottom = top + row_height * len(rows)

    def x(value: float) -> float:
        return left + (value - lowest) / (highest - lowest) * (width - left - right)

    parts = [open_svg(width, bottom + 20, title)]
    if band is not None and band.low is not None and band.high is not None:
        parts.append(
            f'<rect x="{x(band.low):.1f}" width="{x(band.high) - x(band.low):.1f}" y="{top}" '
            f'height="{bottom - top}" class="behind"/>'
        )
    for tick in ticks(lowest, highest):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{bottom}" class="grid"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 14}" class="tick middle">{tick:.4g}</text>')
    for index, (name, estimate) in enumerate(rows):
        y = top + row_height * (index + 0.5)
        parts.append(f'<text x="4" y="{y + 4:.1f}" class="letter m{index % COLOURS}">{key_of(index)}</text>')
        if estimate is None:
            parts.append(f'<text x="{left}" y="{y + 4:.1f}" class="tick">not scored</text>')
            continue
        if index < len(floors) and (floor := floors[index]) is not None:
            parts.append(
                f'<line x1="{x(floor):.1f}" x2="{x(floor):.1f}" y1="{y - row_height / 2:.1f}" '
                f'y2="{y + row_height / 2:.1f}" class="floor"><title>floor: {shown(floor)}</title></line>'
            )
        if estimate.low is not None and estimate.high is not None:
            parts.append(
                f'<line x1="{x(estimate.low):.1f}" x2="{x(estimate.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                f'class="whisker m{index % COLOURS}"/>'
            )
        parts.append(marker(index, x(estimate.value), y, 4, title=f"{key_of(index)} {name}: {estimate}"))
    parts.append("</svg>")
    return "".join(parts)


def curves(
    series: Sequence[Series],
    *,
    title: str,
    axis: str = "turn",
    labels: Sequence[str] = (),
    few: int = FEW,
) -> str:
    """Values over turn positions: a line for each model, its interval as a band, its letter at the line's end.

    More than `MOST_BANDS` lines have no bands.

    Args:
        series: The lines.
        title: What is plotted, for readers who do not see it.
        axis: What the positions are.
        labels: Names of the positions from 1; their numbers where there are none.
        few: Points on fewer items are faded and not joined.
    """
    width, left, right, top, bottom = 460, 52, 18, 8, 40
    # As many letters as there are lines stand below each other at their ends.
    height = max(250, top + bottom + round(_LETTER_HEIGHT * len(series)))
    points = [point for line in series for point in line.points]
    if not points:
        return ""
    first, last = min(p for p, _ in points), max(p for p, _ in points)
    # Bands of points on very few turns would squeeze all else; the axis follows the values and the solid bands.
    ends = [e.value for _, e in points]
    ends += [end for _, e in points if e.n >= few for end in (e.low, e.high) if end is not None]
    lowest, highest = min(0.0, *ends), max(0.0, *ends)
    highest += (highest - lowest or 1.0) * 0.05

    # Names are wider than numbers, and keep clear of the ends.
    spare = 0.5 if labels else 0.0

    def x(position: float) -> float:
        return left + (position - first + spare) / max(last - first + 2 * spare, 1) * (width - left - right)

    def y(value: float) -> float:
        clipped = min(max(value, lowest), highest)
        return top + (highest - clipped) / (highest - lowest) * (height - top - bottom)

    parts = [open_svg(width, height, title)]
    for tick in ticks(lowest, highest):
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{left - 7}" y="{y(tick) + 4:.1f}" class="tick end">{tick:.4g}</text>')
    parts += _positions(points, x, height - bottom, axis, labels)
    for line in series if len(series) <= MOST_BANDS else ():
        parts += [_band(segment, x, y, line.index) for segment in _solid(line, few) if len(segment) > 1]
    for line in series:
        for segment in _solid(line, few):
            path = " ".join(f"{x(p):.1f},{y(e.value):.1f}" for p, e in segment)
            looks = f'class="line m{line.index % COLOURS}"{dash(line.index)}'
            parts.append(f'<polyline points="{path}" {looks}/>')
        for position, estimate in line.points:
            where = labels[position - 1] if labels else position
            told = f"{key_of(line.index)} {line.name}, {axis} {where}: {estimate}, n = {estimate.n}"
            faded = estimate.n < few
            parts.append(marker(line.index, x(position), y(estimate.value), 2.6, faded=faded, title=told))
    ends_of_lines = sorted((y(e.value), x(p) + 7, line.index) for line in series for p, e in [_end(line, few)])
    heights = spread([at for at, _, _ in ends_of_lines], lowest=top, highest=height - bottom)
    for at, (_, start, index) in zip(heights, ends_of_lines, strict=True):
        looks = f'class="letter halo m{index % COLOURS}"'
        parts.append(f'<text x="{start:.1f}" y="{at + 4:.1f}" {looks}>{key_of(index)}</text>')
    parts.append("</svg>")
    return "".join(parts)


def ticks(lowest: float, highest: float, wanted: int = 5) -> list[float]:
    """Round numbers within a range, about as many as wanted."""
    raw = max(highest - lowest, 1e-9) / wanted
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = magnitude * next(factor for factor in (1, 2, 5, 10) if factor * magnitude >= raw * 0.7)
    first, last = math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def dash(index: int) -> str:
    """The dash of a model's line as an attribute; none for a line that is drawn through."""
    lengths = DASHES[index % len(DASHES)]
    return f' stroke-dasharray="{lengths}"' if lengths else ""


def _solid(line: Series, few: int) -> list[list[_Point]]:
    """The stretches of neighbouring points that rest on enough turns: what a line may join."""
    stretches: list[list[_Point]] = []
    before: int | None = None
    for position, estimate in line.points:
        if estimate.n < few:
            continue
        if before is None or position != before + 1:
            stretches.append([])
        stretches[-1].append((position, estimate))
        before = position
    return stretches


def _end(line: Series, few: int) -> _Point:
    """Where a line ends, for its letter."""
    solid = _solid(line, few)
    return solid[-1][-1] if solid else line.points[-1]


def _band(stretch: Sequence[_Point], x: _Scale, y: _Scale, index: int) -> str:
    upper = [f"{x(p):.1f},{y(e.high):.1f}" for p, e in stretch if e.low is not None and e.high is not None]
    lower = [f"{x(p):.1f},{y(e.low):.1f}" for p, e in reversed(stretch) if e.low is not None and e.high is not None]
    return f'<polygon points="{" ".join(upper + lower)}" class="band m{index % COLOURS}"/>' if upper else ""


def _positions(points: Sequence[_Point], x: _Scale, bottom: float, axis: str, labels: Sequence[str]) -> list[str]:
    """The axis: turn positions, and under each on how many turns its points rest."""
    counts: dict[int, list[int]] = {}
    for position, estimate in sorted(points, key=lambda point: point[0]):
        counts.setdefault(position, []).append(estimate.n)
    widest = max((len(label) for label in labels), default=0)
    most_shown = min(_POSITIONS_SHOWN, _AXIS_LETTERS // (widest + 2)) if labels else _POSITIONS_SHOWN
    every = 1 + (len(counts) - 1) // max(1, most_shown)
    parts = [f'<text x="2" y="{bottom + 16:g}" class="tick">{escaped(axis)}</text>']
    parts.append(f'<text x="2" y="{bottom + 30:g}" class="tick">n</text>')
    for place, (position, found) in enumerate(counts.items()):
        if place % every == 0:
            most = max(found)
            # Models may have answered different numbers of turns there: the figure then names the largest.
            name = escaped(labels[position - 1]) if labels else position
            count = f"{most}" if min(found) == most else f"≤{most}"
            parts.append(f'<text x="{x(position):.1f}" y="{bottom + 16:g}" class="tick middle">{name}</text>')
            parts.append(f'<text x="{x(position):.1f}" y="{bottom + 30:g}" class="tick middle count">{count}</text>')
    return parts


def spread(heights: Sequence[float], *, lowest: float, highest: float) -> list[float]:
    """Sorted heights moved apart until letters at them do not overlap, and kept inside the plot."""
    apart = min(_LETTER_HEIGHT, (highest - lowest) / max(len(heights), 1))
    spread: list[float] = []
    for height in heights:
        spread.append(max(height, spread[-1] + apart) if spread else height)
    limit = highest
    for place in range(len(spread) - 1, -1, -1):
        spread[place] = min(spread[place], limit)
        limit = spread[place] - apart
    return spread
