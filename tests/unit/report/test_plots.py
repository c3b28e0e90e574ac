"""Pairs, groups and spots are whole SVG, say what they show, and keep models apart."""

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from reeltalk.report.figures import MOST_BANDS, Estimate, Series, curves
from reeltalk.report.plots import Grouped, Pair, Spot, groups, pairs, spots

SOME = Estimate(0.5, 0.4, 0.6, 100)
BARE = Estimate(0.5, None, None, 2)
HOSTILE = '"><script>x</script>&\u202e'


def titles(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter("title")]


def test_a_pair_has_a_filled_and_a_hollow_mark_of_one_shape() -> None:
    svg = pairs([Pair(2, "c", SOME, BARE)], title="t", labels=("after right", "after wrong"))
    found = ElementTree.fromstring(svg).findall("path")
    assert [element.get("class") for element in found] == ["dot m2", "dot m2 hollow"]
    assert len({element.get("d") for element in found}) == 1
    assert titles(svg) == ["C c, after right: 0.5000 [0.4000, 0.6000], n = 100", "C c, after wrong: 0.5000, n = 2"]


def test_groups_fade_what_rests_on_few_and_shorten_long_names() -> None:
    svg = groups([Grouped("x" * 40, [(0, "a", SOME), (1, "b", BARE)])], title="t", few=30)
    assert svg.count("faded") == 1
    assert "x" * 40 in titles(svg)
    assert max(len(element.text or "") for element in ElementTree.fromstring(svg).iter("text")) == 22


def test_models_of_one_size_stand_beside_each_other() -> None:
    svg = spots([Spot(place, f"m{place}", 7.0, SOME) for place in range(5)], title="t", axis="size")
    at = sorted(float(x) for x in re.findall(r'<text x="([\d.]+)" y="[\d.]+" class="letter', svg))
    assert len(at) == 5
    assert all(after - before >= 9 for before, after in pairwise(at))


def test_many_models_of_the_smallest_size_stay_in_the_plot() -> None:
    found = [Spot(place, "m", 0.5, SOME) for place in range(9)] + [Spot(9, "m", 70.0, SOME)]
    at = [
        float(x) for x in re.findall(r'<text x="([\d.-]+)" y="[\d.]+" class="letter', spots(found, title="t", axis="s"))
    ]
    assert min(at) >= 52
    assert max(at) <= 460


@pytest.mark.parametrize("sizes", [(7.0,), (0.1, 700.0), (1e-6, 1e6), (7.0, 7.5)])
def test_any_sizes_have_a_whole_axis(sizes: tuple[float, ...]) -> None:
    svg = spots([Spot(place, "m", size, SOME) for place, size in enumerate(sizes)], title="t", axis="size")
    ElementTree.fromstring(svg)
    assert "nan" not in svg
    for x in re.findall(r'class="dot[^>]*|cx="([\d.-]+)"', svg):
        assert not x or 0 <= float(x) <= 460


def test_nothing_to_draw_is_no_figure() -> None:
    assert pairs([Pair(0, "a", None, None)], title="t", labels=("", "")) == ""
    assert groups([Grouped("g", [])], title="t", few=30) == ""
    assert spots([], title="t", axis="size") == ""


def test_strangers_text_stays_text() -> None:
    for svg in (
        pairs([Pair(0, HOSTILE, SOME, None)], title=HOSTILE, labels=(HOSTILE, HOSTILE)),
        groups([Grouped(HOSTILE, [(0, HOSTILE, SOME)])], title=HOSTILE, few=30),
        spots([Spot(0, HOSTILE, 1.0, SOME)], title=HOSTILE, axis=HOSTILE),
    ):
        ElementTree.fromstring(svg)
        assert "<script" not in svg
        assert "\u202e" not in svg


def test_many_lines_have_no_bands_and_room_for_their_letters() -> None:
    def drawn(lines: int) -> str:
        return curves([Series(place, "m", [(1, SOME), (2, SOME)]) for place in range(lines)], title="t")

    assert drawn(MOST_BANDS).count('class="band') == MOST_BANDS
    many = drawn(30)
    assert 'class="band' not in many
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)" class="letter', many))
    assert all(after - before >= 10.9 for before, after in pairwise(heights))
