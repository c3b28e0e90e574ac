"""Figures are whole SVG, keep to their frame, and need no colour."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from reeltalk.report.figures import DASHES, FEW, Estimate, Series, curves, marker, swatch, ticks, whiskers

HOSTILE = '"><script>x</script>&\u202e'


def estimate(value: float, n: int = 100) -> Estimate:
    return Estimate(value, value - 0.05, value + 0.05, n)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("text")]


def test_ticks_are_round_and_inside() -> None:
    assert ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(0.083, 0.137) == [0.09, 0.1, 0.11, 0.12, 0.13]
    assert ticks(5, 5) == [5]


@pytest.mark.parametrize("values", [(0.5, 0.3), (0.0, 0.0), (-0.2, -0.1), (1e-9, 2e-9), (70.0, 90.0), (0.4,)])
def test_figures_of_any_values_are_whole_and_finite(values: tuple[float, ...]) -> None:
    bare = [Estimate(value, None, None, 100) for value in values]
    drawn = [
        whiskers([(f"m{value}", estimate) for value, estimate in zip(values, bare, strict=True)], title="t"),
        curves([Series(0, "m", list(enumerate(bare, start=1)))], title="t"),
    ]
    for svg in drawn:
        ElementTree.fromstring(svg)
        assert "nan" not in svg
        assert "inf" not in svg


def test_names_are_escaped_and_what_is_invisible_is_shown() -> None:
    for svg in (
        whiskers([(HOSTILE, estimate(0.5))], title=HOSTILE),
        curves([Series(0, HOSTILE, [(1, estimate(0.5))])], title=HOSTILE),
    ):
        ElementTree.fromstring(svg)
        assert "<script" not in svg
        assert "\u202e" not in svg


def test_a_row_without_a_value_says_so_and_a_figure_without_any_is_left_out() -> None:
    svg = whiskers([("a", estimate(0.5)), ("b", None)], title="t")
    assert texts(svg).count("not scored") == 1
    assert {"A", "B"} <= set(texts(svg))
    assert whiskers([("a", None)], title="t") == ""
    assert curves([], title="t") == ""


def test_rows_are_told_by_letters() -> None:
    svg = whiskers([(f"m{place}", estimate(0.1 * place)) for place in range(30)], title="t")
    assert {"A", "Z", "AA", "AD"} <= set(texts(svg))


def test_a_model_among_fifty_has_looks_of_its_own() -> None:
    looks = {re.sub(r"\s+", " ", swatch(index)) for index in range(50)}
    assert len(looks) == 50
    assert len({marker(index, 0, 0, 1) for index in range(24)}) == 24
    assert len(set(DASHES)) == len(DASHES)


def test_points_on_few_turns_are_faded_and_not_joined() -> None:
    svg = curves([Series(0, "m", [(1, estimate(0.5)), (2, estimate(0.4)), (3, estimate(0.1, n=FEW - 1))])], title="t")
    root = ElementTree.fromstring(svg)
    lines = [element.get("points", "").split() for element in root.iter("polyline")]
    assert [len(line) for line in lines] == [2]
    assert svg.count("faded") == 1
    assert "turn 3: 0.1000 [0.0500, 0.1500], n = 29" in svg


def test_a_line_does_not_bridge_a_gap() -> None:
    svg = curves([Series(0, "m", [(1, estimate(0.5)), (2, estimate(0.5)), (5, estimate(0.5))])], title="t")
    lines = [element.get("points", "").split() for element in ElementTree.fromstring(svg).iter("polyline")]
    assert [len(line) for line in lines] == [2, 1]


def test_the_number_of_turns_stands_under_each_position() -> None:
    series = [
        Series(0, "a", [(1, estimate(0.5, n=450)), (2, estimate(0.5, n=20))]),
        Series(1, "b", [(1, estimate(0.5, n=450)), (2, estimate(0.5, n=18))]),
    ]
    assert {"450", "≤20"} <= set(texts(curves(series, title="t")))


def test_letters_at_the_ends_of_lines_do_not_overlap_and_stay_inside() -> None:
    series = [Series(index, f"m{index}", [(1, estimate(0.0)), (2, estimate(0.0))]) for index in range(12)]
    root = ElementTree.fromstring(curves(series, title="t"))
    heights = sorted(float(text.get("y", "")) for text in root.iter("text") if "letter" in text.get("class", ""))
    assert len(heights) == 12
    assert all(below - above >= 10.9 for above, below in pairwise(heights))
    assert 0 < heights[0]
    assert heights[-1] < 250 - 30


def test_long_dialogues_get_a_readable_axis() -> None:
    svg = curves([Series(0, "m", [(position, estimate(0.5)) for position in range(1, 301)])], title="t")
    labels = [text for text in ElementTree.fromstring(svg).iter("text") if text.get("class") == "tick middle"]
    positions = [int(label.text or "") for label in labels]
    assert positions == sorted(positions)
    assert 10 <= len(positions) <= 16


def test_names_may_stand_for_positions() -> None:
    points = [(1, estimate(0.5)), (3, estimate(0.7))]
    svg = curves([Series(0, "m", points)], title="t", axis="video", labels=["<60 s", "60-120 s", HOSTILE])
    assert {"video", "<60 s"} <= set(texts(svg))
    assert "<script>" not in svg
    assert "video &lt;60 s" in svg


def test_few_points_may_be_fewer_where_they_scatter_less() -> None:
    line = Series(0, "m", [(1, estimate(0.5, 6)), (2, estimate(0.6, 6))])
    assert "polyline" not in curves([line], title="t")
    assert "polyline" in curves([line], title="t", few=5)


def test_the_floor_is_marked_and_lies_within_the_figure() -> None:
    svg = whiskers([("a", estimate(0.5)), ("b", None)], title="t", floors=[0.1, 0.1])
    (mark,) = [line for line in ElementTree.fromstring(svg).iter("line") if line.get("class") == "floor"]
    assert 26 <= float(mark.get("x1") or 0) <= 340
    assert whiskers([("a", None)], title="t", floors=[0.1]) == ""
