"""The difference of two models if they answered in one style: of equal length, markup and words around the answer.

A judge may prefer long answers or lists, and a reader of short answers may miss one among other words. So the paired
differences in score are regressed on the differences in style; the intercept is the difference at equal style.

Reference:
    Li, Angelopoulos & Chiang, "Does style matter? Disentangling style and substance in Chatbot Arena", 2024; there with
    wins of pairs, here with scores of the same turns.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.uncertainty import Bounds, ClusteredEstimate, Ints, clustered_mean
from reeltalk.schema.model_texts import plain_answer, plain_reply, without_thoughts

Floats = NDArray[np.float64]

STYLE_TRAITS: Final = ("length", "markup", "words around the answer")
"""What is compared: logarithm of the characters, and whether there is markup, and a lead-in or an offer."""
LEAST_PER_TRAIT: Final = 10
"""Turns that a regression needs for each of its numbers."""


def style_of(text: str) -> tuple[float, float, float]:
    """The style of an answer, in the order of `STYLE_TRAITS`."""
    said, reply = without_thoughts(text), plain_reply(text)
    return math.log1p(len(said)), float(said.strip() != reply), float(plain_answer(text) != reply)


def difference_at_equal_style(
    differences: Floats, styles: Floats, videos: Ints, *, bounds: Bounds, confidence: float
) -> ClusteredEstimate | None:
    """The intercept of differences in score on differences in style, clustered by video.

    Args:
        differences: (N,) in score.
        styles: (N, K) in style; a trait in which no two answers differ is left out.
        videos: (N,) source video of each turn.
        bounds: Least and largest difference.
        confidence: Confidence of the interval.

    Returns:
        None if no trait differs, or if turns are too few.
    """
    if not len(differences):
        return None
    traits = styles[:, styles.std(axis=0) > 0]
    table = np.column_stack([np.ones(len(differences)), traits])
    numbers = int(np.linalg.matrix_rank(table))
    if numbers < 2 or len(np.unique(videos)) <= numbers or len(differences) < LEAST_PER_TRAIT * numbers:
        return None
    inverse = np.linalg.pinv(table.T @ table)
    slopes = inverse @ table.T @ differences
    # What each turn adds to the intercept, enlarged by its leverage (HC2), so that their mean is the intercept.
    left = 1 - np.einsum("ij,jk,ik->i", table, inverse, table)
    effects = (table @ inverse[0]) * (differences - table @ slopes) / np.sqrt(np.maximum(left, 0.1))
    values = slopes[0] + len(differences) * (effects - effects.mean())
    return clustered_mean(values, videos, bounds=bounds, confidence=confidence)
