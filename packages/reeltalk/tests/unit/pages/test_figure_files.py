"""Figures as files: no class left unresolved, the same bytes every time, and their words in all three."""

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import cv2
import numpy as np
import pytest

from reeltalk.analysis.estimates import Estimate
from reeltalk.pages.charts import COLOURS, Mark, interval_chart, line_chart, spot_chart
from reeltalk.pages.figure_files import (
    FIGURE_FORMATS,
    FigureFile,
    FigureFormat,
    figure_bytes,
    standalone,
    unprintable,
    write_figures,
)

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>x</script>&\u202e'
SOME = Estimate(0.5, 0.4, 0.6, 100)


@pytest.fixture(scope="module")
def drawings() -> dict[str, str]:
    lines = [Mark(place, f"m{place}", SOME, at=turn) for place in range(COLOURS) for turn in (1, 2, 3)]
    few = Estimate(0.5, None, None, 2)
    grouped = [Mark(0, "a", SOME, row="g"), Mark(1, "b", Estimate(0.1, 0.0, 0.2, 3), row="g")]
    pair = [Mark(1, "b", SOME), Mark(1, "b", SOME, hollow=True)]
    return {
        "models": interval_chart([Mark(0, "a", SOME), Mark(1, "b", None)], title="t", axis="a", band=SOME),
        "curves": line_chart(lines, title="t", axis="turn", values="v", names={}),
        "faded": line_chart([Mark(0, "a", few, at=1)], title="t", axis="turn", values="v", names={}),
        "pairs": interval_chart(pair, title="t", axis="a"),
        "groups": interval_chart(grouped, title="t", axis="a", few=30),
        "spots": spot_chart([Mark(0, "a", SOME, at=7.0)], title="t", axis="size", values="v"),
    }


def picture(png: bytes) -> np.ndarray:
    decoded = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
    assert decoded is not None
    return np.asarray(decoded)


@pytest.mark.parametrize("name", ["models", "curves", "faded", "pairs", "groups", "spots"])
def test_a_file_needs_no_style_sheet(drawings: dict[str, str], name: str) -> None:
    root = ElementTree.fromstring(figure_bytes(drawings[name], "svg"))
    assert root.tag == f"{SVG}svg"
    assert root.get("width") == root.get("viewBox", "").split()[2]
    for element in root.iter():
        assert not {"class", "style"} & set(element.attrib)
        assert not any("var(" in value for value in element.attrib.values())
    drawn = [element for element in root.iter() if element.find(f"{SVG}title") is not None and element is not root]
    assert drawn
    assert all(re.match("#|none", element.get("fill", "none")) for element in drawn)


def test_looks_are_those_of_the_light_page() -> None:
    marks = [Mark(1, "b", SOME, at=1), Mark(1, "b", Estimate(0.4, 0.3, 0.5, 2), at=2)]
    root = ElementTree.fromstring(standalone(line_chart(marks, title="t", axis="turn", values="v", names={})))
    drawn = [one for one in root.iter(f"{SVG}path") if one.find(f"{SVG}title") is not None]
    assert [(one.get("fill"), one.get("opacity")) for one in drawn] == [("#c24a00", "1"), ("#c24a00", "0.35")]


@pytest.mark.parametrize("format", FIGURE_FORMATS)
def test_the_same_figure_gives_the_same_bytes(drawings: dict[str, str], format: FigureFormat) -> None:
    svg = drawings["curves"]
    assert figure_bytes(svg, format) == figure_bytes(svg, format)


def test_a_pdf_has_no_date_and_its_title(drawings: dict[str, str]) -> None:
    found = figure_bytes(drawings["models"], "pdf", "Agreement")
    assert found.startswith(b"%PDF-")
    assert b"Date" not in found
    assert "Agreement".encode("utf-16-be").hex().encode() in found


def test_every_object_of_a_pdf_stands_where_its_table_says(drawings: dict[str, str]) -> None:
    found = figure_bytes(drawings["groups"], "pdf")
    table = int(re.findall(rb"startxref\n(\d+)\n%%EOF$", found)[0])
    assert found[table:].startswith(b"xref\n0 ")
    places = [int(at) for at in re.findall(rb"^(\d{10}) 00000 n\r\n", found[table:], re.MULTILINE)]
    assert [found[at:].split(b"\n", 1)[0] for at in places] == [b"%d 0 obj" % n for n in range(1, len(places) + 1)]
    named = {int(number) for number in re.findall(rb"(\d+) 0 R", re.sub(rb"(?s)\nstream\n.*?\nendstream", b"", found))}
    assert named == set(range(1, len(places) + 1))


def test_a_png_is_twice_as_large_on_white_and_has_its_words() -> None:
    svg = '<svg viewBox="0 0 100 40" ><text x="10" y="25" font-size="11" fill="var(--soft)">{}</text></svg>'
    bare, worded = (figure_bytes(svg.format(words), "png") for words in ("", "seven"))
    assert struct.unpack(">II", worded[16:24]) == (200, 80)
    assert (picture(bare) == 255).all()
    drawn = np.argwhere(picture(worded).min(axis=2) < 128)
    assert drawn.size > 0
    rows, columns = drawn[:, 0], drawn[:, 1]
    assert (rows.min() > 25, rows.max() <= 52, columns.min() >= 20, columns.max() < 110) == (True, True, True, True)


@pytest.mark.parametrize("format", FIGURE_FORMATS)
def test_strangers_text_stays_text(format: FigureFormat) -> None:
    svg = interval_chart([Mark(0, HOSTILE, SOME, row=HOSTILE)], title=HOSTILE, axis=HOSTILE)
    found = figure_bytes(svg, format)
    assert b"<script" not in found


def test_letters_for_which_no_font_is_found_are_told(tmp_path: Path) -> None:
    assert unprintable('<svg viewBox="0 0 9 9"><text>A ≤ ≈ é Ж<title>\U00012000</title></text></svg>') == ""
    cuneiform = '<svg viewBox="0 0 99 9"><text x="1" y="8">\U00012000</text></svg>'
    assert unprintable(cuneiform) == "\U00012000"
    write_figures(tmp_path, [FigureFile("odd", "Odd", cuneiform)], ("pdf",))
    assert "The PDF lacks 1 characters" in (tmp_path / "index.md").read_text(encoding="utf-8")


def test_files_are_listed_with_titles_signatures_and_the_letters(drawings: dict[str, str], tmp_path: Path) -> None:
    figure = FigureFile("index-values-match", "Agreement of *each* model", drawings["pairs"], ("s|data:1",))
    write_figures(tmp_path / "figures", [figure], ("svg", "png"), key=["A: one", "B: two"])
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "index-values-match.svg",
        "index-values-match.png",
        "index.md",
    }
    listed = (tmp_path / "figures" / "index.md").read_text(encoding="utf-8")
    for said in (
        "For captions: A: one; B: two.",
        r"## Agreement of \*each\* model",
        "- `s|data:1`",
        "[SVG](index-values-match.svg) · [PNG](index-values-match.png)",
    ):
        assert said in listed


def test_what_is_no_figure_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="viewBox"):
        figure_bytes("<svg/>", "svg")
