"""Frames of a video as JPEG files, decoded in child processes with limits."""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.video.encode import JPEG_QUALITY, jpeg, shrink_to
from reeltalk.video.frames import frames_at

LONGEST_PX: Final = 1280
"""Larger frames are scaled down so that the longer side has this many pixels."""
FRAMES_A_CALL: Final = 60
"""Most frames in one call. The result of a call may have 64 MiB; this many frames need much less."""
CALL_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time limit per frame: a long video with a damaged index is decoded from its start."""
MEMORY_BYTES: Final = 1 << 30


class FrameJpeg(NamedTuple):
    """One frame as a JPEG file."""

    pts_s: float
    """When it appears on the clock of a player, in seconds."""
    jpeg: bytes


def read_frames(
    path: Path, times_s: Sequence[float], *, executor: Executor, longest_px: int = LONGEST_PX
) -> list[FrameJpeg]:
    """The frames that a viewer sees at some ascending times, in order; `executor` decodes many in parallel.

    Raises:
        BenchmarkError: The video cannot be decoded; the message says why.
    """
    calls = list(frame_calls(path, times_s, longest_px=longest_px))
    parts: dict[int, list[FrameJpeg]] = {}
    for index, outcome in executor.map("reeltalk_build.construct.frames:decode_jpegs", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"{path} cannot be decoded: {outcome}")
        parts[index] = parse_frames(outcome)
    return [frame for index in sorted(parts) for frame in parts[index]]


def frame_calls(path: Path, times_s: Sequence[float], *, longest_px: int = LONGEST_PX) -> Iterator[Call]:
    """Calls of `decode_jpegs` for the frames at some times, with a bounded number of frames each."""
    for start in range(0, len(times_s), FRAMES_A_CALL):
        part = list(times_s[start : start + FRAMES_A_CALL])
        argument = {"path": str(path), "times_s": part, "longest_px": longest_px}
        yield Call(argument, frame_limits(len(part)))


def frame_limits(frames: int) -> Limits:
    """Time and memory limits of a call that decodes this many frames."""
    return Limits(wall_s=CALL_S + SECONDS_A_FRAME * frames, memory_bytes=MEMORY_BYTES)


def parse_frames(outcome: Any) -> list[FrameJpeg]:
    """The frames in the result of `decode_jpegs`. It is checked, since the child process has read an untrusted file.

    Raises:
        BenchmarkError: The result is malformed.
    """
    try:
        return [FrameJpeg(float(pts_s), base64.b64decode(text, validate=True)) for pts_s, text in outcome]
    except (TypeError, ValueError):
        raise BenchmarkError("the process that read a video gave no answer that makes sense") from None


def decode_jpegs(argument: dict[str, Any]) -> list[tuple[float, str]]:
    """Decode frames. Runs in a child process.

    Returns:
        Time and JPEG in base64 of each frame.
    """
    found = []
    for frame in frames_at(Path(argument["path"]), argument["times_s"]):
        picture = shrink_to(frame.pixels, argument["longest_px"])
        found.append((frame.pts_s, base64.b64encode(jpeg(picture, quality=JPEG_QUALITY)).decode()))
    return found
