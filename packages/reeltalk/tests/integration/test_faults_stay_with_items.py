"""Files as strangers have them: a command does what it can, lists what it left out and why, and exits with 1."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk import Benchmark
from reeltalk.cli import run
from reeltalk.store.tables import DIALOGUES

HEAD = "video,question,answer,asked_at_s,id"
GOOD = [
    {"video": "kitchen.mp4", "question": "What does she take?", "answer": "the mug", "id": "1"},
    {"video": "street.mp4", "question": "Who comes in?", "answer": "a woman", "id": "2"},
]
LINES = [json.dumps(row) for row in GOOD]


def csv_of(*rows: str) -> bytes:
    return "\n".join(
        (HEAD, "kitchen.mp4,What does she take?,the mug,4,1", *rows, "street.mp4,Who?,Ana,2,2", "")
    ).encode()


ROWS: dict[str, tuple[str, bytes, str]] = {
    "NaN as a time": ("csv", csv_of("kitchen.mp4,Why?,so,NaN,3"), "questions.csv:3"),
    "a row too short": ("csv", csv_of("kitchen.mp4,Why?"), "questions.csv:3"),
    "a row too long": ("csv", csv_of("kitchen.mp4,Why, then?,so,5,3"), "questions.csv:3"),
    "cp1252 in one line": ("csv", csv_of("kitchen.mp4,Wo ist das Café?,dort,5,3").replace("é".encode(), b"\xe9"),
                           "questions.csv:3"),
    "an empty question": ("csv", csv_of("kitchen.mp4,,so,5,3"), "questions.csv:3"),
    "a time as a clock": ("csv", csv_of("kitchen.mp4,Why?,so,0:05,3"), "questions.csv:3"),
    "one id twice": ("csv", csv_of("kitchen.mp4,Why?,so,5,1"), "questions.csv:3"),
    "an array for an object": ("jsonl", "\n".join([LINES[0], '["kitchen.mp4", "Why?"]', LINES[1]]).encode(),
                               "questions.jsonl:2"),
    "NaN in JSON Lines": ("jsonl", "\n".join([LINES[0], LINES[0][:-1] + ', "score": NaN}', LINES[1]]).encode(),
                          "questions.jsonl:2"),
    "cut off": ("jsonl", "\n".join([*LINES, LINES[1][:30]]).encode(), "questions.jsonl:3"),
    "cp1252 in JSON Lines": ("jsonl", "\n".join([LINES[0], LINES[1].replace("woman", "café"), LINES[1]])
                             .encode("cp1252"), "questions.jsonl:2"),
    "an array in a list": ("json", f"[{LINES[0]}, [1, 2], {LINES[1]}]".encode(), "questions.json at $[1]"),
    "a question that is a number list": ("json", f'[{LINES[0]}, {{"video": "a", "question": {{}}, "answer": "b"}}, '
                                         f"{LINES[1]}]".encode(), "questions.json at $[1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_damaged_rows_are_listed_and_the_others_imported(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ending, content, where = ROWS[name]
    source = tmp_path / f"questions.{ending}"
    source.write_bytes(content)
    assert run(["import", "qa", str(source), str(tmp_path / "mine")]) == 1
    said = capsys.readouterr().out
    assert f"rejected {where}: " in said
    assert Benchmark.open(tmp_path / "mine").rows(DIALOGUES) == 2
    assert run(["import", "qa", str(source), str(tmp_path / "other"), "--strict"]) == 2
    assert not (tmp_path / "other").exists()


def test_a_long_list_is_written_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "questions.csv"
    source.write_bytes(csv_of(*["kitchen.mp4,Why?"] * 30))
    assert run(["import", "qa", str(source), str(tmp_path / "mine")]) == 1
    said = capsys.readouterr().out
    assert said.count("  rejected ") == 5
    assert f"and 25 more: all are in {tmp_path / 'mine' / 'report.txt'}" in said
    assert (tmp_path / "mine" / "report.txt").read_text().count("  rejected questions.csv:") == 30
    assert run(["validate", str(tmp_path / "mine")]) == 0
    assert "report.txt" not in capsys.readouterr().out


TABLES: dict[str, bytes] = {
    "cut off": b'[{"video": "kitchen.mp4", "question": "Why?", "answer": "so"}, {"vid',
    "zero bytes": b"",
    "a web page": b"<!DOCTYPE html><html><body>404</body></html>",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_damaged_table_of_several_is_listed(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "a.jsonl").write_text("\n".join(LINES))
    (folder / "b.jsonl").write_bytes(TABLES[name])
    assert run(["import", "qa", str(folder), str(tmp_path / "mine")]) == 1
    said = capsys.readouterr().out
    assert "b.jsonl" in said
    assert Benchmark.open(tmp_path / "mine").rows(DIALOGUES) == 2


MEDIA: dict[str, Callable[[Path], object]] = {
    "cut off": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "zero bytes": lambda path: path.write_bytes(b""),
    "a web page": lambda path: path.write_bytes(b"<!DOCTYPE html><html><body>404</body></html>"),
}


@pytest.mark.parametrize("name", MEDIA)
def test_damaged_media_are_left_out_of_an_export(
    name: str, filmed_household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shutil.copytree(filmed_household, tmp_path / "bench")
    first, *others = sorted((folder / "media").iterdir())
    content = first.read_bytes()
    first.unlink()
    first.write_bytes(content)
    MEDIA[name](first)
    assert run(["export", "hub", str(folder), str(tmp_path / "out")]) == 1
    assert first.name in capsys.readouterr().out
    written = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert written
    assert not any(first.name in one for one in written)
    assert all(any(other.name in one for one in written) for other in others)
    assert run(["export", "hub", str(folder), str(tmp_path / "strict"), "--strict"]) == 2


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders named `closed` may not be listed, also by root."""
    scan = os.scandir

    def scandir(path: str | int | Path) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)


@pytest.mark.parametrize("command", ["qa", "folder", "attach"])
def test_a_folder_that_may_not_be_read_is_listed(
    command: str, closed: None, filmed_household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "source"
    (folder / "closed").mkdir(parents=True)
    (folder / "questions.jsonl").write_text("\n".join(LINES))
    film = min((filmed_household / "media").iterdir())
    shutil.copy(film, folder / "kitchen.mp4")
    into = tmp_path / "mine"
    if command == "attach":
        assert run(["import", "qa", str(folder / "questions.jsonl"), str(into)]) == 0
        assert run(["attach", str(into), str(folder)]) == 1
    else:
        assert run(["import", command, str(folder), str(into)]) == 1
    assert re.search("rejected closed: .*cannot be read: Permission denied", capsys.readouterr().out)
    assert (into / "manifest.json").is_file()


@pytest.mark.parametrize("damage", ["cut off", "zero bytes", "an array"])
@pytest.mark.parametrize("command", ["report", "compare", "judge", "calibrate"])
def test_a_damaged_run_of_several_is_listed(
    command: str, damage: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    info = place / "c" / "run.json"
    text = info.read_bytes()
    info.write_bytes({"cut off": text[:100], "zero bytes": b"", "an array": b"[]"}[damage])
    extra = {
        "report": ["--out", "site"],
        "compare": [],
        "judge": ["--out", "judged", "--metrics", "rouge_l"],
        "calibrate": ["--sheet", "sheet.csv"],
    }[command]
    assert run([command, "a", "b", "c", *extra]) == 1
    said = capsys.readouterr()
    assert "c/run.json" in said.out + said.err
    assert run([command, "a", "b", "c", "--strict", *extra]) == 2


@pytest.fixture(scope="module")
def three_runs(filmed_household: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    source = folder / "questions.jsonl"
    source.write_text("\n".join(LINES))
    assert run(["import", "qa", str(source), str(folder / "mine")]) == 0
    for name, model in (("a", "baseline:blind"), ("b", "baseline:constant"), ("c", "baseline:copied-question")):
        command = ["evaluate", str(folder / "mine"), "--model", model, "--out", str(folder / name)]
        run([*command, "--metrics", "rouge_l"])
    return folder


@pytest.fixture
def place(three_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(three_runs, tmp_path / "place")
    monkeypatch.chdir(tmp_path / "place")
    return tmp_path / "place"
