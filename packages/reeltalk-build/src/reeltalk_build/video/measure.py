"""Measures a frame or a pair of frames: sharpness, motion, similarity, perceptual hash and quality.

The quality is BRISQUE (Mittal et al. 2012, IEEE TIP 21/12): how natural a picture looks, without a reference picture.
The features are computed here. The regression is the one in the package brisque 0.2.0, stored as numbers in
`brisque.npz`. It measures blur, noise and compression, not whether a picture is pleasant.
"""

import math
from functools import cache
from importlib.resources import files
from typing import Final

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.downscale import Picture, rows_of

Floats = NDArray[np.float64]

WIDTH_PX: Final = 640
"""Pictures are resized to this width first, because the score depends on the size."""
KERNEL: Final = (7, 7)
SIGMA: Final = 7 / 6
FLAT_VARIANCE: Final = 1e-8
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
    if min(grey.shape) < 16 or grey.var() < FLAT_VARIANCE:
        return None
    half = cv2.resize(grey, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
    features = np.array([*_features(grey), *_features(half)])
    if not np.isfinite(features).all():
        return None
    model = _model()
    scaled = -1 + 2 * (features - model["low"]) / (model["high"] - model["low"])
    kernel = np.exp(-model["gamma"] * ((model["vectors"] - scaled) ** 2).sum(axis=1))
    return float(model["weights"] @ kernel - model["rho"])


def load_brisque() -> None:
    """Read the model and its tables now, so that processes forked from this one find them in memory."""
    _model(), _shapes()


@cache
def _model() -> dict[str, Floats]:
    with (
        (files("reeltalk_build.video") / "brisque.npz").open("rb") as stream,
        np.load(stream, allow_pickle=False) as arrays,
    ):
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


SHARPNESS_WIDTH_PX: Final = 640
"""Sharpness depends on the size of the picture. Frames are shrunk to this width first, and never enlarged."""
BINS: Final = (8, 8, 8)
HASH_SIDE: Final = 8


def luma(picture: av.VideoFrame) -> Picture:
    """A frame's brightness: (H, W) uint8, without a copy if the layout allows it."""
    if picture.format.name.startswith(("yuv4", "yuvj4", "nv", "gray")) and picture.format.components[0].bits == 8:
        return rows_of(picture.planes[0])[: picture.height, : picture.width]
    return np.asarray(picture.to_ndarray(format="gray"), np.uint8)


def sharpness(picture: av.VideoFrame) -> float:
    """Variance of the Laplacian of the luma at a width of 640 pixels (Pech-Pacheco et al. 2000). 0 or more.

    Blurred frames have less than about 50, detailed ones more than 200. It depends on the content as much as on the
    focus.
    """
    grey = luma(picture)
    if grey.shape[1] > SHARPNESS_WIDTH_PX:
        height = max(1, round(grey.shape[0] * SHARPNESS_WIDTH_PX / grey.shape[1]))
        grey = cv2.resize(grey, (SHARPNESS_WIDTH_PX, height), interpolation=cv2.INTER_AREA)
    return _laplacian_variance(grey)


def _laplacian_variance(grey: NDArray[np.uint8]) -> float:
    edges = cv2.Laplacian(grey, cv2.CV_16S)
    # The variance from two sums of integers takes a sixteenth of the time of cv2.meanStdDev.
    variance: float = cv2.norm(edges, cv2.NORM_L2SQR) / edges.size - (cv2.sumElems(edges)[0] / edges.size) ** 2
    return variance


def histogram(hsv: Picture) -> NDArray[np.float32]:
    """Share of the pixels in each of 8 × 8 × 8 bins of hue, saturation and value: (512,) float32."""
    counts: NDArray[np.float32] = cv2.calcHist([hsv], [0, 1, 2], None, list(BINS), [0, 180, 0, 256, 0, 256])
    share: NDArray[np.float32] = counts.ravel() / (hsv.shape[0] * hsv.shape[1])
    return share


def correlate_histograms(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Pearson correlation of two histograms, −1 to 1; 1 for equal ones."""
    return float(cv2.compareHist(first, second, cv2.HISTCMP_CORREL))


class Motion:
    """Dense optical flow between small pictures: DIS (Kroeger et al. 2016, arXiv 1603.03590), its fastest preset."""

    def __init__(self) -> None:
        self._flow = cv2.DISOpticalFlow.create(cv2.DISOpticalFlow_PRESET_ULTRAFAST)

    def __call__(self, first: Picture, second: Picture) -> float:
        """Mean length of the flow from one (H, W) grey picture to the next, in pixels of a picture 256 wide."""
        if min(first.shape) < 16:
            return 0.0
        flow = self._flow.calc(first, second, None)
        mean_px = float(cv2.mean(cv2.magnitude(flow[:, :, 0], flow[:, :, 1]))[0])
        return mean_px * 256.0 / float(max(first.shape))


def perceptual_hash(grey: Picture) -> str | None:
    """The 64 bits of pHash (Zauner 2010) of a (H, W) grey picture as 16 hexadecimal digits.

    None if the picture is too plain to tell from others.
    """
    if float(cv2.meanStdDev(grey)[1][0, 0]) < 8.0:
        return None
    side = 4 * HASH_SIDE
    square = np.float32(cv2.resize(grey, (side, side), interpolation=cv2.INTER_AREA))
    low = cv2.dct(square)[:HASH_SIDE, :HASH_SIDE]
    # Not np.median: its first call imports numpy.ma, which would cost every process as much as many frames.
    ordered = np.sort(low, axis=None)
    bits = (low > (ordered[31] + ordered[32]) / 2).ravel()
    return np.packbits(bits).tobytes().hex()
