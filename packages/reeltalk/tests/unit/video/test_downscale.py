"""Small pictures are those that PySceneDetect looks at, nearly or pixel for pixel."""

from typing import Any

import av
import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reeltalk.video.downscale import Downscaler, rows_of, small_size


def noise(width: int, height: int, layout: str, seed: int = 0, colorspace: int = 2) -> av.VideoFrame:
    frame = av.VideoFrame(width, height, layout)
    frame.colorspace = colorspace
    for index, plane in enumerate(frame.planes):
        lines = rows_of(plane)
        lines[:] = np.random.default_rng(seed + index).integers(0, 256, lines.shape, dtype=np.uint8)
    return frame


def expected(frame: av.VideoFrame) -> Any:
    """PySceneDetect's way: its PyAV back end converts the whole frame, then cv2 shrinks it."""
    whole = frame.to_ndarray(format="bgr24")
    width, height = small_size(frame.width, frame.height)
    if (width, height) == (frame.width, frame.height):
        return whole
    return cv2.resize(whole, (width, height), interpolation=cv2.INTER_LINEAR)


SIZES = [(1280, 720), (1920, 1080), (3840, 2160), (1920, 800), (640, 360), (720, 1280), (176, 144)]


@pytest.mark.parametrize("layout", ["yuv420p", "yuv444p", "yuv420p10le", "nv12", "gray", "rgb24"])
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_exact_pictures_are_those_of_a_whole_conversion(width: int, height: int, layout: str) -> None:
    downscale = Downscaler(exact=True)
    for seed in range(2):
        frame = noise(width, height, layout, seed)
        assert np.array_equal(downscale(frame)[:, :, :3], expected(frame))


def smooth(width: int, height: int, layout: str, colorspace: int) -> av.VideoFrame:
    """A frame without details that would hide between the rows that are read."""
    coarse = np.random.default_rng(width).integers(0, 256, (5, 5, 3), dtype=np.uint8)
    whole = av.VideoFrame.from_ndarray(cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC), "bgr24")
    frame = whole.reformat(format=layout)
    frame.colorspace = colorspace
    return frame


LAYOUTS = [
    "yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv420p10be", "yuva420p", "yuyv422", "nv12", "gray",
    "rgb24",
]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_pictures_look_like_those_of_a_whole_conversion(width: int, height: int, layout: str) -> None:
    frame = smooth(width, height, layout, 1)
    difference = np.abs(Downscaler()(frame)[:, :, :3].astype(int) - expected(frame))
    assert difference.mean() < 3


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(["yuv420p", "yuv422p"]), st.sampled_from([1, 2, 5, 9]))
@settings(deadline=None)
def test_any_size_is_shrunk(width: int, height: int, layout: str, colorspace: int) -> None:
    frame = noise(16 * width + 3, 9 * height + 1, layout, colorspace=colorspace)
    assert Downscaler()(frame).shape == (*small_size(frame.width, frame.height)[::-1], 4)


def test_frames_of_another_size_or_layout_get_the_size_of_the_first() -> None:
    downscale = Downscaler()
    first = downscale(smooth(1280, 720, "yuv420p", 1))
    for width, height, layout in ((640, 480, "yuv420p"), (1920, 1080, "yuv422p10le"), (1280, 720, "rgb24")):
        assert downscale(smooth(width, height, layout, 1)).shape == first.shape


def test_a_picture_stays_when_others_follow() -> None:
    downscale = Downscaler()
    first = downscale(noise(1280, 720, "yuv420p", 1))
    kept = first.copy()
    for seed in (2, 3, 4):
        downscale(noise(1280, 720, "yuv420p", seed))
    assert np.array_equal(first, kept)
