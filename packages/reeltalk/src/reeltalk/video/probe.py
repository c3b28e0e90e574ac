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
from reeltalk.video.picture import HDR, Look
from reeltalk.video.records import Gap, Probe
from reeltalk.video.stream import COVERS, Source, VideoError, open_video

UNEVEN_SHARE: Final = 0.02
"""If distances between frames differ by more than this share, the rate is variable. Less is rounding."""


def probe(path: Path) -> Probe:
    """Read a file's headers and packets.

    Raises:
        VideoError: The file is not a supported video.
    """
    first, look = _first(path)
    with open_video(path) as source:
        times = _Times(source)
        return Probe(
            container=source.container.format.name,
            codec=source.codec,
            pixel_format=source.stream.codec_context.pix_fmt or "unknown",
            width_px=source.width_px,
            height_px=source.height_px,
            rotation_deg=look.rotation_deg,
            mirrored=look.mirrored,
            pixel_aspect=look.aspect,
            transfer=HDR.get(int(first.color_trc)) if first is not None else None,
            interlaced=first is not None and first.interlaced_frame,
            start_s=times.start_s,
            duration_s=times.duration_s,
            promised_s=times.promised_s,
            gaps_s=times.gaps_s,
            frame_rate=source.frame_rate,
            variable_frame_rate=times.variable,
            frames=times.frames,
            hidden_frames=times.hidden,
            recordings=source.joints + 1,
            streams=sum(not stream.disposition & COVERS for stream in source.container.streams.video),
            audio_codec=next((s.codec_context.name for s in source.container.streams.audio if s.codec_context), None),
            subtitles=tuple(map(_language, source.container.streams.subtitles)),
            key_frames_s=times.key_frames_s,
        )


def _first(path: Path) -> tuple[av.VideoFrame | None, Look]:
    """The first frame, which alone tells how frames are shown; None if it cannot be decoded."""
    with open_video(path) as source:
        try:
            first = source.next_frame()
        except VideoError:
            first = None
        plain = Look(source.width_px, source.height_px, Fraction(1), 0, False)
        return (None, plain) if first is None else (first.picture, source.look)


class _Times:
    """Times of all packets on the clock of a player."""

    def __init__(self, source: Source) -> None:
        pts, key_pts, damaged_pts = array("q"), array("q"), array("q")
        last, last_duration, counted, first_dts, last_dts = None, 0, 0, None, 0
        self.hidden = 0
        # A header may state only one length for all streams together.
        together = source.container.format.name.split(",")[0] in missing.LENGTH_IN_HEADER
        streams = source.container.streams
        others = [s for s in (*streams.video, *streams.audio, *streams.subtitles) if s.index != source.stream.index]
        # In ticks until the last packet: a Fraction for each packet would cost as much as reading it.
        ends = {source.stream.index: 0}
        try:
            with missing.Complaints() as complaints:
                for packet in source.packets(*(others if together else ())):
                    stamp = packet.pts if packet.pts is not None else packet.dts
                    if stamp is not None and not packet.is_discard:
                        index = packet.stream_index
                        ends[index] = max(ends.get(index, 0), stamp + (packet.duration or 0))
                    if packet.stream_index != source.stream.index:
                        continue
                    if packet.dts is not None:
                        last_dts = max(last_dts, packet.dts)
                    if packet.size == 0:
                        continue
                    if packet.is_discard:
                        self.hidden += 1
                        continue
                    counted += 1
                    first_dts = packet.dts if first_dts is None else first_dts
                    if stamp is None:
                        continue
                    pts.append(stamp)
                    if last is None or stamp > last:
                        last, last_duration = stamp, packet.duration or last_duration
                    if packet.is_keyframe:
                        key_pts.append(stamp)
                    if packet.is_corrupt or complaints.more():
                        damaged_pts.append(stamp)
        except (av.error.FFmpegError, ValueError, OSError) as error:
            raise VideoError(f"its packets cannot be read ({str(error)[:80]})") from None
        if not counted:
            raise VideoError("it has no video frames")
        self.frames = counted
        ordered = np.sort(np.frombuffer(pts, np.int64)) if pts else np.zeros(0, np.int64)
        tick_s, zero = float(source.time_base), source.zero_or(int(ordered[0]) if pts else 0)
        distances = np.diff(ordered)
        usual = float(np.median(distances)) if len(distances) else float(source.step)
        self.variable = bool((np.abs(distances - usual) > max(1.01, UNEVEN_SHARE * usual)).any())
        self.start_s = float(ordered[0] - zero) * tick_s if pts and ordered[0] - zero > source.step else 0.0
        self.gaps_s: tuple[Gap, ...] = ()
        if len(ordered) < 2:
            self.duration_s = self.start_s + counted * source.step * tick_s
            self.key_frames_s: tuple[float, ...] = (self.start_s,)
        else:
            self.duration_s = float((int(ordered[-1]) - zero + (last_duration or round(usual))) * source.time_base)
            stamps = sorted(key_pts) or [int(ordered[0])]
            self.key_frames_s = tuple(max(0.0, float((stamp - zero) * source.time_base)) for stamp in stamps)
        if damaged_pts:
            marks = np.frombuffer(damaged_pts, np.int64)
            self.gaps_s = missing.gaps(np.asarray((ordered - zero) * tick_s), ((marks - zero) * tick_s).tolist())
        ends_s = tuple(float(end * (streams[index].time_base or 0)) for index, end in ends.items())
        self.promised_s = missing.promised_s(
            source,
            zero=zero,
            ahead=int(ordered[0]) - first_dts if pts and first_dts is not None else 0,
            duration_s=self.duration_s,
            last_dts=last_dts,
            ends_s=ends_s,
        )


def _language(stream: Any) -> str:
    named = str(stream.metadata.get("language", ""))
    # A language tag is one word. Any other text in that field is not passed on.
    return named if re.fullmatch(r"[A-Za-z0-9-]{1,35}", named) else "und"
