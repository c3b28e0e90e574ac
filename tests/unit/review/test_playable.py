"""Each video of a benchmark is served as it is, by a proxy that is made once, or not at all with a reason."""

import json
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from sample_videos import Numbered

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Limits, LocalExecutor, Outcome
from reeltalk.review.loading import load
from reeltalk.review.playable import ORIGINAL, PlayableFolder, ServedVideo, prepare, renew
from reeltalk.review.project import PLAYABLE, Project
from reeltalk.review.tables import VideoRow
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

FINE = Numbered("h264-variable.mp4", variable=True)
STRANGE = Numbered("mpeg4.avi", codec="mpeg4", rate=Fraction(25), options={"qscale": "3"})


class Counting(LocalExecutor):
    """Counts what it is asked to do."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.asked: list[str] = []

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        every = list(calls)
        self.asked += [function.partition(":")[2]] * len(every)
        return super().map(function, every)


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """One video of each kind."""
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(FINE.make()[0].read_bytes()[:3000])
    videos, media = [], {}
    for name, path in (("fine", FINE.make()[0]), ("strange", STRANGE.make()[0]), ("broken", broken)):
        sha256, _ = hash_file(path)
        videos.append(Video(id=name, sha256=sha256))
        media[sha256] = path
    videos += [Video(id="nameless"), Video(id="elsewhere", sha256="0" * 64)]
    created = Benchmark.create(tmp_path / "bench")
    created.write_content(Content(videos=videos, media=media), stage="test")
    return created


def sha256_of(benchmark: Benchmark, video_id: str) -> str:
    return next(f"{video.sha256}" for video in benchmark.content().videos if video.id == video_id)


def test_every_video_is_decided_on(benchmark: Benchmark, tmp_path: Path) -> None:
    served = prepare(benchmark, tmp_path / "playable")
    proxy = f"{sha256_of(benchmark, 'strange')}.mp4"
    assert served["fine"] == ServedVideo(ORIGINAL, "video/mp4", None)
    assert served["strange"] == ServedVideo(proxy, "video/mp4", None)
    assert (tmp_path / "playable" / proxy).stat().st_size > 1000


@pytest.mark.parametrize(
    ("video_id", "reason"),
    [
        ("broken", "This video cannot be played: no container that we read"),
        ("nameless", "The benchmark does not say which file this video is"),
        ("elsewhere", "The benchmark does not hold this video's file"),
    ],
)
def test_what_cannot_be_played_says_why(benchmark: Benchmark, tmp_path: Path, video_id: str, reason: str) -> None:
    file, media_type, problem = prepare(benchmark, tmp_path / "playable")[video_id]
    assert (file, media_type) == (None, None)
    assert problem is not None
    assert problem.startswith(reason)
    assert problem.endswith("The dialogue can still be judged.")


def test_frame_times_lie_beside(benchmark: Benchmark, tmp_path: Path) -> None:
    prepare(benchmark, tmp_path / "playable")
    place = PlayableFolder(tmp_path / "playable", benchmark.media)
    for name, film in (("fine", FINE), ("strange", STRANGE)):
        found = json.loads(place.frames(sha256_of(benchmark, name)).read_bytes())
        assert found == {"pts_s": pytest.approx([float(time) for time in film.times()], abs=0.0011)}


def test_what_was_decided_is_not_decided_again(benchmark: Benchmark, tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    served = prepare(benchmark, tmp_path / "playable", executor=first)
    assert sorted(first.asked) == ["look", "look", "look", "transcode"]
    assert prepare(benchmark, tmp_path / "playable", executor=second) == served
    assert second.asked == []


def test_a_proxy_that_is_gone_is_made_again_and_no_other(benchmark: Benchmark, tmp_path: Path) -> None:
    served = prepare(benchmark, tmp_path / "playable")
    (tmp_path / "playable" / f"{served['strange'].file}").unlink()
    executor = Counting()
    assert prepare(benchmark, tmp_path / "playable", executor=executor) == served
    assert executor.asked == ["look", "transcode"]


def test_what_a_stopped_run_left_is_swept_up(benchmark: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "playable").mkdir()
    (tmp_path / "playable" / ".partial-1").write_bytes(b"half a proxy")
    served = prepare(benchmark, tmp_path / "playable")
    kept = {path.name for path in (tmp_path / "playable").iterdir()}
    hashes = {name: sha256_of(benchmark, name) for name in ("fine", "strange", "broken")}
    expected = {".lock", f"{served['strange'].file}", *(f"{sha256}.json" for sha256 in hashes.values())}
    assert kept == expected | {f"{hashes[name]}.frames.json" for name in ("fine", "strange")}


def test_progress_is_told(benchmark: Benchmark, tmp_path: Path) -> None:
    said: list[str] = []
    prepare(benchmark, tmp_path / "playable", progress=said.append)
    assert said == [
        "looking for what browsers play, videos: 3",
        "making proxies of what browsers do not play, videos: 1",
        "1 of 1 proxies: strange",
    ]


def test_a_folder_that_cannot_be_written_is_told(benchmark: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "playable").write_text("a file")
    with pytest.raises(BenchmarkError, match="cannot write"):
        prepare(benchmark, tmp_path / "playable")


def test_a_damaged_note_is_decided_anew(benchmark: Benchmark, tmp_path: Path) -> None:
    served = prepare(benchmark, tmp_path / "playable")
    note = tmp_path / "playable" / f"{sha256_of(benchmark, 'fine')}.json"
    for damaged in ("", "[]", '{"rules": 1}', '{"rules": 0, "file": null, "media_type": null, "problem": "old"}'):
        note.write_text(damaged)
        assert prepare(benchmark, tmp_path / "playable") == served


@pytest.mark.parametrize("file", ["../secret", "x.mp4", "0" * 64 + ".avi", "/etc/passwd", ""])
def test_no_other_file_can_be_named(benchmark: Benchmark, tmp_path: Path, file: str) -> None:
    place = PlayableFolder(tmp_path / "playable", benchmark.media)
    with pytest.raises(ValueError, match="not the proxy"):
        place.path("0" * 64, file)


def test_a_file_that_is_added_later_plays_from_the_next_start_on(benchmark: Benchmark, tmp_path: Path) -> None:
    project = Project.open(benchmark.path)
    path = benchmark.media.path(sha256_of(benchmark, "fine"))
    path.rename(tmp_path / "away")
    before = prepare(benchmark, project.folder / PLAYABLE)
    load(project, benchmark, serving=lambda _: before)
    assert renew(project, before) == 0
    (tmp_path / "away").rename(path)
    assert renew(project, prepare(benchmark, project.folder / PLAYABLE)) == 1
    with project.database.reading() as session:
        row = session.get_one(VideoRow, "fine")
        assert (row.file, row.media_type, row.problem) == (ORIGINAL, "video/mp4", None)


class Hurried(LocalExecutor):
    """Gives every call a hundredth of a second."""

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        limits = Limits(wall_s=0.01)
        return super().map(function, [Call(call.argument, limits) for call in calls])


def test_a_video_that_takes_too_long_says_so_and_leaves_nothing(benchmark: Benchmark, tmp_path: Path) -> None:
    folder = tmp_path / "playable"
    served = prepare(benchmark, folder, executor=Hurried(workers=1))
    assert "it took longer than" in f"{served['strange'].problem}"
    assert not list(folder.glob(".partial-*"))
    assert not list(folder.glob("*.mp4"))
