"""Tables for papers: structure, escaping, digits, intervals and signatures."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import pytest

from reeltalk.analysis.table_files import (
    TABLE_FORMATS,
    Quantity,
    TableFile,
    render_rows,
    write_table_files,
)
from reeltalk.store.text_tables import escape_latex, write_csv

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


def test_latex_has_as_many_cells_in_every_row_and_one_signature() -> None:
    text = render_rows(TABLE, "latex")
    assert r"\begin{tabularx}{\linewidth}{@{}>{\raggedright\arraybackslash}Xrrr@{}}" in text
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r" \\")]
    assert len(rows) == 4
    assert all(len(re.findall(r"(?<!\\)&", row)) == 3 for row in rows)
    below = r"\begin{tabular}[t]{@{}r@{}}%s\\[-2pt]{\scriptsize %s}\end{tabular}"
    first = below % (r"\textbf{61.2}", "[55.5, 66.0] (n = 120)")
    assert rf"a\_\allowbreak{{}}b \& c & {first} & -0.5000 & 1,200 \\" in rows
    assert r"d\textbar{}\allowbreak{}e & \textit{withheld} &  & 7 \\" in rows
    assert rf"f & $\approx$\,50.0 & {below % ('+2.0000', '[+1.0000, +3.0000]')} & 8 \\" in rows
    comments = text[: text.index(r"\begin{minipage}")].splitlines()
    assert all(line.startswith("% ") for line in comments)
    assert {"% s|data:1|metric:match", "% s|two lines"} <= set(comments)
    assert "A note. Signature: s (data, metric, two lines: by row, in the CSV file)." in text


def test_latex_names_what_most_signatures_share() -> None:
    played = [f"s|data:1|frames:8|answers:{n}" for n in "abc"]
    found = render_rows(replace(TABLE, signatures=(*played, "s|data:1")), "latex")
    footnote = found.splitlines()[-2].replace(r"\textbar{}\allowbreak{}", "|")
    assert footnote.endswith("Signature: s|data:1|frames:8 (answers: by row, in the CSV file).")


def test_groups_are_titles_of_rows_in_print_and_a_column_in_csv() -> None:
    table = replace(TABLE, groups=("Models", "Models", "Floors"))
    lines = render_rows(table, "latex").splitlines()
    titles = [line for line in lines if line.startswith(r"\multicolumn{4}{@{}l@{}}{\textit{")]
    assert titles == [rf"\multicolumn{{4}}{{@{{}}l@{{}}}}{{\textit{{{name}}}}} \\" for name in ("Models", "Floors")]
    assert [line.split("|")[1] for line in render_rows(table, "markdown").splitlines()[2:7]] == [
        " *Models* ", r" a\_b & c ".replace("&", "&amp;"), " d\\", " *Floors* ", " f ",
    ]  # fmt: skip
    assert [row[0] for row in csv.reader(io.StringIO(render_rows(table, "csv")))] == [
        "Group", "Models", "Models", "Floors",
    ]  # fmt: skip


def test_a_wide_table_is_turned_before_its_intervals_go() -> None:
    names = [f"model-number-{n}-of-a-family" for n in range(7)]
    rows = tuple((kind, *(Quantity(50.0, 40.0, 60.0, metric="match") for _ in names)) for kind in ("Action", "Cause"))
    text = render_rows(TableFile("t", "T", ("Type", *names), rows), "latex")
    assert r" & Action & Cause \\" in text
    assert text.count("[40.0, 60.0]") == 14


def test_no_text_of_a_csv_is_a_formula_and_numbers_stay() -> None:
    texts = ["=1+1", "+1+1", "-a", "@SUM(A1)", "\t=1", "\r=1", "\n=1"]
    kept = ["a=1", -1, 2.5, "-0.5", "+1,200.5", None]
    header, row = csv.reader(io.StringIO(write_csv(texts, [kept]), newline=""))
    assert header == [f"'{text}".replace("\r", "\n") for text in texts]
    assert row == ["a=1", "-1", "2.5", "-0.5", "+1,200.5", ""]


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
    printed = [line for line in render_rows(table(4), "latex").splitlines() if not line.startswith("%")]
    assert "4 source videos only" in "".join(printed), "a comment would not be printed"
