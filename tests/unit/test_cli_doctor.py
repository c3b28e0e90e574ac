"""`reeltalk doctor`: what a machine lacks, what is wrong with a benchmark or a run, and what to do about it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from reeltalk.cli import doctor, run
from reeltalk.schema.media import Encoding, Video
from reeltalk.schema.record import VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.media_remote import record_remote
from reeltalk.store.validate import validate
from reeltalk.video import stream


def looked(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[tuple[str, str], Any]:
    """The checks of a call by area and subject."""
    capsys.readouterr()
    assert run(["doctor", *arguments, "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["counts"].get("problem", 0) > 0) == (code == 1)
    return {(check["area"], check["subject"]): check for check in document["checks"]}


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    benchmark = Benchmark.create(tmp_path / "bench")
    videos = []
    for name in ("one", "two"):
        (tmp_path / name).write_bytes(f"film {name}".encode())
        videos.append(Video(id=VideoId(name), sha256=benchmark.media.add(tmp_path / name)))
    benchmark.write_content(Content(videos=videos), stage="import test")
    return benchmark


def test_the_machine_is_looked_at(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^ok +machine: encoder: libx264 works$", out, re.MULTILINE)
    assert re.search(r"^ok +machine: reeltalk-build: installed$", out, re.MULTILINE)
    assert re.search(r"\d+ checks: 0 problems", out)


def test_packages_that_lack_or_differ_are_told_from_what_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["numpy<1", "pydantic", 'no-such-package; extra == "wandb"', 'reeltalk[wandb]; extra == "own"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needs)
    found = {check.subject: check for check in doctor._packages()}
    assert (found["reeltalk"].status, found["reeltalk[wandb]"].status) == ("problem", "optional")
    assert found["reeltalk"].found.startswith("numpy is ")
    assert found["reeltalk[own]"].found == "no-such-package is not installed"
    assert found["reeltalk[wandb]"].advice == "pip install --upgrade 'reeltalk[wandb]'"


def test_an_encoder_that_does_not_work_and_little_room_are_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert stream.try_encoder() is None
    monkeypatch.setattr(stream, "FRAMES", 0)
    monkeypatch.setattr(doctor, "LITTLE_DISK", 1 << 60)
    found = {check.subject: check.status for check in doctor.check_machine(tmp_path)}
    assert (found["encoder"], found["disk"]) == ("problem", "warning")


def test_a_whole_benchmark_has_no_findings(bench: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    found = looked(capsys, str(bench.path))
    assert {check["status"] for check in found.values()} == {"ok"}
    assert found["media", "presence"]["found"] == "all 2 files that the tables name are here"


def test_films_that_are_read_in_an_unusual_way_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    encoding = Encoding(
        container="mpegts", codec="h264", pixel_format="yuv420p", frames=9, variable_frame_rate=False, recordings=3
    )
    video = Video(id=VideoId("one"), file="one.ts", encoding=encoding)
    benchmark.write_content(Content(videos=[video]), stage="import test")
    found = looked(capsys, str(benchmark.path))
    assert found["films", "one.ts"]["found"].startswith("recordings were joined")


def test_damaged_missing_and_orphaned_media_are_named_with_what_to_do(
    bench: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = bench.media.names()
    content = bench.media.path(first).read_bytes()
    bench.media.path(first).write_bytes(b"X" + content[1:])
    # Quickly looked at, it is there and holds something.
    assert looked(capsys, str(bench.path), "--quick")["media", "content"]["status"] == "ok"
    damaged = looked(capsys, str(bench.path), code=1)["media", "content"]
    assert f"delete {bench.media.folder}/{first}" in damaged["advice"]
    bench.media.path(first).unlink()
    (tmp_path / "other").write_bytes(b"another film")
    bench.media.add(tmp_path / "other")
    (bench.media.folder / ".partial-1").write_bytes(b"x")
    record_remote(bench.path, "s3://bucket/kitchen")
    found = looked(capsys, str(bench.path), code=1)
    assert "1 of 2 files" in found["media", "presence"]["found"]
    assert found["media", "presence"]["advice"].endswith(f"reeltalk media pull {bench.path}")
    assert "1 files of 0.0 MB are named by no table" in found["media", "orphans"]["found"]
    assert found["media", "parts"]["status"] == "warning"
    bench.media.path(second).write_bytes(b"")
    assert looked(capsys, str(bench.path), "--quick", code=1)["media", "content"]["status"] == "problem"
    # Annotations are often published alone.
    shutil.rmtree(bench.media.folder)
    assert looked(capsys, str(bench.path))["media", "presence"]["status"] == "warning"


def test_tables_are_checked_as_validate_does(bench: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    (bench.path / "videos.jsonl").write_text('{"id": 3}\n')
    found = looked(capsys, str(bench.path), code=1)
    assert found["tables", "videos.jsonl"]["found"] == validate(bench)[0].problem
    assert ("media", "presence") not in found


def test_runs_are_read_whole_and_compared_with_their_benchmark(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench, made = tmp_path / "bench", tmp_path / "run"
    assert run(["import", "vdact", str(samples / "vdact"), str(bench)]) == 0
    arguments = ["--model", "baseline:blind", "--limit", "1", "--split", "all", "--out", str(made)]
    assert run(["evaluate", str(bench), *arguments]) == 0
    assert looked(capsys, str(made))["runs", str(made)]["status"] == "ok"
    assert "it was made on the current" in looked(capsys, str(bench), str(made))["runs", str(made)]["found"]
    other = Benchmark.create(tmp_path / "other")
    found = looked(capsys, str(other.path), str(made), code=1)["runs", str(made)]
    assert f"is not {other.path}" in found["found"]
    lines = (made / "answers.jsonl").read_text().splitlines()
    (made / "answers.jsonl").write_text("\n".join([*lines[:-1], lines[-1][:20]]) + "\n")
    assert "was edited or damaged" in looked(capsys, str(made), code=1)["runs", str(made)]["found"]
    (made / "files.json").unlink()
    assert "answers.jsonl" in looked(capsys, str(made), code=1)["runs", str(made)]["found"]
    (made / "answers.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    assert "scores of" in looked(capsys, str(made), code=1)["runs", str(made)]["found"]


def test_a_project_is_looked_at_with_what_it_reads_names_and_made(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    file = tmp_path / "project.yaml"
    models = "{mine: {model: qwen, base_url: http://localhost:1/v1, api_key_env: MY_KEY}}"
    file.write_text(f"benchmark: bench\ncurate:\n  videos: [raw]\nevaluate:\n  models: {models}\n")
    found = looked(capsys, str(file), code=1)
    assert found["project", str(file)]["status"] == "problem"
    assert found["keys", "MY_KEY"]["status"] == "warning"
    (tmp_path / "raw").mkdir()
    capsys.readouterr()
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")]) == 0
    found = looked(capsys, str(tmp_path))
    assert found["project", str(file)]["status"] == "ok"
    assert found["project", str(file)]["found"].endswith("; 1 of them have made nothing yet")
    assert found["project", str(file)]["advice"] == f"reeltalk run {file}"
    assert found["media", "presence"]["status"] == "ok"


def test_a_project_whose_benchmark_nobody_makes_is_a_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "project.yaml").write_text("benchmark: bench\nconstruct: {}\n")
    found = looked(capsys, str(tmp_path), code=1)["project", str(tmp_path / "project.yaml")]
    assert (found["found"], found["advice"]) == (
        "construct reads bench, which is not there",
        "fix the path, or add a section that makes it: film, curate, import",
    )
    (tmp_path / "project.yaml").write_text("benchmark: bench\nfilm: {}\nconstruct: {}\n")
    found = looked(capsys, str(tmp_path))["project", str(tmp_path / "project.yaml")]
    assert found["found"].endswith("2 of them have made nothing yet")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--quick"], "looks at the media of a benchmark"),
        (["nowhere"], "no such file or folder"),
        (["."], "neither a benchmark nor a run"),
    ],
)
def test_what_cannot_be_looked_at_is_named(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["doctor", *arguments]) == 2
    assert says in capsys.readouterr().err
