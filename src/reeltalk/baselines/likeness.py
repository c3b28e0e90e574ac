"""Which known questions are like a new one: TF-IDF over stemmed words, as an inverted index."""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.answerer import Pair
from reeltalk.metrics.agree import words_of


@dataclass(frozen=True)
class Like:
    """A known question, and how like the present one it is."""

    pair: Pair
    likeness: float
    """Cosine of the TF-IDF vectors, 0 to 1."""


class LikeIndex:
    """Known questions, ready to be compared.

    Args:
        pairs: What is known; among equally like questions the earlier one comes first.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = tuple(pairs)
        bags = [Counter(words_of(pair.question)) for pair in self.pairs]
        self._document_counts = Counter(word for bag in bags for word in bag)
        places: dict[str, list[int]] = {}
        weights: dict[str, list[float]] = {}
        for place, bag in enumerate(bags):
            for word, weight in self._vector(bag):
                places.setdefault(word, []).append(place)
                weights.setdefault(word, []).append(weight)
        self._postings = {word: (np.array(places[word]), np.array(weights[word])) for word in sorted(places)}
        videos = sorted({pair.video_id for pair in self.pairs})
        self._video_number = {video: number for number, video in enumerate(videos)}
        self._videos = np.array([self._video_number[pair.video_id] for pair in self.pairs], dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """The beginning of a hash over all that is known, for a signature."""
        digest = hashlib.sha256()
        for pair in self.pairs:
            digest.update(f"{pair.video_id}\t{pair.question}\t{pair.answer}\n".encode())
        return digest.hexdigest()[:8]

    def weight(self, word: str) -> float:
        """Inverse document frequency of a stemmed word, at least 1; highest for a word that no question has."""
        return math.log((1 + len(self.pairs)) / (1 + self._document_counts[word])) + 1.0

    def likeness(self, question: str, *, without: str | None = None) -> NDArray[np.float64]:
        """(N,) how like the question each known one is, in [0, 1]; -1 for those of the video `without`."""
        scores = np.zeros(len(self.pairs))
        for word, weight in self._vector(Counter(words_of(question))):
            if word in self._postings:
                places, weights = self._postings[word]
                scores[places] += weight * weights
        if without is not None and without in self._video_number:
            scores[self._videos == self._video_number[without]] = -1.0
        return np.minimum(scores, 1.0)

    def likest(
        self, question: str, *, without: str | None = None, least: float = 0.0, most: int | None = None
    ) -> list[Like]:
        """Known questions at least so like, the likest first.

        Args:
            question: What is asked.
            without: Leave this video's questions out.
            least: Likeness below which a question is left out; those of likeness 0 always are.
            most: How many at most; all by default, of which there may be as many as there are known questions.
        """
        scores = self.likeness(question, without=without)
        found = np.flatnonzero((scores >= least - 1e-9) & (scores > 0))
        order = found[np.argsort(-scores[found], kind="stable")]
        return [Like(self.pairs[place], float(scores[place])) for place in order[:most]]

    def _vector(self, bag: Counter[str]) -> list[tuple[str, float]]:
        # In the order of words, so that sums do not depend on hashes.
        weights = [(word, (1.0 + math.log(bag[word])) * self.weight(word)) for word in sorted(bag)]
        norm = math.sqrt(sum(weight * weight for _, weight in weights))
        return [(word, weight / norm) for word, weight in weights]
