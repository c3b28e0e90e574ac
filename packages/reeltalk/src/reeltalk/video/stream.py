"""Opens a file only as a video, and reads its frames with their presentation times.

Only containers of `CONTAINERS` are opened, and only from the file itself. Playlists, lists of other files and anything
that would open a network connection or a second file are refused before they are parsed.

`try_encoder` writes a tiny video, because a build of FFmpeg may list a codec that its libraries then refuse.
"""

import contextlib
import errno
import io
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import av.error
import numpy as np
from av.codec.hwaccel import HWAccel
from numpy.typing import NDArray

from reeltalk.errors import ReeltalkError
from reeltalk.video.missing import unfinished_box
from reeltalk.video.records import Decoder

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
)
"""FFmpeg's names of the allowed demuxers. None of them reads a second file by default."""
PLANAR_OF: Final = {"nv12": "yuv420p", "p010le": "yuv420p10le"}
"""Layouts of frames from a GPU, with those of the same frames from a decoder of the CPU."""
MOST_DAMAGED: Final = 10_000
LARGEST_FRAME_PX: Final = 8192 * 4352
"""Frames larger than 8K are refused. One of 16384 × 16384 takes 400 MB, and a decoder holds several."""


TARGETS_FAULT: Final = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT}
)
"""Errors that come from a disk or a folder, never from an encoder."""


class VideoError(ReeltalkError):
    """A file cannot be read as a video. The message is the reason, in lower case, without the file name."""


class DeviceError(ReeltalkError):
    """A GPU cannot decode a file that can be opened without it."""


class Frame(NamedTuple):
    """A decoded frame."""

    pts_s: float
    """Presentation time in seconds from that of the first frame."""
    picture: av.VideoFrame
    pts: int
    """The time stamp itself, in the stream's time base."""


@contextlib.contextmanager
def open_video(path: Path, decoder: Decoder = "software") -> Iterator["Source"]:
    """Opens a video file for one pass.

    Args:
        path: The file.
        decoder: `nvdec` decodes on an NVIDIA GPU. What the GPU does not support is decoded on the CPU.

    Raises:
        VideoError: The file is not a supported video; the message gives the reason.
        DeviceError: The GPU cannot be used.
    """
    accelerator = _nvdec() if decoder == "nvdec" else None
    options = {"protocol_whitelist": "file", "format_whitelist": ",".join(CONTAINERS)}
    try:
        # With this prefix, a name such as `concat:a|b` is a file name and not a protocol.
        container = av.open(f"file:{path.absolute()}", options=options, metadata_errors="replace", hwaccel=accelerator)
    except (av.error.FFmpegError, ValueError, OSError, IndexError, UnicodeDecodeError) as error:
        if accelerator is not None:
            with open_video(path):
                raise DeviceError(f"CUDA cannot be used ({_words(error)})") from None
        why = unfinished_box(path) or _words(error)
        raise VideoError(f"no container that we read ({why})") from None
    with container:
        if not container.streams.video:
            raise VideoError("it has no video stream")
        yield Source(container)


class Source:
    """One open file. Made by `open_video`."""

    def __init__(self, container: Any) -> None:
        self.container = container
        self.stream = next(
            (stream for stream in container.streams.video if not stream.disposition & stream.disposition.attached_pic),
            container.streams.video[0],
        )
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
        self.damaged = 0
        """Packets so far that could not be decoded."""
        self._start_pts: int | None = None
        # One generator until the next seek, because a packet may hold several frames and the decoder holds more.
        self._decoding: Iterator[av.VideoFrame] | None = None

    @property
    def start_pts(self) -> int:
        """Presentation time stamp of the first frame. It is known after that frame has been decoded."""
        if self._start_pts is None:
            raise ValueError("no frame has been decoded yet")
        return self._start_pts

    def frames(self) -> Iterator[Frame]:
        """All frames in display order.

        Damaged packets are skipped and counted in `damaged`, as video players do.

        Raises:
            VideoError: Nothing can be decoded, or the size of the frames changes.
        """
        last_pts: int | None = None
        size = self.width_px, self.height_px
        # Integers until the last step: a Fraction for every frame would cost as much as measuring it.
        tick_s, ticks = self.time_base.numerator, self.time_base.denominator
        for decoded in self._decoded():
            picture = planar(decoded)
            if (picture.width, picture.height) != size:
                raise VideoError(
                    f"the frames change their size, from {self.width_px} × {self.height_px} "
                    f"to {picture.width} × {picture.height}"
                )
            pts = picture.pts
            if pts is None:
                pts = self._pts_after(last_pts)
            if self._start_pts is None:
                self._start_pts = pts
            last_pts = pts
            yield Frame((pts - self._start_pts) * tick_s / ticks, picture, pts)
        if last_pts is None:
            raise VideoError("no frame can be decoded")

    def _pts_after(self, last_pts: int | None) -> int:
        # Raw streams have no time stamps, only a rate.
        if self.frame_rate is None:
            raise VideoError("its frames have no presentation times and no rate")
        return 0 if last_pts is None else last_pts + round(1 / (self.frame_rate * self.time_base))

    def _decoded(self) -> Iterator[av.VideoFrame]:
        while True:
            try:
                yield from self.container.decode(self.stream)
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
                if isinstance(error, av.error.ExternalError) and self.stream.codec_context.is_hwaccel:
                    raise DeviceError(f"the GPU stopped decoding ({_words(error)})") from None
                raise VideoError(f"it cannot be decoded ({_words(error)})") from None

    def seek(self, pts: int) -> None:
        """Go to the last key frame at or before a presentation time stamp.

        Raises:
            VideoError: The container cannot seek.
        """
        self._decoding = None
        try:
            self.container.seek(pts, stream=self.stream, backward=True)
        except (av.error.FFmpegError, OSError) as error:
            raise VideoError(f"cannot seek in it ({_words(error)})") from None

    def next_frame(self) -> av.VideoFrame | None:
        """The next frame after a `seek`, or None at the end."""
        if self._decoding is None:
            self._decoding = self._decoded()
        return next(self._decoding, None)


def planar(picture: av.VideoFrame) -> av.VideoFrame:
    """A frame in the layout of the decoders of the CPU; NVDEC's has its two chroma planes in one. No value changes."""
    layout = PLANAR_OF.get(picture.format.name)
    return picture if layout is None else picture.reformat(format=layout)


def rgb(picture: av.VideoFrame) -> NDArray[np.uint8]:
    """A frame's pixels: (H, W, 3) uint8 RGB, as stored, without the container's rotation."""
    return np.asarray(picture.to_ndarray(format="rgb24"), np.uint8)


def _words(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(str(text).split())[:120] or type(error).__name__


FRAMES: Final = 5
SIDE_PX: Final = 128


def try_encoder() -> str | None:
    """Write a few frames with libx264 and read them back; the reason if that fails."""
    try:
        frames = _decoded(_encoded("libx264"))
    except (av.error.FFmpegError, OSError, ValueError) as error:
        return _words(error)
    return None if frames == FRAMES else f"{frames} of {FRAMES} frames came back"


def try_nvdec(argument: dict[str, Any]) -> dict[str, Any]:
    """Decode a few frames of H.264 on the GPU.

    Args:
        argument: Empty.

    Returns:
        `why`: the reason of a failure, or null.
    """
    container: Any
    try:
        with av.open(io.BytesIO(_encoded("libx264")), hwaccel=_nvdec()) as container:
            stream = container.streams.video[0]
            frames = len(list(container.decode(stream)))
            if not stream.codec_context.is_hwaccel:
                return {"why": "this build of FFmpeg has no NVDEC"}
    except (av.error.FFmpegError, OSError, ValueError) as error:
        return {"why": f"CUDA: {_words(error)}"}
    return {"why": None if frames == FRAMES else f"{frames} of {FRAMES} frames came back"}


def _nvdec() -> HWAccel:
    return HWAccel("cuda", allow_software_fallback=True)


def _encoded(encoder: str) -> bytes:
    av.codec.Codec(encoder, "w")
    written = io.BytesIO()
    with av.open(written, "w", format="matroska") as output:
        stream: Any = output.add_stream(encoder, rate=25)
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
