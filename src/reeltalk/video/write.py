"""Writes pictures as a video file, and joins videos end to end without encoding them again."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import av.error
import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.stream import Source, VideoError, open_video

OPTIONS: Final = {"preset": "superfast", "crf": "24", "threads": "1", "x264-params": "mbtree=1:rc-lookahead=10"}
"""One thread. With more, the bytes would depend on the machine. A look ahead halves the size of pictures whose
background stays, at little cost."""
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
                # OpenCV converts colours three times faster than FFmpeg.
                planes = cv2.cvtColor(picture, cv2.COLOR_RGB2YUV_I420)
                frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
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


TIME_BASE = Fraction(1, 90_000)
"""A time base for all parts; exact for 24, 25, 30 and 29.97 frames a second."""


def concatenate(parts: list[Path], target: Path) -> list[float]:
    """Write videos one after the other into an MP4 file, without sound.

    Args:
        parts: Videos with the same codec, picture size and coding parameters.
        target: The file to write.

    Returns:
        The start of each video in the new file, in seconds.

    Raises:
        VideoError: A video cannot be read, the videos differ in codec or size, or the target cannot be written.
    """
    starts: list[float] = []
    start = 0
    kind: tuple[str, int, int] | None = None
    parameters: bytes | None = None
    written: Any = None
    try:
        with av.open(str(target), "w", format="mp4", options={"movflags": "+faststart"}) as output:
            for part in parts:
                with open_video(part) as source:
                    found = (source.codec, source.stream.codec_context.width, source.stream.codec_context.height)
                    if kind is not None and found != kind:
                        raise VideoError(f"{part.name} is {_shown(found)} and the first video {_shown(kind)}")
                    # One header serves the whole file, so a part with other coding parameters could not be decoded.
                    if kind is not None and source.stream.codec_context.extradata != parameters:
                        raise VideoError(f"{part.name} was encoded with other settings than the first video")
                    kind, parameters = found, source.stream.codec_context.extradata
                    if written is None:
                        written = output.add_stream_from_template(source.stream, opaque=True)
                        written.time_base = TIME_BASE
                    starts.append(float(start * TIME_BASE))
                    start = _append(source, output, written, start)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        target.unlink(missing_ok=True)
        raise VideoError(f"the videos cannot be joined ({str(error)[:100]})") from None
    return starts


def _shown(kind: tuple[str, int, int]) -> str:
    return f"{kind[0]} of {kind[1]} × {kind[2]}"


def _append(source: Source, output: Any, written: Any, start: int) -> int:
    """Copy the packets of one video so that they begin at `start`. Returns the end."""
    packets = [p for p in source.container.demux(source.stream) if p.pts is not None and p.size > 0]
    if not packets:
        raise VideoError("a video without frames")
    first = min(packet.pts for packet in packets)
    scale = source.time_base / TIME_BASE
    step = round(1 / ((source.frame_rate or Fraction(25)) * TIME_BASE))
    end = start
    for packet in packets:
        packet.dts = start + round(((packet.pts if packet.dts is None else packet.dts) - first) * scale)
        packet.pts = start + round((packet.pts - first) * scale)
        length = round(packet.duration * scale) if packet.duration else step
        packet.duration = length
        end = max(end, packet.pts + length)
        packet.time_base = TIME_BASE
        packet.stream = written
        output.mux(packet)
    return end


def join(argument: dict[str, Any]) -> list[float]:
    """Run `concatenate` in a child process.

    Args:
        argument: `parts`, paths; `target`, a path.
    """
    return concatenate([Path(part) for part in argument["parts"]], Path(argument["target"]))
