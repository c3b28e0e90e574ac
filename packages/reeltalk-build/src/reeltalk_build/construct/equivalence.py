"""Decides whether two answers to a question say the same: by their types where they have one, else by a judge model.

Shared words do not decide: *the man feeds the dog* and *the dog feeds the man* share all words, and two paraphrases may
share none. What neither a type nor a judge decides stays undecided.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

from reeltalk.errors import ModelError
from reeltalk.language.answer_reading import read_answer
from reeltalk.language.answer_words import is_unable, normalise_answer
from reeltalk.metrics.agree import is_negated, is_yes_no, polarity, words_of
from reeltalk.metrics.choice import names_same
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import AnswerKey, Turn
from reeltalk_build.construct.prompting import PromptedModel
from reeltalk_build.construct.replies import EquivalenceReply

PAIRS_A_REQUEST: Final = 10
UNKNOWN: Final = "UNKNOWN"
"""The reply of a model that does not know the answer."""
_SAYS_UNKNOWN: Final = re.compile(rf"\b{UNKNOWN}\b|^\W*(?i:{UNKNOWN})\W*$")
NO_JUDGE: Final = "no judge compared the answers; name one with --judge"
NO_VERDICT: Final = "the judge gave no usable verdict on whether the answers say the same"
_VAGUE: Final = frozenset(
    "least most more few less over under than almost nearly about around roughly approximately or up".split()
)
"""Words with which a number is no exact number."""

TypedBy = Literal["options", "key", "yes/no", "count"]


@dataclass(frozen=True)
class AnswerPair:
    """A question with its references and an answer to compare with them."""

    question: str
    references: tuple[str, ...]
    answer: str
    options: tuple[str, ...] | None = None
    key: AnswerKey | None = None

    @classmethod
    def of(cls, turn: Turn | AnsweredTurn, answer: str) -> Self:
        """An answer to a turn."""
        references = turn.references
        if turn.options and turn.correct_option is not None:
            references = (turn.options[turn.correct_option],)
        return cls(turn.question, references, answer, turn.options, turn.key)


Verdicts = Sequence[bool | None]
InOrder = Callable[[Callable[[Sequence[AnswerPair]], Verdicts], Iterable[Sequence[AnswerPair]]], Iterable[Verdicts]]
"""Applies a function to the pairs of each conversation, possibly in threads, and gives the results in their order."""


class Equivalence:
    """Decides about pairs of answers. Safe to share among threads.

    Args:
        judge: The model for pairs without a type; None to leave them undecided.
    """

    def __init__(self, judge: PromptedModel | None = None) -> None:
        self._judge = judge

    @property
    def undecided(self) -> str:
        """Why a pair may be undecided, and what to do."""
        return NO_JUDGE if self._judge is None else NO_VERDICT

    def decide(self, pairs: Sequence[AnswerPair]) -> list[bool | None]:
        """Whether each answer says the same as one of its references; None if that is not decided.

        Equal pairs are asked about once. The judge gets the others in the order of `pairs`, at most ten a request, so a
        caller that passes the pairs of one conversation sends the same requests in every run.
        """
        verdicts = [typed_verdict(pair) for pair in pairs]
        if self._judge is None:
            return verdicts
        open_ = [index for index, verdict in enumerate(verdicts) if verdict is None]
        asked = list(dict.fromkeys(_format_pair(pairs[index]) for index in open_))
        decided: dict[str, bool | None] = {}
        for start in range(0, len(asked), PAIRS_A_REQUEST):
            batch = asked[start : start + PAIRS_A_REQUEST]
            decided.update(zip(batch, _judged(self._judge, batch), strict=True))
        for index in open_:
            verdicts[index] = decided[_format_pair(pairs[index])]
        return verdicts


def typed_verdict(pair: AnswerPair) -> bool | None:
    """The verdict by options, answer key, yes or no, a number, or identical words; None if none of them decides."""
    answer = pair.answer.strip()
    if not words_of(answer) or not pair.references:
        return False
    if _SAYS_UNKNOWN.search(answer) or is_unable(normalise_answer(answer)):
        return False
    if pair.options:
        return names_same(answer, pair.references, pair.options, pair.question)
    if any(words_of(answer) == words_of(reference) for reference in pair.references):
        return True
    if pair.key is not None:
        read = read_answer(pair.question, pair.key, answer)
        return None if read.unread else read.right
    verdicts = [_plain_verdict(pair.question, reference, answer) for reference in pair.references]
    if True in verdicts:
        return True
    return None if None in verdicts else False


def _plain_verdict(question: str, reference: str, answer: str) -> bool | None:
    expected, given = polarity(reference), polarity(answer)
    bare = len(words_of(reference)) == len(words_of(answer)) == 1
    if expected is not None and given is not None and (bare or is_yes_no(question)):
        return expected == given
    due, said = exact_number(question, reference), exact_number(question, answer)
    return due == said if due is not None and said is not None else None


def exact_number(question: str, answer: str) -> str | None:
    """The number that an answer gives to a question for a count, as digits; None if there is none, or not one alone."""
    asked = question.lower()
    if not any(words in asked for words in ("how many", "how often", "what number of")) or is_negated(answer):
        return None
    words = words_of(answer)
    numbers = {word for word in words if word.isdigit()}
    return numbers.pop() if len(numbers) == 1 and not _VAGUE & set(words) else None


def typed_by(turn: Turn) -> TypedBy | None:
    """The type by which answers to a turn are compared without a judge; None for an open answer."""
    if turn.options:
        return "options"
    if turn.key is not None:
        return "key"
    if any(polarity(reference) is not None for reference in turn.references[:1]):
        return "yes/no"
    return "count" if any(exact_number(turn.question, reference) for reference in turn.references[:1]) else None


def _format_pair(pair: AnswerPair) -> str:
    """A pair for the judge. On one line of JSON no answer can pretend to be another pair."""
    shown = {"question": pair.question, "references": pair.references, "answer": pair.answer}
    return json.dumps(shown | ({"options": pair.options} if pair.options else {}), ensure_ascii=False)


def _judged(judge: PromptedModel, pairs: Sequence[str]) -> list[bool | None]:
    lines = (f'{{"number": {number}, {pair.removeprefix("{")}' for number, pair in enumerate(pairs, 1))
    try:
        asked = judge.ask("equivalence", EquivalenceReply, data={"pairs": "\n".join(lines)})
    except ModelError:
        return [None] * len(pairs)
    found: dict[int, set[bool]] = {}
    for entry in asked.record.pairs if asked.record else ():
        found.setdefault(entry.number, set()).add(entry.same)
    # Two verdicts on one pair that differ are none.
    single = {number: verdicts.pop() for number, verdicts in found.items() if len(verdicts) == 1}
    return [single.get(number) for number in range(1, 1 + len(pairs))]
