"""Figures of a data set as inline SVG: bars, nested bars, histograms, shares, and a grid of bars.

No figure needs colour: a bar's value stands beside it, inner bars are thinner and fainter, what is rare is an outline.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.report.dataset import Spread
from reeltalk.report.figures import ticks
from reeltalk.report.svg import open_svg
from reeltalk.report.visible import escaped

WIDTH: Final = 460
MOST_LETTERS: Final = 25
"""Of a label; the table below a figure has all."""
MOST_BINS: Final = 14
WIDEST_BAR: Final = 64.0
SECONDS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Steps in which lengths are counted."""
TAIL: Final = 0.98
"""Share of the values that the bins cover; the last bin takes the rest, however great."""


@dataclass(frozen=True)
class Bar:
    """One bar."""

    label: str
    value: float
    told: str
    """What stands beside it."""
    inner: bool = False
    """True for a part of the bar above."""
    rare: bool = False
    """True where it is drawn as an outline."""


@dataclass(frozen=True)
class Bin:
    """A bar of a histogram."""

    low: float
    high: float
    """Not in the bin; infinite in the last one where that is open."""
    count: int
    whole: bool = False
    """True where only whole numbers are counted."""

    @property
    def label(self) -> str:
        """As `60–120`; of whole numbers `5`, or `4–5`."""
        if math.isinf(self.high):
            return f"{self.low:g} and more"
        high = self.high - 1 if self.whole else self.high
        return f"{self.low:g}" if high == self.low else f"{self.low:g}–{high:g}"


def bars(rows: Sequence[Bar], *, title: str, bound: float | None = None, bound_name: str = "") -> str:
    """Bars from left to right, one below the other; nothing where there are none.

    Args:
        rows: The bars; inner ones stand below the one that they are a part of.
        title: What is shown, for readers who do not see it.
        bound: A value at which a dashed line is drawn.
        bound_name: What that value is.
    """
    if not rows:
        return ""
    left, room, top = 158, 220, 4 if bound is None else 16
    most = max(*(row.value for row in rows), bound or 0.0) or 1.0
    parts, y = [], float(top)
    for row in rows:
        height = 13 if row.inner else 19
        wide, high = room * row.value / most, 7 if row.inner else 12
        kind = "rare" if row.rare else "inner" if row.inner else "part"
        indent = 10 if row.inner else 0
        parts.append(
            f'<text x="{left - 8}" y="{y + high - 1:.1f}" class="{"tick end" if row.inner else "name end"}">'
            f"{escaped(_shortened(row.label, MOST_LETTERS - indent // 5))}</text>"
        )
        parts.append(
            f'<rect x="{left}" y="{y:.1f}" width="{max(wide, 0.5):.1f}" height="{high}" class="{kind}">'
            f"<title>{escaped(row.label)}: {escaped(row.told)}</title></rect>"
        )
        parts.append(
            f'<text x="{left + wide + 6:.1f}" y="{y + high - 1:.1f}" class="tick halo">{escaped(row.told)}</text>'
        )
        y += height
    line = []
    if bound is not None:
        x = left + room * bound / most
        line = [f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 2}" y2="{y:.1f}" class="bound"/>']
        line.append(f'<text x="{x + 4:.1f}" y="10" class="tick">{escaped(bound_name)}</text>')
    return "".join([open_svg(WIDTH, y + 4, title), *line, *parts, "</svg>"])


def bins(spread: Spread, *, steps: Sequence[float] = (), whole: bool = False) -> list[Bin]:
    """Equal parts of the range with how many values lie in each; the last takes a long tail.

    Args:
        spread: The values, none below zero.
        steps: Widths to choose among; any round number where none is given, or the last is too narrow.
        whole: True for whole numbers, whose bins are at least one wide.
    """
    if not spread.n:
        return []
    values = sorted(spread.counts)
    covered, upper = 0, values[-1]
    for value in values:
        covered += spread.counts[value]
        if covered >= TAIL * spread.n:
            upper = value
            break
    low = values[0]
    if whole and values[-1] - low < MOST_BINS:
        upper = values[-1]
    fine = (upper - low) / MOST_BINS
    step = next((step for step in steps if step >= fine), None) or _round_step(fine, whole=whole)
    start = math.floor(low / step) * step
    wanted = int((upper - start) / step) + 1
    counts = [0] * (wanted + 1)
    for value, count in spread.counts.items():
        counts[min(wanted, int((value - start) / step + 1e-9))] += count
    ends = [_round(start + n * step) for n in range(wanted + 1)]
    found = [Bin(ends[n], ends[n + 1], counts[n], whole) for n in range(wanted)]
    return [*found, Bin(ends[-1], math.inf, counts[wanted], whole)] if counts[wanted] else found


def histogram(found: Sequence[Bin], *, title: str, axis: str, mark: float | None = None, mark_name: str = "") -> str:
    """Bars from below, with how many values lie in each.

    Args:
        found: From `bins`.
        title: What is shown, for readers who do not see it.
        axis: What is measured.
        mark: A value at which a dashed line is drawn, where it lies within.
        mark_name: What that value is.
    """
    if not found:
        return ""
    left, right, top, bottom, height = 8, 8, 22, 34, 190
    bar = min(WIDEST_BAR, (WIDTH - left - right) / len(found))
    tallest = max(each.count for each in found)
    base = height - bottom
    parts = []
    # Letters are about 8 wide on a phone, where the figure is smaller and its letters are not.
    every = 1 + max(8 * len(each.label) for each in found[: len(found) - 1] or found) // int(bar)
    for place, each in enumerate(found):
        tall = (base - top) * each.count / tallest
        x = left + place * bar
        parts.append(
            f'<rect x="{x + 1.5:.1f}" y="{base - tall:.1f}" width="{bar - 3:.1f}" height="{tall:.1f}" class="part">'
            f"<title>{each.label}: {each.count:,}</title></rect>"
        )
        if each.count:
            parts.append(
                f'<text x="{x + bar / 2:.1f}" y="{base - tall - 4:.1f}" class="tick count middle">{each.count:,}</text>'
            )
        if place % every == 0:
            label = f"{each.low:g}+" if math.isinf(each.high) else each.label if every == 1 else f"{each.low:g}"
            parts.append(f'<text x="{x + bar / 2:.1f}" y="{base + 14}" class="tick middle">{label}</text>')
    parts.append(f'<line x1="{left}" x2="{left + bar * len(found):.1f}" y1="{base}" y2="{base}" class="axis"/>')
    if mark is not None and found[0].low < mark < found[-1].low + (found[0].high - found[0].low):
        x = left + bar * (mark - found[0].low) / (found[0].high - found[0].low)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="12" y2="{base}" class="bound"/>')
        parts.append(f'<text x="{x + 4:.1f}" y="10" class="tick">{escaped(mark_name)}</text>')
    middle = left + bar * len(found) / 2
    parts.append(f'<text x="{middle:.1f}" y="{height - 4}" class="tick middle">{escaped(axis)}</text>')
    return "".join([open_svg(WIDTH, height, title), *parts, "</svg>"])


def shares(rows: Sequence[tuple[str, int]], *, title: str) -> str:
    """One bar in parts that add up to all; nothing where there is nothing.

    Args:
        rows: Names and counts.
        title: What is shown, for readers who do not see it.
    """
    total = sum(count for _, count in rows)
    if not total:
        return ""
    left, room = 8.0, WIDTH - 16.0
    parts, x = [], left
    for place, (name, count) in enumerate(rows):
        wide = room * count / total
        parts.append(
            f'<rect x="{x:.1f}" y="22" width="{wide:.1f}" height="20" class="{("part", "rare", "inner")[place % 3]}">'
            f"<title>{escaped(name)}: {count:,}</title></rect>"
        )
        last = place == len(rows) - 1 and place > 0
        at, anchor = (x + wide, "end") if last else (x, "")
        parts.append(
            f'<text x="{at:.1f}" y="15" class="name {anchor}">{escaped(name)} {100 * count / total:.1f} %</text>'
        )
        x += wide
    return "".join([open_svg(WIDTH, 48, title), *parts, "</svg>"])


def grid(rows: Sequence[tuple[str, Sequence[int]]], heads: Sequence[str], *, title: str) -> str:
    """A bar in every cell, all on one scale.

    Args:
        rows: Names, with a count for each column.
        heads: Names of the columns.
        title: What is shown, for readers who do not see it.
    """
    most = max((count for _, counts in rows for count in counts), default=0)
    if not most:
        return ""
    left = 142
    room = (WIDTH - left - 4) / len(heads)
    parts = [
        f'<text x="{left + place * room:.1f}" y="12" class="tick">{escaped(head)}</text>'
        for place, head in enumerate(heads)
    ]
    for line, (name, counts) in enumerate(rows):
        y = 20 + 18 * line
        parts.append(f'<text x="{left - 8}" y="{y + 10}" class="name end">{escaped(_shortened(name, 18))}</text>')
        for place, count in enumerate(counts):
            x, wide = left + place * room, (room - 32) * count / most
            if count:
                parts.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="11" class="part"/>')
            parts.append(f'<text x="{x + wide + 4:.1f}" y="{y + 10}" class="tick count">{count:,}</text>')
    return "".join([open_svg(WIDTH, 24 + 18 * len(rows), title), *parts, "</svg>"])


def _round_step(fine: float, *, whole: bool) -> float:
    step = ticks(0, max(fine * 2, 1e-6), 2)
    width = next((each for each in step if each >= fine and each > 0), max(fine, 1e-6))
    return max(1.0, math.ceil(width)) if whole else width


def _round(value: float) -> float:
    return round(value, 6)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
