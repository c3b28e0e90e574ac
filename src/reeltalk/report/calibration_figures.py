"""Figures of a calibration: a judge's scores at each rating by people, and models' means by both."""

import math
from collections.abc import Sequence
from typing import Final

from reeltalk.report.agreement_levels import ModelMeans
from reeltalk.report.figures import ticks
from reeltalk.report.leaderboard import shown
from reeltalk.report.visible import escaped

WIDTH: Final = 300
HEIGHT: Final = 210
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 36
MOST_STEPS: Final = 11
LARGEST: Final = 9.0

Point = tuple[float, float, int, str]
Scale = tuple[float, float]


def strips(points: Sequence[Point], *, people: Scale, judge: Scale, title: str) -> str:
    """What a judge says of answers that people rate alike: a disc for each value, its area by how many, and the mean.

    Args:
        points: What people say, what the judge says, of how many answers.
        people: From where to where people rate.
        judge: From where to where the judge does.
        title: What is plotted, for readers who do not see it.
    """
    if not points:
        return ""
    plot = _Plot(people, judge)
    counts: dict[tuple[float, float], int] = {}
    sums: dict[float, list[float]] = {}
    levels, values = len({one for one, _, _, _ in points}), len({other for _, other, _, _ in points})
    for one, other, count, _ in points:
        level = _step(one, people, levels)
        key = (level, _step(other, judge, values))
        counts[key] = counts.get(key, 0) + count
        total = sums.setdefault(level, [0.0, 0.0])
        total[0] += other * count
        total[1] += count
    most = max(counts.values())
    parts = [plot.opened(title), *plot.grid("people", "judge")]
    for (one, other), count in sorted(counts.items()):
        told = f"people {one:.3g}, judge {other:.3g}: {count:,}"
        size = LARGEST * math.sqrt(count / most)
        parts.append(
            f'<circle cx="{plot.x(one):.1f}" cy="{plot.y(other):.1f}" r="{max(size, 0.8):.1f}" class="bubble">'
            f"<title>{escaped(told)}</title></circle>"
        )
    path = [f"{plot.x(level):.1f},{plot.y(total / count):.1f}" for level, (total, count) in sorted(sums.items())]
    parts.append(f'<polyline points="{" ".join(path)}" class="through"/></svg>')
    return "".join(parts)


def means(models: Sequence[ModelMeans], *, people: Scale, judge: Scale, title: str) -> str:
    """Models' means by people and by a judge, each with the model's number.

    Args:
        models: The means, numbered from 1 in this order.
        people: Range of the axis of people.
        judge: Range of the judge's.
        title: What is plotted, for readers who do not see it.
    """
    plot = _Plot(_around([one.people for one in models], people), _around([one.judge for one in models], judge))
    parts = [plot.opened(title), *plot.grid("people", "judge")]
    for number, one in enumerate(models, start=1):
        told = f"{number} {one.model}: people {shown(one.people)}, judge {shown(one.judge)}, n = {one.n}"
        x, y = plot.x(one.people), plot.y(one.judge)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.6" class="point"><title>{escaped(told)}</title></circle>')
        parts.append(f'<text x="{x + 5.5:.1f}" y="{y - 4:.1f}" class="number-of halo">{number}</text>')
    return "".join([*parts, "</svg>"])


def _around(values: Sequence[float], scale: Scale) -> Scale:
    """A range that holds some values with room about them, within a scale."""
    lowest, highest = min(values), max(values)
    room = (highest - lowest) * 0.15 or (scale[1] - scale[0]) * 0.05 or 1.0
    return lowest - room, highest + room


def _step(value: float, scale: Scale, different: int) -> float:
    """The value itself where there are few; else the middle of the step of the scale that it lies in."""
    if different <= MOST_STEPS:
        return value
    width = (scale[1] - scale[0]) / MOST_STEPS
    if width <= 0:
        return value
    place = min(max(int((value - scale[0]) / width), 0), MOST_STEPS - 1)
    return scale[0] + (place + 0.5) * width


class _Plot:
    """Axes: people from left to right, the judge from the bottom up."""

    def __init__(self, people: Scale, judge: Scale) -> None:
        self._people, self._judge = _wide(people), _wide(judge)

    def x(self, value: float) -> float:
        low, high = self._people
        return LEFT + LARGEST + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT - 2 * LARGEST)

    def y(self, value: float) -> float:
        low, high = self._judge
        return TOP + LARGEST + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM - 2 * LARGEST)

    def opened(self, title: str) -> str:
        return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escaped(title)}" class="figure">'

    def grid(self, across: str, up: str) -> list[str]:
        parts = []
        for tick in ticks(*self._people):
            at = self.x(tick)
            parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" class="grid"/>')
            parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}" class="tick middle">{tick:.4g}</text>')
        for tick in ticks(*self._judge):
            at = self.y(tick)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" class="grid"/>')
            parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" class="tick end">{tick:.4g}</text>')
        parts.append(f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" class="tick end">{across} →</text>')
        parts.append(f'<text x="2" y="{HEIGHT - 6}" class="tick">↑ {up}</text>')
        return parts


def _wide(scale: Scale) -> Scale:
    return scale if scale[1] > scale[0] else (scale[0] - 0.5, scale[1] + 0.5)
