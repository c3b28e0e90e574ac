"""Answers learnt from the text alone: a multinomial logistic regression on n-grams of question and dialogue."""

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Final, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from reeltalk.baselines.answerer import DialogueHistory, KnownTurn, as_option, training_hash
from reeltalk.baselines.constant import question_head
from reeltalk.metrics.agree import added_words, words_of

A = TypeVar("A")
LONGEST_NGRAM: Final = 3
"""Words of the longest n-gram."""
COLUMNS: Final = 1 << 15
MOST_TURNS: Final = 6_000
"""Most turns to learn from."""
MOST_ANSWERS: Final = 200
"""Most answers that are learnt, the most frequent ones."""
STEPS: Final = 60
LEARNING_RATE: Final = 0.5
PENALTY: Final = 1e-4
FEATURE_BLOCK: Final = 512
"""Features that are moved at a time."""


def ngrams_of(question: str, history: DialogueHistory = (), options: Sequence[str] | None = None) -> list[str]:
    """The n-grams of a question, its options and the turn before it, and the words of all turns before it.

    Args:
        history: Questions and answers before it.
    """
    found = []
    last = history[-1] if history else ("", "")
    for field, text in (("q", question), ("b", last[0]), ("a", last[1]), *(("o", option) for option in options or ())):
        words = words_of(text)
        for n in range(1, LONGEST_NGRAM + 1):
            found += [f"{field} {' '.join(words[at : at + n])}" for at in range(len(words) - n + 1)]
    found += [f"h {word}" for asked, answered in history for word in words_of(f"{asked} {answered}")]
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class NGramRegression(Generic[A]):
    """Weights from n-grams to answers."""

    answers: tuple[A, ...]
    """The answers that it can give, the most frequent one first."""
    columns: Mapping[str, int]
    weights: NDArray[np.float64]
    """(F + 1, C) weights; the last row is for every text."""

    @classmethod
    def fit(cls, texts: Sequence[Sequence[str]], answers: Sequence[A]) -> Self:
        """Learn from texts with their answers; those beyond `MOST_TURNS` are left out.

        Args:
            texts: N-grams of each text, at least one text.
            answers: The answer to each.
        """
        texts, answers = texts[:MOST_TURNS], answers[:MOST_TURNS]
        known = tuple(answer for answer, _ in Counter(answers).most_common(MOST_ANSWERS))
        place = {answer: n for n, answer in enumerate(known)}
        taught = [(text, place[answer]) for text, answer in zip(texts, answers, strict=True) if answer in place]
        often = Counter(ngram for text, _ in taught for ngram in text)
        # What occurs once cannot be weighed against anything.
        kept = sorted((ngram for ngram, times in often.items() if times > 1), key=lambda ngram: (-often[ngram], ngram))
        columns = {ngram: n for n, ngram in enumerate(kept[:COLUMNS])}
        wanted = np.zeros((len(taught), len(known)))
        wanted[np.arange(len(taught)), [n for _, n in taught]] = 1.0
        return cls(known, columns, _regress(_matrix([text for text, _ in taught], columns), wanted))

    def scores(self, texts: Sequence[Sequence[str]]) -> NDArray[np.float64]:
        """(N, C) log odds of the answers to N texts, up to a constant."""
        found: NDArray[np.float64] = _matrix(texts, self.columns) @ self.weights
        return found


def _matrix(texts: Iterable[Sequence[str]], columns: Mapping[str, int]) -> csr_array:
    """(N, F + 1) values of the n-grams, scaled by length, and a column of ones."""
    data, indices, starts = array("d"), array("i"), array("q", [0])
    for text in texts:
        own = [columns[ngram] for ngram in text if ngram in columns]
        if own:
            data.extend(repeat(1.0 / math.sqrt(len(own)), len(own)))
        data.append(1.0)
        indices.extend(own)
        indices.append(len(columns))
        starts.append(len(indices))
    stored = np.frombuffer(data), np.frombuffer(indices, np.int32), np.frombuffer(starts, np.int64)
    return csr_array(stored, shape=(len(starts) - 1, len(columns) + 1))


def _regress(rows: csr_array, wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """(F, C) weights, by gradient steps that are scaled by their history (Adam, Kingma & Ba 2015)."""
    weights = np.zeros((rows.shape[1], wanted.shape[1]))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    # Features by blocks, so that no more than the three arrays of their size are held.
    back, blocks = rows.T.tocsr(), [slice(at, at + FEATURE_BLOCK) for at in range(0, len(weights), FEATURE_BLOCK)]
    features = [back[block] for block in blocks]
    del back
    for step in range(1, STEPS + 1):
        chance = rows @ weights
        chance -= chance.max(axis=1, keepdims=True)
        np.exp(chance, out=chance)
        chance /= chance.sum(axis=1, keepdims=True)
        chance -= wanted
        for block, feature in zip(blocks, features, strict=True):
            gradient = feature @ chance / len(wanted) + PENALTY * weights[block]
            first[block] = 0.9 * first[block] + 0.1 * gradient
            second[block] = 0.99 * second[block] + 0.01 * gradient**2
            scale = np.sqrt(second[block] / (1 - 0.99**step)) + 1e-8
            weights[block] -= LEARNING_RATE * (first[block] / (1 - 0.9**step)) / scale
    return weights


class NGramsAnswerer:
    """The answer that a regression on the text gives. It shows the score that words give without the video.

    Questions are divided by their question word, with a regression for each.

    Args:
        turns: Known questions and answers with their dialogues.
    """

    name: Final = "ngrams"

    def __init__(self, turns: Sequence[KnownTurn]) -> None:
        self._hash = training_hash(turns, ("history",))
        self._videos = frozenset(turn.video_id for turn in turns)
        self._turns: dict[str, list[KnownTurn]] = defaultdict(list)
        self._words: dict[tuple[str, ...], str] = {}
        for turn in turns:
            self._turns[question_head(turn.question)].append(turn)
            self._words.setdefault(added_words(turn.answer, turn.question), turn.answer)
        self._fitted = lru_cache(maxsize=64)(self._fit)

    @property
    def signature(self) -> str:
        """Name and hash of the training data."""
        return f"baseline:ngrams|train:{self._hash}"

    def _fit(self, head: str, without: str | None) -> NGramRegression[tuple[str, ...]] | None:
        turns = [turn for turn in self._turns.get(head, ()) if turn.video_id != without]
        if not turns:
            return None
        texts = [ngrams_of(turn.question, turn.history) for turn in turns]
        return NGramRegression.fit(texts, [added_words(turn.answer, turn.question) for turn in turns])

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The most likely answer, or the most likely one that names an option."""
        fitted = self._fitted(question_head(question), without if without in self._videos else None)
        if fitted is None:
            return None
        scores = fitted.scores([ngrams_of(question, history)])[0]
        for place in np.argsort(-scores, kind="stable"):
            chosen = as_option(self._words[fitted.answers[place]], options)
            if chosen is not None:
                return chosen
        return None
