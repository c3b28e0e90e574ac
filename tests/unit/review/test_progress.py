"""Progress over time: counted by hand, forecasts only from enough work, and charts that stay in their frame."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from askers import World
from team import make_team, on_databases

from reeltalk.review.drawing import LEFT, LINE_HEIGHT, RIGHT, WIDTH, draw_bars, draw_line
from reeltalk.review.progress import FARTHEST, forecast_of, progress_over_time, queue_over_time
from reeltalk.review.tables import AssignmentRow

TODAY = date(2026, 11, 26)


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", on_databases(metafunc.definition.name), indirect=True)


def test_a_forecast_goes_on_as_on_the_last_days_and_says_its_range() -> None:
    found = forecast_of([10, 0, 10, 10, 0, 10], 60, TODAY)
    assert found is not None
    assert (found.per_active_day, found.active_days, found.days) == (10.0, 4, 6)
    # 40 turns in 6 days: 60 more take 9.
    assert found.end == TODAY + timedelta(days=9)
    assert found.earliest is not None
    assert found.latest is not None
    assert TODAY < found.earliest < found.end < found.latest


@pytest.mark.parametrize("whole", [[], [10], [10, 10, 10], [0] * 14, [10, 0, 0, 0, 0, 10, 10]])
def test_there_is_no_forecast_without_enough_days_of_work(whole: list[int]) -> None:
    assert forecast_of(whole, 60, TODAY) is None


def test_a_range_that_reaches_nothing_has_no_latest_day_and_a_far_end_is_none() -> None:
    found = forecast_of([1, 1, 1, 100, 0, 0, 0, 0, 0, 0], 60, TODAY)
    assert found is not None
    assert (found.latest, found.end) == (None, TODAY + timedelta(days=6))
    assert forecast_of([1, 1, 1, 1], FARTHEST * 2, TODAY).end is None  # type: ignore[union-attr]


def test_turns_are_counted_once_for_each_person_and_without_today_in_the_forecast(world: World) -> None:
    unit = world.unit()
    works = [world.work("annotator", "submitted", unit), world.work("other", "submitted", unit)]
    works += [world.work("annotator", "submitted") for _ in range(4)]
    with world.changing() as change:
        for number, work in enumerate(works):
            at = datetime(2026, 11, 26 - number, 23, 59, tzinfo=UTC)
            change.session.get_one(AssignmentRow, work).submitted_at = at.isoformat().replace("+00:00", "Z")
    with world.team.project.database.reading() as session:
        turns = next(queue for queue in progress_over_time(session, TODAY) if queue.id == "turns")
    assert turns.days == tuple((TODAY - timedelta(days=5 - number), 3) for number in range(6))
    # Three units of the benchmark for two people, and four for one more.
    assert (turns.submitted, turns.needed) == (18, 3 * 3 * 2 + 4 * 3)
    assert turns.forecast is not None
    assert (turns.forecast.days, turns.forecast.end) == (5, TODAY + timedelta(days=10))
    owner = world.browsers["owner"]
    assert "18 turns are submitted, 30 are left" in owner.get("/progress").text
    assert owner.get("/api/progress").json()["queues"][0]["needed"] == 30
    assert "Review turns,2026-11-26,3" in owner.get("/api/progress?format=csv").text.splitlines()


@pytest.mark.parametrize(
    ("turns", "needed"),
    [
        ({TODAY: 1}, 0),
        ({TODAY: 1}, 100_000),
        ({TODAY - timedelta(days=n): 10 + n % 3 for n in range(20)}, 300),
        ({TODAY - timedelta(days=n): n % 7 for n in range(400)}, 5),
        ({TODAY - timedelta(days=n): 1 for n in range(9)}, 10**6),
        ({TODAY - timedelta(days=n): 10 for n in range(1, 9)}, 10),
        ({TODAY - timedelta(days=n): 50 if n == 3 else 1 for n in range(1, 15)}, 90),
    ],
)
def test_charts_stay_in_their_frame(turns: dict[date, int], needed: int) -> None:
    queue = queue_over_time("turns", "Turns", turns, needed, TODAY)
    lines, bars = draw_line(queue), draw_bars(queue)
    points = re.findall(r"([-\d.]+),([-\d.]+)", f"{lines.line} {lines.band} {lines.ahead}")
    assert points
    for x, y in points:
        assert LEFT <= float(x) <= WIDTH - RIGHT
        assert 0 <= float(y) <= LINE_HEIGHT
    assert 0 <= lines.goal <= LINE_HEIGHT
    assert sum(int(re.sub(r"\D", "", bar.title.split(": ")[1])) for bar in bars.bars) == queue.submitted
    for bar in bars.bars:
        assert LEFT <= bar.x
        assert bar.x + bar.width <= WIDTH - RIGHT + 0.1
        assert bar.height >= 0
        assert bar.y >= 0
    assert (queue.forecast is not None) == bool(lines.band)
    for chart in (lines, bars):
        ats = [tick.at for tick in chart.across]
        assert ats == sorted(ats)
        assert len({tick.text for tick in chart.up}) == 3
