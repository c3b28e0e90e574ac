"""Resizes frames for reeltalk-mini to one size, with identical bits in training and in use.

Each pixel is the mean of the area that it covers, computed in integers, so the result is the same on every machine.
Pictures of another aspect ratio are centred on black.
"""

from math import gcd

import numpy as np
from numpy.typing import NDArray

from reeltalk.inference.mini_shape import MiniShape

Whole = NDArray[np.unsignedinteger]


def fitted(rgb: NDArray[np.uint8], shape: MiniShape) -> NDArray[np.uint8]:
    """Resizes a frame to the network's size.

    Args:
        rgb: (H, W, 3) uint8.
        shape: Contains the size.

    Returns:
        (shape.height_px, shape.width_px, 3) uint8; the frame itself if it already has that size.

    Raises:
        ValueError: The array has another shape or dtype.
    """
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or 0 in rgb.shape:
        raise ValueError(f"a frame is (height, width, 3) uint8, not {rgb.shape} {rgb.dtype}")
    height, width = rgb.shape[:2]
    if (height, width) == (shape.height_px, shape.width_px):
        return rgb
    # The side that is too long by the larger factor decides the scale.
    if height * shape.width_px >= width * shape.height_px:
        inner_h, inner_w = shape.height_px, _rounded(width * shape.height_px, height)
    else:
        inner_h, inner_w = _rounded(height * shape.width_px, width), shape.width_px
    # Each pass multiplies by the source's length over the greatest divisor that it shares with the target's.
    times = height // gcd(height, inner_h) * (width // gcd(width, inner_w))
    kind = np.uint32 if 256 * times < 1 << 32 else np.uint64
    covered = _areas(_areas(rgb.astype(kind), 0, inner_h), 1, inner_w)
    inner = ((covered + kind(times // 2)) // kind(times)).astype(np.uint8)
    if inner.shape[:2] == (shape.height_px, shape.width_px):
        return inner
    out = np.zeros((shape.height_px, shape.width_px, 3), np.uint8)
    top, left = (shape.height_px - inner_h) // 2, (shape.width_px - inner_w) // 2
    out[top : top + inner_h, left : left + inner_w] = inner
    return out


def _areas(values: Whole, axis: int, length: int) -> Whole:
    """Sums over equal parts of an axis, multiplied by the number of fractions in a pixel.

    The sums of all values before each border are subtracted from each other. They may overflow and wrap around to 0.
    Their
    differences are still right if the sum of a part fits.
    """
    size, kind = values.shape[axis], values.dtype.type
    shared = gcd(size, length)
    per_pixel = length // shared
    border = np.arange(length + 1) * (size // shared)
    whole, rest = np.divmod(border, per_pixel)
    summed = np.zeros([n + (at == axis) for at, n in enumerate(values.shape)], values.dtype)
    np.cumsum(values, axis=axis, out=summed[(slice(None),) * axis + (slice(1, None),)])
    begun = values.take(np.minimum(whole, size - 1), axis)
    parts = np.expand_dims(rest.astype(values.dtype), [at for at in range(values.ndim) if at != axis])
    sums: Whole = np.diff(kind(per_pixel) * summed.take(whole, axis) + parts * begun, axis=axis)
    return sums


def _rounded(above: int, below: int) -> int:
    return max(1, (2 * above + below) // (2 * below))
