"""A forest plot: the difference of each model to one that they are compared with, as inline SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from reeltalk.report.figures import COLOURS, Estimate, marker, ticks
from reeltalk.report.leaderboard import key_of
from reeltalk.report.svg import open_svg
from reeltalk.report.visible import escaped


@dataclass(frozen=True)
class Against:
    """A model's difference to the one that all are compared with."""

    index: int
    """The model's place in the leaderboard."""
    name: str
    difference: Estimate | None
    """None where there is none; then the row says so."""
    told: str
    """What it shows, in words."""
    shown: bool
    """True where the corrected test tells the two apart; else the marker is hollow."""


def forest(rows: Sequence[Against], *, title: str) -> str:
    """Differences with their intervals around a line at zero; empty where there are none.

    Args:
        rows: The models from above.
        title: What is plotted, for readers who do not see it.
    """
    width, row_height, top, left, right = 340, 19, 4, 26, 12
    found = [row.difference for row in rows if row.difference is not None]
    if not found:
        return ""
    ends = [0.0, *(end for e in found for end in (e.value, e.low, e.high) if end is not None)]
    lowest, highest = min(ends), max(ends)
    margin = (highest - lowest or 1.0) * 0.06
    lowest, highest = lowest - margin, highest + margin
    bottom = top + row_height * len(rows)

    def x(value: float) -> float:
        return left + (value - lowest) / (highest - lowest) * (width - left - right)

    parts = [open_svg(width, bottom + 20, title)]
    for tick in ticks(lowest, highest):
        parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{top}" y2="{bottom}" class="grid"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{bottom + 14}" class="tick middle">{f"{tick:+.4g}" if tick else "0"}</text>'
        )
    parts.append(f'<line x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{top}" y2="{bottom}" class="axis"/>')
    for place, row in enumerate(rows):
        y = top + row_height * (place + 0.5)
        looks = f"m{row.index % COLOURS}"
        parts.append(f'<text x="4" y="{y + 4:.1f}" class="letter {looks}">{key_of(row.index)}</text>')
        estimate = row.difference
        if estimate is None:
            parts.append(
                f'<text x="{left}" y="{y + 4:.1f}" class="tick">not compared<title>{escaped(row.told)}</title></text>'
            )
            continue
        if estimate.low is not None and estimate.high is not None:
            parts.append(
                f'<line x1="{x(estimate.low):.1f}" x2="{x(estimate.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
                f'class="whisker {looks}"/>'
            )
        told = f"{key_of(row.index)} {row.name}: {row.told}"
        parts.append(marker(row.index, x(estimate.value), y, 4, hollow=not row.shown, title=told))
    parts.append("</svg>")
    return "".join(parts)
