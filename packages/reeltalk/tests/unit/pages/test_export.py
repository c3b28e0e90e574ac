"""The leaderboard as text: every value with its signature, and hostile names that stay names."""

import csv
import io
import json
from collections.abc import Callable

import pytest

from reeltalk.pages.leaderboard import TableFormat, render_table
from reeltalk.store.runs import SUMMARY_FIELDS, Run

RunMaker = Callable[..., Run]


def test_json_and_csv_hold_the_same_rows_with_every_signature(make_run: RunMaker) -> None:
    run = make_run(models=('a,"b"', "beta"), values=(0.5, None))
    rows = json.loads(render_table([run], "json"))
    assert [list(row) for row in rows] == [[*SUMMARY_FIELDS, "warning"]] * 2
    assert rows[0] == {
        "model": 'a,"b"', "metric": "rouge_l", "value": 0.5, "n": 2, "videos": None, "low": 0.4, "high": 0.6,
        "signature": "test.answers|data:d1|metric:rouge_l|v:1", "unscored": 0, "not_applicable": 0, "over_scored": None,
        "reasons": {}, "warning": None,
    }  # fmt: skip
    assert rows[1]["value"] is None
    parsed = list(csv.DictReader(io.StringIO(render_table([run], "csv"))))
    assert [row["model"] for row in parsed] == ['a,"b"', "beta"]
    assert float(parsed[0]["value"]) == 0.5
    assert parsed[1]["value"] == ""


def test_numbers_are_not_rounded_in_json_and_csv(make_run: RunMaker) -> None:
    run = make_run(values=(0.123456789012345, 0.3))
    assert json.loads(render_table([run], "json"))[0]["value"] == 0.123456789012345
    assert "0.123456789012345" in render_table([run], "csv")


def test_markdown_has_the_standings_and_marks_the_best(make_run: RunMaker) -> None:
    run = make_run(models=("a", "b", "c"), values=(0.5, 0.4, 0.1), metric="clair")
    lines = render_table([run], "markdown").splitlines()
    assert [line.split(" | ")[1:4:1] for line in lines[2:6]] == [
        ["", "", ""], ["a", "**50.0** [40.0, 60.0]", ""], ["b", "40.0 [30.0, 50.0]", ""], ["c", "10.0 [0.0, 20.0]", ""],
    ]  # fmt: skip
    assert "- `test.answers|data:d1|metric:clair|v:1`" in lines


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a|b", r"a\|b"),
        ("<b>*x*_y_", r"&lt;b&gt;\*x\*\_y\_"),
        ("[a](http://b)", r"\[a\](http://b)"),
        ("a&lt;b", "a&amp;lt;b"),
        ("back\\slash`$~", r"back\\slash\`\$\~"),
    ],
)
def test_markdown_escapes_names(make_run: RunMaker, name: str, written: str) -> None:
    table = render_table([make_run(models=(name,), values=(0.5,))], "markdown")
    assert f"| {written} | 50.0 " in table


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("50%_&", r"50\%\_\allowbreak{}\&"),
        ("a\\b^~", r"a\textbackslash{}b\textasciicircum{}\textasciitilde{}"),
        ("$x$ #1 {y}", r"\$x\$ \#1 \{y\}"),
        ("<a|b>", r"\textless{}a\textbar{}\allowbreak{}b\textgreater{}"),
        ("模型", r"\ifdefined\Umathchar 模型\else [U+6A21 U+578B]\fi{}"),
        ("a--b é Δ", r"a-\allowbreak{}-b é $\Delta$"),
    ],
)
def test_latex_escapes_names(make_run: RunMaker, name: str, written: str) -> None:
    table = render_table([make_run(models=(name,), values=(0.5,))], "latex")
    assert f"\n{written} & 50.0 {{\\scriptsize [40.0, 60.0]}} & 2 \\\\\n" in table


def test_latex_has_as_many_cells_in_every_row_and_balanced_rules(make_run: RunMaker) -> None:
    table = render_table([make_run(metric="my_metric&more", values=(0.5, None))], "latex")
    body = [line for line in table.splitlines() if line.endswith(r"\\")]
    assert body[0] == r"Rank & Model & \shortstack[r]{my\_\\metric\&more} \\"
    assert {line.replace(r"\&", "").count("&") for line in body if not line.startswith(r"\multicolumn")} == {2}
    for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabularx}", r"\end{tabularx}"):
        assert table.count(rule) == 1
    assert r"-- & beta & \textit{not scored} \\" in table


@pytest.mark.parametrize("format", ["latex", "markdown"])
def test_tables_say_what_does_not_compare_and_why_something_is_not_scored(
    make_run: RunMaker, format: TableFormat
) -> None:
    table = render_table([make_run("first", values=(0.5, None)), make_run("second", data="d2")], format)
    assert "Not comparable between models: ROUGE-L. " in table
    between = r"\textperiodcentered{}" if format == "latex" else "·"
    assert f"ROUGE-L of beta {between} first is not scored: the moon was in the wrong phase" in table
    assert "bold" not in table


def test_a_note_cannot_break_out_of_its_comment(make_run: RunMaker) -> None:
    table = render_table([make_run(values=(0.5, None), unscored_reason="first\n\\input{secret}\r\\x")], "latex")
    assert all(r"\input{secret" not in line or line.startswith("%") for line in table.splitlines())


def test_a_signature_with_backticks_stays_code(make_run: RunMaker) -> None:
    run = make_run(signatures=("a``b", "a``b"))
    assert "- ``` a``b ```" in render_table([run], "markdown")
