"""Reads frames of a file, a webcam or an RTSP camera while it plays. Runs in a child process, as all decoding does.

A file is opened from itself alone, as everywhere. A webcam is read through Video4Linux. An RTSP camera is read through
one TCP connection to the address that the user typed. Media come interleaved on it, so the camera cannot make us open
another connection. If the camera redirects us to another address, we disconnect.
"""

import contextlib
import logging
import math
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import av
import av.error
import av.logging
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.serving import resize_for_model
from reeltalk.video.stream import Frame, Source, VideoError, describe, open_video

FRAME_HEADER: Final = struct.Struct(">dHH")
"""Header of a frame: presentation time in seconds, height, width."""
REFUSED: Final = b"refused "
"""Begins a block that gives the reason why there is no frame."""
HAIR_S: Final = 1e-6
CONNECT_S: Final = 10.0
SILENCE_S: Final = 15.0
"""A camera that sends nothing for this long counts as disconnected."""
NOT_LISTED: Final = "not on whitelist"
"""FFmpeg's message when a camera redirects to another address."""


def follow(argument: dict[str, Any]) -> Iterator[bytes]:
    """Frames at a fixed rate, one block each: `FRAME_HEADER`, then (H, W, 3) uint8 RGB; or a block with `REFUSED`.

    For a file, these are the frames on the screen at each time step. For a live source, each is the first frame that
    arrived after its time step, with the time of arrival, because the clocks of cameras jump.

    Args:
        argument: `path`, or `device` with `format`, or `address`; `fps`; `longest_side_px` or null.
    """
    try:
        if "path" in argument:
            frames = _of_file(Path(argument["path"]), argument["fps"])
        elif "device" in argument:
            frames = _live(_open_device(argument["device"], argument["format"]), argument["fps"])
        else:
            frames = _live(_open_address(argument["address"]), argument["fps"])
        for pts_s, pixels in frames:
            picture = resize_for_model(pixels, argument["longest_side_px"], None)
            height, width = picture.shape[:2]
            yield FRAME_HEADER.pack(pts_s, height, width) + picture.tobytes()
    except VideoError as error:
        yield REFUSED + str(error).encode()


def _of_file(path: Path, fps: float) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    with open_video(path) as source:
        shown: Frame | None = None
        moment = 0
        for frame in source.frames():
            # The frame before was on the screen until this one.
            last = math.ceil((frame.pts_s - HAIR_S) * fps) - 1
            if shown is not None and last >= moment:
                yield shown.pts_s, source.shown(shown.picture)
                moment = last + 1
            # If the times of a file go back, nothing new is shown until they have caught up.
            if shown is None or frame.pts_s > shown.pts_s:
                shown = frame
        if shown is not None and (moment == 0 or shown.pts_s + HAIR_S >= moment / fps):
            yield shown.pts_s, source.shown(shown.picture)


def _live(opened: "contextlib.AbstractContextManager[Any]", fps: float) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    with opened as container:
        if not container.streams.video:
            raise VideoError("it has no video stream")
        began_s: float | None = None
        moment = 0
        source = Source(container)
        for frame in source.frames():
            now_s = time.monotonic()
            began_s = now_s if began_s is None else began_s
            if now_s - began_s >= moment / fps:
                yield now_s - began_s, source.shown(frame.picture)
                moment = math.floor((now_s - began_s) * fps) + 1


@contextlib.contextmanager
def _open_device(device: str, format: str) -> Iterator[Any]:
    try:
        # No protocol is allowed: a driver reads the device.
        container = av.open(device, format=format, options={"protocol_whitelist": "none"})
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise VideoError(f"the camera cannot be opened ({describe(error)})") from None
    with container:
        yield container


@contextlib.contextmanager
def _open_address(address: str) -> Iterator[Any]:
    scheme = address.partition(":")[0].lower()
    options = {
        # `rtsp` itself is left out: the typed address still opens, and an address that a camera names does not.
        "protocol_whitelist": "tls,tcp" if scheme == "rtsps" else "tcp",
        "format_whitelist": "rtsp",
        "rtsp_transport": "tcp",
        "allowed_media_types": "video",
        "analyzeduration": "1000000",
        "timeout": str(round(SILENCE_S * 1e6)),
    }
    # Kept for the error message, not printed.
    av.logging.set_level(av.logging.ERROR)
    logging.getLogger("libav").addHandler(logging.NullHandler())
    logging.getLogger("libav").propagate = False
    try:
        container = av.open(address, format="rtsp", options=options, timeout=(CONNECT_S, SILENCE_S))
    except (av.error.FFmpegError, ValueError, OSError) as error:
        if NOT_LISTED in _logged_message(error):
            raise VideoError("it sends us to another address, and only the one that was typed is opened") from None
        raise VideoError(f"the address cannot be opened ({describe(error)})") from None
    with container:
        yield container


def _logged_message(error: Exception) -> str:
    log = getattr(error, "log", None)
    return str(log[2]) if log else ""
