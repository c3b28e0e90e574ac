"""How far a learner gets that reads only the text: the bias of a benchmark by kind of question, measured.

Two learners are taught on the train split and asked about the test split: a logistic regression over n-grams, and the
answer to the most similar question. Both are told the kind of each question, which is more than a model is told. They
read the question, its options, and the questions and reference answers before it. They are compared with the constant
answer: the most frequent answer of the kind in train. What they gain over it can be had without the video.

Reference:
    Goyal et al., "Making the V in VQA Matter", CVPR 2017, on answers that follow from the words of a question; Le et
    al., "DVD", ACL 2021, on measuring such a bias by kind of question.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reeltalk.baselines.answerer import KnownAnswer
from reeltalk.baselines.nearest import QuestionIndex
from reeltalk.baselines.ngrams import MOST_TURNS, NGramRegression, ngrams_of
from reeltalk.metrics.text_bias import TextBias
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.schema.dialogue import AnswerKey, Dialogue, QAChain, Turn
from reeltalk.schema.gates import is_counted

TRAIN: Final = "train"
TEST: Final = "test"
ANSWERABLE: Final = "answerable"
"""Name of the row on whether a question can be answered at all: refusals against as many other turns."""

Conversation = Dialogue | QAChain
KeyValues = tuple[str, ...]
"""The values of an answer key, or `among`'s place for a choice of two."""


@dataclass(frozen=True)
class TextTurn:
    """One turn as a learner of the text sees it."""

    kind: str
    video_id: str
    question: str
    options: tuple[str, ...]
    history: tuple[tuple[str, str], ...]
    """Questions and reference answers before it."""
    key: AnswerKey

    @property
    def answer(self) -> KeyValues:
        """What is to be learnt. Of two alternatives, whether the right one comes first in the alphabet.

        No name of train occurs in test, so a person is the one who was named last, or before that, or not at all.
        """
        if self.key.type == "person" and self.key.among:
            said = " ".join([*(text for pair in self.history for text in pair), self.question]).lower()
            people = sorted((*self.key.values, *self.key.among), key=lambda name: -said.rfind(name.lower()))
            named = [name for name in people if name.lower() in said]
            right = self.key.values[0]
            return (str(named.index(right)),) if right in named else ("not named",)
        if self.key.type in ("order", "comparison") and len(self.key.among) == 1 and len(self.key.values) == 1:
            return ("first",) if self.key.values[0] < self.key.among[0] else ("second",)
        return tuple(sorted(self.key.values))

    def accepts(self, answer: KeyValues) -> bool:
        """True if an answer in the form of `answer` is right."""
        if answer == self.answer or (len(answer) == 1 and answer[0] in self.key.also):
            return True
        if self.key.type != "seconds" or len(answer) != 1:
            return False
        return abs(float(answer[0]) - float(self.key.values[0])) <= self.key.tolerance


def text_turns(conversations: Iterable[Conversation], *, refusals: bool = False) -> list[TextTurn]:
    """The turns that need the video and have a typed answer, as a learner of the text sees them.

    Args:
        conversations: Dialogues and chains.
        refusals: True for the refusals instead.
    """
    found = []
    for conversation in conversations:
        said: list[tuple[str, str]] = []
        for turn in conversation.turns:
            is_refusal = turn.key is not None and turn.key.type == "refusal"
            if turn.key is not None and turn.references and (is_refusal if refusals else is_counted(turn)):
                found.append(
                    TextTurn(
                        kind_of(turn),
                        conversation.video_id,
                        turn.question,
                        turn.options or (),
                        tuple(said),
                        turn.key,
                    )
                )
            said.append((turn.question, turn.references[0] if turn.references else ""))
    return found


def kind_of(turn: Turn) -> str:
    """The kind of a question: that of its writer, else its question type, else the type of its answer."""
    kind = turn.extra.get("kind")
    if isinstance(kind, str):
        return kind
    types = turn.labels.get("vdact.question_type", ())
    return types[0] if types else turn.key.type if turn.key is not None else "other"


def measure_text_bias(conversations: Sequence[Conversation], splits: Mapping[str, str | None]) -> list[TextBias]:
    """Teach the learners on train and ask them about test, kind by kind; the largest gain comes first.

    Args:
        conversations: Dialogues and chains.
        splits: Split of each video.

    Returns:
        Empty if a split has no such turns. The row `ANSWERABLE` is left out if test has no refusals.
    """
    turns = text_turns(conversations)
    kinds: dict[str, tuple[list[TextTurn], list[TextTurn]]] = defaultdict(lambda: ([], []))
    for turn in turns:
        if (split := splits.get(turn.video_id)) in (TRAIN, TEST):
            kinds[turn.kind][split == TEST].append(turn)
    found = [_bias_of(kind, *parts) for kind, parts in sorted(kinds.items()) if all(parts)]
    refusable = _refusals_and_others(turns, text_turns(conversations, refusals=True), splits)
    if all(refusable):
        found.append(_bias_of(ANSWERABLE, *refusable))
    return sorted(found, key=lambda one: -one.gain)


def _refusals_and_others(
    turns: Sequence[TextTurn], refusals: Sequence[TextTurn], splits: Mapping[str, str | None]
) -> tuple[list[TextTurn], list[TextTurn]]:
    """Refusals with as many other turns of the same videos, to be told apart."""
    others: dict[str, list[TextTurn]] = defaultdict(list)
    for turn in turns:
        others[turn.video_id].append(turn)
    refused: dict[str, list[TextTurn]] = defaultdict(list)
    for turn in refusals:
        refused[turn.video_id].append(turn)
    parts: tuple[list[TextTurn], list[TextTurn]] = ([], [])
    for video_id, own in sorted(refused.items()):
        if (split := splits.get(video_id)) not in (TRAIN, TEST):
            continue
        step = max(1, len(others[video_id]) // len(own))
        for value, some in (("no", own), ("yes", others[video_id][::step][: len(own)])):
            for turn in some:
                key = AnswerKey(type="yes_no", values=(value,))
                parts[split == TEST].append(
                    TextTurn(ANSWERABLE, video_id, turn.question, turn.options, turn.history, key)
                )
    return parts


def _bias_of(kind: str, train: Sequence[TextTurn], test: Sequence[TextTurn]) -> TextBias:
    learnt = train[:MOST_TURNS]
    answers = Counter(turn.answer for turn in learnt)
    constant = min(answers, key=lambda answer: (-answers[answer], answer))
    by_form: dict[str, Counter[KeyValues]] = defaultdict(Counter)
    for turn in learnt:
        by_form[_first_words(turn.question)][turn.answer] += 1
    usual = {
        form: min(counts, key=lambda answer: (-counts[answer], answer)) for form, counts in sorted(by_form.items())
    }
    right = {
        "constant": [turn.accepts(constant) for turn in test],
        "form": [turn.accepts(usual.get(_first_words(turn.question), constant)) for turn in test],
        "ngrams": [turn.accepts(said) for turn, said in zip(test, _by_ngrams(learnt, test), strict=True)],
        "nearest": [turn.accepts(said) for turn, said in zip(test, _by_nearest(learnt, test, constant), strict=True)],
    }
    shares = {name: float(np.mean(values)) for name, values in right.items()}
    better = max(("ngrams", "nearest"), key=lambda name: shares[name])
    gains = np.array(right[better], np.float64) - np.array(right["constant"], np.float64)
    interval = mean_interval(gains, [turn.video_id for turn in test], (-1.0, 1.0))
    return TextBias(
        kind=kind,
        turns=len(test),
        videos=interval.clusters,
        **shares,
        gain=interval.value,
        low=interval.low,
        high=interval.high,
    )


def _first_words(question: str) -> str:
    return " ".join(question.lower().split()[:2])


def _by_ngrams(train: Sequence[TextTurn], test: Sequence[TextTurn]) -> list[KeyValues]:
    """The answers of a multinomial logistic regression."""
    fitted = NGramRegression.fit([_ngrams(turn) for turn in train], [turn.answer for turn in train])
    return [fitted.answers[n] for n in fitted.scores([_ngrams(turn) for turn in test]).argmax(axis=1)]


def _ngrams(turn: TextTurn) -> list[str]:
    return ngrams_of(turn.question, turn.history, turn.options)


def _by_nearest(train: Sequence[TextTurn], test: Sequence[TextTurn], otherwise: KeyValues) -> list[KeyValues]:
    """The answers to the most similar questions, each with the turn before it."""
    index = QuestionIndex([KnownAnswer(_with_last(turn), str(n), turn.video_id) for n, turn in enumerate(train)])
    found = []
    for turn in test:
        scores = index.similarities(_with_last(turn))
        found.append(train[int(np.argmax(scores))].answer if scores.max() > 0 else otherwise)
    return found


def _with_last(turn: TextTurn) -> str:
    last = turn.history[-1] if turn.history else ("", "")
    return f"{turn.question} {last[0]} {last[1]}"
