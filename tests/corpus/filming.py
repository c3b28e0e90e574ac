"""Writes films: pictures at their times, by any encoder, into any container, as the tools of the world do."""

import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import av
import numpy as np
from av.filter import Graph
from av.packet import Packet
from av.stream import Stream

from corpus.light import Curve, frame
from corpus.pattern import Matrix, Picture, paint, resized, stored

Shots = tuple[tuple[Fraction, int | tuple[int, int]], ...]
"""When a picture is first seen, and its number; two numbers where its fields are of two pictures, the top one first."""

os.environ.setdefault("SVT_LOG", "1")  # SVT-AV1 prints forty lines for each film otherwise.

UPRIGHT: Final = (1, 0, 0, 1)
CLOCK: Final = Fraction(1, 90_000)
TAGS: Final = {"bt601": (6, 6, 6), "bt709": (1, 1, 1), "pq": (9, 16, 9), "hlg": (9, 18, 9)}
"""Primaries, curve and matrix by their numbers in Rec. ITU-T H.273."""
QUICK: Final = {
    "libx264": {"preset": "ultrafast", "crf": "18", "x264-params": "log-level=none"},
    "libx265": {"preset": "ultrafast", "crf": "16", "x265-params": "log-level=none"},
    "libvpx": {"deadline": "realtime", "cpu-used": "8", "crf": "8", "b": "1M"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8", "crf": "20", "b": "0"},
    "libsvtav1": {"preset": "13", "crf": "25", "svtav1-params": "lp=1"},
    "mpeg2video": {"qscale": "3", "b": "2M"},
    "mpeg4": {"qscale": "3", "b": "2M"},
}
"""So that a film takes a moment and its pictures stay legible."""


@dataclass(frozen=True)
class Video:
    """One stream of pictures; width and height are those that are stored."""

    shots: Shots
    ends: Fraction
    """When the last picture goes."""
    codec: str = "libx264"
    width: int = 160
    height: int = 96
    pixel_format: str = "yuv420p"
    options: Mapping[str, str] = field(default_factory=dict)
    pixel: Fraction = Fraction(1)
    """How wide a stored point is shown for its height."""
    matrix: Matrix = UPRIGHT
    light: str = "bt601"
    """Which matrix its colours are made by: bt601, bt709 or bt2020."""
    curve: Curve = "sdr"
    full: bool = False
    """Levels from 0 to 255 instead of 16 to 235."""
    tags: str | None = "bt601"
    """What the stream says of its colours; None where it says nothing."""
    group: int = 12
    """Pictures from one key frame to the next at most."""
    b_frames: int = 0
    clock: Fraction = CLOCK
    fields: str | None = None
    """Which field comes first: top or bottom; None where there are whole pictures."""
    shift: Fraction = Fraction(0)
    """What is taken from the stamps after encoding."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    disposition: int | None = None
    keep: slice = field(default_factory=lambda: slice(None))
    """Which of the encoded packets are written."""

    @property
    def shown_size(self) -> tuple[int, int]:
        """Width and height as a player shows them, in square points."""
        across, down = round(self.width * self.pixel), self.height
        return (across, down) if self.matrix[0] else (down, across)


@dataclass(frozen=True)
class Sound:
    """One stream of sound: a tone from one time to another."""

    ends: Fraction
    starts: Fraction = Fraction(0)
    codec: str = "aac"
    rate: int = 16_000
    shift: Fraction = Fraction(0)


def steady(rate: Fraction | int, count: int, first: int = 0, starts: Fraction | int = 0) -> Shots:
    """Pictures at an even rate."""
    return tuple((Fraction(starts) + Fraction(number) / rate, first + number) for number in range(count))


def lasting(durations: Sequence[Fraction | int], unit: Fraction, **settings: Any) -> Video:
    """A stream of pictures, each shown for a number of units."""
    times = [Fraction(0)]
    for duration in durations:
        times.append(times[-1] + duration * unit)
    return Video(tuple(zip(times, range(len(durations)), strict=False)), times[-1], **settings)


def even(rate: Fraction | int, count: int, first: int = 0, **settings: Any) -> Video:
    """A stream of pictures at an even rate."""
    return Video(steady(rate, count, first), Fraction(count) / rate, **settings)


def picture(video: Video, number: int | tuple[int, int]) -> Picture:
    """The stored picture of a number."""
    width, height = video.shown_size
    if isinstance(number, tuple):
        painted = paint(number[0], width, height)
        painted[1::2] = paint(number[1], width, height)[1::2]
    elif video.fields is None:
        painted = paint(number, width, height)
    else:
        early, late = (paint(number, width, height, bar=(2 * number + odd) / 24) for odd in (0, 1))
        painted = late.copy()
        first = 0 if video.fields == "top" else 1
        painted[first::2] = early[first::2]
    turned = stored(painted, video.matrix)
    return resized(turned, video.width, video.height)


def frames(video: Video) -> Iterator[av.VideoFrame]:
    """The frames that the encoder gets."""
    graph = None
    for time, number in video.shots:
        made = frame(picture(video, number), video.pixel_format, video.light, video.full, video.curve)
        if video.fields:
            if graph is None:
                graph = Graph()
                source = graph.add_buffer(
                    width=made.width, height=made.height, format=made.format, time_base=video.clock
                )
                mode = graph.add("setfield", "tff" if video.fields == "top" else "bff")
                sink = graph.add("buffersink")
                source.link_to(mode)
                mode.link_to(sink)
                graph.configure()
            graph.push(made)
            filtered = graph.pull()
            assert isinstance(filtered, av.VideoFrame)
            made = filtered
        made.time_base = video.clock
        made.pts = round(time / video.clock)
        if video.tags:
            made.color_primaries, made.color_trc, made.colorspace = TAGS[video.tags]
        made.color_range = 2 if video.full else 1
        yield made


def add_video(output: av.container.OutputContainer, video: Video) -> av.VideoStream:
    """The stream of a film to be, before anything is written."""
    first = video.shots[0][0]
    rate = (len(video.shots) / (video.ends - first)).limit_denominator(1001) if video.ends > first else Fraction(25)
    options = {**QUICK.get(video.codec, {}), **video.options}
    if video.fields:
        options["flags"] = "+ilme+ildct"
    stream = output.add_stream(video.codec, rate=rate, options=options)
    assert isinstance(stream, av.VideoStream)
    stream.width, stream.height, stream.pix_fmt = video.width, video.height, video.pixel_format
    context = stream.codec_context
    context.time_base, context.gop_size, context.max_b_frames = video.clock, video.group, video.b_frames
    context.thread_count = 1
    if video.pixel != 1:
        context.sample_aspect_ratio = video.pixel
    if video.tags:
        context.color_primaries, context.color_trc, context.colorspace = TAGS[video.tags]
    if not video.pixel_format.startswith(("rgb", "pal", "gbr", "bgr")):
        context.color_range = 2 if video.full else 1
    if video.matrix != UPRIGHT:
        a, b, c, d = (part << 16 for part in video.matrix)
        width, height = video.width << 16, video.height << 16
        across, down = (-min(a, 0) - min(c, 0)) >> 16, (-min(b, 0) - min(d, 0)) >> 16
        left = across * (width if video.matrix[0] else height)
        top = down * (height if video.matrix[0] else width)
        stream.set_display_matrix([a, b, 0, c, d, 0, left, top, 1 << 30])
    if video.disposition is not None:
        stream.disposition = av.stream.Disposition(video.disposition)
    stream.metadata.update(video.metadata)
    return stream


def video_packets(stream: av.VideoStream, video: Video) -> "Iterator[Packet[Any]]":
    """The pictures as packets, each with how long it is shown."""
    made: list[Packet[Any]] = []
    for coming in frames(video):
        made += stream.encode(coming)
    made += stream.encode(None)
    yield from stamped(made, video)


def stamped(made: "list[Packet[Any]]", video: Video) -> "Iterator[Packet[Any]]":
    """The packets that are kept, with their durations and shifted."""
    times = [round(time / video.clock) for time, _ in video.shots] + [round(video.ends / video.clock)]
    lasts = {time: until - time for time, until in pairwise(times)}
    for packet in made[video.keep]:
        assert packet.pts is not None
        assert packet.dts is not None
        scale = packet.time_base / video.clock
        packet.duration = round(lasts.get(round(packet.pts * scale), 0) / scale)
        shift = round(video.shift / packet.time_base)
        packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
        yield packet


def splice(path: Path, *parts: Video, container: str | None = None) -> None:
    """Writes one stream whose parts come from several encoders: of other sizes, each from a key frame on."""
    others: list[tuple[av.container.OutputContainer, list[Packet[Any]]]] = []
    for part in parts[1:]:
        aside = av.open(io.BytesIO(), "w", format="mpegts" if path.suffix == ".ts" else "matroska")
        others.append((aside, list(video_packets(add_video(aside, part), part))))
    with av.open(str(path), "w", format=container) as output:
        stream = add_video(output, parts[0])
        output.start_encoding()
        for packet in video_packets(stream, parts[0]):
            output.mux_one(packet)
        for _, packets in others:
            for packet in packets:
                packet.stream = stream
                output.mux_one(packet)
    for aside, _ in others:
        aside.close()


def sound_packets(stream: av.AudioStream, sound: Sound) -> "Iterator[Packet[Any]]":
    """A tone as packets, the first one stamped with the very start."""
    count = int((sound.ends - sound.starts) * sound.rate)
    wave = (np.sin(np.arange(count) * (2 * math.pi * 440 / sound.rate)) * 6000).astype(np.int16)
    tone = av.AudioFrame.from_ndarray(wave[None], format="s16", layout="mono")
    tone.sample_rate, tone.time_base, tone.pts = sound.rate, Fraction(1, sound.rate), 0
    resampler = av.AudioResampler(
        stream.codec_context.format, "mono", sound.rate, stream.codec_context.frame_size or None
    )
    made = [packet for part in (*resampler.resample(tone), *resampler.resample(None)) for packet in stream.encode(part)]
    made += stream.encode(None)
    first = made[0].pts or 0
    for packet in made:
        assert packet.pts is not None
        offset = round((sound.starts - sound.shift) / packet.time_base) - first
        packet.pts = packet.dts = packet.pts + offset
        yield packet


def jpeg(width: int, height: int, number: int = 1023) -> bytes:
    """A picture as a file: a cover or a thumbnail."""
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = width, height, "yuvj420p", Fraction(1, 25)
    encoder.color_range = 2
    made = frame(paint(number, width, height), "yuvj420p", full=True)
    made.pts, made.time_base, made.color_range = 0, Fraction(1, 25), 2
    return b"".join(bytes(packet) for packet in [*encoder.encode(made), *encoder.encode(None)])


def write(
    path: Path | IO[bytes],
    *tracks: Video | Sound,
    container: str | None = None,
    options: Mapping[str, str] | None = None,
    cover: bytes | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a film of these streams, in their order; an attached picture stands last."""
    target = str(path) if isinstance(path, Path) else path
    with av.open(target, "w", format=container, options=dict(options or {})) as output:
        output.metadata.update(metadata or {})
        streams: list[Stream] = []
        for track in tracks:
            if isinstance(track, Video):
                streams.append(add_video(output, track))
            else:
                streams.append(output.add_stream(track.codec, rate=track.rate, layout="mono", bit_rate=48_000))
        if cover is not None:
            output.add_attachment("cover.jpg", "image/jpeg", cover)
        output.start_encoding()
        packets: list[Packet[Any]] = []
        for stream, track in zip(streams, tracks, strict=True):
            if isinstance(track, Video):
                assert isinstance(stream, av.VideoStream)
                packets += video_packets(stream, track)
            else:
                assert isinstance(stream, av.AudioStream)
                packets += sound_packets(stream, track)
        packets.sort(key=lambda packet: (packet.dts or 0) * packet.time_base)
        for packet in packets:
            output.mux_one(packet)
