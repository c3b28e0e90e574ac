"""One-to-one assignments: which of these goes with which of those, so that the sum is greatest."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from reeltalk.schema.knowledge import Box


def assign(values: ArrayLike, *, least: float = 0.0) -> list[tuple[int, int]]:
    """Pairs of row and column, each at most once, whose values have the greatest sum (Kuhn 1955).

    Args:
        values: (N, M) numbers.
        least: A pair with a smaller value is never formed; nor is one whose value is not above 0.

    Returns:
        Pairs in the order of their rows.
    """
    # scipy takes a quarter of a second to import.
    from scipy.optimize import linear_sum_assignment

    matrix = np.asarray(values, np.float64)
    if matrix.size == 0:
        return []
    allowed = np.where((matrix >= least) & (matrix > 0), matrix, 0.0)
    rows, columns = linear_sum_assignment(allowed, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column] > 0]


def overlaps(first: Sequence[Box], second: Sequence[Box]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Intersection over union of each box of one list with each of another: (N, M), 0–1."""
    a, b = _corners(first), _corners(second)
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    common = np.maximum(high - low, 0.0).prod(axis=2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(axis=1), (b[:, 2:] - b[:, :2]).prod(axis=1)
    result: np.ndarray[tuple[int, int], np.dtype[np.float64]] = common / (area_a[:, None] + area_b[None] - common)
    return result


def _corners(boxes: Sequence[Box]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.array([(box.left, box.top, box.right, box.bottom) for box in boxes], np.float64).reshape(-1, 4)
