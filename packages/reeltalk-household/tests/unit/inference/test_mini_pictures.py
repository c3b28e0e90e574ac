from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from reeltalk_household.mini.mini_input import MiniShape, fit_to_network

SMALL = MiniShape(height_px=9, width_px=16)


def mean_of(rgb: NDArray[np.uint8], top: Fraction, bottom: Fraction, left: Fraction, right: Fraction) -> list[int]:
    """The mean colour of a part, pixel by pixel in exact numbers, half rounded up."""
    total = [Fraction(0)] * 3
    for y in range(floor(top), ceil(bottom)):
        for x in range(floor(left), ceil(right)):
            high = min(bottom, Fraction(y + 1)) - max(top, Fraction(y))
            area = high * (min(right, Fraction(x + 1)) - max(left, Fraction(x)))
            total = [had + area * int(colour) for had, colour in zip(total, rgb[y, x], strict=True)]
    whole = (bottom - top) * (right - left)
    return [floor(colour / whole + Fraction(1, 2)) for colour in total]


@given(height=st.integers(1, 40), width=st.integers(1, 40), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_each_pixel_is_the_mean_of_its_area_and_the_picture_stands_in_the_middle(
    height: int, width: int, seed: int
) -> None:
    rgb = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    out = fit_to_network(rgb, SMALL)
    assert out.shape == (9, 16, 3)
    assert out.dtype == np.uint8
    scale = min(Fraction(9, height), Fraction(16, width))
    inner_h, inner_w = max(1, floor(height * scale + Fraction(1, 2))), max(1, floor(width * scale + Fraction(1, 2)))
    top, left = (9 - inner_h) // 2, (16 - inner_w) // 2
    high, wide = Fraction(height, inner_h), Fraction(width, inner_w)
    for y in range(inner_h):
        for x in range(inner_w):
            expected = mean_of(rgb, y * high, (y + 1) * high, x * wide, (x + 1) * wide)
            assert out[top + y, left + x].tolist() == expected
    out = out.copy()
    out[top : top + inner_h, left : left + inner_w] = 0
    assert not out.any()


def test_a_frame_of_the_size_is_left_as_it_is_and_a_large_one_does_not_overflow() -> None:
    own = np.arange(9 * 16 * 3, dtype=np.uint8).reshape(9, 16, 3)
    assert fit_to_network(own, SMALL) is own
    white = np.full((1087, 1931, 3), 255, np.uint8)
    out = fit_to_network(white, MiniShape())
    assert set(np.unique(out)) <= {0, 255}
    assert out[54, 96].tolist() == [255, 255, 255]


@pytest.mark.parametrize("wrong", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)])
def test_what_is_no_frame_is_refused(wrong: NDArray[np.uint8]) -> None:
    with pytest.raises(ValueError, match="a frame is"):
        fit_to_network(wrong, SMALL)
