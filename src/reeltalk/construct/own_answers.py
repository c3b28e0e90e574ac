"""Detects questions that contain their own answer: they name the asked value, or something that implies it.

Names and synonyms are those for reading typed answers (`questions/answer_words.toml`). Alternatives that a question
offers, and a statement that it asks to confirm, do not count.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from reeltalk.graph.vocabulary import ROOMS
from reeltalk.metrics.agree import content_words, is_yes_no, polarity
from reeltalk.questions.answer_words import (
    ARTICLES,
    Mention,
    answer_tokens,
    lexicon,
    names_in,
    normalise_answer,
    verbs_in,
)
from reeltalk.schema.dialogue import AnswerKey, KeyType, Turn

TELLING: Final = Path(__file__).parent / "own_answers.toml"
MOST_SHARED: Final = 0.9
"""A question that has at least this share of the answer's content words contains the answer."""
_CLOSED: Final = frozenset({"yes_no", "order", "comparison", "refusal", "person"})
_CHOICES: Final = re.compile(
    r"(?:\w+, )*\w+,? or \w+|(?:\w+、)*\w+还是\w+|\b(?:of|between) .+ and .+, (?:which|what|who)\b"
)
"""Matches alternatives that a question offers."""
_ASKS: Final[tuple[tuple[KeyType, re.Pattern[str]], ...]] = (
    ("room", re.compile(r"\b(?:which|what) (?:part|room)\b|\bwhere in the (?:house|home|flat|apartment)\b")),
    ("colour", re.compile(r"\b(?:which|what|of what|whose) colour\b|\bits colour\b")),
    ("count", re.compile(r"\bhow (?:many|often)\b|\bnumber of\b")),
)
"""Type of the answer by the wording of a question without a key."""
_TOWARDS: Final = ARTICLES | {"to", "at", "on", "in", "into", "onto", "towards", "up", "down", "over", "from", "off"}
_NAMELESS: Final = frozenset({"one", "once"})
"""Number words that often do not count anything, as in *which one* and *once he is done*."""


def own_answer(turn: Turn) -> str | None:
    """The reason why a question contains its own answer; None if it does not.

    The answer comes from the turn's key, or from its reference and the wording of the question.

    Args:
        turn: A turn with a reference or a key.
    """
    text = _CHOICES.sub(" ", normalise_answer(turn.question))
    key = turn.key or _read_key(text, turn)
    if (key is not None and key.type in _CLOSED) or (turn.key is None and _is_closed(turn)):
        return None
    if key is not None:
        tokens = answer_tokens(text)
        for value, words in _named(key, tokens):
            return f"the question names its answer, {value}: {words!r}"
    # If a number or a state is asked for, the other words of the answer do not reveal it.
    return _all_said(turn) if key is None or key.type not in ("state", "count", "seconds") else None


def _is_closed(turn: Turn) -> bool:
    return bool(turn.options) or is_yes_no(turn.question) or any(polarity(text) for text in turn.references[:1])


def _all_said(turn: Turn) -> str | None:
    if _CHOICES.search(normalise_answer(turn.question)):
        return None
    answer, asked = set(content_words(" ".join(turn.references[:1]))), set(content_words(turn.question))
    if not answer or len(answer & asked) < MOST_SHARED * len(answer):
        return None
    return "the question already says what the answer says"


def _read_key(question: str, turn: Turn) -> AnswerKey | None:
    """A key for a question without one, if the question and the reference determine it."""
    type_ = next((name for name, pattern in _ASKS if pattern.search(question)), None)
    if type_ is None or not turn.references:
        return None
    said = answer_tokens(normalise_answer(turn.references[0]))
    if type_ == "count":
        values = {str(n) for n in _numbers(said)}
    else:
        values = {value for name in names_in(said, "noun", type_) if name.kind == type_ for value in name.values}
    return AnswerKey(type=type_, values=tuple(values)) if len(values) == 1 else None


def _named(key: AnswerKey, tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Values of a key that a question names, each with the words that name it."""
    due = frozenset(key.values)
    if key.type in ("count", "seconds"):
        yield from ((str(n), str(n)) for n in _numbers(tokens) if str(n) in due)
    elif key.type == "action":
        for act in (*key.values, *key.also):
            if act not in key.about and (words := _act_named(act, tokens)):
                yield act, words
    else:
        for name in names_in(tokens, *_KINDS[key.type]):
            meant = _rooms_of(name) if key.type == "room" else name.values
            if meant and meant <= due and name.kind != ("room" if key.type == "object" else ""):
                yield " ".join(sorted(meant)), _words(tokens, name)


_KINDS: Final[dict[KeyType, tuple[str, ...]]] = {
    "room": ("noun", "room"),
    "object": ("noun",),
    "place": ("noun",),
    "colour": ("noun", "colour"),
    "state": ("state",),
}


def _words(tokens: Sequence[str], name: Mention) -> str:
    return " ".join(tokens[name.start : name.end])


def _numbers(tokens: Sequence[str]) -> Iterator[int]:
    for token in tokens:
        if token.isdigit():
            yield int(token)
        elif token in lexicon().numbers and token not in _NAMELESS:
            yield lexicon().numbers[token]


@cache
def _tells_room() -> dict[str, str]:
    raw: dict[str, str] = tomllib.loads(TELLING.read_text(encoding="utf-8"))["rooms"]
    return {thing: room for room, things in raw.items() for thing in things.split()}


def _rooms_of(name: Mention) -> frozenset[str]:
    """The rooms that a name means or implies; none if one of its meanings implies no room."""
    if name.kind == "room":
        return name.values
    told = {_tells_room().get(value) or next((r for r in ROOMS if value.startswith(r)), None) for value in name.values}
    return frozenset(room for room in told if room is not None) if None not in told else frozenset()


def _act_named(act: str, tokens: Sequence[str]) -> str | None:
    """The words by which a question names an act: its verb, then its object, then its targets; None if it does not."""
    action, main, *targets = act.split("|")
    nouns = names_in(tokens, "noun", "room")
    for verb in verbs_in(tokens, nouns):
        after = [noun for noun in nouns if noun.start >= verb.end]
        if action not in verb.values:
            continue
        if not main:
            return _words(tokens, verb)
        behind = bool(after) and set(tokens[verb.end : after[0].start]) <= _TOWARDS and main in after[0].values
        if behind and all(any(target in noun.values for noun in after[1:]) for target in targets):
            last = after[0] if not targets else after[-1]
            return " ".join(tokens[verb.start : last.end])
    return None
