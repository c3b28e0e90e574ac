"""Finds the parts that a file promises but lacks, because it was cut off or damaged.

Only a length in a header is a promise: the index of an MP4, the frame count of an AVI, the length in a Matroska, FLV or
MXF header. A transport stream, a program stream and a fragmented MP4 state no length, so a lost end is not detected.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import av.logging
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.records import Gap

TOLERATED_S: Final = 0.25
TOLERATED_SHARE: Final = 0.005
"""A header may round. A difference up to this, in seconds or as a share of the length, does not count as missing."""
APART_S: Final = 2.0
"""If the sound goes on for longer than this after the pictures, the pictures had ended before the file was cut, because
streams are interleaved more closely."""
SHORTEST_GAP_S: Final = 0.2
SHORTEST_GAP_FRAMES: Final = 5
"""Shorter gaps are dropped frames."""
NEAR_S: Final = 1.0
"""Damage within this distance belongs to a gap. Decoders return frames late, and not in the order of the file."""
LENGTH_IN_HEADER: Final = ("matroska", "flv")
"""Containers that state one length for all their streams together."""


def promised_s(
    source: Any, *, zero: int, ahead: int, duration_s: float, last_dts: int, ends_s: Sequence[float]
) -> float:
    """How long the pictures last according to the header; the measured length if the header states none or less.

    Args:
        source: The `Source` whose packets were read.
        zero: The time stamp at which a player's clock is 0.
        ahead: How many ticks before its appearance the first shown frame is decoded.
        duration_s: The end of the last packet of the pictures.
        last_dts: Largest decoding time stamp of the pictures' packets, in the stream's time base.
        ends_s: The end of the packets of the pictures, and of each other stream that was read.
    """
    stream, name = source.stream, source.container.format.name.split(",")[0]
    found = duration_s
    if name == "mov" and stream.frames and len(index := stream.index_entries):
        # The index lists exactly the samples that remain after edit lists, so a whole file misses none of them.
        if index[-1].timestamp > last_dts:
            found = float((index[-1].timestamp + ahead - zero) * source.time_base)
            found += float(1 / source.frame_rate) if source.frame_rate else 0.0
    elif name == "avi" and stream.frames:
        # Its length counts ticks; a writer may give two of them to a frame, the second empty.
        found += float((stream.frames - last_dts - 1) * source.time_base)
    elif name == "mxf" and stream.duration:
        found = float(stream.duration * source.time_base)
    elif name in LENGTH_IN_HEADER and source.container.duration:
        whole_s = _of_pictures(stream, source.container.duration / av.time_base, ends_s)
        found = duration_s if whole_s is None else whole_s - float(zero * source.time_base)
    missing_s = found - duration_s
    return found if missing_s > max(TOLERATED_S, TOLERATED_SHARE * found) else duration_s


def _of_pictures(stream: Any, whole_s: float, ends_s: Sequence[float]) -> float | None:
    """Length of the pictures in a file whose header states only the length of the longest stream."""
    if max(ends_s) >= whole_s - TOLERATED_S:
        return None
    if (own_s := _clock_s(stream.metadata.get("DURATION"))) is not None:
        return min(own_s, whole_s)
    return whole_s if ends_s[0] >= max(ends_s) - APART_S else None


def _clock_s(text: str | None) -> float | None:
    """Seconds from Matroska's tag, such as `00:01:23.800000000`."""
    try:
        hours, minutes, seconds = (text or "").strip("\0 ").split(":")
        return int(hours) * 3600 + int(minutes) * 60 + float(Fraction(seconds))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def gaps(times_s: NDArray[np.float64], damaged_s: Sequence[float]) -> tuple[Gap, ...]:
    """Parts between frames that were lost to damage. A long frame without damage nearby is only a long frame.

    Args:
        times_s: Times of the frames, in rising order.
        damaged_s: Times of frames or packets with damage.
    """
    if len(times_s) < 2 or not len(damaged_s):
        return ()
    distances, marks = np.diff(times_s), np.sort(np.asarray(damaged_s, np.float64))
    usual_s = float(np.median(distances))
    found = []
    for index in np.flatnonzero(distances > max(SHORTEST_GAP_S, SHORTEST_GAP_FRAMES * usual_s)):
        start_s, end_s = float(times_s[index]), float(times_s[index + 1])
        first = int(np.searchsorted(marks, start_s - NEAR_S))
        if first < len(marks) and marks[first] <= end_s + NEAR_S:
            found.append((round(start_s + usual_s, 6), round(end_s, 6)))
    return tuple(found)


class Complaints:
    """Counts the errors that FFmpeg's demuxer reports and repairs by reading on."""

    def __enter__(self) -> "Complaints":
        self._level = av.logging.get_level()
        # PyAV counts errors at any level. At this level it does not print them.
        av.logging.set_level(av.logging.PANIC)
        self._count = int(av.logging.get_last_error()[0])
        return self

    def __exit__(self, *_: object) -> None:
        av.logging.set_level(self._level)

    def more(self) -> bool:
        """True if there were any since the last call."""
        before, self._count = self._count, int(av.logging.get_last_error()[0])
        return self._count > before


def unfinished_box(path: Path) -> str | None:
    """The missing part of a QuickTime or MP4 file that cannot be opened: its last box ends after the file does.

    Returns:
        None if the file is of another type, or ends where its last box ends.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            for kind, start, end in _boxes(stream, size):
                if end > size:
                    part = f"its part {kind!r} has {size - start:,} of {end - start:,} bytes"
                    return f"it was cut off: {part}"
    except OSError:
        pass
    return None


def _boxes(stream: Any, size: int) -> Iterator[tuple[str, int, int]]:
    """Name, first byte and end of each box on the top level."""
    at = 0
    while at + 8 <= size:
        stream.seek(at)
        header = stream.read(16)
        length, kind = int.from_bytes(header[:4], "big"), header[4:8]
        if length == 1 and len(header) == 16:
            length = int.from_bytes(header[8:], "big")
        if not kind.isalnum() or not kind.isascii() or length < 8 or (at == 0 and kind != b"ftyp"):
            return
        yield kind.decode(), at, at + length
        at += length
