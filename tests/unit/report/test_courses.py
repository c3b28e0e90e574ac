"""Lines against seconds."""

import re
from itertools import pairwise

import pytest

from reeltalk.report.courses import Course, Stop, courses
from reeltalk.report.figures import Estimate


def line(*values: tuple[float, float], n: int = 9, index: int = 0) -> Course:
    stops = [Stop(at, f"{at:g} s", Estimate(value, value * 0.9, value * 1.1, n)) for at, value in values]
    return Course(index, f"model {index}", stops)


def path(svg: str) -> list[tuple[float, float]]:
    (found,) = re.findall(r'<polyline points="([^"]*)"', svg)
    return [(float(x), float(y)) for x, _, y in (pair.partition(",") for pair in found.split())]


def test_what_grows_straight_is_drawn_straight() -> None:
    points = path(courses([line((15, 1.5), (45, 4.5), (600, 60.0), (2700, 270.0))], title="t", axis="asked at"))
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]
    assert slopes == pytest.approx([slopes[-1]] * 3, rel=0.1)


def test_a_power_is_straight_on_a_logarithmic_axis() -> None:
    svg = courses([line((60, 0.01), (120, 0.1), (180, 1.0))], title="t", axis="length", log=True)
    heights = [y for _, y in path(svg)]
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
    assert ">0.1</text>" in svg


@pytest.mark.parametrize(("last_s", "unit"), [(90.0, "(s)"), (900.0, "(min)")])
def test_a_long_axis_is_in_minutes(last_s: float, unit: str) -> None:
    assert unit in courses([line((30, 1.0), (last_s, 2.0))], title="t", axis="asked at")


def test_stops_on_few_items_are_faded_and_interrupt_a_line() -> None:
    few = line((30, 1.0), (90, 2.0))
    svg = courses(
        [Course(0, "m", [*few.stops, Stop(150, "150 s", Estimate(3, None, None, 2))])], title="t", axis="a", few=5
    )
    assert svg.count("faded") == 1
    assert len(path(svg)) == 2


def test_a_zero_stands_at_the_foot_of_a_logarithmic_axis() -> None:
    svg = courses([line((30, 0.0), (60, 5.0))], title="t", axis="a", log=True)
    assert path(svg)[0][1] == pytest.approx(210.0)
    assert courses([line((30, 0.0))], title="t", axis="a", log=True)


def test_names_are_escaped_and_nothing_is_drawn_of_nothing() -> None:
    svg = courses([Course(0, "<b>", [Stop(1, "<i>", Estimate(1, None, None, 1))])], title="<t>", axis="&")
    assert "<b>" not in svg
    assert "<i>" not in svg
    assert courses([], title="t", axis="a") == courses([Course(0, "m", [])], title="t", axis="a") == ""
