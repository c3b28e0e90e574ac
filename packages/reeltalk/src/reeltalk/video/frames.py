"""Reads the frames that a viewer sees at given times, by seeking in the file."""

import base64
from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.encode import shrink_to
from reeltalk.video.picture import Look, Pixels, as_shown, black
from reeltalk.video.stream import Frame, Source, VideoError, open_video

SEEK_AHEAD_S: Final = 4.0
"""The reader seeks a frame that is further ahead than this. It reaches a nearer one by decoding, which is cheaper."""
DECODER_DELAY: Final = 8
"""How many frames a decoder may hold back: damage is reported that much earlier than its gap appears."""
SPOILS_S: Final = 0.5
"""After damage that took longer than this, pictures are made from lost ones, up to the next key frame."""
MARGIN_S: Final = 1.0
"""How far before a time to seek. Containers index by decoding time, which runs ahead of presentation time."""


class FrameAt(NamedTuple):
    """The frame that is on the screen at a moment."""

    pts_s: float
    """When it appears on the clock of a player, in seconds."""
    picture: av.VideoFrame
    stands_in: bool
    """True if later packets could not be decoded, so that this frame may stand in for a lost one."""
    look: Look
    spoilt: bool = False
    """True if it was made from pictures that could not be decoded, so that it may show what the video does not."""

    @property
    def pixels(self) -> Pixels:
        """(H, W, 3) uint8 RGB, as a player shows it."""
        return as_shown(self.picture, self.look)


def frames_at(path: Path, times_s: Iterable[float]) -> Iterator[FrameAt]:
    """The frame on the screen at each time: the last frame whose presentation time is not after it.

    Args:
        path: The video.
        times_s: In rising order, in seconds on the clock of a player. A time after the end gives the last frame. If
            the sound begins before the pictures, a time before the first of them gives a black one, as players show.

    Yields:
        One frame for each time. Two times may give the same frame.

    Raises:
        VideoError: The file cannot be decoded.
        ValueError: The times do not rise, or one is negative.
    """
    with open_video(path) as source:
        reader = _Reader(source)
        before = 0.0
        for time_s in times_s:
            if time_s < before:
                raise ValueError(f"times must rise and not be negative, got {time_s:g} after {before:g}")
            before = time_s
            yield reader.at(time_s)


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        first = source.next_frame()
        if first is None:
            raise VideoError("no frame can be decoded")
        self.start, self.shown = first.pts, first
        self.damaged = deque([0], maxlen=DECODER_DELAY)
        self.spoilt, self.next_spoilt = False, False
        self.next = self._read(first)

    def at(self, time_s: float) -> FrameAt:
        # A tiny amount is added, so that a time that was rounded earlier still falls on its frame.
        target = self.source.zero + int((Fraction(time_s) + Fraction(1, 1_000_000)) / self.source.time_base)
        if target < self.start and self.source.seconds(self.start):
            return FrameAt(0.0, black(self.source.look), False, self.source.look)
        far = self.next is not None and target - self.next.pts > SEEK_AHEAD_S / self.source.time_base
        if far and not self.source.joined:
            self._seek(target)
        while self.next is not None and self.next.pts <= target:
            self.shown, self.spoilt = self.next, self.next_spoilt
            self.next = self._read(self.shown)
        stands_in = self.source.damaged > self.damaged[0]
        return FrameAt(self.shown.pts_s, self.shown.picture, stands_in, self.source.look, self.spoilt)

    def _seek(self, target: int) -> None:
        wanted, margin = target, int(MARGIN_S / self.source.time_base)
        while wanted > self.start:
            if self._begin(max(self.start, wanted - margin), target):
                return
            wanted, margin = wanted - 8 * margin, 2 * margin
        # The index leads nowhere: decode from the start. If you ask a transport stream for its first frame, it gives
        # the key frame after it.
        if not self._begin(self.start - int(MARGIN_S / self.source.time_base), target):
            raise VideoError("cannot find the way back to a frame before a moment")

    def _begin(self, pts: int, target: int) -> bool:
        """Go on from a time stamp; False if that leads beyond the target."""
        self.source.seek(pts)
        found = self._read(None)
        if found is None or found.pts > target:
            return False
        self.shown, self.spoilt = found, self.next_spoilt
        self.next = self._read(found)
        return True

    def _read(self, before: Frame | None) -> Frame | None:
        self.damaged.append(self.source.damaged)
        found = self.source.next_frame()
        if before is None or found is None or found.picture.key_frame:
            self.next_spoilt = False
        elif self.source.damaged > self.damaged[0] and found.pts_s - before.pts_s > SPOILS_S:
            self.next_spoilt = True
        return found


DECODE_FUNCTION: Final = "reeltalk.video.frames:decode_whole_frames"
"""Name of the function for an executor."""


def decode_whole_frames(argument: dict[str, Any]) -> dict[str, Any]:
    """Decode frames. Runs in a child process.

    Args:
        argument: `path`, `times_s` in rising order, and `longest_px`; pictures with a longer side are shrunk.

    Returns:
        `times_s` of the frames, `shape` (T, H, W, 3) and `pixels` as base64 of uint8 RGB.
    """
    found = [
        (frame.pts_s, shrink_to(frame.pixels, argument["longest_px"]))
        for frame in frames_at(Path(argument["path"]), argument["times_s"])
    ]
    pixels = np.stack([picture for _, picture in found])
    return {
        "times_s": [pts_s for pts_s, _ in found],
        "shape": list(pixels.shape),
        "pixels": base64.b64encode(pixels.tobytes()).decode(),
    }


def frame_pixels(answer: dict[str, Any]) -> NDArray[np.uint8]:
    """(T, H, W, 3) pixels from the result of `decode_whole_frames`."""
    return np.frombuffer(base64.b64decode(answer["pixels"]), np.uint8).reshape(answer["shape"])
