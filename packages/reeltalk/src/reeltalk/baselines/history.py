"""Answers from the dialogue: an earlier turn asked the same, or a sentence states the answer."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from reeltalk.baselines.answerer import DialogueHistory, as_option
from reeltalk.baselines.constant import question_head
from reeltalk.language.grammar import without_opening
from reeltalk.language.rules import read_rules
from reeltalk.metrics.agree import CACHED_TEXTS, content_words, is_negated, is_yes_no, polarity, stem, words_of

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

LEAST_COVERAGE: Final = 0.6
"""Weighted share of the question's words that an earlier turn must have for its answer to be tried."""
STATED_COVERAGE: Final = 0.85
"""The same if a statement is to answer yes or no: it must contain all informative words of the question."""
SLIGHT_WEIGHT: Final = 0.2
"""Weight of a word that says little; other words have weight 1 or more."""
ORDER_WORDS: Final = RULE_FILE.words["order_words"]
RULES: Final = "v2"
"""Version of the rules by which questions are alike. Raise it when answers change."""
_SAME: Final[dict[str, str]] = RULE_FILE.raw["same"]
_ASIDE: Final = ORDER_WORDS | set(map(stem, RULE_FILE.words["aside"])) | {"1"}
_LIGHT: Final = frozenset(map(stem, RULE_FILE.words["light"]))
_COUNTED: Final = RULE_FILE.words["counted"]
_ENDS: Final = RULE_FILE.words["ends"]
_POINTING: Final = RULE_FILE.words["pointing"]
_NOT_POINTING: Final = RULE_FILE.pattern("not_pointing")
_GOING_ON: Final = RULE_FILE.words["going_on"]
_PEOPLE: Final = RULE_FILE.pattern("people")
_NAME: Final = RULE_FILE.pattern("name")
_DESCRIBED: Final = RULE_FILE.pattern("described")
_DETERMINERS: Final = RULE_FILE.words["determiners"]
_FAR: Final = 99
_PLACES: Final = frozenset({"in", "on", "insid", "inside", "under", "behind", "beside", "near"})


@dataclass(frozen=True)
class StatedAnswer:
    """An answer that the dialogue gives."""

    text: str
    turn: int
    """Index of the earlier turn, from 0."""
    coverage: float
    """Weighted share of the question's words that the earlier turn has."""
    repeats_question: bool
    """True if the earlier turn asked a similar question; False if a sentence only states the answer."""


class HistoryAnswerer:
    """The earlier answer to a similar question, or a sentence of the dialogue that has the question's words.

    It shows how much a dialogue reveals about its own later turns. It never looks at the video and learns nothing.

    Args:
        weight: Returns the weight of a stemmed word, as `WordWeights.weight`; 1 by default.
        least: Weighted share of the question's words that an earlier turn must have.
        stated: The same if a statement is to answer yes or no.
    """

    name: Final = "history"

    def __init__(
        self,
        weight: Callable[[str], float] | None = None,
        *,
        least: float = LEAST_COVERAGE,
        stated: float = STATED_COVERAGE,
    ) -> None:
        self._weight = weight or (lambda word: 1.0)
        self._least, self._stated = least, stated

    @property
    def signature(self) -> str:
        """Name, version of the rules, and threshold."""
        return f"baseline:history|rules:{RULES}|coverage:{self._least:g}"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The answer in the dialogue. If there is none, the only option that was mentioned."""
        for found in self.found(question, history):
            chosen = as_option(found.text, options)
            if chosen is not None:
                return chosen
        if options:
            said = " . ".join(" ".join(words_of(text)) for turn in history for text in turn)
            mentioned = [option for option in options if f" {' '.join(words_of(option))} " in f" {said} "]
            return mentioned[0] if len(mentioned) == 1 else None
        return None

    def found(self, question: str, history: DialogueHistory) -> list[StatedAnswer]:
        """Answers that the dialogue gives, the best match first.

        Args:
            history: Earlier questions and answers.
        """
        question, history = _plain(question), tuple((_plain(earlier), answer) for earlier, answer in history)
        named = _names([question, *(text for turn in history for text in turn)])
        about = named & set(content_words(question))
        asked = tuple(word for word in _topic(question) if word not in named) or _topic(question)
        decides, head = is_yes_no(question), question_head(question)
        counted = frozenset(asked) & _COUNTED if head.startswith("how ") or "number" in asked else frozenset()
        contexts = _contexts(history)
        rests = bool(history) and rests_on_history(question)
        meant = contexts[-1] - set(asked) - named if rests else frozenset()
        found: list[StatedAnswer] = []
        for turn, (earlier, answer) in enumerate(history):
            before = contexts[turn - 1] if turn and rests_on_history(earlier) else frozenset()
            context = frozenset(_topic_words(earlier)) | before
            others = named & set(content_words(earlier))
            like = not about or not others or bool(about & others)
            if like and is_yes_no(earlier) == decides and (decides or question_head(earlier) == head):
                # A similar question must cover this one; with yes-or-no questions, also the other way round.
                covered = self._coverage(asked, meant, context | set(_topic_words(answer)), verbs=decides)
                if decides:
                    covered = min(
                        covered,
                        self._coverage(
                            tuple(word for word in _topic(earlier) if word not in named),
                            before - named,
                            frozenset(asked) | meant,
                            verbs=True,
                        ),
                    )
                if covered >= self._least:
                    found.append(StatedAnswer(answer, turn, covered, True))
            for number, sentence in enumerate(_sentences(answer)):
                own = frozenset(_topic_words(sentence))
                # The first sentence answers its own question and shares its words; a later one does not.
                words = own | context if number == 0 and polarity(sentence) is None else own
                covered = self._coverage(asked, meant, words)
                if counted and not counted & words:
                    covered = 0.0
                elif not meant and _is_general(asked, words, counted):
                    covered = max(covered, self._least)
                if decides and polarity(sentence) is None and not is_yes_no(earlier) | (number > 0):
                    continue
                if decides:
                    if polarity(sentence) is None and self._coverage(asked, meant, own, verbs=True) >= self._stated:
                        found.append(StatedAnswer("No." if is_negated(sentence) else "Yes.", turn, covered, False))
                elif covered >= self._least and polarity(sentence) is None and _fits(head, sentence):
                    found.append(StatedAnswer(sentence, turn, covered, False))
            if decides and not is_yes_no(earlier) and self._coverage(asked, meant, context, verbs=True) >= self._stated:
                # What an earlier question takes for granted.
                found.append(StatedAnswer("Yes.", turn, 1.0, False))
        return sorted(found, key=lambda one: (-round(one.coverage, 6), not one.repeats_question, -one.turn))

    def _coverage(
        self, asked: Sequence[str], meant: frozenset[str], words: frozenset[str], *, verbs: bool = False
    ) -> float:
        """Weighted share of the question's words among `words`, with the word of `meant` that a pronoun refers to."""
        total = sum(self._tells(word, verbs) for word in asked)
        common = sum(self._tells(word, verbs) for word in asked if word in words)
        if meant:
            # The heaviest common word of both turns is taken as the meaning of the pronoun.
            named = max((self._tells(word, verbs) for word in sorted(meant & words)), default=0.0)
            if named <= SLIGHT_WEIGHT:
                return 0.0
            total, common = total + named, common + named
        return common / total if total else 0.0

    def _tells(self, word: str, verbs: bool) -> float:
        if word in _LIGHT and word not in _ASIDE:
            return 1.0 if verbs else SLIGHT_WEIGHT
        return SLIGHT_WEIGHT if word in _ASIDE else self._weight(word)


def _is_general(asked: Sequence[str], words: frozenset[str], counted: frozenset[str]) -> bool:
    """True if both ask for a feature of the whole video: its beginning or end, or a number of things."""
    if any(word not in _ASIDE and word not in _LIGHT for word in asked):
        return False
    ends = _ENDS & set(asked)
    return bool(counted & words) or (bool(ends) and ends == _ENDS & words)


def rests_on_history(question: str) -> bool:
    """True if a question has a word, as *it* or *then*, whose meaning depends on the turn before."""
    since, rests = _FAR, False
    text = _NOT_POINTING.sub(" ", question.lower())
    if re.search(r"\b(?:before|after|afterwards)\W*$", text):
        rests = True
    for word in re.findall(r"[a-z]+|[.?!,]", text):
        since = 0 if word in _DETERMINERS else since + 1
        if word in _POINTING:
            return True
        rests = rests or word in _GOING_ON
        told = _topic_words(word)
        if told and since <= 2 and told[0] not in _ASIDE and told[0] not in _LIGHT:
            # The question names a thing, to which later pronouns refer.
            return False
    return rests


def referent_words(question: str, history: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Words that a pronoun of the question can refer to: content words of the turn before, if the question has one."""
    if not history or not rests_on_history(question):
        return ()
    before, answer = history[-1]
    return (*content_words(before), *content_words(answer))


def _contexts(history: DialogueHistory) -> list[frozenset[str]]:
    """Words that are known after each turn: its own, and those of the turn before if it refers to that."""
    contexts: list[frozenset[str]] = []
    for question, answer in history:
        before = contexts[-1] if contexts and rests_on_history(question) else frozenset()
        contexts.append(frozenset((*content_words(question), *content_words(answer))) | before)
    return contexts


@lru_cache(maxsize=CACHED_TEXTS)
def _plain(question: str) -> str:
    """A question without its opening, and without the clothes by which it tells whom it means."""
    return _DESCRIBED.sub(r"\1", without_opening(question))


def _names(texts: Sequence[str]) -> frozenset[str]:
    """Stemmed names of people in some texts: who does it, which pronouns and other words tell just as well."""
    return frozenset(word for text in texts for name in _NAME.findall(text) for word in content_words(name))


def _topic(question: str) -> tuple[str, ...]:
    """Topic words of a question, without the alternatives that it offers unless nothing else is left."""
    alternatives: set[str] = set()
    for match in re.finditer(r"(?:(\w+), )?(\w+) or (\w+)", question.lower()):
        alternatives.update(word for part in match.groups() if part for word in _topic_words(part))
    told = _topic_words(question)
    return tuple(word for word in told if word not in alternatives) or told


@lru_cache(maxsize=CACHED_TEXTS)
def _topic_words(text: str) -> tuple[str, ...]:
    """Topic words of a text: content words and words of order, with synonyms as one word."""
    order = [word for word in words_of(text) if word in ORDER_WORDS]
    people = ["people"] if _PEOPLE.search(text) else []
    return tuple(dict.fromkeys(_SAME.get(word, word) for word in (*content_words(text), *order, *people)))


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?。!?])\s*", text) if part.strip()]


def _fits(head: str, sentence: str) -> bool:
    """True if a sentence can answer a question with this head: with a place, or with a number."""
    words = words_of(sentence)
    if head.startswith("where"):
        return not _PLACES.isdisjoint(words)
    return not head.startswith(("how many", "how often", "how long")) or any(word.isdigit() for word in words)
