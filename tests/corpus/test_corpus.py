"""The corpus itself is right: films are decoded by other means than ours, and found to be what their entries say."""

import html
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import av
import cv2
import numpy as np
import pytest
from av.sidedata.sidedata import SideData

from corpus import films, listing, sidefiles
from corpus.entry import Entry, Film, SideFile
from corpus.light import from_hdr
from corpus.pattern import Matrix, Picture, colour_at, nearest_name, read_number, resized, shown

FILMS: Final = {film.name: film for film in films.entries()}
H273: Final = {"bt601": 5, "bt709": 1}
FIELDS: Final = 3
"""The place of a picture whose fields are looked at."""
OWN_CLOCK: Final = (
    "joined_equal_stamps.ts",
    "joined_gap_of_an_hour.ts",
    "one_stamp_back.ts",
    "one_stamp_far.ts",
    "packed_b_frames.avi",
    "two_ticks.avi",
)
"""Films whose stamps are wrong: their times follow from their pictures, one after the other."""
NOT_BY_OPENCV: Final = ("av1.mp4", "av1.webm")
"""OpenCV's own build has no decoder of AV1."""
READABLE: Final = [name for name, film in FILMS.items() if film.verdict != "refuse"]
QUICK: Final = {
    *{Path(name).suffix: name for name in reversed(READABLE)}.values(),
    *(name for name in READABLE if FILMS[name].fields),
}
"""The first film of each kind of file, and those whose fields are woven: the full counts look at all."""


def chosen(names: Iterable[str]) -> list[Any]:
    """Films as parameters, of which `make test` looks at some: our readers are shown all there."""
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in names]


SIDEFILES: Final = sidefiles.entries()
FFMPEG_READS: Final = {".srt": "srt", ".vtt": "webvtt", ".ass": "ass", ".ssa": "ass", ".lrc": "lrc", ".smi": "sami"}
OTHERWISE_BY_FFMPEG: Final = ("song.lrc",)
"""Read as its entry says where opinions differ, and FFmpeg holds the other."""


def readable_by_ffmpeg(entry: SideFile) -> bool:
    """Whether FFmpeg has a reader of such files, and this one is as it should be, in UTF-8."""
    known = Path(entry.name).suffix in FFMPEG_READS and entry.verdict == "read" and bool(entry.cues)
    return known and "windows_125" not in entry.name and entry.name not in OTHERWISE_BY_FFMPEG


class Seen(NamedTuple):
    """What another decoder shows of a film."""

    times: list[float | None]
    numbers: list[int | None]
    kept: dict[int, Picture]
    """The first picture, one with moving fields, and the last of those that are certain: as they are shown."""
    stored_size: tuple[int, int]
    matrix: Matrix
    pixel: Fraction


def matrix_of(frame: av.VideoFrame) -> Matrix:
    """The turn that the container asks for."""
    data = frame.side_data.get("DISPLAYMATRIX")
    if data is None:
        return (1, 0, 0, 1)
    assert isinstance(data, SideData)
    a, b, _, c, d, *_ = (int(part) >> 16 for part in np.frombuffer(bytes(data), np.int32))
    return (a, b, c, d)


def in_colour(frame: av.VideoFrame, film: Film) -> Picture:
    """The stored picture by the matrix and the range that are right, whatever the stream says; HDR as SDR."""
    if film.light == "bt2020":
        return from_hdr(frame, "pq" if frame.color_trc == 16 else "hlg")
    frame.colorspace = H273[film.light]
    frame.color_range = 2 if film.full else 1
    return frame.to_ndarray(format="rgb24").astype(np.uint8)


def whole_pictures(container: av.container.InputContainer, stream: av.VideoStream) -> Iterator[av.VideoFrame]:
    """The pictures of a stream up to the first that can't be decoded."""
    try:
        yield from container.decode(stream)
    except av.error.InvalidDataError:
        yield from stream.codec_context.decode(None)


@cache
def seen(path: Path) -> Seen:
    film = FILMS[path.name]
    assert film.size is not None
    times: list[float | None] = []
    numbers: list[int | None] = []
    kept: dict[int, Picture] = {}
    with av.open(str(path)) as container:
        start = (container.start_time or 0) / av.time_base
        stream = container.streams.video[film.stream]
        pixel = stream.sample_aspect_ratio or Fraction(1)
        for place, frame in enumerate(whole_pictures(container, stream)):
            if place == 0:
                stored_size, matrix = (frame.width, frame.height), matrix_of(frame)
            looked_at = place in (0, FIELDS, len(film.numbers) - 1)
            picture = resized(shown(in_colour(frame, film), matrix), *film.size)
            times.append(None if frame.time is None else frame.time - start)
            numbers.append(read_number(picture))
            if looked_at:
                kept[place] = picture
    return Seen(times, numbers, kept, stored_size, matrix, pixel)


@pytest.mark.parametrize("name", chosen(READABLE))
def test_pictures_are_numbered_and_timed_as_stated(corpus_film: Callable[[str], Path], name: str) -> None:
    film, found = FILMS[name], seen(corpus_film(name))
    known = len(film.numbers)
    assert tuple(found.numbers[:known]) == film.numbers
    assert len(found.numbers) - known in ((0, 1) if film.at_least else (0,))
    if film.times is not None and name not in OWN_CLOCK:
        assert found.times[:known] == pytest.approx(film.times, abs=0.0011)


@pytest.mark.parametrize("name", chosen(n for n in READABLE if n.lower().endswith((".mp4", ".mov", ".mkv"))))
def test_last_pictures_go_when_stated(corpus_film: Callable[[str], Path], name: str) -> None:
    film = FILMS[name]
    with av.open(str(corpus_film(name))) as container:
        start = (container.start_time or 0) / av.time_base
        packets = [packet for packet in container.demux(container.streams.video[film.stream]) if packet.size]
    due = [packet for packet in packets if not packet.is_discard]
    ends = max(float(((packet.pts or 0) + (packet.duration or 0)) * packet.time_base) - start for packet in due)
    assert film.ends is not None
    assert ends == pytest.approx(film.ends, abs=0.0021) or (film.at_least and ends > film.ends)


@pytest.mark.parametrize("name", chosen(READABLE))
def test_pictures_are_of_the_stated_size_and_turn(corpus_film: Callable[[str], Path], name: str) -> None:
    film, found = FILMS[name], seen(corpus_film(name))
    assert (found.stored_size, found.matrix) == (film.stored_size, film.matrix)
    across, down = round(found.stored_size[0] * found.pixel), found.stored_size[1]
    assert film.size == ((across, down) if film.matrix[0] else (down, across))


@pytest.mark.parametrize("name", chosen(READABLE))
def test_patches_have_the_stated_colours(corpus_film: Callable[[str], Path], name: str) -> None:
    film, found = FILMS[name], seen(corpus_film(name))
    for place in (0, len(film.numbers) - 1):
        colours = {patch: colour_at(found.kept[place], patch) for patch in film.patches}
        apart = {
            patch.name: max(abs(a - b) for a, b in zip(patch.rgb, colours[patch], strict=True)) for patch in colours
        }
        assert max(apart.values()) <= (8 if film.colours == "exact" else 40), apart
        assert all(nearest_name(colour) == patch.name for patch, colour in colours.items())


@pytest.mark.parametrize("name", [name for name in READABLE if FILMS[name].fields])
def test_fields_are_woven_in_the_stated_order(corpus_film: Callable[[str], Path], name: str) -> None:
    """The bar below the row of blocks moves to the right: it is farther in the later field."""
    picture = seen(corpus_film(name)).kept[FIELDS]
    first = 2 * round(picture.shape[0] * 0.38)
    rows = picture[first : round(picture.shape[0] * 0.95)].min(axis=2).astype(int)
    top, bottom = (int(field.mean(axis=0).argmax()) for field in (rows[0::2], rows[1::2]))
    assert (top < bottom) == (FILMS[name].fields == "top")


@pytest.mark.parametrize("name", [name for name, film in FILMS.items() if film.verdict == "refuse"])
def test_what_is_no_film_cannot_be_decoded(corpus_film: Callable[[str], Path], name: str) -> None:
    try:
        with av.open(str(corpus_film(name))) as container:
            assert not container.streams.video
    except av.error.FFmpegError:
        pass


@pytest.mark.parametrize("name", chosen(n for n in READABLE if FILMS[n].stream == 0 and n not in NOT_BY_OPENCV))
def test_opencv_shows_as_many_pictures(corpus_film: Callable[[str], Path], name: str) -> None:
    """A second decoder, of another build of FFmpeg; it takes the first of several streams."""
    film = FILMS[name]
    capture = cv2.VideoCapture(str(corpus_film(name)), cv2.CAP_FFMPEG)
    count = 0
    while capture.grab():
        count += 1
    capture.release()
    assert count - len(film.numbers) in ((0, 1) if film.at_least else (0,))


def words(text: str) -> set[str]:
    """The words of a text without markup."""
    plain = re.sub(r"</?[\w.:/]+[^<>]*>|\{[^{}]*\}|\\[Nnh]|\[br\]", " ", text)
    return set(re.findall(r"[^\W_]+", html.unescape(plain)))


def text_of(entry: SideFile) -> str:
    """A side file as text, by its mark or by the code page in its name."""
    if entry.content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return entry.content.decode("utf-16")
    code_page = re.search(r"windows_(\d+)", entry.name)
    return entry.content.decode(f"cp{code_page[1]}" if code_page else "utf-8-sig")


@pytest.mark.parametrize("entry", [entry for entry in SIDEFILES if entry.cues], ids=lambda entry: entry.name)
def test_all_that_is_said_stands_in_the_file(entry: SideFile) -> None:
    text = text_of(entry)
    if entry.name.endswith((".json", ".json3")):
        text = " ".join(strings(json.loads(text)))
    assert words(" ".join(cue.text for cue in entry.cues)) <= words(text)


def strings(value: object) -> Iterator[str]:
    """All strings within what JSON holds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


@pytest.mark.parametrize("entry", [entry for entry in SIDEFILES if entry.cues], ids=lambda entry: entry.name)
def test_cues_are_in_order_within_the_film(entry: SideFile) -> None:
    starts = [cue.starts for cue in entry.cues if cue.starts is not None]
    assert starts == sorted(starts)
    assert all(0 <= start <= sidefiles.FILM_SECONDS for start in starts)
    for cue in entry.cues:
        if cue.starts is not None and cue.ends is not None:
            assert cue.starts <= cue.ends <= sidefiles.FILM_SECONDS


@pytest.mark.parametrize("entry", [each for each in SIDEFILES if readable_by_ffmpeg(each)], ids=lambda each: each.name)
def test_ffmpeg_reads_the_same_cues(entry: SideFile) -> None:
    """FFmpeg's own readers: each cue stands at its time, with its words; rolling lines come more than once."""
    with av.open(io.BytesIO(entry.content), "r", format=FFMPEG_READS[Path(entry.name).suffix]) as container:
        found = [
            (packet.pts * packet.time_base, packet.duration or 0, packet.time_base, bytes(packet).decode())
            for packet in container.demux(container.streams.subtitles[0])
            if packet.pts is not None and packet.size
        ]
    for cue in entry.cues:
        there = [
            float(start + lasts * unit)
            for start, lasts, unit, text in found
            if float(start) == pytest.approx(cue.starts, abs=0.002) and words(cue.text) <= words(text)
        ]
        assert there, found
        if cue.ends is not None:
            assert any(ends == pytest.approx(cue.ends, abs=0.002) for ends in there), there


def test_entries_are_whole_and_names_stand_once() -> None:
    every: list[Entry] = [*listing.entries()]
    assert len({entry.name for entry in every}) == len(every)
    assert len(films.entries()) >= 40
    assert len(sidefiles.entries()) >= 40
    for entry in every:
        assert entry.tool, entry.name
        assert entry.special.endswith("."), entry.name
        assert "http" in entry.source, entry.name
    for film in films.entries():
        assert film.times is None or len(film.times) == len(film.numbers), film.name
        assert not film.times or film.ends is not None, film.name
