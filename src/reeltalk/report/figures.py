"""Plots as inline SVG: values with their intervals, and curves over turn positions.

Colours are those of Okabe & Ito (2008), which people with any colour vision tell apart; each model also has a dash
and a marker of its own.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#7A6A00", "#666666")
DASHES: Final = ("", "7 3", "2 3", "9 3 2 3", "5 2", "1 2", "12 4", "3 1")
FEW: Final = 30
"""A point that rests on fewer turns is drawn faded."""


@dataclass(frozen=True)
class Estimate:
    """A value with its interval."""

    value: float
    low: float | None
    high: float | None
    n: int = 0


def colour(index: int) -> str:
    """The colour of the model at that place of the leaderboard."""
    return COLOURS[index % len(COLOURS)]


def _ticks(lowest: float, highest: float, wanted: int = 5) -> list[float]:
    """Round numbers that span the range."""
    raw = max(highest - lowest, 1e-9) / wanted
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = magnitude * next(factor for factor in (1, 2, 5, 10) if factor * magnitude >= raw * 0.7)
    first, last = math.ceil(lowest / step - 1e-9), math.floor(highest / step + 1e-9)
    return [round(number * step, 10) for number in range(first, last + 1)]


def _label(tick: float) -> str:
    return f"{tick:.4g}"


def whiskers(rows: Sequence[tuple[str, Estimate | None]], *, title: str) -> str:
    """A dot with its interval for each model, one below the other.

    Args:
        rows: Model names with their values; None where there is none.
        title: What is plotted, for readers who do not see it.
    """
    width, row_height, top, left, right = 340, 20, 6, 12, 12
    height = top + row_height * len(rows) + 22
    ends = [end for _, e in rows if e for end in (e.value, e.low, e.high) if end is not None]
    if not ends:
        return ""
    lowest, highest = min(ends), max(ends)
    margin = (highest - lowest or 1.0) * 0.06
    lowest, highest = lowest - margin, highest + margin

    def x(value: float) -> float:
        return left + (value - lowest) / (highest - lowest) * (width - left - right)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" class="figure">']
    bottom = top + row_height * len(rows)
    for tick in _ticks(lowest, highest):
        if lowest <= tick <= highest:
            parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{bottom}" class="grid"/>')
            parts.append(
                f'<text x="{x(tick):.1f}" y="{bottom + 14}" class="tick" text-anchor="middle">{_label(tick)}</text>'
            )
    for index, (name, estimate) in enumerate(rows):
        y = top + row_height * (index + 0.5)
        if estimate is None:
            parts.append(f'<text x="{left}" y="{y + 4:.1f}" class="tick">not scored</text>')
            continue
        text = f"{name}: {estimate.value:.4f}"
        if estimate.low is not None and estimate.high is not None:
            text += f" [{estimate.low:.4f}, {estimate.high:.4f}]"
            parts.append(
                f'<line x1="{x(estimate.low):.1f}" x2="{x(estimate.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                f'stroke="{colour(index)}" stroke-width="2.5" stroke-linecap="round" opacity=".55"/>'
            )
        parts.append(
            f'<circle cx="{x(estimate.value):.1f}" cy="{y:.1f}" r="4.2" fill="{colour(index)}">'
            f"<title>{escape(text)}</title></circle>"
        )
    parts.append("</svg>")
    return "".join(parts)


def curves(series: Sequence[tuple[int, str, Sequence[tuple[int, Estimate]]]], *, title: str) -> str:
    """Values over turn positions, a line a model with its interval as a band.

    Args:
        series: The model's place in the leaderboard (for its colour), its name, and its points by position from 1.
        title: What is plotted, for readers who do not see it.
    """
    width, height, left, right, top, bottom = 460, 250, 56, 14, 10, 40
    points = [(position, estimate) for _, _, line in series for position, estimate in line]
    if not points:
        return ""
    positions = [position for position, _ in points]
    first, last = min(positions), max(positions)
    # Bands of points on very few turns would squeeze all else; the axis follows the values and the solid bands.
    ends = [e.value for _, e in points]
    ends += [end for _, e in points if e.n >= FEW for end in (e.low, e.high) if end is not None]
    lowest, highest = min(0.0, *ends), max(ends) or 1.0
    highest += (highest - lowest) * 0.05

    def x(position: float) -> float:
        return left + (position - first) / max(last - first, 1) * (width - left - right)

    def y(value: float) -> float:
        clipped = min(max(value, lowest), highest)
        return top + (highest - clipped) / (highest - lowest) * (height - top - bottom)

    parts = [f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}" class="figure">']
    for tick in _ticks(lowest, highest):
        if lowest <= tick <= highest:
            parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" class="grid"/>')
            parts.append(
                f'<text x="{left - 6}" y="{y(tick) + 4:.1f}" class="tick" text-anchor="end">{_label(tick)}</text>'
            )
    counts = {position: max(e.n for p, e in points if p == position) for position in sorted(set(positions))}
    every = 1 + len(counts) // 16
    for position, count in counts.items():
        if (position - first) % every == 0:
            at = f'x="{x(position):.1f}" text-anchor="middle"'
            parts.append(f'<text {at} y="{height - bottom + 15}" class="tick">{position}</text>')
            parts.append(f'<text {at} y="{height - bottom + 28}" class="tick faint">{count}</text>')
    parts.append(f'<text x="2" y="{height - bottom + 15}" class="tick">turn</text>')
    parts.append(f'<text x="2" y="{height - bottom + 28}" class="tick faint">n</text>')
    for index, _, line in series:
        banded = [(p, e.low, e.high) for p, e in line if e.low is not None and e.high is not None and e.n >= FEW]
        if len(banded) > 1:
            upper = [f"{x(p):.1f},{y(high):.1f}" for p, _, high in banded if high is not None]
            lower = [f"{x(p):.1f},{y(low):.1f}" for p, low, _ in reversed(banded) if low is not None]
            parts.append(f'<polygon points="{" ".join(upper + lower)}" fill="{colour(index)}" opacity=".10"/>')
    for index, name, line in series:
        path = " ".join(f"{x(p):.1f},{y(e.value):.1f}" for p, e in line if e.n >= FEW)
        tail = [(p, e) for p, e in line if e.n < FEW]
        dash = f' stroke-dasharray="{DASHES[index % len(DASHES)]}"' if DASHES[index % len(DASHES)] else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour(index)}" stroke-width="2"{dash}/>')
        for position, estimate in line:
            faded = ' opacity=".35"' if (position, estimate) in tail else ""
            parts.append(
                f'<circle cx="{x(position):.1f}" cy="{y(estimate.value):.1f}" r="2.6" fill="{colour(index)}"{faded}>'
                f"<title>{escape(name)}, turn {position}: {estimate.value:.4f}, n = {estimate.n}</title></circle>"
            )
    parts.append("</svg>")
    return "".join(parts)


def swatch(index: int) -> str:
    """The line and marker of a model, for a legend."""
    dash = f' stroke-dasharray="{DASHES[index % len(DASHES)]}"' if DASHES[index % len(DASHES)] else ""
    return (
        '<svg viewBox="0 0 30 10" class="swatch" aria-hidden="true">'
        f'<line x1="1" x2="29" y1="5" y2="5" stroke="{colour(index)}" stroke-width="2"{dash}/>'
        f'<circle cx="15" cy="5" r="3" fill="{colour(index)}"/></svg>'
    )
