"""Ranks candidates by their features with a conditional logit, learned from questions with known answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STEPS: Final = 25
FOLDS: Final = 5
"""Number of parts for cross-validation."""
CONVERGED_BELOW: Final = 1e-2
"""Learning ends if no weight of a scaled feature changes by more than this."""
SMALLEST_SPREAD: Final = 1e-2
"""A feature that varies less is not scaled up any further."""
MOST_LEARNED: Final = 8_000
"""Most known questions that a baseline learns weights from, or looks for the most similar one in."""


@dataclass(frozen=True)
class RankingExample:
    """The candidates of one question."""

    features: Floats
    """(C, F) features of each candidate."""
    right: NDArray[np.bool_]
    """(C,) True for right candidates; there may be several."""


@dataclass(frozen=True)
class Ranker:
    """Weights of features."""

    weights: Floats
    """(F,)."""

    @classmethod
    def fit(cls, choices: Sequence[RankingExample], features: int, *, penalty: float) -> Self:
        """Learn from questions with right and wrong candidates; other questions are skipped.

        Args:
            choices: The questions.
            features: F, the number of features.
            penalty: Penalty of the squared weights of the standardised features.

        Reference:
            McFadden 1974, conditional logit. With several right candidates, their joint probability is maximised.
        """
        told = [choice for choice in choices if choice.right.any() and not choice.right.all()]
        if not told:
            # The first feature is the votes of known answers.
            return cls(np.eye(1, features)[0])
        rows = np.concatenate([choice.features for choice in told])
        right = np.concatenate([choice.right for choice in told])
        starts = np.cumsum([0, *(len(choice.right) for choice in told[:-1])])
        counts = [len(choice.right) for choice in told]
        spread = np.maximum(rows.std(0), SMALLEST_SPREAD)
        rows = rows / spread
        weights = np.zeros(features)
        for _ in range(STEPS):
            score = rows @ weights
            chance = _softmax(score, starts, counts)
            wanted = _softmax(np.where(right, score, -np.inf), starts, counts)
            gradient = rows.T @ (wanted - chance) - penalty * weights
            means = np.add.reduceat(rows * chance[:, None], starts)
            # Without the spread of the right candidates this bounds the curvature from above, so no step is too long.
            curvature = (rows * chance[:, None]).T @ rows - means.T @ means + penalty * np.eye(features)
            step = np.linalg.solve(curvature, gradient)
            weights = weights + step
            if np.abs(step).max() < CONVERGED_BELOW:
                break
        return cls(weights / spread)

    def best(self, features: Floats) -> int:
        """Index of the candidate with the highest score, the first among equals.

        Args:
            features: (C, F).
        """
        return int(np.argmax(features @ self.weights))


def drawn_questions(count: int, most: int | None = None) -> list[int]:
    """Indices of the known questions that a baseline learns from: all of them, or a draw in order.

    Args:
        count: Number of known questions.
        most: Most questions of a draw; `MOST_LEARNED` by default.
    """
    most = MOST_LEARNED if most is None else most
    if count <= most:
        return list(range(count))
    return sorted(np.random.default_rng(0).choice(count, most, replace=False).tolist())


def drawn_signature(count: int) -> str:
    """The part of a signature that tells how many of the known questions a baseline learns from; empty for all."""
    return f"|learned:{MOST_LEARNED}" if count > MOST_LEARNED else ""


def _softmax(score: Floats, starts: NDArray[np.intp], counts: Sequence[int]) -> Floats:
    """(N,) probabilities within each question."""
    raised: Floats = np.exp(score - np.repeat(np.maximum.reduceat(score, starts), counts))
    shares: Floats = raised / np.repeat(np.add.reduceat(raised, starts), counts)
    return shares


def assign_folds(videos: list[str], appearance: np.ndarray | None = None) -> dict[str, int]:
    """Divide videos into `FOLDS` parts for cross-validation.

    Args:
        videos: Names of the videos.
        appearance: (N, D) features of the videos, if known. Similar videos, as films of one house, are then put into
            one part (k-means); otherwise a test on one of them would be too easy.

    Returns:
        The part of each video, from 0.
    """
    names = sorted(videos)
    if appearance is None or len(names) <= FOLDS:
        return {name: n % FOLDS for n, name in enumerate(names)}
    rows = np.asarray(appearance, np.float64)[np.argsort(videos, kind="stable")]
    # Centres are chosen farthest from each other, which needs no seed and gives the same parts each time.
    chosen = [int(((rows - rows.mean(0)) ** 2).sum(1).argmax())]
    while len(chosen) < FOLDS:
        chosen.append(int(((rows[:, None] - rows[chosen]) ** 2).sum(-1).min(1).argmax()))
    centres = rows[chosen]
    part = np.zeros(len(rows), np.intp)
    for _ in range(20):
        part = ((rows[:, None] - centres) ** 2).sum(-1).argmin(1)
        centres = np.array([rows[part == k].mean(0) if (part == k).any() else centres[k] for k in range(FOLDS)])
    return {name: int(k) for name, k in zip(names, part, strict=True)}
