"""Writes pictures as a video file, and joins videos end to end without encoding them again."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import av
import av.error
import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.stream import VideoError

OPTIONS: Final = {
    "preset": "superfast",
    "crf": "24",
    "threads": "1",
    "bf": "0",
    "x264-params": "mbtree=1:rc-lookahead=10",
}
"""One thread. With more, the bytes would depend on the machine. A look ahead halves the size of pictures whose
background stays, at little cost; with B-frames it gives other bytes from call to call (x264 in PyAV 18.1)."""
KEY_FRAME_EVERY_S: Final = 4


CAPTION_TICKS: Final = 1000
"""Ticks a second of the track of captions."""
CAPTION_STYLE: Final = "\n".join(
    [
        "[Script Info]",
        "ScriptType: v4.00+",
        "[V4+ Styles]",
        "Format: Name, Fontname, Fontsize, PrimaryColour, SecondaryColour, OutlineColour, BackColour, Bold, Italic, "
        "Underline, StrikeOut, ScaleX, ScaleY, Spacing, Angle, BorderStyle, Outline, Shadow, Alignment, MarginL, "
        "MarginR, MarginV, Encoding",
        "Style: Default,Arial,16,&Hffffff,&Hffffff,&H0,&H0,0,0,0,0,100,100,0,0,1,1,0,2,10,10,10,0",
        "[Events]",
        "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text",
        "",
    ]
).encode()
"""What FFmpeg needs to begin a track of captions: one style in the format of SubStation Alpha."""


@dataclass(frozen=True)
class Caption:
    """Words that are shown below a video by players that show captions."""

    start_s: float
    end_s: float
    words: str


def write_video(
    path: Path, pictures: Iterable[NDArray[np.uint8]], *, fps: int, captions: Sequence[Caption] = ()
) -> int:
    """Encode pictures as H.264 in an MP4 file. The same pictures give the same bytes.

    Args:
        path: The file to write.
        pictures: (H, W, 3) uint8 RGB, all of the same even size.
        fps: Frames a second.
        captions: Go into a text track of their own (3GPP Timed Text) if there are any. Where two overlap in time, both
            are shown, one below the other.

    Returns:
        The number of pictures.

    Raises:
        VideoError: There are no pictures, or the file cannot be written.
    """
    count = 0
    stream: Any = None
    track: Any = None
    waiting = deque(_apart(captions))
    try:
        with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart", "fflags": "+bitexact"}) as output:
            for picture in pictures:
                if stream is None:
                    stream = output.add_stream("libx264", rate=fps, options=OPTIONS)
                    stream.height, stream.width = picture.shape[:2]
                    stream.pix_fmt = "yuv420p"
                    stream.codec_context.gop_size = KEY_FRAME_EVERY_S * fps
                    stream.time_base = stream.codec_context.time_base = Fraction(1, fps)
                    if waiting:
                        track = output.add_stream("mov_text")
                        track.codec_context.subtitle_header = CAPTION_STYLE
                        track.time_base = track.codec_context.time_base = Fraction(1, CAPTION_TICKS)
                # OpenCV converts colours three times faster than FFmpeg.
                planes = cv2.cvtColor(picture, cv2.COLOR_RGB2YUV_I420)
                frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
                frame.pts, frame.time_base = count, Fraction(1, fps)
                output.mux(stream.encode(frame))
                count += 1
                while waiting and waiting[0].start_s < count / fps:
                    output.mux(_caption_packet(waiting.popleft(), track))
            if stream is None:
                raise VideoError("a video needs at least one picture")
            output.mux(stream.encode(None))
    except (av.error.FFmpegError, OSError, ValueError) as error:
        path.unlink(missing_ok=True)
        raise VideoError(f"the video cannot be written ({str(error)[:100]})") from None
    return count


def _apart(captions: Sequence[Caption]) -> list[Caption]:
    """Captions of which no two overlap in time, in order."""
    edges = sorted({round(s, 3) for caption in captions for s in (caption.start_s, caption.end_s)})
    found: list[Caption] = []
    for start_s, end_s in pairwise(edges):
        words = "\n".join(c.words for c in captions if c.start_s < end_s - 1e-4 and c.end_s > start_s + 1e-4)
        if not words:
            continue
        if found and found[-1].words == words and found[-1].end_s == start_s:
            found[-1] = Caption(found[-1].start_s, end_s, words)
        else:
            found.append(Caption(start_s, end_s, words))
    return found


def _caption_packet(caption: Caption, track: Any) -> Any:
    # 3GPP Timed Text: two bytes with the length, then the text.
    text = caption.words.encode()
    packet = av.Packet(len(text).to_bytes(2, "big") + text)
    packet.pts = packet.dts = round(caption.start_s * CAPTION_TICKS)
    packet.duration = round((caption.end_s - caption.start_s) * CAPTION_TICKS)
    packet.time_base = Fraction(1, CAPTION_TICKS)
    packet.stream = track
    return packet
