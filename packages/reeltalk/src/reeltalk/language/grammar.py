"""The grammar of questions: cores, openings, and the order of words that each opening asks for.

A *core* is a direct question with slots, such as `What does {he} pick up first?`; in `[takes|gets]` one of the parts
stands. From each core the grammar derives *surface forms*: the question itself, the question after an opening that
keeps its order (`In the video, …`), and the clause after an opening that turns it round (`Can you tell me what {he}
picks up first?`). A form's identity is its derivation: core, alternatives and opening.

Cores and openings are divided among the splits, so no form of train occurs in test, and neither does its core.
"""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from reeltalk.language.phrases import past_of
from reeltalk.language.rules import read_rules

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

SPLITS: Final = ("train", "dev", "test")


class SurfaceForm(NamedTuple):
    """One way to ask, with slots."""

    name: str
    """Its derivation, for example `where_put/forms/3/can-you-say`."""
    text: str
    core: str
    """The direct question behind it, which decides the labels."""
    weight: float
    """How often it is drawn."""


class Opening(NamedTuple):
    """Words before a question."""

    words: str
    turns: bool
    """True if the clause after it has the order of a statement."""
    end: str = "?"

    @property
    def announces(self) -> bool:
        """True if it announces a question."""
        return self.words.endswith(("question:", "this:"))


_OPENINGS: Final[dict[str, tuple[Opening, ...]]] = {
    split: (
        *(Opening(words, True, end) for words, end in own["turns"]),
        *(Opening(words, False) for words in own["keeps"]),
    )
    for split, own in RULE_FILE.raw["openings"].items()
}
_ANY_OPENING: Final = re.compile(
    r"(?:^|(?<=[.?!] ))(?:"
    + "|".join(re.escape(opening.words) for own in _OPENINGS.values() for opening in own)
    + r")\s+(?P<whether>(?:whether|if)\b(?! not\b))?",
    re.IGNORECASE,
)
_ENDING: Final = RULE_FILE.pattern("ending")
PLAIN_SHARE: Final = 0.5
"""Probability of a question without an opening."""
_DIRECT: Final = RULE_FILE.pattern("direct")


def without_opening(question: str) -> str:
    """A question without the words before it that say nothing, as *Do you know*; *whether* becomes *does*.

    Args:
        question: The question, of any split.
    """

    def direct(match: re.Match[str]) -> str:
        # After a colon or comma, *if* begins a condition.
        whether = match["whether"] or ""
        return "Does" if whether and not re.search("[:,]", match[0]) else whether

    return _ENDING.sub("?", _ANY_OPENING.sub(direct, question))


@cache
def surface_forms(
    kind: str, part: str, cores: tuple[str, ...], more: tuple[str, ...], split: str
) -> tuple[SurfaceForm, ...]:
    """The forms that a split may use, each derived once, without any that another split has too.

    Args:
        kind: The kind of question.
        part: `forms` or `ref`, for the names.
        cores: Cores that are divided among the splits: every fourth belongs to test, the one before it to dev.
        more: More cores of train.
    """
    taken: set[str] = set()
    for own in reversed(SPLITS):
        found = []
        given = [(n, core) for n, core in enumerate(cores) if split_of_form(n) == own]
        if own == SPLITS[0]:
            given += list(enumerate(more, start=len(cores)))
        for number, core in given:
            derived = [
                form for form in _derive(f"{kind}/{part}/{number}", core, own) if bare_form(form.text) not in taken
            ]
            for form in derived:
                if bare_form(form.text) not in taken:
                    found.append(form)
                    taken.add(bare_form(form.text))
        if own == split:
            return tuple(found)
    raise ValueError(f"{split!r} is no split: {', '.join(SPLITS)}")


def split_of_form(number: int) -> str:
    """The split that may use the core with this index in its list."""
    return {2: "dev", 3: "test"}.get(number % 4, "train")


def bare_form(text: str) -> str:
    """A form without punctuation, and with one slot for all words that mean the person."""
    text = re.sub(r"\{(?:he2?|him|his)\}", "{he}", text.lower())
    return re.sub(r"[^a-z{}_0-9 ]", "", text).strip()


def _derive(name: str, core: str, split: str) -> Iterator[SurfaceForm]:
    variants = list(alternatives(core))
    for place, text in enumerate(variants):
        own = f"{name}-{place}" if len(variants) > 1 else name
        yield SurfaceForm(own, text, text, PLAIN_SHARE / len(variants))
        # An opening stands before the question, after what is told first, unless it announces them both.
        told, _, asked = text.rpartition(". ")
        head = f"{told}. " if told else ""
        # Not "He picks it up. I am curious: where?"
        usable = [one for one in _OPENINGS[split] if not told or one.announces or not one.words.endswith(":")]
        fitting = [(opening, derived) for opening in usable if (derived := _opened(opening, asked))]
        for opening, derived in fitting:
            label = re.sub(r"[^a-z]+", "-", opening.words.lower()).strip("-")
            share = (1 - PLAIN_SHARE) / len(fitting) / len(variants)
            # "Another question: he opens the closet. Does he close it?"
            whole = f"{opening.words} {_lower(text)}" if told and opening.announces else f"{head}{derived}"
            yield SurfaceForm(f"{own}/{label}", whole, text, share)


def _opened(opening: Opening, asked: str) -> str | None:
    """A question after an opening; None if the two do not go together."""
    if _OPEN.match(asked):
        return None
    if opening.turns:
        turned = turn_round(asked)
        return f"{opening.words} {turned}{opening.end}" if turned is not None else None
    if not opening.words.endswith(":"):
        if not _DIRECT.match(asked) or re.search(
            r"video|scene|\bhere\b|\bend|start|beginning|\bwould\b", asked, re.IGNORECASE
        ):
            return None
        return f"{opening.words} {_lower(asked)}"
    return f"{opening.words} {_lower(asked)}" if ":" not in asked else None


_OPEN: Final = RULE_FILE.pattern("open")


def alternatives(core: str) -> Iterator[str]:
    """The core with each choice of its alternatives: `[takes|gets]` is either word."""
    parts = [part.split("|") for part in re.split(r"[\[\]]", core)]
    # Texts and choices take turns; a text has no bar.
    for chosen in itertools.product(*parts):
        yield re.sub(r"\s+", " ", "".join(chosen)).strip()


def _lower(text: str) -> str:
    return text if text.startswith("I ") else re.sub(r"^(\{?)([A-Z])", lambda m: m[1] + m[2].lower(), text)


_SUBJECT: Final = r"\{his\} \{part\}|\{(?:he2?|o|o_then|t|it_s|p|q|pair)\}|the video|the \{room\}|that|this"
_WH: Final = (
    r"(?:what|which|where|who|whom|whose|how|why|when|in (?:which|what)|with what|for (?:what|how)|to whom|by what"
    r"|from (?:where|whom)|of all)\b[^,.;:?]*?"
)
_BE: Final = r"is|are|was|were|had|has|have|can|could|would|will|\{is\}|\{are\}"
_TURNED: Final = {"{is_it}": "{it_is}", "{was_it}": "{it_was}"}
_ASKS_FOR_SUBJECT: Final = RULE_FILE.pattern("asks_for_subject")


def turn_round(question: str) -> str | None:
    """The clause that a question becomes after *Can you tell me*; None if the rules do not cover it.

    Args:
        question: A direct question with slots, such as `Where does {he} put {o}?`.
    """
    if not question.endswith("?") or re.search(r"[.:;]", question):
        return None
    text = _lower(question[:-1])
    if re.match(r"(?:and|so|then|but|had)\b|and,", text):
        return None
    front, after = "", text
    if (
        split := re.match(
            r"((?:after|before|right|immediately|just|when|once|while|in|at|apart|over|with|having)\b[^,?]*), (.+)$",
            text,
        )
    ) and not re.match(_WH, text):
        front, after = split[1], split[2]
    if re.search(r", (?:or|and) (?:does|do|is|are|how|which|what|where|when)\b", after):
        return None
    if front.startswith(("having", "with")) or ("{o}" in front and "{it}" in after):
        return None
    clause = _clause(after)
    if clause is None or (front and _ENDED.search(clause)):
        return None
    return f"{clause} {front}".strip()


_ENDED: Final = RULE_FILE.pattern("ended")


def _clause(text: str) -> str | None:
    if _ASKS_FOR_SUBJECT.match(text):
        return text
    for slot, put in _TURNED.items():
        if match := re.match(rf"({_WH}) {re.escape(slot)}(.*)$", text):
            # "what colour it is"; "where it was before".
            return f"{match[1]} {put}{match[2]}"
        if text.startswith(slot):
            return f"whether {put}{text[len(slot) :]}"
    if match := re.match(rf"({_WH}) do (we|they) (.*)$", text):
        return f"{match[1]} {match[2]} {match[3]}"
    if re.match(rf"({_WH}|does|do) (?:does |do )?({_SUBJECT}) (?:first|last|also|then|ever|\w+ly) ", text):
        return None
    if match := re.match(
        r"what (is|are) ((?:the|\{its\}) (?:colour|length|number|name)(?: of (?:the video|\{o\}|\{his\} \{part\}))?)$",
        text,
    ):
        return f"what {match[2]} {match[1]}"
    if match := re.match(rf"({_WH}) (?:does|do) ({_SUBJECT}) (\{{do\}}|\w+)(.*)$", text):
        return f"{match[1]} {match[2]} {third_person(match[3])}{match[4]}"
    if match := re.match(rf"(?:does|do) ({_SUBJECT}) (\{{do\}}|\w+)(.*)$", text):
        return f"whether {match[1]} {third_person(match[2])}{match[3]}"
    if match := re.match(rf"({_WH}) did ({_SUBJECT}) (?:(first|last) )?(\{{do\}}|\w+)(.*)$", text):
        often = f" {match[3]}" if match[3] else ""
        return None if match[4] == "{do}" else f"{match[1]} {match[2]}{often} {past_of(match[4])[0]}{match[5]}"
    if match := re.match(rf"({_WH}) ({_BE}) ({_SUBJECT})( .*)?$", text):
        return f"{match[1]} {match[3]} {match[2]}{match[4] or ''}"
    if match := re.match(rf"({_BE}) ({_SUBJECT})( .*)?$", text):
        return f"whether {match[2]} {match[1]}{match[3] or ''}"
    return None


def third_person(verb: str) -> str:
    """The third person of a base form, or the slot for it: `puts` for `put`, `{does}` for `{do}`."""
    if verb == "{do}":
        return "{does}"
    if verb in ("have", "be", "go", "do"):
        return {"have": "has", "be": "is", "go": "goes", "do": "does"}[verb]
    if verb.endswith(("s", "x", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2] not in "aeiou" else f"{verb}s"
