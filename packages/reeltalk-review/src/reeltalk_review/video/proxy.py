"""Tells if browsers play a file, and makes a proxy that they play: H.264 in MP4.

Every frame of a proxy has the time that it has in the video, so statements about a time in the video hold for the
proxy. Its pictures are those of `reeltalk.video.picture`, with a longer side of at most 1280 pixels. A key frame comes
every second, so that a seek decodes little.

The clock of browsers was found in Chromium by experiment: `currentTime` is the presentation time that FFmpeg gives a
frame, edit lists applied. The first frame of a file that starts at 5 s is at 5 s, not at 0. A file that starts before
0, or has frames after the length in its header, is not played frame for frame. A seek shows the first frame whose own
duration, as the container states it, reaches past the requested time. MP4 gives frames the durations of their decoding
order, so with B-frames at a variable rate a frame may hide the next one (Chromium 150).
"""

import contextlib
import itertools
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import av.error
from av.video.frame import PictureType
from av.video.reformatter import ColorRange

from reeltalk.video.picture import HDR, Look, black, state_colours
from reeltalk.video.serving import REFUSED, UNWRITABLE
from reeltalk.video.stream import TARGETS_FAULT, Source, VideoError, open_video

MP4: Final = "video/mp4"
WEBM: Final = "video/webm"
MEDIA_TYPES: Final = {"mov,mp4,m4a,3gp,3g2,mj2": MP4, "matroska,webm": WEBM}
"""Media type by FFmpeg's name of the container. Matroska with WebM's codecs differs from WebM in one header word
only."""
EIGHT_BIT: Final = frozenset({"yuv420p", "yuvj420p"})
TEN_BIT: Final = EIGHT_BIT | {"yuv420p10le"}
VIDEO_CODECS: Final = {
    MP4: {"h264": EIGHT_BIT, "vp9": TEN_BIT, "av1": TEN_BIT},
    WEBM: {"vp8": EIGHT_BIT, "vp9": TEN_BIT, "av1": TEN_BIT},
}
"""Codecs and pixel formats that Chromium and Firefox decode without hardware support."""
AUDIO_CODECS: Final = {MP4: frozenset({"aac", "mp3", "opus", "flac"}), WEBM: frozenset({"opus", "vorbis"})}
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
        first = next(source.frames()).picture
        why = why or _why_picture(source, first)
        begins_s = float(source.zero * source.time_base)
    if why:
        return Playable(None, why, ())
    with open_video(path) as again:
        durations, are_hidden = _shown_packets(again)
        pts = sorted(durations)
        tick_s, length, begins = again.time_base, again.container.duration, again.container.start_time or 0
    if not pts:
        return Playable(None, "its frames have no presentation times", ())
    if pts[0] < 0:
        return Playable(None, "its first frame comes before time 0", ())
    if are_hidden:
        return Playable(None, "Firefox shows frames that an edit list hides", ())
    # Firefox's clock is 0 where picture or sound begins. Half a frame of difference leads to the same frames.
    if 2 * Fraction(begins, av.time_base) > (pts[1] - pts[0] if len(pts) > 1 else 0) * tick_s:
        return Playable(None, "it begins late, which Firefox's clock does not count", ())
    # Chromium's clock stops at the length that FFmpeg reads, even if times start later. No seek gets past it.
    if length is None or pts[-1] * tick_s > Fraction(length, av.time_base) - SHORTEST_LAST_S:
        return Playable(None, "its last frame comes after the end that its header names", ())
    # The web page seeks to the middle of a frame.
    ends: list[Fraction] = [*map(Fraction, pts[2:]), Fraction(length, av.time_base) / tick_s]
    if any(2 * (a + durations[a]) >= b + end for a, b, end in zip(pts, pts[1:], ends, strict=False)):
        why = "browsers skip some of its frames: the file gives the frame before too long a duration"
        return Playable(None, why, ())
    times = dict.fromkeys(round(begins_s + source.seconds(stamp), DECIMALS) for stamp in pts)
    return Playable(media_type, "", tuple(times))


def _why_not(source: Source, media_type: str | None) -> str:
    if media_type is None:
        return f"browsers do not open {source.container.format.long_name or source.container.format.name} files"
    pixels = VIDEO_CODECS[media_type].get(source.codec)
    kind = media_type.removeprefix("video/").upper()
    if pixels is None:
        return f"browsers do not play {source.codec} in {kind} files"
    pixel_format = source.stream.codec_context.pix_fmt or "unknown"
    if pixel_format not in pixels:
        return f"browsers do not play {source.codec} with pixels of format {pixel_format}"
    sound = next((s.codec_context.name for s in source.container.streams.audio if s.codec_context), None)
    # FFmpeg has two decoders of MP3 and reports the name of the one in use.
    if sound is not None and sound.removesuffix("float") not in AUDIO_CODECS[media_type]:
        return f"browsers do not play sound of {sound} in {kind} files"
    return ""


def _why_picture(source: Source, first: av.VideoFrame) -> str:
    if first.color_trc in HDR:
        return "browsers show HDR in colours of their own"
    if first.interlaced_frame:
        return "browsers show both of its half pictures at once"
    if source.look.mirrored:
        return "not all browsers mirror it"
    if source.stream.index != source.container.streams.video[0].index:
        return "browsers show another of its streams"
    if source.seconds(first.pts or 0):
        return "its pictures begin after its sound"
    return ""


def _shown_packets(source: Source) -> tuple[dict[int, int], bool]:
    """Duration of each shown frame by time stamp; 0 if the container states none. And whether others are hidden."""
    # In VP8, frames that only serve prediction have packets of their own.
    if source.codec == "vp8":
        return {frame.pts: 0 for frame in source.frames()}, False
    durations: dict[int, int] = {}
    are_hidden = False
    try:
        for packet in source.container.demux(source.stream):
            # Frames that an edit list cuts off are decoded and not shown.
            if packet.size and packet.pts is not None and not packet.is_discard:
                durations[packet.pts] = packet.duration or 0
            are_hidden = are_hidden or bool(packet.size and packet.is_discard)
    except (av.error.FFmpegError, ValueError, OSError) as error:
        raise VideoError(f"its packets cannot be read ({str(error)[:80]})") from None
    return durations, are_hidden


LONGEST_SIDE_PX: Final = 1280
KEY_FRAME_EVERY_S: Final = 1
SOUND_AHEAD_S: Final = 0.5
"""Sound is written this far before the picture, so that video players find both near each other."""
SOUND_HZ: Final = 48_000
ENCODER_OPTIONS: Final = {
    # Without B-frames, times need no edit list, which some video players ignore.
    "preset": "veryfast", "crf": "20", "bf": "0", "forced-idr": "1", "threads": "1",
}  # fmt: skip


def make_proxy(path: Path, target: Path) -> int:
    """Write a proxy of a video; returns the number of its frames. After a failure, a broken file stays there.

    Raises:
        VideoError: The video cannot be decoded or encoded.
        OSError: The target cannot be written.
    """
    try:
        with contextlib.ExitStack() as opened:
            source = opened.enter_context(open_video(path))
            frames = source.frames()
            first = next(frames)
            heard = opened.enter_context(open_video(path))
            output = opened.enter_context(av.open(str(target), "w", format="mp4", options={"movflags": "+faststart"}))
            pictures = _Pictures(source, output, first.picture)
            sound = _sound(heard, output, source.zero * source.time_base)
            if first.pts_s:
                pictures.write(black(source.look), 0)
            waiting = next(sound, None)
            for frame in itertools.chain([first], frames):
                while waiting is not None and waiting[0] < frame.pts_s + SOUND_AHEAD_S:
                    output.mux(waiting[1])
                    waiting = next(sound, None)
                pictures.write(frame.picture, frame.pts - source.zero if frame.pts_s else 0)
            while waiting is not None and waiting[0] < pictures.end_s:
                output.mux(waiting[1])
                waiting = next(sound, None)
            sound.close()
            output.mux(pictures.stream.encode(None))
    except (av.error.FFmpegError, ValueError, TypeError, IndexError) as error:
        if getattr(error, "errno", None) in TARGETS_FAULT:
            raise OSError(error.errno, error.strerror) from None  # type: ignore[union-attr]
        raise VideoError(f"it cannot be encoded ({str(error)[:100]})") from None
    return pictures.count


def make_playable(argument: dict[str, Any]) -> dict[str, Any]:
    """Look if browsers play a video, and make a proxy if not. Runs in a child process, since videos may be hostile.

    Args:
        argument: `path`, and `target`, the file for a proxy.

    Returns:
        `media_type`, `is_proxy`, and `pts_s`, when each frame of what is played appears; or `refused`; or `unwritable`.
    """
    path, target = Path(argument["path"]), Path(argument["target"])
    try:
        found = playable(path)
        if found.media_type is not None:
            return {**found._asdict(), "is_proxy": False}
        make_proxy(path, target)
        found = playable(target)
    except VideoError as error:
        return {REFUSED: str(error)}
    except OSError as error:
        return {UNWRITABLE: error.strerror or str(error)}
    if found.media_type is None:
        return {REFUSED: f"its proxy does not play: {found.why}"}
    return {**found._asdict(), "is_proxy": True}


class _Pictures:
    """Encodes the pictures of a proxy."""

    def __init__(self, source: Source, output: Any, first: av.VideoFrame) -> None:
        self.source, self.output = source, output
        self.count, self.last_pts, self._key_pts = 0, -1, 0
        self._key_every = int(KEY_FRAME_EVERY_S / source.time_base)
        rate = source.frame_rate or Fraction(25)
        self.stream: Any = output.add_stream("libx264", rate=rate, options=ENCODER_OPTIONS)
        self.stream.width, self.stream.height = self.width, self.height = proxy_size(source.look)
        self.stream.pix_fmt = "yuv420p"
        # Now, since sound may be written before the first picture and then opens the encoder.
        state_colours(self.stream.codec_context, source.ready(first))
        self.stream.codec_context.color_range = ColorRange.MPEG
        self.stream.time_base = self.stream.codec_context.time_base = source.time_base

    @property
    def end_s(self) -> float:
        """When the last frame ends, in seconds from the first."""
        return float((self.last_pts + self.source.step) * self.source.time_base)

    def write(self, picture: av.VideoFrame, pts: int) -> None:
        """Encode a frame. A frame that does not come after the last one is left out, as video players do."""
        if pts <= self.last_pts:
            return
        ready = self.source.ready(picture)
        given = ColorRange.JPEG if ready.color_range == ColorRange.JPEG else ColorRange.MPEG
        # Browsers are less sure of the full range.
        frame = ready.reformat(
            self.width, self.height, "yuv420p", src_color_range=given, dst_color_range=ColorRange.MPEG
        )
        due = self.count == 0 or pts - self._key_pts >= self._key_every
        frame.pict_type = PictureType.I if due else PictureType.NONE
        frame.pts, frame.time_base = pts, self.source.time_base
        self.output.mux(self.stream.encode(frame))
        self._key_pts = pts if due else self._key_pts
        self.count, self.last_pts = self.count + 1, pts


def proxy_size(look: Look) -> tuple[int, int]:
    """Width and height of a proxy's picture: even numbers, at most 1280."""
    width, height = look.shown_size
    scale = min(1, LONGEST_SIDE_PX / max(width, height))
    return max(2, round(width * scale / 2) * 2), max(2, round(height * scale / 2) * 2)


def _sound(heard: Source, output: Any, start_s: Fraction) -> Generator[tuple[float, Any], None, None]:
    """Encoded sound with its times, in seconds; nothing if there is no sound that we can read."""
    stream = next((each for each in heard.container.streams.audio if each.codec_context), None)
    # The sound of joined recordings has time stamps that start again.
    if stream is None or heard.joined:
        return
    written = output.add_stream("aac", rate=SOUND_HZ)
    written.layout = "stereo" if stream.codec_context.channels > 1 else "mono"
    encoder = written.codec_context
    encoder.open(strict=False)
    resampler = av.AudioResampler(
        format=encoder.format.name, layout=encoder.layout.name, rate=SOUND_HZ, frame_size=encoder.frame_size or None
    )
    zero = round(start_s * SOUND_HZ)
    last = -1
    for decoded in itertools.chain(_heard(heard.container, stream), [None]):
        for frame in resampler.resample(decoded):
            if frame.pts is None:
                continue
            pts = round(frame.pts * Fraction(frame.time_base or 0) * SOUND_HZ) - zero
            # Sound before the first frame is left out, and so is sound whose times go back.
            if pts <= last:
                continue
            last = pts
            frame.pts, frame.time_base = pts, Fraction(1, SOUND_HZ)
            for packet in written.encode(frame):
                yield pts / SOUND_HZ, packet
    for packet in written.encode(None):
        yield last / SOUND_HZ, packet


def _heard(container: Any, stream: Any) -> Iterator[Any]:
    """Decoded sound. Damaged packets are skipped, as video players do, so the video still plays with the rest."""
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                return
            frames = packet.decode()
        except av.error.FFmpegError as error:
            if isinstance(error, av.error.EOFError):
                return
            continue
        yield from frames
