"""Clips that were found by pixels know exactly what was filmed in them, each step once and none before it was seen."""

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import KNOWN_BOXES, SPEECH, VIDEOS
from reeltalk.store.validate import validate
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.curate.stage import curate
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.asking import stories
from reeltalk_household.world.describe import TimedStep, describe_films, film_plan_of, filmed_steps, steps_by_clip
from reeltalk_household.world.film import film, write_files
from reeltalk_household.world.house import build_house
from reeltalk_household.world.settings import FilmSettings
from reeltalk_household.world.situation import Command, ProgramStep, initial_situation

FILMED = FilmSettings(scenarios=2, houses=1, width_px=320, fps=5, max_duration_s=75, seed=7)
# SVBench's clips reach into each other, which is the harder case.
CURATED = CurateSettings(min_shots=5, max_shots=40, min_flow_px=0, min_mean_shot_s=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filmed benchmark, its files, and what curation made of them, described."""
    folder = tmp_path_factory.mktemp("described")
    filmed = Benchmark.create(folder / "filmed")
    film(filmed, FILMED, executor=LocalExecutor(2))
    write_files(filmed, folder / "files")
    curated = Benchmark.create(folder / "curated")
    curate([folder / "files"], curated, CURATED, executor=LocalExecutor(2))
    describe_films(filmed, curated)
    return folder


def story_of(benchmark: Benchmark, video: str) -> Story:
    texts = next(texts for found, _, texts in stories(benchmark) if found.id == video)
    return Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()])


def without_place(event: StoryEvent) -> StoryEvent:
    # A purpose that a later clip shows is none of the clip before.
    return dataclasses.replace(event, part=0, index=0, purpose=None)


def test_the_story_of_the_clips_is_that_of_the_film(folder: Path) -> None:
    filmed, curated = Benchmark.open(folder / "filmed"), Benchmark.open(folder / "curated")
    for video in curated.read(VIDEOS):
        before, after = story_of(filmed, video.id), story_of(curated, video.id)
        assert len(after.graphs) > len(before.graphs), "pixels give other clips than activities"
        assert [without_place(event) for event in after.events] == [without_place(event) for event in before.events]
        for one, other in zip(before.events, after.events, strict=True):
            for name in filter(None, (one.main, *one.targets)):
                assert before.support_before(one, name) == after.support_before(other, name)
                assert before.support_after(one, name) == after.support_after(other, name)
                assert before.graphs[one.part].values_at(name, one.index + 1) == after.graphs[other.part].values_at(
                    name, other.index + 1
                )


def test_no_clip_knows_of_what_ends_after_it(folder: Path) -> None:
    curated = Benchmark.open(folder / "curated")
    events = 0
    for _, clips, texts in stories(curated):
        for clip, (name, text) in zip(clips, texts.items(), strict=True):
            assert clip.interval is not None
            for event in Story([read_activity(text, file=f"{name}.nq", name=name)]).events:
                assert event.interval is not None
                assert event.interval.end_s <= clip.interval.end_s + 1e-3
                events += 1
    assert events > 20


def test_a_described_benchmark_is_valid_and_says_what_the_file_cannot(folder: Path) -> None:
    filmed, curated = Benchmark.open(folder / "filmed"), Benchmark.open(folder / "curated")
    assert [str(found) for found in validate(curated) if found.severity == "error"] == []
    by_id = {video.id: video for video in filmed.read(VIDEOS)}
    kept = {video.id for video in curated.read(VIDEOS)}
    assert kept <= set(by_id)
    assert list(curated.read(KNOWN_BOXES)) == [box for box in filmed.read(KNOWN_BOXES) if box.video_id in kept]
    for video in curated.read(VIDEOS):
        source = by_id[video.id]
        assert (video.split, video.licence, video.source) == (source.split, source.licence, source.source)
        assert (video.summaries, video.extra) == (source.summaries, source.extra)


def test_again_nothing_changes(folder: Path) -> None:
    filmed, curated = Benchmark.open(folder / "filmed"), Benchmark.open(folder / "curated")
    before = curated.manifest.content_hash
    files = write_files(filmed, folder / "files")
    assert len(files) == 2
    whole, written_ns = files[0].read_bytes(), files[1].stat().st_mtime_ns
    files[0].write_bytes(b"another film of that name")
    assert write_files(filmed, folder / "files") == files
    assert files[0].read_bytes() == whole
    assert files[1].stat().st_mtime_ns == written_ns
    assert not curate([folder / "files"], curated, CURATED, executor=LocalExecutor(1)).counts
    assert not describe_films(filmed, Benchmark.open(folder / "curated")).counts
    assert Benchmark.open(folder / "curated").manifest.content_hash == before


def test_videos_of_something_else_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="holds none of the 2 videos"):
        describe_films(Benchmark.open(folder / "filmed"), Benchmark.create(tmp_path / "other"))


def test_a_film_of_another_household_is_refused(folder: Path) -> None:
    filmed = Benchmark.open(folder / "filmed")
    video = next(iter(filmed.read(VIDEOS)))
    plan = film_plan_of(video)
    other = plan.model_copy(update={"scenes": plan.scenes[:1] + plan.scenes[2:]})
    with pytest.raises(BenchmarkError, match="film the videos again"):
        filmed_steps(filmed, video.model_copy(update={"extra": video.extra | {"plan": other.model_dump()}}))
    with pytest.raises(BenchmarkError, match="does not say how it was filmed"):
        film_plan_of(video.model_copy(update={"extra": {}}))


def test_what_is_said_is_read_again_from_the_subtitles(folder: Path) -> None:
    filmed, curated = Benchmark.open(folder / "filmed"), Benchmark.open(folder / "curated")
    kept = {video.id for video in curated.read(VIDEOS)}
    said = [spoken for spoken in filmed.read(SPEECH) if spoken.video_id in kept]
    assert said
    assert sorted(curated.read(SPEECH), key=str) == sorted(said, key=str)


@given(
    cuts=st.lists(st.integers(1, 99), min_size=1, max_size=8, unique=True).map(sorted),
    ends=st.lists(st.integers(1, 99), min_size=1, max_size=20, unique=True).map(sorted),
    reach=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_every_step_is_told_of_the_first_clip_that_shows_its_end(
    cuts: list[int], ends: list[int], reach: float
) -> None:
    edges = [0, *cuts, 100]
    clips = [
        Clip(
            id=ClipId(f"c{n}"),
            video_id=VideoId("v"),
            interval=Interval(start_s=max(0, start - reach), end_s=min(100, end + reach)),
        )
        for n, (start, end) in enumerate(itertools.pairwise(edges))
    ]
    situation = initial_situation(build_house(1), "kitchen1")
    steps = [
        TimedStep(ProgramStep(Command("stretch"), start, end - start, situation, situation), "Stretching")
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    told = steps_by_clip(clips, steps)
    assert [step for _, shown in told for step in shown] == steps
    for clip, shown in told:
        for step in shown:
            showing = [c for c in clips if c.interval and c.interval.start_s <= step.end_s <= c.interval.end_s]
            assert showing[0] is clip
