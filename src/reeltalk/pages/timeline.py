"""A dialogue along its video: clips, when each question is asked, where its answer can be seen, what models saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.analysis.leaderboard import key_of
from reeltalk.analysis.visible import escaped
from reeltalk.pages.charts import COLOURS, ticks
from reeltalk.schema.intervals import Interval

WIDTH: Final = 760
LEFT: Final = 92
RIGHT: Final = 14
ROW: Final = 15
MOST_TURNS: Final = 40
"""Turns that have a line; a longer dialogue's later turns have none."""


@dataclass(frozen=True)
class LineTurn:
    """One turn as a row."""

    number: int
    href: str
    """Where the row leads."""
    asked_at_s: float | None
    evidence: tuple[Interval, ...]


@dataclass(frozen=True)
class LineFrames:
    """The frames that some models saw, all the same ones."""

    models: tuple[int, ...]
    """Places in the leaderboard."""
    times_s: tuple[float, ...]


def draw_timeline(
    title: str,
    end_s: float,
    *,
    clips: Sequence[tuple[str, Interval]] = (),
    turns: Sequence[LineTurn] = (),
    frames: Sequence[LineFrames] = (),
) -> str:
    """A dialogue's time line as inline SVG.

    Args:
        title: What it shows, for readers who do not see it.
        end_s: The video's length in seconds, or the last moment that is known.
        clips: Names and intervals, in the order of time.
        turns: A row each, the first `MOST_TURNS` of them.
        frames: A row each.
    """
    scale = (WIDTH - LEFT - RIGHT) / max(end_s, 0.1)

    def x(time_s: float) -> float:
        return LEFT + min(max(time_s, 0.0), end_s) * scale

    parts: list[str] = []
    top = 4
    if clips:
        parts.append(f'<text class="tick" x="0" y="{top + 10}">Clips</text>')
        for place, (name, interval) in enumerate(clips):
            told = f"{name}: {interval.start_s:.1f} to {interval.end_s:.1f} s"
            parts.append(
                f'<rect class="clip c{place % 2}" x="{x(interval.start_s):.1f}" y="{top}" height="11" '
                f'width="{max(x(interval.end_s) - x(interval.start_s), 1):.1f}"><title>{escaped(told)}</title></rect>'
            )
        top += ROW + 3
    for turn in turns[:MOST_TURNS]:
        parts.append(
            f'<a href="{escaped(turn.href)}">'
            f'<text class="turn-number" x="0" y="{top + 11}">Turn {turn.number}</text></a>'
            f'<path class="track" d="M{LEFT} {top + 7}H{WIDTH - RIGHT}"/>'
        )
        for interval in turn.evidence:
            told = f"evidence of turn {turn.number}: {interval.start_s:.1f} to {interval.end_s:.1f} s"
            parts.append(
                f'<rect class="evidence" x="{x(interval.start_s):.1f}" y="{top + 2}" height="10" '
                f'width="{max(x(interval.end_s) - x(interval.start_s), 2):.1f}"><title>{told}</title></rect>'
            )
        if turn.asked_at_s is not None:
            at = x(turn.asked_at_s)
            parts.append(
                f'<path class="asked-at" d="M{at:.1f} {top + 12}l-4-9h8Z">'
                f"<title>turn {turn.number} is asked at {turn.asked_at_s:.1f} s</title></path>"
            )
        top += ROW
    for row in frames:
        letters = [
            f'<tspan class="m{model % COLOURS}" fill="currentColor">{key_of(model)}</tspan>' for model in row.models[:6]
        ]
        more = "…" if len(row.models) > 6 else ""
        path = "".join(f"M{x(time_s):.1f} {top + 3}v9" for time_s in row.times_s)
        parts.append(
            f'<text class="letter" x="0" y="{top + 11}">{" ".join(letters)}{more}</text>'
            f'<path class="seen-frames m{row.models[0] % COLOURS}" d="{path}"/>'
        )
        top += ROW
    step = ticks(0.0, max(end_s, 0.1), wanted=8)
    axis = "".join(
        f'<path class="grid" d="M{x(at):.1f} 2V{top + 2}"/>'
        f'<text class="tick {"end" if x(at) > WIDTH - 30 else "middle"}" x="{x(at):.1f}" y="{top + 14}">{at:g} s</text>'
        for at in step
    )
    return (
        f'<svg class="dialogue-line" viewBox="0 0 {WIDTH} {top + 18}" role="group" aria-label="{escaped(title)}">'
        f"{axis}{''.join(parts)}</svg>"
    )
