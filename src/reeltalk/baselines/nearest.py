"""Answers of the nearest neighbour in question and picture."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.answerer import Frames, Pair, Said, as_option
from reeltalk.baselines.known import learnt
from reeltalk.baselines.likeness import LikeIndex

FRAMES_WEIGHT: Final = 0.5
"""How much the likeness of the pictures counts beside that of the questions."""
CONSIDERED: Final = 10


class Nearest:
    """The answer to the known question that is likest in words and in pictures.

    It shows what memorising a training set is worth: it looks at the video, yet understands nothing of it.

    Args:
        pairs: Known questions and answers with the features of their videos.
        features: Gives (D,) for the frames of a video.
        features_name: Names it in the signature.
        weight: Weight of the pictures' likeness in [0, 1]; the questions' has the rest.

    Raises:
        ValueError: The features of the pairs differ in shape, or some have none.
    """

    name: Final = "nearest"

    def __init__(
        self,
        pairs: Sequence[Pair],
        features: Callable[[Frames], NDArray[Any]],
        *,
        features_name: str,
        weight: float = FRAMES_WEIGHT,
    ) -> None:
        self.index = LikeIndex(pairs)
        self._features, self._features_name, self._weight = features, features_name, weight
        rows = [np.asarray(pair.features, dtype=np.float64) for pair in pairs if pair.features is not None]
        if len(rows) < len(pairs) or len({row.shape for row in rows}) > 1 or any(row.ndim != 1 for row in rows):
            raise ValueError(f"every pair must have features of one shape (D,), got {sorted({r.shape for r in rows})}")
        self._known = np.array([_unit(row) for row in rows])  # Shape: (N, D)

    @property
    def signature(self) -> str:
        """Name, features, their weight, and what it learnt from."""
        train = learnt(self.index.pairs, (), self._known)
        return f"baseline:nearest|features:{self._features_name}|weight:{self._weight:g}|train:{train}"

    def answer(
        self,
        question: str,
        history: Said = (),
        options: Sequence[str] | None = None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The nearest neighbour's answer; None without frames, or where no known question shares a word."""
        if not frames or not self.index.pairs:
            return None
        words = self.index.likeness(question, without=without)
        if not (words > 0).any():
            return None
        seen = self._known @ _unit(np.asarray(self._features(frames), dtype=np.float64))
        scores = (1.0 - self._weight) * words + self._weight * seen
        scores[words <= 0] = -np.inf
        for place in np.argsort(-scores, kind="stable")[: CONSIDERED if options else 1]:
            chosen = as_option(self.index.pairs[place].answer, options)
            if chosen is not None:
                return chosen
        return None


def _unit(row: NDArray[np.float64]) -> NDArray[np.float64]:
    norm = float(np.linalg.norm(row))
    return row / norm if norm else row
