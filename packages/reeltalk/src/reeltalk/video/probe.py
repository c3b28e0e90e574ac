"""Reads the facts that a file's headers and packets state, without decoding frames."""

import re
from array import array
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import av.error

# av.open imports it for a file with subtitles; here it is imported once and not in each forked process.
import av.subtitles.stream
import numpy as np

from reeltalk.video import missing
from reeltalk.video.records import Gap, Probe
from reeltalk.video.stream import Source, VideoError, open_video

UNEVEN: Final = 0.02
"""If distances between frames differ by more than this share, the rate is variable. Less is rounding."""


def probe(path: Path) -> Probe:
    """Read a file's headers and packets.

    Raises:
        VideoError: The file is not a supported video.
    """
    with open_video(path) as source:
        times = _Times(source)
        return Probe(
            container=source.container.format.name,
            codec=source.codec,
            pixel_format=source.stream.codec_context.pix_fmt or "unknown",
            width_px=source.width_px,
            height_px=source.height_px,
            rotation_deg=_rotation(source),
            duration_s=times.duration_s,
            promised_s=times.promised_s,
            gaps_s=times.gaps_s,
            frame_rate=source.frame_rate,
            variable_frame_rate=times.variable,
            frames=times.frames,
            audio_codec=next((s.codec_context.name for s in source.container.streams.audio if s.codec_context), None),
            subtitles=tuple(map(_language, source.container.streams.subtitles)),
            key_frames_s=times.key_frames_s,
        )


class _Times:
    """Presentation times of all packets."""

    def __init__(self, source: Source) -> None:
        pts, key_pts, damaged_pts = array("q"), array("q"), array("q")
        last_duration, counted, last_dts = 0, 0, 0
        tick_s = source.time_base
        # A header may state only one length for all streams together.
        together = source.container.format.name.split(",")[0] in missing.LENGTH_IN_HEADER
        streams = source.container.streams
        others = [s for s in (*streams.video, *streams.audio, *streams.subtitles) if s.index != source.stream.index]
        # In ticks until the last packet: a Fraction for each packet would cost as much as reading it.
        ends = {source.stream.index: 0}
        try:
            with missing.Complaints() as complaints:
                for packet in source.container.demux(source.stream, *(others if together else ())):
                    stamp = packet.pts if packet.pts is not None else packet.dts
                    if stamp is not None:
                        index = packet.stream_index
                        ends[index] = max(ends.get(index, 0), stamp + (packet.duration or 0))
                    if packet.stream_index != source.stream.index:
                        continue
                    if packet.dts is not None:
                        last_dts = max(last_dts, packet.dts)
                    if packet.size == 0:
                        continue
                    counted += 1
                    if stamp is None:
                        continue
                    pts.append(stamp)
                    last_duration = packet.duration or last_duration
                    if packet.is_keyframe:
                        key_pts.append(stamp)
                    if packet.is_corrupt or complaints.more():
                        damaged_pts.append(stamp)
        except (av.error.FFmpegError, ValueError, OSError) as error:
            raise VideoError(f"its packets cannot be read ({str(error)[:80]})") from None
        ends_s = {index: float(end * (streams[index].time_base or 0)) for index, end in ends.items()}
        if not counted:
            raise VideoError("it has no video frames")
        self.frames = counted
        ordered = np.sort(np.frombuffer(pts, np.int64)) if pts else np.zeros(0, np.int64)
        self.gaps_s: tuple[Gap, ...] = ()
        if len(ordered) < 2:
            rate = source.frame_rate or Fraction(25)
            self.duration_s, self.variable = float(counted / rate), False
            self.promised_s = self._promised_s(source, last_dts, ends_s)
            self.key_frames_s: tuple[float, ...] = (0.0,)
            return
        distances = np.diff(ordered)
        usual = float(np.median(distances))
        self.variable = bool((np.abs(distances - usual) > max(1.01, UNEVEN * usual)).any())
        span = int(ordered[-1] - ordered[0]) + (last_duration or round(usual))
        self.duration_s = float(span * tick_s)
        self.promised_s = self._promised_s(source, last_dts, ends_s)
        if damaged_pts:
            first, tick = ordered[0], float(tick_s)
            marks = (np.frombuffer(damaged_pts, np.int64) - first) * tick
            self.gaps_s = missing.gaps((ordered - first) * tick, marks)
        self.key_frames_s = tuple(float((int(stamp) - int(ordered[0])) * tick_s) for stamp in sorted(key_pts))

    def _promised_s(self, source: Source, last_dts: int, ends_s: dict[int, float]) -> float:
        return missing.promised_s(source, duration_s=self.duration_s, last_dts=last_dts, ends_s=tuple(ends_s.values()))


def _language(stream: Any) -> str:
    named = str(stream.metadata.get("language", ""))
    # A language tag is one word. Any other text in that field is not passed on.
    return named if re.fullmatch(r"[A-Za-z0-9-]{1,35}", named) else "und"


def _rotation(source: Source) -> int:
    """The rotation is side data of a decoded frame. One frame is decoded if the container can have a rotation."""
    if not _turns(source):
        return 0
    source.seek(source.stream.start_time or 0)
    picture: Any = source.next_frame()
    return 0 if picture is None else turned_deg(source, picture)


def turned_deg(source: Source, picture: Any) -> int:
    """How far a video player turns a decoded frame clockwise: 0, 90, 180 or 270 degrees."""
    # PyAV counts anticlockwise.
    return round(-picture.rotation / 90) % 4 * 90 if _turns(source) else 0


def _turns(source: Source) -> bool:
    return source.container.format.name.split(",")[0] in ("mov", "matroska")
