"""Measures single frames and pairs of frames."""

from typing import Final

import av
import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.downscale import Picture, rows_of

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
