"""Whatever a command will read is read before the first request: one damaged row costs no money."""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from reliability_page import Reliability
from scripted_server import serve

from reeltalk.cli import run
from reeltalk.store.tables import PLAYED_TABLES, TABLES

Command = Callable[[Path, Path, str, Path], list[object]]
"""Takes a benchmark, a run of it, an address and a folder for results."""
JUDGED = ("--protocols", "svbench", "--judge", "judge", "--judge-base-url")
COMMANDS: dict[str, Command] = {
    "evaluate": lambda bench, _, url, out: [
        *("evaluate", bench, "--model", "tiny", "--base-url", url, "--policy", "none", "--out", out)
    ],
    "evaluate, streaming": lambda bench, _, url, out: [
        *("evaluate", bench, "--model", "tiny", "--base-url", url, "--policy", "none", "--mode", "streaming"),
        *("--out", out),
    ],
    "evaluate, with a judge": lambda bench, _, url, out: [
        *("evaluate", bench, "--model", "baseline:blind", *JUDGED, url, "--out", out)
    ],
    "judge": lambda bench, played, url, out: ["judge", played, "--bench", bench, *JUDGED, url, "--out", out],
    "judge --attack style": lambda bench, played, url, _: [
        *("judge", "--attack", "style", "--bench", bench, "--protocols", "clair", *JUDGED[2:], url, "--every", "20")
    ],
    "construct": lambda bench, _, url, __: [
        *("construct", bench, "--writer", "tiny", "--base-url", url, "--sees", "text")
    ],
    "construct --rubrics": lambda bench, _, url, __: [
        *("construct", bench, "--rubrics", "--writer", "tiny", "--base-url", url)
    ],
    "tag": lambda bench, _, url, __: ["tag", bench, "--model", "tiny", "--base-url", url],
    "tag --measure": lambda bench, _, url, __: ["tag", bench, "--measure", "--model", "tiny", "--base-url", url],
}
WRITES = ("construct", "construct --rubrics", "tag", "tag --measure")
"""These read all tables; the others those that are played."""


def damage_last(file: Path) -> None:
    """Damage the last row of a file, so that the manifest beside it, if it lists the file, says nothing."""
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + b'{"id": 7, "model": 7}\n')
    manifest = file.parent / "manifest.json"
    if manifest.is_file():
        told = json.loads(manifest.read_text(encoding="utf-8"))
        content = file.read_bytes()
        told["files"][file.name] |= {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
        manifest.write_text(json.dumps(told), encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_damaged_row_at_the_end_of_any_table_stops_a_command_before_its_first_request(
    name: str,
    full: bool,
    constructed_household: Path,
    played_run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    reliability: Reliability,
) -> None:
    tally = reliability(
        "servers",
        "tables with a damaged last row, read by commands that ask models",
        "a request is sent, the command goes on, or the row is not named",
    )
    tables = [*TABLES.values()] if name in WRITES else PLAYED_TABLES
    files = [table.file_name for table in tables if (constructed_household / table.file_name).is_file()]
    assert len(files) >= 5
    files = files if full else files[len(name) % 3 :: 3]
    with serve(lambda _: "yes") as server:
        for file in files:
            bench = shutil.copytree(constructed_household, tmp_path / "bench")
            damage_last(bench / file)
            command = COMMANDS[name](bench, played_run, server.base_url, tmp_path / "out")
            assert run([str(word) for word in command]) == 2
            assert f"{file}:" in capsys.readouterr().err
            assert server.count == server.preflights == 0
            tally.tried += 1
            shutil.rmtree(bench)
    assert not (tmp_path / "out" / "run.json").exists()


@pytest.mark.parametrize("file", ["answers.jsonl", "run.json"])
def test_so_does_one_of_an_earlier_run(
    file: str, played_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = shutil.copytree(played_run, tmp_path / "played")
    damage_last(played / file)
    with serve(lambda _: "yes") as server:
        command = ["judge", played, *JUDGED, server.base_url, "--out", tmp_path / "out"]
        assert run([str(word) for word in command]) == 2
        assert str(played / file) in capsys.readouterr().err
        assert server.count == server.preflights == 0


def test_so_does_one_of_a_graph(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shutil.copytree(samples / "vdact", tmp_path / "vdact")
    last = max(path for path in (data / "kg_activity").rglob("*") if path.is_file())
    last.write_bytes(last.read_bytes()[:-40])
    with serve(lambda _: "yes") as server:
        command = (
            *("graph", "tell", data / "kg_activity", "--scenarios", data / "scenario_to_activities.json"),
            *("--initial-rooms", data / "initial_rooms.json", "--out", tmp_path / "refined"),
            *("--model", "tiny", "--base-url", server.base_url),
        )
        assert run([str(word) for word in command]) == 2
        assert last.name in capsys.readouterr().err
        assert server.count == server.preflights == 0
