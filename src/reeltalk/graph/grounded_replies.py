"""What an answer says: yes or no, a number, objects and rooms, or that it cannot be told."""

import re
from typing import Final, Literal

from reeltalk.graph.grounded_words import NUMBERS, Term, plain, terms

Polarity = Literal["yes", "no"]

_YES: Final = re.compile(
    r"^(?:oh |well,? |i believe |i think )?(?:yes|yeah|yep|yup|yea|yah|sure|correct|indeed|right|absolutely"
    r"|certainly|of course)\b"
    r"|^(?:he|they|it) (?:sure |definitely |certainly )?(?:does|did|is|was|do|has)(?:\b[,.!]|$| so\b| indeed\b)"
    r"|^i (?:think|believe) so\b"
)
_NO: Final = re.compile(
    r"^(?:oh |well,? |actually,? )?(?:no|nope|nah|never|not)\b(?! (?!(?:he|it|they|i|you|there"
    r"|not)\b)[a-z]+ (?:is|was|are)\b)"
    r"|^(?:he|they|it) (?:does|did|is|was|do|has) not\b"
    r"|^i do not (?:think|believe)\b|^it (?:does|did) not (?:look|appear|seem)\b"
)
_UNSURE: Final = re.compile(
    r"\b(?:unknown|unclear|not sure|unsure|no idea|hard to (?:tell|say|see)|can not (?:tell|say|see|be told)"
    r"|do not know|not know|impossible to (?:tell|say|see)|not (?:show|tell|mention)|nothing in the video)\b"
)
_DENIED: Final = re.compile(r"\b(?:not|never|no|nothing|none|nobody|nowhere|without|neither)\b")
_BESIDE: Final = re.compile(
    r"\b(?:next to|near|beside|close to|by|in front of|behind|across from|under|above|instead of|for|before|after|while"
    r"|facing|towards?|not|around|other than|besides)\b[^.,;]*"
    r"|\bto (?!the\b|his\b|an?\b|bed\b)[a-z]+\b[^.,;]*"
    r"|\bto (?!the\b|his\b|an?\b|bed\b)[a-z]+\b[^.,;]*"
)
"""What is told of something else than the place or object itself."""
_VAGUE: Final = re.compile(r"\b(?:several|few|many|multiple|some|lots|bunch|various|couple|or)\b|\bat least\b")


def polarity(answer: str) -> Polarity | None:
    """`yes` or `no` where an answer says so at its beginning, None where it does not."""
    text = plain(answer)
    if _NO.search(text):
        return "no"
    if _YES.search(text):
        return "yes"
    return None


def is_unsure(answer: str) -> bool:
    """True where an answer says that it cannot be told."""
    return _UNSURE.search(plain(answer)) is not None


def is_denied(answer: str) -> bool:
    """True where an answer denies something."""
    return _DENIED.search(plain(answer)) is not None


def count_said(answer: str) -> int | None:
    """The number that an answer gives, or None where it gives none, or a vague one."""
    found = [term for term in terms(answer)]
    numbers = [NUMBERS[t.text] if t.text in NUMBERS else int(t.text) for t in found if t.kind == "number"]
    text = plain(answer)
    if _VAGUE.search(text):
        return None
    if numbers:
        return numbers[0]
    if re.search(r"\b(?:never|none|no|zero|not)\b", text):
        return 0
    return 1 if re.search(r"\b(?:just|only) (?:an?|the)\b|\ba single\b", text) else None


def named(answer: str, *, place: bool = False) -> list[Term]:
    """Objects and rooms that an answer names, in order.

    Args:
        answer: What was answered.
        place: Leave out what is only near, and what is told of another time.
    """
    text = plain(answer)
    if place:
        text = _BESIDE.sub(" ", text)
    return [term for term in terms(text) if term.kind in ("object", "room")]
