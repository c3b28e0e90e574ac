"""Tells if browsers play a file, and when each frame appears on a browser's clock. Decodes at most one frame.

Found in Chromium by experiment: `currentTime` is the presentation time that FFmpeg gives a frame, edit lists applied.
The first frame of a file that starts at 5 s is at 5 s, not at 0. A file that starts before 0, or has frames after the
length in its header, is not played frame for frame. A seek shows the first frame whose own duration, as the container
states it, reaches past the requested time. MP4 gives frames the durations of their decoding order, so with B-frames at
a
variable rate a frame may hide the next one (Chromium 150).
"""

from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import av.error

from reeltalk.video.serving import REFUSED
from reeltalk.video.stream import Source, VideoError, open_video, rgb

MP4: Final = "video/mp4"
WEBM: Final = "video/webm"
MEDIA_TYPES: Final = {"mov,mp4,m4a,3gp,3g2,mj2": MP4, "matroska,webm": WEBM}
"""Media type by FFmpeg's name of the container. Matroska with WebM's codecs differs from WebM in one header word
only."""
SHALLOW: Final = frozenset({"yuv420p", "yuvj420p"})
DEEP: Final = SHALLOW | {"yuv420p10le"}
VIDEO: Final = {
    MP4: {"h264": SHALLOW, "vp9": DEEP, "av1": DEEP},
    WEBM: {"vp8": SHALLOW, "vp9": DEEP, "av1": DEEP},
}
"""Codecs and pixel formats that Chromium and Firefox decode without hardware support."""
AUDIO: Final = {MP4: frozenset({"aac", "mp3", "opus", "flac"}), WEBM: frozenset({"opus", "vorbis"})}
SHORTEST_LAST_S: Final = Fraction(1, 1000)
"""The last frame must last this long so that a seek can reach it."""
DECIMALS: Final = 6
"""Browsers count in whole microseconds."""


class Playable(NamedTuple):
    """How browsers play a file."""

    media_type: str | None
    """`video/mp4` or `video/webm`; None if browsers do not play the file."""
    why: str
    """Why browsers do not play it; empty if they do."""
    pts_s: tuple[float, ...]
    """When each frame appears, in seconds of the browser's `currentTime`, in rising order."""


def playable(path: Path) -> Playable:
    """Look at a file's headers and packets, and at its first frame.

    Raises:
        VideoError: The file is not a supported video, or its first frame cannot be decoded.
    """
    with open_video(path) as source:
        media_type = MEDIA_TYPES.get(source.container.format.name)
        why = _why_not(source, media_type)
        # A file that lost its middle still has headers, so a file whose first frame cannot be decoded is refused here.
        first = rgb(next(source.frames()).picture)
        assert first.size
    if why:
        return Playable(None, why, ())
    with open_video(path) as source:
        durations = _shown_packets(source)
        pts = sorted(durations)
        tick_s, length = source.time_base, source.container.duration
    if not pts:
        return Playable(None, "its frames have no presentation times", ())
    if pts[0] < 0:
        return Playable(None, "its first frame comes before time 0", ())
    # Chromium's clock stops at the length that FFmpeg reads, even if times start later. No seek gets past it.
    if length is None or pts[-1] * tick_s > Fraction(length, av.time_base) - SHORTEST_LAST_S:
        return Playable(None, "its last frame comes after the end that its header names", ())
    # The web page seeks to the middle of a frame.
    ends: list[Fraction] = [*map(Fraction, pts[2:]), Fraction(length, av.time_base) / tick_s]
    if any(2 * (a + durations[a]) >= b + end for a, b, end in zip(pts, pts[1:], ends, strict=False)):
        why = "browsers skip some of its frames: the file gives the frame before too long a duration"
        return Playable(None, why, ())
    times = dict.fromkeys(round(float(stamp * tick_s), DECIMALS) for stamp in pts)
    return Playable(media_type, "", tuple(times))


def check_playable(argument: dict[str, Any]) -> dict[str, Any]:
    """Run `playable` in a child process.

    Args:
        argument: `path`.

    Returns:
        `media_type`, `why` and `pts_s`; or `refused`.
    """
    try:
        return playable(Path(argument["path"]))._asdict()
    except VideoError as error:
        return {REFUSED: str(error)}


def _why_not(source: Source, media_type: str | None) -> str:
    if media_type is None:
        return f"browsers do not open {source.container.format.long_name or source.container.format.name} files"
    pixels = VIDEO[media_type].get(source.codec)
    kind = media_type.removeprefix("video/").upper()
    if pixels is None:
        return f"browsers do not play {source.codec} in {kind} files"
    pixel_format = source.stream.codec_context.pix_fmt or "unknown"
    if pixel_format not in pixels:
        return f"browsers do not play {source.codec} with pixels of format {pixel_format}"
    sound = next((s.codec_context.name for s in source.container.streams.audio if s.codec_context), None)
    # FFmpeg has two decoders of MP3 and reports the name of the one in use.
    if sound is not None and sound.removesuffix("float") not in AUDIO[media_type]:
        return f"browsers do not play sound of {sound} in {kind} files"
    return ""


def _shown_packets(source: Source) -> dict[int, int]:
    """Duration of each shown frame by time stamp; 0 if the container states none."""
    # In VP8, frames that only serve prediction have packets of their own.
    if source.codec == "vp8":
        return {frame.pts: 0 for frame in source.frames()}
    durations: dict[int, int] = {}
    try:
        for packet in source.container.demux(source.stream):
            # Frames that an edit list cuts off are decoded and not shown.
            if packet.size and packet.pts is not None and not packet.is_discard:
                durations[packet.pts] = packet.duration or 0
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise VideoError(f"its packets cannot be read ({str(error)[:80]})") from None
    return durations
