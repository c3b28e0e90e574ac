"""Small pictures are those that PySceneDetect looks at, pixel for pixel."""

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


@pytest.mark.parametrize(
    "layout", ["yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv420p10le", "nv12", "gray", "rgb24"]
)
@pytest.mark.parametrize(
    ("width", "height"), [(1280, 720), (1920, 1080), (3840, 2160), (1920, 800), (640, 360), (720, 1280), (176, 144)]
)
def test_pictures_are_those_of_a_whole_conversion(width: int, height: int, layout: str) -> None:
    downscale = Downscaler()
    for seed in range(3):
        frame = noise(width, height, layout, seed)
        assert np.array_equal(downscale(frame)[:, :, :3], expected(frame))


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from(["yuv420p", "yuv422p"]), st.sampled_from([1, 2, 5, 9]))
@settings(deadline=None)
def test_any_size_is_exact(width: int, height: int, layout: str, colorspace: int) -> None:
    frame = noise(64 * width, 36 * height, layout, colorspace=colorspace)
    assert np.array_equal(Downscaler()(frame)[:, :, :3], expected(frame))


def test_a_picture_lives_until_the_next_but_one() -> None:
    downscale = Downscaler()
    first = downscale(noise(1280, 720, "yuv420p", 1))
    kept = first.copy()
    downscale(noise(1280, 720, "yuv420p", 2))
    assert np.array_equal(first, kept)
