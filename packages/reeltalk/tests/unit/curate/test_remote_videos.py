"""Videos on an object store are curated as the same files are in a folder here."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sample_videos import Numbered

from reeltalk.cli import run
from reeltalk.curate.sources import companion_names, files_to_fetch, find_videos, read_sidecar
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.sources import fetch_sources
from reeltalk.store.tables import REJECTED, SPEECH, VIDEOS

WIDE = ["--min-duration-s", "1", "--min-shots", "1", "--min-mean-shot-s", "0.5", "--min-flow-px", "0"]
WIDE += ["--workers", "1"]


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as people have them: a copy, a sidecar, folders, what is no video, and what is hidden."""
    folder = tmp_path_factory.mktemp("somewhere") / "raw"
    (folder / "day").mkdir(parents=True)
    film = Numbered("h264.mp4").make()[0]
    shutil.copy(film, folder / "b.mp4")
    shutil.copy(Numbered("h264-turned.mp4", rotation_deg=90).make()[0], folder / "day" / "a.MP4")
    shutil.copy(film, folder / "day" / "copy.mp4")
    (folder / "torn.mp4").write_bytes(film.read_bytes()[:3000])
    (folder / "empty.mp4").touch()
    (folder / "notes.txt").write_text("no video")
    (folder / ".hidden.mp4").write_bytes(b"x")
    (folder / "b.json").write_text(json.dumps({"licence": "CC0-1.0", "split": "test"}))
    (folder / "b.srt").write_text("1\n00:00:01,000 --> 00:00:02,000\nHello.\n")
    (folder / "day" / "a.info.json").write_text(json.dumps({"license": "CC-BY-4.0"}))
    return folder


def uploaded(s3: Any, bucket: str, raw: Path) -> None:
    for path in raw.rglob("*"):
        if path.is_file():
            s3.put_object(Bucket=bucket, Key=f"raw/{path.relative_to(raw)}", Body=path.read_bytes())


def files_of(benchmark: Path) -> dict[str, bytes]:
    names = [name for name in Benchmark.open(benchmark).manifest.files if name != REJECTED.file_name]
    return {name: (benchmark / name).read_bytes() for name in names}


def test_tables_are_those_of_the_same_files_here(
    s3: Any, bucket: str, raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uploaded(s3, bucket, raw)
    # A key may be any string: none of these can be a file in the folder.
    s3.put_object(Bucket=bucket, Key="raw/../escaped.mp4", Body=b"x")
    s3.put_object(Bucket=bucket, Key="raw//twice.mp4", Body=b"x")
    s3.put_object(Bucket=bucket, Key="raw/day/", Body=b"")
    local, remote = tmp_path / "local", tmp_path / "remote"
    assert run(["curate", str(raw), "--into", str(local), *WIDE]) == 1
    assert run(["curate", f"s3://{bucket}/raw/", "--into", str(remote), *WIDE]) == 1
    here, there = Benchmark.open(local), Benchmark.open(remote)
    assert [str(video.id) for video in there.read(VIDEOS)] == ["b", "day/a"]
    assert files_of(local) == files_of(remote)
    assert [row.text for row in there.read(SPEECH)] == ["Hello."]
    assert here.media.names() == there.media.names()
    refused = {row.record_id: row for row in there.read(REJECTED)}
    assert refused["../escaped"].reason.startswith("its name holds")
    assert "outside" in refused["/twice"].reason
    rows = [row for row in refused.values() if row.record_id not in ("../escaped", "/twice")]
    assert [(r.record_id, r.reason) for r in rows] == [(r.record_id, r.reason) for r in here.read(REJECTED)]
    assert refused["torn"].place == f"s3://{bucket}/raw/torn.mp4"
    for path in remote.rglob("*"):
        assert not path.is_file() or b"a-secret-for-tests" not in path.read_bytes()
    assert "a-secret-for-tests" not in "".join(capsys.readouterr())


def test_what_is_here_is_not_brought_again_and_what_changed_is(
    s3: Any, bucket: str, raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    s3.put_object(Bucket=bucket, Key="raw/b.mp4", Body=(raw / "b.mp4").read_bytes())
    arguments = ["curate", f"s3://{bucket}/raw/", "--into", str(tmp_path / "bench"), *WIDE]
    assert run(arguments) == 0
    cached = {path: path.stat().st_mtime_ns for path in (tmp_path / "bench/.work/sources/objects").iterdir()}
    assert len(cached) == 1
    capsys.readouterr()
    assert run(arguments) == 0
    assert "nothing changed since the last run" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "bench/.work/sources/objects").iterdir()} == cached
    s3.put_object(Bucket=bucket, Key="raw/b.mp4", Body=(raw / "day" / "a.MP4").read_bytes())
    assert run(arguments) == 0
    assert len(list((tmp_path / "bench/.work/sources/objects").iterdir())) == 2
    (video,) = Benchmark.open(tmp_path / "bench").read(VIDEOS)
    assert video.encoding is not None
    assert video.encoding.rotation_deg == 90


@pytest.mark.parametrize("scheme", ["s3", "memory", "file"])
def test_one_video_is_named_by_its_address(s3: Any, bucket: str, raw: Path, tmp_path: Path, scheme: str) -> None:
    if scheme == "file":
        address = f"file://{raw}/b.mp4"
    elif scheme == "s3":
        uploaded(s3, bucket, raw)
        address = f"s3://{bucket}/raw/b.mp4"
    else:
        import fsspec

        for name in ("b.mp4", "b.json", "b.srt"):
            fsspec.filesystem("memory").pipe(f"/{bucket}/{name}", (raw / name).read_bytes())
        address = f"memory://{bucket}/b.mp4"
    brought = fetch_sources(address, tmp_path, choose=files_to_fetch, beside=companion_names, most_bytes=1 << 30)
    ((there,), _), ((here,), _) = find_videos([brought]), find_videos([raw / "b.mp4"])
    assert (there.id, there.name, there.place) == (here.id, here.name, address)
    assert there.path.read_bytes() == here.path.read_bytes()
    assert [file.path.read_bytes() for file in there.transcripts] == [(raw / "b.srt").read_bytes()]
    assert there.sidecar is not None
    assert read_sidecar(there.sidecar) == ({"licence": "CC0-1.0", "split": "test"}, [])


def test_more_than_may_come_is_refused_before_a_byte_is_asked_for(
    s3: Any, bucket: str, raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uploaded(s3, bucket, raw)
    arguments = ["curate", f"s3://{bucket}/raw", "--into", str(tmp_path / "bench"), "--max-download-gib", "0.0001"]
    assert run(arguments) == 2
    assert "--max-download-gib allows 0.1 MB; raise it" in capsys.readouterr().err
    assert not (tmp_path / "bench/.work").exists()
    assert run([*arguments[:-1], "0"]) == 2
