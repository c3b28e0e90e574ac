"""Sheets on which people judge turns: drawn, filled in on the page or in a spreadsheet, read, and counted."""

import csv
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from reeltalk.cli import run
from reeltalk.metrics.turn_checks import benchmark_quality, quality_card
from reeltalk.metrics.turn_sheet import COLUMNS
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.tables import CHAINS, GATES
from reeltalk_build.construct.sheets import SHEET_COLUMNS

VIDEOS = 8


def turn(text: str) -> Turn:
    return Turn(question=f"{text}?", references=(f"={text}.",), asked_at_s=9.0)


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    """Eight videos with a chain of three turns, a path that words the last anew, and dialogues of two tasks."""
    content = Content()
    for n in range(VIDEOS):
        content.videos.append(Video(id=f"v{n}", duration_s=10.0))
        turns = tuple(turn(f"chain {n} {k}") for k in range(3))
        content.chains.append(QAChain(id=f"c{n}", video_id=f"v{n}", turns=turns))
        steps = [PathStep(ref=TurnRef(unit_id=f"c{n}", turn_index=k)) for k in range(2)]
        worded = PathStep(ref=TurnRef(unit_id=f"c{n}", turn_index=2), turn=turn(f"worded anew {n}"))
        content.paths.append(DialoguePath(id=f"p{n}", video_id=f"v{n}", steps=(*steps, worded)))
        for task in ("memory_recall", "object_reference"):
            own = tuple(turn(f"{task} {n} {k}") for k in range(2))
            content.dialogues.append(Dialogue(id=f"{task}{n}", video_id=f"v{n}", task=task, turns=own))
    for kind, units in (("chain", content.chains), ("dialogue", content.dialogues)):
        for unit in units:
            whole = GateResult(gate="chains:lint", unit=kind, unit_id=unit.id, outcome=GateOutcome.PASSED)
            content.gates.append(whole)
    flag = {"gate": "chains:lint.length", "unit": "chain", "turn_index": 2, "outcome": GateOutcome.FLAGGED}
    content.gates.append(GateResult(unit_id="c0", reason="too long", **flag))
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return Benchmark.open(tmp_path / "bench")


def drawn(bench: Benchmark, *options: str) -> list[dict[str, str]]:
    """The rows of a new sheet."""
    assert run(["construct", str(bench.path), "--sheet", "24", "--seed", "3", *options]) == 0
    return rows_of(bench.path.with_name("bench.sheet") / "sheet.csv")


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def filled(path: Path, rows: list[dict[str, str]], reader: str, *, delimiter: str = ",", **verdicts: str) -> Path:
    """A sheet that a person filled in, with yes wherever no verdict is given."""
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, SHEET_COLUMNS, delimiter=delimiter)
        writer.writeheader()
        writer.writerows({**row, **dict.fromkeys(COLUMNS, "yes"), **verdicts, "reader": reader} for row in rows)
    return path


def test_a_sheet_has_paths_and_tasks_from_all_videos_in_random_order_and_nothing_of_the_checks(
    bench: Benchmark, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = drawn(bench)
    assert [sum(row["task"] == task for row in rows) for task in ("path", "memory_recall", "object_reference")] == [
        *(12, 6, 6)
    ]
    assert {row["video"] for row in rows if row["task"] == "path"} == {f"v{n}" for n in range(VIDEOS)}
    assert [row["task"] for row in rows] != sorted(row["task"] for row in rows)
    assert all(row["answer"].startswith("'=") for row in rows), "a spreadsheet would run it"
    folder = bench.path.with_name("bench.sheet")
    page = (folder / "sheet.html").read_text(encoding="utf-8")
    assert "too long" not in page + (folder / "sheet.csv").read_text(encoding="utf-8")
    assert run(["construct", str(bench.path), "--sheet", "24"]) == 2
    assert "exists; move it away" in capsys.readouterr().err


def test_what_people_say_stands_beside_the_checks_with_intervals_agreement_and_recall(
    bench: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = drawn(bench)
    ada = filled(tmp_path / "ada.csv", rows, "Ada", natural="no")
    bo = filled(tmp_path / "bo.csv", rows[:12], "Bo", delimiter=";", depends="n/a")
    assert run(["construct", str(bench.path), "--apply", str(ada), "--apply", str(bo)]) == 0
    assert "24 turns by 2 readers" in capsys.readouterr().out
    found = benchmark_quality(Benchmark.open(bench.path))
    assert found.read is not None
    shares = {column.title: column.yes for column in found.read.columns}
    assert shares["true"].value == 1
    # Twelve turns have one reader, who says no, and twelve have two who differ.
    assert shares["natural"].value == shares["all five"].value == 0.25
    assert (shares["natural"].n, shares["depends on what came before"].n) == (24, 24)
    assert shares["natural"].low is not None
    assert found.read.columns[1].alpha.n == 12
    on_path = any(row["question"] == "worded anew 0?" for row in rows)
    assert found.read.recall is not None
    assert found.read.recall.value == pytest.approx(on_path / 24)
    assert found.passed is None, "people's verdicts are no checks, and no judge compared the turns with the video"
    card = "\n".join(quality_card(found))
    assert "Read by 2 people, who did not see the checks: 25 % (" in card
    assert run(["validate", str(bench.path)]) == 0
    # Verdicts of the same people replace their earlier ones.
    again = filled(tmp_path / "again.csv", rows, "Ada")
    before = len(list(bench.read(GATES)))
    assert run(["construct", str(bench.path), "--apply", str(again)]) == 0
    assert len(list(Benchmark.open(bench.path).read(GATES))) == before
    # A turn with other words has not been read.
    worded = [
        chain.model_copy(update={"turns": tuple(turn(f"other words {chain.id} {k}") for k in range(3))})
        for chain in bench.read(CHAINS)
    ]
    with Benchmark.open(bench.path).writing(stage="test") as writer:
        writer.add(CHAINS, worded)
    left = benchmark_quality(Benchmark.open(bench.path)).read
    assert left is not None
    assert left.turns == sum(row["task"] != "path" or row["question"].startswith("worded") for row in rows)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"true": "perhaps"}, "neither yes, no nor n/a, got 'perhaps'"),
        ({"reader": ""}, "no reader is named"),
        ({"item": "item-0"}, "the benchmark has no such turn"),
    ],
)
def test_a_row_that_cannot_be_read_is_named_and_nothing_is_written(
    change: dict[str, str], said: str, bench: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = drawn(bench)
    path = tmp_path / "ada.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, SHEET_COLUMNS)
        writer.writeheader()
        writer.writerows({**row, "true": "yes", "reader": "Ada", **(change if n == 1 else {})} for n, row in
                         enumerate(rows))  # fmt: skip
    before = list(bench.read(GATES))
    assert run(["construct", str(bench.path), "--apply", str(path)]) == 2
    error = capsys.readouterr().err
    assert "ada.csv" in error
    assert said in error
    assert list(Benchmark.open(bench.path).read(GATES)) == before
    assert run(["construct", str(bench.path), "--apply", str(bench.path.with_name("bench.sheet") / "sheet.csv")]) == 2
    assert "no row of" in capsys.readouterr().err
    (tmp_path / "notes.md").write_text("true: yes", encoding="utf-8")
    assert run(["construct", str(bench.path), "--apply", str(tmp_path / "notes.md")]) == 2
    assert "not a table" in capsys.readouterr().err


def test_the_page_keeps_what_is_filled_in_and_saves_a_table_that_apply_reads(
    browser: Browser, bench: Benchmark, tmp_path: Path
) -> None:
    drawn(bench)
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    address = (bench.path.with_name("bench.sheet") / "sheet.html").as_uri()
    page.goto(address)
    page.fill("[name=reader]", 'Ada "A." Lovelace')
    page.locator("fieldset").first.locator("[value=no]").check()
    page.goto(address)
    assert page.locator("fieldset").first.locator("[value=no]").is_checked()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    saved = tmp_path / "saved.csv"
    download.value.save_as(saved)
    context.close()
    assert not errors
    assert download.value.suggested_filename == "sheet-Ada-A-Lovelace.csv"
    assert run(["construct", str(bench.path), "--apply", str(saved)]) == 0
    read = benchmark_quality(Benchmark.open(bench.path)).read
    assert read is not None
    assert (read.readers, read.turns) == (('Ada "A." Lovelace',), 1)
