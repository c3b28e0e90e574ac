"""A frame is shown as players show it: upright, with square pixels, in SDR, without combs, in one size."""

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import av
import numpy as np
import pytest

from reeltalk.video.frames import frames_at
from reeltalk.video.picture import Look, Pixels, as_shown, find_look
from reeltalk.video.probe import probe
from reeltalk.video.stream import open_video

WIDTH, HEIGHT = 96, 64
PLAIN = Look(WIDTH, HEIGHT, Fraction(1), 0, False)
TO_2020 = np.array([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])
PATCHES = [(200, 60, 60), (128, 128, 128), (255, 255, 255), (230, 230, 230)]
"""Colours from left to right."""
HABLE = {
    "pq": [(162, 48, 47), (112, 112, 112), (193, 193, 193), (180, 180, 180)],
    "hlg": [(153, 26, 35), (98, 98, 98), (193, 193, 193), (178, 178, 178)],
}
"""The same in FFmpeg 5.1.9 with zscale=t=linear:npl=100,format=gbrpf32le,zscale=p=bt709,tonemap=tonemap=hable:desat=0,
zscale=t=bt709:m=bt709:r=tv."""


def corner(pixels: Pixels) -> str:
    """Where the white corner is."""
    height, width = pixels.shape[:2]
    places = {"left top": (0, 0), "right top": (0, -1), "left bottom": (-1, 0), "right bottom": (-1, -1)}
    [found] = [name for name, place in places.items() if pixels[place].min() > 200]
    return f"{found} of {width}x{height}"


@pytest.mark.parametrize(
    ("rotation_deg", "mirrored", "place"),
    [
        (0, False, "left top of 96x64"),
        (90, False, "right top of 64x96"),
        (180, False, "right bottom of 96x64"),
        (270, False, "left bottom of 64x96"),
        (0, True, "right top of 96x64"),
        (90, True, "left top of 64x96"),
        (180, True, "left bottom of 96x64"),
        (270, True, "right bottom of 64x96"),
    ],
)
def test_a_picture_is_turned_and_then_mirrored(rotation_deg: int, mirrored: bool, place: str) -> None:
    stored = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    stored[:20, :30] = 255
    frame = av.VideoFrame.from_ndarray(stored, format="rgb24")
    assert corner(as_shown(frame, PLAIN._replace(rotation_deg=rotation_deg, mirrored=mirrored))) == place


@pytest.mark.parametrize(
    ("aspect", "shape"), [(Fraction(4, 3), (64, 128, 3)), (Fraction(8, 9), (72, 96, 3)), (Fraction(1), (64, 96, 3))]
)
def test_pixels_become_square_and_no_detail_is_lost(aspect: Fraction, shape: tuple[int, int, int]) -> None:
    frame = av.VideoFrame.from_ndarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8), format="rgb24")
    assert as_shown(frame, PLAIN._replace(aspect=aspect)).shape == shape


def test_a_shape_that_makes_no_sense_is_left_out() -> None:
    frame = av.VideoFrame.from_ndarray(np.zeros((HEIGHT, WIDTH, 3), np.uint8), format="rgb24")
    stream = SimpleNamespace(sample_aspect_ratio=Fraction(1, 4000), codec_context=None)
    assert find_look(stream, frame, turns=False) == PLAIN


def test_a_frame_of_another_size_gets_the_first_size() -> None:
    half = av.VideoFrame.from_ndarray(np.full((HEIGHT // 2, WIDTH // 2, 3), 200, np.uint8), format="rgb24")
    found = as_shown(half, PLAIN)
    assert (found.shape, found.min()) == ((HEIGHT, WIDTH, 3), 200)


def test_a_frame_of_another_shape_stands_in_a_black_one() -> None:
    portrait = av.VideoFrame.from_ndarray(np.full((WIDTH, HEIGHT, 3), 200, np.uint8), format="rgb24")
    found = as_shown(portrait, PLAIN)
    assert found.shape == (HEIGHT, WIDTH, 3)
    assert (found[:, :20].max(), found[:, -20:].max(), found[:, 40:56].min()) == (0, 0, 200)


def hdr_film(path: Path, transfer: str) -> Path:
    """Patches of SDR in HDR, their white at 203 nits (ITU-R BT.2408)."""
    stored = np.zeros((HEIGHT, WIDTH, 3))
    for n, colour in enumerate(PATCHES):
        stored[:, n * WIDTH // 4 : (n + 1) * WIDTH // 4] = colour
    light = (stored / 255) ** 2.4 @ TO_2020.T
    if transfer == "pq":
        root = (light * 203 / 10_000) ** 0.1593017578125
        value = ((0.8359375 + 18.8515625 * root) / (1 + 18.6875 * root)) ** 78.84375
    else:
        light *= 0.265
        high = 0.17883277 * np.log(np.maximum(12 * light - 0.28466892, 1e-9)) + 0.55991073
        value = np.where(light <= 1 / 12, np.sqrt(3 * light), high)
    luma = value @ np.array([0.2627, 0.6780, 0.0593])
    planes = [
        (luma * 219 + 16) * 4,
        ((value[..., 2] - luma) / 1.8814 * 224 + 128)[::2, ::2] * 4,
        ((value[..., 0] - luma) / 1.4746 * 224 + 128)[::2, ::2] * 4,
    ]
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx265", rate=25, options={"crf": "5", "x265-params": "log-level=none"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p10le"
        context = stream.codec_context
        context.color_primaries, context.colorspace, context.color_range = 9, 9, 1
        context.color_trc = {"pq": 16, "hlg": 18}[transfer]
        for _ in range(3):
            frame: Any = av.VideoFrame(WIDTH, HEIGHT, "yuv420p10le")
            for plane, values in zip(frame.planes, planes, strict=True):
                rows = np.zeros((plane.height, plane.line_size // 2), np.uint16)
                rows[:, : values.shape[1]] = np.round(values)
                plane.update(rows.tobytes())
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("transfer", ["pq", "hlg"])
def test_hdr_is_mapped_as_by_ffmpegs_filters(transfer: str, tmp_path: Path) -> None:
    path = hdr_film(tmp_path / "hdr.mp4", transfer)
    assert probe(path).transfer == transfer
    pixels = next(iter(frames_at(path, [0.0]))).pixels
    for n, colour in enumerate(HABLE[transfer]):
        middle = pixels[HEIGHT // 2, n * WIDTH // 4 + WIDTH // 8].astype(int)
        assert np.abs(middle - colour).max() <= 4, (n, middle)


def test_half_pictures_are_not_combed(tmp_path: Path) -> None:
    path = tmp_path / "dvr.mp4"
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=25, options={"x264-params": "tff=1", "crf": "5"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for n in range(5):
            picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
            # A bar that has moved on by the time of the second half picture.
            picture[::2, 8 * n : 8 * n + 20] = 255
            picture[1::2, 8 * n + 30 : 8 * n + 50] = 255
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")))
        output.mux(stream.encode(None))
    assert probe(path).interlaced
    with open_video(path) as source:
        for frame in source.frames():
            rows = source.shown(frame.picture).astype(int).mean(axis=2)
            combs = np.abs(rows[1:-1] - (rows[:-2] + rows[2:]) / 2).mean()
            assert combs < 5, combs
