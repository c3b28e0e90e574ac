"""BRISQUE (Mittal et al. 2012, IEEE TIP 21/12): how natural a picture looks, without a reference picture.

The features are computed here. The regression is the one in the package brisque 0.2.0, stored as numbers in
`brisque.npz`. It measures blur, noise and compression, not whether a picture is pleasant.
"""

import math
from functools import cache
from importlib.resources import files
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WIDTH_PX: Final = 640
"""Pictures are resized to this width first, because the score depends on the size."""
KERNEL: Final = (7, 7)
SIGMA: Final = 7 / 6
FLAT: Final = 1e-8
"""Below this variance, a picture has nothing to judge."""


def brisque(rgb: NDArray[np.uint8]) -> float | None:
    """The score of a picture.

    Args:
        rgb: (H, W, 3) uint8 RGB; a picture wider than 640 is resized to a width of 640.

    Returns:
        About 0 (natural) to 100 (distorted); None for a picture of one colour or under 16 pixels in height or width.
    """
    if rgb.shape[1] > WIDTH_PX:
        rgb = cv2.resize(
            rgb, (WIDTH_PX, max(1, round(rgb.shape[0] * WIDTH_PX / rgb.shape[1]))), interpolation=cv2.INTER_AREA
        )
    grey = rgb.astype(np.float64) @ np.array([0.2125, 0.7154, 0.0721]) / 255
    if min(grey.shape) < 16 or grey.var() < FLAT:
        return None
    half = cv2.resize(grey, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
    features = np.array([*_features(grey), *_features(half)])
    if not np.isfinite(features).all():
        return None
    model = _model()
    scaled = -1 + 2 * (features - model["low"]) / (model["high"] - model["low"])
    kernel = np.exp(-model["gamma"] * ((model["vectors"] - scaled) ** 2).sum(axis=1))
    return float(model["weights"] @ kernel - model["rho"])


@cache
def _model() -> dict[str, Floats]:
    with (files("reeltalk.video") / "brisque.npz").open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _features(grey: Floats) -> list[float]:
    """18 features: two of the normalised picture, and four of its products with each of four neighbours."""
    mean = cv2.GaussianBlur(grey, KERNEL, SIGMA, borderType=cv2.BORDER_CONSTANT)
    square = cv2.GaussianBlur(grey**2, KERNEL, SIGMA, borderType=cv2.BORDER_CONSTANT)
    normal = (grey - mean) / (np.sqrt(np.abs(mean**2 - square)) + 1 / 255)
    shape, _, left, right = _fit(normal)
    features = [shape, (left + right) / 2]
    for product in (
        normal[:, :-1] * normal[:, 1:],
        normal[:-1] * normal[1:],
        normal[:-1, :-1] * normal[1:, 1:],
        normal[1:, :-1] * normal[:-1, 1:],
    ):
        features += _fit(product)
    return features


def _fit(values: Floats) -> tuple[float, float, float, float]:
    """Shape, mean, left and right variance of the asymmetric generalised Gaussian with the same moments."""
    values = np.ascontiguousarray(values).ravel()
    below = np.minimum(values, 0.0)
    count = np.count_nonzero(below)
    squares, squares_below = float(np.dot(values, values)), float(np.dot(below, below))
    if not 0 < count < values.size or not 0 < squares_below < squares:
        return (math.nan,) * 4
    left, right = squares_below / count, (squares - squares_below) / (values.size - count)
    skew = math.sqrt(left / right)
    ratio = (float(values.sum() - 2 * below.sum()) / values.size) ** 2 / (squares / values.size)
    ratio *= (skew**3 + 1) * (skew + 1) / (skew**2 + 1) ** 2
    shapes, ratios = _shapes()
    shape = float(np.interp(ratio, ratios, shapes))
    spread = math.sqrt(math.gamma(1 / shape) / math.gamma(3 / shape))
    mean = (math.sqrt(right) - math.sqrt(left)) * spread * math.gamma(2 / shape) / math.gamma(1 / shape)
    return shape, mean, left, right


@cache
def _shapes() -> tuple[Floats, Floats]:
    """Shapes and the ratio of moments of each. The ratio grows with the shape, so it can be looked up."""
    shapes = np.arange(0.1, 12, 0.001)
    ratios = [math.gamma(2 / a) ** 2 / (math.gamma(1 / a) * math.gamma(3 / a)) for a in shapes.tolist()]
    return shapes, np.array(ratios)
