"""From the colours of a screen to the planes of a film: matrices, ranges, and the curves of HDR."""

from typing import Final, Literal

import av
import numpy as np
from numpy.typing import NDArray

from corpus.pattern import Picture

Curve = Literal["sdr", "pq", "hlg"]
Planes = NDArray[np.float64]

WEIGHTS: Final = {"bt601": (0.299, 0.114), "bt709": (0.2126, 0.0722), "bt2020": (0.2627, 0.0593)}
"""Of red and blue in luma: Rec. ITU-R BT.601, BT.709 and BT.2020."""
TO_2020: Final = np.array(
    [[0.627404, 0.329283, 0.043313], [0.069097, 0.919540, 0.011362], [0.016391, 0.088013, 0.895595]]
)
"""From the primaries of BT.709 to those of BT.2020: Rec. ITU-R BT.2087."""
WHITE: Final = 203.0
"""Of an SDR picture within HDR, in cd/m²: Rec. ITU-R BT.2408."""


def signal(picture: Picture, curve: Curve) -> Planes:
    """Red, green and blue from 0 to 1 as the film's own curve writes them."""
    rgb: Planes = picture.astype(np.float64) / 255
    if curve == "sdr":
        return rgb
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ TO_2020.T
    if curve == "pq":  # SMPTE ST 2084
        power = (linear * WHITE / 10_000) ** (2610 / 16384)
        coded: Planes = ((3424 / 4096 + 2413 / 128 * power) / (1 + 2392 / 128 * power)) ** (2523 / 32)
        return coded
    light = linear * WHITE / 1000
    luma = np.clip(light @ np.array([0.2627, 0.6780, 0.0593]), 1e-9, None)[..., None]
    scene = light * luma ** ((1 - 1.2) / 1.2)  # The way back from a screen of 1000 cd/m²: Rec. ITU-R BT.2100.
    logarithm = 0.17883277 * np.log(np.clip(12 * scene - 0.28466892, 1e-9, None)) + 0.55991073
    signals: Planes = np.where(scene <= 1 / 12, np.sqrt(3 * scene), logarithm)
    return signals


def frame(
    picture: Picture, pixel_format: str, matrix: str = "bt601", full: bool = False, curve: Curve = "sdr"
) -> av.VideoFrame:
    """The frame to be encoded: in planes that are made here, so that no library chooses a matrix or a range."""
    height, width = picture.shape[:2]
    if pixel_format.startswith(("rgb", "bgr")):
        return av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=pixel_format)
    red_weight, blue_weight = WEIGHTS[matrix]
    red, green, blue = np.moveaxis(signal(picture, curve), -1, 0)
    luma = red_weight * red + (1 - red_weight - blue_weight) * green + blue_weight * blue
    chroma = [(blue - luma) / (2 - 2 * blue_weight), (red - luma) / (2 - 2 * red_weight)]
    ten = pixel_format.endswith("10le")
    top, unit = (1023, 4) if ten else (255, 1)
    made = av.VideoFrame(width, height, pixel_format)
    parts = [luma * top if full else (16 + 219 * luma) * unit]
    parts += [128 * unit + part * (top if full else 224 * unit) for part in chroma]
    for plane, part in zip(made.planes, parts, strict=True):
        down, across = height // plane.height, width // plane.width
        small = part.reshape(plane.height, down, plane.width, across).mean(axis=(1, 3))
        rows = np.clip(small.round(), 0, top).astype(np.uint16 if ten else np.uint8)
        padded = np.zeros((plane.height, plane.line_size // rows.itemsize), rows.dtype)
        padded[:, : plane.width] = rows
        plane.update(padded.tobytes())
    return made


def from_hdr(frame: av.VideoFrame, curve: Curve) -> Picture:
    """An HDR frame as SDR, its white of 203 cd/m² as white: the way back, as a check of the way here."""
    planes = frame.to_ndarray(format="yuv420p10le").astype(np.float64)
    height, width = frame.height, frame.width
    luma = (planes[:height] - 64) / 876
    blue_part, red_part = (
        ((part.reshape(height // 2, width // 2) - 512) / 896).repeat(2, axis=0).repeat(2, axis=1)
        for part in (planes[height : height * 5 // 4], planes[height * 5 // 4 :])
    )
    red, blue = luma + 1.4746 * red_part, luma + 1.8814 * blue_part
    green = (luma - 0.2627 * red - 0.0593 * blue) / 0.6780
    coded = np.clip(np.stack([red, green, blue], axis=-1), 0, 1)
    if curve == "pq":
        power = coded ** (32 / 2523)
        nits = 10_000 * (np.clip(power - 3424 / 4096, 0, None) / (2413 / 128 - 2392 / 128 * power)) ** (16384 / 2610)
    else:
        scene = np.where(coded <= 0.5, coded**2 / 3, (np.exp((coded - 0.55991073) / 0.17883277) + 0.28466892) / 12)
        nits = 1000 * scene * np.clip(scene @ np.array([0.2627, 0.6780, 0.0593]), 1e-9, None)[..., None] ** 0.2
    linear = np.clip(nits / WHITE @ np.linalg.inv(TO_2020).T, 0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return (255 * encoded).round().astype(np.uint8)
