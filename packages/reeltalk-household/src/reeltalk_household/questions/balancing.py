"""Balances answers while questions are chosen: what the words of a question give away is not asked too often.

A learner of the text guesses an answer from what a question names: *the kettle* is mostly in the kitchen. So the
answers that were chosen are counted by kind and split, and under each *cue*: a thing, a person, an act, or a part of an
act that the question takes for granted. A question whose answer is already too frequent under one of its cues is left
out, and one whose answer is rare is preferred. A kind with one answer, or with one answer for each thing, disappears.

The turns before give answers away, too: who picked up the kettle and the mug is mostly still in the kitchen. So it is
counted how often the answer is a room in which the turns before take place, and how often it is the person whom they
named last.

The counts grow in the order of the videos, so the same benchmark gives the same questions.
"""

import math
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.language.answer_values import names_of_people, place_of_name
from reeltalk.language.vocabulary import class_of
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.record import Json
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.question import SECONDS_OFF, Question, answer_key, event_key, story_of

SLACK: Final = 0.03
"""By how much an answer may be more frequent under a cue than the most frequent answer is in the whole kind."""
COMPENSATED_SLACK: Final = 0.25
"""By how much more, if other questions of the kind make up for it."""
MOST_MADE_UP_FOR: Final = 2.0
"""How many times as frequent it may be then at most."""
MOST_BESIDE_OTHERS: Final = 1.5
"""How many times as frequent an answer may be in a split as the most frequent answer is in all splits."""
TWO_ANSWER_SLACK: Final = 0.15
"""By how much more in a kind with two answers."""
CHANCE_SLACK: Final = 0.003
"""By how much more for each cue of such a question, since the largest of many shares is above a half by chance."""
PRIOR_WEIGHT: Final = 4.0
"""Weight of all questions that could be asked, in chosen questions, in the share of an answer under a cue."""
UNSEEN_WEIGHT: Final = 2.0
"""Questions with other answers that each cue is thought to have besides those counted, so that a few do not decide."""
MOST_OF_TWO: Final = 0.52
"""Largest share of an answer in a kind with two answers."""
MOST_OF_MANY: Final = 0.35
"""Largest share of an answer in any other kind."""
MOST_IMPLIED: Final = 0.25
"""Largest share of the questions for a room whose answer the turns before imply."""
TURNS_BEFORE: Final = 2
"""Number of those turns."""
MOST_AT_A_PLACE: Final = 1.1
"""Largest share of the questions for one of several people that ask for the one named last, or for the one before, and
so on: times the share if all were equally frequent."""
SHARPNESS: Final = 2.0
"""How much rarer answers are preferred."""
FREE_QUESTIONS: Final = 12
"""Questions of a kind that are chosen before its shares are looked at."""
USUAL_ANSWERS: Final = Path(__file__).parent / "usual_answers.toml"
"""What anybody guesses who has not seen the film, counted in other houses by `tools/write_usual_answers.py`."""
TWO_ANSWER_TYPES: Final = frozenset({"yes_no", "order", "comparison"})
"""Types of keys with two answers."""

Cue = tuple[str, ...]


class CuedAnswer(NamedTuple):
    """The cues and the answer of a question, which are counted."""

    answer: str
    of_two: bool
    """Whether its kind has two answers."""
    cues: tuple[Cue, ...]
    """The first is the kind alone."""
    key: AnswerKey
    """The key that the answer was taken from."""


class _Cued:
    """The cued answers of one story, each found once."""

    def __init__(self) -> None:
        self._story: Story | None = None
        self._found: dict[tuple[object, ...], CuedAnswer | None] = {}

    def of(self, question: Question, story: Story) -> CuedAnswer | None:
        """None for a refusal."""
        if story is not self._story:
            self._story, self._found = story, {}
        name = (question.kind, question.key, *question.params.items())
        if name not in self._found:
            key = answer_key(question, story)
            cued = CuedAnswer(_answer_of(key), key.type in TWO_ANSWER_TYPES, tuple(_cues(question, key, story)), key)
            self._found[name] = None if key.type == "refusal" else cued
        return self._found[name]


class AnswerCounts:
    """How often each answer occurs under each cue."""

    def __init__(self) -> None:
        self.answers: dict[Cue, Counter[str]] = defaultdict(Counter)
        self.totals: Counter[Cue] = Counter()
        self._cued = _Cued()

    def add(self, questions: Iterable[Question], story: Story, *before: str) -> None:
        """Count the answers of questions; refusals have none."""
        for question in questions:
            if (cued := self._cued.of(question, story)) is not None:
                self.count(cued, *before)

    def count(self, cued: CuedAnswer, *before: str) -> None:
        """Count one answer under all its cues."""
        for cue in cued.cues:
            self.answers[*before, *cue][cued.answer] += 1
            self.totals[*before, *cue] += 1

    def update(self, other: "AnswerCounts") -> None:
        """Add the counts of other questions."""
        for cue, answers in other.answers.items():
            self.answers[cue].update(answers)
        self.totals.update(other.totals)

    def to_json(self) -> list[Json]:
        """The counts as JSON: each cue with its answers."""
        return [[[*cue], dict(answers)] for cue, answers in self.answers.items()]

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> "AnswerCounts":
        """Counts from `to_json`."""
        counts = cls()
        for cue, answers in stored:
            counts.answers[tuple(cue)] = Counter(answers)
            counts.totals[tuple(cue)] = sum(answers.values())
        return counts


@cache
def _usual_answers() -> Mapping[str, str]:
    return tomllib.loads(USUAL_ANSWERS.read_text(encoding="utf-8"))


def is_usual(question: Question, story: Story) -> bool:
    """True if the answer is the most frequent one, in other houses, for an act or a thing that the question names."""
    cued = _Cued().of(question, story)
    return cued is not None and any(_usual_answers().get(" ".join(cue)) == cued.answer for cue in cued.cues[1:])


class AnswerBalance:
    """Which questions are wanted, by the answers that were chosen so far.

    Args:
        possible: Counts over all questions that could be asked, so that a cue with one answer is known from the start.
    """

    def __init__(self, possible: AnswerCounts | None = None) -> None:
        self._possible, self._chosen = possible or AnswerCounts(), AnswerCounts()
        self._cued = _Cued()
        self._given_away: dict[Cue, float] = defaultdict(float)
        self._implied: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
        self._places: dict[tuple[str, str, int], Counter[int]] = defaultdict(Counter)

    def weights(self, questions: Sequence[Question], story: Story, split: str) -> list[float]:
        """How much each question is wanted: 1 or less, and 0 for one whose answer its words give away."""
        return [self._weight(question, story, split) for question in questions]

    def count(self, questions: Sequence[Question], story: Story, split: str, words: Sequence[str] = ()) -> None:
        """Count the questions that were chosen for a dialogue or chain.

        Args:
            questions: The questions, in the order in which they are asked.
            story: The story that they are about.
            split: Split of the video.
            words: For each question all that was said so far, with its own words; people are not counted without.
        """
        before: list[Question] = []
        for question, text in zip(questions, words or [""] * len(questions), strict=True):
            implied = _is_implied(question, before)
            if implied is not None:
                self._implied[split, question.kind][implied] += 1
            before.append(question)
            if text and (found := self._place_of(question, story, text)) is not None:
                self._places[split, question.kind, found.among][found.place] += 1
            if (cued := self._cued.of(question, story)) is not None:
                self._given_away[split, *cued.cues[0]] += self._worst(cued, split)
                self._chosen.count(cued, split)
                # Without a split before it, the kind alone counts all splits.
                self._chosen.count(cued._replace(cues=cued.cues[:1]))

    def suits(self, question: Question, before: Sequence[Question], split: str) -> bool:
        """Whether a question may follow others in a dialogue: False if they imply its answer once too often."""
        if not _is_implied(question, before):
            return True
        counts = self._implied[split, question.kind]
        return counts[True] + 1 <= MOST_IMPLIED * (counts.total() + 1)

    def suits_person(self, question: Question, story: Story, words: str, split: str) -> bool:
        """Whether a question may ask for a person who was named last, or before that: False once too often.

        Args:
            question: The next question, for a person or for anything else.
            story: The story that it is about.
            words: All that was said so far, with the words of the question.
            split: Split of the video.
        """
        found = self._place_of(question, story, words)
        if found is None:
            return True
        counts = self._places[split, question.kind, found.among]
        # One more than its share, so that the first question may ask for anybody.
        return counts[found.place] <= MOST_AT_A_PLACE / found.among * (counts.total() + 1)

    def _place_of(self, question: Question, story: Story, said: str) -> "_Place | None":
        """The place of the person who is asked for among those who may be, the one named last first."""
        if question.answer_type != "person" or (cued := self._cued.of(question, story)) is None:
            return None
        names = names_of_people(cued.key)
        return _Place(place_of_name(names, cued.key.values[0], said), len(names)) if len(names) > 1 else None

    def _worst(self, cued: CuedAnswer, split: str) -> float:
        return max((self._share(cue, cued.answer, split) for cue in cued.cues[1:]), default=0.0)

    def _weight(self, question: Question, story: Story, split: str) -> float:
        cued = self._cued.of(question, story)
        if cued is None:
            return 1.0
        whole = cued.cues[0]
        counts, total = self._chosen.answers[split, *whole], self._chosen.totals[split, *whole]
        most = MOST_OF_TWO if cued.of_two else MOST_OF_MANY
        share = self._share(whole, cued.answer, split)
        usual = max(counts.values(), default=0) / total if total >= FREE_QUESTIONS else most
        if self._chosen.totals[whole] >= FREE_QUESTIONS:
            # A split is small, and an answer that prevails in it alone is not the constant that is learnt on train.
            anywhere = max(self._chosen.answers[whole].values()) / self._chosen.totals[whole]
            most = min(most, MOST_BESIDE_OTHERS * anywhere)
        limit = min(usual, most) + (CHANCE_SLACK * len(cued.cues) if cued.of_two else SLACK)
        worst = self._worst(cued, split)
        # A question that gives its answer away is made up for by others of its kind that do not.
        mean = (self._given_away[split, *whole] + worst) / (total + 1)
        made_up_for = TWO_ANSWER_SLACK if cued.of_two else COMPENSATED_SLACK
        if share > most or min(worst, mean) > limit or worst > min(limit + made_up_for, limit * MOST_MADE_UP_FOR):
            return 0.0
        return math.exp(-SHARPNESS * (share / most + worst / limit))

    def _share(self, cue: Cue, answer: str, split: str) -> float:
        """The share of an answer under a cue: of the chosen questions, and at first of all possible ones but this."""
        possible = max(0, self._possible.answers[cue][answer] - 1) / (
            max(0, self._possible.totals[cue] - 1) + UNSEEN_WEIGHT
        )
        chosen, total = self._chosen.answers[split, *cue][answer], self._chosen.totals[split, *cue]
        return (chosen + PRIOR_WEIGHT * possible) / (total + PRIOR_WEIGHT)


def _is_implied(question: Question, before: Sequence[Question]) -> bool | None:
    """Whether the turns before take place in the room that is the answer."""
    if question.answer_type != "room":
        return None
    acts = [event for earlier in before[-TURNS_BEFORE:] for event in earlier.evidence]
    rooms = {class_of(event.from_room) for event in acts if event.from_room is not None}
    return question.key in rooms if rooms else None


class _Place(NamedTuple):
    place: int
    among: int


def _answer_of(key: AnswerKey) -> str:
    if key.type in TWO_ANSWER_TYPES and len(key.among) == 1 and len(key.values) == 1:
        # Which of two acts, so that acts of all sorts are counted together.
        return "first" if key.values[0] < key.among[0] else "second"
    if key.type == "seconds":
        # Lengths that one answer is right for are one answer. Videos of a release are about as long as each other.
        step = (1 + SECONDS_OFF) / (1 - SECONDS_OFF) if key.about else 1 + SECONDS_OFF
        return str(round(math.log(max(1.0, float(key.values[0])), step)))
    return " ".join(sorted(key.values))


def _cues(question: Question, key: AnswerKey, story: Story) -> Iterator[Cue]:
    """The kind alone, then what the question takes for granted: whole, and in its parts."""
    yield (question.kind,)
    if question.person is not None:
        yield (question.kind, story.called.get(question.person, question.person))
        story = story_of(question, story)
    named = dict.fromkeys(key.about)
    if key.type in TWO_ANSWER_TYPES and key.among:
        both = sorted((*key.values, *key.among))
        named |= dict.fromkeys(both)
        yield (question.kind, " ".join(both))
    for value in question.params.values():
        if isinstance(value, int) and 0 <= value < len(story.events):
            named[event_key(story.events[value])] = None
        elif isinstance(value, str):
            named["|".join(map(class_of, value.split("|")))] = None
    acts = [name.split("|") for name in named if "|" in name]
    if len(acts) > 1:
        yield (question.kind, " ".join(sorted(action for action, *_ in acts)))
        # What is done to one thing mostly needs what was done to it before.
        yield (question.kind, "same" if set.intersection(*(set(rest) for _, *rest in acts)) else "other")
    parts: dict[str, None] = {}
    for name in named:
        action, *rest = name.split("|")
        parts |= dict.fromkeys((name, action, *rest))
        if rest:
            parts[f"{action}|{rest[0]}"] = None
    for part in parts:
        yield (question.kind, part)
