"""Radar charts of profiles, and the plot of how frequent tags are against what is achieved at them, as inline SVG.

An axis without a value is a gap in a polygon, never its centre.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.report.figures import COLOURS, DASHES, FEW, Estimate, marker, ticks
from reeltalk.report.leaderboard import key_of
from reeltalk.report.visible import escaped

RINGS: Final = (25, 50, 75, 100)
"""In per cent."""
MOST_POLYGONS: Final = 6
"""More are not told apart in one radar."""
FILLED_UP_TO: Final = 3
"""Fewer polygons than this and one are filled faintly."""
_APART: Final = 3.4
"""Pixels between the whiskers of two models on one axis."""

Scale = Callable[[float], float]


@dataclass(frozen=True)
class Axis:
    """One tag."""

    name: str
    note: str
    """What stands below its name, as `n = 120`."""


@dataclass(frozen=True)
class Polygon:
    """One model's values, in the order of the axes."""

    index: int
    """Its place on the leaderboard, which decides its letter and looks."""
    name: str
    values: Sequence[Estimate | None]


@dataclass(frozen=True)
class Dot:
    """One tag of the plot of frequencies."""

    name: str
    percent: float
    """Of the questions."""
    value: Estimate


def radar(axes: Sequence[Axis], polygons: Sequence[Polygon], *, title: str) -> str:
    """Values from 0 to 100 on axes around a centre: a polygon for each model, whiskers for its intervals.

    Args:
        axes: At least three.
        polygons: At most `MOST_POLYGONS` are told apart.
        title: What is plotted, for readers who do not see it.

    Returns:
        Empty where no model has a value.
    """
    if not any(value is not None for polygon in polygons for value in polygon.values):
        return ""
    angles = [2 * math.pi * place / len(axes) for place in range(len(axes))]
    width, radius, margin = 500.0, 150.0, 40.0
    # A triangle does not reach as far down as up.
    height = 2 * margin + radius * (1 + max(-math.cos(angle) for angle in angles))
    middle = (width / 2, margin + radius)

    def at(angle: float, value: float, aside: float = 0.0) -> tuple[float, float]:
        far = radius * value / 100
        return (
            middle[0] + far * math.sin(angle) + aside * math.cos(angle),
            middle[1] - far * math.cos(angle) + aside * math.sin(angle),
        )

    label = escaped(title)
    parts = [f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}" class="figure radar">']
    for ring in RINGS:
        parts.append(f'<polygon points="{_points([at(angle, ring) for angle in angles])}" class="ring"/>')
    for angle, axis in zip(angles, axes, strict=True):
        (x, y), (far_x, far_y) = at(angle, 100), at(angle, 109)
        parts.append(f'<line x1="{middle[0]:g}" y1="{middle[1]:g}" x2="{x:.1f}" y2="{y:.1f}" class="grid"/>')
        side = "middle" if abs(math.sin(angle)) < 0.1 else "" if math.sin(angle) > 0 else "end"
        lift = -10 if math.cos(angle) > 0.9 else 8 if math.cos(angle) < -0.9 else 0
        name, note = escaped(axis.name), escaped(axis.note)
        parts.append(f'<text x="{far_x:.1f}" y="{far_y + lift:.1f}" class="spoke {side}">{name}</text>')
        parts.append(f'<text x="{far_x:.1f}" y="{far_y + lift + 13:.1f}" class="tick count {side}">{note}</text>')
    between = math.pi / len(axes)
    # Between two axes, where no whisker lies.
    for ring in RINGS:
        x, y = at(between, ring * math.cos(between))
        parts.append(f'<text x="{x:.1f}" y="{y + 3:.1f}" class="tick count middle halo">{ring}</text>')
    places = [(place - (len(polygons) - 1) / 2) * _APART for place in range(len(polygons))]
    for polygon, aside in zip(polygons, places, strict=True):
        parts.append(
            _outline(polygon, [at(a, v.value, aside) if v else None for a, v in _pairs(angles, polygon)], len(polygons))
        )
    for polygon, aside in zip(polygons, places, strict=True):
        look = f"m{polygon.index % COLOURS}"
        for (angle, value), axis in zip(_pairs(angles, polygon), axes, strict=True):
            if value is None:
                continue
            if value.low is not None and value.high is not None:
                (x1, y1), (x2, y2) = at(angle, value.low, aside), at(angle, value.high, aside)
                parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="spread {look}"/>')
            x, y = at(angle, value.value, aside)
            told = f"{key_of(polygon.index)} {polygon.name}, {axis.name}: {value}, n = {value.n:,}"
            parts.append(marker(polygon.index, x, y, 3.1, faded=value.n < FEW, title=told))
    parts += _letters(
        polygons,
        [
            [at(a, v.value, s) if v else None for a, v in _pairs(angles, p)]
            for p, s in zip(polygons, places, strict=True)
        ],
    )
    parts.append("</svg>")
    return "".join(parts)


def frequency_plot(index: int, dots: Sequence[Dot], *, title: str, rare_percent: float, overall: float | None) -> str:
    """What a model achieves at each tag over how frequent the tag is; rare ones are named.

    Args:
        index: The model's place on the leaderboard.
        dots: Its tags.
        title: What is plotted, for readers who do not see it.
        rare_percent: Tags left of this are in the shaded part.
        overall: The model's mean over all questions, drawn across.

    Returns:
        Empty where there are no dots.
    """
    if not dots:
        return ""
    width, height, left, right, top, bottom = 460.0, 268.0, 40.0, 14.0, 10.0, 38.0
    # The square root gives the rare ones, which the figure is about, room beside the frequent ones.
    most = math.sqrt(max(max(dot.percent for dot in dots), 2 * rare_percent))

    def x(percent: float) -> float:
        return left + math.sqrt(percent) / most * (width - left - right)

    def y(value: float) -> float:
        return top + (100 - value) / 100 * (height - top - bottom)

    floor = height - bottom
    parts = [f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escaped(title)}" class="figure">']
    parts.append(
        f'<rect x="{left:g}" y="{top:g}" width="{x(rare_percent) - left:.1f}" height="{floor - top:g}" class="rare"/>'
    )
    for tick in ticks(0, 100):
        parts.append(f'<line x1="{left:g}" x2="{width - right:g}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{left - 7:g}" y="{y(tick) + 4:.1f}" class="tick end">{tick:g}</text>')
    shown = 0.0
    for percent in (1, 5, 10, 20, 40, 60, 80, 100):
        if percent <= most**2 and (percent == rare_percent or x(percent) - shown > 30):
            parts.append(f'<text x="{x(percent):.1f}" y="{floor + 15:g}" class="tick middle">{percent} %</text>')
            shown = x(percent)
    parts.append(
        f'<text x="{width - right:g}" y="{floor + 31:g}" class="tick end">of the questions carry the tag</text>'
    )
    if overall is not None:
        parts.append(
            f'<line x1="{left:g}" x2="{width - right:g}" y1="{y(overall):.1f}" y2="{y(overall):.1f}" class="floor">'
            f"<title>all questions: {overall:.2f}</title></line>"
        )
        parts.append(f'<text x="{width - right:g}" y="{y(overall) - 4:.1f}" class="tick end halo">all questions</text>')
    look = f"m{index % COLOURS}"
    for dot in dots:
        if dot.value.low is not None and dot.value.high is not None:
            parts.append(
                f'<line x1="{x(dot.percent):.1f}" x2="{x(dot.percent):.1f}" y1="{y(dot.value.low):.1f}" '
                f'y2="{y(dot.value.high):.1f}" class="spread {look}"/>'
            )
        told = f"{dot.name}: {dot.value}, {dot.percent:.1f} % of the questions, n = {dot.value.n:,}"
        parts.append(marker(index, x(dot.percent), y(dot.value.value), 3.4, faded=dot.value.n < FEW, title=told))
    parts += _names([dot for dot in dots if dot.percent < rare_percent], x, y, top, floor)
    parts.append("</svg>")
    return "".join(parts)


def _pairs(angles: Sequence[float], polygon: Polygon) -> list[tuple[float, Estimate | None]]:
    return list(zip(angles, polygon.values, strict=True))


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _outline(polygon: Polygon, corners: Sequence[tuple[float, float] | None], polygons: int) -> str:
    """A closed line where every axis has a value; else the sides between neighbours that both have one."""
    dash = DASHES[polygon.index % len(DASHES)]
    look = f'class="line m{polygon.index % COLOURS}"' + (f' stroke-dasharray="{dash}"' if dash else "")
    whole = [corner for corner in corners if corner is not None]
    if len(whole) == len(corners):
        fill = f'<polygon points="{_points(whole)}" class="band m{polygon.index % COLOURS}"/>'
        return (fill if polygons <= FILLED_UP_TO else "") + f'<polygon points="{_points(whole)}" {look}/>'
    sides = []
    for before, after in zip(corners, [*corners[1:], corners[0]], strict=True):
        if before is not None and after is not None:
            sides.append(f"M{before[0]:.1f} {before[1]:.1f}L{after[0]:.1f} {after[1]:.1f}")
    return f'<path d="{"".join(sides)}" {look}/>' if sides else ""


def _letters(polygons: Sequence[Polygon], corners: Sequence[Sequence[tuple[float, float] | None]]) -> list[str]:
    """Each polygon's letter at one of its corners, where it is furthest from all other corners and letters."""
    taken = [corner for own in corners for corner in own if corner is not None]
    parts = []
    for polygon, own in zip(polygons, corners, strict=True):
        spots = []
        for corner in own:
            if corner is None:
                continue
            for dx, dy in ((-10, -6), (10, -6), (10, 10), (-10, 10)):
                spots.append((corner[0] + dx, corner[1] + dy))
        if not spots:
            continue
        best = max(spots, key=lambda spot: min((math.dist(spot, other) for other in taken), default=0.0))
        taken.append(best)
        look = f'class="letter halo middle m{polygon.index % COLOURS}"'
        parts.append(f'<text x="{best[0]:.1f}" y="{best[1] + 4:.1f}" {look}>{key_of(polygon.index)}</text>')
    return parts


def _names(dots: Sequence[Dot], x: Scale, y: Scale, top: float, floor: float) -> list[str]:
    """Names beside dots, moved apart until none lies on another."""
    apart, parts = 12.0, []
    heights: list[float] = []
    for dot in sorted(dots, key=lambda dot: -dot.value.value):
        height = max(y(dot.value.value), heights[-1] + apart if heights else top + 6)
        heights.append(height)
    limit = floor - 2
    for place in range(len(heights) - 1, -1, -1):
        heights[place] = min(heights[place], limit)
        limit = heights[place] - apart
    for dot, height in zip(sorted(dots, key=lambda dot: -dot.value.value), heights, strict=True):
        name = escaped(dot.name)
        parts.append(f'<text x="{x(dot.percent) + 7:.1f}" y="{height + 4:.1f}" class="spoke halo">{name}</text>')
    return parts
