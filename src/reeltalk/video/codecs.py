"""Tests which codecs work on this machine by encoding and decoding a tiny video. Runs in a child process.

A build of FFmpeg may list a codec that its libraries then refuse. Therefore only codecs that were tried are reported.
"""

import io
import os
from typing import Any, Final

import av
import av.error
import numpy as np

ENCODERS: Final = {
    "h264": ("libx264",),
    "hevc": ("libx265",),
    "vp8": ("libvpx",),
    "vp9": ("libvpx-vp9",),
    "av1": ("libsvtav1", "libaom-av1", "librav1e"),
    "mpeg4": ("mpeg4",),
    "mpeg2video": ("mpeg2video",),
}
"""Encoders for each codec, the most likely one first."""
QUIET: Final = {"libx265": {"x265-params": "log-level=none"}}
"""Options that stop an encoder from printing to the terminal; SVT-AV1 uses an environment variable."""
FRAMES: Final = 5
SIDE_PX: Final = 128


def try_codec(argument: dict[str, Any]) -> dict[str, Any]:
    """Write a few frames in a codec and read them back.

    Args:
        argument: `codec`, a key of `ENCODERS`.

    Returns:
        `encoder`, the encoder that wrote the frames, or null; `decodes`, true or false, or null if nothing here can
        write a sample and a decoder is only listed; `why`, the reason of a failure.
    """
    os.environ.setdefault("SVT_LOG", "0")
    codec = argument["codec"]
    why = ""
    for encoder in ENCODERS[codec]:
        try:
            sample = _encoded(encoder)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            why = f"{encoder}: {error}"[:200]
            continue
        try:
            frames = _decoded(sample)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            return {"encoder": encoder, "decodes": False, "why": str(error)[:200]}
        return {"encoder": encoder, "decodes": frames == FRAMES, "why": f"{frames} of {FRAMES} frames came back"}
    try:
        av.codec.Codec(codec, "r")
    except ValueError as error:
        return {"encoder": None, "decodes": False, "why": str(error)[:200]}
    return {"encoder": None, "decodes": None, "why": why}


def _encoded(encoder: str) -> bytes:
    av.codec.Codec(encoder, "w")
    written = io.BytesIO()
    with av.open(written, "w", format="matroska") as output:
        stream: Any = output.add_stream(encoder, rate=25, options=QUIET.get(encoder, {}))
        stream.width = stream.height = SIDE_PX
        stream.pix_fmt = "yuv420p"
        for number in range(FRAMES):
            picture = np.full((SIDE_PX, SIDE_PX, 3), 40 * number, np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")))
        output.mux(stream.encode(None))
    return written.getvalue()


def _decoded(sample: bytes) -> int:
    container: Any
    with av.open(io.BytesIO(sample)) as container:
        return len(list(container.decode(video=0)))
