"""Draws of whole source videos with replacement: turns of one video are not independent."""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE: Final = 0.95


_MOST_KEPT: Final = 2_000_000
"""Draws that are kept hold at most as many numbers."""


def drawn_clusters(count: int, resamples: int, seed: int) -> Floats:
    """How often each of some clusters is drawn in each sample.

    Args:
        count: Clusters.
        resamples: Samples.
        seed: Seed of numpy's `default_rng` (PCG64).

    Returns:
        (resamples, count), whole numbers; each row adds up to `count`.
    """
    draw = _kept_draws if count * resamples <= _MOST_KEPT else _draws
    return draw(count, resamples, seed).astype(np.float64)


def _draws(count: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=resamples)


@lru_cache(maxsize=64)
def _kept_draws(count: int, resamples: int, seed: int) -> NDArray[np.uint16]:
    """A report asks for the same draws hundreds of times, and to draw takes longer than all that follows."""
    return _draws(count, resamples, seed).astype(np.uint16)
