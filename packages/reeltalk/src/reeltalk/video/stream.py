"""Opens a file only as a video, and reads its frames with their presentation times.

Only containers of `CONTAINERS` are opened, and only from the file itself. Playlists, lists of other files and anything
that would open a network connection or a second file are refused before they are parsed.

`try_encoder` writes a tiny video, because a build of FFmpeg may list a codec that its libraries then refuse.
"""

import contextlib
import errno
import functools
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import av.error
from av.stream import Disposition

from reeltalk.errors import ReeltalkError
from reeltalk.video.missing import unfinished_box
from reeltalk.video.picture import Look, Pixels, as_shown, find_look, shown_frame

CONTAINERS: Final = (
    "mov,mp4,m4a,3gp,3g2,mj2",
    "matroska,webm",
    "avi",
    "mpegts",
    "mpeg",
    "mpegvideo",
    "flv",
    "asf",
    "ogg",
    "mxf",
    "nut",
    "ivf",
    "obu",
    "h264",
    "hevc",
    "m4v",
    "dv",
    "rm",
    "gif",
)
"""FFmpeg's names of the allowed demuxers. None of them reads a second file by default."""
WITHOUT_TIMES: Final = frozenset({"h264", "hevc"})
"""Raw streams, which no reader can seek in. Copying their packets into another container gives B-frames wrong times."""
JOINABLE: Final = frozenset({"mpegts", "mpeg"})
"""Containers whose files stay playable if they are joined byte by byte."""
GOES_BACK_S: Final = 0.1
JUMPS_S: Final = 10.0
"""FFmpeg's own bounds for time stamps that start again or jump in these containers."""
COVERS: Final = Disposition.attached_pic | Disposition.still_image | Disposition.timed_thumbnails
STILL_CODECS: Final = frozenset({"png", "mjpeg", "bmp", "gif", "webp", "tiff"})
MOST_DAMAGED: Final = 10_000
LARGEST_FRAME_PX: Final = 8192 * 4352
"""Frames larger than 8K are refused. One of 16384 × 16384 takes 400 MB, and a decoder holds several."""


TARGETS_FAULT: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}
)
"""Errors that come from a disk or a folder, never from an encoder."""


class VideoError(ReeltalkError):
    """A file cannot be read as a video. The message is the reason, in lower case, without the file name."""


class Frame(NamedTuple):
    """A decoded frame."""

    pts_s: float
    """When it appears on the clock of a player, in seconds."""
    picture: av.VideoFrame
    pts: int
    """The time stamp itself, in the stream's time base."""


@contextlib.contextmanager
def open_video(path: Path) -> Iterator["Source"]:
    """Opens a video file for one pass.

    Raises:
        VideoError: The file is not a supported video; the message gives the reason.
    """
    options = {"protocol_whitelist": "file", "format_whitelist": ",".join(CONTAINERS)}
    try:
        # With this prefix, a name such as `concat:a|b` is a file name and not a protocol.
        container = av.open(f"file:{path.absolute()}", options=options, metadata_errors="replace")
    except (av.error.FFmpegError, ValueError, OSError, IndexError, UnicodeDecodeError) as error:
        why = unfinished_box(path) or describe(error)
        raise VideoError(f"no container that we read ({why})") from None
    with container:
        yield Source(container, path)


def _film_of(container: Any) -> Any:
    """The stream that players show: one marked as the default before others, then the largest; never a cover."""
    films = [stream for stream in container.streams.video if not stream.disposition & COVERS]
    if not films:
        raise VideoError("its only picture is a cover" if container.streams.video else "it has no video stream")
    return max(films, key=_rank)


def _rank(stream: Any) -> tuple[bool, bool, int, int]:
    context = stream.codec_context
    still = stream.frames == 1 or (not stream.frames and context is not None and context.name in STILL_CODECS)
    size = (context.width or 0) * (context.height or 0) if context is not None else 0
    return not still, bool(stream.disposition & Disposition.default), size, -stream.index


class _Place(NamedTuple):
    """Where a packet stands."""

    dts: int
    pos: int


class _Doubt(NamedTuple):
    """What was known before the last joint, which may be one damaged time stamp."""

    last: _Place
    offset: int


class Source:
    """One open file. Made by `open_video`.

    Args:
        container: As PyAV opens it.
        path: The file, if it is one.
    """

    def __init__(self, container: Any, path: Path | None = None) -> None:
        self.container, self.path = container, path
        if container.format.name in WITHOUT_TIMES:
            raise VideoError("a raw stream without times: ffmpeg -i FILE -crf 16 FILE.mp4 gives them")
        self.stream = _film_of(container)
        context = self.stream.codec_context
        if context is None or not context.name:
            raise VideoError("its codec is not known")
        self.codec: str = context.codec.canonical_name
        """The name of the format, such as `h264`, not of the decoder."""
        self.width_px, self.height_px = context.width, context.height
        if self.width_px < 1 or self.height_px < 1:
            raise VideoError("it does not say how large its frames are")
        if self.width_px * self.height_px > LARGEST_FRAME_PX:
            raise VideoError(f"frames of {self.width_px} × {self.height_px} pixels are larger than we decode")
        # One thread: processes run in parallel, one per video, and every thread would hold its own frames.
        self.stream.thread_count = 1
        self.time_base: Fraction = Fraction(self.stream.time_base or Fraction(1, 1000))
        rate = self.stream.guessed_rate or self.stream.average_rate
        self.frame_rate: Fraction | None = Fraction(rate) if rate else None
        self.step = max(1, round(1 / ((self.frame_rate or Fraction(25)) * self.time_base)))
        """Ticks from one frame to the next at the stated rate."""
        self.damaged = 0
        """Packets so far that could not be decoded."""
        self.joints = 0
        """Places so far where time stamps started again or jumped, since recordings were joined."""
        begins = container.start_time
        self._zero = None if begins is None else round(Fraction(begins, av.time_base) / self.time_base)
        self._look: Look | None = None
        self._start: int | None = None
        # One generator until the next seek, because a packet may hold several frames and the decoder holds more.
        self._decoding: Iterator[Frame] | None = None
        self._offset = 0
        self._first: _Place | None = None
        self._last: _Place | None = None
        self._doubt: _Doubt | None = None

    @property
    def zero(self) -> int:
        """The time stamp at which a player's clock is 0: where pictures or sound begin, whichever is first."""
        if self._zero is None:
            raise ValueError("its header states no start, and no frame has been decoded yet")
        return self._zero

    def zero_or(self, first: int) -> int:
        """`zero`; the first time stamp if the header states no start."""
        return first if self._zero is None else self._zero

    @property
    def look(self) -> Look:
        """How its frames are shown. It is known after a frame has been decoded."""
        if self._look is None:
            raise ValueError("no frame has been decoded yet")
        return self._look

    @property
    def heeds_rotation(self) -> bool:
        """Whether players turn pictures of this container."""
        return self.container.format.name.split(",")[0] in ("mov", "matroska")

    def seconds(self, pts: int) -> float:
        """A time stamp on the clock of a player."""
        ticks = max(0, pts - self.zero)
        # Players show the first picture at once if the sound begins less than a frame before it.
        if pts == self._start and ticks <= self.step:
            return 0.0
        # Integers until the last step: a Fraction for every frame would cost as much as measuring it.
        return ticks * self.time_base.numerator / self.time_base.denominator

    def shown(self, picture: av.VideoFrame) -> Pixels:
        """A decoded frame as a player shows it: (H, W, 3) uint8 RGB."""
        return as_shown(picture, self.look)

    def ready(self, picture: av.VideoFrame) -> av.VideoFrame:
        """A frame for an encoder: itself if it is shown as it is stored, else the shown picture."""
        return shown_frame(picture, self.look) if self.look.changes(picture) else picture

    def frames(self) -> Iterator[Frame]:
        """All frames in display order.

        Damaged packets are skipped and counted in `damaged`, as video players do.

        Raises:
            VideoError: Nothing can be decoded.
        """
        frame = None
        for frame in self._timed():
            yield frame
        if frame is None:
            raise VideoError("no frame can be decoded")

    def _timed(self) -> Iterator[Frame]:
        pts: int | None = None
        for picture in self._decoded():
            if picture.pts is not None:
                pts = picture.pts
            elif self.frame_rate is None:
                raise VideoError("its frames have no presentation times and no rate")
            else:
                # Raw streams have no time stamps, only a rate.
                pts = 0 if pts is None else pts + self.step
            yield Frame(self.seconds(pts), picture, pts)

    def _decoded(self) -> Iterator[av.VideoFrame]:
        pictures = self._as_decoded()
        return _in_turn(pictures) if self.container.format.name == "avi" else pictures

    def _as_decoded(self) -> Iterator[av.VideoFrame]:
        while True:
            try:
                for packet in self.packets():
                    for picture in packet.decode():
                        if self._look is None:
                            self._begin(picture)
                        yield picture
                return
            except av.error.EOFError:
                return
            except (av.error.InvalidDataError, av.error.BugError):
                # The packet is skipped; decoding goes on with the next.
                self.damaged += 1
                if self.damaged > MOST_DAMAGED:
                    raise VideoError(f"more than {MOST_DAMAGED:,} of its packets are damaged") from None
            except (av.error.FFmpegError, ValueError, OSError, IndexError) as error:
                if isinstance(error, av.error.MemoryError):
                    raise MemoryError from None
                raise VideoError(f"it cannot be decoded ({describe(error)})") from None

    def _begin(self, first: av.VideoFrame) -> None:
        self._look = find_look(self.stream, first, turns=self.heeds_rotation)
        self._start = first.pts or 0
        self._zero = self._start if self._zero is None else self._zero

    def packets(self, *others: Any) -> Iterator[Any]:
        """Packets of the film, and of other streams. Those of joined recordings follow each other in time."""
        joinable = self.container.format.name in JOINABLE
        for packet in self.container.demux(self.stream, *others):
            if joinable and packet.size and packet.stream_index == self.stream.index:
                self._follow(packet)
            yield packet

    def _follow(self, packet: Any) -> None:
        """Let the packet follow the one before if its time stamp goes back, or jumps although nothing is lost."""
        stamp = packet.dts if packet.dts is not None else packet.pts
        if stamp is None:
            return
        here = _Place(stamp, packet.pos or 0)
        if self._first is None or self._last is None:
            self._first = here
        else:
            doubt, self._doubt = self._doubt, None
            if doubt is not None and 0 < here.dts - doubt.last.dts <= GOES_BACK_S / self.time_base + 2 * self.step:
                # Time goes on where it was before one damaged stamp.
                (self._last, self._offset), self.joints = doubt, self.joints - 1
            ahead_s = float((here.dts - self._last.dts) * self.time_base)
            if ahead_s < -GOES_BACK_S or (ahead_s > JUMPS_S and not self._lost(self._first, self._last, here)):
                self._doubt = _Doubt(self._last, self._offset)
                self._offset -= here.dts - self._last.dts - self.step
                self.joints += 1
        self._last = here
        if self._offset:
            packet.dts = None if packet.dts is None else packet.dts + self._offset
            packet.pts = None if packet.pts is None else packet.pts + self._offset

    def _lost(self, first: "_Place", last: "_Place", here: "_Place") -> bool:
        """Whether the bytes between two packets are many enough for the pictures between them."""
        known = last.dts + self._offset - first.dts
        if known <= 0:
            return False
        due = (last.pos - first.pos) / known * (here.dts - last.dts)
        return here.pos - last.pos > due / 4

    @functools.cached_property
    def joined(self) -> bool:
        """Whether it holds several recordings, so that its time stamps lead nowhere."""
        if self.path is None or self.container.format.name not in JOINABLE:
            return False
        stat = self.path.stat()
        return _is_joined(self.path.absolute(), stat.st_size, stat.st_mtime_ns)

    def seek(self, pts: int) -> None:
        """Go to the last key frame at or before a presentation time stamp; in joined recordings, to the start.

        Raises:
            VideoError: The container cannot seek.
        """
        self._decoding, self._offset, self._last, self._doubt = None, 0, None, None
        if self.joined:
            pts = self.zero - round(JUMPS_S / self.time_base)
        try:
            self.container.seek(pts, stream=self.stream, backward=True)
        except (av.error.FFmpegError, OSError) as error:
            raise VideoError(f"cannot seek in it ({describe(error)})") from None

    def next_frame(self) -> Frame | None:
        """The next frame after a `seek`, or None at the end."""
        if self._decoding is None:
            self._decoding = self._timed()
        return next(self._decoding, None)


@functools.lru_cache(maxsize=64)
def _is_joined(path: Path, size: int, modified_ns: int) -> bool:
    # Only reading all packets tells, so the answer is kept while the process lives.
    with open_video(path) as source, contextlib.suppress(av.error.FFmpegError, ValueError, OSError):
        for _ in source.packets():
            pass
    return source.joints > 0


def _in_turn(pictures: Iterator[av.VideoFrame]) -> Iterator[av.VideoFrame]:
    """Lets time stamps rise. An AVI gives them in the order of storing, and B-frames are stored in another one."""
    held: av.VideoFrame | None = None
    for picture in pictures:
        if held is not None:
            if held.pts is not None and picture.pts is not None and picture.pts < held.pts:
                held.pts, picture.pts = picture.pts, held.pts
            yield held
        held = picture
    if held is not None:
        yield held


def describe(error: Exception) -> str:
    """What FFmpeg says of an error, on one line."""
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(str(text).split())[:120] or type(error).__name__


FRAMES: Final = 5
SIDE_PX: Final = 128


def try_encoder() -> str | None:
    """Write a few frames with libx264 and read them back; the reason if that fails."""
    written = io.BytesIO()
    try:
        with av.open(written, "w", format="matroska") as output:
            stream: Any = output.add_stream("libx264", rate=25)
            stream.width = stream.height = SIDE_PX
            stream.pix_fmt = "yuv420p"
            for _ in range(FRAMES):
                output.mux(stream.encode(av.VideoFrame(SIDE_PX, SIDE_PX, "yuv420p")))
            output.mux(stream.encode(None))
        container: Any
        with av.open(io.BytesIO(written.getvalue())) as container:
            frames = len(list(container.decode(video=0)))
    except (av.error.FFmpegError, OSError, ValueError) as error:
        return describe(error)
    return None if frames == FRAMES else f"{frames} of {FRAMES} frames came back"
