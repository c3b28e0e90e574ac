"""The stage that finds the objects of a benchmark's videos and tells which sightings are of one object.

Frames are decoded and crops described in child processes; a detector runs here; the memory bank goes over each video
once. What a part of a video gave is kept in the work folder, so that a run that stops repeats at most what was under
way.
"""

import base64
import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk import __version__
from reeltalk.construct.frames import frame_calls, limits, parsed
from reeltalk.construct.memory import MemoryBank, Observation
from reeltalk.construct.objects import (
    Describe,
    FoundBox,
    FrameBoxes,
    LookedAtFrame,
    ObjectSettings,
    caption,
    parts_of,
    sample_times,
    unpacked,
)
from reeltalk.errors import BenchmarkError
from reeltalk.inference.detection import Detector
from reeltalk.parallel import Call, Executor, Failure
from reeltalk.schema.ids import ClipId, EntityId, VideoId, derive_id
from reeltalk.schema.knowledge import Box, Entity, IdentityChange, KnownBox, Sighting
from reeltalk.schema.media import Clip, SampledFrame, Video
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import Json
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.tables import CLIPS, ENTITIES, FRAMES, IDENTITY_CHANGES, KNOWN_BOXES, SIGHTINGS, VIDEOS
from reeltalk.video.encode import pixels_of

STAGE: Final = "construct objects"
CROPS: Final = "crops"
MADE_BY: Final = "made_by"
"""Marks, in `extra`, the entities that this stage wrote among those of others."""
BOXES_A_CALL: Final = 1500
"""A call's answer has a bound of 64 MiB; so many crops stay far below it."""
Progress = Callable[[str, int, int, float], None]


@dataclass
class _Watched:
    """A video and what is known about it so far."""

    video: Video
    path: Path
    clips: list[Clip]
    times_s: list[float]
    frames: list[FrameBoxes] = field(default_factory=list)
    failure: str | None = None

    @property
    def rotation_deg(self) -> int:
        return self.video.encoding.rotation_deg if self.video.encoding else 0


@dataclass(frozen=True)
class _Remembered:
    """What the memory bank says of a video."""

    sightings: list[Sighting]
    entities: list[Entity]
    changes: list[IdentityChange]
    crops: dict[str, bytes]


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
    work = _Work(benchmark.path / WORK / "objects", executor, progress or (lambda what, done, total, share: None))
    if detector == "known":
        _take_known(benchmark, watched)
    else:
        work.detect(watched, detector)
    work.look(watched)
    failed = [f"{w.video.id} cannot be looked at: {w.failure}" for w in watched if w.failure is not None]
    remembered = [_remember(w, work.looks(w), settings, describe) for w in watched if w.failure is None]
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
                # Thousands of files would say the same; the sightings' entry says it for all.
                writer.entries[name] = writer.entries[name].model_copy(update={"settings": {}, "parents": {}})
    shutil.rmtree(work.folder, ignore_errors=True)
    return StageReport(stage=STAGE, counts=_counts(benchmark), warnings=(*absent, *failed))


def _counts(benchmark: Benchmark) -> dict[str, int]:
    return {
        "sightings": benchmark.rows(SIGHTINGS),
        "entities": benchmark.rows(ENTITIES),
        "identity changes": benchmark.rows(IDENTITY_CHANGES),
    }


def _videos(benchmark: Benchmark, settings: ObjectSettings) -> tuple[list[_Watched], list[str]]:
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
        watched.append(_Watched(video, benchmark.media.path(video.sha256), own, times))
    if not watched:
        raise BenchmarkError(f"{benchmark.path} has no video in its media store; curate with --media copy")
    return watched, absent


def _take_known(benchmark: Benchmark, watched: Sequence[_Watched]) -> None:
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
                    for row in sorted(own[pts_s], key=lambda row: (*_numbers(row.box), row.class_name))
                ],
            )
            for pts_s in sorted(own)
        ]


class _NonsenseError(Exception):
    """What a process answered cannot be what it was asked for: it had read a stranger's file."""


class _Work:
    """The calls of one run, each of which is looked up in the work folder before it is made."""

    def __init__(self, folder: Path, executor: Executor, progress: Progress) -> None:
        self.folder, self.executor, self.progress = folder, executor, progress

    def detect(self, watched: Sequence[_Watched], detector: Detector) -> None:
        """Run a detector over the sampled frames of all videos."""

        def finish(call: Call, outcome: Any) -> Json:
            found = []
            for pts_s, picture in _pictures(outcome):
                objects = detector.detect(picture)
                found.append([pts_s, [[_numbers(d.box), d.class_name, d.confidence] for d in objects]])
            return found

        def read(call: Call, found: Any) -> list[FrameBoxes]:
            return [
                FrameBoxes(
                    float(pts_s), [FoundBox(_box(numbers), str(name), float(sure)) for numbers, name, sure in objects]
                )
                for pts_s, objects in found
            ]

        calls = [(w, call) for w in watched for call in frame_calls(w.path, w.times_s, rotation_deg=w.rotation_deg)]
        key = ["detect", detector.signature]
        self._run("finding objects", "reeltalk.construct.frames:decode", calls, key, finish, read)
        for w, call in calls:
            if w.failure is None:
                w.frames += read(call, self._made(key, call, read))
        for w in watched:
            # Two moments may fall on one frame; it is looked at once.
            w.frames = list({frame.pts_s: frame for frame in sorted(w.frames, key=lambda f: f.pts_s)}.values())

    def look(self, watched: Sequence[_Watched]) -> None:
        """Describe what was found; `looks` reads it."""
        calls = [(w, call) for w in watched if w.failure is None for call in _look_calls(w)]
        self._run(
            "looking at objects",
            "reeltalk.construct.objects:look",
            calls,
            ["look"],
            lambda call, outcome: outcome,
            _read_looks,
        )

    def looks(self, w: _Watched) -> list[LookedAtFrame]:
        """What the frames of a video and their objects look like. Crops are large: one video's at a time is enough."""
        return [
            frame for call in _look_calls(w) for frame in _read_looks(call, self._made(["look"], call, _read_looks))
        ]

    def _run(
        self,
        what: str,
        function: str,
        calls: Sequence[tuple[_Watched, Call]],
        key: list[str],
        finish: Callable[[Call, Any], Json],
        read: Callable[[Call, Any], object],
    ) -> None:
        waiting = [(w, call) for w, call in calls if self._kept(key, call, read) is None]
        done = len(calls) - len(waiting)
        self.progress(what, done, len(calls), done / max(1, len(calls)))
        for index, outcome in self.executor.map(function, (call for _, call in waiting)):
            w, call = waiting[index]
            done += 1
            if isinstance(outcome, Failure):
                w.failure = str(outcome)
            else:
                try:
                    found = finish(call, outcome)
                    _checked(read, call, found)
                except _NonsenseError:
                    w.failure = "the process that read it gave no answer that makes sense"
                else:
                    write_bytes(self._path(key, call), json.dumps(found).encode())
            self.progress(what, done, len(calls), done / max(1, len(calls)))

    def _path(self, key: list[str], call: Call) -> Path:
        canonical = json.dumps([*key, __version__, call.argument], sort_keys=True)
        return self.folder / f"{key[0]}-{hashlib.sha256(canonical.encode()).hexdigest()[:32]}.json"

    def _kept(self, key: list[str], call: Call, read: Callable[[Call, Any], object]) -> Any | None:
        """What a call gave before, or None where it has not been made or what was kept is damaged."""
        try:
            found = json.loads(self._path(key, call).read_bytes())
            _checked(read, call, found)
        except (OSError, ValueError, _NonsenseError):
            return None
        return found

    def _made(self, key: list[str], call: Call, read: Callable[[Call, Any], object]) -> Any:
        found = self._kept(key, call, read)
        if found is None:
            raise BenchmarkError(f"{self.folder} was changed while it was read; run the command again")
        return found


def _checked(read: Callable[[Call, Any], object], call: Call, found: Any) -> None:
    try:
        read(call, found)
    except (ValueError, TypeError):
        raise _NonsenseError from None


def _pictures(outcome: Any) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    try:
        frames = parsed(outcome)
    except BenchmarkError:
        raise _NonsenseError from None
    for frame in frames:
        try:
            yield frame.pts_s, pixels_of(frame.jpeg)
        except ValueError:
            raise _NonsenseError from None


def _look_calls(w: _Watched) -> Iterator[Call]:
    for part in parts_of(w.frames, most_boxes=BOXES_A_CALL):
        frames = [{"pts_s": frame.pts_s, "boxes": [_numbers(found.box) for found in frame.objects]} for frame in part]
        argument = {"path": str(w.path), "rotation_deg": w.rotation_deg, "frames": frames}
        yield Call(argument, limits(len(part)))


def _read_looks(call: Call, found: Any) -> list[LookedAtFrame]:
    frames = [LookedAtFrame.model_validate(frame) for frame in found]
    asked = [(frame["pts_s"], len(frame["boxes"])) for frame in call.argument["frames"]]
    if [(frame.pts_s, len(frame.objects)) for frame in frames] != asked:
        raise ValueError("other frames than were asked for")
    for frame in frames:
        unpacked(frame.view)
        for seen in frame.objects:
            unpacked(seen.appearance)
            base64.b64decode(seen.crop, validate=True)
    return frames


def _remember(
    w: _Watched, looks: Sequence[LookedAtFrame], settings: ObjectSettings, describe: Describe | None
) -> _Remembered:
    """Go over a video once, in the order of time."""
    bank = MemoryBank(settings.memory)
    tracks: list[list[int]] = []
    for frame, looked in zip(w.frames, looks, strict=True):
        observed = [
            Observation(found.box, found.class_name, look.colour, unpacked(look.appearance))
            for found, look in zip(frame.objects, looked.objects, strict=True)
        ]
        tracks.append(bank.see(frame.pts_s, unpacked(looked.view), observed))
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
                    caption=caption(found.class_name, look.colour, found.box),
                )
            )
    crops = _keep_crops(sightings, pictures, settings.crops, bank, entity_of, describe)
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
            kept=_entity_id(w.video.id, change.kept),
            other=_entity_id(w.video.id, change.other),
            similarity=round(change.similarity, 4),
        )
        for change in bank.changes
    ]
    return _Remembered(sightings, entities, changes, crops)


def _keep_crops(
    sightings: list[Sighting],
    pictures: dict[EntityId, list[tuple[float, int, bytes]]],
    most: int,
    bank: MemoryBank,
    entity_of: dict[int, EntityId],
    describe: Describe | None,
) -> dict[str, bytes]:
    """The largest and most certain crops of each object as files; their sightings are told of them."""
    crops: dict[str, bytes] = {}
    for identity, entity in sorted(entity_of.items()):
        best = sorted(pictures[entity], key=lambda found: found[:2])[:most]
        for number, (_, index, content) in enumerate(best, start=1):
            name = f"{CROPS}/{entity}-{number}.jpg"
            crops[name] = content
            said: dict[str, str] = {"crop": name}
            if describe is not None and (words := " ".join(describe(content, bank.class_of(identity)).split())):
                said["caption"] = words
            sightings[index] = sightings[index].model_copy(update=said)
    return crops


def _entity_id(video_id: str, identity: int) -> EntityId:
    return EntityId(derive_id("object", video_id, identity))


def _shows(clip: Clip, pts_s: float) -> bool:
    return clip.interval is not None and clip.interval.start_s <= pts_s < clip.interval.end_s


def _numbers(box: Box) -> list[float]:
    return [box.left, box.top, box.right, box.bottom]


def _box(numbers: Sequence[float]) -> Box:
    left, top, right, bottom = np.asarray(numbers, np.float64).tolist()
    return Box(left=left, top=top, right=right, bottom=bottom)
