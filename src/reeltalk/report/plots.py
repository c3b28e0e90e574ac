"""More plots as inline SVG: two values of each model, groups side by side, and values against a quantity."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.report.figures import COLOURS, Estimate, marker, ticks
from reeltalk.report.leaderboard import key_of
from reeltalk.report.svg import open_svg
from reeltalk.report.visible import escaped

_LETTER_WIDTH: Final = 7.4
"""Of the figures' letters on a phone, where they are larger, about."""
_SPOT_WIDTH: Final = 10.0

_Scale = Callable[[float], float]


@dataclass(frozen=True)
class Pair:
    """Two values of one model."""

    index: int
    """The model's place in the leaderboard."""
    name: str
    first: Estimate | None
    second: Estimate | None


@dataclass(frozen=True)
class Grouped:
    """The values of one group, by place in the leaderboard."""

    name: str
    values: Sequence[tuple[int, str, Estimate]]
    """The model's place, its name, and its value."""


@dataclass(frozen=True)
class Spot:
    """A model's value at a quantity."""

    index: int
    name: str
    at: float
    value: Estimate


def pairs(rows: Sequence[Pair], *, title: str, labels: tuple[str, str]) -> str:
    """Two values with their intervals for each model, the first filled and the second hollow; empty without rows.

    Args:
        rows: The models.
        title: What is plotted, for readers who do not see it.
        labels: What the two values are, for the drawing's tooltips.
    """
    estimates = [estimate for row in rows for estimate in (row.first, row.second) if estimate is not None]
    if not estimates:
        return ""
    width, row_height, top, left, right = 340, 26, 4, 26, 12
    lowest, highest = _range(estimates)
    bottom = top + row_height * len(rows)

    def x(value: float) -> float:
        return left + (value - lowest) / (highest - lowest) * (width - left - right)

    parts = [open_svg(width, bottom + 20, title)]
    parts += _grid(lowest, highest, x, top, bottom)
    for place, row in enumerate(rows):
        middle = top + row_height * (place + 0.5)
        parts.append(
            f'<text x="4" y="{middle + 4:.1f}" class="letter m{row.index % COLOURS}">{key_of(row.index)}</text>'
        )
        for estimate, label, y, hollow in (
            (row.first, labels[0], middle - 5, False),
            (row.second, labels[1], middle + 5, True),
        ):
            if estimate is not None:
                told = f"{key_of(row.index)} {row.name}, {label}: {estimate}, n = {estimate.n}"
                parts += _whisker(row.index, estimate, x, y, told, hollow=hollow)
    parts.append("</svg>")
    return "".join(parts)


def groups(rows: Sequence[Grouped], *, title: str, few: int) -> str:
    """The models' values with their intervals, group by group; empty without values.

    Args:
        rows: The groups from above.
        title: What is plotted, for readers who do not see it.
        few: Values on fewer items are faded.
    """
    estimates = [estimate for row in rows for *_, estimate in row.values]
    if not estimates:
        return ""
    widest = min(22, max(len(row.name) for row in rows))
    line, gap, top, right = 11.0, 9.0, 4.0, 12.0
    left = widest * _LETTER_WIDTH + 24
    width = left + 330
    lowest, highest = _range(estimates)
    bottom = top + sum(line * max(1, len(row.values)) + gap for row in rows)

    def x(value: float) -> float:
        return left + (value - lowest) / (highest - lowest) * (width - left - right)

    parts = [open_svg(width, bottom + 20, title)]
    parts += _grid(lowest, highest, x, top, bottom)
    y = top
    for place, row in enumerate(rows):
        height = line * max(1, len(row.values)) + gap
        if place:
            parts.append(f'<line x1="0" x2="{width - right:g}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        name = row.name if len(row.name) <= widest else row.name[: widest - 1] + "…"
        full = f"<title>{escaped(row.name)}</title>" if name != row.name else ""
        parts.append(f'<text x="0" y="{y + height / 2 + 4:.1f}" class="tick">{escaped(name)}{full}</text>')
        for number, (index, model, estimate) in enumerate(row.values):
            at = y + gap / 2 + line * (number + 0.5)
            told = f"{row.name}: {key_of(index)} {model}: {estimate}, n = {estimate.n}"
            looks = f"letter small m{index % COLOURS}"
            parts.append(f'<text x="{left - 16:.1f}" y="{at + 3.5:.1f}" class="{looks}">{key_of(index)}</text>')
            parts += _whisker(index, estimate, x, at, told, size=3.2, faded=estimate.n < few)
        y += height
    parts.append("</svg>")
    return "".join(parts)


def spots(found: Sequence[Spot], *, title: str, axis: str) -> str:
    """Values with their intervals against a positive quantity on a logarithmic axis; empty without values.

    Args:
        found: One for each model; models may share a quantity.
        title: What is plotted, for readers who do not see it.
        axis: What the quantity is.
    """
    if not found:
        return ""
    width, height, left, right, top, bottom = 460, 260, 52, 22, 16, 42
    lowest, highest = _range([spot.value for spot in found])
    first, last = math.log10(min(spot.at for spot in found)), math.log10(max(spot.at for spot in found))
    margin = max(0.12, (last - first) * 0.06)
    first, last = first - margin, last + margin

    def x(quantity: float) -> float:
        return left + (math.log10(quantity) - first) / (last - first) * (width - left - right)

    def y(value: float) -> float:
        return top + (highest - value) / (highest - lowest) * (height - top - bottom)

    parts = [open_svg(width, height, title)]
    for tick in ticks(lowest, highest):
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
        parts.append(f'<text x="{left - 7}" y="{y(tick) + 4:.1f}" class="tick end">{tick:.4g}</text>')
    for quantity in _log_ticks(first, last):
        at = x(quantity)
        parts.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{height - bottom}" y2="{height - bottom + 4}" class="axis"/>'
        )
        parts.append(f'<text x="{at:.1f}" y="{height - bottom + 16}" class="tick middle">{quantity:g}</text>')
    parts.append(
        f'<line x1="{left}" x2="{width - right}" y1="{height - bottom}" y2="{height - bottom}" class="axis"/>'
        f'<text x="{(left + width - right) / 2:.1f}" y="{height - 8}" class="tick middle">{escaped(axis)}</text>'
    )
    for at, spot in _apart(sorted(found, key=lambda spot: spot.index), x, left + 7, width - right):
        estimate, looks = spot.value, f"m{spot.index % COLOURS}"
        above = y(estimate.value) - 4
        if estimate.low is not None and estimate.high is not None:
            above = y(estimate.high)
            parts.append(
                f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{y(estimate.low):.1f}" y2="{y(estimate.high):.1f}" '
                f'class="whisker {looks}"/>'
            )
        told = f"{key_of(spot.index)} {spot.name}, {axis}: {spot.at:g}: {estimate}"
        parts.append(marker(spot.index, at, y(estimate.value), 4, title=told))
        parts.append(
            f'<text x="{at:.1f}" y="{above - 4:.1f}" class="letter halo middle {looks}">{key_of(spot.index)}</text>'
        )
    parts.append("</svg>")
    return "".join(parts)


def _range(estimates: Sequence[Estimate]) -> tuple[float, float]:
    ends = [end for e in estimates for end in (e.value, e.low, e.high) if end is not None]
    lowest, highest = min(ends), max(ends)
    margin = (highest - lowest or abs(highest) or 1.0) * 0.06
    return lowest - margin, highest + margin


def _apart(found: Sequence[Spot], x: _Scale, lowest: float, highest: float) -> list[tuple[float, Spot]]:
    """Where spots stand: those of about one quantity beside each other, and none outside of the plot."""
    near: dict[int, list[Spot]] = {}
    for spot in found:
        near.setdefault(round(x(spot.at) / _SPOT_WIDTH), []).append(spot)
    placed = []
    for together in near.values():
        half = (len(together) - 1) / 2 * _SPOT_WIDTH
        middle = sum(x(spot.at) for spot in together) / len(together)
        first = max(lowest, min(middle, highest - half) - half)
        placed += [(first + number * _SPOT_WIDTH, spot) for number, spot in enumerate(together)]
    return placed


def _log_ticks(first: float, last: float) -> list[float]:
    """Quantities of one digit whose logarithms lie in a range: 1, 2 and 5 of each power of ten, or fewer."""
    powers = range(math.floor(first), math.ceil(last) + 1)
    digits = (1, 2, 5) if last - first < 3 else (1,)
    found = [digit * 10.0**power for power in powers for digit in digits]
    return [quantity for quantity in found if first <= math.log10(quantity) <= last]


def _grid(lowest: float, highest: float, x: _Scale, top: float, bottom: float) -> list[str]:
    parts = []
    for tick in ticks(lowest, highest):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top:g}" y2="{bottom:g}" class="grid"/>')
        parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 14:.1f}" class="tick middle">{tick:.4g}</text>')
    return parts


def _whisker(
    index: int,
    estimate: Estimate,
    x: _Scale,
    y: float,
    told: str,
    *,
    hollow: bool = False,
    faded: bool = False,
    size: float = 4,
) -> list[str]:
    looks = f"m{index % COLOURS}"
    parts = []
    if estimate.low is not None and estimate.high is not None:
        parts.append(
            f'<line x1="{x(estimate.low):.1f}" x2="{x(estimate.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'class="whisker {"thin " if size < 4 else ""}{"faded " if faded else ""}{looks}"/>'
        )
    return [*parts, marker(index, x(estimate.value), y, size, faded=faded, hollow=hollow, title=told)]
