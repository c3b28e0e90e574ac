"""Radars leave gaps where nothing is known, keep to their frame, and escape what strangers wrote."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from reeltalk.report.figures import Estimate
from reeltalk.report.radar import Axis, Dot, Polygon, frequency_plot, radar

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>x</script>&\u202e'


def axes(count: int) -> list[Axis]:
    return [Axis(f"tag {place}", "n = 40") for place in range(count)]


def polygon(index: int, values: list[float | None]) -> Polygon:
    return Polygon(index, f"m{index}", [None if v is None else Estimate(v, v - 5, v + 5, 40) for v in values])


def of_class(svg: str, tag: str, name: str) -> list[ElementTree.Element]:
    return [one for one in ElementTree.fromstring(svg).iter(tag) if name in one.get("class", "").split()]


@pytest.mark.parametrize("count", [3, 8])
@pytest.mark.parametrize("models", [1, 2, 6])
def test_every_model_has_a_polygon_markers_and_its_letter(count: int, models: int) -> None:
    svg = radar(axes(count), [polygon(index, [50.0 + index] * count) for index in range(models)], title="t")
    assert len(of_class(svg, "polygon", "line")) == models
    assert [text.text for text in of_class(svg, "text", "letter")] == [chr(65 + index) for index in range(models)]
    dashes = {line.get("stroke-dasharray", "") for line in of_class(svg, "polygon", "line")}
    assert len(dashes) == models


def test_an_axis_without_a_value_is_a_gap_and_never_the_centre() -> None:
    svg = radar(axes(8), [polygon(0, [50, 50, None, 50, 50, 50, 50, 50])], title="t")
    assert not of_class(svg, "polygon", "line")
    (path,) = of_class(svg, "path", "line")
    assert path.get("d", "").count("M") == 6
    assert "250.0 190.0" not in path.get("d", "")
    assert len(of_class(svg, "circle", "dot")) == 7


def test_a_lone_value_between_gaps_is_a_marker_without_a_line() -> None:
    svg = radar(axes(3), [polygon(0, [None, 70, None])], title="t")
    assert not of_class(svg, "path", "line")
    assert len(of_class(svg, "circle", "dot")) == 1


def test_without_any_value_there_is_no_radar() -> None:
    assert radar(axes(8), [polygon(0, [None] * 8)], title="t") == ""
    assert frequency_plot(0, [], title="t", rare_percent=5, overall=None) == ""


@pytest.mark.parametrize("value", [0.0, 1e-9, 50.0, 100.0])
def test_radars_of_any_values_keep_to_their_frame(value: float) -> None:
    whole = [Estimate(value, 0.0, 100.0, 40)] * 8
    svg = radar([Axis("Relationship", "n = 4,385 · rare")] * 8, [Polygon(5, "m", whole)], title="t")
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())  # type: ignore[union-attr]
    for x, y in re.findall(r'[xc]x?1?="(-?[\d.]+)" [yc]y?1?="(-?[\d.]+)"', svg):
        assert 0 <= float(x) <= width
        assert 0 <= float(y) <= height


def test_strangers_names_stay_text() -> None:
    drawn = [
        radar([Axis(HOSTILE, HOSTILE)] * 3, [Polygon(0, HOSTILE, [Estimate(50, None, None, 2)] * 3)], title=HOSTILE),
        frequency_plot(0, [Dot(HOSTILE, 1.0, Estimate(50, None, None, 2))], title=HOSTILE, rare_percent=5, overall=5.0),
    ]
    for svg in drawn:
        assert "<script" not in svg
        assert "\u202e" not in svg
        ElementTree.fromstring(svg)


def test_rare_tags_are_named_and_their_names_do_not_overlap() -> None:
    dots = [Dot(f"rare {place}", 1.0 + place / 10, Estimate(30.0, 20.0, 40.0, 50)) for place in range(5)]
    dots.append(Dot("frequent", 40.0, Estimate(80.0, 75.0, 85.0, 900)))
    svg = frequency_plot(1, dots, title="t", rare_percent=5, overall=70.0)
    named = of_class(svg, "text", "spoke")
    assert sorted(text.text or "" for text in named) == [f"rare {place}" for place in range(5)]
    heights = sorted(float(text.get("y", "")) for text in named)
    assert all(b - a >= 11.9 for a, b in pairwise(heights))
