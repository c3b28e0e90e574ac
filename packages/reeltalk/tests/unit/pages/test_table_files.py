"""Tables for papers: structure, escaping, digits, intervals and signatures."""

import csv
import io
import re
from pathlib import Path

import pytest

from reeltalk.analysis.table_files import (
    TABLE_FORMATS,
    Quantity,
    TableFile,
    render_rows,
    write_table_files,
)
from reeltalk.store.text_tables import escape_latex

TABLE = TableFile(
    "index-judged",
    "Judged measures",
    ("Model", "Agreement", "Δ", "n"),
    (
        ("a_b & c", Quantity(61.234, 55.5, 66.0, 120, "match", is_best=True), Quantity(-0.5, signed=True), 1200),
        ("d|e", Quantity(None, missing="withheld"), None, 7),
        ("f", Quantity(0.5, metric="rouge_l", may_equal_best=True), Quantity(2.0, 1.0, 3.0, signed=True), 8),
    ),
    ("s|data:1|metric:match", "s|two\nlines"),
    ("A note.",),
)


def test_latex_has_as_many_cells_in_every_row_and_signatures_as_comments() -> None:
    text = render_rows(TABLE, "latex")
    assert r"\begin{tabular}{lrrr}" in text
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r" \\")]
    assert len(rows) == 4
    assert all(len(re.findall(r"(?<!\\)&", row)) == 3 for row in rows)
    assert r"a\_b \& c & \textbf{61.2} {\scriptsize [55.5, 66.0] (n = 120)} & -0.5000 & 1,200 \\" in rows
    assert r"d\textbar{}e & \textit{withheld} &  & 7 \\" in rows
    assert r"f & $\approx$\,50.0 & +2.0000 {\scriptsize [+1.0000, +3.0000]} & 8 \\" in rows
    outside = text[: text.index(r"\begin{tabular}")].splitlines()
    assert all(line.startswith("% ") for line in outside)
    assert {"% s|data:1|metric:match", "% s|two lines", "% A note."} <= set(outside)


def test_a_difference_on_two_videos_is_marked_and_a_value_has_no_interval() -> None:
    table = TableFile(
        "t",
        "T",
        ("Model", "A", "A - B"),
        (("m", Quantity(61.0, videos=2), Quantity(2.0, 1.0, 3.0, signed=True, videos=2)),),
    )
    for format in TABLE_FORMATS[:2]:
        text = render_rows(table, format)
        assert "[+1.0000, +3.0000], 2 videos" in text
        assert "Some intervals rest on 2 source videos only." in text
    assert "so they have no interval" not in render_rows(table, "csv")


def test_every_special_character_of_latex_is_escaped() -> None:
    assert escape_latex("50% & $x_1^2 {a}~#\\") == (
        r"50\% \& \$x\_1\textasciicircum{}2 \{a\}\textasciitilde{}\#\textbackslash{}"
    )
    assert escape_latex("two\n\nparagraphs") == "two paragraphs"
    assert escape_latex("<60 s, ≥300 s") == r"\textless{}60 s, $\geq$300 s"


def test_markdown_keeps_its_cells_whatever_stands_in_them() -> None:
    lines = render_rows(TABLE, "markdown").splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 5 for line in table)
    assert table[1] == "| --- | ---: | ---: | ---: |"
    assert "**61.2** [55.5, 66.0] (n = 120)" in table[2]
    assert r"d\|e" in table[3]
    assert "- `s|data:1|metric:match`" in lines
    assert "95 % intervals in brackets, clustered by source video.  " in lines


def test_csv_has_the_numbers_as_they_are() -> None:
    header, first, second, third = csv.reader(io.StringIO(render_rows(TABLE, "csv")))
    assert header[:5] == ["Model", "Agreement", "Agreement: low", "Agreement: high", "Agreement: n"]
    assert first[:5] == ["a_b & c", "61.234", "55.5", "66.0", "120"]
    assert second[:5] == ["d|e", "", "", "", ""]
    assert header[-2:] == ["warning", "signatures"]
    assert third[-3:] == ["8", "", "s|data:1|metric:match; s|two\nlines"]


@pytest.mark.parametrize("format", TABLE_FORMATS)
def test_a_table_without_rows_is_whole(format: str) -> None:
    assert "Model" in render_rows(TableFile("t", "Nothing", ("Model", "n"), ()), format)  # type: ignore[arg-type]


def test_files_are_listed_with_their_titles(tmp_path: Path) -> None:
    write_table_files(tmp_path / "tables", [TABLE], ("latex", "csv"))
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "index-judged.tex",
        "index-judged.csv",
        "index.md",
    }
    listed = (tmp_path / "tables" / "index.md").read_text(encoding="utf-8")
    assert "## Judged measures" in listed
    assert "[LaTeX](index-judged.tex) · [CSV](index-judged.csv)" in listed


def test_every_format_says_that_few_videos_are_behind_an_interval() -> None:
    def table(videos: int) -> TableFile:
        return TableFile("t", "T", ("Model", "Agreement"), (("a", Quantity(50.0, 20.0, 80.0, 9, videos=videos)),))

    for format in TABLE_FORMATS:
        assert "Some intervals rest on 4 source videos only." in render_rows(table(4), format)
        assert "source videos only" not in render_rows(table(10), format)
    (visible,) = [line for line in render_rows(table(4), "latex").splitlines() if line.startswith(r"\multicolumn")]
    assert "4 source videos only" in visible, "a comment would not be printed"
