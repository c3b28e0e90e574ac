"""A benchmark on disk."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from reliability_page import Reliability

from reeltalk.errors import BenchmarkError, FrozenError, InputError, ReeltalkError
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, DialogueId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.release import freeze
from reeltalk.store.tables import CLIPS, DIALOGUES, VIDEOS


def small() -> Content:
    return Content(
        videos=[
            Video(id=VideoId("v1"), duration_s=60.0, split="test", licence="CC-BY-4.0", extra={"unknown": [1, None]})
        ],
        dialogues=[
            Dialogue(id=DialogueId("d1"), video_id=VideoId("v1"), turns=(Turn(question="Wer?", references=("Sie.",)),))
        ],
        graphs={"v1": "<http://a> <http://b> <http://c> .\n"},
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    assert benchmark.write_content(small(), stage="test") == {"videos": 1, "dialogues": 1}
    assert Benchmark.open(tmp_path / "b").content() == small()


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        Benchmark.create(tmp_path / name, name="same").write_content(small(), stage="test")
    files = {path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()}
    assert {"manifest.json", "videos.jsonl", "dialogues.jsonl"} <= {str(file) for file in files}
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_writing_replaces_whole_tables_together(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    benchmark.write_content(small(), stage="first")
    with benchmark.writing(stage="second") as writer:
        writer.add(CLIPS, [Clip(id=ClipId("c1"), video_id=VideoId("v1"))])
    reopened = Benchmark.open(tmp_path / "b")
    assert [clip.id for clip in reopened.read(CLIPS)] == ["c1"]
    assert reopened.rows(DIALOGUES) == 1
    benchmark.write_content(Content(videos=small().videos), stage="third")
    assert not (tmp_path / "b" / "clips.jsonl").exists()
    assert list(Benchmark.open(tmp_path / "b").read(CLIPS)) == []


def test_an_exception_while_writing_changes_nothing(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    benchmark.write_content(small(), stage="first")
    before = {path: path.read_bytes() for path in (tmp_path / "b").rglob("*") if path.is_file()}

    def rows() -> Iterator[Video]:
        yield Video(id=VideoId("v2"))
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"), benchmark.writing(stage="second") as writer:
        writer.add(VIDEOS, rows())
    assert {path: path.read_bytes() for path in (tmp_path / "b").rglob("*") if path.is_file()} == before


def test_a_commit_that_was_interrupted_is_finished_on_opening(tmp_path: Path) -> None:
    done, torn = tmp_path / "done", tmp_path / "torn"
    for path in (done, torn):
        Benchmark.create(path, name="same").write_content(small(), stage="first")
    (torn / ".commit").mkdir()
    (torn / "videos.jsonl").rename(torn / ".commit" / "videos.jsonl")
    (torn / "manifest.json").rename(torn / ".commit" / "manifest.json")
    assert Benchmark.open(torn).content() == Benchmark.open(done).content()
    assert not (torn / ".commit").exists()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    Benchmark.create(tmp_path / "b").write_content(small(), stage="first")
    (tmp_path / "b" / "videos.jsonl").write_text('{"id": "v1"}\n{"id": "v2", "duration_s": -1}\n')
    with pytest.raises(InputError, match=r"videos\.jsonl:2 at \.duration_s") as caught:
        list(Benchmark.open(tmp_path / "b", as_it_is=True).read(VIDEOS))
    assert "-1" in str(caught.value)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BenchmarkError, match="not a benchmark"):
        Benchmark.create(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("version", [1, 99])
def test_a_benchmark_of_another_version_is_refused(tmp_path: Path, version: int) -> None:
    Benchmark.create(tmp_path / "b").write_content(small(), stage="first")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    (tmp_path / "b" / "manifest.json").write_text(json.dumps(manifest | {"schema_version": version}))
    with pytest.raises(BenchmarkError, match=f"has schema version {version}, and this reeltalk reads version 2"):
        Benchmark.open(tmp_path / "b")


@pytest.mark.parametrize("name", ["", "../outside", "a/b", ".hidden", "a\\b"])
def test_a_graph_cannot_be_written_outside(tmp_path: Path, name: str) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    with pytest.raises(BenchmarkError, match="cannot be named"):
        benchmark.write_content(Content(graphs={name: ""}), stage="test")


FULL_DISK = """
import resource, sys
from pathlib import Path
from reeltalk.cli import run
resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))
sys.exit(run(["import", "vdact", sys.argv[1], sys.argv[2]]))
"""


def test_a_full_disk_is_a_clear_error_and_leaves_nothing(
    tmp_path: Path, samples: Path, reliability: Reliability
) -> None:
    """A limit on file size makes the kernel refuse writes as a full disk does, for root too."""
    reliability("storage", "a disk that is full while a benchmark is written", "a traceback, or a torn file").tried = 1
    rows = json.loads((samples / "vdact" / "results" / "careful-8f.json").read_text())
    many = [
        row | {"id": f"{number:05d}{row['id'][5:]}", "dial_id": f"{number:05d}{row['dial_id'][5:]}"}
        for number in range(100, 140)
        for row in rows
    ]
    (tmp_path / "many.json").write_text(json.dumps(many))
    code = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "many.json"), str(tmp_path / "b")],
        capture_output=True,
        text=True,
    )
    assert code.returncode == 2, code.stderr
    assert "cannot write" in code.stderr
    assert "Traceback" not in code.stderr
    assert Benchmark.open(tmp_path / "b").content() == Content()
    assert not list((tmp_path / "b").glob(".partial-*"))


def test_media_are_stored_once_by_content(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / name).write_bytes(b"the same film")
    first, second = (benchmark.media.add(tmp_path / name) for name in ("a.mp4", "b.mp4"))
    assert first == second
    assert benchmark.media.names() == [first]
    assert benchmark.media.path(first).read_bytes() == b"the same film"


class TestFreeze:
    def test_a_release_is_complete_and_does_not_change(self, tmp_path: Path) -> None:
        benchmark = Benchmark.create(tmp_path / "b")
        benchmark.write_content(small(), stage="first")
        release = freeze(benchmark, tmp_path / "r", version="1.0.0", title="Kitchen | test")
        assert release.content() == small()
        card = (tmp_path / "r" / "README.md").read_text()
        assert "# Kitchen \\| test 1.0.0" in card
        assert "| v1 | CC-BY-4.0 | not stated | not included |" in card
        assert release.manifest.canary
        assert release.manifest.canary in card
        with pytest.raises(FrozenError, match=r"release 1\.0\.0"), release.writing(stage="change") as writer:
            writer.add(VIDEOS, [])
        assert not (tmp_path / "r" / "videos.jsonl").stat().st_mode & 0o222

    def test_the_same_content_gives_the_same_release(self, tmp_path: Path) -> None:
        cards = []
        for name in ("one", "two"):
            benchmark = Benchmark.create(tmp_path / name, name="same")
            benchmark.write_content(small(), stage="first")
            freeze(benchmark, tmp_path / f"{name}-release", version="1.0.0")
            cards.append((tmp_path / f"{name}-release" / "README.md").read_bytes())
        assert cards[0] == cards[1]

    def test_a_benchmark_with_errors_is_not_released(self, tmp_path: Path) -> None:
        benchmark = Benchmark.create(tmp_path / "b")
        benchmark.write_content(Content(dialogues=small().dialogues), stage="first")
        with pytest.raises(ReeltalkError, match="belongs to video 'v1', which the benchmark does not have"):
            freeze(benchmark, tmp_path / "r", version="1.0.0")
        assert not (tmp_path / "r").exists()

    def test_a_version_is_a_version(self, tmp_path: Path) -> None:
        benchmark = Benchmark.create(tmp_path / "b")
        with pytest.raises(ReeltalkError, match="not 'final'"):
            freeze(benchmark, tmp_path / "r", version="final")


def test_what_files_were_made_from_is_stored_once_for_all_files_of_a_write(tmp_path: Path) -> None:
    parents = {f"clips/{number}.mp4": "0" * 64 for number in range(300)}
    with Benchmark.create(tmp_path / "b").writing(stage="curate", settings={"fps": 2}, parents=parents) as writer:
        for number in range(300):
            writer.add_file(f"sheets/{number}.jpg", b"a sheet")
    with Benchmark.open(tmp_path / "b").writing(stage="tell") as writer:
        writer.add_graph("one", "")
    stored = (tmp_path / "b" / "manifest.json").read_text()
    assert stored.count("clips/299.mp4") == 1
    files = Benchmark.open(tmp_path / "b").manifest.files
    assert all(entry.parents == parents for name, entry in files.items() if name.startswith("sheets/"))
    assert files["sheets/0.jpg"].origin is files["sheets/299.jpg"].origin
    assert (files["graphs/one.nq"].stage, files["graphs/one.nq"].parents) == ("tell", {})


@pytest.mark.parametrize("origin", [7, -1, "0", None, True, 0.0])
def test_a_file_of_no_known_origin_is_refused(tmp_path: Path, origin: object) -> None:
    Benchmark.create(tmp_path / "b").write_content(small(), stage="first")
    path = tmp_path / "b" / "manifest.json"
    document = json.loads(path.read_text())
    next(iter(document["files"].values()))["origin"] = origin
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="origin"):
        Benchmark.open(tmp_path / "b")
