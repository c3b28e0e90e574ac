"""A sheet shows the frames of its times, and little is decoded for it."""

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from sample_videos import Numbered, cached, number_of

from reeltalk_review.video import sheet
from reeltalk_review.video.sheet import make_sheet

SHORT = Numbered("h264-sheet.mp4", rate=Fraction(24), frames=240, options={"g": "48"})
TURNED = Numbered("h264-sheet-turned.mp4", rate=Fraction(24), frames=48, rotation_deg=90)
COLUMNS = 4


def made(path: Path, times_s: list[float], folder: Path) -> tuple[dict[str, Any], Any]:
    argument = {"path": str(path), "times_s": times_s, "columns": COLUMNS, "folder": str(folder), "name": "sheet.jpg"}
    answer = make_sheet(argument)
    picture = cv2.imread(str(folder / "sheet.jpg"))
    return answer, None if picture is None else picture[:, :, ::-1]


def numbers_on(picture: Any, count: int, width: int, height: int) -> list[int]:
    """The number on each tile."""
    tiles = [
        picture[n // COLUMNS * height :][:height, n % COLUMNS * width : (n % COLUMNS + 1) * width] for n in range(count)
    ]
    return [number_of(cv2.resize(tile, (320, 96), interpolation=cv2.INTER_CUBIC)) for tile in tiles]


def test_each_tile_is_the_frame_of_its_time(tmp_path: Path) -> None:
    times_s = [0.5 + n for n in range(10)]
    answer, picture = made(SHORT.make()[0], times_s, tmp_path)
    assert answer == {"width": 160, "height": 48}
    assert picture.shape == (3 * 48, COLUMNS * 160, 3)
    assert numbers_on(picture, 10, 160, 48) == [round(time_s * 24) for time_s in times_s]
    assert picture[2 * 48 :, 2 * 160 :].mean() < 4, "there are no more than ten"
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.jpg"]


def test_of_a_long_part_only_key_frames_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "MOST_PIXELS", 1000)
    times_s = [0.5 + n for n in range(10)]
    _, picture = made(SHORT.make()[0], times_s, tmp_path)
    numbers = numbers_on(picture, 10, 160, 48)
    assert all(number % 48 == 0 for number in numbers), "the film has a key frame every 48"
    assert all(abs(number / 24 - time_s) <= 2.0 for number, time_s in zip(numbers, times_s, strict=True))
    assert numbers == sorted(numbers)


def test_pictures_are_upright(tmp_path: Path) -> None:
    answer, picture = made(TURNED.make()[0], [0.5], tmp_path)
    assert (answer["width"], answer["height"]) == (27, 90)
    assert np.asarray(picture).shape == (90, COLUMNS * 27, 3)


def long_film(path: Path) -> None:
    """An hour of 1080p with a key frame every ten seconds."""
    import av

    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=Fraction(1, 2), options={"g": "5", "preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 1920, 1080, "yuv420p"
        plain = np.zeros((1080, 1920, 3), np.uint8)
        for number in range(1800):
            plain[:, :, 0] = number // 18
            output.mux(stream.encode(av.VideoFrame.from_ndarray(plain, format="rgb24")))
        output.mux(stream.encode(None))


@pytest.mark.slow
def test_an_hour_of_1080p_takes_seconds(tmp_path: Path) -> None:
    path = cached("hour-1080p.mp4", "1,800 frames, one in two seconds, key frames every 5", long_film)
    begun = time.perf_counter()
    answer, picture = made(path, [32 + 64 * n for n in range(57)], tmp_path)
    assert time.perf_counter() - begun < 20
    assert answer == {"width": 160, "height": 90}
    reds = [int(picture[n // COLUMNS * 90 + 45, n % COLUMNS * 160 + 80, 0]) for n in range(57)]
    assert all(abs(red - (32 + 64 * n) / 36) < 6 for n, red in enumerate(reds))


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(SHORT.make()[0].read_bytes()[:3000])
    assert set(made(broken, [0.5], tmp_path)[0]) == {"refused"}
    assert set(made(SHORT.make()[0], [0.5], tmp_path / "nowhere")[0]) == {"unwritable"}
