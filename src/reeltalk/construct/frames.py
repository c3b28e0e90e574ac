"""Frames of a video as JPEG files, decoded in child processes that have limits."""

import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.errors import BenchmarkError
from reeltalk.parallel import Call, Executor, Failure, Limits
from reeltalk.video.encode import JPEG_QUALITY, jpeg, upright, within
from reeltalk.video.frames import frames_at
from reeltalk.video.stream import rgb

LONGEST_PX: Final = 1280
"""Frames are made smaller where their longer side has more pixels."""
FRAMES_A_CALL: Final = 60
"""A call's answer has a bound of 64 MiB; frames of this size stay far below it."""
CALL_S: Final = 120.0
SECONDS_A_FRAME: Final = 10.0
"""Time that a call may take for each frame: a long video whose index is damaged is decoded from its start."""
MEMORY_BYTES: Final = 1 << 30


class FrameJpeg(NamedTuple):
    """One frame as a picture file."""

    pts_s: float
    """Presentation time in seconds from the first frame."""
    jpeg: bytes


def read_frames(
    path: Path,
    times_s: Sequence[float],
    *,
    executor: Executor,
    rotation_deg: int = 0,
    longest_px: int = LONGEST_PX,
) -> list[FrameJpeg]:
    """The frames that a viewer sees at some moments, in their order.

    Args:
        path: The video.
        times_s: In rising order, seconds from the first frame.
        executor: Decodes, in parallel where there are many.
        rotation_deg: Clockwise, as the container says.
        longest_px: Frames are made smaller where their longer side has more pixels.

    Raises:
        BenchmarkError: The video cannot be decoded; the message says why.
    """
    calls = list(frame_calls(path, times_s, rotation_deg=rotation_deg, longest_px=longest_px))
    parts: dict[int, list[FrameJpeg]] = {}
    for index, outcome in executor.map("reeltalk.construct.frames:decode_jpegs", calls):
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"{path} cannot be decoded: {outcome}")
        parts[index] = parse_frames(outcome)
    return [frame for index in sorted(parts) for frame in parts[index]]


def frame_calls(
    path: Path, times_s: Sequence[float], *, rotation_deg: int = 0, longest_px: int = LONGEST_PX
) -> Iterator[Call]:
    """The calls of `decode_jpegs` that give the frames at some moments, a bounded number each."""
    for start in range(0, len(times_s), FRAMES_A_CALL):
        part = list(times_s[start : start + FRAMES_A_CALL])
        argument = {"path": str(path), "times_s": part, "rotation_deg": rotation_deg, "longest_px": longest_px}
        yield Call(argument, frame_limits(len(part)))


def frame_limits(frames: int) -> Limits:
    """What a call may use that decodes so many frames."""
    return Limits(wall_s=CALL_S + SECONDS_A_FRAME * frames, memory_bytes=MEMORY_BYTES)


def parse_frames(outcome: Any) -> list[FrameJpeg]:
    """The frames that a call of `decode_jpegs` answered with.

    Raises:
        BenchmarkError: The answer makes no sense: the process that gave it had read a stranger's file.
    """
    try:
        return [FrameJpeg(float(pts_s), base64.b64decode(text, validate=True)) for pts_s, text in outcome]
    except (TypeError, ValueError):
        raise BenchmarkError("the process that read a video gave no answer that makes sense") from None


def decode_jpegs(argument: dict[str, Any]) -> list[tuple[float, str]]:
    """Decode frames. Runs in a child process.

    Args:
        argument: `path`, `times_s`, `rotation_deg`, `longest_px`.

    Returns:
        Time and JPEG in base64 of each frame.
    """
    found = []
    for frame in frames_at(Path(argument["path"]), argument["times_s"]):
        picture = upright(within(rgb(frame.picture), argument["longest_px"]), argument["rotation_deg"])
        found.append((frame.pts_s, base64.b64encode(jpeg(picture, quality=JPEG_QUALITY)).decode()))
    return found
