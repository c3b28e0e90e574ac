"""Objects in sampled frames: boxes, appearance, crops and captions.

MT-Video-Bench (arXiv 2510.17722, section 3.2) samples two frames a second and drops blurred frames and near-copies of
the frame before. `reeltalk curate` does the same and calls the rest key frames. Child processes find and describe the
objects; their results are cached in the work folder.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Executor, Failure
from reeltalk.progress import Progress
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box
from reeltalk.schema.media import Clip, SampledFrame, Video
from reeltalk.schema.record import Json, Seconds
from reeltalk.store.atomic import write_bytes
from reeltalk.video.appearance import APPEARANCE_VALUES, colour_name, cut_box, describe_appearance
from reeltalk.video.encode import jpeg, pixels_of, shrink_to
from reeltalk.video.frames import frames_at
from reeltalk.video.sampling import fixed_rate
from reeltalk_build.construct.frames import LONGEST_PX, frame_calls, frame_limits, parse_frames
from reeltalk_build.inference.detection import Detector

CROP_PX: Final = 160
"""Longer side of a stored crop."""
CROP_QUALITY: Final = 85
FRONT_SHARE: Final = 0.8
"""A box whose lower edge is below this share of the picture's height is in the front."""


class FoundBox(NamedTuple):
    """One object in one frame, from a detector or from known boxes."""

    box: Box
    class_name: str
    confidence: float


class FrameBoxes(NamedTuple):
    """The objects of one frame."""

    pts_s: float
    objects: list[FoundBox]


class DescribedObject(BaseModel):
    """The appearance of one object in one frame."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    appearance: Annotated[str, Field(max_length=8 * APPEARANCE_VALUES)]
    """`video.appearance.Appearance` as float16 in base64."""
    colour: Annotated[str, Field(max_length=20)]
    crop: str
    """JPEG in base64."""


class DescribedFrame(BaseModel):
    """The appearance of a frame and its objects."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pts_s: Seconds
    view: Annotated[str, Field(max_length=8 * APPEARANCE_VALUES)]
    """The appearance of the whole frame."""
    objects: tuple[DescribedObject, ...]


def sample_times(video: Video, frames: Sequence[SampledFrame], *, fps: float) -> list[float]:
    """Times in seconds at which to look for objects: the key frames, or a fixed rate without key frames."""
    if frames:
        return sorted({frame.pts_s for frame in frames if frame.key_frame})
    if not video.duration_s:
        return [0.0]
    return list(fixed_rate(Interval(start_s=0.0, end_s=video.duration_s), fps=fps))


def describe_objects(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the objects in frames. Runs in a child process.

    `argument` has `path`, and `frames`: for each its `pts_s` and its `boxes` as four numbers each.

    Returns:
        A `DescribedFrame` as JSON for each frame.
    """
    frames = argument["frames"]
    found = []
    for frame, wanted in zip(
        frames_at(Path(argument["path"]), [frame["pts_s"] for frame in frames]), frames, strict=True
    ):
        picture = shrink_to(frame.pixels, LONGEST_PX)
        objects = []
        for left, top, right, bottom in wanted["boxes"]:
            crop = cut_box(picture, Box(left=left, top=top, right=right, bottom=bottom))
            small = np.ascontiguousarray(shrink_to(crop, CROP_PX))
            objects.append(
                DescribedObject(
                    appearance=pack_appearance(describe_appearance(crop)),
                    colour=colour_name(crop),
                    crop=base64.b64encode(jpeg(small, quality=CROP_QUALITY)).decode(),
                )
            )
        made = DescribedFrame(
            pts_s=wanted["pts_s"], view=pack_appearance(describe_appearance(picture)), objects=tuple(objects)
        )
        found.append(made.model_dump(mode="json"))
    return found


def pack_appearance(values: NDArray[np.float32]) -> str:
    """An appearance as base64 of float16."""
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def unpack_appearance(text: str) -> NDArray[np.float32]:
    """An appearance from base64 of float16.

    Raises:
        ValueError: The text is not base64, or not an appearance.
    """
    values = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    if values.shape != (APPEARANCE_VALUES,) or not np.isfinite(values).all():
        raise ValueError(f"must be an appearance with shape ({APPEARANCE_VALUES},), but got shape {values.shape}")
    return values


def describe_box(class_name: str, colour: str, box: Box) -> str:
    """A caption without a model: colour, class and place, for example `blue mug, left, back`."""
    across = (box.left + box.right) / 2
    side = "left" if across < 1 / 3 else "right" if across > 2 / 3 else "middle"
    return f"{colour} {class_name}, {side}, {'front' if box.bottom > FRONT_SHARE else 'back'}"


def group_frames(frames: Sequence[FrameBoxes], *, most_boxes: int) -> Iterator[list[FrameBoxes]]:
    """Consecutive frames in groups of at most `most_boxes` boxes; a frame with more boxes is a separate group."""
    part: list[FrameBoxes] = []
    count = 0
    for frame in frames:
        if part and count + len(frame.objects) + 1 > most_boxes:
            yield part
            part, count = [], 0
        part.append(frame)
        count += len(frame.objects) + 1
    if part:
        yield part


BOXES_A_CALL: Final = 1500
"""Most boxes in one call. The result of a call may have 64 MiB; this many crops need much less."""


@dataclass
class VideoWork:
    """A video and its results so far."""

    video: Video
    path: Path
    clips: list[Clip]
    times_s: list[float]
    frames: list[FrameBoxes] = field(default_factory=list)
    failure: str | None = None


class _NonsenseError(Exception):
    """The result of a child process, which has read an untrusted file, does not fit the call."""


class ObjectCalls:
    """The calls of one run. Each is looked up in the work folder first."""

    def __init__(self, folder: Path, executor: Executor, progress: Progress) -> None:
        self.folder, self.executor, self.progress = folder, executor, progress

    def detect(self, watched: Sequence[VideoWork], detector: Detector) -> None:
        """Run a detector over the sampled frames of all videos."""

        def finish(call: Call, outcome: Any) -> Json:
            found = []
            for pts_s, picture in _pictures(outcome):
                objects = detector.detect(picture)
                found.append([pts_s, [[numbers_of(d.box), d.class_name, d.confidence] for d in objects]])
            return found

        def read(call: Call, found: Any) -> list[FrameBoxes]:
            return [
                FrameBoxes(
                    float(pts_s), [FoundBox(box_of(numbers), str(name), float(sure)) for numbers, name, sure in objects]
                )
                for pts_s, objects in found
            ]

        calls = [(w, call) for w in watched for call in frame_calls(w.path, w.times_s)]
        key = ["detect", detector.signature]
        self._run("finding objects", "reeltalk_build.construct.frames:decode_jpegs", calls, key, finish, read)
        for w, call in calls:
            if w.failure is None:
                w.frames += read(call, self._made(key, call, read))
        for w in watched:
            # Two times may fall on one frame; it counts once.
            w.frames = list({frame.pts_s: frame for frame in sorted(w.frames, key=lambda f: f.pts_s)}.values())

    def look(self, watched: Sequence[VideoWork]) -> None:
        """Describe the objects found. `looks` reads the results."""
        calls = [(w, call) for w in watched if w.failure is None for call in _look_calls(w)]
        self._run(
            "looking at objects",
            "reeltalk_build.construct.objects:describe_objects",
            calls,
            ["look"],
            lambda call, outcome: outcome,
            _read_looks,
        )

    def looks(self, w: VideoWork) -> list[DescribedFrame]:
        """Appearances of a video's frames and objects. Crops are large, so read one video at a time."""
        return [
            frame for call in _look_calls(w) for frame in _read_looks(call, self._made(["look"], call, _read_looks))
        ]

    def _run(
        self,
        what: str,
        function: str,
        calls: Sequence[tuple[VideoWork, Call]],
        key: list[str],
        finish: Callable[[Call, Any], Json],
        read: Callable[[Call, Any], object],
    ) -> None:
        waiting = [(w, call) for w, call in calls if self._read_cached(key, call, read) is None]
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

    def _read_cached(self, key: list[str], call: Call, read: Callable[[Call, Any], object]) -> Any | None:
        """The cached result of a call; None if there is none or it is damaged."""
        try:
            found = json.loads(self._path(key, call).read_bytes())
            _checked(read, call, found)
        except (OSError, ValueError, _NonsenseError):
            return None
        return found

    def _made(self, key: list[str], call: Call, read: Callable[[Call, Any], object]) -> Any:
        found = self._read_cached(key, call, read)
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
        frames = parse_frames(outcome)
    except BenchmarkError:
        raise _NonsenseError from None
    for frame in frames:
        try:
            yield frame.pts_s, pixels_of(frame.jpeg)
        except ValueError:
            raise _NonsenseError from None


def _look_calls(w: VideoWork) -> Iterator[Call]:
    for part in group_frames(w.frames, most_boxes=BOXES_A_CALL):
        frames = [{"pts_s": frame.pts_s, "boxes": [numbers_of(found.box) for found in frame.objects]} for frame in part]
        argument = {"path": str(w.path), "frames": frames}
        yield Call(argument, frame_limits(len(part)))


def _read_looks(call: Call, found: Any) -> list[DescribedFrame]:
    frames = [DescribedFrame.model_validate(frame) for frame in found]
    asked = [(frame["pts_s"], len(frame["boxes"])) for frame in call.argument["frames"]]
    if [(frame.pts_s, len(frame.objects)) for frame in frames] != asked:
        raise ValueError("other frames than were asked for")
    for frame in frames:
        unpack_appearance(frame.view)
        for seen in frame.objects:
            unpack_appearance(seen.appearance)
            base64.b64decode(seen.crop, validate=True)
    return frames


def numbers_of(box: Box) -> list[float]:
    """Left, top, right and bottom of a box, for JSON."""
    return [box.left, box.top, box.right, box.bottom]


def box_of(numbers: Sequence[float]) -> Box:
    """A box from left, top, right and bottom."""
    left, top, right, bottom = np.asarray(numbers, np.float64).tolist()
    return Box(left=left, top=top, right=right, bottom=bottom)
