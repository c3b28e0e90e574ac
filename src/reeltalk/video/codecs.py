"""Which codecs work on this machine, tried by encoding and decoding a tiny video. Runs in a child process.

A build of FFmpeg may list a codec that its libraries then refuse, so nothing is believed that was not done.
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
"""By codec, what may write it, the likelier first."""
QUIET: Final = {"libx265": {"x265-params": "log-level=none"}}
"""Options without which an encoder tells the terminal about itself; SVT-AV1 has a variable of the environment."""
FRAMES: Final = 5
SIDE_PX: Final = 128


def try_codec(argument: dict[str, Any]) -> dict[str, Any]:
    """Write a few frames in a codec and read them back.

    Args:
        argument: `codec`, a key of `ENCODERS`.

    Returns:
        `encoder`, what wrote them, or null; `decodes`, true or false, or null where nothing here writes a sample and
        a decoder is only listed; `why` where something failed.
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
