"""Describes clips that curation found in filmed videos.

Curation reads files: it cuts at changes of the picture and knows no activities. Here each video is recognised by its
content hash, its filmed steps are carried out once more, and every step is assigned to the clip that shows its end. So
no clip's graph holds anything that cannot be seen before the clip ends, no step is lost or repeated, and a clip's
graph is as exact as the graph of a whole activity. The graph states when its first step begins, because a step may
begin before the cut, such as a walk through a door.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import ValidationError

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, KNOWN_BOXES, VIDEOS
from reeltalk_build.graph.activity import Counterfactual
from reeltalk_household.world.activities import activities, program
from reeltalk_household.world.counterfactuals import counterfactuals
from reeltalk_household.world.film import FilmPlan, play_film, scene_graph
from reeltalk_household.world.house import House
from reeltalk_household.world.situation import CannotError, ProgramStep

STAGE: Final = "world describe"
SAME_TIME_S: Final = 1e-3
"""Tables round to milliseconds."""
FILM_AGAIN: Final = "film the videos again with this version"


@dataclass(frozen=True)
class TimedStep:
    """A step with its place in its video."""

    step: ProgramStep
    activity: str
    """The recipe that it belongs to."""
    scene: int = 0
    """Index of its scene in the film."""
    number: int = 0
    """Its index in its scene."""
    seed: str = ""
    """The seed of its scene."""
    whole: tuple[ProgramStep, ...] = ()
    """All steps of its scene."""

    @property
    def start_s(self) -> float:
        return self.step.start_s

    @property
    def end_s(self) -> float:
        return self.step.end_s


def describe_films(filmed: Benchmark, curated: Benchmark) -> StageReport:
    """Writes graphs, known boxes and template summaries of filmed videos to a benchmark that curated their files.

    A clip that shows the end of no step gets no graph. Rejected videos are left out, and videos from elsewhere do not
    change.

    Args:
        filmed: The benchmark that `film` made.
        curated: The benchmark that `curate` made of the same files; its clips receive `activity`, `category` and
            `program`.

    Raises:
        BenchmarkError: The two share no video, or a filmed program can no longer be carried out in the same way.
        InputError: A table or graph is damaged.
    """
    parents = {
        name: entry.sha256
        for name, entry in filmed.manifest.files.items()
        if name in (VIDEOS.file_name, CLIPS.file_name)
    }
    entries = [entry for entry in curated.manifest.files.values() if entry.stage == STAGE]
    if entries and all((entry.parents, entry.version) == (parents, __version__) for entry in entries):
        return StageReport(stage=STAGE, counts={}, warnings=("nothing changed since the last run",))
    by_hash = {video.sha256: video for video in filmed.read(VIDEOS)}
    known = {video.id: by_hash[video.sha256] for video in curated.read(VIDEOS) if video.sha256 in by_hash}
    if not known:
        raise BenchmarkError(
            f"{curated.path} holds none of the {len(by_hash):,} videos of {filmed.path}; curate their files, unchanged"
        )
    found_clips = _by_video(curated)
    clips: dict[str, Clip] = {}
    graphs: dict[str, str] = {}
    numbers: Counter[tuple[str, int]] = Counter()
    for video_id, source in known.items():
        house = film_plan_of(source).built()
        steps = filmed_steps(filmed, source)
        for clip, shown in steps_by_clip(found_clips.get(video_id, []), steps):
            name, graph = _graph(house, shown, numbers)
            graphs[name] = graph
            clips[clip.id] = clip.model_copy(update={"extra": clip.extra | _extra(name, shown)})
    ids = {source.id: VideoId(video_id) for video_id, source in known.items()}
    boxes = (
        box.model_copy(update={"video_id": ids[box.video_id]})
        for box in filmed.read(KNOWN_BOXES)
        if box.video_id in ids
    )
    of_curation = curated.manifest.files
    with curated.writing(stage=STAGE, parents=parents) as writer:
        # Curation remains the stage of these rows, although they hold more now, so it is still up to date.
        writer.add(
            CLIPS, [clips.get(clip.id, clip) for clip in curated.read(CLIPS)], work_of=of_curation[CLIPS.file_name]
        )
        writer.add(
            VIDEOS,
            [_described(video, known.get(video.id)) for video in curated.read(VIDEOS)],
            work_of=of_curation[VIDEOS.file_name],
        )
        counts = {"videos": len(known), "graphs": len(graphs), "known boxes": writer.add(KNOWN_BOXES, boxes)}
        for name, graph in graphs.items():
            writer.add_graph(name, graph)
    bare = sum(len(found_clips.get(video_id, [])) for video_id in known) - len(clips)
    return StageReport(
        stage=STAGE,
        counts=counts,
        warnings=(f"{bare:,} clips show the end of no action and have no graph",) if bare else (),
    )


def filmed_steps(filmed: Benchmark, video: Video) -> list[TimedStep]:
    """The steps of a filmed video in the order in which they take effect, played once more.

    Args:
        filmed: The benchmark that `film` made, for errors.
        video: One of its videos.

    Raises:
        BenchmarkError: The video does not say how it was filmed, or its scenes do not end when the filmed ones did, for
            example because the household's code changed.
    """
    planned = film_plan_of(video)
    try:
        scenes = play_film(planned)
    except CannotError as error:
        raise BenchmarkError(
            f"video '{video.id}' of {filmed.path} cannot be played again: {error}; {FILM_AGAIN}"
        ) from None
    clips = {clip.id: clip for clip in filmed.read(CLIPS) if clip.video_id == video.id}
    for scene, scene_plan in zip(scenes, planned.scenes, strict=True):
        clip = clips.get(ClipId(scene_plan.clip))
        # The last scene ends with the video.
        end_s = min(scene.end_s, video.duration_s or scene.end_s)
        if clip is None or clip.interval is None or abs(clip.interval.end_s - end_s) > SAME_TIME_S:
            raise BenchmarkError(
                f"'{scene_plan.clip}' of video '{video.id}' ends at {scene.end_s:.1f} s now and did not when it was "
                f"filmed; {FILM_AGAIN}"
            )
    return [
        TimedStep(step, scene.activity.name, index, number, scene.seed, scene.steps)
        for index, scene in enumerate(scenes)
        for number, step in enumerate(scene.steps)
    ]


def film_plan_of(video: Video) -> FilmPlan:
    """The plan of a filmed video.

    Raises:
        BenchmarkError: The video does not say how it was filmed.
    """
    try:
        return FilmPlan.model_validate(video.extra.get("plan"))
    except ValidationError:
        raise BenchmarkError(f"video '{video.id}' does not say how it was filmed; {FILM_AGAIN}") from None


def steps_by_clip(clips: Sequence[Clip], steps: Sequence[TimedStep]) -> list[tuple[Clip, list[TimedStep]]]:
    """Assigns each step to a clip that shows its end, or to a later one. Clips without a step are left out.

    A step belongs to the first clip that shows its end, but to none before that of a step that takes effect earlier:
    so the steps of a clip are consecutive. If clips overlap, the first counts. A step outside all clips is left out.

    Args:
        clips: Clips of one video, in the order of time.
        steps: Its steps, in the order in which they take effect.
    """
    timed = [(clip, clip.interval) for clip in clips if clip.interval is not None]
    ends = [interval.end_s for _, interval in timed]
    found: dict[int, list[TimedStep]] = {}
    earliest = 0
    for step in steps:
        place = bisect_left(ends, step.end_s - SAME_TIME_S)
        if place < len(timed) and timed[place][1].start_s <= step.end_s:
            earliest = max(earliest, place)
            found.setdefault(earliest, []).append(step)
    return [(timed[place][0], shown) for place, shown in sorted(found.items())]


def _by_video(benchmark: Benchmark) -> dict[str, list[Clip]]:
    found: dict[str, list[Clip]] = {}
    for clip in benchmark.read(CLIPS):
        found.setdefault(clip.video_id, []).append(clip)
    for clips in found.values():
        clips.sort(key=lambda clip: clip.interval.end_s if clip.interval else 0.0)
    return found


def _graph(house: House, shown: Sequence[TimedStep], numbers: Counter[tuple[str, int]]) -> tuple[str, str]:
    """A clip's graph, named after the activity that takes most of its time, such as `Drink_milk3_scene2`."""
    activity = _longest(shown)
    numbers[activity, house.number] += 1
    name = f"{activity}{numbers[activity, house.number]}_{house.scene}"
    places = {(timed.scene, timed.number): place for place, timed in enumerate(shown)}
    # Causes and purposes that another clip shows are none of this graph.
    steps = [
        replace(
            timed.step,
            cause=places.get((timed.scene, -1 if timed.step.cause is None else timed.step.cause)),
            purpose=places.get((timed.scene, -1 if timed.step.purpose is None else timed.step.purpose)),
        )
        for timed in shown
    ]
    begins_s = min(step.start_s for step in steps)
    others: list[Counterfactual] = []
    # Nobody can tell what a scene would have led to after a cut to another time.
    if len({timed.scene for timed in shown}) == 1:
        told = range(shown[0].number, shown[-1].number + 1)
        others = counterfactuals(house, shown[0].whole, seed=shown[0].seed, shown=told)
    return name, scene_graph(house, name, activities()[activity], steps, begins_s=begins_s, others=others)


def _longest(shown: Sequence[TimedStep]) -> str:
    lengths: Counter[str] = Counter()
    for timed in shown:
        lengths[timed.activity] += round((timed.end_s - timed.start_s) * 1000)
    return lengths.most_common(1)[0][0]


def _extra(name: str, shown: Sequence[TimedStep]) -> dict[str, str]:
    return {
        "activity": name,
        "category": activities()[_longest(shown)].category,
        "program": program([timed.step for timed in shown]),
    }


def _described(video: Video, source: Video | None) -> Video:
    if source is None:
        return video
    return video.model_copy(update={"summaries": source.summaries, "extra": video.extra | source.extra})
