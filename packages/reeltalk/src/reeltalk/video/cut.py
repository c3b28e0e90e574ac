"""Cuts a clip out of a video file, without loss if possible.

A cut that begins on a key frame is copied. Any other cut is copied from the key frame before it, with an edit list that
tells players and FFmpeg (and so every decoder built on FFmpeg) where to begin. Nothing is lost and nothing is encoded.
With `encode` the file also starts at the right frame for readers that ignore edit lists.
"""

import contextlib
import secrets
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
import av.error

from reeltalk.schema.intervals import Interval
from reeltalk.store.atomic import PARTIAL_PREFIX
from reeltalk.video.frames import MARGIN_S
from reeltalk.video.picture import state_colours
from reeltalk.video.records import Cut, CutMethod
from reeltalk.video.stream import TARGETS_FAULT, Source, VideoError, describe, open_video

COPIED_CODECS: Final = frozenset({"h264", "hevc", "mpeg4", "av1", "vp9"})
"""Codecs that an MP4 file may hold and that browsers or FFmpeg play from it."""
COPIED_AUDIO: Final = frozenset({"aac", "mp3", "opus", "ac3", "flac"})
MOST_REORDERED: Final = 32
"""How many packets after the end are searched for a frame that is shown before it. No codec reorders more."""
ENCODER_OPTIONS: Final = {"crf": "18", "preset": "veryfast"}


def cut_clip(path: Path, interval: Interval, target: Path, *, lossless: bool) -> Cut:
    """Write one clip as an MP4 file.

    Args:
        path: The video.
        interval: The part to cut out, in seconds on the clock of a player.
        target: The file to write, whole or not at all.
        lossless: Copy whenever the codec allows it. If false, only a clip that begins on a key frame is copied.

    Raises:
        VideoError: No part of the interval can be decoded, or the target cannot be written.
    """
    # If a node of a cluster was given up too early, two processes write the same clip. Each uses its own temporary
    # name.
    partial = target.with_name(f"{PARTIAL_PREFIX}{secrets.token_hex(6)}")
    try:
        made = _cut(path, interval, partial, lossless)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return made


def _cut(path: Path, interval: Interval, target: Path, lossless: bool) -> Cut:
    with open_video(path) as source:
        if source.next_frame() is None:
            raise VideoError("no frame can be decoded")
        first = source.zero + _ticks(interval.start_s, source)
        end = source.zero + _ticks(interval.end_s, source)
        source.seek(first)
        if source.codec in COPIED_CODECS and not source.joined:
            key = next((p.pts for p in source.container.demux(source.stream) if p.pts is not None), None)
            on_key = key is not None and abs(key - first) * source.time_base <= Fraction(1, 1000)
            if key is not None and key <= first + 1 and (lossless or on_key):
                shown = _copy(source, target, first, end)
                return Cut(how=CutMethod.COPY if on_key else CutMethod.TRIM, interval=shown)
        shown = _encode(source, target, first, end)
        return Cut(how=CutMethod.ENCODE, interval=shown)


def _ticks(seconds: float, source: Source) -> int:
    # A frame whose time was rounded earlier still lies inside.
    return round((Fraction(seconds) - Fraction(1, 1_000_000)) / source.time_base)


@contextlib.contextmanager
def _writing(target: Path, how: str, **options: str) -> Iterator[Any]:
    try:
        with av.open(str(target), "w", format="mp4", options={"movflags": "+faststart", **options}) as output:
            yield output
    except (av.error.FFmpegError, OSError, ValueError) as error:
        place = f" into {target}" if getattr(error, "errno", None) in TARGETS_FAULT else ""
        raise VideoError(f"the clip cannot be {how}{place} ({describe(error)})") from None


def _copy(source: Source, target: Path, first: int, end: int) -> Interval:
    source.seek(first)
    audio = _audio(source)
    last_end = end
    with _writing(target, "copied", avoid_negative_ts="disabled") as output:
        copied: dict[int, Any] = {source.stream.index: output.add_stream_from_template(source.stream, opaque=True)}
        if audio is not None:
            copied[audio.index] = output.add_stream_from_template(audio, opaque=True)
        held: list[Any] = []
        seen_past_end = 0
        frames = 0
        for packet in _with_decoding_times(source, audio):
            base = Fraction(packet.time_base)
            zero = round(first * source.time_base / base)
            if packet.stream.index == source.stream.index:
                if packet.pts >= end:
                    # Frames before the end may be predicted from this one, so it is written only if one follows.
                    seen_past_end += 1
                    if packet.dts >= end or seen_past_end > MOST_REORDERED:
                        break
                    held.append((packet, zero))
                    continue
                for earlier, its_zero in held:
                    last_end = max(last_end, earlier.pts + (earlier.duration or 0))
                    _mux(output, earlier, copied, its_zero)
                held.clear()
                frames += packet.pts >= first
            elif not zero <= packet.pts < round(end * source.time_base / base):
                continue
            _mux(output, packet, copied, zero)
        if not frames:
            raise VideoError("no frame lies in the interval")
    return _interval(source, first, last_end)


def _with_decoding_times(source: Source, audio: Any) -> Iterator[Any]:
    """The packets from here on. Matroska gives the first ones no decoding time, so it is counted back from the next."""
    waiting: list[Any] = []
    for packet in source.container.demux(*([source.stream] + ([audio] if audio else []))):
        if packet.pts is None or packet.size == 0:
            continue
        if packet.stream.index != source.stream.index:
            if packet.dts is not None:
                yield packet
            continue
        if packet.dts is None:
            waiting.append(packet)
            continue
        for earlier, held in enumerate(waiting):
            held.dts = min(packet.dts - (len(waiting) - earlier) * source.step, held.pts)
            yield held
        waiting.clear()
        yield packet
    # There are no decoding times at all, so no frames are out of order.
    for held in waiting:
        held.dts = held.pts
        yield held


def _audio(source: Source) -> Any:
    """The first sound that can be copied into an MP4 file."""
    streams = source.container.streams.audio
    return next((s for s in streams if s.codec_context and s.codec_context.name in COPIED_AUDIO), None)


def _mux(output: Any, packet: Any, copied: dict[int, Any], zero: int) -> None:
    packet.pts -= zero
    packet.dts -= zero
    packet.stream = copied[packet.stream.index]
    output.mux(packet)


def _encode(source: Source, target: Path, first: int, end: int) -> Interval:
    # Seek far enough back, because containers index by decoding time.
    source.seek(max(source.zero, first - int(MARGIN_S / source.time_base)))
    rate = source.frame_rate or Fraction(25)
    # The sound of joined recordings has time stamps that start again.
    audio = None if source.joined else _audio(source)
    with _writing(target, "encoded") as output:
        stream: Any = None
        while (frame := source.next_frame()) is not None:
            if frame.pts < first:
                continue
            if frame.pts >= end:
                break
            picture = source.ready(frame.picture)
            if stream is None:
                width, height = picture.width, picture.height
                stream = output.add_stream("libx264", rate=rate, options=ENCODER_OPTIONS)
                stream.width, stream.height = width - width % 2, height - height % 2
                stream.pix_fmt = "yuv420p"
                stream.time_base = source.time_base
                state_colours(stream.codec_context, picture)
                stream.codec_context.time_base = source.time_base
                copied = output.add_stream_from_template(audio, opaque=True) if audio is not None else None
            picture = picture.reformat(stream.width, stream.height, "yuv420p")
            picture.pts, picture.time_base = frame.pts - first, source.time_base
            picture.pict_type = 0
            output.mux(stream.encode(picture))
        if stream is None:
            raise VideoError("nothing of the interval can be decoded")
        output.mux(stream.encode(None))
        if audio is not None:
            source.seek(first)
            for packet in source.container.demux(audio):
                if packet.dts is None or packet.pts is None:
                    continue
                base = Fraction(packet.time_base)
                zero = round(first * source.time_base / base)
                if packet.pts >= round(end * source.time_base / base):
                    break
                if packet.pts >= zero:
                    _mux(output, packet, {audio.index: copied}, zero)
    return _interval(source, first, end)


def _interval(source: Source, first: int, end: int) -> Interval:
    base = source.time_base
    return Interval(start_s=float(max(0, first - source.zero) * base), end_s=float((end - source.zero) * base))
