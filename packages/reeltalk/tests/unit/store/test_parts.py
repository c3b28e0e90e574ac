"""Tables that are stored in several files."""

import json
import shutil
from pathlib import Path

import pytest

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.dialogue import Linkage, TurnRef
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import MANIFEST
from reeltalk.store.release import freeze
from reeltalk.store.tables import CLIPS, LINKAGES, VIDEOS
from reeltalk.store.validate import accept, validate

VIDEO_COUNT = 40


def content() -> Content:
    videos = [Video(id=VideoId(f"v{number:02d}"), duration_s=60.0) for number in range(VIDEO_COUNT)]
    return Content(
        videos=videos,
        clips=[Clip(id=ClipId(f"{video.id}-{part}"), video_id=video.id) for video in videos for part in range(3)],
        graphs={"v00-0": "<http://a> <http://b> <http://c> .\n"},
    )


@pytest.fixture
def parted(tmp_path: Path) -> Benchmark:
    benchmark = Benchmark.create(tmp_path / "parted", name="same", part_bytes=600)
    benchmark.write_content(content(), stage="test")
    return Benchmark.open(benchmark.path)


def test_a_large_table_is_the_same_in_parts(parted: Benchmark, tmp_path: Path) -> None:
    whole = Benchmark.create(tmp_path / "whole", name="same")
    whole.write_content(content(), stage="test")
    files = sorted((parted.path / "clips").iterdir())
    assert len(files) > 2
    assert not (parted.path / "clips.jsonl").exists()
    assert b"".join(file.read_bytes() for file in files) == (whole.path / "clips.jsonl").read_bytes()
    assert parted.manifest.content_hash == whole.manifest.content_hash
    assert parted.content() == whole.content() == content()
    rows = parted.table(CLIPS)
    assert len(rows) == 3 * VIDEO_COUNT == parted.rows(CLIPS)
    assert [rows[place] for place in range(len(rows))] == list(rows) == content().clips
    assert not validate(parted)


def test_rows_of_a_video_are_found_without_reading_all(parted: Benchmark) -> None:
    some = parted.table(CLIPS, among={"v20"})
    assert [clip.id for clip in some.grouped()["v20"]] == ["v20-0", "v20-1", "v20-2"]
    assert len(some) < VIDEO_COUNT
    assert not len(parted.table(CLIPS, among={"w"}))
    # Parts that are not needed are not opened.
    (parted.path / "clips" / "part-00000.jsonl").unlink()
    assert "v20" in Benchmark.open(parted.path).table(CLIPS, among={"v20"}).grouped()


def test_rows_without_a_video_are_always_read(tmp_path: Path) -> None:
    ends = [TurnRef(unit="chain", unit_id=f"c{number}", turn_index=0) for number in range(VIDEO_COUNT)]
    linkages = [Linkage(source=end, target=end, relation="people") for end in ends]
    benchmark = Benchmark.create(tmp_path / "b", part_bytes=1000)
    benchmark.write_content(Content(linkages=linkages), stage="test")
    assert len(benchmark.manifest.files["linkages.jsonl"].parts) > 2
    assert list(benchmark.table(LINKAGES, among={"v20"})) == linkages


def test_a_small_table_takes_the_place_of_its_parts(parted: Benchmark) -> None:
    with parted.writing(stage="second") as writer:
        writer.add(CLIPS, content().clips[:2])
        writer.add(VIDEOS, content().videos)
        writer.add(VIDEOS, content().videos[:1])
    assert not (parted.path / "clips").exists()
    assert not (parted.path / "videos").exists()
    assert list(Benchmark.open(parted.path).read(CLIPS)) == content().clips[:2]
    assert {path.name for path in parted.path.iterdir() if path.is_file()} >= {"clips.jsonl", "videos.jsonl"}
    with parted.writing(stage="third") as writer:
        writer.add(CLIPS, content().clips)
    assert not (parted.path / "clips.jsonl").exists()
    assert list(Benchmark.open(parted.path).read(CLIPS)) == content().clips


def test_a_write_of_parts_that_was_interrupted_is_finished(parted: Benchmark, tmp_path: Path) -> None:
    torn = Benchmark.create(tmp_path / "torn", name="same")
    torn.write_content(Content(videos=content().videos[:1]), stage="first")
    shutil.copytree(parted.path, torn.path / ".commit", ignore=shutil.ignore_patterns(".lock"))
    (torn.path / ".commit" / "removed.txt").write_text("videos.jsonl\n")
    shutil.rmtree(torn.path / ".commit" / "clips")
    shutil.copytree(parted.path / "clips", torn.path / "clips")
    assert Benchmark.open(torn.path).content() == content()
    assert not validate(Benchmark.open(torn.path))


def test_an_edited_part_is_named_and_can_be_accepted(parted: Benchmark) -> None:
    part = parted.path / "clips" / "part-00001.jsonl"
    part.write_text(part.read_text().replace('"v10-1"', '"v10-9"'))
    with pytest.raises(BenchmarkError, match=r"clips/part-00001\.jsonl was edited or damaged"):
        Benchmark.open(parted.path).table(CLIPS)
    assert any(finding.where == "clips/part-00001.jsonl" for finding in validate(Benchmark.open(parted.path)))
    assert accept(parted.path) == ["clips.jsonl"]
    accepted = Benchmark.open(parted.path)
    assert not validate(accepted)
    assert "v10-9" in {clip.id for clip in accepted.read(CLIPS)}
    assert "v10" in accepted.table(CLIPS, among={"v10"}).grouped()


def test_a_damaged_line_is_named_by_its_part(parted: Benchmark) -> None:
    part = parted.path / "clips" / "part-00001.jsonl"
    lines = part.read_text().splitlines(keepends=True)
    part.write_text("".join((*lines[:2], "{}\n", *lines[3:])))
    rows = Benchmark.open(parted.path, as_it_is=True)
    with pytest.raises(InputError, match=r"part-00001\.jsonl:3"):
        list(rows.read(CLIPS))
    with pytest.raises(InputError, match=r"part-00001\.jsonl:3"):
        list(rows.table(CLIPS))


def test_a_release_keeps_the_parts(parted: Benchmark, tmp_path: Path) -> None:
    released = freeze(parted, tmp_path / "release", version="1.0.0")
    assert released.table(CLIPS)[-1] == content().clips[-1]
    assert not validate(released)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": [{"sha256": "0" * 64, "size_bytes": 1, "rows": 1}]}, "the parts have 1 rows"),
        ({"sha256": "0" * 64}, "not that of its parts together"),
    ],
)
def test_a_manifest_that_contradicts_its_parts_is_refused(
    parted: Benchmark, change: dict[str, object], message: str
) -> None:
    manifest = json.loads((parted.path / MANIFEST).read_text())
    manifest["files"]["clips.jsonl"] |= change
    (parted.path / MANIFEST).write_text(json.dumps(manifest))
    try:
        problems = [finding.problem for finding in validate(Benchmark.open(parted.path))]
    except InputError as error:
        problems = [str(error)]
    assert any(message in problem for problem in problems)
