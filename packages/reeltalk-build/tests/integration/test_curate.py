"""Curate as a user runs it: real files in, a benchmark out; stopped and started again; copies and lookalikes."""

import hashlib
import itertools
import json
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import av
import pytest
from launched_runs import launcher
from reliability_page import Reliability
from sample_videos import Numbered, Recomposed, cached

from reeltalk.cli import run
from reeltalk.parallel import Call, Failure, FailureKind
from reeltalk.parallel.local import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, FRAMES, REJECTED, SCREENINGS, SHOTS, VIDEOS
from reeltalk.store.validate import validate

WIDE = [
    "--min-duration-s",
    "5",
    "--min-shots",
    "1",
    "--max-shots",
    "60",
    "--min-mean-shot-s",
    "0.5",
    "--min-flow-px",
    "0.01",
]
CUT = Recomposed("curated.mp4", 640, 360, 12)
TABLES = ("videos", "screenings", "shots", "frames", "clips", "rejected")


def resized(source: Path, name: str, width: int, height: int, frames: int) -> Path:
    """The same pictures in another size and codec."""

    def write(path: Path) -> None:
        with av.open(str(source)) as original, av.open(str(path), "w") as output:
            stream: Any = output.add_stream("mpeg4", rate=original.streams.video[0].guessed_rate)
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
            stream.bit_rate = 800_000
            for number, frame in enumerate(original.decode(video=0)):
                if number == frames:
                    break
                small = frame.reformat(width, height, "yuv420p")
                small.pts, small.time_base = number, 1 / stream.codec_context.framerate
                small.pict_type = 0
                output.mux(stream.encode(small))
            output.mux(stream.encode(None))

    return cached(name, f"{source.name} {width} {height} {frames}", write)


@pytest.fixture(scope="module")
def raw(clips: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    shutil.copy(clips["demo"], folder / "demo.mp4")
    shutil.copy(clips["demo"], folder / "demo copy.mp4")
    shutil.copy(clips["bikes"], folder / "bikes.mp4")
    shutil.copy(resized(clips["bikes"], "bikes-small.avi", 320, 136, 200), folder / "small.avi")
    shutil.copy(CUT.make()[0], folder / "shots.mp4")
    shutil.copy(Numbered("h264-turned.mp4", rotation_deg=90).make()[0], folder / "phone.mp4")
    (folder / "torn.mp4").write_bytes((folder / "demo.mp4").read_bytes()[:5000])
    (folder / "text.mp4").write_text("no video")
    (folder / "demo.info.json").write_text(
        json.dumps({"license": "CC-BY-4.0", "webpage_url": "https://example.org/demo", "categories": ["Film"]})
    )
    (folder / "bikes.json").write_text(json.dumps({"licence": "BSD-3-Clause", "split": "test"}))
    return folder


@pytest.fixture(scope="module")
def made(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    into = tmp_path_factory.mktemp("made") / "bench"
    assert run(["curate", str(raw), "--into", str(into), *WIDE, "--cut", "lossless", "--save-frames"]) == 1
    return Benchmark.open(into)


def test_a_folder_becomes_a_benchmark_that_validates(made: Benchmark) -> None:
    assert [finding for finding in validate(made) if finding.severity == "error"] == []
    videos = {str(video.id): video for video in made.read(VIDEOS)}
    assert sorted(videos) == ["bikes", "demo", "phone", "shots", "small"]
    assert videos["bikes"].licence == "BSD-3-Clause"
    assert videos["phone"].encoding is not None
    assert videos["phone"].encoding.rotation_deg == 90
    assert videos["small"].encoding is not None
    assert videos["small"].encoding.codec == "mpeg4"
    assert made.media.has(str(videos["shots"].sha256))


def test_media_can_be_linked_in_place_of_copies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw, into = tmp_path / "raw", tmp_path / "bench"
    raw.mkdir()
    video = Path(shutil.copy(Numbered("linked.mp4", frames=48).make()[0], raw / "a.mp4"))
    short = ["--into", str(into), "--preset", "short-clips", "--min-flow-px", "0", "--min-mean-shot-s", "0"]
    assert run(["curate", str(raw), *short]) == 0, "a copy, which the link then replaces"
    assert run(["curate", str(raw), *short, "--media", "link"]) == 0
    linked = Benchmark.open(into)
    kept = linked.media.path(str(next(iter(linked.read(VIDEOS))).sha256))
    assert kept.samefile(video)
    assert list(kept.parent.iterdir()) == [kept]
    video.unlink()
    assert run(["validate", str(into)]) == 0
    kept.write_bytes(b"edited in place")
    assert run(["validate", str(into)]) == 1
    assert "does not have the hash" in capsys.readouterr().out


def test_a_link_to_another_file_system_is_refused_before_anything_is_decoded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm is no file system of its own here")
    with tempfile.TemporaryDirectory(dir=memory) as raw:
        shutil.copy(Numbered("linked.mp4", frames=48).make()[0], raw)
        assert run(["curate", raw, "--into", str(tmp_path / "bench"), "--media", "link"]) == 2
    said = capsys.readouterr().err
    assert "it is on another file system; choose --media copy" in said
    assert "looking at files" not in said


def test_every_rejection_has_its_reason(made: Benchmark) -> None:
    reasons = {row.record_id: row.reason for row in made.read(REJECTED)}
    assert reasons["demo copy"] == "it is the same file as demo, byte for byte"
    assert "no container that we read" in reasons["text"]
    assert set(reasons) == {"demo copy", "text", "torn"}


def test_copies_in_another_size_are_grouped_and_share_a_split(made: Benchmark) -> None:
    videos = {str(video.id): video for video in made.read(VIDEOS)}
    assert videos["small"].lookalikes == videos["bikes"].lookalikes == "bikes"
    # The sidecar of one decides for both.
    assert videos["small"].split == videos["bikes"].split == "test"
    assert videos["shots"].lookalikes is None


def test_shots_tile_the_video_and_clips_lie_inside(made: Benchmark) -> None:
    for video in made.read(VIDEOS):
        shots = [shot.interval for shot in made.read(SHOTS) if shot.video_id == video.id]
        assert shots[0].start_s == 0
        assert all(a.end_s == b.start_s for a, b in itertools.pairwise(shots))
        clips = [clip for clip in made.read(CLIPS) if clip.video_id == video.id]
        assert clips
        for clip in clips:
            assert clip.interval is not None
            assert 0 <= clip.interval.start_s < clip.interval.end_s <= shots[-1].end_s
            assert clip.file is not None
            assert made.media.has(clip.file.sha256)
    known = [round(shot.interval.start_s * 30) for shot in made.read(SHOTS) if shot.video_id == "shots"]
    assert known == [0, *CUT.make()[1]]


def test_key_frames_are_sharp_and_unlike_the_one_before(made: Benchmark) -> None:
    rows = list(made.read(FRAMES))
    assert {row.dropped for row in rows} == {None, "blurred", "alike"}
    for row in rows:
        assert row.key_frame == (row.dropped is None)
        if row.key_frame:
            assert row.sharpness >= 20
            assert row.similarity is None or row.similarity <= 0.9
    saved = list((made.path / "key_frames").glob("*.jpg"))
    assert len(saved) == sum(row.key_frame for row in rows)
    assert all(path.read_bytes().startswith(b"\xff\xd8") for path in saved)


def test_filters_are_listed_and_what_was_not_applied_says_so(made: Benchmark) -> None:
    for row in made.read(SCREENINGS):
        if not row.kept:
            continue
        assert [result.filter for result in row.filters] == [
            "missing",
            "duration",
            "quality",
            "aesthetic",
            "shots",
            "mean shot",
            "motion",
        ]
        outcomes = {result.filter: result.outcome for result in row.filters}
        assert outcomes["aesthetic"] == outcomes["quality"] == "not applied"
        assert row.quality is not None
        assert row.sheet is not None
        assert (made.path / row.sheet).read_bytes().startswith(b"\x89PNG")


def test_a_second_run_has_nothing_to_do(made: Benchmark, raw: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (made.path / "manifest.json").read_bytes()
    assert run(["curate", str(raw), "--into", str(made.path), *WIDE, "--cut", "lossless", "--save-frames"]) == 1
    assert "nothing changed" in capsys.readouterr().out
    assert (made.path / "manifest.json").read_bytes() == before


def test_a_changed_sidecar_or_another_file_counts(raw: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "in"
    inputs.mkdir()
    shutil.copy(raw / "bikes.mp4", inputs)
    arguments = ["curate", str(inputs), "--into", str(tmp_path / "b"), *WIDE]
    assert run(arguments) == 0
    (inputs / "bikes.json").write_text(json.dumps({"licence": "CC0-1.0"}))
    assert run(arguments) == 0
    assert [video.licence for video in Benchmark.open(tmp_path / "b").read(VIDEOS)] == ["CC0-1.0"]
    (inputs / "empty.mp4").touch()
    assert run(arguments) == 1
    assert [row.record_id for row in Benchmark.open(tmp_path / "b").read(REJECTED)] == ["empty"]


def test_a_video_whose_clip_cannot_be_cut_stops_no_other(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = LocalExecutor.map

    def broken(self: LocalExecutor, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Any]]:
        for index, outcome in real(self, function, calls):
            bad = function.endswith(":cut") and index == 0
            yield index, Failure(FailureKind.DIED, "it died") if bad else outcome

    monkeypatch.setattr(LocalExecutor, "map", broken)
    videos = [str(raw / "bikes.mp4"), str(raw / "shots.mp4")]
    assert run(["curate", *videos, "--into", str(tmp_path / "b"), *WIDE, "--cut", "lossless"]) == 1
    assert "rejected bikes: its clip" in capsys.readouterr().out
    opened = Benchmark.open(tmp_path / "b")
    assert [video.id for video in opened.read(VIDEOS)] == ["shots"]
    assert [finding for finding in validate(opened) if finding.severity == "error"] == []
    shutil.rmtree(tmp_path / "b")
    assert run(["curate", *videos, "--into", str(tmp_path / "b"), *WIDE, "--cut", "lossless", "--strict"]) == 2


def test_workers_do_not_change_the_tables(made: Benchmark, raw: Path, tmp_path: Path) -> None:
    arguments = ["curate", str(raw), "--into", str(tmp_path / "b"), *WIDE, "--cut", "lossless", "--save-frames"]
    assert run([*arguments, "--workers", "1"]) == 1
    assert digest(tmp_path / "b") == digest(made.path)


def digest(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / f"{name}.jsonl").read_bytes()).hexdigest() for name in TABLES}


def test_svbench_compat_cuts_at_whole_seconds(raw: Path, tmp_path: Path) -> None:
    assert run(["curate", str(raw / "shots.mp4"), "--into", str(tmp_path / "b"), *WIDE, "--compat", "svbench"]) == 0
    intervals = [clip.interval for clip in Benchmark.open(tmp_path / "b").read(CLIPS)]
    assert all(interval is not None and interval.start_s == int(interval.start_s) for interval in intervals)


def test_gates_spare_the_decoding(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("bikes.mp4", "shots.mp4"):
        shutil.copy(raw / name, tmp_path / "in" / name)
    arguments = ["curate", str(tmp_path / "in"), "--into", str(tmp_path / "b"), "--min-duration-s", "5"]
    arguments += ["--min-shots", "1", "--min-mean-shot-s", "0.5"]
    assert run([*arguments, "--max-brisque", "1"]) == 1
    rows = {str(row.video_id): row for row in Benchmark.open(tmp_path / "b").read(SCREENINGS)}
    assert all(not row.kept and row.decoded_s == 0 for row in rows.values())
    assert "BRISQUE" in str(rows["shots"].filters[-1].reason)
    assert run([*arguments, "--max-shots", "2"]) in (0, 1)
    stopped = {str(row.video_id): row for row in Benchmark.open(tmp_path / "b").read(SCREENINGS)}["shots"]
    assert 0 < stopped.decoded_s < 11
    assert "it has 3 shots within" in str(stopped.filters[-1].reason)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--into requires"),
        (("--into", "b"), "at least one video"),
        (("/nowhere", "--into", "b"), "no such file or folder"),
        ((".", "--into", "b", "--max-shots", "1"), "reeltalk: min_shots is 5, which is above max_shots, 1"),
        ((".", "--into", "b", "--detector", "foo"), "--detector 'foo': input should be 'content'"),
        (
            (".", "--into", "b", "--max-similarity", "3"),
            "--max-similarity '3': input should be less than or equal to 1",
        ),
        ((".", "--into", "b", "--threshold", "-4"), "--threshold '-4': input should be greater than 0"),
        ((".", "--into", "b", "--splits", "train=2"), "--splits 'train=2'"),
        ((".", "--into", "b", "--workers", "0"), "--workers 0"),
        ((".", "--into", "b", "--aesthetic-model", "."), "no aesthetic head here"),
    ],
)
def test_a_wrong_option_is_one_sentence(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["curate", *arguments]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert "pydantic" not in message
    assert message.count("\n") == 1


def test_a_benchmark_that_others_wrote_is_left_alone(
    samples: Path, raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", "svbench", str(samples / "svbench"), str(tmp_path / "b")]) == 0
    assert run(["curate", str(raw), "--into", str(tmp_path / "b")]) == 2
    assert "curate into another folder" in capsys.readouterr().err


def test_splits_are_drawn_by_group_and_do_not_depend_on_the_rest(raw: Path, tmp_path: Path) -> None:
    splits = []
    few = ("shots.mp4", "phone.mp4")
    for name, files in (("one", (*few, "small.avi")), ("two", few)):
        inputs = [raw / file for file in files]
        arguments = [*map(str, inputs), "--into", str(tmp_path / name), *WIDE, "--splits", "train=0.5,test=0.5"]
        assert run(["curate", *arguments]) == 0
        splits.append({str(v.id): v.split for v in Benchmark.open(tmp_path / name).read(VIDEOS)})
    assert splits[0]["shots"] == splits[1]["shots"]
    assert splits[0]["phone"] == splits[1]["phone"]


@pytest.mark.timeout(600)
def test_kills_leave_the_tables_of_an_unbroken_run(raw: Path, tmp_path: Path, reliability: Reliability) -> None:
    """Killed at any moment and run again until it ends: the same bytes, and never a benchmark that does not open."""
    inputs = tmp_path / "in"
    inputs.mkdir()
    for name in ("phone.mp4", "small.avi", "torn.mp4"):
        shutil.copy(raw / name, inputs / name)
    arguments = ["curate", str(inputs), *WIDE, "--cut", "lossless", "--into"]
    chance = random.Random(11)
    tally = reliability(
        "power",
        "SIGKILL of `reeltalk curate`",
        "a byte differs from an unbroken run, or a benchmark that does not open",
    )
    kills, rounds, due = 0, 0, reliability.count(2, full=50, release=50)
    with launcher() as runs:
        # The first run of all takes longer.
        for name in ("first", "whole"):
            begun = time.monotonic()
            assert runs.run(*arguments, tmp_path / name).code == 1, "torn.mp4 cannot be read"
            usual_s = time.monotonic() - begun
        expected = digest(tmp_path / "whole")

        def kill(process: int) -> None:
            if kills == due:
                return
            until = time.monotonic() + chance.uniform(0.05, 1) * usual_s
            while time.monotonic() < until and Path(f"/proc/{process}").exists():
                time.sleep(0.005)
            runs.send(process, signal.SIGKILL)

        while kills < due:
            broken = tmp_path / f"broken-{rounds}"
            rounds += 1
            while (code := runs.run(*arguments, broken, meanwhile=kill).code) == -signal.SIGKILL:
                kills += 1
                tally.tried += 1
                if (broken / "manifest.json").is_file():
                    Benchmark.open(broken)
            assert code == 1
            assert digest(broken) == expected
            assert not list(broken.glob(".partial-*"))
            shutil.rmtree(broken)
    print(f"{kills} kills in {rounds} rounds")


def test_where_no_video_is_accepted_the_exit_code_is_1_also_again_and_a_preset_accepts_them(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["curate", str(raw / "bikes.mp4"), "--into", str(tmp_path / "b")]
    for _ in range(2):
        assert run(arguments) == 1
        said = capsys.readouterr().out
        assert "no video was accepted; of 1, 1 for this reason (bikes): it lasts 10.0 s, shorter than 60 s" in said
        assert "or use --preset static-camera or short-clips" in said
    assert run([*arguments, "--preset", "short-clips", "--min-shots", "7"]) == 1
    assert "it has 6 shots, fewer than 7 = --min-shots" in capsys.readouterr().out
    assert run([*arguments, "--preset", "short-clips"]) == 0
    stored = Benchmark.open(tmp_path / "b").manifest.files["videos.jsonl"].settings
    assert stored is not None
    assert (stored["min_shots"], stored["min_duration_s"]) == (1, 1.0)
    one_by_one = ["--min-duration-s", "1", "--min-flow-px", "0.1", "--min-shots", "1"]
    capsys.readouterr()
    assert run([*arguments, *one_by_one, "--min-mean-shot-s", "0.5", "--merge-below-s", "1"]) == 0
    assert "nothing changed since the last run" in capsys.readouterr().out


def test_a_folder_without_videos_says_how_videos_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    assert run(["curate", str(tmp_path / "in"), "--into", str(tmp_path / "b")]) == 1
    assert "no video was found; a video's name ends in " in capsys.readouterr().out
