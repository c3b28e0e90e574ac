"""Films as people have them: cut, joined, turned, half written, of cameras, recorders, browsers and discs.

`python -m corpus.films FOLDER`, in `tests`, writes them all.
"""

import re
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av

from corpus.entry import Film
from corpus.filming import CLOCK, Sound, Video, add_video, even, jpeg, lasting, splice, steady, video_packets, write

Second = Fraction(1)
PAL, NTSC, CINEMA, FIELDS = Fraction(25), Fraction(30_000, 1001), Fraction(24_000, 1001), Fraction(60_000, 1001)
OPUS: Final[Mapping[str, Any]] = {"codec": "libopus", "rate": 48_000}
PHONE: Final[Mapping[str, Any]] = {"full": True, "pixel_format": "yuvj420p"}
COVER: Final = Video(
    ((Fraction(0), 1023),),
    Fraction(1, 25),
    codec="mjpeg",
    pixel_format="yuvj420p",
    full=True,
    disposition=0x400,
    width=64,
    height=64,
)
"""An attached picture, by its flag in FFmpeg."""
MUX_DELAY: Final = {"max_delay": "700000"}
"""What the ffmpeg program asks of every transport stream: it starts after 1.4 s."""


def film(
    name: str,
    *tracks: Video | Sound,
    container: str | None = None,
    options: Mapping[str, str] | None = None,
    zero: Fraction | int = 0,
    attached: bool = False,
    **facts: Any,
) -> Film:
    """A film of these streams; what is right follows from how its first pictures are made."""

    def make(path: Path) -> None:
        write(path, *tracks, container=container, options=options, cover=jpeg(64, 64) if attached else None)

    videos = [track for track in tracks if isinstance(track, Video) and track.disposition != COVER.disposition]
    known: dict[str, Any] = {"make": make, "sound": any(isinstance(track, Sound) for track in tracks)}
    if videos:
        known |= of_pictures(videos[facts.get("stream", 0)], Fraction(zero))
    return Film(name=name, **(known | facts))


def legible(number: int | tuple[int, int]) -> int | None:
    """The number that can be read in a picture, unless its fields are of two."""
    top, bottom = number if isinstance(number, tuple) else (number, number)
    return top if top == bottom else None


def of_pictures(video: Video, zero: Fraction) -> dict[str, Any]:
    """What a player shows of a stream: nothing of what was before its clock starts."""
    began = video.shift + zero
    seen = [(time - began, number) for time, number in video.shots if time >= began]
    return {
        "numbers": tuple(legible(number) for _, number in seen),
        "times": tuple(float(time) for time, _ in seen),
        "ends": float(video.ends - began),
        "size": video.shown_size,
        "stored_size": (video.width, video.height),
        "matrix": video.matrix,
        "light": video.light,
        "full": video.full,
        "colours": "hue" if video.curve != "sdr" else "exact",
        "fields": video.fields,
    }


def broken(name: str, whole: Film, harm: Callable[[bytes, Path], bytes], **facts: Any) -> Film:
    """A film that something happened to."""

    def make(path: Path) -> None:
        whole.make(path)
        path.write_bytes(harm(path.read_bytes(), path))

    return Film(**(vars(whole) | {"name": name, "make": make} | facts))


def bytes_film(name: str, content: bytes, **facts: Any) -> Film:
    """A file that has the name of a film, and nothing else."""

    def make(path: Path) -> None:
        path.write_bytes(content)

    return Film(name=name, make=make, verdict="refuse", **facts)


def cut_in_picture(number: int) -> Callable[[bytes, Path], bytes]:
    """Cuts a film off in the middle of one of its stored pictures."""

    def cut(content: bytes, path: Path) -> bytes:
        with av.open(str(path)) as whole:
            packets = [packet for packet in whole.demux(whole.streams.video[0]) if packet.size]
        place = packets[number].pos
        assert place is not None
        return content[: place + max(packets[number].size // 2, 1)]

    return cut


def without_index(content: bytes, path: Path) -> bytes:
    """An MP4 whose writer never came to its index, which stands last."""
    return content[: content.index(b"moov") - 4]


class Pipe:
    """Where a browser writes: it can't go back and fill in how long the film became."""

    def __init__(self) -> None:
        self.content = b""

    def write(self, part: bytes) -> int:
        self.content += part
        return len(part)


def piped(name: str, *tracks: Video | Sound, container: str, options: Mapping[str, str], **facts: Any) -> Film:
    """A film that was written without going back."""

    def make(path: Path) -> None:
        pipe: Any = Pipe()
        write(pipe, *tracks, container=container, options=options)
        path.write_bytes(pipe.content)

    return film(name, *tracks, **facts, make=make)


def joined(
    name: str, *parts: tuple[Sequence[Video | Sound], Mapping[str, str]], numbers: Sequence[int], **facts: Any
) -> Film:
    """Transport streams one after the other, as `cat` joins them."""

    def make(path: Path) -> None:
        content = b""
        for tracks, options in parts:
            write(path, *tracks, container="mpegts", options=options)
            content += path.read_bytes()
        path.write_bytes(content)

    return film(name, *parts[0][0], make=make, numbers=tuple(numbers), **facts)


def spliced(name: str, *parts: Video, **facts: Any) -> Film:
    """A film whose pictures change their size on the way."""
    shots = tuple(shot for part in parts for shot in part.shots)

    def make(path: Path) -> None:
        splice(path, *parts)

    return film(name, Video(shots, parts[-1].ends, width=parts[0].width, height=parts[0].height), make=make, **facts)


def packed_b_frames(path: Path) -> None:
    """An AVI of DivX 5: a B-frame travels with the frame after it, and an empty one keeps the count.

    The encoder's own note in the stream is replaced by that of DivX, whose last letter says so.
    """
    video = even(
        PAL,
        25,
        codec="mpeg4",
        b_frames=1,
        group=100,
        clock=1 / PAL,
        options={"b_strategy": "0", "sc_threshold": "1000000000"},
    )
    with av.open(str(path), "w", format="avi") as output:
        stream = add_video(output, video)
        stream.codec_context.codec_tag = "DX50"
        output.start_encoding()
        coded = [bytes(packet) for packet in video_packets(stream, video)]
        coded[0] = re.sub(rb"\x00\x00\x01\xb2[ -~]+", b"\x00\x00\x01\xb2DivX503b1393p", coded[0])
        empty = b"\x00\x00\x01\xb6" + int("0101000001001111", 2).to_bytes(2)
        chunks = [coded[0]]
        for later, between in zip(coded[1::2], coded[2::2], strict=True):
            chunks += [later + between, empty]
        for place, chunk in enumerate(chunks):
            packet: av.Packet[Any] = av.Packet(chunk)
            packet.stream, packet.time_base = stream, 1 / PAL
            packet.pts = packet.dts = place
            packet.is_keyframe = place == 0
            output.mux_one(packet)


def with_late_stamp(number: int, late: int) -> Callable[[bytes, Path], bytes]:
    """Does harm to the stamp of one stored picture of a transport stream, by a number of ticks."""

    def harmed(content: bytes, path: Path) -> bytes:
        with av.open(str(path)) as whole:
            packets = [packet for packet in whole.demux(whole.streams.video[0]) if packet.size]
        pts = packets[number].pts
        start = packets[number].pos
        assert pts is not None
        assert start is not None
        # Five bytes after the nine of a PES header: three, fifteen and fifteen bits, each with a mark behind.
        at = content.index(b"\x00\x00\x01\xe0", start) + 9
        stamp = pts + late
        parts = ((stamp >> 29 & 0xE) | 0x21, stamp >> 22 & 0xFF, stamp >> 14 & 0xFE | 1, stamp >> 7 & 0xFF)
        return content[:at] + bytes((*parts, stamp << 1 & 0xFE | 1)) + content[at + 5 :]

    return harmed


def with_edits(*edits: tuple[int, Fraction]) -> Callable[[bytes, Path], bytes]:
    """Other edits in place of those of an MP4 whose index stands last: how many milliseconds, from which time on."""

    def edited(content: bytes, path: Path) -> bytes:
        index = content.index(b"moov") - 4
        place = content.index(b"edts", index) - 4
        until = place + int.from_bytes(content[place : place + 4])
        rows = b"".join(struct.pack(">iiI", lasts, int(starts / CLOCK), 1 << 16) for lasts, starts in edits)
        edit_list = struct.pack(">I4sII", 16 + len(rows), b"elst", 0, len(edits)) + rows
        box = struct.pack(">I4s", 8 + len(edit_list), b"edts") + edit_list
        made = bytearray(content[:place] + box + content[until:])
        for around in (index, content.index(b"trak", index) - 4):
            size = int.from_bytes(content[around : around + 4]) + len(box) - (until - place)
            made[around : around + 4] = size.to_bytes(4)
        return bytes(made)

    return edited


def nine_hours(content: bytes, path: Path) -> bytes:
    """An MP4 whose headers say that it lasts nine hours, whatever its tables of pictures say."""
    made = bytearray(content)
    for box, place, rate in ((b"mvhd", 20, 1000), (b"tkhd", 24, 1000), (b"mdhd", 20, 90_000)):
        at = content.index(box) + place
        made[at : at + 4] = (9 * 3600 * rate).to_bytes(4)
    edits = content.index(b"edts")
    made[edits : edits + 4] = b"free"
    return bytes(made)


SOFT_TELECINE: Final = ((1, 1, 3), (0, 0, 2), (0, 1, 3), (1, 0, 2))
"""Whether the top field is first, whether the first field is shown again, and how many fields a picture lasts."""


def soft_telecine(path: Path) -> None:
    """An MPEG-2 stream of 24 pictures a second that asks for some of their fields to be shown again."""
    video = even(CINEMA, 48, codec="mpeg2video", clock=1 / CINEMA, options={"flags": "+ildct"})
    unit = Fraction(1, 90_000)
    with av.open(str(path), "w", format="vob") as output:
        stream = add_video(output, video)
        output.start_encoding()
        fields = 0
        for number, packet in enumerate(video_packets(stream, video)):
            top_first, again, lasts = SOFT_TELECINE[number % 4]
            coded = bytearray(bytes(packet))
            header = coded.find(b"\x00\x00\x01\xb3")
            if header >= 0:
                coded[header + 7] = coded[header + 7] & 0xF0 | 4  # 30000/1001 pictures a second
            for found in re.finditer(rb"\x00\x00\x01\xb5", bytes(coded)):
                place = found.end()
                if coded[place] >> 4 == 1:
                    coded[place + 1] &= 0xF7  # not all of it is progressive
                elif coded[place] >> 4 == 8:
                    coded[place + 3] = coded[place + 3] & 0x7D | top_first << 7 | again << 1
                    coded[place + 4] |= 0x80  # the picture is
            made: av.Packet[Any] = av.Packet(bytes(coded))
            made.stream, made.time_base, made.is_keyframe = stream, unit, packet.is_keyframe
            made.pts = made.dts = round(fields / FIELDS / unit)
            made.duration = round(lasts / FIELDS / unit)
            output.mux_one(made)
            fields += lasts


def with_subtitles(path: Path) -> None:
    """A Matroska with a stream of subtitles in it."""
    with av.open(str(path), "w") as output:
        video = even(PAL, 50)
        stream = add_video(output, video)
        lines = output.add_mux_stream("subrip")
        output.start_encoding()
        for packet in video_packets(stream, video):
            output.mux_one(packet)
        line: av.Packet[Any] = av.Packet(b"The kettle is on.")
        line.stream, line.time_base = lines, Fraction(1, 1000)
        line.pts = line.dts = 500
        line.duration = 1000
        output.mux_one(line)


def telecine(count: int) -> Video:
    """Four pictures of cinema film in every five of American television, by fields: AA BB BC CD DD."""
    shots = []
    for place in range(count):
        four, step = divmod(place, 5)
        top, bottom = ((0, 0), (1, 1), (1, 2), (2, 3), (3, 3))[step]
        shots.append((place / NTSC, (4 * four + top, 4 * four + bottom)))
    return Video(tuple(shots), count / NTSC, codec="mpeg2video", fields="top", clock=1 / NTSC, group=15)


def simple(name: str, rate: Fraction | int, count: int, tool: str, special: str, source: str, **settings: Any) -> Film:
    """A film at an even rate and without sound."""
    return film(name, even(rate, count, **settings), tool=tool, special=special, source=source)


FORMATS = "https://ffmpeg.org/ffmpeg-formats.html"
QUICKTIME = "https://developer.apple.com/documentation/quicktime-file-format"
CUT_VIDEO = even(PAL, 100, shift=Fraction(37, 25), keep=slice(24, None))
TS_A = (even(PAL, 50), Sound(2 * Second, codec="mp2"))
TS_B = (even(PAL, 50, first=50), Sound(2 * Second, codec="mp2"))

CUT: Final = (
    film(
        "cut_copy.mp4",
        CUT_VIDEO,
        Sound(4 * Second, starts=Fraction(37, 25), shift=Fraction(37, 25)),
        tool="ffmpeg -ss 1.48 -i … -c copy (any version)",
        source="https://github.com/changil/avspeech-downloader/issues/1",
        special="13 pictures before the start are stored, since the cut is no key frame, and hidden by an edit list.",
    ),
    film(
        "cut_copy.mkv",
        CUT_VIDEO,
        Sound(4 * Second, starts=Fraction(37, 25), shift=Fraction(37, 25), codec="mp2"),
        zero=Fraction(-13, 25),
        tool="ffmpeg -ss 1.48 -i … -c copy (any version)",
        source="https://github.com/mifi/lossless-cut/issues/1469",
        special="Matroska hides nothing: all pictures from the key frame on are shown, and the sound starts 0.52 s "
        "later.",
        judgement="The pictures before the cut are shown, since nothing says that they should not be; a reader that "
        "begins with the sound, at 0.52 s, is right in what was meant.",
    ),
    film(
        "picture_3s_late.mp4",
        Video(steady(PAL, 50, 0, 3), 5 * Second),
        Sound(5 * Second),
        tool="ffmpeg, stream with -itsoffset 3",
        source=FORMATS,
        special="An empty edit of 3 s before the pictures: the first picture is due 3 s after the first sound.",
    ),
    film(
        "picture_3s_late.mkv",
        Video(steady(PAL, 50, 0, 3), 5 * Second),
        Sound(5 * Second, codec="flac"),
        tool="OBS Studio, mkv, capture starting late",
        source="https://www.matroska.org/technical/notes.html",
        special="The same in Matroska, by stamps alone.",
    ),
    film(
        "sound_2s_late.mp4",
        even(PAL, 100),
        Sound(4 * Second, starts=2 * Second),
        tool="ffmpeg, sound with -itsoffset 2",
        source=FORMATS,
        special="The sound starts 2 s after the picture.",
    ),
    film(
        "no_edit_list.mp4",
        even(PAL, 50, b_frames=2, shift=Fraction(-2, 25)),
        Sound(2 * Second),
        options={"use_editlist": "0"},
        tool="ffmpeg -use_editlist 0; old Android and web muxers",
        source=FORMATS,
        special="B-frames without an edit list to make up for their delay: the first picture is due at 0.08 s.",
        judgement="A player that counts from the first picture would say 0; the sound stands at 0, so the picture "
        "stands at 0.08 s.",
    ),
    film(
        "b_frames_negative_dts.mp4",
        even(PAL, 50, b_frames=2),
        Sound(2 * Second),
        options={"movflags": "negative_cts_offsets"},
        tool="ffmpeg -movflags negative_cts_offsets",
        source=FORMATS,
        special="Pictures are stored out of order, with negative offsets from decoding to showing.",
    ),
    film(
        "b_frames.mkv",
        even(PAL, 50, b_frames=3),
        Sound(2 * Second, **OPUS),
        tool="ffmpeg 6, libx264 -bf 3, mkv",
        source=FORMATS,
        special="Pictures are stored out of order; sound has a codec delay.",
    ),
    film(
        "open_group_start.ts",
        even(
            PAL,
            60,
            b_frames=2,
            keep=slice(10, None),
            options={"x264-params": "log-level=none:open-gop=1:scenecut=0:b-adapt=0"},
        ),
        options=MUX_DELAY,
        tool="DVR tuned in mid-stream; ffmpeg -c copy of broadcast H.264",
        source="https://ffmpeg.org/ffmpeg-codecs.html (cgop, output_corrupt)",
        special="The first stored picture refers back to a part that is not there: two pictures before the first "
        "whole one can't be decoded.",
        numbers=tuple(range(12, 60)),
        times=tuple((number - 12) / 25 for number in range(12, 60)),
        ends=1.92,
        judgement="The two broken pictures before the first whole one are not shown, and the clock starts with the "
        "first whole one. A player that shows them, grey in part, has 50 pictures.",
    ),
    film(
        "long_still.mp4",
        Video(((Fraction(0), 7),), 4 * Second),
        Sound(4 * Second),
        tool="podcast and lecture uploads: ffmpeg -loop 1 -r 1",
        source="https://trac.ffmpeg.org/wiki/Slideshow",
        special="One picture for four seconds of sound.",
        ends=4.0,
        judgement="One picture, shown until the sound ends.",
    ),
    film(
        "one_picture.mp4",
        even(PAL, 1),
        tool="phones, burst exports",
        source=FORMATS,
        special="A film of a single picture, 0.04 s long.",
    ),
)

WHOLE: Final = film("", even(PAL, 100), tool="", source="", special="")
EDITED: Final = (
    broken(
        "trimmed_both_ends.mov",
        WHOLE,
        with_edits((2000, Fraction(37, 25))),
        tool="iPhone Photos, QuickTime Player 10: trimmed without encoding anew",
        source="https://developer.apple.com/documentation/quicktime-file-format/edit_list_atom",
        special="All 100 pictures are stored; an edit list shows the 50 from 1.48 s on.",
        numbers=tuple(range(37, 87)),
        times=tuple(number / 25 for number in range(50)),
        ends=2.0,
    ),
    broken(
        "middle_cut_out.mp4",
        WHOLE,
        with_edits((1000, Fraction(0)), (1000, Fraction(58, 25))),
        tool="QuickTime Player 7 and 10, Avidemux: a part cut out without encoding anew",
        source="https://developer.apple.com/documentation/quicktime-file-format/edit_list_atom",
        special="Two edits: one second from the start, and one from 2.32 s on.",
        numbers=(*range(25), *range(58, 83)),
        times=tuple(number / 25 for number in range(50)),
        ends=2.0,
    ),
    broken(
        "says_nine_hours.mp4",
        WHOLE,
        nine_hours,
        tool="FadCam and other Android recorders on some phones",
        source="https://github.com/anonfaded/FadCam/issues/158",
        special="The headers say nine hours; the pictures are over after four seconds.",
        verdict="repair",
    ),
)

JOINED: Final = (
    joined(
        "joined_equal_stamps.ts",
        (TS_A, MUX_DELAY),
        (TS_B, MUX_DELAY),
        numbers=range(100),
        tool="cat a.ts b.ts > joined.ts",
        source="https://github.com/sannies/mp4parser/issues/317; https://github.com/androidx/media/pull/906",
        verdict="repair",
        times=tuple(number / 25 for number in range(100)),
        ends=4.0,
        special="The stamps start anew in the middle: the second half has those of the first.",
        judgement="Players show all 100 pictures, one after the other, for 4 s; the container itself says 2 s. "
        "Dropping one half would be wrong; refusing it with a reason is defensible.",
    ),
    joined(
        "joined_gap_of_an_hour.ts",
        (TS_A, MUX_DELAY),
        (TS_B, MUX_DELAY | {"output_ts_offset": "3600"}),
        numbers=range(100),
        tool="DVR or HLS recorder across a break; cat of segments",
        source="https://github.com/stackia/rtp2httpd/pull/676; "
        "https://github.com/small-teton/mpeg-ts-analyzer/issues/22",
        verdict="repair",
        times=tuple(number / 25 for number in range(100)),
        ends=4.0,
        special="The stamps jump an hour ahead in the middle.",
        judgement="A discontinuity, not an hour of frozen picture: 100 pictures within 4 s. A player that trusts the "
        "stamps shows the second half after an hour.",
    ),
    joined(
        "joined_continuous.ts",
        (TS_A, MUX_DELAY),
        ((Video(steady(PAL, 50, 50, 2), 4 * Second), Sound(4 * Second, starts=2 * Second, codec="mp2")), MUX_DELAY),
        numbers=range(100),
        tool="ffmpeg -f concat -c copy; HLS segments joined by yt-dlp",
        source="https://trac.ffmpeg.org/wiki/Concatenate",
        times=tuple(number / 25 for number in range(100)),
        ends=4.0,
        special="Two streams with continuous stamps, and a second set of tables in the middle.",
    ),
    broken(
        "one_stamp_back.ts",
        film("", *TS_A, options=MUX_DELAY, tool="", source="", special=""),
        with_late_stamp(30, -90_000),
        tool="DVB and IPTV recorders with bad reception",
        source="https://github.com/videojs/http-streaming/pull/1426",
        verdict="repair",
        special="The stamp of one picture is a second too early; those after it are right.",
        judgement="One damaged stamp, and no second recording: the picture keeps its place.",
    ),
    broken(
        "one_stamp_far.ts",
        film("", *TS_A, options=MUX_DELAY, tool="", source="", special=""),
        with_late_stamp(30, 90_000 * 3600),
        tool="DVB and IPTV recorders with bad reception",
        source="https://github.com/videojs/http-streaming/pull/1426; https://github.com/Zibbp/ganymede/issues/1330",
        verdict="repair",
        special="The stamp of one picture is an hour too late; those after it are right.",
        judgement="As above.",
    ),
    film(
        "lost_two_seconds.ts",
        Video((*steady(PAL, 25), *steady(PAL, 25, 75, 3)), 4 * Second),
        Sound(4 * Second, codec="mp2"),
        options=MUX_DELAY,
        tool="DVR with a lost signal",
        source="https://github.com/CasparCG/server/issues/1374",
        special="Two seconds of pictures are missing, the sound runs on: the 25th picture stays.",
        judgement="The clock goes on, as the sound does; it's a gap and not a repair.",
    ),
    film(
        "starts_at_10_hours.ts",
        *TS_A,
        options=MUX_DELAY | {"output_ts_offset": "36000"},
        tool="DVR, IPTV and HLS recordings",
        source="https://github.com/video-dev/hls.js/issues/483",
        special="The first stamp is at 10 h; a player's clock starts at 0.",
    ),
    film(
        "wraps_around.ts",
        *TS_A,
        options={"output_ts_offset": "95442.7"},
        tool="DVR, a station on air for 26.5 h",
        source="https://github.com/tvheadend/tvheadend/pull/2248; "
        "https://github.com/aws-samples/time-addressable-media-store-tools/pull/93",
        special="The 33 bits of the stamps overflow after one second.",
    ),
)

VARIABLE: Final = (
    film(
        "phone_dim_light.mp4",
        lasting([3] * 30 + [6, 5, 6, 6, 7, 6, 5, 6] * 3 + [3] * 21, Fraction(1, 90), **PHONE),
        Sound(3 * Second),
        tool="Android 10+ MediaRecorder (Pixel, Samsung)",
        source="https://github.com/TadasBaltrusaitis/OpenFace/issues/304",
        special="30 pictures a second that fall to about 15 in dim light, on a clock of 90 kHz.",
    ),
    film(
        "iphone_jitter.mov",
        lasting([20, 20, 21, 19, 20, 20, 40, 20, 19, 21] * 9, Fraction(1, 600), clock=Fraction(1, 600)),
        Sound(3 * Second),
        tool="iPhone Camera, iOS 16, .MOV",
        source="https://github.com/meta-pytorch/torchcodec/issues/1084",
        special="On a clock of 600 with a picture left out now and then: 29.9 on average, not 29.97.",
    ),
    film(
        "screen_recording.mov",
        lasting([1, 1, 1, 55, 1, 1, 1, 1, 88, 1, 1, 28], Fraction(1, 60), clock=Fraction(1, 6000)),
        tool="QuickTime Player 10 screen recording, macOS 14",
        source="https://github.com/opencv/opencv/issues/12112",
        special="A picture only where the screen changed: 12 in three seconds, some for more than one.",
    ),
    film(
        "screen_recording.mkv",
        lasting([2, 2, 2, 2, 60, 2, 2, 2, 2, 44], Fraction(1, 60)),
        Sound(2 * Second, **OPUS),
        tool="SimpleScreenRecorder, OBS with skipped frames, mkv",
        source="https://github.com/openmpf/openmpf/issues/1307",
        special="Variable in whole milliseconds, and no table of pictures.",
    ),
    film(
        "game_bar.mp4",
        lasting([1, 2, 1, 1, 3, 1, 1, 1, 2, 1] * 8, Fraction(1, 60)),
        Sound(Fraction(28, 15)),
        tool="Windows Game Bar, Android screen recorders",
        source="https://github.com/MitchSchwartz/MPE-Sound-Module/pull/132",
        special="Says 60 pictures a second, and has 43.",
    ),
    film(
        "rounded_stamps.mkv",
        even(Fraction(60_000, 1001), 120),
        tool="mkvmerge, OBS Studio, MakeMKV: any Matroska",
        source="https://www.matroska.org/technical/notes.html",
        special="59.94 pictures a second with stamps in whole milliseconds: 0, 17, 33, 50 and so on.",
    ),
)

RATES: Final = (
    simple("rate_2.mp4", 2, 8, "slide and lecture recordings, time-lapse cameras", "2 pictures a second.", FORMATS),
    simple(
        "rate_5.avi",
        5,
        15,
        "surveillance cameras, Motion 4",
        "5 pictures a second, Motion JPEG.",
        "https://motion-project.github.io/motion_config.html",
        codec="mjpeg",
        pixel_format="yuvj420p",
        full=True,
        clock=Fraction(1, 5),
    ),
    simple(
        "rate_23976.mp4",
        CINEMA,
        60,
        "film and streaming masters",
        "24000/1001 pictures a second.",
        FORMATS,
        clock=1 / CINEMA,
        b_frames=2,
    ),
    simple(
        "rate_2997.mp4",
        NTSC,
        60,
        "camcorders, YouTube downloads",
        "30000/1001 pictures a second.",
        FORMATS,
        clock=1 / NTSC,
        b_frames=2,
    ),
    simple("rate_50.mp4", 50, 100, "European cameras", "50 pictures a second.", FORMATS),
    simple("rate_60.mp4", 60, 120, "phones, game captures", "60 pictures a second.", FORMATS),
    simple("rate_120.mp4", 120, 240, "GoPro HERO, phones in slow motion", "120 pictures a second.", FORMATS),
    simple(
        "rate_240.mov",
        240,
        480,
        "iPhone slow motion (original, not the export)",
        "240 pictures a second; played at that rate, since the slowing down stands in the Photos app alone.",
        QUICKTIME,
        clock=Fraction(1, 2400),
    ),
)

TURNED: Final = tuple(
    film(
        name,
        even(30, 45, matrix=matrix, width=160, height=96, **PHONE),
        Sound(Fraction(3, 2)),
        tool=tool,
        source=source,
        special=special,
    )
    for name, matrix, tool, source, special in (
        (
            "portrait_right.mp4",
            (0, 1, -1, 0),
            "iPhone and Android held upright",
            "https://github.com/meta-pytorch/torchcodec/issues/1084",
            "Stored lying down, with a matrix that turns it a quarter clockwise (rotate=90).",
        ),
        (
            "portrait_left.mp4",
            (0, -1, 1, 0),
            "phones held upside down, BDD100K dashcams",
            "https://github.com/dmlc/decord/issues/24; https://github.com/datachain-ai/datachain/issues/1823",
            "Turned a quarter counter-clockwise (rotate=270).",
        ),
        (
            "upside_down.mov",
            (-1, 0, 0, -1),
            "phones and action cameras mounted upside down",
            "https://github.com/opencv/opencv/issues/26876",
            "Turned by half (rotate=180).",
        ),
        (
            "mirrored.mp4",
            (-1, 0, 0, 1),
            "front cameras that mirror by a matrix",
            "https://github.com/bytedeco/javacv/issues/1361",
            "Mirrored left to right: some tools take this for a turn by half.",
        ),
        (
            "portrait_mirrored.mp4",
            (0, 1, 1, 0),
            "front cameras held upright",
            "https://github.com/streamio/streamio-ffmpeg/pull/90; https://github.com/bytedeco/javacv/issues/1361",
            "Turned and mirrored at once.",
        ),
        (
            "portrait_mirrored_left.mov",
            (0, -1, -1, 0),
            "front cameras held upside down",
            "https://github.com/bytedeco/javacv/issues/1361",
            "Turned the other way and mirrored.",
        ),
    )
)

SHAPES: Final = (
    simple(
        "dvd_pal_wide.vob",
        PAL,
        50,
        "DVD, PAL 16:9 (a VOB file)",
        "720×576 stored, shown at 16:9; here an eighth: 90×72, points 64:45 wide.",
        "https://en.wikipedia.org/wiki/Pixel_aspect_ratio",
        codec="mpeg2video",
        width=90,
        height=72,
        pixel=Fraction(64, 45),
        clock=1 / PAL,
    ),
    simple(
        "dvd_ntsc.mpg",
        NTSC,
        50,
        "DVD, NTSC 4:3 (MPEG program stream)",
        "720×480 stored, shown at 4:3; here an eighth: points narrower than high.",
        "https://en.wikipedia.org/wiki/Pixel_aspect_ratio",
        codec="mpeg2video",
        width=90,
        height=60,
        pixel=Fraction(8, 9),
        clock=1 / NTSC,
    ),
    film(
        "hdv_camcorder.m2t",
        even(
            PAL,
            50,
            codec="mpeg2video",
            width=144,
            height=108,
            pixel=Fraction(4, 3),
            fields="top",
            clock=1 / PAL,
            light="bt709",
            tags="bt709",
        ),
        Sound(2 * Second, codec="mp2"),
        container="mpegts",
        options=MUX_DELAY,
        tool="HDV and AVCHD camcorders (.m2t, .MTS)",
        source="https://en.wikipedia.org/wiki/HDV",
        special="1440×1080 interlaced with points 4:3 wide, shown at 16:9; here a tenth.",
    ),
    simple(
        "pixels_wide.mp4",
        PAL,
        25,
        "HandBrake 1.x, anamorphic; DVD rips",
        "Points 16:11 wide, written in the container and in the stream.",
        "https://handbrake.fr/docs/en/latest/technical/anamorphic.html",
        width=88,
        height=72,
        pixel=Fraction(16, 11),
    ),
    simple(
        "pixels_wide.mkv",
        PAL,
        25,
        "MakeMKV, mkvmerge",
        "The same in Matroska: width and height to be shown stand beside those stored.",
        "https://www.matroska.org/technical/notes.html",
        width=88,
        height=72,
        pixel=Fraction(16, 11),
    ),
    simple(
        "odd_height.mp4",
        PAL,
        25,
        "1080p of everybody: 1088 rows are stored",
        "90 rows are shown of 96 that are stored.",
        "https://en.wikipedia.org/wiki/1080p",
        width=160,
        height=90,
    ),
    film(
        "dvr_top_first.ts",
        even(PAL, 50, codec="mpeg2video", fields="top", clock=1 / PAL),
        Sound(2 * Second, codec="mp2"),
        options=MUX_DELAY,
        tool="DVB recorders (TVHeadend, dreambox), 576i and 1080i",
        source="https://github.com/vllm-project/vllm/pull/47853",
        special="Interlaced, top field first: each picture is two moments woven into one.",
        judgement="25 pictures a second, as stored; a player that shows fields would have 50.",
    ),
    film(
        "interlaced_bottom_first.mp4",
        even(NTSC, 50, fields="bottom", clock=1 / NTSC),
        tool="DV camcorders and capture cards, re-encoded",
        source="https://github.com/happycube/ld-decode/issues/535",
        special="Interlaced H.264, bottom field first.",
        judgement="29.97 pictures a second, as stored.",
    ),
    film(
        "soft_telecine.vob",
        Video(
            tuple(((5 * (number // 2) + 3 * (number % 2)) / FIELDS, number) for number in range(48)),
            120 / FIELDS,
            codec="mpeg2video",
        ),
        make=soft_telecine,
        tool="American DVDs of cinema films (soft telecine)",
        source="https://en.wikipedia.org/wiki/Three-two_pull-down",
        special="24 pictures a second, whole; marks ask for fields to be shown again, so they last 3 and 2 fields "
        "in turn.",
        judgement="48 pictures at the times of their stamps; a television shows 60 by their fields.",
    ),
    film(
        "telecine.mpg",
        telecine(50),
        tool="American DVDs and broadcasts of cinema films (hard telecine)",
        source="https://en.wikipedia.org/wiki/Three-two_pull-down",
        special="24 pictures a second spread over 60 fields: two of every five pictures are woven of two.",
        fields=None,
        judgement="50 pictures as stored; the 40 of the cinema film are what a filter of inverse telecine would give.",
    ),
    spliced(
        "resolution_grows.webm",
        even(PAL, 25, codec="libvpx"),
        Video(steady(PAL, 25, 25, 1), 2 * Second, codec="libvpx", width=320, height=192),
        tool="WebRTC recorders (Kurento, Jitsi), Chrome MediaRecorder of a call",
        source="https://github.com/Kurento/bugtracker/issues/535; https://github.com/bvibber/OGVKit/issues/132",
        special="From 160×96 to 320×192 in mid-stream.",
        judgement="The size is that of the start, as the header says; later pictures are scaled to it. Chromium "
        "takes on the size of each part, 320×192 from 1 s on.",
    ),
    spliced(
        "resolution_falls.ts",
        even(PAL, 25, width=320, height=192),
        Video(steady(PAL, 25, 25, 1), 2 * Second),
        tool="adaptive HLS recordings (streamlink, yt-dlp), IP cameras",
        source="https://github.com/potmat/homebridge-google-nest-sdm/pull/238; "
        "https://github.com/ant-media/Ant-Media-Server/issues/5631",
        special="From 320×192 to 160×96 in mid-stream.",
        judgement="The size is that of the start.",
    ),
)

LIGHT: Final = (
    simple(
        "hdr10.mp4",
        PAL,
        10,
        "Samsung and Sony phones, HDR10 exports",
        "PQ and BT.2020 in 10 bits: without tone mapping colours come out grey.",
        "https://www.itu.int/rec/R-REC-BT.2100",
        codec="libx265",
        pixel_format="yuv420p10le",
        light="bt2020",
        curve="pq",
        tags="pq",
    ),
    simple(
        "hlg.mov",
        PAL,
        10,
        "iPhone 12+ HDR video (the HLG base of Dolby Vision 8.4)",
        "HLG and BT.2020 in 10 bits.",
        "https://www.itu.int/rec/R-REC-BT.2100",
        codec="libx265",
        pixel_format="yuv420p10le",
        light="bt2020",
        curve="hlg",
        tags="hlg",
    ),
    simple(
        "full_range.mp4",
        PAL,
        25,
        "Android phones, webcams, screen recorders (yuvj420p)",
        "Levels from 0 to 255, BT.709.",
        "https://github.com/PyAV-Org/PyAV/issues/2149; https://github.com/meta-pytorch/torchcodec/issues/1262",
        full=True,
        pixel_format="yuvj420p",
        light="bt709",
        tags="bt709",
    ),
    simple(
        "tagged_709_small.mp4",
        PAL,
        25,
        "YouTube downloads in small sizes",
        "BT.709 in a small picture, and tagged so.",
        "https://github.com/meta-pytorch/torchcodec/pull/1270",
        light="bt709",
        tags="bt709",
    ),
    simple(
        "tagged_601_large.mp4",
        PAL,
        10,
        "OBS Studio before 28, old phones",
        "BT.601 in a picture of 1280×720, and tagged so.",
        "https://github.com/obsproject/obs-studio/pull/1322",
        width=1280,
        height=720,
    ),
    simple(
        "untagged_small.mp4",
        PAL,
        25,
        "ffmpeg from images, OpenCV VideoWriter",
        "Says nothing of its colours; small, so players take BT.601.",
        "https://github.com/sttz/MPlayer-OSX-Extended/pull/28",
        tags=None,
    ),
    film(
        "untagged_hd.mp4",
        even(PAL, 10, width=1280, height=720, tags=None, light="bt709"),
        tool="cameras and editors that tag nothing",
        source="https://github.com/sttz/MPlayer-OSX-Extended/pull/28",
        special="Says nothing of its colours; 720 rows, so players take BT.709.",
        judgement="By the players (mpv, VLC; Chromium shows these very colours); the swscale of ffmpeg takes BT.601 "
        "and is off by up to 40 of 255.",
    ),
    simple(
        "chroma_444.mp4",
        PAL,
        25,
        "OBS Studio, screen captures with NVENC or x264 in 4:4:4",
        "Full chroma.",
        "https://github.com/obsproject/obs-studio/issues/9874",
        pixel_format="yuv444p",
    ),
    simple(
        "chroma_422_10bit.mp4",
        PAL,
        25,
        "Sony XAVC, Canon and Panasonic cameras",
        "4:2:2 in 10 bits, H.264 High 4:2:2.",
        "https://en.wikipedia.org/wiki/XAVC",
        pixel_format="yuv422p10le",
        light="bt709",
        tags="bt709",
    ),
    simple(
        "screen_rgb.mp4",
        PAL,
        25,
        "ffmpeg x11grab with libx264rgb, lossless",
        "H.264 whose planes are green, blue and red.",
        "https://trac.ffmpeg.org/wiki/Capture/Desktop",
        codec="libx264rgb",
        pixel_format="rgb24",
        tags=None,
    ),
)

STREAMS: Final = (
    film(
        "cover_last.mp4",
        even(PAL, 50),
        Sound(2 * Second),
        COVER,
        tool="yt-dlp --embed-thumbnail, AtomicParsley, mutagen",
        source="https://github.com/UltraStar-Deluxe/USDX/pull/948",
        special="An attached picture beside the film.",
    ),
    film(
        "cover_first.mp4",
        COVER,
        even(PAL, 50),
        Sound(2 * Second),
        tool="Skydio drones, ffmpeg with the picture mapped first",
        source="https://github.com/mifi/lossless-cut/issues/308; https://github.com/amule-org/amule/issues/1075",
        special="The attached picture was given first; some readers list it as the first stream.",
    ),
    film(
        "cover.mkv",
        even(PAL, 50),
        Sound(2 * Second, codec="mp2"),
        attached=True,
        tool="mkvmerge --attach-file cover.jpg, HandBrake",
        source="https://github.com/megakraken/FFmpegThumbnails/issues/2",
        special="A cover as an attachment of Matroska, read as one more stream of pictures.",
    ),
    film(
        "preview_first.mp4",
        Video(
            steady(2, 4, 900),
            2 * Second,
            codec="mjpeg",
            pixel_format="yuvj420p",
            full=True,
            width=32,
            height=32,
            disposition=0,
        ),
        even(PAL, 50, disposition=1),
        Sound(2 * Second),
        stream=1,
        tool="DJI, Insta360 and surveillance cameras",
        source="https://github.com/zaps166/QMPlay2/issues/841",
        special="A tiny preview stream comes first, without the flag of an attached picture.",
        judgement="The film is the second stream, which is larger and marked as default.",
    ),
    film(
        "default_second.mkv",
        even(PAL, 50, first=500, disposition=0),
        even(PAL, 50, disposition=1),
        stream=1,
        tool="mkvmerge --default-track 1:yes",
        source="https://www.matroska.org/technical/notes.html",
        special="Two streams of the same size; the second is marked as default.",
        judgement="mpv, VLC and ffmpeg show the track that is marked; Chromium the first one, which is 500 and after.",
    ),
    film(
        "subtitles_within.mkv",
        even(PAL, 50),
        make=with_subtitles,
        tool="MakeMKV, yt-dlp --embed-subs, mkvmerge",
        source="https://github.com/KBVE/kbve/pull/14855",
        special="A stream of subtitles in the film itself: “The kettle is on.” from 0.5 to 1.5 s.",
    ),
    film("no_sound.mp4", even(PAL, 50), tool="everybody", source=FORMATS, special="No sound."),
    film(
        "sound_only.mp4",
        Sound(2 * Second),
        tool="yt-dlp -f bestaudio, voice memos",
        source="https://github.com/yt-dlp/yt-dlp#format-selection",
        special="No pictures.",
        verdict="refuse",
        times=None,
    ),
    film(
        "sound_only.webm",
        Sound(2 * Second, **OPUS),
        tool="yt-dlp -f 251, browsers",
        source="https://github.com/muaz-khan/RecordRTC/issues/274",
        special="No pictures, in a container of films.",
        verdict="refuse",
        times=None,
    ),
    film(
        "sound_longer.mp4",
        even(PAL, 50),
        Sound(4 * Second),
        tool="editors and cut tools",
        source=FORMATS,
        special="The sound goes on for 2 s after the last picture.",
        judgement="The pictures end at 2 s; a player holds the last one until 4 s.",
    ),
)

UNFINISHED: Final = (
    piped(
        "mediarecorder.webm",
        even(30, 60, codec="libvpx"),
        Sound(2 * Second, **OPUS),
        container="webm",
        options={"live": "1"},
        tool="Chrome and Firefox MediaRecorder",
        source="https://github.com/muaz-khan/RecordRTC/issues/147; https://github.com/tauri-apps/tauri/issues/14656",
        special="No duration and no index, since the browser can't go back.",
    ),
    piped(
        "fragmented.mp4",
        even(PAL, 50, b_frames=2, shift=Fraction(-2, 25)),
        Sound(2 * Second),
        container="mp4",
        options={"movflags": "frag_keyframe+empty_moov+default_base_moof"},
        tool="OBS Studio 30 (fragmented MP4), Safari MediaRecorder, DASH",
        source="https://obsproject.com/kb/hybrid-mp4",
        special="An index that is empty, and the pictures in fragments; no edit list, so B-frames delay the first "
        "picture.",
        judgement="As in no_edit_list.mp4: the sound is at 0, the first picture at 0.08 s.",
    ),
    broken(
        "fragmented_broken_off.mp4",
        piped(
            "",
            even(PAL, 50),
            container="mp4",
            options={"movflags": "frag_keyframe+empty_moov+default_base_moof"},
            tool="OBS Studio after a crash",
            source="https://obsproject.com/kb/hybrid-mp4",
            special="Fragments up to the crash: what was written can be read.",
        ),
        cut_in_picture(30),
        verdict="repair",
        numbers=tuple(range(30)),
        times=tuple(number / 25 for number in range(30)),
        ends=1.2,
        at_least=True,
    ),
    broken(
        "no_moov.mp4",
        film(
            "",
            even(PAL, 50),
            Sound(2 * Second),
            tool="phones and cameras whose battery died; downloads that stopped",
            source="https://github.com/anthwlock/untrunc/issues/63; https://github.com/mifi/lossless-cut/issues/796",
            special="Pictures without the index that says where they are.",
        ),
        without_index,
        verdict="refuse",
        numbers=(),
        times=None,
        ends=None,
        size=None,
    ),
    broken(
        "download_stopped.mp4",
        film(
            "",
            even(PAL, 50),
            options={"movflags": "faststart"},
            tool="wget, browsers: a download that stopped",
            source="https://github.com/jhj0517/Whisper-WebUI/issues/415",
            special="The index is whole and names 50 pictures; 30 are there.",
        ),
        cut_in_picture(30),
        verdict="repair",
        numbers=tuple(range(30)),
        times=tuple(number / 25 for number in range(30)),
        ends=1.2,
        at_least=True,
        judgement="The 30 pictures that are there, and a word on those that are missing; refusing is defensible. "
        "Chromium shows them, and says 2 s.",
    ),
    broken(
        "cut_off.ts",
        film(
            "",
            even(PAL, 50),
            options=MUX_DELAY,
            tool="DVR, streamlink: a recording that stopped",
            source="https://github.com/hwangsaeul/hwangsae/pull/9",
            special="Ends within a packet of 188 bytes, in the middle of a picture.",
        ),
        cut_in_picture(40),
        verdict="repair",
        numbers=tuple(range(40)),
        times=tuple(number / 25 for number in range(40)),
        ends=1.6,
        at_least=True,
    ),
    broken(
        "cut_off.mkv",
        film(
            "",
            even(PAL, 50),
            tool="OBS Studio mkv after a crash",
            source="https://obsproject.com/kb/hybrid-mp4",
            special="Ends in the middle of a picture: no index at the end.",
        ),
        cut_in_picture(40),
        verdict="repair",
        numbers=tuple(range(40)),
        times=tuple(number / 25 for number in range(40)),
        ends=1.6,
        at_least=True,
    ),
    broken(
        "cut_off.avi",
        film(
            "",
            even(PAL, 50, codec="mpeg4", clock=1 / PAL),
            tool="dashcams and capture programs that crashed",
            source="https://github.com/HandBrake/HandBrake/issues/439; "
            "https://github.com/mbunkus/mkvtoolnix/issues/2161",
            special="Ends in the middle of a picture; the index at the end is missing and sizes in the header are "
            "wrong.",
        ),
        cut_in_picture(40),
        verdict="repair",
        numbers=tuple(range(40)),
        times=tuple(number / 25 for number in range(40)),
        ends=1.6,
        at_least=True,
    ),
    bytes_film(
        "empty.mp4",
        b"",
        tool="full disks, touch",
        source="https://github.com/chn-lee-yumi/MaterialSearch/issues/13",
        special="No byte at all.",
    ),
    bytes_film(
        "lfs_pointer.mp4",
        b"version https://git-lfs.github.com/spec/v1\noid "
        b"sha256:c47ba3e2aa570664b189bd12139959db071550c4efa3cadfd915193ddd4c39bd\nsize 86690301\n",
        tool="git clone without Git LFS",
        source="https://github.com/IntersectMBO/cardano-updates/issues/12; https://github.com/NVIDIA/DALI/issues/1872",
        special="A pointer of Git LFS in place of the film.",
    ),
    bytes_film(
        "page.mp4",
        b"<!DOCTYPE html>\n<html><head><title>Google Drive - Quota exceeded</title></head><body><p>Sorry, you can't "
        b"view or download this file at this time.</p></body></html>\n",
        tool="gdown, wget of a link that wants a log-in",
        source="https://github.com/Akianonymus/gdrive-downloader/issues/18",
        special="A page of HTML in place of the film.",
    ),
)

CONTAINERS: Final = (
    simple(
        "animation.gif",
        10,
        20,
        "ffmpeg, ScreenToGif, GIPHY",
        "A GIF: steps of a hundredth of a second, few colours.",
        "https://www.w3.org/Graphics/GIF/spec-gif89a.txt",
        codec="gif",
        pixel_format="rgb8",
        clock=Fraction(1, 100),
        tags=None,
    ),
    film(
        "raw.h264",
        even(PAL, 50),
        tool="raspivid, rpicam-vid, IP cameras",
        source="https://github.com/raspberrypi/rpicam-apps",
        special="A bare stream: no stamps, and no index; the rate stands in the stream, if at all.",
        times=None,
        judgement="25 pictures a second, as ffmpeg takes a stream that says nothing; times are no facts of the file. "
        "Refusing it with a way on is right, too: nothing can seek in it, and copied packets get wrong times.",
    ),
    film(
        "raw.m2v",
        even(PAL, 50, codec="mpeg2video", clock=1 / PAL),
        tool="DVD authoring tools (demuxed)",
        source=FORMATS,
        special="A bare MPEG-2 stream: a rate in its header, no stamps.",
        times=None,
        judgement="Its header says 25 pictures a second.",
    ),
    film(
        "FILM.MKV",
        even(PAL, 50),
        Sound(2 * Second, codec="mp2"),
        tool="Windows and old cameras: upper-case endings",
        source=FORMATS,
        special="The ending in capitals.",
    ),
    film(
        "packed_b_frames.avi",
        even(PAL, 25),
        make=packed_b_frames,
        tool="DivX 5, XviD 1.x",
        source="https://github.com/superuser404notfound/AetherEngine/issues/516; "
        "https://github.com/AlexAltea/curator/issues/9; FFmpeg FATE mpeg4/packed_bframes.avi",
        special="A B-frame is packed with the frame after it, and an empty frame keeps the count.",
        judgement="An AVI counts pictures: the first at 0, each 0.04 s after the one before. Stamps that a decoder "
        "pairs with pictures by the order of storing go back and forth.",
    ),
    film(
        "mpeg4.avi",
        even(PAL, 50, codec="mpeg4", clock=1 / PAL),
        Sound(2 * Second, codec="libmp3lame", rate=44_100),
        tool="VirtualDub, XviD",
        source=FORMATS,
        special="No stamps for showing; sound in MP3.",
    ),
    film(
        "two_ticks.avi",
        even(PAL, 50, clock=1 / (2 * PAL)),
        Sound(2 * Second, codec="libmp3lame", rate=44_100),
        tool="ffmpeg -i film.mp4 -c copy film.avi; DVRs",
        source="https://github.com/HomeOfAviSynthPlusEvolution/L-SMASH-Works/issues/91; "
        "https://github.com/paulpacifico/shutter-encoder/issues/52",
        special="H.264, whose clock has two ticks a picture: the header counts twice as many frames as there are.",
    ),
    film(
        "dashcam.avi",
        even(30, 60, codec="mjpeg", pixel_format="yuvj420p", full=True, clock=Fraction(1, 30)),
        Sound(2 * Second, codec="pcm_s16le", rate=8000),
        tool="dashcams and webcams (Logitech, Viofo)",
        source=FORMATS,
        special="Motion JPEG, full range.",
    ),
    film(
        "prores.mov",
        even(PAL, 10, codec="prores_ks", pixel_format="yuv422p10le", light="bt709", tags="bt709", clock=1 / PAL),
        tool="DaVinci Resolve, Final Cut Pro, iPhone 13 Pro",
        source="https://www.apple.com/final-cut-pro/docs/Apple_ProRes.pdf",
        special="ProRes 422 in QuickTime.",
    ),
    simple("hevc.mp4", PAL, 50, "phones since 2017, HandBrake", "HEVC.", FORMATS, codec="libx265"),
    simple("av1.mp4", PAL, 50, "YouTube downloads since 2020", "AV1 in MP4.", FORMATS, codec="libsvtav1"),
    film(
        "av1.webm",
        even(PAL, 50, codec="libsvtav1"),
        Sound(2 * Second, **OPUS),
        tool="yt-dlp bestvideo",
        source=FORMATS,
        special="AV1 in WebM.",
    ),
    film(
        "vp9.webm",
        even(PAL, 50, codec="libvpx-vp9"),
        Sound(2 * Second, **OPUS),
        tool="yt-dlp -f 'bv[ext=webm]+ba'",
        source=FORMATS,
        special="VP9 and Opus in WebM.",
    ),
    film(
        "live.flv",
        even(30, 60),
        Sound(2 * Second),
        tool="OBS Studio, RTMP recordings, Twitch",
        source=FORMATS,
        special="Stamps in whole milliseconds, and sound and picture in H.264 and AAC.",
    ),
    film(
        "windows.wmv",
        even(PAL, 50, codec="wmv2", clock=Fraction(1, 1000)),
        Sound(2 * Second, codec="wmav2", rate=22_050),
        tool="Windows Movie Maker, Skype recordings",
        source=FORMATS,
        special="Windows Media in ASF.",
    ),
    film(
        "feature_phone.3gp",
        even(15, 30, codec="h263", width=176, height=144, pixel=Fraction(12, 11), clock=Fraction(1, 15)),
        tool="phones before 2012, MMS, WhatsApp of old",
        source=FORMATS,
        special="H.263 in 3GP, 176×144 with points 12:11 wide.",
    ),
    film(
        "vcd.mpg",
        even(PAL, 40, codec="mpeg1video", clock=1 / PAL),
        tool="Video CD, KTH and other datasets of old",
        source=FORMATS,
        special="MPEG-1 program stream.",
    ),
    film(
        "lossless.avi",
        even(PAL, 5, codec="ffv1", clock=1 / PAL, group=1),
        tool="laboratory cameras, VirtualDub, archives (FFV1)",
        source=FORMATS,
        special="Lossless FFV1.",
    ),
)

NAMED: Final = tuple(
    film(name, even(PAL, 10), tool=tool, source=source, special=special)
    for name, tool, source, special in (
        (
            "my holiday film (1).mp4",
            "browsers and Windows Explorer",
            "https://github.com/yt-dlp/yt-dlp#output-template",
            "Blanks and brackets in the name.",
        ),
        (
            "Тест 视频 – été 🎬.mp4",
            "yt-dlp, phones",
            "https://github.com/yt-dlp/yt-dlp#output-template",
            "Letters of several scripts and a picture sign in the name.",
        ),
        (
            "-dash first.mp4",
            "yt-dlp -o %(id)s: YouTube's identifiers may start so",
            "https://github.com/yt-dlp/yt-dlp/wiki/FAQ",
            "A dash in front, which programs take for an option.",
        ),
        (
            "100%d%20percent%03d.mp4",
            "downloads with encoded names",
            FORMATS,
            "Percent signs, which ffmpeg takes for a numbered sequence, and browsers for codes.",
        ),
        (
            "clip [a-z] #2 {b}*.mp4",
            "yt-dlp: title [id]",
            "https://github.com/yt-dlp/yt-dlp#output-template",
            "Signs of patterns of names, and of fragments of addresses.",
        ),
        (
            "12:30 talk.mp4",
            "macOS and Linux screen recorders",
            "https://ffmpeg.org/ffmpeg-protocols.html",
            "A colon, before which programs look for a protocol.",
        ),
        (
            "talk.en.v2.final.mp4",
            "everybody",
            "https://github.com/yt-dlp/yt-dlp#output-template",
            "Several dots, of which one part looks like a language.",
        ),
        (
            "e\u0301te\u0301 decomposed.mp4",
            "macOS (HFS+), Unicode in decomposed form",
            "https://developer.apple.com/library/archive/technotes/tn/tn1150.html",
            "Letters and their accents as two signs.",
        ),
    )
)

FILMS: Final[tuple[Film, ...]] = (
    *CUT,
    *EDITED,
    *JOINED,
    *VARIABLE,
    *RATES,
    *TURNED,
    *SHAPES,
    *LIGHT,
    *STREAMS,
    *UNFINISHED,
    *CONTAINERS,
    *NAMED,
)


def entries() -> tuple[Film, ...]:
    """All films, for a table or a test."""
    return FILMS


def generate(folder: Path) -> dict[str, Path]:
    """Writes all films into a folder; their paths by name."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for each in entries():
        paths[each.name] = folder / each.name
        each.make(paths[each.name])
    return paths


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
