"""From videos to identities: known boxes of films, a detector, interruptions, strangers' answers, and the goal."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from identity_scores import score_identities
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, LocalExecutor
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, Entity, KnownBox
from reeltalk.schema.media import Clip, SampledFrame, Video
from reeltalk.schema.record import ClipId, EntityId, VideoId
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, FRAMES, IDENTITY_CHANGES, KNOWN_BOXES, SIGHTINGS, VIDEOS
from reeltalk.store.validate import validate
from reeltalk.video.encode import pixels_of
from reeltalk_build.construct.frames import FRAMES_A_CALL, parse_frames, read_frames
from reeltalk_build.construct.object_step import STAGE, UP_TO_DATE, ObjectSettings, sight_objects
from reeltalk_build.construct.objects import (
    DescribedFrame,
    FoundBox,
    FrameBoxes,
    describe_box,
    describe_objects,
    group_frames,
    pack_appearance,
    sample_times,
    unpack_appearance,
)
from reeltalk_build.inference.detection import Detection
from reeltalk_build.video.write import write_video
from reeltalk_household.world.film import film
from reeltalk_household.world.settings import FilmSettings

SETTINGS = ObjectSettings()
RED, BLUE = (200, 40, 40), (40, 60, 200)


@pytest.fixture(scope="module")
def sighted(filmed_household: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("sighted") / "bench"
    shutil.copytree(filmed_household, folder)
    benchmark = Benchmark.open(folder)
    sight_objects(benchmark, SETTINGS, "known", LocalExecutor(2))
    return benchmark


def test_identities_are_kept_in_films(sighted: Benchmark) -> None:
    scores = score_identities(sighted.read(KNOWN_BOXES), sighted.read(SIGHTINGS))
    assert scores.detected == scores.known == scores.found
    assert scores.f1 >= 0.85


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_goal_is_met_on_twenty_scenarios(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    film(benchmark, FilmSettings(scenarios=20, seed=7), executor=LocalExecutor())
    sight_objects(benchmark, SETTINGS, "known", LocalExecutor())
    known = list(benchmark.read(KNOWN_BOXES))
    assert score_identities(known, benchmark.read(SIGHTINGS)).f1 >= 0.9
    # Videos of another seed, which nothing was tuned on.
    other = Benchmark.create(tmp_path / "other")
    film(other, FilmSettings(scenarios=6, seed=11, first_house=40), executor=LocalExecutor())
    sight_objects(other, SETTINGS, "known", LocalExecutor())
    assert score_identities(other.read(KNOWN_BOXES), other.read(SIGHTINGS)).f1 >= 0.9


def test_tables_agree_and_crops_are_files(sighted: Benchmark) -> None:
    assert not validate(sighted)
    sightings = list(sighted.read(SIGHTINGS))
    entities = {entity.id: entity for entity in sighted.read(ENTITIES)}
    assert {s.entity for s in sightings} == set(entities)
    clips = {clip.id: clip for clip in sighted.read(CLIPS)}
    for sighting in sightings:
        assert sighting.caption is not None
        assert sighting.class_name in sighting.caption
        if sighting.clip_id is not None:
            clip = clips[sighting.clip_id]
            assert clip.video_id == sighting.video_id
            assert clip.interval is not None
            assert clip.interval.start_s <= sighting.pts_s < clip.interval.end_s
            assert clip.id in entities[sighting.entity].clip_ids
    with_crop = [s for s in sightings if s.crop is not None]
    for sighting in with_crop:
        assert sighting.crop in sighted.manifest.files
        assert pixels_of((sighted.path / (sighting.crop or "")).read_bytes()).shape[2] == 3
    by_entity = {entity: sum(s.entity == entity for s in with_crop) for entity in list(entities)[:10]}
    assert set(by_entity.values()) <= {1, 2}
    for change in sighted.read(IDENTITY_CHANGES):
        assert change.kept in entities or change.kind == "merge"
    person = [entity for entity in entities.values() if entity.class_name == "person"]
    assert {entity.video_id for entity in person} == {video.id for video in sighted.read(VIDEOS)}


class Interrupted:
    """An executor whose user presses Ctrl-C after a number of answers."""

    def __init__(self, answers: int) -> None:
        self.left, self.inner, self.asked = answers, LocalExecutor(1), 0

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Any]]:
        waiting = list(calls)
        self.asked += len(waiting)
        for found in self.inner.map(function, waiting):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            yield found


def rows(benchmark: Benchmark) -> dict[str, str]:
    return {name: entry.sha256 for name, entry in benchmark.manifest.files.items()}


def test_an_interruption_repeats_at_most_what_was_under_way(
    filmed_household: Path, sighted: Benchmark, tmp_path: Path
) -> None:
    shutil.copytree(filmed_household, tmp_path / "bench")
    benchmark = Benchmark.open(tmp_path / "bench")
    first = Interrupted(2)
    with pytest.raises(KeyboardInterrupt):
        sight_objects(benchmark, SETTINGS, "known", first)
    assert SIGHTINGS.file_name not in Benchmark.open(tmp_path / "bench").manifest.files
    second = Interrupted(99)
    sight_objects(benchmark, SETTINGS, "known", second)
    assert second.asked == first.asked - 2
    assert rows(benchmark) == rows(sighted)
    assert not (benchmark.path / WORK / "objects").exists()
    third = Interrupted(0)
    report = sight_objects(benchmark, SETTINGS, "known", third)
    assert (report.warnings, third.asked) == ((UP_TO_DATE,), 0)


# Videos of which every pixel is known


def scene(x: int, *, second: bool = True) -> NDArray[np.uint8]:
    picture = np.full((180, 320, 3), 210, np.uint8)
    picture[::12] = 190
    picture[60:120, x : x + 50] = RED
    if second:
        picture[40:100, 240:300] = BLUE
    return picture


class ByColour:
    """A detector for squares of two colours."""

    name = signature = "by-colour"

    def __init__(self) -> None:
        self.shown = 0

    def detect(self, rgb: NDArray[np.uint8]) -> list[Detection]:
        self.shown += 1
        found = []
        for colour, kind in ((RED, "cube"), (BLUE, "crate")):
            ys, xs = np.nonzero((np.abs(rgb.astype(int) - colour) < 40).all(axis=2))
            if len(ys) > 50:
                height, width = rgb.shape[:2]
                box = Box(left=xs.min() / width, top=ys.min() / height, right=(xs.max() + 1) / width,
                          bottom=(ys.max() + 1) / height)  # fmt: skip
                found.append(Detection(box, kind, 0.9))
        return found


def squares(folder: Path, seconds: int = 8) -> Benchmark:
    benchmark = Benchmark.create(folder / "bench")
    pictures = (scene(20 + 2 * n) for n in range(seconds * 5))
    write_video(folder / "v.mp4", pictures, fps=5)
    sha256 = benchmark.media.add(folder / "v.mp4")
    with benchmark.writing(stage="test") as writer:
        writer.add(
            VIDEOS, [Video(id=VideoId("v"), sha256=sha256, duration_s=float(seconds)), Video(id=VideoId("gone"))]
        )
        writer.add(CLIPS, [Clip(id=ClipId("c"), video_id=VideoId("v"), interval=Interval(start_s=2, end_s=5))])
        writer.add(ENTITIES, [Entity(id=EntityId("mine"), video_id=VideoId("v"), class_name="idea")])
    return benchmark


def test_a_detector_finds_and_the_bank_keeps_apart(tmp_path: Path) -> None:
    benchmark, detector = squares(tmp_path), ByColour()
    steps: list[tuple[str, int, int, float]] = []
    report = sight_objects(benchmark, SETTINGS, detector, LocalExecutor(1), lambda *step: steps.append(step))
    assert report.stage == STAGE
    assert [line.split(" is not in ")[0] for line in report.left_out] == ["objects of gone: the file of video 'gone'"]
    assert {step[0] for step in steps} == {"finding objects", "looking at objects"}
    assert steps[-1][3] == 1.0
    sightings = list(benchmark.read(SIGHTINGS))
    assert detector.shown == 8
    assert [s.pts_s for s in sightings if s.class_name == "cube"] == pytest.approx([float(n) for n in range(8)])
    assert {s.class_name: s.entity for s in sightings} == {s.class_name: s.entity for s in reversed(sightings)}
    assert {s.caption for s in sightings if s.class_name == "crate"} == {"blue crate, right, back"}
    assert [s.clip_id for s in sightings if s.class_name == "cube"] == [None, None, "c", "c", "c", None, None, None]
    entities = {entity.id: entity for entity in benchmark.read(ENTITIES)}
    assert set(entities) == {"mine", *(s.entity for s in sightings)}, "what another stage wrote is kept"
    cube = next(e for e in entities.values() if e.class_name == "cube")
    assert cube.attributes == {"colour": "red", "sightings": "8"}
    assert cube.clip_ids == ("c",)
    with benchmark.writing(stage="test") as writer:
        writer.add(CLIPS, [Clip(id=ClipId("d"), video_id=VideoId("v"), interval=Interval(start_s=0, end_s=5))])
    sight_objects(benchmark, SETTINGS, detector, LocalExecutor(1))
    assert len(list(benchmark.read(ENTITIES))) == 3
    assert next(e for e in benchmark.read(ENTITIES) if e.class_name == "cube").clip_ids == ("d",)


def test_a_limit_looks_at_the_first_videos_and_keeps_a_result_for_all(tmp_path: Path) -> None:
    benchmark = squares(tmp_path)
    with benchmark.writing(stage="test") as writer:
        videos = list(benchmark.read(VIDEOS))
        writer.add(VIDEOS, [videos[1], videos[0]])
    with pytest.raises(BenchmarkError, match="no video in its media store"):
        sight_objects(benchmark, SETTINGS, ByColour(), LocalExecutor(1), limit=1)
    assert not sight_objects(benchmark, SETTINGS, ByColour(), LocalExecutor(1)).warnings
    assert sight_objects(benchmark, SETTINGS, ByColour(), LocalExecutor(1), limit=1).warnings == (UP_TO_DATE,)


def test_key_frames_are_looked_at_where_a_video_was_curated(tmp_path: Path) -> None:
    benchmark = squares(tmp_path)
    with benchmark.writing(stage="test") as writer:
        writer.add(
            FRAMES,
            [
                SampledFrame(video_id=VideoId("v"), pts_s=t, content=0, sharpness=90, key_frame=t != 1.0,
                             dropped="alike" if t == 1.0 else None)
                for t in (0.0, 0.4, 1.0, 3.2)
            ],
        )  # fmt: skip
    sight_objects(benchmark, SETTINGS, ByColour(), LocalExecutor(1))
    assert sorted({s.pts_s for s in benchmark.read(SIGHTINGS)}) == pytest.approx([0.0, 0.4, 3.2])


def test_sampling_without_key_frames_is_even() -> None:
    video = Video(id=VideoId("v"), duration_s=2.2)
    assert sample_times(video, [], fps=2) == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert sample_times(Video(id=VideoId("v")), [], fps=2) == [0.0]


def test_a_broken_video_is_named_and_the_others_are_done(tmp_path: Path) -> None:
    benchmark = squares(tmp_path)
    (tmp_path / "broken.mp4").write_bytes(b"nothing")
    sha256 = benchmark.media.add(tmp_path / "broken.mp4")
    videos = [*benchmark.read(VIDEOS), Video(id=VideoId("broken"), sha256=sha256, duration_s=3.0)]
    with benchmark.writing(stage="test") as writer:
        writer.add(VIDEOS, videos)
    report = sight_objects(benchmark, SETTINGS, ByColour(), LocalExecutor(1))
    assert "objects of broken: " in report.left_out[1]
    assert {s.video_id for s in benchmark.read(SIGHTINGS)} == {"v"}


class Answering:
    """An executor whose processes answer what they like."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Any]]:
        for index, _ in enumerate(calls):
            yield index, self.answer


@pytest.mark.parametrize("answer", [None, 7, "x", [[1, "§"]], [["x", ""]], [{"pts_s": "x"}], [[0.0, "bm8="]]])
def test_answers_that_make_no_sense_are_a_failure_of_their_video(answer: Any, tmp_path: Path) -> None:
    benchmark = squares(tmp_path, seconds=1)
    report = sight_objects(benchmark, SETTINGS, ByColour(), Answering(answer))
    assert "no answer that makes sense" in report.left_out[1]
    assert benchmark.rows(SIGHTINGS) == 0
    with benchmark.writing(stage="test") as writer:
        box = Box(left=0.1, top=0.1, right=0.3, bottom=0.3)
        known = KnownBox(video_id=VideoId("v"), pts_s=0.0, box=box, class_name="cube", object="cube1")
        writer.add(KNOWN_BOXES, [known])
    report = sight_objects(benchmark, SETTINGS, "known", Answering(answer))
    assert "no answer that makes sense" in report.left_out[1]


def test_what_cannot_be_looked_at_is_an_error(tmp_path: Path) -> None:
    benchmark = squares(tmp_path)
    with pytest.raises(BenchmarkError, match="no known boxes"):
        sight_objects(benchmark, SETTINGS, "known", LocalExecutor(1))
    empty = Benchmark.create(tmp_path / "empty")
    with pytest.raises(BenchmarkError, match="no video in its media store"):
        sight_objects(empty, SETTINGS, ByColour(), LocalExecutor(1))


def test_frames_come_as_jpeg_in_order_and_small(tmp_path: Path) -> None:
    write_video(tmp_path / "v.mp4", (scene(2 * n) for n in range(FRAMES_A_CALL * 2)), fps=10)
    times = [n / 10 for n in range(FRAMES_A_CALL + 5)]
    frames = read_frames(tmp_path / "v.mp4", times, executor=LocalExecutor(2), longest_px=160)
    assert [frame.pts_s for frame in frames] == pytest.approx(times)
    assert pixels_of(frames[-1].jpeg).shape == (90, 160, 3)
    with pytest.raises(BenchmarkError, match="cannot be decoded"):
        read_frames(tmp_path / "absent.mp4", [0.0], executor=LocalExecutor(1))
    with pytest.raises(BenchmarkError, match="makes sense"):
        parse_frames([("x", "y", "z")])
    with pytest.raises(ValueError, match="not a picture"):
        pixels_of(b"no picture")


def test_looking_describes_each_box(tmp_path: Path) -> None:
    write_video(tmp_path / "v.mp4", [scene(100)] * 3, fps=1)
    boxes = [[100 / 320, 60 / 180, 150 / 320, 120 / 180], [240 / 320, 40 / 180, 300 / 320, 100 / 180]]
    argument = {"path": str(tmp_path / "v.mp4"), "frames": [{"pts_s": 1.0, "boxes": boxes}]}
    (found,) = [DescribedFrame.model_validate(frame) for frame in json.loads(json.dumps(describe_objects(argument)))]
    assert [o.colour for o in found.objects] == ["red", "blue"]
    values = unpack_appearance(found.objects[0].appearance)
    assert unpack_appearance(pack_appearance(values)) == pytest.approx(values)
    with pytest.raises(ValueError, match="with shape"):
        unpack_appearance("AAAAAAAA")


def test_captions_say_class_colour_and_place() -> None:
    assert describe_box("mug", "blue", Box(left=0, top=0, right=0.2, bottom=0.3)) == "blue mug, left, back"
    assert describe_box("mug", "red", Box(left=0.8, top=0.5, right=1, bottom=0.9)) == "red mug, right, front"


def test_calls_are_of_bounded_size() -> None:
    box = FoundBox(Box(left=0, top=0, right=1, bottom=1), "x", 1.0)
    frames = [FrameBoxes(float(n), [box] * (n % 5)) for n in range(40)]
    parts = list(group_frames(frames, most_boxes=12))
    assert [frame for part in parts for frame in part] == frames
    assert max(sum(len(f.objects) for f in part) for part in parts) <= 12
    assert [len(part) for part in group_frames([FrameBoxes(0.0, [box] * 99)], most_boxes=12)] == [1]
