"""The figures of reliability follow from what tests counted, and from nothing else."""

import ast
import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import reliability_page
from reliability_page import Row

ROOT = Path(__file__).parents[2]
TESTS = """
import pytest

@pytest.mark.parametrize("server", ["a", "b"])
def test_whole(server, reliability):
    tally = reliability("servers", "requests | of a server", "no answer")
    tally.tried = reliability.count(3, release=50)

def test_breaks(reliability):
    tally = reliability("storage", "full disks", "a torn file")
    tally.tried += 1
    raise OSError

def test_finds_it_afterwards(reliability):
    tally = reliability("pages", "texts", "a script that runs")
    tally.tried, tally.failed = 7, 2
    assert tally.failed == 0

def test_counts_nothing():
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the recorder, an empty file, and tests of its own."""
    for name in ("tools/counted_tests.py", "tools/reliability_page.py", "bench/record.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tools bench\n", encoding="utf-8")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("counted_tests",)\n', encoding="utf-8")
    (tmp_path / "tests").mkdir()
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    (tmp_path / "docs" / "reference" / "reliability.json").write_text('{"rows": []}', encoding="utf-8")
    (tmp_path / "tests" / "test_some.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def rows(project: Path, *options: str) -> list[Row]:
    """The rows of the file after a run of two workers."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "xdist", "-n", "2", *options]
    # Other plugins count nothing, and each process would import them.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    book = json.loads((project / "docs" / "reference" / "reliability.json").read_text(encoding="utf-8"))
    return [Row(**row) for row in book["rows"]]


@pytest.mark.slow
def test_what_was_tried_reaches_the_file_from_all_workers(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rows(project) == [], "a normal run leaves the file as it is"
    found = rows(project, "--record-reliability")
    assert [(row.group, row.tried, row.failed, row.counts, row.release) for row in found] == [
        ("servers", 6, 0, "CI", 100),
        ("storage", 1, 1, "every run", None),
        ("pages", 7, 2, "every run", None),
    ]
    assert [row.test.partition("::")[2] for row in found] == [
        "test_whole",
        "test_breaks",
        "test_finds_it_afterwards",
    ]
    monkeypatch.setattr(reliability_page, "BOOK", project / "docs" / "reference" / "reliability.json")
    assert reliability_page.tried("pages") == "7 | 2"
    assert reliability_page.tried("all") == "14 | 3"
    with pytest.raises(KeyError, match="no row of the group 'judges'"):
        reliability_page.tried("judges")
    with reliability_page.write_table(tmp_path).open(encoding="utf-8", newline="") as file:
        assert next((row["what"], row["tried"]) for row in csv.DictReader(file)) == ("requests | of a server", "6")
    # What was not run now keeps its row; what was is replaced.
    later = rows(project, "--record-reliability", "--release", "--deselect=tests/test_some.py::test_breaks")
    assert [(row.tried, row.counts) for row in later] == [(100, "release"), (1, "every run"), (7, "every run")]


def test_a_row_without_meaning_is_refused() -> None:
    row = {"what": "a", "failing": "b", "tried": 1, "failed": 0, "counts": "CI", "release": 1, "test": "t::u"}
    with pytest.raises(ValueError, match=r"t::u: there is no group 'weather'; there are servers, power"):
        Row(**row, group="weather", date="", version="")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs words"):
        Row(**row | {"what": ""}, group="power", date="", version="")  # type: ignore[arg-type]


def test_rows_are_of_tests_that_there_are() -> None:
    for row in reliability_page.read_rows():
        file, _, name = row.test.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        tests = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert name in tests, f"{row.test} is gone; run it under its new name with --record-reliability"
        assert "reliability" in {argument.arg for argument in tests[name].args.args}, row.test
