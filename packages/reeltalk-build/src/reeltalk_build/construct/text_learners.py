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
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Final

import numpy as np
from numpy.typing import NDArray

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

ASKED_AT_ONCE: Final = 512
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
    """The turns that need the video and have a typed answer, as a learner of the text sees them.

    Args:
        conversations: Dialogues and chains.
        refusals: True for the refusals instead.
    """
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

    Args:
        conversations: Dialogues and chains; read twice.
        splits: Split of each video.

    Returns:
        Empty if a split has no such turns. The row `ANSWERABLE` is left out if test has no refusals.
    """
    kinds: dict[str, _Parts] = defaultdict(_Parts)
    refusals = SpooledRows(
        TextTurn, rows=(one for one in text_turns(conversations, refusals=True) if one.key.values != (UNKNOWN,))
    )
    answered = _Answered(refusals, splits)

    def counted() -> Iterator[TextTurn]:
        for place, turn in enumerate(text_turns(conversations)):
            if (split := splits.get(turn.video_id)) in (TRAIN, TEST):
                kinds[turn.kind].of(split).append(place)
                answered.add(turn, split, place)
            yield turn

    turns = SpooledRows(TextTurn, rows=counted())
    found = [
        _bias_of(kind, _read(turns, parts.learnt), _read(turns, parts.asked))
        for kind, parts in sorted(kinds.items())
        if parts.train and parts.test
    ]
    train, test = _refusals_and_others(refusals, answered, splits)
    if train and test:
        found.append(_bias_of(ANSWERABLE, *(_told_apart(refusals, turns, pairs) for pairs in (train, test))))
    return sorted(found, key=lambda one: -one.gain)


@dataclass
class _Parts:
    """Places of the turns of a kind."""

    train: "array[int]" = field(default_factory=partial(array, "q"))
    test: "array[int]" = field(default_factory=partial(array, "q"))

    def of(self, split: str | None) -> "array[int]":
        return self.test if split == TEST else self.train

    @property
    def learnt(self) -> Sequence[int]:
        return self.train[:MOST_TURNS]

    @property
    def asked(self) -> Sequence[int]:
        if len(self.test) <= MOST_ASKED:
            return self.test
        return sorted(random.Random(0).sample(self.test, MOST_ASKED))


def _read(turns: Sequence[TextTurn], places: Iterable[int]) -> Iterator[TextTurn]:
    return (turns[place] for place in places)


_Alike = tuple[str, str | None, str | None]
"""Form, task and split of a turn."""


class _Answered:
    """Places of answered turns in the forms of refusals."""

    def __init__(self, refusals: Iterable[TextTurn], splits: Mapping[str, str | None]) -> None:
        self._all = {(one.form, one.task, splits.get(one.video_id)): _Places() for one in refusals}
        self._videos: dict[str, int] = {}

    def add(self, turn: TextTurn, split: str | None, place: int) -> None:
        if (places := self._all.get((turn.form, turn.task, split))) is not None:
            places.add(place, self._videos.setdefault(turn.video_id, len(self._videos)))

    def take(self, refusal: TextTurn, split: str | None) -> int | None:
        """The first turn like a refusal that was not taken, of the same video if there is one."""
        return self._all[refusal.form, refusal.task, split].take(self._videos.get(refusal.video_id))


class _Places:
    """Ascending places of turns, of which each is taken once: 13 bytes each."""

    def __init__(self) -> None:
        self._places, self._videos = array("I"), array("I")
        self._next = 0

    def add(self, place: int, video: int) -> None:
        self._places.append(place)
        self._videos.append(video)

    def take(self, video: int | None) -> int | None:
        """The first place of a video, or of any if it has none left."""
        videos, order = self._by_video
        if video is not None:
            # Of the same type, or all videos would be copied.
            start, end = np.searchsorted(videos, np.array((video, video + 1), np.uint32))
            for number in order[start:end].tolist():
                if not self._taken[number]:
                    return self._take(number)
        while self._next < len(self._places):
            self._next += 1
            if not self._taken[self._next - 1]:
                return self._take(self._next - 1)
        return None

    def _take(self, number: int) -> int:
        self._taken[number] = 1
        return self._places[number]

    @cached_property
    def _taken(self) -> bytearray:
        return bytearray(len(self._places))

    @cached_property
    def _by_video(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Videos in ascending order, and the number of the place of each; made when all places are known."""
        videos = np.array(self._videos, np.uint32)
        order = np.argsort(videos, kind="stable").astype(np.uint32)
        self._videos = array("I")
        return videos[order], order


_Pairs = list[tuple[int, int]]
"""Numbers of refusals, each with the place of an answered turn."""


def _refusals_and_others(
    refusals: Sequence[TextTurn], answered: _Answered, splits: Mapping[str, str | None]
) -> tuple[_Pairs, _Pairs]:
    """Refusals of train and of test, each with an answered turn in the forms of the same kind and of the same task."""
    pairs: tuple[_Pairs, _Pairs] = ([], [])
    order = sorted(range(len(refusals)), key=[one.video_id for one in refusals].__getitem__)
    for number in order:
        refusal = refusals[number]
        split = splits.get(refusal.video_id)
        if split not in (TRAIN, TEST) or len(pairs[split == TEST]) >= MOST_TURNS:
            continue
        place = answered.take(refusal, split)
        if place is not None:
            pairs[split == TEST].append((number, place))
    return pairs


def _told_apart(refusals: Sequence[TextTurn], turns: Sequence[TextTurn], pairs: _Pairs) -> Iterator[TextTurn]:
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
    while some := list(islice(asked, ASKED_AT_ONCE)):
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
        self._options = _OptionsOfAnswers(learnt)
        self._answers = [turn.answer for turn in learnt]
        self._frequent = _by_frequency(self._answers)
        if any(turn.key.type == "seconds" for turn in learnt):
            # The best constant length is the one that is near most.
            right_for = {answer: sum(turn.accepts(answer) for turn in learnt) for answer in self._frequent}
            self._frequent.sort(key=lambda answer: -right_for[answer])
        by_form: dict[str, list[KeyValues]] = defaultdict(list)
        for turn, answer in zip(learnt, self._answers, strict=True):
            by_form[_first_words(turn.question)].append(answer)
        self._usual = {form: _by_frequency(answers) for form, answers in sorted(by_form.items())}
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
            yield name, [turn.accepts(self._options.first(turn, answers)) for turn, answers in pairs]

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


class _OptionsOfAnswers:
    """The texts of options by answer, so that of the answers to a turn with options only those among them are given."""

    def __init__(self, learnt: Sequence[TextTurn]) -> None:
        self._texts: dict[KeyValues, set[str]] = defaultdict(set)
        for turn in learnt:
            if turn.right_option is not None:
                self._texts[turn.answer].add(turn.right_option)

    def first(self, turn: TextTurn, answers: Sequence[KeyValues]) -> KeyValues:
        """The first of some answers that is among the options of a turn, or the first if none is or there are none."""
        shown = set(turn.options)
        fitting = (answer for answer in answers if not self._texts.get(answer, set()).isdisjoint(shown))
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
