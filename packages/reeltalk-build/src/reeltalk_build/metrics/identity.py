"""Assigns what was found to what is known, each at most once."""

import numpy as np
from numpy.typing import ArrayLike


def assign_pairs(values: ArrayLike, *, least: float = 0.0) -> list[tuple[int, int]]:
    """Pairs of row and column, each at most once, whose values have the greatest sum (Kuhn 1955).

    Args:
        values: (N, M) numbers.
        least: Least value of a pair; values that are not above 0 never form one.

    Returns:
        Pairs in the order of their rows.
    """
    # Importing scipy takes a quarter of a second.
    from scipy.optimize import linear_sum_assignment

    matrix = np.asarray(values, np.float64)
    if matrix.size == 0:
        return []
    allowed = np.where((matrix >= least) & (matrix > 0), matrix, 0.0)
    rows, columns = linear_sum_assignment(allowed, maximize=True)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column] > 0]
