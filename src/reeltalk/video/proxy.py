"""Makes a file that browsers play from a file that they do not play: H.264 in MP4, or VP9 in WebM.

Every frame keeps its distance in time from the first, so statements about a time in the video hold for the proxy. The
picture is upright, its pixels are square, and its longer side has at most 1280 pixels. A key frame comes every second,
so that a seek decodes little.
"""

import contextlib
import itertools
from collections.abc import Generator, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import av.error
from av.video.frame import PictureType

from reeltalk.video.encode import upright
from reeltalk.video.playable import MP4, WEBM, playable
from reeltalk.video.serving import REFUSED, UNWRITABLE
from reeltalk.video.stream import TARGETS_FAULT, Source, VideoError, open_video, rgb

LONGEST_SIDE_PX: Final = 1280
KEY_FRAME_EVERY_S: Final = 1
SOUND_AHEAD_S: Final = 0.5
"""Sound is written this far before the picture, so that video players find both near each other."""
SOUND_HZ: Final = 48_000
ENDINGS: Final = {MP4: "mp4", WEBM: "webm"}
VIDEO_CODECS: Final = {MP4: "libx264", WEBM: "libvpx-vp9"}
AUDIO_CODECS: Final = {MP4: "aac", WEBM: "libopus"}
OPTIONS: Final = {
    # Without B-frames, times need no edit list, which some video players ignore.
    MP4: {"preset": "veryfast", "crf": "23", "bf": "0", "forced-idr": "1", "threads": "1"},
    WEBM: {"deadline": "realtime", "cpu-used": "7", "crf": "33", "b": "0", "row-mt": "0", "threads": "1"},
}
KEEP_COLOURS: Final = ("color_range", "colorspace", "color_primaries", "color_trc")


def proxy_type() -> str:
    """The media type of proxies on this machine: `video/mp4` if PyAV has libx264, else `video/webm`.

    Raises:
        VideoError: Neither encoder is available.
    """
    for media_type, codec in VIDEO_CODECS.items():
        if codec in av.codecs_available:
            return media_type
    raise VideoError("this build of PyAV has neither libx264 nor libvpx-vp9")


def make_proxy(path: Path, target: Path, *, media_type: str, rotation_deg: int = 0) -> int:
    """Write a proxy of a video.

    Args:
        path: The video.
        target: The file to write. After a failure, a broken file stays there.
        media_type: `video/mp4` or `video/webm`.
        rotation_deg: The rotation of the video, clockwise. The proxy has none.

    Returns:
        The number of frames in the proxy.

    Raises:
        VideoError: The video cannot be decoded or encoded.
        OSError: The target cannot be written.
    """
    options = {"movflags": "+faststart"} if media_type == MP4 else {}
    try:
        with contextlib.ExitStack() as opened:
            source = opened.enter_context(open_video(path))
            frames = source.frames()
            first = next(frames)
            heard = opened.enter_context(open_video(path))
            output = opened.enter_context(av.open(str(target), "w", format=ENDINGS[media_type], options=options))
            pictures = _Pictures(source, output, media_type, rotation_deg)
            sound = _sound(heard, output, media_type, first.pts * source.time_base)
            waiting = next(sound, None)
            for frame in itertools.chain([first], frames):
                while waiting is not None and waiting[0] < frame.pts_s + SOUND_AHEAD_S:
                    output.mux(waiting[1])
                    waiting = next(sound, None)
                pictures.write(frame.picture, frame.pts - first.pts)
            while waiting is not None and waiting[0] < pictures.end_s:
                output.mux(waiting[1])
                waiting = next(sound, None)
            sound.close()
            pictures.finish()
    except (av.error.FFmpegError, ValueError, TypeError, IndexError) as error:
        if getattr(error, "errno", None) in TARGETS_FAULT:
            raise OSError(error.errno, error.strerror) from None  # type: ignore[union-attr]
        raise VideoError(f"it cannot be encoded ({str(error)[:100]})") from None
    return pictures.count


def transcode(argument: dict[str, Any]) -> dict[str, Any]:
    """Run `make_proxy` in a child process.

    Args:
        argument: `path`, `target`, `media_type`.

    Returns:
        `pts_s`, the time of each frame of the proxy, as from `playable`; or `refused`; or `unwritable`.
    """
    path, target = Path(argument["path"]), Path(argument["target"])
    try:
        with open_video(path) as source:
            picture: Any = next(source.frames()).picture
            # PyAV counts anticlockwise.
            turned = round(-picture.rotation / 90) % 4 * 90
        make_proxy(path, target, media_type=argument["media_type"], rotation_deg=turned)
        made = playable(target)
        return (
            {"pts_s": made.pts_s} if made.media_type is not None else {REFUSED: f"its proxy does not play: {made.why}"}
        )
    except VideoError as error:
        return {REFUSED: str(error)}
    except OSError as error:
        return {UNWRITABLE: error.strerror or str(error)}


class _Pictures:
    """Encodes the pictures of a proxy."""

    def __init__(self, source: Source, output: Any, media_type: str, rotation_deg: int) -> None:
        self.source, self.output, self.rotation_deg = source, output, rotation_deg
        self.count, self.last_pts, self._key_pts = 0, -1, 0
        self._shape = source.stream.codec_context.sample_aspect_ratio or Fraction(1)
        self._key_every = int(KEY_FRAME_EVERY_S / source.time_base)
        rate = source.frame_rate or Fraction(25)
        self.step = max(1, round(1 / (rate * source.time_base)))
        self.stream: Any = output.add_stream(VIDEO_CODECS[media_type], rate=rate, options=OPTIONS[media_type])
        self.width, self.height = shown_size(source.width_px, source.height_px, self._shape)
        sides = (self.width, self.height)
        self.stream.width, self.stream.height = sides[::-1] if rotation_deg % 180 else sides
        self.stream.pix_fmt = "yuv420p"
        self.stream.time_base = self.stream.codec_context.time_base = source.time_base

    @property
    def end_s(self) -> float:
        """When the last frame ends, in seconds from the first."""
        return float((self.last_pts + self.step) * self.source.time_base)

    def write(self, picture: av.VideoFrame, pts: int) -> None:
        """Encode a frame. A frame that does not come after the last one is left out, as video players do."""
        if pts <= self.last_pts:
            return
        if self.count == 0:
            for name in KEEP_COLOURS:
                setattr(self.stream.codec_context, name, getattr(picture, name))
        frame = picture.reformat(self.width, self.height, "yuv420p")
        if self.rotation_deg:
            frame = av.VideoFrame.from_ndarray(upright(rgb(frame), self.rotation_deg), format="rgb24")
            frame = frame.reformat(format="yuv420p")
        due = self.count == 0 or pts - self._key_pts >= self._key_every
        frame.pict_type = PictureType.I if due else PictureType.NONE
        frame.pts, frame.time_base = pts, self.source.time_base
        self.output.mux(self.stream.encode(frame))
        self._key_pts = pts if due else self._key_pts
        self.count, self.last_pts = self.count + 1, pts

    def finish(self) -> None:
        """Write the frames that the encoder still holds."""
        self.output.mux(self.stream.encode(None))


def shown_size(width_px: int, height_px: int, shape: Fraction) -> tuple[int, int]:
    """Width and height of a proxy's picture before rotation: square pixels, even numbers, at most 1280.

    Args:
        width_px: Width of the video.
        height_px: Height of the video.
        shape: Width of a pixel divided by its height.
    """
    # Non-square pixels never make the picture larger.
    wide = width_px * shape if shape < 1 else Fraction(width_px)
    high = height_px / shape if shape > 1 else Fraction(height_px)
    scale = min(Fraction(1), LONGEST_SIDE_PX / max(wide, high))
    return max(2, round(wide * scale / 2) * 2), max(2, round(high * scale / 2) * 2)


def _sound(heard: Source, output: Any, media_type: str, start_s: Fraction) -> Generator[tuple[float, Any], None, None]:
    """Encoded sound with its times, in seconds from the first frame; nothing if there is no sound that we can read."""
    stream = next((each for each in heard.container.streams.audio if each.codec_context), None)
    if stream is None:
        return
    written = output.add_stream(AUDIO_CODECS[media_type], rate=SOUND_HZ)
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
