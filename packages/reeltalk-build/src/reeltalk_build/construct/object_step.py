"""The objects step: finds the objects in a benchmark's videos and groups their sightings into identities.

Child processes decode frames and describe crops; the detector runs in this process; the memory bank goes over each
video once. Results are cached in the work folder, so an interrupted run repeats at most the calls in progress.
"""

import base64
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Executor
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.knowledge import Entity, IdentityChange, KnownBox, Sighting
from reeltalk.schema.media import Clip, SampledFrame
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import ClipId, EntityId, Json, VideoId, derive_id
from reeltalk.schema.settings import Settings
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, FRAMES, IDENTITY_CHANGES, KNOWN_BOXES, SIGHTINGS, VIDEOS
from reeltalk_build.construct.context import video_path
from reeltalk_build.construct.memory import MemoryBank, MemorySettings, Observation
from reeltalk_build.construct.objects import (
    DescribedFrame,
    FoundBox,
    FrameBoxes,
    ObjectCalls,
    VideoWork,
    describe_box,
    numbers_of,
    sample_times,
    unpack_appearance,
)
from reeltalk_build.construct.step import ConstructRun
from reeltalk_build.inference.detection import Detector, open_detector

STAGE: Final = "construct objects"
UP_TO_DATE: Final = "objects: nothing changed since the last run"
CROPS: Final = "crops"
MADE_BY: Final = "made_by"
"""Key in `extra` that marks the entities of this stage."""


class ObjectSettings(Settings):
    """How objects are found and distinguished."""

    fps: Annotated[float, Field(gt=0, le=30)] = 1.0
    """Frames a second to search if a video has no key frames from `reeltalk curate`."""
    crops: Annotated[int, Field(ge=0, le=100)] = 2
    """Crops of each object to store as files."""
    memory: MemorySettings = MemorySettings()
    """Thresholds of the memory bank."""


def run_object_step(run: ConstructRun) -> StageReport:
    """Write sightings, entities and identity changes.

    Without a detector the known boxes of filmed videos are used. If there are none, the step is skipped with a warning.

    Raises:
        SettingError: The detector cannot be loaded.
        BenchmarkError: There is no video in the media store.
    """
    spec = run.settings.detector
    if spec is None and run.benchmark.rows(KNOWN_BOXES) and any(run.benchmark.media.names()):
        spec = "known"
    if spec is None:
        skipped = "objects: skipped, since no --detector is given and no boxes are known"
        return StageReport(stage=STAGE, counts={}, warnings=(skipped,))
    return sight_objects(
        run.benchmark,
        ObjectSettings(),
        "known" if spec == "known" else open_detector(spec),
        run.executor,
        run.progress,
        limit=run.settings.limit,
    )


def sight_objects(
    benchmark: Benchmark,
    settings: ObjectSettings,
    detector: Detector | Literal["known"],
    executor: Executor,
    progress: Progress | None = None,
    *,
    limit: int | None = None,
) -> StageReport:
    """Find the objects of the videos, and write sightings, entities, identity changes and crops in one step.

    Entities of other stages are kept.

    Raises:
        BenchmarkError: There is no video in the media store, or no known box for `known`.
    """
    signature = "known" if detector == "known" else detector.signature
    recorded: dict[str, Json] = settings.model_dump(mode="json") | {
        "detector": signature,
        "limit": limit,
    }
    files = benchmark.manifest.files
    read = [VIDEOS.file_name, FRAMES.file_name, CLIPS.file_name]
    read += [KNOWN_BOXES.file_name] if detector == "known" else []
    parents = {name: files[name].sha256 for name in read if name in files}
    entry = files.get(SIGHTINGS.file_name)
    if (
        entry is not None
        and (entry.stage, entry.version, entry.parents) == (STAGE, __version__, parents)
        and entry.settings in (recorded, recorded | {"limit": None})
    ):
        return StageReport(stage=STAGE, counts=_counts(benchmark), warnings=(UP_TO_DATE,))
    watched, absent = _videos(benchmark, settings, limit)
    work = ObjectCalls(benchmark.path / WORK / "objects", executor, progress or ignore_progress)
    if detector == "known":
        _take_known(benchmark, watched)
    else:
        work.detect(watched, detector)
    work.look(watched)
    failed = [f"objects of {w.video.id}: {w.failure}" for w in watched if w.failure is not None]
    remembered = [update_bank(w, work.looks(w), settings) for w in watched if w.failure is None]
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
    return StageReport(stage=STAGE, counts=_counts(benchmark), left_out=(*absent, *failed))


def _counts(benchmark: Benchmark) -> dict[str, int]:
    return {
        "sightings": benchmark.rows(SIGHTINGS),
        "entities": benchmark.rows(ENTITIES),
        "identity changes": benchmark.rows(IDENTITY_CHANGES),
    }


def _videos(benchmark: Benchmark, settings: ObjectSettings, limit: int | None) -> tuple[list[VideoWork], list[str]]:
    """The videos in the media store, and a line for each of the others."""
    frames: defaultdict[str, list[SampledFrame]] = defaultdict(list)
    for frame in benchmark.read(FRAMES):
        frames[frame.video_id].append(frame)
    clips: defaultdict[str, list[Clip]] = defaultdict(list)
    for clip in benchmark.read(CLIPS):
        clips[clip.video_id].append(clip)
    watched, absent = [], []
    for video in islice(benchmark.read(VIDEOS), limit):
        try:
            path = video_path(benchmark, video)
        except BenchmarkError as error:
            absent.append(f"objects of {video.id}: {error}")
            continue
        times = sample_times(video, frames[video.id], fps=settings.fps)
        own = sorted((c for c in clips[video.id] if c.interval), key=lambda c: (c.interval.start_s, c.id))  # type: ignore[union-attr]
        watched.append(VideoWork(video, path, own, times))
    if not watched:
        raise BenchmarkError(f"{benchmark.path} has no video in its media store; curate with --media copy")
    return watched, absent


def _take_known(benchmark: Benchmark, watched: Sequence[VideoWork]) -> None:
    known: defaultdict[str, defaultdict[float, list[KnownBox]]] = defaultdict(lambda: defaultdict(list))
    for row in benchmark.read(KNOWN_BOXES):
        known[row.video_id][row.pts_s].append(row)
    if not known:
        raise BenchmarkError(f"{benchmark.path} has no known boxes; 'reeltalk world film' writes them")
    for w in watched:
        own: dict[float, list[KnownBox]] = known.get(w.video.id, defaultdict(list))
        # Ordered by position, so that names have no influence.
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


@dataclass(frozen=True)
class VideoSightings:
    """The rows and crops of one video."""

    sightings: list[Sighting]
    entities: list[Entity]
    changes: list[IdentityChange]
    crops: dict[str, bytes]


def update_bank(w: VideoWork, looks: Sequence[DescribedFrame], settings: ObjectSettings) -> VideoSightings:
    """Turn the described frames of a video into sightings, entities and crops with the memory bank."""
    bank = MemoryBank(settings.memory)
    tracks: list[list[int]] = []
    for frame, looked in zip(w.frames, looks, strict=True):
        observed = [
            Observation(found.box, found.class_name, look.colour, unpack_appearance(look.appearance))
            for found, look in zip(frame.objects, looked.objects, strict=True)
        ]
        tracks.append(bank.see(frame.pts_s, unpack_appearance(looked.view), observed))
    sightings: list[Sighting] = []
    pictures: dict[EntityId, list[tuple[float, int, bytes]]] = {}
    entity_of: dict[int, EntityId] = {}
    for frame, looked, numbers in zip(w.frames, looks, tracks, strict=True):
        for found, look, number in zip(frame.objects, looked.objects, numbers, strict=True):
            identity = bank.identity_of(number)
            entity = entity_of.setdefault(identity, _entity_id(w.video.id, identity))
            worth = found.box.area * found.confidence
            pictures.setdefault(entity, []).append((-worth, len(sightings), base64.b64decode(look.crop)))
            sightings.append(
                Sighting(
                    video_id=VideoId(w.video.id),
                    clip_id=next((c.id for c in w.clips if _shows(c, frame.pts_s)), None),
                    pts_s=frame.pts_s,
                    box=found.box,
                    class_name=found.class_name,
                    confidence=found.confidence,
                    entity=entity,
                    caption=describe_box(found.class_name, look.colour, found.box),
                )
            )
    crops = _keep_crops(sightings, pictures, settings.crops)
    seen_in: defaultdict[str, dict[ClipId, None]] = defaultdict(dict)
    counts: defaultdict[str, int] = defaultdict(int)
    for sighting in sightings:
        counts[sighting.entity] += 1
        if sighting.clip_id is not None:
            seen_in[sighting.entity][sighting.clip_id] = None
    entities = [
        Entity(
            id=entity,
            video_id=VideoId(w.video.id),
            class_name=bank.class_of(identity),
            clip_ids=tuple(seen_in[entity]),
            attributes={"colour": bank.colour_of(identity), "sightings": str(counts[entity])},
            extra={MADE_BY: STAGE},
        )
        for identity, entity in sorted(entity_of.items())
    ]
    changes = [
        IdentityChange(
            video_id=VideoId(w.video.id),
            pts_s=change.pts_s,
            kind=change.kind,
            kept=_entity_id(w.video.id, change.remaining),
            other=_entity_id(w.video.id, change.other),
            similarity=round(change.similarity, 4),
        )
        for change in bank.changes
    ]
    return VideoSightings(sightings, entities, changes, crops)


def _keep_crops(
    sightings: list[Sighting], pictures: dict[EntityId, list[tuple[float, int, bytes]]], most: int
) -> dict[str, bytes]:
    """Choose the largest and most certain crops of each object, and note the file names in their sightings."""
    crops: dict[str, bytes] = {}
    for entity, found in pictures.items():
        best = sorted(found, key=lambda picture: picture[:2])[:most]
        for number, (_, index, content) in enumerate(best, start=1):
            name = f"{CROPS}/{entity}-{number}.jpg"
            crops[name] = content
            sightings[index] = sightings[index].model_copy(update={"crop": name})
    return crops


def _entity_id(video_id: str, identity: int) -> EntityId:
    return EntityId(derive_id("object", video_id, identity))


def _shows(clip: Clip, pts_s: float) -> bool:
    return clip.interval is not None and clip.interval.start_s <= pts_s < clip.interval.end_s
