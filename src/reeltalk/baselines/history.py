"""Answers from what was said: an earlier turn that asked the same, or a sentence that states what is asked for."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.baselines.answerer import DialogueHistory, Frames, as_option
from reeltalk.baselines.constant import question_head
from reeltalk.metrics.agree import content_words, is_negated, is_yes_no, polarity, stem, words_of

LEAST_COVERAGE: Final = 0.6
"""Share of the question's words, by weight, that an earlier turn must have for its answer to be tried."""
STATED_COVERAGE: Final = 0.85
"""The same where a statement is to answer yes or no: all that is asked must be in it but for words telling little."""
SLIGHT: Final = 0.2
"""What a word counts that tells little; others count their weight, 1 or more."""
ORDER_WORDS: Final = frozenset(
    "first last next before after afterwards end beginning start again back else then thing things".split()
)
"""Function words elsewhere, but they decide which of several like questions is asked."""
_SAME: Final = {
    "pick": "tak", "grab": "tak", "get": "tak", "find": "tak", "reach": "tak", "collect": "tak", "handl": "tak",
    "leav": "put", "plac": "put", "set": "put", "return": "back",
    "first": "begin", "start": "begin", "beginning": "begin", "last": "end", "final": "end", "finish": "end",
    "follow": "next", "thing": "object", "things": "object", "length": "second", "long": "second",
}  # fmt: skip
"""Words, stemmed, that questions use for one another: of taking, of putting down, of beginning and end."""
_ASIDE: Final = (
    ORDER_WORDS
    | {
        stem(word)
        for word in """point moment time total number count many much often long second length colour color room posture
        way reason purpose kind sort house object thing action video part people hand state sequence final all
        describe appear aside beside direct directly immediate immediately right include each""".split()
    }
    | {"1"}
)
"""Words that say what sort of answer is wanted; the answer itself shows that."""
_LIGHT: Final = frozenset(
    stem(word)
    for word in """take put go come walk enter use keep play run last cover want look begin end make give bring serve
    move turn visit follow do have be get hold watch toward towards""".split()
)
"""Verbs that tell little where a thing, a place or a number is asked for."""
_COUNTED: Final = frozenset({"room", "object", "people", "second"})
_ENDS: Final = frozenset({"begin", "end"})
_POINTING: Final = frozenset("it its they them their that this those these there".split())
"""Words by which a question rests on the turn before, unless it has named a thing before them."""
_NOT_POINTING: Final = re.compile(
    r"\b(?:(?:is|are|was|were) there|is it (?:in|on|at|to) (?:which|whom)|does it take|in this"
    r"|(?:ones?|things?) that)\b"
)
"""Where such a word points at nothing before."""
_GOING_ON: Final = frozenset("then next else".split())
"""Words by which it does so unless it names a thing anywhere."""
_PEOPLE: Final = re.compile(r"\b(?:many|of|one|two|three|four|\d+)(?: different)? (?:people|persons?)\b", re.IGNORECASE)
"""Where people are counted; *the person* elsewhere tells nothing."""
_DETERMINERS: Final = frozenset("the a an his her some any".split())
_FAR: Final = 99
_FITS: Final[dict[str, Callable[[str], bool]]] = {
    "where": lambda text: bool(
        set(words_of(text)) & {"in", "on", "insid", "inside", "under", "behind", "beside", "near"}
    ),
    "how many": lambda text: any(word.isdigit() for word in words_of(text)),
    "how often": lambda text: any(word.isdigit() for word in words_of(text)),
    "how long": lambda text: any(word.isdigit() for word in words_of(text)),
}
"""What a sentence needs in order to answer a question of a head."""


@dataclass(frozen=True)
class StatedAnswer:
    """An answer that stands in the history."""

    text: str
    turn: int
    """The earlier turn, from 0."""
    coverage: float
    """Share of the question's words, by weight, that the earlier turn has."""
    asked_before: bool
    """True where the earlier turn asked the like; False where a sentence merely states it."""


class HistoryAnswerer:
    """The answer that was given before to a like question, or a sentence of the history that has the question's words.

    It shows what a dialogue gives away about its own later turns. It never looks at the video and learns nothing.

    Args:
        weight: How much a stemmed word tells, as `LikeIndex.weight`; all the same by default.
        least: Share of the question's words that an earlier turn must have.
        stated: The same where a statement is to answer yes or no.
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
        """Name and threshold."""
        return f"baseline:history|coverage:{self._least:g}"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """What the history says; among options, one that alone was mentioned where no turn answers the question."""
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
        """Answers that stand in the history, the most fitting first.

        Args:
            question: What is asked now.
            history: What was said before.
        """
        asked, decides, head = _topic(question), is_yes_no(question), question_head(question)
        counted = frozenset(asked) & _COUNTED if head.startswith("how ") or "number" in asked else frozenset()
        contexts = _contexts(history)
        rests = bool(history) and rests_on_history(question)
        meant = contexts[-1] - set(asked) if rests else frozenset()
        found: list[StatedAnswer] = []
        for turn, (earlier, answer) in enumerate(history):
            before = contexts[turn - 1] if turn and rests_on_history(earlier) else frozenset()
            context = frozenset(_told(earlier)) | before
            if is_yes_no(earlier) == decides and (decides or question_head(earlier) == head):
                # A like question, if it asks for all this one asks for; of yes-or-no questions also the reverse.
                covered = self._coverage(asked, meant, context | set(_told(answer)), verbs=decides)
                if decides:
                    covered = min(
                        covered, self._coverage(_topic(earlier), before, frozenset(asked) | meant, verbs=True)
                    )
                if covered >= self._least:
                    found.append(StatedAnswer(answer, turn, covered, True))
            for number, sentence in enumerate(_sentences(answer)):
                own = frozenset(_told(sentence))
                # The first sentence answers its own question and borrows its words; a later one stands for itself.
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
        return sorted(found, key=lambda one: (-round(one.coverage, 6), not one.asked_before, -one.turn))

    def _coverage(
        self, asked: Sequence[str], meant: frozenset[str], words: frozenset[str], *, verbs: bool = False
    ) -> float:
        """Share of what is asked, by weight, among `words`; where a pronoun means one of `meant`, that one too."""
        total = sum(self._tells(word, verbs) for word in asked)
        common = sum(self._tells(word, verbs) for word in asked if word in words)
        if meant:
            # The heaviest word that both turns speak of is taken for what the pronoun means.
            named = max((self._tells(word, verbs) for word in sorted(meant & words)), default=0.0)
            if named <= SLIGHT:
                return 0.0
            total, common = total + named, common + named
        return common / total if total else 0.0

    def _tells(self, word: str, verbs: bool) -> float:
        if word in _LIGHT and word not in _ASIDE:
            return 1.0 if verbs else SLIGHT
        return SLIGHT if word in _ASIDE else self._weight(word)


def _is_general(asked: Sequence[str], words: frozenset[str], counted: frozenset[str]) -> bool:
    """Whether both ask for a feature of the whole: of its beginning or end, or how many there are of something."""
    if any(word not in _ASIDE and word not in _LIGHT for word in asked):
        return False
    ends = _ENDS & set(asked)
    return bool(counted & words) or (bool(ends) and ends == _ENDS & words)


def rests_on_history(question: str) -> bool:
    """True where a question has a word, as *it* or *then*, that only the turn before gives a meaning."""
    since, rests = _FAR, False
    text = _NOT_POINTING.sub(" ", question.lower())
    if re.search(r"\b(?:before|after|afterwards)\W*$", text):
        rests = True
    for word in re.findall(r"[a-z]+|[.?!,]", text):
        since = 0 if word in _DETERMINERS else since + 1
        if word in _POINTING:
            return True
        rests = rests or word in _GOING_ON
        told = _told(word)
        if told and since <= 2 and told[0] not in _ASIDE and told[0] not in _LIGHT:
            # A thing is named: what pronouns after it mean stands in the question itself.
            return False
    return rests


def referent_words(question: str, history: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """What a pronoun of the question can mean: content words of the turn before; none where it rests on nothing."""
    if not history or not rests_on_history(question):
        return ()
    before, answer = history[-1]
    return (*content_words(before), *content_words(answer))


def _contexts(history: DialogueHistory) -> list[frozenset[str]]:
    """What is spoken of after each turn: its own words, and those of the turn before where it rests on that."""
    contexts: list[frozenset[str]] = []
    for question, answer in history:
        before = contexts[-1] if contexts and rests_on_history(question) else frozenset()
        contexts.append(frozenset((*content_words(question), *content_words(answer))) | before)
    return contexts


def _topic(question: str) -> tuple[str, ...]:
    """What a question is about, without the alternatives that it offers, where anything else is left."""
    alternatives: set[str] = set()
    for match in re.finditer(r"(?:(\w+), )?(\w+) or (\w+)", question.lower()):
        alternatives.update(word for part in match.groups() if part for word in _told(part))
    told = _told(question)
    return tuple(word for word in told if word not in alternatives) or told


def _told(text: str) -> tuple[str, ...]:
    """What a text is about: content words, words of order, and like words as one each."""
    order = [word for word in words_of(text) if word in ORDER_WORDS]
    people = ["people"] if _PEOPLE.search(text) else []
    return tuple(dict.fromkeys(_SAME.get(word, word) for word in (*content_words(text), *order, *people)))


def _sentences(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"(?<=[.!?。!?])\s*", text) if part.strip()]


def _fits(head: str, sentence: str) -> bool:
    return next((fits(sentence) for start, fits in _FITS.items() if head.startswith(start)), True)
