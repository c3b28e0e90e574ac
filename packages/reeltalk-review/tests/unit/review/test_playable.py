"""Each video of a benchmark is served as it is, by a proxy that is made once, or not at all with a reason."""

import contextlib
import gzip
import json
import shutil
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
from sample_videos import Numbered

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Limits, LocalExecutor, Outcome
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk_review.database import PLAYABLE, ReviewProject
from reeltalk_review.importing import import_benchmark
from reeltalk_review.playable import ORIGINAL, PlayableFolder, ServedVideo, prepare_videos, update_served_videos
from reeltalk_review.tables import VideoRow

FINE = Numbered("h264-variable-no-b.mp4", variable=True, options={"bf": "0"})
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


class Seen(NamedTuple):
    """What was decided, what was asked for it, and what was said."""

    benchmark: Benchmark
    folder: Path
    served: dict[str, ServedVideo]
    asked: list[str]
    said: list[str]


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    """One video of each kind."""
    return benchmark_in(tmp_path)


def benchmark_in(tmp_path: Path) -> Benchmark:
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


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """A benchmark whose videos were decided on once."""
    folder = tmp_path_factory.mktemp("seen")
    benchmark = benchmark_in(folder)
    said: list[str] = []
    with contextlib.closing(Counting()) as executor:
        served = prepare_videos(benchmark, folder / "playable", executor=executor, progress=said.append)
    return Seen(benchmark, folder / "playable", served, executor.asked, said)


@pytest.fixture
def again(seen: Seen, tmp_path: Path) -> Seen:
    """A folder of one's own in which all is decided."""
    folder = shutil.copytree(seen.folder, tmp_path / "playable")
    return seen._replace(folder=folder)


def sha256_of(benchmark: Benchmark, video_id: str) -> str:
    return next(f"{video.sha256}" for video in benchmark.content().videos if video.id == video_id)


def test_every_video_is_decided_on(seen: Seen) -> None:
    proxy = f"{sha256_of(seen.benchmark, 'strange')}.mp4"
    assert seen.served["fine"] == ServedVideo(ORIGINAL, "video/mp4", None)
    assert seen.served["strange"] == ServedVideo(proxy, "video/mp4", None)
    assert (seen.folder / proxy).stat().st_size > 1000


@pytest.mark.parametrize(
    ("video_id", "reason"),
    [
        ("broken", "This video cannot be played: no container that we read"),
        ("nameless", "The benchmark does not say which file this video is"),
        ("elsewhere", "The benchmark does not hold this video's file"),
    ],
)
def test_what_cannot_be_played_says_why(seen: Seen, video_id: str, reason: str) -> None:
    file, media_type, problem = seen.served[video_id]
    assert (file, media_type) == (None, None)
    assert problem is not None
    assert problem.startswith(reason)
    assert problem.endswith("The dialogue can still be judged.")


def test_frame_times_lie_beside(seen: Seen) -> None:
    place = PlayableFolder(seen.folder, seen.benchmark.media)
    for name, film in (("fine", FINE), ("strange", STRANGE)):
        found = json.loads(gzip.decompress(place.frames(sha256_of(seen.benchmark, name)).read_bytes()))
        assert found == {"pts_s": pytest.approx([float(time) for time in film.times()], abs=0.0011)}


def test_what_was_decided_is_not_decided_again(again: Seen) -> None:
    second = Counting()
    assert again.asked == ["make_playable"] * 3
    assert prepare_videos(again.benchmark, again.folder, executor=second) == again.served
    assert second.asked == []


def test_a_proxy_that_is_gone_is_made_again_and_no_other(again: Seen) -> None:
    (again.folder / f"{again.served['strange'].file}").unlink()
    executor = Counting()
    assert prepare_videos(again.benchmark, again.folder, executor=executor) == again.served
    assert executor.asked == ["make_playable"]


def test_what_a_stopped_run_left_is_swept_up(again: Seen) -> None:
    (again.folder / ".partial-1").write_bytes(b"half a proxy")
    assert prepare_videos(again.benchmark, again.folder) == again.served
    kept = {path.name for path in again.folder.iterdir()}
    hashes = {name: sha256_of(again.benchmark, name) for name in ("fine", "strange", "broken")}
    expected = {".lock", f"{again.served['strange'].file}", *(f"{sha256}.json" for sha256 in hashes.values())}
    times = {f"{hashes[name]}.frames.json.gz" for name in ("fine", "strange")}
    assert kept == expected | times


def test_progress_is_told(seen: Seen) -> None:
    first, *others = seen.said
    assert first == "looking for what browsers play, and making proxies of the rest, videos: 3"
    assert sorted(others) == [f"broken: {seen.served['broken'].problem}", "strange: browsers get a proxy"]


def test_a_folder_that_cannot_be_written_is_told(benchmark: Benchmark, tmp_path: Path) -> None:
    (tmp_path / "playable").write_text("a file")
    with pytest.raises(BenchmarkError, match="cannot write"):
        prepare_videos(benchmark, tmp_path / "playable")


def test_a_damaged_note_is_decided_anew(again: Seen) -> None:
    note = again.folder / f"{sha256_of(again.benchmark, 'fine')}.json"
    for damaged in ("", "[]", '{"rules": 1}', '{"rules": 0, "file": null, "media_type": null, "problem": "old"}'):
        note.write_text(damaged)
        assert prepare_videos(again.benchmark, again.folder) == again.served


@pytest.mark.parametrize("file", ["../secret", "x.mp4", "0" * 64 + ".avi", "/etc/passwd", ""])
def test_no_other_file_can_be_named(seen: Seen, file: str) -> None:
    place = PlayableFolder(seen.folder, seen.benchmark.media)
    with pytest.raises(ValueError, match="not the proxy"):
        place.path("0" * 64, file)


def test_a_file_that_is_added_later_plays_from_the_next_start_on(benchmark: Benchmark, tmp_path: Path) -> None:
    project = ReviewProject.open(benchmark.path)
    path = benchmark.media.path(sha256_of(benchmark, "fine"))
    path.rename(tmp_path / "away")
    before = prepare_videos(benchmark, project.folder / PLAYABLE)
    import_benchmark(project, benchmark, serving=lambda _: before)
    assert update_served_videos(project, before) == 0
    (tmp_path / "away").rename(path)
    assert update_served_videos(project, prepare_videos(benchmark, project.folder / PLAYABLE)) == 1
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
    served = prepare_videos(benchmark, folder, executor=Hurried(workers=1))
    assert "it took longer than" in f"{served['strange'].problem}"
    assert not list(folder.glob(".partial-*"))
    assert not list(folder.glob("*.mp4"))
