"""Answers from question and dialogue: answers of other videos to similar questions, ranked by the dialogue.

In `history.py` the dialogue is only a text that may contain the answer. Here it also shows what *it* refers to, which
answers were given already, and which things occur together.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.answerer import DIALOGUE_FIELDS, DialogueHistory, KnownTurn, as_option, training_hash
from reeltalk.baselines.constant import question_form
from reeltalk.baselines.history import HistoryAnswerer, referent_words
from reeltalk.baselines.nearest import QuestionIndex
from reeltalk.baselines.ranking import (
    Floats,
    Ranker,
    RankingExample,
    assign_folds,
    drawn_questions,
    drawn_signature,
)
from reeltalk.metrics.agree import added_words, agrees, content_words

SIMILAR_QUESTIONS: Final = 150
"""Similar questions whose answers are candidates."""
MOST_CANDIDATES: Final = 40
"""Most candidates."""
SHARPNESS: Final = 12.0
"""How fast the vote of a known question falls with its similarity."""
LITTLE: Final = 1e-4
PENALTY: Final = 10.0
FEATURES: Final = 7
RARE_COUNT: Final = 3
"""A word that occurs in fewer answers says nothing about the words that occur with it."""
_Essence = tuple[str, ...]


@dataclass(frozen=True)
class PossibleAnswer:
    """A possible answer."""

    essence: _Essence
    """Words that it adds to the question."""
    text: str
    votes: float
    """Votes of known questions, weighted by similarity."""
    votes_in_context: float
    """The same with the words that pronouns refer to."""


class InContextAnswerer:
    """Chooses among the answers to similar questions by their votes and by the dialogue so far.

    It learns the weights of seven signs: the votes of similar questions; the same with the words that *it* refers to;
    whether the history states the answer (`HistoryAnswerer`); whether it was an answer before; how much of it is
    new; whether its words go with those of the history. In learning, known questions of the same form and of the same
    video are left out, since a new split has other forms and videos.

    Args:
        turns: Known turns of other videos; turns of the video that is asked about are always left out.
    """

    name: Final = "history"

    def __init__(self, turns: Sequence[KnownTurn]) -> None:
        self.turns = tuple(turns)
        self.index = QuestionIndex(self.turns)
        in_context = [_add_context(turn.question, turn.history) for turn in self.turns]
        self._context = QuestionIndex(
            [KnownTurn(text, turn.answer, turn.video_id) for text, turn in zip(in_context, self.turns, strict=True)]
        )
        self._essences = [added_words(turn.answer, turn.question) for turn in self.turns]
        self._tells_time = [_tells_time(turn) for turn in self.turns]
        self._forms = np.array([question_form(turn.question) for turn in self.turns])
        self._history = HistoryAnswerer(self.index.weights.weight)
        self._together = _Together(self.turns, self._essences)
        self._folds = assign_folds(sorted({turn.video_id for turn in self.turns}))
        self._choices: list[tuple[str, RankingExample]] | None = None
        self._rankers: dict[int | None, Ranker] = {}

    @property
    def signature(self) -> str:
        """Name and hash of the training data."""
        train = training_hash(self.turns, DIALOGUE_FIELDS)
        return f"baseline:in-context|train:{train}{drawn_signature(len(self.turns))}"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The best candidate; None if no known question shares a word."""
        said = tuple(history)
        found = self.possible(question, said, options, without=without)
        if not found:
            return None
        return found[self.ranker(without).best(self.signs(question, said, found, without=without))].text

    def possible(
        self,
        question: str,
        history: tuple[tuple[str, str], ...],
        options: Sequence[str] | None = None,
        *,
        without: str | None = None,
        new_form: bool = False,
        passed_s: float | None = None,
    ) -> list[PossibleAnswer]:
        """Candidates: the options, or the answers to similar questions, those with most votes first.

        Args:
            history: Earlier questions and answers.
            options: Options of a multiple-choice question.
            without: The video that the question is about.
            new_form: True to leave out known questions of the same form, as if they were of another split.
            passed_s: Seconds of the video that have passed, if the baseline sees them. A known answer whose number was
                the seconds passed then votes for the answer with the seconds passed now.
        """
        similarity = self.index.similarities(question, without=without)
        in_context = self._context.similarities(_add_context(question, history), without=without)
        if new_form:
            same = self._forms == question_form(question)
            similarity, in_context = np.where(same, -1.0, similarity), np.where(same, -1.0, in_context)
        votes: dict[_Essence, list[float]] = defaultdict(lambda: [0.0, 0.0])
        texts: dict[_Essence, str] = {}
        for option in options or ():
            texts.setdefault(added_words(option, question), option)
        for place in np.argsort(-(similarity + in_context), kind="stable")[:SIMILAR_QUESTIONS]:
            if similarity[place] + in_context[place] <= 0:
                break
            key, text = self._essences[place], self.turns[place].answer
            if passed_s is not None and self._tells_time[place]:
                text = re.sub(r"\d+", str(round(passed_s)), text)
                key = added_words(text, question)
            if options:
                chosen = as_option(text, options)
                if chosen is None:
                    continue
                key = added_words(chosen, question)
            texts.setdefault(key, text)
            votes[key][0] += float(np.exp(SHARPNESS * (similarity[place] - 1)))
            votes[key][1] += float(np.exp(SHARPNESS * (in_context[place] - 1)))
        ordered = sorted(texts, key=lambda key: -sum(votes[key]))
        return [PossibleAnswer(key, texts[key], *votes[key]) for key in ordered[:MOST_CANDIDATES]]

    def signs(
        self,
        question: str,
        history: tuple[tuple[str, str], ...],
        possible: Sequence[PossibleAnswer],
        *,
        without: str | None = None,
    ) -> Floats:
        """(C, 7) signs for each candidate, from question and dialogue alone."""
        stated: dict[_Essence, float] = {}
        for found in self._history.found(question, history):
            stated.setdefault(added_words(found.text, question), found.coverage)
        given = {added_words(answer, question) for _, answer in history}
        words = _words_of(history)
        earlier = sorted(words)
        rows = []
        for one in possible:
            new = [word for word in one.essence if word not in words]
            together = [self._together(word, earlier, without) for word in one.essence]
            rows.append(
                [
                    float(np.log(one.votes + LITTLE)),
                    float(np.log(one.votes_in_context + LITTLE)),
                    float(one.essence in stated),
                    stated.get(one.essence, 0.0),
                    float(one.essence in given),
                    len(new) / max(1, len(one.essence)),
                    float(np.mean(together)) if together else 0.0,
                ]
            )
        return np.array(rows).reshape(len(possible), FEATURES)

    def ranker(self, without: str | None = None) -> Ranker:
        """The weights of the signs. For a video of the training data, those learned from the other parts of it."""
        fold = self._folds.get(without) if without is not None else None
        if fold not in self._rankers:
            if self._choices is None:
                drawn = [self.turns[place] for place in drawn_questions(len(self.turns))]
                self._choices = [(turn.video_id, self._choice(turn)) for turn in drawn]
            told = [choice for video, choice in self._choices if fold is None or self._folds[video] != fold]
            self._rankers[fold] = Ranker.fit(told, FEATURES, penalty=PENALTY)
        return self._rankers[fold]

    def _choice(self, turn: KnownTurn) -> RankingExample:
        possible = self.possible(turn.question, turn.history, without=turn.video_id, new_form=True)
        return RankingExample(
            self.signs(turn.question, turn.history, possible, without=turn.video_id),
            right_answers(possible, turn),
        )


def _tells_time(turn: KnownTurn) -> bool:
    """True if the only number of an answer is the seconds that had passed."""
    numbers = re.findall(r"\d+", turn.answer)
    return len(numbers) == 1 and turn.asked_at_s is not None and abs(int(numbers[0]) - turn.asked_at_s) <= 1.0


def right_answers(possible: Sequence[PossibleAnswer], turn: KnownTurn) -> NDArray[np.bool_]:
    """(C,) True for candidates that agree with the known answer."""
    return np.array([agrees(one.text, [turn.answer], turn.question) for one in possible], bool)


def _add_context(question: str, history: tuple[tuple[str, str], ...]) -> str:
    return " ".join((question, *referent_words(question, history)))


def _words_of(history: DialogueHistory) -> frozenset[str]:
    return frozenset(word for turn in history for text in turn for word in content_words(text))


class _Together:
    """How much more often than by chance words of an answer go with words of its dialogue."""

    def __init__(self, turns: Sequence[KnownTurn], essences: Sequence[_Essence]) -> None:
        self._all = _Counts()
        self._own: dict[str, _Counts] = defaultdict(_Counts)
        for turn, answered in zip(turns, essences, strict=True):
            words = _words_of(turn.history)
            for counts in (self._all, self._own[turn.video_id]):
                counts.add(answered, words)

    def __call__(self, word: str, history: Sequence[str], without: str | None) -> float:
        """The mean pointwise mutual information with each word of the history, in nats, without the video `without`."""
        own = self._own.get(without or "", _Counts())
        answers = self._all.answers[word] - own.answers[word]
        if not history or answers < RARE_COUNT:
            return 0.0
        total = self._all.turns - own.turns
        both = [self._all.both[word, other] - own.both[word, other] for other in history]
        there = [self._all.histories[other] - own.histories[other] for other in history]
        # Pseudo-counts keep the values of rare pairs near 0.
        ratio = (np.array(both) + 0.5) * total / ((answers + 1) * (np.array(there) + 5.0)) + 0.3
        return float(np.log(ratio).mean())


class _Counts:
    def __init__(self) -> None:
        self.turns = 0
        self.answers: Counter[str] = Counter()
        self.histories: Counter[str] = Counter()
        self.both: Counter[tuple[str, str]] = Counter()

    def add(self, answered: _Essence, history: frozenset[str]) -> None:
        self.turns += 1
        self.histories.update(history)
        self.answers.update(set(answered))
        self.both.update((word, other) for word in set(answered) for other in history)
