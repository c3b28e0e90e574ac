"""Geometry of the charts of progress, which a template draws as SVG. Lengths are in the units of the picture."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from reeltalk.review.progress import Forecast, QueueOverTime

WIDTH: Final = 720
LEFT: Final = 64
RIGHT: Final = 16
TOP: Final = 12
BOTTOM: Final = 28
LINE_HEIGHT: Final = 240
BAR_HEIGHT: Final = 150
MOST_BARS: Final = 98
"""More days than this are drawn as weeks."""
AHEAD: Final = 3.0
"""A forecast is drawn for at most this many times the days so far."""
DATES: Final = 6


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class LineChart:
    """Turns submitted so far, what is needed, and the range of the forecast."""

    line: str
    """Points of the line."""
    goal: float
    """Height of the goal."""
    band: str
    """Points of the range; empty without a forecast."""
    ahead: str
    """Points of the forecast; empty without one."""
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    height: int = LINE_HEIGHT


@dataclass(frozen=True)
class Bar:
    """A day, or a week."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class BarChart:
    """Turns submitted in each day or week."""

    bars: tuple[Bar, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    is_weekly: bool
    height: int = BAR_HEIGHT


def draw_line(queue: QueueOverTime) -> LineChart:
    """The chart of what was submitted so far; the queue has at least one day."""
    first, today = queue.days[0][0], queue.days[-1][0]
    goal = queue.submitted + queue.needed
    last = _last_shown(queue.forecast, first, today)
    span, top = max(1, (last - first).days), _round_up(goal)

    def x(day: date) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (day - first).days / span, 1)

    def y(count: float) -> float:
        return _height(count, top, LINE_HEIGHT)

    done, points = 0, []
    for day, count in queue.days:
        done += count
        points.append(f"{x(day)},{y(done)}")
    band, ahead = "", ""
    if queue.forecast is not None:
        # What lies beyond the end of the chart is cut off there, on the straight line to it.
        bounds = queue.forecast.earliest, queue.forecast.latest
        ends = [_cut(bound, today, last, queue.submitted, goal) for bound in bounds]
        start = f"{x(today)},{y(queue.submitted)}"
        corners = [f"{x(day)},{y(count)}" for day, count in ends]
        corner = [f"{x(last)},{y(goal)}"] if ends[0][1] == goal and ends[1][1] < goal else []
        band = " ".join([start, corners[0], *corner, corners[1]])
        end, reached = _cut(queue.forecast.end, today, last, queue.submitted, goal)
        ahead = f"{start} {x(end)},{y(reached)}"
    return LineChart(" ".join(points), y(goal), band, ahead, _dates(first, last, x), _amounts(top, LINE_HEIGHT))


def draw_bars(queue: QueueOverTime) -> BarChart:
    """The chart of the work of each day; the queue has at least one day."""
    weekly = len(queue.days) > MOST_BARS
    step = 7 if weekly else 1
    sums = [
        (queue.days[start][0], sum(count for _, count in queue.days[start : start + step]))
        for start in range(0, len(queue.days), step)
    ]
    top = _round_up(max(count for _, count in sums))
    # A few days are not drawn as broad as the page.
    each = min((WIDTH - LEFT - RIGHT) / len(sums), 24.0)
    bars = tuple(
        Bar(
            round(LEFT + each * number + each * 0.1, 1),
            _height(count, top, BAR_HEIGHT),
            round(each * 0.8, 1),
            round(BAR_HEIGHT - BOTTOM - _height(count, top, BAR_HEIGHT), 1),
            f"{'Week from ' if weekly else ''}{day:%Y-%m-%d}: {count:,} turns",
        )
        for number, (day, count) in enumerate(sums)
    )
    first, last = sums[0][0], sums[-1][0]

    def x(day: date) -> float:
        return round(LEFT + each * ((day - first).days / step + 0.5), 1)

    room = max(1, int(each * len(sums) // 90))
    return BarChart(bars, _dates(first, last, x, min(room, DATES)), _amounts(top, BAR_HEIGHT), weekly)


def _last_shown(forecast: Forecast | None, first: date, today: date) -> date:
    if forecast is None:
        return today
    so_far = max(7, (today - first).days)
    farthest = today + timedelta(days=int(so_far * AHEAD))
    return min(farthest, forecast.latest or farthest)


def _cut(day: date | None, today: date, last: date, submitted: int, goal: int) -> tuple[date, float]:
    if day is None:
        return last, float(submitted)
    if day <= last:
        return day, float(goal)
    return last, submitted + (goal - submitted) * (last - today).days / max(1, (day - today).days)


def _height(count: float, top: float, height: int) -> float:
    return round(height - BOTTOM - (height - TOP - BOTTOM) * count / top, 1)


def _round_up(count: int) -> int:
    """The next number that can be halved on an axis: 1, 2, 4, 6 or 8 followed by zeros, and at least 4."""
    size = 1
    while True:
        for digit in (1, 2, 4, 6, 8):
            if digit * size >= count:
                return max(4, digit * size)
        size *= 10


def _amounts(top: int, height: int) -> tuple[Tick, ...]:
    return tuple(Tick(_height(top * part / 2, top, height), f"{top * part // 2:,}") for part in range(3))


def _dates(first: date, last: date, x: Callable[[date], float], most: int = DATES) -> tuple[Tick, ...]:
    days = (last - first).days
    step = max(1, -(-days // most))
    long = days > 300
    return tuple(
        Tick(x(day), f"{day:%b %Y}" if long else f"{day.day} {day:%b}")
        for day in (first + timedelta(days=number) for number in range(0, days + 1, step))
    )
