"""Describes frames in numbers without weights: colours, their places, and moving things against a still background.

Everything is computed on pictures of the size `SMALL_SHAPE`, so an hour of video takes seconds.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.appearance import BROWN_VALUE, COLOURED_SATURATION, DARK_VALUE, HUES, LIGHT_VALUE
from reeltalk.video.frames import frames_at

SMALL_SHAPE: Final = (36, 64)
"""Rows and columns."""
PIXELS: Final = SMALL_SHAPE[0] * SMALL_SHAPE[1]
COLOURS: Final = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "grey", "black")
"""Names of colours, in the order of `FrameFeatures.colours`."""
REGIONS: Final = ("upper", "middle", "lower", "around", "whole")
"""The moving part in thirds from the top, the areas above, below and beside it, and the whole picture."""
SAME_VIEW_BELOW: Final = 25.0
"""Mean difference of grey levels below which two frames show the same view."""
MOVED_ABOVE: Final = 24.0
"""If a pixel differs by more than this from the median of similar frames, something moves there."""
LEAST_MOVING: Final = 6
VIEWS: Final = 9
LEVELS: Final = 5
"""Levels of each colour channel in a histogram."""
VALUES: Final = 534
SETTINGS: Final = f"frames:{SMALL_SHAPE[1]}x{SMALL_SHAPE[0]}.v1"
"""Name of these features in signatures."""


@dataclass(frozen=True)
class FrameFeatures:
    """Features of T frames."""

    times_s: NDArray[np.float64]
    """(T,) presentation times, in rising order."""
    values: NDArray[np.float32]
    """(T, 534): a grid of mean colours; histograms of the whole, of the moving part and of its surroundings; its
    place."""
    colours: NDArray[np.float32]
    """(T, 5, 11): the share of each of `COLOURS` in each of `REGIONS`."""


def shrink(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Resizes a picture to (36, 64, 3) uint8 RGB, whatever its shape."""
    return np.asarray(cv2.resize(pixels, (SMALL_SHAPE[1], SMALL_SHAPE[0]), interpolation=cv2.INTER_AREA), np.uint8)


def describe_frames(times_s: Sequence[float], small: NDArray[np.uint8]) -> FrameFeatures:
    """Describe frames of one video.

    The background of a frame is the median of the frames with the same view. So the features of a frame depend on the
    other frames that you pass: pass only the frames that the model may see.

    Args:
        times_s: (T,) in rising order.
        small: (T, 36, 64, 3) uint8 RGB, as `shrink` returns them.
    """
    count = len(small)
    if not count:
        empty = np.zeros((0, len(REGIONS), len(COLOURS)), np.float32)
        return FrameFeatures(np.zeros(0), np.zeros((0, VALUES), np.float32), empty)
    pictures = small.astype(np.float32)
    coarse = pictures.reshape(count, 9, 4, 16, 4, 3).mean((2, 4)).reshape(count, -1)
    named = _named(small)
    values, colours = [], np.zeros((count, len(REGIONS), len(COLOURS)), np.float32)
    for n in range(count):
        difference = np.abs(coarse - coarse[n]).mean(1)
        like = np.argsort(difference, kind="stable")[:VIEWS]
        like = like[difference[like] < SAME_VIEW_BELOW]
        moving = np.zeros(SMALL_SHAPE, bool)
        if len(like) >= 3:
            moving = np.asarray(np.abs(pictures[n] - np.median(pictures[like], axis=0)).max(-1) > MOVED_ABOVE)
        figure, shares = _figure(small[n], named[n], moving)
        grid = pictures[n].reshape(6, 6, 8, 8, 3).mean((1, 3)).ravel() / 255
        values.append(np.concatenate([grid, _histogram(small[n]), figure]))
        colours[n, :4], colours[n, 4] = shares, _shares(named[n])
    return FrameFeatures(np.asarray(times_s, np.float64), np.array(values, np.float32), colours)


def _figure(
    picture: NDArray[np.uint8], named: NDArray[np.intp], moving: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The moving part: its features (265,), and the shares of colours in its thirds and around it (4, 11)."""
    shares = np.zeros((4, len(COLOURS)), np.float32)
    rows, columns = np.nonzero(moving)
    if len(rows) < LEAST_MOVING:
        empty = np.zeros(2 * LEVELS**3 + 9 + 6, np.float32)
        empty[-6:-4] = 0.5
        return empty, shares
    # A few stray pixels must not enlarge it.
    (top, bottom), (left, right) = np.percentile(rows, [3, 97]), np.percentile(columns, [3, 97])
    middle = (left + right) / 2
    around = slice(int(max(0, middle - 8)), int(min(SMALL_SHAPE[1], middle + 9)))
    means = np.zeros((3, 3), np.float32)
    for third in range(3):
        low, high = (top + (bottom - top) * part / 3 for part in (third, third + 1))
        inside = moving & ((np.arange(SMALL_SHAPE[0]) >= low) & (np.arange(SMALL_SHAPE[0]) <= high))[:, None]
        if inside.any():
            means[third] = picture[inside].mean(0) / 255
            shares[third] = _shares(named[inside])
    shares[3] = _shares(named[:, around])
    place = [middle / 64, (top + bottom) / 72, (right - left) / 64, (bottom - top) / 36, len(rows) / PIXELS, 1.0]
    whole = [_histogram(picture[moving]), _histogram(picture[:, around]), means.ravel(), np.array(place)]
    return np.asarray(np.concatenate(whole), np.float32), shares


def _histogram(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(125,) square roots of the shares of colours."""
    level = np.minimum(pixels.reshape(-1, 3).astype(np.intp) * LEVELS // 256, LEVELS - 1)
    counts = np.bincount(level @ np.array([LEVELS * LEVELS, LEVELS, 1]), minlength=LEVELS**3)
    return np.asarray(np.sqrt(counts / max(1, counts.sum())), np.float32)


def _named(small: NDArray[np.uint8]) -> NDArray[np.intp]:
    """(T, 36, 64) the colour of each pixel as its index in `COLOURS`."""
    flat = cv2.cvtColor(small.reshape(-1, SMALL_SHAPE[1], 3), cv2.COLOR_RGB2HSV).reshape(small.shape)
    hue, saturation, value = (np.asarray(flat[..., n], np.intp) for n in range(3))
    bounds = [bound for bound, _ in HUES]
    names = np.array([COLOURS.index(name) for _, name in HUES])[np.searchsorted(bounds[:-1], hue, side="right")]
    names[(names == COLOURS.index("orange")) & (value < BROWN_VALUE)] = COLOURS.index("brown")
    plain = (saturation < COLOURED_SATURATION) | (value < DARK_VALUE)
    shade = np.where(value < DARK_VALUE, COLOURS.index("black"), COLOURS.index("grey"))
    shade[value >= LIGHT_VALUE] = COLOURS.index("white")
    return np.asarray(np.where(plain, shade, names), np.intp)


def _shares(named: NDArray[np.intp]) -> NDArray[np.float32]:
    shares = np.bincount(named.ravel(), minlength=len(COLOURS)) / max(1, named.size)
    return np.asarray(shares, np.float32)


def decode_features(argument: dict[str, Any]) -> dict[str, Any]:
    """Decode frames and shrink them. Runs in a child process.

    Args:
        argument: `path`, `times_s`.

    Returns:
        `times_s`, and `pixels` as base64 of (T, 36, 64, 3) uint8 RGB.
    """
    found = [(frame.pts_s, shrink(frame.pixels)) for frame in frames_at(Path(argument["path"]), argument["times_s"])]
    pixels = b"".join(small.tobytes() for _, small in found)
    return {"times_s": [pts_s for pts_s, _ in found], "pixels": base64.b64encode(pixels).decode()}
