"""Media that lie on an object store: pushed and pulled by hash, whole or not at all."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from reeltalk.cli import run
from reeltalk.errors import RemoteError, SettingError
from reeltalk.schema.media import Video
from reeltalk.schema.record import VideoId
from reeltalk.store import download
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.media_remote import pull, push, read_remote, record_remote
from reeltalk.store.release import freeze
from reeltalk.store.validate import validate

FILMS = [f"film {number} ".encode() * 5000 for number in range(5)]
HASHES = sorted(hashlib.sha256(film).hexdigest() for film in FILMS)


def benchmark_at(path: Path, media: list[bytes]) -> Benchmark:
    """A benchmark that names all films, with the given ones at hand."""
    benchmark = Benchmark.create(path, name="kitchen")
    videos = [Video(id=VideoId(f"v{n}"), sha256=hashlib.sha256(film).hexdigest()) for n, film in enumerate(FILMS)]
    benchmark.write_content(Content(videos=videos), stage="import test")
    for number, film in enumerate(media):
        source = path.parent / f"{number}.mp4"
        source.write_bytes(film)
        benchmark.media.add(source)
    return benchmark


@pytest.fixture(params=["s3", "file", "memory"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "s3":
        return f"s3://{request.getfixturevalue('bucket')}/kitchen"
    return f"file://{tmp_path}/far/kitchen" if request.param == "file" else f"memory://{tmp_path.name}/kitchen"


def test_media_come_back_as_they_went(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full, bare = benchmark_at(tmp_path / "full", FILMS), benchmark_at(tmp_path / "bare", [])
    before = full.manifest.content_hash
    (full.media.folder / "Thumbs.db").write_bytes(b"what a file manager leaves")
    assert run(["media", "push", str(full.path), address, "--dry-run"]) == 0
    assert "5 files of 0.2 MB would be written to" in capsys.readouterr().out
    assert read_remote(full.path) is None
    assert run(["media", "push", str(full.path), address, "--verify"]) == 0
    assert run(["media", "push", str(full.path)]) == 0
    assert "0 files of 0.0 MB written to" in capsys.readouterr().out
    assert read_remote(full.path) == address
    assert run(["media", "pull", str(bare.path), address, "--dry-run"]) == 0
    assert bare.media.names() == []
    assert run(["media", "pull", str(bare.path), address]) == 0
    assert [bare.media.path(sha256).read_bytes() for sha256 in HASHES] == [
        full.media.path(sha256).read_bytes() for sha256 in HASHES
    ]
    # Where the media lie is no part of the benchmark.
    assert Benchmark.open(full.path).manifest.content_hash == before
    assert [found.where for found in validate(Benchmark.open(full.path))] == ["media/Thumbs.db"]
    assert validate(Benchmark.open(bare.path)) == []


def test_what_is_damaged_on_either_side_is_refused_and_the_rest_arrives(
    s3: Any, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "FIRST_WAIT_S", 0.01)
    full, bare = benchmark_at(tmp_path / "full", FILMS), benchmark_at(tmp_path / "bare", [])
    push(full, f"s3://{bucket}/k")
    whole = s3.get_object(Bucket=bucket, Key=f"k/{HASHES[0]}")["Body"].read()
    s3.put_object(Bucket=bucket, Key=f"k/{HASHES[0]}", Body=b"X" + whole[1:])
    with pytest.raises(RemoteError, match=r"1 of 5 files did not get from .*damaged or replaced"):
        pull(bare, f"s3://{bucket}/k")
    assert bare.media.names() == HASHES[1:]
    with pytest.raises(RemoteError, match=r"came back with another content"):
        push(full, verify=True)
    s3.put_object(Bucket=bucket, Key=f"k/{HASHES[0]}", Body=whole)
    assert pull(bare, f"s3://{bucket}/k").files == 1
    assert bare.media.names() == HASHES
    s3.delete_object(Bucket=bucket, Key=f"k/{HASHES[1]}")
    full.media.path(HASHES[1]).write_bytes(b"rotten")
    assert run(["media", "push", str(full.path)]) == 2
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="k/")["Contents"]
    assert len(listed) == 4


def test_what_is_nowhere_is_named(bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    some = benchmark_at(tmp_path / "some", FILMS[:2])
    push(some, f"s3://{bucket}/k")
    bare = benchmark_at(tmp_path / "bare", [])
    assert run(["media", "pull", str(bare.path), f"s3://{bucket}/k"]) == 1
    out = capsys.readouterr().out
    assert out.count("neither here nor there") == 3
    assert len(bare.media.names()) == 2


def test_a_release_takes_its_media_address_with_it(bucket: str, tmp_path: Path) -> None:
    full = benchmark_at(tmp_path / "full", FILMS)
    push(full, f"s3://{bucket}/k")
    for sha256 in HASHES:
        full.media.path(sha256).unlink()
    released = freeze(full, tmp_path / "release", version="1.0.0")
    assert read_remote(released.path) == f"s3://{bucket}/k"
    assert pull(released).files == 5
    assert validate(Benchmark.open(released.path)) == []


def test_an_address_with_credentials_is_not_recorded(tmp_path: Path) -> None:
    bare = benchmark_at(tmp_path / "bare", [])
    with pytest.raises(SettingError, match="holds credentials"):
        record_remote(bare.path, "s3://key:word@bucket/k")
    with pytest.raises(SettingError, match="records no address"):
        pull(bare)
    (bare.path / "remote.json").write_text(json.dumps({"format": "reeltalk.remote", "media": "s3://key:word@b/k"}))
    assert run(["media", "pull", str(bare.path)]) == 2
