"""The picture of every film here: four named corners, and its number as a row of black and white blocks.

As a player shows it, upright: red top left, green top right, blue bottom left, yellow bottom right, on grey. The row of
blocks across the middle is the number of the picture, highest bit first, after one white block and before one black.
"""

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
"""Height × width × 3, red, green and blue of sRGB."""
Matrix = tuple[int, int, int, int]
"""The a, b, c, d of a QuickTime matrix: a stored point (x, y) is shown at (a·x + c·y, b·x + d·y), moved into view."""

COLOURS: Final = {"red": (191, 0, 0), "green": (0, 191, 0), "blue": (0, 0, 191), "yellow": (191, 191, 0)}
"""Bars of 75 %, as on test cards."""
GREY: Final = 128
BITS: Final = 10
"""Of a number."""
CORNERS: Final = {"red": (0, 0), "green": (0, 1), "blue": (1, 0), "yellow": (1, 1)}
"""Row and column of each colour in an upright picture."""


class Patch(NamedTuple):
    """A place in the picture as it is shown, in parts of its width and height, and its colour."""

    name: str
    x: float
    y: float
    rgb: tuple[int, int, int]


PATCHES: Final = tuple(
    Patch(name, 0.12 + 0.76 * column, 0.15 + 0.7 * row, COLOURS[name]) for name, (row, column) in CORNERS.items()
)


def paint(number: int, width: int, height: int, bar: float | None = None) -> Picture:
    """The upright picture of a number; with a bar below the row, at a part of the way across, where things move."""
    picture = np.full((height, width, 3), GREY, np.uint8)
    tall, wide = round(height * 0.32), round(width * 0.26)
    for name, (row, column) in CORNERS.items():
        top, left = (height - tall) * row, (width - wide) * column
        picture[top : top + tall, left : left + wide] = COLOURS[name]
    edges = np.linspace(0.04 * width, 0.96 * width, BITS + 3).round().astype(int)
    blocks = [1, *((number >> (BITS - 1 - bit)) & 1 for bit in range(BITS)), 0]
    for block, left, right in zip(blocks, edges, edges[1:], strict=False):
        picture[round(height * 0.4) : round(height * 0.6), left:right] = 235 * block
    if bar is not None:
        left = round((0.3 + 0.3 * (bar % 1)) * width)
        picture[round(height * 0.72) :, left : left + round(0.08 * width)] = 235
    return picture


def read_number(picture: Picture) -> int | None:
    """The number in a picture as it is shown; None where there is none, or where two are woven into one."""
    height, width = picture.shape[:2]
    band = picture[round(height * 0.46) : round(height * 0.54)].mean(axis=(0, 2))
    edges = np.linspace(0.04 * width, 0.96 * width, BITS + 3)
    levels = [
        float(band[round(left + (right - left) * 0.3) : max(round(right - (right - left) * 0.3), 1)].mean())
        for left, right in pairwise(edges)
    ]
    white, black = levels[0], levels[-1]
    if white - black < 90:
        return None
    parts = [(level - black) / (white - black) for level in levels[1:-1]]
    if any(0.3 < part < 0.7 for part in parts):
        return None
    return sum((part > 0.5) << (BITS - 1 - bit) for bit, part in enumerate(parts))


def colour_at(picture: Picture, patch: Patch) -> tuple[int, int, int]:
    """The mean colour around a place of the picture as it is shown."""
    height, width = picture.shape[:2]
    x, y, reach = round(patch.x * width), round(patch.y * height), max(round(min(width, height) * 0.04), 1)
    red, green, blue = picture[y - reach : y + reach, x - reach : x + reach].mean(axis=(0, 1))
    return round(red), round(green), round(blue)


def nearest_name(rgb: tuple[int, int, int]) -> str:
    """The named colour whose hue is nearest: how far red, green and blue stand out, whatever the light."""
    strongest = max(*rgb, 1)
    return min(
        COLOURS, key=lambda name: sum(abs(a / strongest - b / 191) for a, b in zip(rgb, COLOURS[name], strict=True))
    )


def shown(stored: Picture, matrix: Matrix) -> Picture:
    """What a player shows of a stored picture."""
    a, b, c, d = matrix
    turned = stored.transpose(1, 0, 2) if a == 0 else stored
    across, down = (a, d) if a else (c, b)
    return np.ascontiguousarray(turned[::down, ::across])


def stored(picture: Picture, matrix: Matrix) -> Picture:
    """What a camera stores of a picture that is to be shown: the way back."""
    a, b, c, d = matrix
    across, down = (a, d) if a else (c, b)
    turned = picture[::down, ::across]
    return np.ascontiguousarray(turned.transpose(1, 0, 2) if a == 0 else turned)


def resized(picture: Picture, width: int, height: int) -> Picture:
    """A picture of another size, by the nearest points."""
    rows = (np.arange(height) + 0.5) * picture.shape[0] / height
    columns = (np.arange(width) + 0.5) * picture.shape[1] / width
    return np.ascontiguousarray(picture[rows.astype(int)][:, columns.astype(int)])
