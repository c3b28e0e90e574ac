"""Charts show the values that they are given, say in words what they show, keep to their frame, and need no colour."""

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import unwrap
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import altair
import pytest

from reeltalk.analysis.agreement_levels import ModelMeans
from reeltalk.analysis.dataset import Spread
from reeltalk.analysis.estimates import FEW, Estimate
from reeltalk.pages import charts
from reeltalk.pages.charts import (
    CHARTS,
    DASHES,
    MOST_BANDS,
    Axis,
    BarRow,
    Dot,
    Grouped,
    PairedDifference,
    Polygon,
    Series,
    Spot,
    Stop,
    TimedSeries,
    ValuePair,
    axis_ticks,
    curve_chart,
    forest_chart,
    frequency_plot,
    group_chart,
    histogram_bins,
    line_plot,
    on_paper,
    pair_chart,
    radar_chart,
    render_chart,
    spot_chart,
    swatch,
    whisker_chart,
)

HOSTILE = '"><script>x</script>&\u202e'
SOME = Estimate(0.5, 0.4, 0.6, 100)
BARE = Estimate(0.5, None, None, 2)


def estimate(value: float, n: int = 100) -> Estimate:
    return Estimate(value, value - 0.05, value + 0.05, n)


def spread_of(*values: float) -> Spread:
    found = Spread()
    for value in values:
        found.add(value)
    return found


def seconds(*values: tuple[float, float], n: int = 9, index: int = 0) -> TimedSeries:
    stops = [Stop(at, f"{at:g} s", Estimate(value, value * 0.9, value * 1.1, n)) for at, value in values]
    return TimedSeries(index, f"model {index}", stops)


EXAMPLES: Mapping[str, Callable[[Callable[..., Any]], Any]] = {
    "whisker_chart": lambda draw: draw([(HOSTILE, SOME), ("b", None)], title=HOSTILE, band=SOME, floors=[0.2]),
    "forest_chart": lambda draw: draw(
        [PairedDifference(0, HOSTILE, SOME, HOSTILE, True), PairedDifference(1, "b", None, HOSTILE, False)],
        title=HOSTILE,
    ),
    "pair_chart": lambda draw: draw([ValuePair(0, HOSTILE, SOME, BARE)], title=HOSTILE, labels=(HOSTILE, "other")),
    "group_chart": lambda draw: draw([Grouped(HOSTILE, [(0, HOSTILE, SOME), (1, "b", BARE)])], title=HOSTILE, few=30),
    "curve_chart": lambda draw: draw(
        [Series(0, HOSTILE, [(1, SOME), (2, SOME), (3, BARE)])], title=HOSTILE, axis=HOSTILE, labels=[HOSTILE, "b", "c"]
    ),
    "line_plot": lambda draw: draw([seconds((30, 1.0), (90, 2.0))], title=HOSTILE, axis=HOSTILE),
    "spot_chart": lambda draw: draw(
        [Spot(0, HOSTILE, 7.0, SOME), Spot(1, "b", 70.0, SOME)], title=HOSTILE, axis=HOSTILE
    ),
    "strip_chart": lambda draw: draw([(1, 2, 3, "a"), (2, 4, 1, "b")], people=(1, 5), judge=(0, 5), title=HOSTILE),
    "mean_chart": lambda draw: draw(
        [ModelMeans(HOSTILE, 5, 2.0, 3.0), ModelMeans("b", 5, 3.0, 3.5)], people=(1, 5), judge=(0, 5), title=HOSTILE
    ),
    "frequency_plot": lambda draw: draw(
        0, [Dot(HOSTILE, 1.0, Estimate(50, 40, 60, 2))], title=HOSTILE, rare_percent=5, overall=5.0
    ),
    "radar_chart": lambda draw: draw(
        [Axis(HOSTILE, HOSTILE)] * 3, [Polygon(0, HOSTILE, [Estimate(50, 40, 60, 99)] * 3)], title=HOSTILE
    ),
    "bar_chart": lambda draw: draw(
        [BarRow(HOSTILE, 3, HOSTILE), BarRow("b", 1, "1", inner=True), BarRow("c", 1, "1", rare=True)],
        title=HOSTILE, bound=2.0, bound_name=HOSTILE,
    ),
    "histogram_chart": lambda draw: draw(
        histogram_bins(spread_of(*range(40))), title=HOSTILE, axis=HOSTILE, mark=20, mark_name=HOSTILE
    ),
    "share_chart": lambda draw: draw([(HOSTILE, 3), ("b", 2)], title=HOSTILE),
    "count_grid": lambda draw: draw([(HOSTILE, [1, 2])], [HOSTILE, "b"], title=HOSTILE),
}  # fmt: skip
"""Each chart once, with a stranger's text wherever there is text."""


def example(name: str) -> str:
    return str(EXAMPLES[name](CHARTS[name]))


def of(svg: str, tag: str, **attributes: str) -> list[ElementTree.Element]:
    found = ElementTree.fromstring(svg).iter(tag)
    return [one for one in found if all(one.get(key.replace("_", "-")) == each for key, each in attributes.items())]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in of(svg, "text")]


def tooltips(svg: str) -> list[str]:
    return [element.text or "" for element in of(svg, "title")]


def place(element: ElementTree.Element) -> tuple[float, float]:
    found = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
    assert found is not None, ElementTree.tostring(element)
    return float(found[1]), float(found[2])


def letters(svg: str) -> list[ElementTree.Element]:
    return of(svg, "text", font_weight="bold")


def markers(svg: str) -> list[ElementTree.Element]:
    return [one for one in of(svg, "path") if one.find("title") is not None]


def corners(path: ElementTree.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+),(-?[\d.]+)", path.get("d", ""))]


def lines(svg: str) -> list[list[tuple[float, float]]]:
    return [corners(one) for one in of(svg, "path") if one.get("stroke-width") in ("1.8", "1.6") and not list(one)]


class TestEveryChart:
    def test_there_is_an_example_of_each(self) -> None:
        assert set(EXAMPLES) == set(CHARTS)

    @pytest.mark.parametrize("name", list(EXAMPLES))
    def test_its_specification_is_vega_lite(self, name: str) -> None:
        altair.LayerChart.from_dict(EXAMPLES[name](unwrap(CHARTS[name])), validate=True)

    @pytest.mark.parametrize("name", list(EXAMPLES))
    def test_strangers_text_stays_text_and_what_is_invisible_is_shown(self, name: str) -> None:
        svg = example(name)
        assert "<script" not in svg
        assert "\u202e" not in svg
        assert ElementTree.fromstring(svg).get("role") == "img"
        assert "<script>x</script>" in ElementTree.fromstring(svg).get("aria-label", "")

    @pytest.mark.parametrize("name", list(EXAMPLES))
    def test_it_gives_the_same_bytes_and_takes_its_colours_from_the_page(self, name: str) -> None:
        svg = example(name)
        assert svg == example(name)
        colours = {
            value for one in ElementTree.fromstring(svg).iter() for key in ("fill", "stroke") if (value := one.get(key))
        }
        assert all(colour == "none" or colour.startswith("var(--") for colour in colours), colours
        assert "var(" not in on_paper(svg)

    def test_a_new_one_is_a_function_that_gives_a_specification(self) -> None:
        @render_chart
        def dots_of_a_test(values: Sequence[float], *, title: str) -> dict[str, Any] | None:
            rows = [{"at": at, "told": f"value {at:g}"} for at in values]
            encoding = {"x": {"field": "at", "type": "quantitative"}, "description": {"field": "told"}}
            return (
                {"description": title, "data": {"values": rows}, "mark": "circle", "encoding": encoding}
                if rows
                else None
            )

        try:
            svg = dots_of_a_test([1.0, 2.0], title="Two values")
            assert tooltips(svg) == ["value 1", "value 2"]
            assert dots_of_a_test([], title="Nothing") == ""
            assert CHARTS["dots_of_a_test"] is dots_of_a_test
        finally:
            del CHARTS["dots_of_a_test"]


def test_ticks_are_round_and_inside() -> None:
    assert axis_ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert axis_ticks(0.083, 0.137) == [0.09, 0.1, 0.11, 0.12, 0.13]
    assert axis_ticks(5, 5) == [5]


@pytest.mark.parametrize("values", [(0.5, 0.3), (0.0, 0.0), (-0.2, -0.1), (1e-9, 2e-9), (70.0, 90.0), (0.4,)])
def test_charts_of_any_values_are_whole_and_finite(values: tuple[float, ...]) -> None:
    bare = [Estimate(value, None, None, 100) for value in values]
    for svg in (
        whisker_chart([(f"m{value}", one) for value, one in zip(values, bare, strict=True)], title="t"),
        curve_chart([Series(0, "m", list(enumerate(bare, start=1)))], title="t"),
    ):
        assert len(markers(svg)) == len(values)
        assert not re.search(r"NaN|Infinity|undefined", svg)


def test_nothing_to_draw_is_no_chart() -> None:
    assert whisker_chart([("a", None)], title="t") == whisker_chart([("a", None)], title="t", floors=[0.1]) == ""
    assert forest_chart([PairedDifference(0, "a", None, "", False)], title="x") == ""
    assert pair_chart([ValuePair(0, "a", None, None)], title="t", labels=("", "")) == ""
    assert group_chart([Grouped("g", [])], title="t", few=30) == ""
    assert spot_chart([], title="t", axis="size") == ""
    assert curve_chart([], title="t") == ""
    assert line_plot([], title="t", axis="a") == line_plot([TimedSeries(0, "m", [])], title="t", axis="a") == ""
    assert radar_chart([Axis("a", "")] * 8, [Polygon(0, "m", [None] * 8)], title="t") == ""
    assert frequency_plot(0, [], title="t", rare_percent=5, overall=None) == ""


class TestRowsOfModels:
    def test_a_row_without_a_value_says_so(self) -> None:
        svg = whisker_chart([("a", estimate(0.5)), ("b", None)], title="t")
        assert texts(svg).count("not scored") == 1
        assert {"A", "B"} <= set(texts(svg))
        assert tooltips(svg) == ["A a: 0.5000 [0.4500, 0.5500]"]

    def test_rows_are_told_by_letters(self) -> None:
        svg = whisker_chart([(f"m{place}", estimate(0.1 * place)) for place in range(30)], title="t")
        assert {"A", "Z", "AA", "AD"} <= set(texts(svg))

    def test_a_model_among_fifty_has_looks_of_its_own(self) -> None:
        assert len({swatch(index) for index in range(50)}) == 50
        assert len(set(DASHES)) == len(DASHES)

    def test_values_stand_in_their_order_and_intervals_around_them(self) -> None:
        svg = whisker_chart([("a", Estimate(0.2, 0.1, 0.4)), ("b", Estimate(0.8, 0.7, 0.9))], title="t")
        (first, _), (second, _) = map(place, markers(svg))
        starts = sorted(place(one)[0] for one in of(svg, "line", stroke_linecap="round"))
        assert starts[0] < first < starts[1] < second

    def test_the_floor_is_marked_and_lies_within_the_chart(self) -> None:
        svg = whisker_chart([("a", estimate(0.5)), ("b", None)], title="t", floors=[0.1, 0.1])
        (mark,) = of(svg, "line", stroke_dasharray="3,2")
        assert 0 <= place(mark)[0] < place(markers(svg)[0])[0] <= 300
        assert "floor: 0.1000" in tooltips(svg)

    def test_a_difference_that_is_not_shown_is_hollow_and_a_missing_one_says_so(self) -> None:
        svg = forest_chart(
            [
                PairedDifference(0, "a", Estimate(-2.0, -3.0, -1.0), "B is better", True),
                PairedDifference(2, "c", Estimate(0.1, -1.0, 1.2), "no difference shown", False),
                PairedDifference(3, "d", None, "not compared: another judge", False),
            ],
            title="Agreement",
        )
        assert [one.get("fill") for one in markers(svg)] == ["var(--m0)", "var(--paper)"]
        (missing,) = [one for one in of(svg, "text") if one.text == "not compared"]
        assert [one.text for one in missing] == ["not compared: another judge"]
        assert {"0", "+1", "D"} <= set(texts(svg))

    def test_a_pair_has_a_filled_and_a_hollow_mark_of_one_shape(self) -> None:
        svg = pair_chart([ValuePair(2, "c", SOME, BARE)], title="t", labels=("after right", "after wrong"))
        assert [one.get("fill") for one in markers(svg)] == ["var(--m2)", "var(--paper)"]
        assert {one.get("stroke") for one in markers(svg)} == {"var(--m2)"}
        assert len({one.get("d") for one in markers(svg)}) == 1
        assert tooltips(svg) == [
            "C c, after right: 0.5000 [0.4000, 0.6000], n = 100",
            "C c, after wrong: 0.5000, n = 2",
        ]

    def test_groups_fade_what_rests_on_few_and_shorten_long_names(self) -> None:
        svg = group_chart([Grouped("x" * 40, [(0, "a", SOME), (1, "b", BARE)])], title="t", few=30)
        assert [one.get("opacity") for one in markers(svg)] == ["1", "0.35"]
        assert "x" * 40 in tooltips(svg)
        assert max(map(len, texts(svg))) == 22


class TestLines:
    def test_points_on_few_turns_are_faded_and_not_joined(self) -> None:
        points = [(1, estimate(0.5)), (2, estimate(0.4)), (3, estimate(0.1, n=FEW - 1))]
        svg = curve_chart([Series(0, "m", points)], title="t")
        assert [len(line) for line in lines(svg)] == [2]
        assert [one.get("opacity") for one in markers(svg)] == ["1", "1", "0.35"]
        assert tooltips(svg)[-1] == "A m, turn 3: 0.1000 [0.0500, 0.1500], n = 29"

    def test_a_line_does_not_bridge_a_gap(self) -> None:
        svg = curve_chart([Series(0, "m", [(1, SOME), (2, SOME), (5, SOME), (6, SOME), (7, SOME)])], title="t")
        assert sorted(len(line) for line in lines(svg)) == [2, 3]

    def test_the_number_of_turns_stands_under_each_position(self) -> None:
        series = [
            Series(0, "a", [(1, estimate(0.5, n=450)), (2, estimate(0.5, n=20))]),
            Series(1, "b", [(1, estimate(0.5, n=450)), (2, estimate(0.5, n=18))]),
        ]
        assert {"450", "≤20"} <= set(texts(curve_chart(series, title="t")))

    @pytest.mark.parametrize("count", [12, 30])
    def test_letters_at_the_ends_of_lines_do_not_overlap_and_stay_inside(self, count: int) -> None:
        series = [Series(index, "m", [(1, estimate(0.0)), (2, estimate(0.0))]) for index in range(count)]
        heights = sorted(place(letter)[1] for letter in letters(curve_chart(series, title="t")))
        assert len(heights) == count
        assert all(below - above >= 10.9 for above, below in pairwise(heights))
        assert heights[0] >= 0
        assert heights[-1] <= max(202, 11 * count) + 5

    def test_long_dialogues_get_a_readable_axis(self) -> None:
        svg = curve_chart([Series(0, "m", [(position, SOME) for position in range(1, 301)])], title="t")
        below = [one for one in of(svg, "text") if place(one)[1] > 202 and (one.text or "").isdecimal()]
        positions = [int(one.text or "") for one in below if one.get("font-size") == "11px"]
        assert positions == sorted(positions)
        assert 10 <= len(positions) <= 16

    def test_names_may_stand_for_positions(self) -> None:
        svg = curve_chart(
            [Series(0, "m", [(1, SOME), (3, SOME)])], title="t", axis="video", labels=["<60 s", "60 s", "90 s"]
        )
        assert {"video", "<60 s", "90 s"} <= set(texts(svg))
        assert tooltips(svg)[0].startswith("A m, video <60 s: 0.5000")

    def test_few_points_may_be_fewer_where_they_scatter_less(self) -> None:
        line = Series(0, "m", [(1, estimate(0.5, 6)), (2, estimate(0.6, 6))])
        assert not lines(curve_chart([line], title="t"))
        assert lines(curve_chart([line], title="t", few=5))

    def test_many_lines_have_no_bands(self) -> None:
        def bands(count: int) -> int:
            svg = curve_chart([Series(place, "m", [(1, SOME), (2, SOME)]) for place in range(count)], title="t")
            return len([one for one in of(svg, "path") if one.get("opacity") == "0.1"])

        assert bands(MOST_BANDS) == MOST_BANDS
        assert bands(30) == 0

    def test_what_grows_straight_is_drawn_straight(self) -> None:
        (points,) = lines(line_plot([seconds((15, 1.5), (45, 4.5), (600, 60.0), (2700, 270.0))], title="t", axis="a"))
        slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]
        assert slopes == pytest.approx([slopes[-1]] * 3, rel=0.1)

    def test_a_power_is_straight_on_a_logarithmic_axis(self) -> None:
        svg = line_plot([seconds((60, 0.01), (120, 0.1), (180, 1.0))], title="t", axis="length", log=True)
        (points,) = lines(svg)
        assert points[0][1] - points[1][1] == pytest.approx(points[1][1] - points[2][1], abs=0.2)
        assert "0.1" in texts(svg)

    @pytest.mark.parametrize(("last_s", "unit"), [(90.0, "asked at (s)"), (900.0, "asked at (min)")])
    def test_a_long_axis_is_in_minutes(self, last_s: float, unit: str) -> None:
        assert unit in texts(line_plot([seconds((30, 1.0), (last_s, 2.0))], title="t", axis="asked at"))

    def test_stops_on_few_items_are_faded_and_interrupt_a_line(self) -> None:
        stops = [*seconds((30, 1.0), (90, 2.0)).stops, Stop(150, "150 s", Estimate(3, None, None, 2))]
        svg = line_plot([TimedSeries(0, "m", stops)], title="t", axis="a", few=5)
        assert [one.get("opacity") for one in markers(svg)] == ["1", "1", "0.35"]
        assert [len(line) for line in lines(svg)] == [2]

    def test_a_zero_stands_at_the_foot_of_a_logarithmic_axis(self) -> None:
        (points,) = lines(line_plot([seconds((30, 0.0), (60, 5.0))], title="t", axis="a", log=True))
        assert points[0][1] == pytest.approx(202.0)
        assert line_plot([seconds((30, 0.0))], title="t", axis="a", log=True)


class TestSpots:
    def test_models_of_one_size_stand_beside_each_other(self) -> None:
        svg = spot_chart([Spot(place, f"m{place}", 7.0, SOME) for place in range(5)], title="t", axis="size")
        at = sorted(place(letter)[0] for letter in letters(svg))
        assert len(at) == 5
        assert all(after - before >= 9 for before, after in pairwise(at))

    def test_many_models_of_the_smallest_size_stay_in_the_plot(self) -> None:
        found = [Spot(place, "m", 0.5, SOME) for place in range(9)] + [Spot(9, "m", 70.0, SOME)]
        at = [place(letter)[0] for letter in letters(spot_chart(found, title="t", axis="s"))]
        assert 0 <= min(at)
        assert max(at) <= 386

    @pytest.mark.parametrize("sizes", [(7.0,), (0.1, 700.0), (1e-6, 1e6), (7.0, 7.5)])
    def test_any_sizes_have_a_whole_axis(self, sizes: tuple[float, ...]) -> None:
        svg = spot_chart([Spot(place, "m", size, SOME) for place, size in enumerate(sizes)], title="t", axis="size")
        assert all(0 <= place(one)[0] <= 386 for one in markers(svg))
        assert tooltips(svg)[0] == f"A m, size: {sizes[0]:g}: 0.5000 [0.4000, 0.6000]"


class TestRadars:
    @pytest.mark.parametrize("count", [3, 8])
    @pytest.mark.parametrize("models", [1, 2, 6])
    def test_every_model_has_a_polygon_markers_and_its_letter(self, count: int, models: int) -> None:
        drawn = [Polygon(index, f"m{index}", [estimate(50.0 + index)] * count) for index in range(models)]
        svg = radar_chart([Axis(f"tag {n}", "n = 40") for n in range(count)], drawn, title="t")
        outlines = [one for one in of(svg, "path") if one.get("stroke-width") == "1.6"]
        assert [len(corners(one)) for one in outlines] == [count + 1] * models
        assert [letter.text for letter in letters(svg)] == [chr(65 + index) for index in range(models)]
        assert len({one.get("stroke-dasharray") for one in outlines}) == models
        assert len(markers(svg)) == models * count

    def test_an_axis_without_a_value_is_a_gap_and_never_the_centre(self) -> None:
        values = [None if n == 2 else Estimate(50, 45, 55, 40) for n in range(8)]
        svg = radar_chart([Axis(f"tag {n}", "n = 40") for n in range(8)], [Polygon(0, "m", values)], title="t")
        assert [len(line) for line in lines(svg)] == [2] * 6
        assert all(abs(x - 150) + abs(y - 150) > 50 for line in lines(svg) for x, y in line)
        assert len(markers(svg)) == 7

    def test_a_lone_value_between_gaps_is_a_marker_without_a_line(self) -> None:
        svg = radar_chart([Axis("a", "")] * 3, [Polygon(0, "m", [None, Estimate(70, 60, 80, 40), None])], title="t")
        assert not lines(svg)
        assert len(markers(svg)) == 1

    @pytest.mark.parametrize("value", [0.0, 1e-9, 50.0, 100.0])
    def test_radars_of_any_values_keep_to_their_rings(self, value: float) -> None:
        whole = [Estimate(value, 0.0, 100.0, 40)] * 8
        svg = radar_chart([Axis("Relationship", "n = 4,385 · rare")] * 8, [Polygon(5, "m", whole)], title="t")
        assert all(0 <= at <= 300 for one in markers(svg) for at in place(one))

    def test_rare_tags_are_named_and_their_names_do_not_overlap(self) -> None:
        dots = [Dot(f"rare {place}", 1.0 + place / 10, Estimate(30.0, 20.0, 40.0, 50)) for place in range(5)]
        dots.append(Dot("frequent", 40.0, Estimate(80.0, 75.0, 85.0, 900)))
        svg = frequency_plot(1, dots, title="t", rare_percent=5, overall=70.0)
        named = [one for one in of(svg, "text") if (one.text or "").startswith("rare")]
        assert sorted(text.text or "" for text in named) == [f"rare {place}" for place in range(5)]
        heights = sorted(place(text)[1] for text in named)
        assert all(b - a >= 11.9 for a, b in pairwise(heights))
        assert "all questions: 70.00" in tooltips(svg)


class TestBars:
    def test_a_bar_is_as_long_as_its_value_and_says_it(self) -> None:
        svg = charts.bar_chart([BarRow("a", 10, "10 (50 %)"), BarRow("b", 5, "5", inner=True)], title="t", bound=2.0)
        (whole, _), (half, _) = (_size(one) for one in markers(svg))
        assert [whole, half] == pytest.approx([220, 110])
        assert tooltips(svg) == ["a: 10 (50 %)", "b: 5"]
        assert {"a", "10 (50 %)", "b", "5"} <= set(texts(svg))

    def test_a_histogram_is_as_high_as_its_counts(self) -> None:
        svg = charts.histogram_chart(histogram_bins(spread_of(1, 1, 2), whole=True), title="t", axis="turns")
        (_, two), (_, one) = (_size(each) for each in markers(svg))
        assert two == pytest.approx(2 * one)
        assert tooltips(svg) == ["1: 2", "2: 1"]
        assert "turns" in texts(svg)

    def test_shares_add_up_to_the_whole(self) -> None:
        svg = charts.share_chart([("yes", 30), ("no", 10)], title="t")
        assert [_size(one)[0] for one in markers(svg)] == pytest.approx([333, 111])
        assert {"yes 75.0 %", "no 25.0 %"} <= set(texts(svg))


def _size(rect: ElementTree.Element) -> tuple[float, float]:
    found = re.match(r"M[-\d.,]+h([\d.]+)v([\d.]+)h", rect.get("d", ""))
    assert found is not None, rect.get("d")
    return float(found[1]), float(found[2])
