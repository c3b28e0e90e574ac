"""Charts show the values that they are given, say in words what they show, and need no colour."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from xml.etree import ElementTree

import altair
import pytest

from reeltalk.analysis.estimates import FEW_TURNS, Estimate
from reeltalk.pages import charts
from reeltalk.pages.charts import (
    DASHES,
    MOST_BANDS,
    Bar,
    HistogramBin,
    Mark,
    agreement_chart,
    axis_ticks,
    bar_chart,
    histogram_chart,
    interval_chart,
    line_chart,
    on_paper,
    radar_chart,
    spot_chart,
    swatch,
)
from reeltalk.schema.texts import printable

HOSTILE = '"><script>x</script>&\u202e'
SOME = Estimate(0.5, 0.4, 0.6, 100)
BARE = Estimate(0.5, None, None, 2)


def estimate(value: float, n: int = 100) -> Estimate:
    return Estimate(value, value - 0.05, value + 0.05, n)


def line(*values: tuple[float, Estimate], index: int = 0, name: str = "m") -> list[Mark]:
    return [Mark(index, name, value, at=at) for at, value in values]


EXAMPLES: Mapping[str, Callable[[], str]] = {
    "models": lambda: interval_chart(
        [Mark(0, HOSTILE, SOME), Mark(1, "b", None)], title=HOSTILE, axis=HOSTILE, band=SOME, floors={0: 0.2}
    ),
    "differences": lambda: interval_chart(
        [Mark(0, HOSTILE, SOME, tooltip=HOSTILE, hollow=True), Mark(1, "b", None)], title=HOSTILE, axis="a", line=0.0
    ),
    "groups": lambda: interval_chart(
        [Mark(0, HOSTILE, SOME, row=HOSTILE), Mark(1, "b", BARE, row=HOSTILE)], title=HOSTILE, axis="a", few=30
    ),
    "turns": lambda: line_chart(
        line((1, SOME), (2, SOME), (3, BARE), name=HOSTILE),
        title=HOSTILE, axis=HOSTILE, values=HOSTILE, names={1: HOSTILE},
    ),
    "seconds": lambda: line_chart(line((30, SOME), (90, SOME)), title=HOSTILE, axis=HOSTILE, values=HOSTILE),
    "spots": lambda: spot_chart(
        [Mark(0, HOSTILE, SOME, at=7.0), Mark(1, "b", BARE, at=70.0)], title=HOSTILE, axis=HOSTILE, values="v", log=True
    ),
    "agreement": lambda: agreement_chart(
        [(1 + place / 10, place % 5, 2, "a") for place in range(30)], people=(1, 5), judge=(0, 5), title=HOSTILE
    ),
    "radar": lambda: radar_chart(
        [Mark(0, HOSTILE, Estimate(50, 40, 60, 99), row=axis) for axis in (HOSTILE, "b", "c")],
        {HOSTILE: HOSTILE, "b": "", "c": ""}, title=HOSTILE, values=HOSTILE,
    ),
    "bars": lambda: bar_chart(
        [Bar(HOSTILE, 3, HOSTILE), Bar("b", 1, "1", inner=True), Bar("c", 1, "1", rare=True)],
        title=HOSTILE, axis=HOSTILE, rows=HOSTILE, bound=2.0, bound_name=HOSTILE,
    ),
    "histogram": lambda: histogram_chart(
        [HistogramBin(0, 10, 3), HistogramBin(10, math.inf, 2)],
        title=HOSTILE, axis=HOSTILE, values=HOSTILE, bound=5, bound_name=HOSTILE,
    ),
}  # fmt: skip
"""Each chart, with a stranger's text wherever there is text."""


def shown(text: str) -> str:
    """A stranger's text as a chart shows it."""
    return printable(text)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("text")]


def tooltips(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("title")]


def markers(svg: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(svg).iter("path") if one.find("title") is not None]


def left(element: ElementTree.Element) -> float:
    found = re.match(r"translate\(([-\d.]+),", element.get("transform", ""))
    assert found is not None
    return float(found[1])


def joined(svg: str) -> list[int]:
    """The number of points of each line, without lines of one point."""
    drawn = [one for one in ElementTree.fromstring(svg).iter("path") if one.get("stroke-width") in ("1.8", "1.6")]
    stretches = [part for one in drawn if one.find("title") is None for part in re.split("M", one.get("d", ""))]
    return sorted(len(re.findall("L", part)) + 1 for part in stretches if "L" in part)


@pytest.mark.parametrize("name", list(EXAMPLES))
class TestEveryChart:
    def test_its_specification_is_vega_lite(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        drawn: list[str] = []
        draw = charts._draw

        def noted(spec: str) -> str:
            drawn.append(spec)
            return draw(spec)

        monkeypatch.setattr(charts, "_draw", noted)
        EXAMPLES[name]()
        spec = json.loads(drawn[0])
        # Vega-Lite takes null for no background; its schema has only colours.
        assert spec.pop("background") is None
        altair.LayerChart.from_dict(spec, validate=True)

    def test_strangers_text_stays_text_and_what_is_invisible_is_shown(self, name: str) -> None:
        svg = EXAMPLES[name]()
        assert "<script" not in svg
        assert "\u202e" not in svg
        assert ElementTree.fromstring(svg).get("role") == "img"
        assert "<script>x</script>" in ElementTree.fromstring(svg).get("aria-label", "")

    def test_it_takes_its_colours_from_the_page(self, name: str) -> None:
        svg = EXAMPLES[name]()
        assert svg == EXAMPLES[name]()
        looks = [one.get(key) for one in ElementTree.fromstring(svg).iter() for key in ("fill", "stroke")]
        assert all(colour in ("none", "transparent") or colour.startswith("var(--") for colour in looks if colour)
        assert "var(" not in on_paper(svg)


AXES: Mapping[str, set[str]] = {
    "models": {"model", shown(HOSTILE)},
    "differences": {"model", "a"},
    "groups": {"group", "a"},
    "turns": {f"{shown(HOSTILE)}, with n below", shown(HOSTILE)},
    "seconds": {shown(HOSTILE)},
    "spots": {shown(HOSTILE), "v"},
    "agreement": {"people", "judge"},
    "radar": {f"rings: {shown(HOSTILE)}"},
    "bars": {shown(HOSTILE)},
    "histogram": {shown(HOSTILE)},
}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_axis_has_a_title(name: str) -> None:
    assert AXES[name] <= {"".join(one.itertext()) for one in ElementTree.fromstring(EXAMPLES[name]()).iter("text")}


def test_names_stand_in_charts_without_the_hash_of_weights() -> None:
    marks = [Mark(0, "mini#b77ee275", SOME, at=1), Mark(1, "other", SOME, at=1)]
    for svg in (
        interval_chart(marks, title="t", axis="a"),
        line_chart(marks, title="t", axis="turn", values="v"),
        spot_chart(marks, title="t", axis="a", values="v"),
        radar_chart([replace(mark, row="a") for mark in marks], dict.fromkeys("abc", ""), title="t", values="v"),
    ):
        assert {"A mini", "B other"} <= set(texts(svg))
        assert "b77ee275" not in svg


class TestRadars:
    AXES = dict.fromkeys("abc", "n = 9")

    def drawn(self, *values: tuple[float, bool]) -> str:
        marks = [
            Mark(index, "m", Estimate(value, value - 4, value + 30, 99), row=axis, hollow=hollow)
            for index, (value, hollow) in enumerate(values)
            for axis in self.AXES
        ]
        return radar_chart(marks, self.AXES, title="t", values="v")

    def rings(self, svg: str) -> list[float]:
        return [float(text) for text in texts(svg) if re.fullmatch(r"[\d.]+", text)]

    @pytest.mark.parametrize(("largest", "rings"), [(30, [10, 20, 30, 40]), (40, [10, 20, 30, 40]), (3, [2, 4, 6, 8])])
    def test_models_set_the_scale(self, largest: float, rings: list[float]) -> None:
        assert self.rings(self.drawn((largest, False), (largest / 2, False))) == rings

    def test_an_oracle_beyond_the_scale_is_named_and_not_drawn(self) -> None:
        svg, alone = self.drawn((30, False), (100, True)), self.drawn((30, False))
        assert self.rings(svg) == self.rings(alone)
        assert len(markers(svg)) == 3
        assert "beyond the scale: B m" in "".join(ElementTree.fromstring(svg).itertext())
        assert "beyond" not in alone

    def test_an_oracle_inside_the_scale_is_a_thin_outline_without_intervals(self) -> None:
        svg = self.drawn((90, False), (70, True))
        assert [one.get("fill") for one in markers(svg)] == 3 * ["var(--m0)"] + 3 * ["var(--paper)"]
        assert len(re.findall(r'stroke="var\(--m1\)" stroke-width="0.9"', svg)) == 1
        assert {one.get("stroke") for one in ElementTree.fromstring(svg).iter("line")} == {"var(--m0)"}

    def test_nothing_leaves_the_outermost_ring(self) -> None:
        one, other = (re.search(r'viewBox="([^"]*)"', self.drawn((value, False))) for value in (30, 75))
        assert one is not None
        assert other is not None
        assert one[1] == other[1]

    def test_oracles_alone_have_the_whole_scale(self) -> None:
        assert self.rings(self.drawn((100, True))) == [25, 50, 75, 100]


def test_ticks_are_round_and_inside() -> None:
    assert axis_ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert axis_ticks(0.083, 0.137) == [0.09, 0.1, 0.11, 0.12, 0.13]
    assert axis_ticks(5, 5) == [5]


@pytest.mark.parametrize("values", [(0.5, 0.3), (0.0, 0.0), (-0.2, -0.1), (1e-9, 2e-9), (70.0, 90.0), (0.4,)])
def test_charts_of_any_values_are_whole_and_finite(values: tuple[float, ...]) -> None:
    bare = [Estimate(value, None, None, 100) for value in values]
    for svg in (
        interval_chart([Mark(place, "m", one) for place, one in enumerate(bare)], title="t", axis="a"),
        line_chart(line(*enumerate(bare, start=1)), title="t", axis="a", values="v", names={}),
        spot_chart(line(*enumerate(bare, start=1)), title="t", axis="a", values="v"),
    ):
        assert len(markers(svg)) == len(values)
        assert not re.search(r"NaN|Infinity|undefined", svg)


def test_nothing_to_draw_is_no_chart() -> None:
    assert interval_chart([Mark(0, "a", None)], title="t", axis="a", floors={0: 0.1}) == ""
    assert line_chart([], title="t", axis="a", values="v") == spot_chart([], title="t", axis="a", values="v") == ""
    assert radar_chart([Mark(0, "m", None, row="a")], {"a": "", "b": "", "c": ""}, title="t", values="v") == ""
    assert agreement_chart([], people=(1, 5), judge=(0, 5), title="t") == ""
    assert bar_chart([], title="t", axis="a", rows="r") == histogram_chart([], title="t", axis="s", values="v") == ""


def test_a_model_among_fifty_has_looks_of_its_own() -> None:
    assert len({swatch(index) for index in range(50)}) == 50
    assert len(set(DASHES)) == len(DASHES)


class TestIntervals:
    def test_models_are_named_and_a_row_without_a_value_says_so(self) -> None:
        svg = interval_chart([Mark(0, "first", estimate(0.5)), Mark(1, "second", None)], title="t", axis="CIDEr")
        assert texts(svg).count("not scored") == 1
        assert {"A first", "B second", "CIDEr"} <= set(texts(svg))
        assert tooltips(svg)[0] == "A first: 0.5000 [0.4500, 0.5500]"

    def test_the_floor_is_marked_at_its_value(self) -> None:
        svg = interval_chart(
            [Mark(0, "a", estimate(0.5)), Mark(1, "b", None)], title="t", axis="a", floors={0: 0.1, 1: 0.1}
        )
        lines = list(ElementTree.fromstring(svg).iter("line"))
        marks = [one for one in lines if one.get("stroke-dasharray") == "3,2"]
        assert all(left(one) < left(markers(svg)[0]) for one in marks)
        assert "floor: 0.1000" in tooltips(svg)

    def test_a_hollow_mark_has_the_colour_of_the_page(self) -> None:
        marks = [Mark(2, "c", SOME), Mark(2, "c", BARE, hollow=True, tooltip="0.5, after a wrong answer")]
        svg = interval_chart(marks, title="t", axis="a")
        assert [one.get("fill") for one in markers(svg)] == ["var(--m2)", "var(--paper)"]
        assert {one.get("stroke") for one in markers(svg)} == {"var(--m2)"}
        assert len({one.get("d") for one in markers(svg)}) == 1
        assert tooltips(svg)[1] == "C c: 0.5, after a wrong answer"

    def test_groups_have_a_legend_and_fade_what_rests_on_few(self) -> None:
        marks = [Mark(0, "a", SOME, row="x" * 40), Mark(1, "b", BARE, row="x" * 40)]
        svg = interval_chart(marks, title="t", axis="a", few=30)
        assert [one.get("opacity") for one in markers(svg)] == ["1", "0.35"]
        assert {"A a", "B b"} <= set(texts(svg))
        assert tooltips(svg)[0].startswith(f"A a, {'x' * 40}: 0.5")


class TestLines:
    def test_points_on_few_turns_are_faded_and_not_joined(self) -> None:
        marks = line((1, estimate(0.5)), (2, estimate(0.4)), (3, estimate(0.1, n=FEW_TURNS - 1)))
        svg = line_chart(marks, title="t", axis="turn", values="v", names={})
        assert joined(svg) == [2]
        assert [one.get("opacity") for one in markers(svg)] == ["1", "1", "0.35"]
        assert tooltips(svg)[-1] == "A m: turn 3: 0.1000 [0.0500, 0.1500], n = 29"

    def test_a_line_does_not_bridge_a_gap(self) -> None:
        gap = line(*((at, SOME) for at in (1, 2, 5, 6, 7)))
        other = line(*((at, SOME) for at in range(1, 8)), index=1)
        assert joined(line_chart(gap + other, title="t", axis="turn", values="v", names={})) == [2, 3, 7]

    def test_positions_have_their_names_and_numbers_of_turns(self) -> None:
        marks = [
            *line((1, estimate(0.5, n=450)), (2, estimate(0.5, n=20))),
            *line((1, estimate(0.5, n=450)), (2, estimate(0.5, n=18)), index=1),
        ]
        svg = line_chart(marks, title="t", axis="turn", values="v", names={2: "two"})
        shown = ElementTree.fromstring(svg)
        assert {"1", "450", "two", "≤20"} <= {"".join(one.itertext()) for one in shown.iter("tspan")}

    @pytest.mark.parametrize(("count", "bands"), [(MOST_BANDS, MOST_BANDS), (MOST_BANDS + 1, 0)])
    def test_more_lines_than_are_readable_have_no_bands(self, count: int, bands: int) -> None:
        marks = [mark for index in range(count) for mark in line((1, SOME), (2, SOME), index=index)]
        svg = line_chart(marks, title="t", axis="turn", values="v", names={})
        assert len(re.findall(r'<path[^>]*opacity="0.1"', svg)) == bands


def test_a_judge_s_scores_are_counted_and_their_mean_is_a_line() -> None:
    svg = agreement_chart([(1, 2, 3, "a"), (1, 2, 1, "b"), (2, 4, 1, "b")], people=(1, 5), judge=(0, 5), title="t")
    assert sorted(tooltips(svg)) == ["people 1, judge 2: 4", "people 2, judge 4: 1"]


def test_an_axis_without_a_value_is_a_gap_in_its_polygon() -> None:
    axes = {name: "n = 9" for name in "abcd"}
    marks = [Mark(0, "m", Estimate(50, 40, 60, 99), row=name) for name in ("a", "b", "d")]
    svg = radar_chart(marks, axes, title="t", values="v")
    assert len(markers(svg)) == 3
    assert joined(svg) == [2, 2]
    assert joined(
        radar_chart([*marks, Mark(0, "m", Estimate(50, 40, 60, 99), row="c")], axes, title="t", values="v")
    ) == [5]


def test_bars_have_their_values_and_bins_their_ends() -> None:
    bars = bar_chart(
        [Bar("a", 10, "10 (50 %)"), Bar("a", 5, "5", inner=True)], title="t", axis="turns", rows="kind", bound=2.0
    )
    assert {"a", "10 (50 %)", "5", "turns", "kind"} <= set(texts(bars))
    assert tooltips(bars) == ["a: 10 (50 %)", "a: 5"]
    bins = [HistogramBin(0, 60, 1200), HistogramBin(60, 120, 0), HistogramBin(120, math.inf, 3)]
    svg = histogram_chart(bins, title="t", axis="seconds", values="videos", bound=60, bound_name="1 min")
    whole = histogram_chart([HistogramBin(n, n + 1, 2, whole=True) for n in (5, 6)], title="t", axis="a", values="v")
    assert {"5", "6"} <= set(texts(whole))
    assert {"1,200", "120+", "seconds", "videos", "1 min"} <= set(texts(svg))
    assert tooltips(svg) == ["0–60: 1,200", "60–120: 0", "120 and more: 3"]
