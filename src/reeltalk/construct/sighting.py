"""The stage that finds the objects of a benchmark's videos and tells which sightings are of one object.

Frames are decoded and crops described in child processes; a detector runs here; the memory bank goes over each video
once. What a part of a video gave is kept in the work folder, so that a run that stops repeats at most what was under
way.
"""

import shutil
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal

from reeltalk import __version__
from reeltalk.construct.object_calls import ObjectCalls, Watched, numbers_of
from reeltalk.construct.objects import Describe, FoundBox, FrameBoxes, ObjectSettings, sample_times
from reeltalk.construct.remembering import CROPS, MADE_BY, STAGE, remember
from reeltalk.errors import BenchmarkError
from reeltalk.inference.detection import Detector
from reeltalk.parallel import Executor
from reeltalk.progress import Progress, unseen
from reeltalk.schema.knowledge import KnownBox
from reeltalk.schema.media import Clip, SampledFrame
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, FRAMES, IDENTITY_CHANGES, KNOWN_BOXES, SIGHTINGS, VIDEOS


def sight_objects(
    benchmark: Benchmark,
    settings: ObjectSettings,
    detector: Detector | Literal["known"],
    executor: Executor,
    progress: Progress | None = None,
    *,
    describe: Describe | None = None,
) -> StageReport:
    """Find the objects of all videos: writes sightings, entities, identity changes and crops in one step.

    Entities that another stage wrote are kept.

    Args:
        benchmark: Videos that are in its media store are looked at; the others are named in the report.
        settings: How densely, and the thresholds of the memory bank.
        detector: What finds the objects; `known` takes the boxes, without the identities, that filming wrote.
        executor: Decodes.
        progress: Called with what is done, how many of how many, and the share.
        describe: Says what a kept crop shows, as a vision model does; class, colour and place by default.

    Raises:
        BenchmarkError: There is no video to look at, or no known box where those are asked for.
    """
    signature = "known" if detector == "known" else detector.signature
    recorded: dict[str, Json] = settings.model_dump(mode="json") | {
        "detector": signature,
        "captions": "class, colour and place" if describe is None else getattr(describe, "signature", "described"),
    }
    files = benchmark.manifest.files
    read = [VIDEOS.file_name, FRAMES.file_name, CLIPS.file_name]
    read += [KNOWN_BOXES.file_name] if detector == "known" else []
    parents = {name: files[name].sha256 for name in read if name in files}
    entry = files.get(SIGHTINGS.file_name)
    if entry is not None and (entry.stage, entry.settings, entry.version, entry.parents) == (
        STAGE,
        recorded,
        __version__,
        parents,
    ):
        return StageReport(stage=STAGE, counts=_counts(benchmark), warnings=("it is up to date",))
    watched, absent = _videos(benchmark, settings)
    work = ObjectCalls(benchmark.path / WORK / "objects", executor, progress or unseen)
    if detector == "known":
        _take_known(benchmark, watched)
    else:
        work.detect(watched, detector)
    work.look(watched)
    failed = [f"{w.video.id} cannot be looked at: {w.failure}" for w in watched if w.failure is not None]
    remembered = [remember(w, work.looks(w), settings, describe) for w in watched if w.failure is None]
    own = {entity.id for found in remembered for entity in found.entities}
    others = [row for row in benchmark.read(ENTITIES) if row.extra.get(MADE_BY) != STAGE and row.id not in own]
    with benchmark.writing(stage=STAGE, settings=recorded, parents=parents) as writer:
        writer.remove(benchmark.manifest, f"{CROPS}/")
        writer.add(SIGHTINGS, (row for found in remembered for row in found.sightings))
        writer.add(ENTITIES, [*others, *(row for found in remembered for row in found.entities)])
        writer.add(IDENTITY_CHANGES, (row for found in remembered for row in found.changes))
        for found in remembered:
            for name, content in found.crops.items():
                writer.add_file(name, content)
    shutil.rmtree(work.folder, ignore_errors=True)
    return StageReport(stage=STAGE, counts=_counts(benchmark), warnings=(*absent, *failed))


def _counts(benchmark: Benchmark) -> dict[str, int]:
    return {
        "sightings": benchmark.rows(SIGHTINGS),
        "entities": benchmark.rows(ENTITIES),
        "identity changes": benchmark.rows(IDENTITY_CHANGES),
    }


def _videos(benchmark: Benchmark, settings: ObjectSettings) -> tuple[list[Watched], list[str]]:
    """The videos that are here, and a sentence about those that are not."""
    frames: defaultdict[str, list[SampledFrame]] = defaultdict(list)
    for frame in benchmark.read(FRAMES):
        frames[frame.video_id].append(frame)
    clips: defaultdict[str, list[Clip]] = defaultdict(list)
    for clip in benchmark.read(CLIPS):
        clips[clip.video_id].append(clip)
    watched, absent = [], []
    for video in benchmark.read(VIDEOS):
        if video.sha256 is None or not benchmark.media.has(video.sha256):
            absent.append(f"{video.id} is not in the media store, so its objects are not looked for")
            continue
        times = sample_times(video, frames[video.id], fps=settings.fps)
        own = sorted((c for c in clips[video.id] if c.interval), key=lambda c: (c.interval.start_s, c.id))  # type: ignore[union-attr]
        watched.append(Watched(video, benchmark.media.whole(video.sha256), own, times))
    if not watched:
        raise BenchmarkError(f"{benchmark.path} has no video in its media store; curate with --media copy")
    return watched, absent


def _take_known(benchmark: Benchmark, watched: Sequence[Watched]) -> None:
    known: defaultdict[str, defaultdict[float, list[KnownBox]]] = defaultdict(lambda: defaultdict(list))
    for row in benchmark.read(KNOWN_BOXES):
        known[row.video_id][row.pts_s].append(row)
    if not known:
        raise BenchmarkError(f"{benchmark.path} has no known boxes; 'reeltalk world film' writes them")
    for w in watched:
        own: dict[float, list[KnownBox]] = known.get(w.video.id, defaultdict(list))
        # In the order of their places, so that no name decides anything.
        w.frames = [
            FrameBoxes(
                pts_s,
                [
                    FoundBox(row.box, row.class_name, 1.0)
                    for row in sorted(own[pts_s], key=lambda row: (*numbers_of(row.box), row.class_name))
                ],
            )
            for pts_s in sorted(own)
        ]
