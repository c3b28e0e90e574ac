"""How far a learner gets that reads only the text: the bias of a benchmark by kind of question, measured.

Two learners are taught on the train split and asked about the test split: a logistic regression over n-grams, and the
answer to the most similar question. Both are told the kind of each question, which is more than a model is told. They
read the question, its options, and the questions and reference answers before it. They are compared with the constant
answer: the most frequent answer of the kind in train. All of them choose among the options of a question that has some.
What they gain over it can be had without the video.

Reference:
    Goyal et al., "Making the V in VQA Matter", CVPR 2017, on answers that follow from the words of a question; Le et
    al., "DVD", ACL 2021, on measuring such a bias by kind of question.
"""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np

from reeltalk.baselines.answerer import KnownAnswer
from reeltalk.baselines.nearest import QuestionIndex
from reeltalk.baselines.ngrams import MOST_TURNS, NGramRegression, ngrams_of
from reeltalk.language.answer_values import UNKNOWN, names_of_people, place_of_name
from reeltalk.metrics.text_bias import TextBias
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.schema.dialogue import AnswerKey, Dialogue, QAChain, Turn
from reeltalk.schema.gates import is_counted
from reeltalk.schema.record import Record
from reeltalk.store.rows import SpooledRows

TRAIN: Final = "train"
TEST: Final = "test"
ANSWERABLE: Final = "answerable"
"""Name of the row on whether a question can be answered at all: refusals because of what does not happen, against as
many answered turns in the forms of the same kinds, as outright. What nobody can know, as opinions, is a kind of its own
and always refused."""

MOST_NEAREST: Final = 50
"""Most similar questions whose answers are tried until one is among the options."""

MOST_ASKED: Final = 20_000
"""Most turns of a kind that the learners are asked; of more, a draw."""

TURNS_AT_ONCE: Final = 512
"""Turns whose answers are held at a time."""

Conversation = Dialogue | QAChain
KeyValues = tuple[str, ...]
"""The values of an answer key, or `among`'s place for a choice of two."""


class TextTurn(Record):
    """One turn as a learner of the text sees it."""

    kind: str
    video_id: str
    question: str
    options: tuple[str, ...]
    history: tuple[tuple[str, str], ...]
    """Questions and reference answers before it."""
    key: AnswerKey
    right_option: str | None = None
    """The right one of its options."""
    form: str = ""
    """The kind whose form it has, and whether that asks outright or refers to the turn before."""
    task: str | None = None
    """Task of its dialogue."""

    @property
    def answer(self) -> KeyValues:
        """What is to be learnt. Of two alternatives, whether the right one comes first in the alphabet.

        No name of train occurs in test, so a person is the one who was named last, or before that, and so on; those who
        were not named follow in the order of the alphabet.
        """
        if self.key.type == "person" and self.key.among:
            said = " ".join([*(text for pair in self.history for text in pair), self.question])
            return (str(place_of_name(names_of_people(self.key), self.key.values[0], said)),)
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


def text_turns(conversations: Iterable[Conversation], *, refusals: bool = False) -> Iterator[TextTurn]:
    """The turns that need the video and have a typed answer, as a learner of the text sees them."""
    for conversation in conversations:
        said: list[tuple[str, str]] = []
        for turn in conversation.turns:
            is_refusal = turn.key is not None and turn.key.type == "refusal"
            wanted = is_refusal if refusals else is_counted(turn) and not is_refusal
            if turn.key is not None and turn.references and wanted:
                right = turn.options[turn.correct_option] if turn.options and turn.correct_option is not None else None
                yield TextTurn(
                    kind=kind_of(turn),
                    video_id=conversation.video_id,
                    question=turn.question,
                    options=turn.options or (),
                    history=tuple(said),
                    key=turn.key,
                    right_option=right,
                    form="/".join(str(turn.extra.get("form", kind_of(turn))).split("/")[:2]),
                    task=conversation.task if isinstance(conversation, Dialogue) else None,
                )
            said.append((turn.question, turn.references[0] if turn.references else ""))


def kind_of(turn: Turn) -> str:
    """The kind of a question: that of its writer, else its question type, else the type of its answer."""
    kind = turn.extra.get("kind")
    if isinstance(kind, str):
        return kind
    types = turn.labels.get("vdact.question_type", ())
    return types[0] if types else turn.key.type if turn.key is not None else "other"


def measure_text_bias(conversations: Iterable[Conversation], splits: Mapping[str, str | None]) -> list[TextBias]:
    """Teach the learners on train and ask them about test, kind by kind; the largest gain comes first.

    Returns:
        Empty if a split has no such turns. The row `ANSWERABLE` is left out if test has no refusals.
    """
    kinds: dict[str, dict[str, list[int]]] = defaultdict(lambda: {TRAIN: [], TEST: []})
    refusals = SpooledRows(
        TextTurn, rows=(one for one in text_turns(conversations, refusals=True) if one.key.values != (UNKNOWN,))
    )
    alike = {(one.form, one.task, splits.get(one.video_id)): AlikeTurns() for one in refusals}

    def counted() -> Iterator[TextTurn]:
        for place, turn in enumerate(text_turns(conversations)):
            if (split := splits.get(turn.video_id)) in (TRAIN, TEST):
                kinds[turn.kind][split].append(place)
                if (places := alike.get((turn.form, turn.task, split))) is not None:
                    places.add(place, turn.video_id)
            yield turn

    turns = SpooledRows(TextTurn, rows=counted())
    found = [
        _bias_of(
            kind, (turns[place] for place in parts[TRAIN][:MOST_TURNS]), (turns[place] for place in _drawn(parts[TEST]))
        )
        for kind, parts in sorted(kinds.items())
        if parts[TRAIN] and parts[TEST]
    ]
    pairs: dict[str, list[tuple[int, int]]] = {TRAIN: [], TEST: []}
    for number in sorted(range(len(refusals)), key=[one.video_id for one in refusals].__getitem__):
        refusal = refusals[number]
        split = splits.get(refusal.video_id)
        if split not in pairs or len(pairs[split]) >= MOST_TURNS:
            continue
        if (place := alike[refusal.form, refusal.task, split].take(refusal.video_id)) is not None:
            pairs[split].append((number, place))
    if all(pairs.values()):
        found.append(_bias_of(ANSWERABLE, *(_told_apart(refusals, turns, pairs[split]) for split in (TRAIN, TEST))))
    return sorted(found, key=lambda one: -one.gain)


def _drawn(places: Sequence[int]) -> Sequence[int]:
    return places if len(places) <= MOST_ASKED else sorted(random.Random(0).sample(places, MOST_ASKED))


class AlikeTurns:
    """Places of answered turns in one form, each of which is taken once."""

    def __init__(self) -> None:
        self._all: deque[int] = deque()
        self._of_video: dict[str, list[int]] = {}
        self._taken: set[int] = set()

    def add(self, place: int, video_id: str) -> None:
        """Add a turn."""
        self._all.append(place)
        self._of_video.setdefault(video_id, []).append(place)

    def take(self, video_id: str) -> int | None:
        """The first turn that was not taken, of this video if it has one left."""
        own = self._of_video.get(video_id, [])
        while own or self._all:
            place = own.pop(0) if own else self._all.popleft()
            if place not in self._taken:
                self._taken.add(place)
                return place
        return None


def _told_apart(
    refusals: Sequence[TextTurn], turns: Sequence[TextTurn], pairs: Iterable[tuple[int, int]]
) -> Iterator[TextTurn]:
    """Each refusal, then its answered turn, as questions of whether they can be answered."""
    for number, place in pairs:
        for value, one in (("no", refusals[number]), ("yes", turns[place])):
            key = AnswerKey(type="yes_no", values=(value,))
            yield one.model_copy(update={"kind": ANSWERABLE, "key": key, "right_option": None})


def _bias_of(kind: str, train: Iterable[TextTurn], test: Iterable[TextTurn]) -> TextBias:
    learners = _Learners(list(islice(train, MOST_TURNS)))
    right: dict[str, list[bool]] = defaultdict(list)
    videos: list[str] = []
    asked = iter(test)
    while some := list(islice(asked, TURNS_AT_ONCE)):
        videos += [turn.video_id for turn in some]
        for name, found in learners.right(some):
            right[name] += found
    shares = {name: float(np.mean(values)) for name, values in right.items()}
    better = max(("ngrams", "nearest"), key=lambda name: shares[name])
    gains = np.array(right[better], np.float64) - np.array(right["constant"], np.float64)
    interval = mean_interval(gains, videos, (-1.0, 1.0))
    return TextBias(
        kind=kind,
        turns=len(videos),
        videos=interval.clusters,
        **shares,
        gain=interval.value,
        low=interval.low,
        high=interval.high,
    )


class _Learners:
    """All learners of a kind, taught."""

    def __init__(self, learnt: Sequence[TextTurn]) -> None:
        self._answers = [turn.answer for turn in learnt]
        self._option_texts: dict[KeyValues, set[str]] = defaultdict(set)
        by_form: dict[str, list[KeyValues]] = defaultdict(list)
        for turn, answer in zip(learnt, self._answers, strict=True):
            by_form[_first_words(turn.question)].append(answer)
            if turn.right_option is not None:
                self._option_texts[answer].add(turn.right_option)
        self._usual = {form: _by_frequency(answers) for form, answers in sorted(by_form.items())}
        self._frequent = _by_frequency(self._answers)
        if any(turn.key.type == "seconds" for turn in learnt):
            # The best constant length is the one that is near most.
            right_for = {answer: sum(turn.accepts(answer) for turn in learnt) for answer in self._frequent}
            self._frequent.sort(key=lambda answer: -right_for[answer])
        known: dict[str, str] = {}
        # One text for each n-gram: most occur in many turns.
        ngrams = [[known.setdefault(ngram, ngram) for ngram in _ngrams(turn)] for turn in learnt]
        self._regression = NGramRegression.fit(ngrams, self._answers)
        self._index = QuestionIndex(
            [KnownAnswer(_with_last(turn), str(n), turn.video_id) for n, turn in enumerate(learnt)]
        )

    def right(self, turns: Sequence[TextTurn]) -> Iterator[tuple[str, list[bool]]]:
        """By the name of a learner, whether its answer to each turn is right."""
        for name, ranked in (
            ("constant", (self._frequent for _ in turns)),
            ("form", ([*self._usual.get(_first_words(turn.question), ()), *self._frequent] for turn in turns)),
            ("ngrams", self._by_ngrams(turns)),
            ("nearest", ([*self._nearest(turn), *self._frequent] for turn in turns)),
        ):
            pairs = zip(turns, ranked, strict=True)
            yield name, [turn.accepts(self._chosen(turn, answers)) for turn, answers in pairs]

    def _by_ngrams(self, turns: Sequence[TextTurn]) -> Iterator[list[KeyValues]]:
        """The answers of a multinomial logistic regression, the likeliest first."""
        scores = self._regression.scores([_ngrams(turn) for turn in turns])
        for row in np.argsort(-scores, axis=1, kind="stable"):
            yield [self._regression.answers[n] for n in row]

    def _nearest(self, turn: TextTurn) -> list[KeyValues]:
        """The answers to the most similar questions, each with the turn before it; empty if none shares a word."""
        scores = self._index.similarities(_with_last(turn))
        order = np.argsort(-scores, kind="stable")[:MOST_NEAREST]
        return [self._answers[int(n)] for n in order if scores[n] > 0]

    def _chosen(self, turn: TextTurn, answers: Sequence[KeyValues]) -> KeyValues:
        """The first answer that is among the options of a turn; the first of all if none is, or there are none."""
        shown = set(turn.options)
        fitting = (answer for answer in answers if not self._option_texts.get(answer, set()).isdisjoint(shown))
        return next(fitting, answers[0]) if shown else answers[0]


def _by_frequency(answers: Iterable[KeyValues]) -> list[KeyValues]:
    counts = Counter(answers)
    return sorted(counts, key=lambda answer: (-counts[answer], answer))


def _first_words(question: str) -> str:
    return " ".join(question.lower().split()[:2])


def _ngrams(turn: TextTurn) -> list[str]:
    return ngrams_of(turn.question, turn.history, turn.options)


def _with_last(turn: TextTurn) -> str:
    last = turn.history[-1] if turn.history else ("", "")
    return f"{turn.question} {last[0]} {last[1]}"
