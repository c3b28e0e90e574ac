"""Answers of the most similar known question, by its words.

Questions are compared by TF-IDF over stemmed words, in an inverted index.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.answerer import DialogueHistory, KnownAnswer, as_option
from reeltalk.baselines.ranking import drawn_questions, drawn_signature
from reeltalk.metrics.agree import content_words, words_of


@dataclass(frozen=True)
class SimilarQuestion:
    """A known question and its similarity to the present one."""

    pair: KnownAnswer
    similarity: float
    """Cosine of the TF-IDF vectors, 0 to 1."""


class WordWeights:
    """How much the words of questions tell: the rarer, the more.

    Args:
        questions: Known questions.
    """

    def __init__(self, questions: Iterable[str] = ()) -> None:
        self._counts: Counter[str] = Counter()
        self._questions = 0
        for question in questions:
            self.add(question)

    def add(self, question: str) -> None:
        """Count one more question."""
        self._counts.update(set(words_of(question)))
        self._questions += 1

    def weight(self, word: str) -> float:
        """Inverse document frequency of a stemmed word, at least 1; highest for a word that no question has."""
        return math.log((1 + self._questions) / (1 + self._counts[word])) + 1.0


def fingerprint(pairs: Iterable[KnownAnswer]) -> str:
    """First digits of a hash over known questions, for a signature.

    Args:
        pairs: The questions, in their order.
    """
    digest = hashlib.sha256()
    for pair in pairs:
        digest.update(f"{pair.video_id}\t{pair.question}\t{pair.answer}\n".encode())
    return digest.hexdigest()[:8]


class QuestionIndex:
    """An index of known questions.

    Args:
        pairs: Known questions; of equally similar ones the earlier comes first.
    """

    def __init__(self, pairs: Sequence[KnownAnswer]) -> None:
        self.pairs = tuple(pairs)
        self.weights = WordWeights(pair.question for pair in self.pairs)
        places: dict[str, list[int]] = {}
        weights: dict[str, list[float]] = {}
        for place, pair in enumerate(self.pairs):
            for word, weight in self._vector(Counter(words_of(pair.question))):
                places.setdefault(word, []).append(place)
                weights.setdefault(word, []).append(weight)
        self._postings = {
            word: (np.array(places[word], dtype=np.int64), np.array(weights[word])) for word in sorted(places)
        }
        videos = sorted({pair.video_id for pair in self.pairs})
        self._video_number = {video: number for number, video in enumerate(videos)}
        self._videos = np.array([self._video_number[pair.video_id] for pair in self.pairs], dtype=np.int64)

    @property
    def fingerprint(self) -> str:
        """First digits of a hash over all known questions, for a signature."""
        return fingerprint(self.pairs)

    def similarities(self, question: str, *, without: str | None = None) -> NDArray[np.float64]:
        """(N,) similarity of each known question, in [0, 1]; -1 for those of the video `without`."""
        scores = np.zeros(len(self.pairs))
        for word, weight in self._vector(Counter(words_of(question))):
            if word in self._postings:
                places, weights = self._postings[word]
                scores[places] += weight * weights
        if without is not None and without in self._video_number:
            scores[self._videos == self._video_number[without]] = -1.0
        return np.minimum(scores, 1.0)

    def nearest(
        self, question: str, *, without: str | None = None, least: float = 0.0, most: int | None = None
    ) -> list[SimilarQuestion]:
        """The most similar known questions, the most similar first.

        Args:
            without: A video whose questions are left out.
            least: Least similarity; questions of similarity 0 are always left out.
            most: Most questions; all by default.
        """
        places: NDArray[np.int64] | None = None
        if least > 0:
            places, scores = self._likely(question, least, without)
        else:
            scores = self.similarities(question, without=without)
        found = np.flatnonzero((scores >= least - 1e-9) & (scores > 0))
        if most is not None and most < len(found):
            # Only these are sorted. Of equally similar ones, all stay until then.
            found = found[scores[found] >= np.partition(scores[found], -most)[-most]]
        order = found[np.argsort(-scores[found], kind="stable")][:most]
        at = order if places is None else places[order]
        return [SimilarQuestion(self.pairs[place], float(scores[n])) for place, n in zip(at, order, strict=True)]

    def _likely(
        self, question: str, least: float, without: str | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Places of the questions that can be so similar, and their similarities as `similarities` has them."""
        vector = self._vector(Counter(words_of(question)))
        places = self._reaching(vector, least)
        scores = np.zeros(len(places))
        for word, weight in vector:
            if word in self._postings:
                known, weights = self._postings[word]
                at = np.minimum(np.searchsorted(known, places), len(known) - 1)
                hit = known[at] == places
                scores[hit] += weight * weights[at[hit]]
        if without is not None and without in self._video_number:
            scores[self._videos[places] == self._video_number[without]] = -1.0
        return places, np.minimum(scores, 1.0)

    def _reaching(self, vector: Sequence[tuple[str, float]], least: float) -> NDArray[np.int64]:
        """Places of the questions that can be so similar: each has one of the words without which none can."""
        left, needed = max(0.0, least - 1e-6) ** 2, set[str]()
        for word, weight in sorted(vector, key=lambda one: (one[1], one[0])):
            left -= weight * weight
            if left <= 0:
                needed.add(word)
        found = [self._postings[word][0] for word in sorted(needed) if word in self._postings]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _vector(self, bag: Counter[str]) -> list[tuple[str, float]]:
        # In the order of words, so that sums do not depend on hashes.
        weights = [(word, (1.0 + math.log(bag[word])) * self.weights.weight(word)) for word in sorted(bag)]
        norm = math.sqrt(sum(weight * weight for _, weight in weights))
        return [(word, weight / norm) for word, weight in weights]


NEIGHBOURS_TRIED: Final = 10
"""Similar questions whose answers are tried until one names an option."""


class BlindAnswerer:
    """The answer to the most similar known question. It shows the score that answers of other videos give.

    Args:
        pairs: Known questions and answers of other videos. Of very many, a draw is compared (`drawn_questions`), so
            that the time of an answer does not grow with their number.
    """

    name: Final = "blind"

    def __init__(self, pairs: Sequence[KnownAnswer]) -> None:
        drawn = (pairs[place] for place in drawn_questions(len(pairs)))
        # Of a turn, nothing else is kept: neither its dialogue nor its evidence.
        self.index = QuestionIndex([KnownAnswer(pair.question, pair.answer, pair.video_id) for pair in drawn])
        self._drawn = drawn_signature(len(pairs))

    @property
    def signature(self) -> str:
        """Name, hash of the training data, and size of the draw."""
        return f"baseline:blind|train:{self.index.fingerprint}{self._drawn}"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The answer to the most similar question, or the option nearest to it. The history is ignored."""
        for like in self.index.nearest(question, without=without, most=NEIGHBOURS_TRIED if options else 1):
            chosen = as_option(like.pair.answer, options)
            if chosen is None and options:
                chosen = _nearest_option(like.pair.answer, options)
            if chosen is not None:
                return chosen
        return None


def _nearest_option(answer: str, options: Sequence[str]) -> str | None:
    """The option that shares most words with an answer; None if no option does, or two share equally many."""
    words = frozenset(content_words(answer))
    common = [len(words & set(content_words(option))) for option in options]
    best = max(common)
    return options[common.index(best)] if best and common.count(best) == 1 else None
