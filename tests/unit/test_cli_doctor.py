"""`reeltalk doctor`: what a machine lacks, what is wrong with a benchmark or a run, and what to do about it."""

import hashlib
import json
import re
import shutil
import threading
import time
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sample_videos import Numbered

from reeltalk.cli import doctor, run
from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.links import ask_links
from reeltalk.store.media_remote import record_remote
from reeltalk.store.release import freeze
from reeltalk.store.validate import validate
from reeltalk.video import stream
from reeltalk.video.serving import decode_ends
from reeltalk.video.stream import try_codec

ROOT = Path(__file__).parents[2]


def looked(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[tuple[str, str], Any]:
    """The checks of a call by area and subject."""
    capsys.readouterr()
    assert run(["doctor", *arguments, "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["counts"].get("problem", 0) > 0) == (code == 1)
    return {(check["area"], check["subject"]): check for check in document["checks"]}


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two films, one of which was cut off in the middle."""
    folder = tmp_path_factory.mktemp("films")
    whole = Numbered("h264.mp4").make()[0]
    # With its index in front, as for the web, a file that was cut off still opens.
    import av

    with (
        av.open(str(whole)) as source,
        av.open(str(folder / "front.mp4"), "w", options={"movflags": "+faststart"}) as output,
    ):
        stream = output.add_stream_from_template(source.streams.video[0])
        for packet in source.demux(source.streams.video[0]):
            if packet.dts is not None:
                packet.stream = stream
                output.mux(packet)
    content = (folder / "front.mp4").read_bytes()
    (folder / "torn.mp4").write_bytes(content[: len(content) * 2 // 3])
    return {"whole": whole, "torn": folder / "torn.mp4"}


@pytest.fixture
def bench(films: dict[str, Path], tmp_path: Path) -> Benchmark:
    benchmark = Benchmark.create(tmp_path / "bench")
    videos = [Video(id=VideoId(name), sha256=benchmark.media.add(path)) for name, path in films.items()]
    benchmark.write_content(Content(videos=videos), stage="import test")
    return benchmark


def test_the_machine_is_looked_at_and_no_key_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert run(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "very-secret" not in out
    assert re.search(r"^ok +keys: OPENAI_API_KEY: set$", out, re.MULTILINE)
    assert re.search(r"^optional +keys: HF_TOKEN: not set", out, re.MULTILINE)
    assert re.search(r"^ok +codecs: h264: written by libx264, and decoded$", out, re.MULTILINE)
    assert re.search(r"\d+ checks: 0 problems", out)


def test_every_extra_is_known_with_what_it_is_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(doctor.EXTRAS) == set(project["project"]["optional-dependencies"])


def test_packages_that_lack_or_differ_are_told_from_what_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = ["numpy<1", "pydantic", 'no-such-package; extra == "wandb"', 'pyyaml<1; extra == "s3"']
    monkeypatch.setattr("importlib.metadata.requires", lambda _: needs)
    found = {check.subject: check for check in doctor._packages()}
    assert (found["needed"].status, found["wandb"].status, found["s3"].status) == ("problem", "optional", "warning")
    assert found["needed"].found.startswith("numpy is ")
    assert found["wandb"].advice == "pip install 'reeltalk[wandb]'"


def test_a_codec_counts_only_when_it_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    assert try_codec({"codec": "mpeg4"})["decodes"] is True
    monkeypatch.setitem(stream.ENCODERS, "mpeg4", ("no-such-encoder",))
    tried = try_codec({"codec": "mpeg4"})
    assert (tried["encoder"], tried["decodes"]) == (None, None)
    assert doctor._decoding("mpeg4", tried).status == "ok"
    monkeypatch.setitem(stream.ENCODERS, "no-such-codec", ())
    assert try_codec({"codec": "no-such-codec"})["decodes"] is False
    refused = {"encoder": None, "decodes": False, "why": "no decoder"}
    assert doctor._decoding("hevc", refused).status == "problem"
    assert doctor._decoding("mpeg2video", refused).status == "optional"
    assert doctor._writing({"encoder": None, "decodes": None, "why": "x"}).status == "problem"


def test_little_room_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "LITTLE_DISK", 1 << 60)
    monkeypatch.setattr(doctor, "LITTLE_MEMORY", 1 << 60)
    found = {check.subject: check.status for check in doctor._room(tmp_path)}
    assert (found["disk"], found["memory"]) == ("warning", "warning")


def test_a_whole_benchmark_has_no_findings(bench: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    found = looked(capsys, str(bench.path))
    assert {check["status"] for check in found.values()} == {"ok"}
    assert found["media", "presence"]["found"] == "all 2 files that the tables name are here"


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


def test_a_video_that_was_cut_off_is_found_by_decoding(bench: Benchmark, capsys: pytest.CaptureFixture[str]) -> None:
    found = looked(capsys, str(bench.path), "--decode", "--workers", "1", code=1)
    assert ("decoding", "videos:whole") not in found
    assert "cut off" in found["decoding", "videos:torn"]["found"]


def test_both_ends_of_a_video_are_decoded(films: dict[str, Path], tmp_path: Path) -> None:
    ends = decode_ends({"path": str(films["whole"])})
    assert ends["first_s"] == 0
    assert ends["last_s"] > 1
    (tmp_path / "text.mp4").write_text("no video")
    assert "no container" in decode_ends({"path": str(tmp_path / "text.mp4")})["refused"]


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


class Sources(BaseHTTPRequestHandler):
    """A web server some of whose pages are gone, move, or never answer."""

    asked: list[str]

    def do_HEAD(self) -> None:
        self.asked.append(f"HEAD {self.path}")
        if self.path == "/slow":
            time.sleep(1)
        if self.path == "/moves":
            self.send_response(302)
            self.send_header("Location", "/fine")
        elif self.path == "/round":
            self.send_response(302)
            self.send_header("Location", "/round")
        else:
            codes = {"/fine": 200, "/gone": 410, "/no-head": 405, "/private": 401, "/broken": 500, "/slow": 200}
            self.send_response(codes[self.path])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.asked.append(f"GET {self.path} {self.headers['Range']}")
        self.send_response(206 if self.path == "/no-head" else 410)
        self.send_header("Content-Length", "1")
        self.end_headers()
        self.wfile.write(b"x")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def sources() -> Iterator[str]:
    Sources.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sources)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_sources_that_no_longer_answer_are_reported(sources: str) -> None:
    names = ("fine", "gone", "no-head", "private", "broken", "slow", "moves", "round")
    videos = [Video(id=VideoId(name), source=f"{sources}/{name}") for name in names]
    videos += [
        Video(id=VideoId("again"), source=f"{sources}/fine"),
        Video(id=VideoId("closed"), source="http://127.0.0.1:1/x"),
        Video(id=VideoId("signed"), source=f"{sources}/fine?X-Amz-Signature=very-secret"),
        Video(id=VideoId("words"), source="YouCook2"),
    ]
    report = ask_links(videos, answer_s=0.5)
    found = {link.videos: link.outcome for link in report.links}
    assert found == {
        ("fine", "again"): "answers", ("gone",): "gone", ("no-head",): "answers", ("private",): "refused",
        ("broken",): "failing", ("slow",): "unreachable", ("moves",): "answers", ("round",): "failing",
        ("closed",): "unreachable", ("signed",): "not asked",
    }  # fmt: skip
    assert "very-secret" not in report.model_dump_json()
    assert Sources.asked.count("HEAD /fine") == 2  # itself, and where /moves leads
    assert "GET /no-head bytes=0-0" in Sources.asked
    assert Sources.asked.count("HEAD /round") == 6


def test_a_report_of_link_rot_goes_into_the_release(
    sources: str, bench: Benchmark, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = bench.media.names()[0]
    lost = hashlib.sha256(b"lost").hexdigest()
    videos = [
        Video(id=VideoId("here"), sha256=here, source=f"{sources}/gone"),
        Video(id=VideoId("lost"), sha256=lost, source=f"{sources}/broken"),
    ]
    bench.write_content(Content(videos=videos), stage="import test")
    before = Benchmark.open(bench.path).manifest.content_hash
    found = looked(capsys, str(bench.path), "--links", "--quick", code=1)
    assert found["links", f"{sources}/gone"]["status"] == "warning"
    assert found["links", f"{sources}/broken"]["status"] == "problem"
    assert Benchmark.open(bench.path).manifest.content_hash == before
    assert validate(Benchmark.open(bench.path)) == []
    released = freeze(Benchmark.open(bench.path), tmp_path / "release", version="1.0.0")
    report = json.loads((released.path / "link-rot.json").read_text())
    assert [link["outcome"] for link in report["links"]] == ["failing", "gone"]
    assert "0 of 2 addresses that videos name as their source answered" in (released.path / "README.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--decode"], "look at a benchmark"),
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
