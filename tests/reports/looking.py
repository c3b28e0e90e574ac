"""What replayed reports look at: the numbers of pictures, the colours at the edges, and tables as others read them."""

import csv
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
import numpy as np

from corpus.pattern import COLOURS, nearest_name, paint, read_number
from reeltalk.curate.transcripts import read_transcript
from reeltalk.language.answer_reading import read_answer
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.record import VideoId
from reeltalk.store.media import MediaStore
from reeltalk.video.frames import frames_at
from reeltalk.video.stream import open_video

SIZE: Final = (192, 112)
TINTS: Final = tuple(COLOURS.values())


def numbers_at(path: Path, times_s: Sequence[float]) -> list[int | None]:
    """The numbers of the pictures that a viewer sees at rising times, each found from a reader of its own."""
    return [read_number(next(frames_at(path, [time_s])).pixels) for time_s in times_s]


def numbers_on_the_way(path: Path, times_s: Sequence[float]) -> list[int | None]:
    """The same, found by one reader that goes on from time to time."""
    return [read_number(frame.pixels) for frame in frames_at(path, times_s)]


def all_numbers(path: Path) -> list[int | None]:
    """The numbers of all pictures, in the order in which they are shown."""
    with open_video(path) as source:
        return [read_number(source.shown(frame.picture)) for frame in source.frames()]


def all_times(path: Path) -> list[float]:
    """When each picture is first seen, in seconds."""
    with open_video(path) as source:
        return [round(frame.pts_s, 3) for frame in source.frames()]


def edge_colours(path: Path) -> list[str]:
    """The colours of the very corners of the first picture: top left, top right, bottom left, bottom right."""
    picture = next(frames_at(path, [0.0])).pixels
    corners = [picture[:3, :3], picture[:3, -3:], picture[-3:, :3], picture[-3:, -3:]]
    found = []
    for corner in corners:
        spread = float(corner.reshape(-1, 3).std(axis=0).max())
        red, green, blue = corner.mean(axis=(0, 1))
        found.append(nearest_name((round(red), round(green), round(blue))) if spread < 20 else "noise")
    return found


def film_scenes(path: Path, starts: Sequence[int], count: int, rate: int) -> None:
    """Film scenes of different colours, whose pictures carry their numbers."""
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=Fraction(rate), options={"preset": "ultrafast", "crf": "12"})
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        stream.codec_context.gop_size = 10 * rate
        for number in range(count):
            scene = sum(start <= number for start in starts) - 1
            picture = paint(number, *SIZE)
            grey = (picture == 128).all(axis=2)
            picture[grey] = np.array(TINTS[scene % len(TINTS)]) // (1 + 2 * (scene % 2))
            # Blocks across, so that the pictures are sharp, and a bar that moves, so that something happens.
            picture[round(SIZE[1] * 0.7) :: 6, number % 40 : number % 40 + 60] = 235
            for packet in stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")):
                output.mux(packet)
        for packet in stream.encode(None):
            output.mux(packet)


def clip_ends(bench: Path) -> list[list[int | None]]:
    """Of each clip that was written as a file: the numbers of its first and last picture, and how many it has."""
    clips = [json.loads(line) for line in (bench / "clips.jsonl").read_text(encoding="utf-8").splitlines()]
    media = MediaStore(bench)
    found = []
    for clip in sorted(clips, key=lambda clip: clip["interval"]["start_s"]):
        numbers = all_numbers(media.path(clip["file"]["sha256"]))
        found.append([numbers[0], numbers[-1], len(numbers)])
    return found


def shot_times(bench: Path) -> list[list[float]]:
    """From when to when each shot goes, in seconds."""
    rows = [json.loads(line) for line in (bench / "shots.jsonl").read_text(encoding="utf-8").splitlines()]
    return [[round(row["interval"]["start_s"], 3), round(row["interval"]["end_s"], 3)] for row in rows]


def column(path: Path, name: str) -> list[str]:
    """A column of a CSV file, by Python's own reader."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


def spoken(path: Path) -> list[str]:
    """What a file of subtitles says, line by line, without signs around it."""
    return [utterance.text for utterance in read_transcript(path, VideoId("v"))]


def typed_right(answer: str, question: str, kind: str, value: str) -> bool:
    """Whether an answer is right by a key of a type."""
    key = AnswerKey.model_validate({"type": kind, "values": [value]})
    return read_answer(question, key, answer).right
