"""Video playback: parse a video's address, and read its frames in the video's time from a separate process."""

import os
import re
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.parallel import Limits
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import MANIFEST
from reeltalk.store.tables import VIDEOS
from reeltalk_streaming.video.feed import Feed
from reeltalk_streaming.video.live import FRAME_HEADER, REFUSED

CAMERA_PATTERN: Final = re.compile(r"camera:(\d{1,2})")
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
RTSP: Final = ("rtsp", "rtsps")


@dataclass(frozen=True)
class VideoAddress:
    """A video to talk to."""

    shown: str
    """Name for people and logs, without a password."""
    argument: dict[str, Json]
    """The argument of `video.live.follow`."""
    live: bool
    """True for a camera or a live stream. These do not wait for the model."""


def video_address(text: str) -> VideoAddress:
    """Parse what a user typed: a file, `BENCHMARK/VIDEO`, `camera:N`, or an `rtsp://` or `rtsps://` address.

    Raises:
        BenchmarkError: The benchmark does not hold the video's file.
        InputError: There is no such file.
        SettingError: It is an address of another kind, or one without a host.
    """
    if camera := CAMERA_PATTERN.fullmatch(text):
        return VideoAddress(text, {"device": f"/dev/video{int(camera[1])}", "format": "v4l2"}, live=True)
    if text.startswith("camera:"):
        raise SettingError(f"{text!r} names no camera; give camera:0 for /dev/video0, camera:1 for /dev/video1")
    if SCHEME.match(text):
        return _camera_at(text)
    path = Path(text)
    if not os.path.exists(path):
        if (path.parent / MANIFEST).is_file():
            return _video_of(path.parent, path.name)
        raise InputError(
            "no such file", file=path, hint="give a video file, camera:0 for a webcam, or an rtsp:// address"
        )
    if path.is_dir():
        one = "a video of the benchmark, as" if (path / MANIFEST).is_file() else "one of the files in it, as"
        raise InputError("a folder is no video", file=path, hint=f"give {one} {path}/NAME")
    return VideoAddress(path.name, {"path": str(path.absolute())}, live=False)


def _video_of(folder: Path, name: str) -> VideoAddress:
    benchmark = Benchmark.open(folder)
    videos = {str(video.id): video for video in benchmark.read(VIDEOS)}
    if name not in videos:
        raise BenchmarkError(f"{folder} has no video {name!r}; its videos are {', '.join([*videos][:5]) or 'none'}")
    sha256 = videos[name].sha256
    path = benchmark.media.path(sha256) if sha256 else None
    if path is None or not path.is_file():
        raise BenchmarkError(f"{folder} does not hold the file of {name!r}; give it one with 'reeltalk attach'")
    return VideoAddress(name, {"path": str(path.absolute())}, live=False)


def _camera_at(text: str) -> VideoAddress:
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError as error:
        raise SettingError(f"the address makes no sense: {error}") from None
    if scheme not in RTSP:
        raise SettingError(
            f"{scheme}:// is not opened: a video is a file, camera:N, or an rtsp:// or rtsps:// address; download it, "
            "then give the file"
        )
    if not host:
        raise SettingError("the address names no host; give rtsp://HOST:PORT/PATH")
    if any(not character.isprintable() or character.isspace() for character in text):
        raise SettingError("the address holds spaces or control characters")
    host = f"[{host}]" if ":" in host else host
    shown = f"{scheme}://{host}{f':{port}' if port else ''}{parts.path}"
    return VideoAddress(shown, {"address": text}, live=True)


FOLLOW_FUNCTION: Final = "reeltalk_streaming.video.live:follow"
LIMITS: Final = Limits(wall_s=120.0, memory_bytes=2 << 30)
FRAMES_AHEAD: Final = 2
"""Frames of a file that are decoded before they are due."""


@dataclass(frozen=True)
class PlayedFrame:
    """A frame that is on the screen."""

    pts_s: float
    rgb: NDArray[np.uint8]
    """(H, W, 3)."""


class Playback:
    """Plays a video.

    A file waits for the model: no frame is skipped, and the clock stops while the file is held. A live video does not
    wait: a frame that was not taken before the next one arrives is lost, and `dropped` counts it.

    Args:
        address: The video to play.
        fps: Frames a second that are shown.
        speed: Speed of a file: 1 is normal, 2 is twice as fast, 0 is as fast as frames are taken.
        longest_side_px: Frames with a longer side above this are scaled down.
        limits: Limits of the decoding process.
    """

    def __init__(
        self,
        address: VideoAddress,
        *,
        fps: float = 1.0,
        speed: float = 1.0,
        longest_side_px: int | None = None,
        limits: Limits = LIMITS,
    ) -> None:
        self.address, self.dropped = address, 0
        self._speed = speed
        self._frames: deque[PlayedFrame] = deque()
        self._changed = threading.Condition()
        self._ended, self._closed = False, False
        self._problem: str | None = None
        self._held: set[str] = set()
        self._played_s = 0.0
        self._since: float | None = None
        self._last_s: float | None = None
        argument = address.argument | {"fps": fps, "longest_side_px": longest_side_px}
        self._feed = Feed(FOLLOW_FUNCTION, argument, limits)
        self._reader = threading.Thread(target=self._read, name="watching", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def live(self) -> bool:
        """True for a camera or a live stream, which does not wait."""
        return self.address.live

    @property
    def ended(self) -> bool:
        """True after the last frame was taken."""
        with self._changed:
            return self._ended and not self._frames

    @property
    def now_s(self) -> float:
        """The video's clock, in seconds from its first frame."""
        with self._changed:
            return self._now_s()

    def upcoming(self, wait_s: float) -> PlayedFrame | None:
        """The next frame, once it is on the screen. It stays the next frame until it is taken.

        Returns:
            None if its time has not come yet, the video is held, or there are no more frames.

        Raises:
            InputError: The video cannot be read, or the camera is gone. Earlier frames were delivered.
        """
        deadline = time.monotonic() + wait_s
        with self._changed:
            while True:
                if self._frames:
                    self._begin()
                    due_s = self._due_in_s(self._frames[0])
                    if due_s <= 0:
                        return self._frames[0]
                elif self._ended:
                    if self._problem is not None:
                        raise InputError(self._problem, file=self.address.shown, hint=self._hint())
                    return None
                else:
                    due_s = wait_s
                left_s = deadline - time.monotonic()
                if left_s <= 0:
                    return None
                self._changed.wait(min(left_s, due_s))

    def take(self, frame: PlayedFrame) -> bool:
        """Take a frame to look at it.

        Returns:
            False if a newer frame has replaced it. The frame is then counted as dropped.
        """
        with self._changed:
            if not self._frames or self._frames[0] is not frame:
                return False
            self._frames.popleft()
            if self._speed == 0 and not self.live:
                self._played_s = max(self._played_s, frame.pts_s)
            self._changed.notify_all()
            return True

    def hold(self, why: str) -> None:
        """Stop the clock until `go_on` is called for the same reason.

        A live video continues, but its frames are not seen.
        """
        with self._changed:
            if not self.live:
                self._played_s, self._since = self._now_s(), None
            self._held.add(why)

    def go_on(self, why: str) -> None:
        """Start the clock again, unless it is held for another reason."""
        with self._changed:
            self._held.discard(why)
            if self.live:
                self._frames.clear()
            self._changed.notify_all()

    def close(self) -> None:
        """End the process that decodes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._feed.stop()
        self._reader.join()
        self._feed.close()

    def _begin(self) -> None:
        if self._since is None and (self.live or not self._held):
            self._since = time.monotonic()

    def _now_s(self) -> float:
        if self._since is None:
            return self._played_s
        return self._played_s + (time.monotonic() - self._since) * (1.0 if self.live else self._speed)

    def _due_in_s(self, frame: PlayedFrame) -> float:
        if self._held:
            return 3600.0
        if self.live or self._speed == 0:
            return 0.0
        return (frame.pts_s - self._now_s()) / self._speed

    def _read(self) -> None:
        for block in self._feed:
            if block.startswith(REFUSED):
                self._problem = block[len(REFUSED) :].decode(errors="replace")
                break
            frame = _frame(block)
            with self._changed:
                if frame is None or (self._last_s is not None and frame.pts_s <= self._last_s):
                    self._problem = "what is read from it makes no sense"
                    break
                self._last_s = frame.pts_s
                if self.live:
                    # The newest frame wins. Frames that arrive while the video is held are not seen and not counted.
                    self.dropped += len(self._frames) if not self._held else 0
                    self._frames.clear()
                self._changed.wait_for(lambda: len(self._frames) < FRAMES_AHEAD or self._closed)
                self._frames.append(frame)
                self._changed.notify_all()
        with self._changed:
            failure = self._feed.failure
            self._problem = self._problem or (None if failure is None or self._closed else str(failure))
            self._ended = True
            self._changed.notify_all()

    def _hint(self) -> str:
        if "device" in self.address.argument:
            return "check that the camera is plugged in, free, and that you may read it (group video)"
        if "address" in self.address.argument:
            return "check the address and the password; the camera must send RTP over the RTSP connection (TCP)"
        return "convert it, as with ffmpeg, or choose another file"


def _frame(block: bytes) -> PlayedFrame | None:
    """Read a frame from the bytes of the child process; None if they are malformed."""
    if len(block) < FRAME_HEADER.size:
        return None
    pts_s, height, width = FRAME_HEADER.unpack_from(block)
    if not 0 <= pts_s < 1e9 or height * width == 0 or len(block) != FRAME_HEADER.size + height * width * 3:
        return None
    return PlayedFrame(
        pts_s, np.frombuffer(bytearray(block), np.uint8, offset=FRAME_HEADER.size).reshape(height, width, 3)
    )
