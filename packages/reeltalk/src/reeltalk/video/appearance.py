"""Describes the appearance of an object in numbers that can be compared between two views, and names its colour."""

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.schema.knowledge import Box

Pixels = NDArray[np.uint8]
"""(H, W, 3) uint8 RGB."""
Appearance = NDArray[np.float32]
"""(192,) float32: the square roots of the smoothed shares of 128 colours, then a patch of 8 × 8 grey values with mean 0
and length 1 (all 0 if the crop is plain)."""

BINS: Final = (8, 4, 4)
"""Bins of hue, saturation and value."""
COLOUR_VALUES: Final = 128
PATCH_SIDE: Final = 8
APPEARANCE_VALUES: Final = COLOUR_VALUES + PATCH_SIDE * PATCH_SIDE
CROP_SIDE: Final = 48
"""A crop is resized to this size before it is described, so near and far views cost and count the same."""
COLOUR_WEIGHT: Final = 0.6
"""Share of the colours in the similarity; the patch has the rest. Colours stay the same when an object turns; the patch
distinguishes shapes."""
COLOURED_SATURATION: Final = 64
DARK_VALUE: Final = 60
LIGHT_VALUE: Final = 190
BROWN_VALUE: Final = 170
"""Orange that is darker than this is called brown."""
HUES: Final = (
    (8, "red"), (20, "orange"), (34, "yellow"), (85, "green"), (128, "blue"), (150, "purple"), (170, "pink"),
    (180, "red"),
)  # fmt: skip
"""Names of hues up to a bound, in OpenCV's half degrees."""


def cut_box(rgb: Pixels, box: Box) -> Pixels:
    """Returns the part of a picture inside a box, at least one pixel, as a view without a copy."""
    height, width = rgb.shape[:2]
    left, top = min(width - 1, int(box.left * width)), min(height - 1, int(box.top * height))
    right, bottom = max(left + 1, round(box.right * width)), max(top + 1, round(box.bottom * height))
    return rgb[top:bottom, left:right]


def describe_appearance(rgb: Pixels) -> Appearance:
    """Describes a crop or a whole picture.

    Args:
        rgb: (H, W, 3) uint8.

    Returns:
        (192,) float32, in the layout of `Appearance`.
    """
    square = cv2.resize(rgb, (CROP_SIDE, CROP_SIDE), interpolation=cv2.INTER_AREA)
    hsv = cv2.cvtColor(square, cv2.COLOR_RGB2HSV)
    counts = cv2.calcHist([hsv], [0, 1, 2], _MIDDLE, list(BINS), [0, 180, 0, 256, 0, 256]).ravel()
    colours = np.sqrt(_SOFTEN @ counts / max(1.0, float(counts.sum())))
    grey = cv2.resize(cv2.cvtColor(square, cv2.COLOR_RGB2GRAY), (PATCH_SIDE, PATCH_SIDE), interpolation=cv2.INTER_AREA)
    patch = grey.astype(np.float32).ravel()
    patch -= patch.mean()
    length = float(np.linalg.norm(patch))
    # Below about one grey level per pixel, the patch shows only the noise of the encoder.
    patch = patch / length if length > PATCH_SIDE else np.zeros_like(patch)
    return np.concatenate([colours, patch]).astype(np.float32)


def similarity(first: Appearance, second: Appearance) -> float:
    """Similarity of two appearances: 0 if they have nothing in common, 1 if they are equal."""
    return float(similarities(first[None], second[None])[0, 0])


def similarities(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Computes `similarity` for every pair from two lists: (N, 192) and (M, 192) to (N, M)."""
    # The product of the square roots of two distributions is their Bhattacharyya coefficient.
    colours = first[:, :COLOUR_VALUES] @ second[:, :COLOUR_VALUES].T
    patches = first[:, COLOUR_VALUES:] @ second[:, COLOUR_VALUES:].T
    # A plain crop has no patch that could differ.
    first_plain = np.asarray(~first[:, COLOUR_VALUES:].any(axis=1))
    second_plain = np.asarray(~second[:, COLOUR_VALUES:].any(axis=1))
    shapes = np.where(first_plain[:, None] | second_plain[None], colours, np.maximum(patches, 0.0))
    values: NDArray[np.float32] = np.clip(COLOUR_WEIGHT * colours + (1 - COLOUR_WEIGHT) * shapes, 0.0, 1.0)
    return values


def colour_name(rgb: Pixels) -> str:
    """Names the most frequent colour in the middle of a crop: a hue, `brown`, `black`, `white` or `grey`.

    Args:
        rgb: (H, W, 3) uint8.
    """
    square = cv2.resize(rgb, (CROP_SIDE, CROP_SIDE), interpolation=cv2.INTER_AREA)
    hue, saturation, value = cv2.split(cv2.cvtColor(square, cv2.COLOR_RGB2HSV))
    inside = _MIDDLE.astype(bool)
    hue, saturation, value = hue[inside], saturation[inside], value[inside]
    coloured = (saturation >= COLOURED_SATURATION) & (value >= DARK_VALUE)
    if coloured.mean() < 0.3:
        plain = value[~coloured]
        shares = {
            "black": float((plain < DARK_VALUE).mean()),
            "white": float((plain >= LIGHT_VALUE).mean()),
        }
        shares["grey"] = 1 - shares["black"] - shares["white"]
        return max(sorted(shares), key=lambda name: shares[name])
    hue, value = hue[coloured], value[coloured]
    counts: dict[str, int] = {}
    low = 0
    for high, name in HUES:
        own = (hue >= low) & (hue < high)
        dark = own & (value < BROWN_VALUE) if name == "orange" else np.zeros_like(own)
        counts[name] = counts.get(name, 0) + int((own & ~dark).sum())
        counts["brown"] = counts.get("brown", 0) + int(dark.sum())
        low = high
    return max(sorted(counts), key=lambda name: counts[name])


def _middle() -> Pixels:
    y, x = np.mgrid[0:CROP_SIDE, 0:CROP_SIDE]
    centre = (CROP_SIDE - 1) / 2
    inside = ((x - centre) / (0.5 * CROP_SIDE)) ** 2 + ((y - centre) / (0.5 * CROP_SIDE)) ** 2 <= 1
    return np.asarray(inside, np.uint8)


_MIDDLE: Final = _middle()
"""An ellipse in the crop. The corners outside it mostly show the background."""


def _softening() -> NDArray[np.float32]:
    whole: NDArray[np.float64] = np.ones((1, 1))
    for axis, size in enumerate(BINS):
        part = 0.5 * np.eye(size)
        for step in (-1, 1):
            for n in range(size):
                # Hue is a circle. The other two axes have ends, and a bin at an end keeps that share.
                part[(n + step) % size if axis == 0 else min(max(n + step, 0), size - 1), n] += 0.25
        whole = np.asarray(np.kron(whole, part), np.float64)
    return np.asarray(whole, np.float32)


_SOFTEN: Final = _softening()
"""(128, 128): each bin gives a quarter to each neighbour, so that colours near a bound between bins stay similar."""
