"""Calls of child processes that find and describe the objects of videos. Results are cached in the work folder."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk._version import __version__
from reeltalk.construct.frames import frame_calls, frame_limits, parse_frames
from reeltalk.construct.objects import DescribedFrame, FoundBox, FrameBoxes, group_frames, unpack_appearance
from reeltalk.errors import BenchmarkError
from reeltalk.inference.detection import Detector
from reeltalk.parallel import Call, Executor, Failure
from reeltalk.progress import Progress
from reeltalk.schema.knowledge import Box
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import Json
from reeltalk.store.atomic import write_bytes
from reeltalk.video.encode import pixels_of

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

    @property
    def rotation_deg(self) -> int:
        """Rotation of the video in degrees, clockwise."""
        return self.video.encoding.rotation_deg if self.video.encoding else 0


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

        calls = [(w, call) for w in watched for call in frame_calls(w.path, w.times_s, rotation_deg=w.rotation_deg)]
        key = ["detect", detector.signature]
        self._run("finding objects", "reeltalk.construct.frames:decode_jpegs", calls, key, finish, read)
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
            "reeltalk.construct.objects:describe_objects",
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
        """The cached result of a call; None if there is none or it is damaged."""
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
        argument = {"path": str(w.path), "rotation_deg": w.rotation_deg, "frames": frames}
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
