"""Writes pictures as a video file."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.stream import VideoError

OPTIONS: Final = {"preset": "veryfast", "crf": "22", "threads": "1", "tune": "animation"}
"""One thread. With more, the bytes would depend on the machine."""
KEY_FRAME_EVERY_S: Final = 4


def write_video(path: Path, pictures: Iterable[NDArray[np.uint8]], *, fps: int) -> int:
    """Encode pictures as H.264 in an MP4 file. The same pictures give the same bytes.

    Args:
        path: The file to write.
        pictures: (H, W, 3) uint8 RGB, all of the same even size.
        fps: Frames a second.

    Returns:
        The number of pictures.

    Raises:
        VideoError: There are no pictures, or the file cannot be written.
    """
    count = 0
    stream: Any = None
    try:
        with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"}) as output:
            for picture in pictures:
                if stream is None:
                    stream = output.add_stream("libx264", rate=fps, options=OPTIONS)
                    stream.height, stream.width = picture.shape[:2]
                    stream.pix_fmt = "yuv420p"
                    stream.codec_context.gop_size = KEY_FRAME_EVERY_S * fps
                    stream.time_base = stream.codec_context.time_base = Fraction(1, fps)
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
                frame.pts, frame.time_base = count, Fraction(1, fps)
                output.mux(stream.encode(frame))
                count += 1
            if stream is None:
                raise VideoError("a video needs at least one picture")
            output.mux(stream.encode(None))
    except (av.error.FFmpegError, OSError, ValueError) as error:
        path.unlink(missing_ok=True)
        raise VideoError(f"the video cannot be written ({str(error)[:100]})") from None
    return count
