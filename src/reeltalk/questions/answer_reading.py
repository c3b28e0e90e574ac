"""Reads the value in a free-text answer by the type of its key, and compares it with the key.

It needs only the question, the key and a closed vocabulary; neither a language model nor the video.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from reeltalk.questions import answer_acts, answer_claims, answer_values
from reeltalk.questions.answer_values import ReadValues
from reeltalk.questions.answer_words import (
    answer_tokens,
    final_statement,
    is_unable,
    lexicon,
    normalise_answer,
    strip_wrapping,
)
from reeltalk.schema.dialogue import AnswerKey

RULES: Final = "v1"
"""Version of the rules; raised whenever they change."""
UNREAD: Final = "no value read"
"""Prefix of the explanation if no value could be read."""
_READERS: Final[Mapping[str, Callable[[list[str], str, AnswerKey], ReadValues]]] = {
    "room": answer_values.read_room,
    "object": answer_values.read_thing,
    "place": answer_values.read_place,
    "colour": answer_values.read_colour,
    "state": answer_values.read_state,
    "person": answer_values.read_person,
    "comparison": answer_values.read_comparison,
    "count": answer_values.read_count,
    "seconds": answer_values.read_seconds,
    "action": answer_acts.read_action,
    "order": answer_acts.read_order,
    "yes_no": answer_claims.read_yes_no,
    "refusal": answer_claims.read_refusal,
}
_PLAIN: Final = frozenset({"action", "order", "yes_no", "refusal"})
"""Types for which *no* inside an answer does not take anything back."""
_ELSE: Final = re.compile(
    r"\bor (?:\w+ ){0,4}?(?:not|else|elsewhere|another|other|different)\b(?! (?:time|hand))|\bif not\b"
)
_NO: Final = re.compile(r"(?<=[a-z0-9])[.,;] no[,.] ")


@dataclass(frozen=True)
class AnswerReading:
    """The result of reading an answer."""

    said: tuple[str, ...]
    """The values in the answer; empty if none could be read."""
    right: bool
    why: str
    """Explanation: the values read, the expected values, and the fault."""

    @property
    def unread(self) -> bool:
        """True if no value could be read."""
        return not self.said


def rules_signature() -> str:
    """Version of the rules and hash of the vocabulary, for example `v1-1a2b3c4d`."""
    return f"{RULES}-{lexicon().signature}"


def read_answer(question: str, key: AnswerKey, answer: str) -> AnswerReading:
    """Read an answer by the type of its key.

    Args:
        question: The question.
        key: The expected answer.
        answer: The answer, of any length.
    """
    due = " and ".join(key.values)
    if is_unable(normalise_answer(strip_wrapping(answer))):
        return AnswerReading((), False, f"{UNREAD}: it tells that the model sees no video; due: {due}")
    text = final_statement(answer, question, hedged=key.type == "refusal")
    if not any(letter.isalnum() for letter in text):
        return AnswerReading((), False, f"{UNREAD}: nothing is said that stands; due: {due}")
    if key.type != "refusal" and _ELSE.search(text):
        return AnswerReading((), False, f"{UNREAD}: it leaves open whether it is so; due: {due}")
    if key.type not in _PLAIN:
        # "In the kitchen, no, in the bedroom."
        text = _NO.split(text)[-1].removeprefix("no, ")
    said = _READERS[key.type](answer_tokens(text), normalise_answer(question), key)
    shown = f"read: {' and '.join(said.values)[:200]}" if said.values else UNREAD
    why = f"; {said.why}" if said.why else ""
    return AnswerReading(said.values, said.right, f"{shown}; due: {due}{why}")
