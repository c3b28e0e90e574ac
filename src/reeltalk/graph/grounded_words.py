"""Words of questions and answers about a household, and what they can mean as classes, rooms and actions of a graph.

The words themselves are in `grounded_words.toml`. A word that is in no list stays a word, and whoever reads a sentence
that hangs on it knows that it did not understand.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from reeltalk.graph.vocabulary import PLAIN_CLASSES, ROOMS, TOLD_CLASSES

WORDS: Final = Path(__file__).parent / "grounded_words.toml"
ANY: Final = frozenset({"*"})
"""Classes of *something*: whatever it is."""
KEPT: Final = 65_536
"""Texts that are kept once they were read."""
LONGEST_NAME: Final = 4
"""Words of the longest name of an object."""

TermKind = Literal["object", "room", "verb", "pronoun", "number", "word", "stop", "mark"]


@dataclass(frozen=True)
class Term:
    """A word or name of a text, with what it can mean."""

    kind: TermKind
    text: str
    """As it was written, lower case."""
    classes: frozenset[str] = frozenset()
    """What an object or room can be; `ANY` for *something*."""
    lemma: str = ""
    """Base form of a verb."""


_PERSON: Final = (
    r"(?:the|our|this|that|mister|mr\.?) (?:old |young |male )?"
    r"(?:man|guy|person|fellow|dude|gentleman|character|individual|figure|male|homeowner|resident)"
)
_SPELLED: Final = (
    (r"[’‘`]", "'"),
    (r"\bcan't\b|\bcannot\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"n't\b", " not"),
    (r"\b(what|where|who|how|why|when|that|there|he|it|which)'s\b", r"\1 is"),
    (r"\b(what|where|who|how|why|when|which)'d\b", r"\1 did"),
    (r"\b(he|they|it)'d\b", r"\1 would"),
    (r"\b(they)'re\b", r"\1 are"),
    (rf"\b{_PERSON}'s\b", "his"),
    (rf"\b{_PERSON}\b", "he"),
    (r"\b(?:our |the )?(?:mister|mr\.?) man\b", "he"),
    (r"\bmore than once\b", "several times"),
    (r"\b(?:his|the) own\b", "his"),
    # Ways of telling an action by a noun that is no object.
    (r"\buse[sd]? the (toothbrush) to (?:clean|brush) his teeth\b", r"brush the \1"),
    (r"\busing the (toothbrush) to (?:clean|brush) his teeth\b", r"brush the \1"),
    (r"\bus(?:e|es|ed|ing) it to (?:clean|brush) his teeth\b", "brush it"),
    (r"\b(?:brush|clean)(es|ed|ing)? (?:his )?teeth\b", r"brush\1 the toothbrush"),
    (r"\btyp(?:e|es|ed|ing) a message on\b", "text on"),
    (r"\bwash(es|ed|ing)? (?:up )?his hands with\b", r"wash\1"),
    (r"\bwash(es|ed|ing)? (?:up )?his hands\b", r"wash\1 the soap"),
    (r"\bh(?:o|e)ld(s|ing)? (the [a-z ]+?|it|them) under the water\b", r"soak\1 \2"),
    (r"\bwater(?:s|ed|ing)? (the plant|it) with (the [a-z]+(?: can| bottle| glass)?)\b", r"pour \2 into \1"),
    (r"\b(?:do|does|did|doing) (?:a squat|squats)\b", "squat"),
    (r"\b(?:do|does|did|doing) the splits\b", "straddle"),
    (r"\b(?:do|does|did|doing) leg exercises\b", "legopp"),
    (r"\b(?:takes?|took|taking) a seat\b", "sit"),
    (r"\b(?:takes?|took|taking) a (?:drink|sip|swig) (of|from)\b", r"drink \1"),
    (r"\b(?:takes?|took|taking) (.+?) into his hands?\b", r"pick up \1"),
    (r"\bset(?:s|ting)? (?:up )?(?:the|his|a) (kitchen |dining |dinner )?table\b", r"put something on the \1table"),
    (
        r"\bhow many (?:drinks|sips|swigs|gulps) of (?:the |his )?([a-z]+) (?:do|does|did) he (?:take|have)\b",
        r"how many times does he drink the \1",
    ),
    (r"\bhow many (?:drinks|sips|swigs|gulps) (?:do|does|did) he (?:take|have)\b", "how many times does he drink"),
    (r"\brecover(?:s|ed|ing)?(?: from (?:his|the|a|that) (?:fall|daze|tumble))?\b", "falling"),
    (r"\b(?:falling|falls?|fell) off of\b", "falling off"),
    (r"\b(?:his|the|a|that) (?:fall|tumble)\b", "falling"),
    (
        r"\b(throw(?:s|n|ing)?|threw|toss(?:es|ed|ing)?)(?: away| out)? (?:the |some |his )?(?:trash|garbage"
        r"|rubbish)(?: away| out)?\b",
        r"\1 something",
    ),
    (r"\bhow many squats (?:does|did|do) he (?:do|perform)\b", "how many times does he squat"),
    (r"\bget(s|ting)? (?:back )?(in|into|out of) bed\b", r"get\1 \2 the bed"),
)
STOPS: Final = frozenset(
    """the a an his he him himself this these those some any own ever also then just actually really very all again
    still even already now please of both right finally well so and or but do does did done doing is are was were be
    been being has have had having can could will would may might seen see we you me i do does not s that which who
    here once simply only when while as""".split()
)
"""Words that can be passed over where an action or object is looked for."""
ADJECTIVES: Final = frozenset(
    "dirty used empty big small little large single whole plain clean nice entire regular couple pair piece".split()
)
"""Said of objects without telling them apart by what a graph holds."""
PRONOUNS: Final = frozenset("it them they there that this those these".split())
_SOMETHING: Final = frozenset("something anything thing things item items object objects stuff".split())
NUMBERS: Final = {
    word: n
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"none": 0, "once": 1, "twice": 2, "thrice": 3}


@cache
def _read() -> Mapping[str, Mapping[str, str]]:
    words: dict[str, Any] = tomllib.loads(WORDS.read_text(encoding="utf-8"))
    return words


@cache
def _nouns() -> Mapping[tuple[str, ...], tuple[TermKind, frozenset[str]]]:
    found: dict[tuple[str, ...], tuple[TermKind, frozenset[str]]] = {}

    def add(name: str, kind: TermKind, classes: frozenset[str]) -> None:
        *first, last = name.lower().replace("-", " ").split()
        for form in {last, *_plurals(last)}:
            found[(*first, form)] = (kind, classes)

    for names in (TOLD_CLASSES, PLAIN_CLASSES):
        for kind, name in names.items():
            add(name, "object", frozenset({kind}))
            add(kind, "object", frozenset({kind}))
    for kind in _read()["same"]["words"].split():
        add(kind, "object", frozenset({kind}))
    for section, term in (("nouns", "object"), ("rooms", "room")):
        for classes, names_ in _read()[section].items():
            for name in names_.split("|"):
                add(name.strip(), "room" if term == "room" else "object", frozenset(classes.split()))
            if " " not in classes and section == "nouns":
                add(classes, "object", frozenset({classes}))
    for name in _read()["absent"]["words"].split():
        add(name, "object", frozenset({name}))
    for room in ROOMS:
        found[(room,)] = ("room", frozenset({room}))
    return found


def _plurals(word: str) -> tuple[str, ...]:
    if word.endswith("fe"):
        return (f"{word[:-2]}ves",)
    if word.endswith(("s", "sh", "ch", "x")):
        return (f"{word}es",)
    return (f"{word}s",)


@cache
def verb_groups() -> Mapping[tuple[str, ...], frozenset[str]]:
    """Action groups by verb with its particles, as `("pick", "up")`; a verb may stand in several."""
    found: dict[tuple[str, ...], set[str]] = {}
    for group, verbs in _read()["verbs"].items():
        for verb in verbs.split("|"):
            found.setdefault(tuple(verb.split()), set()).add(group)
    return {verb: frozenset(groups) for verb, groups in found.items()}


@cache
def _lemmas() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for verb in sorted({verb[0] for verb in verb_groups()} | {"begin", "hold"}):
        stem = verb[:-1] if verb.endswith("e") else verb
        ending = "es" if verb.endswith(("s", "sh", "ch", "x", "o")) else "s"
        regular = [verb, verb + ending, f"{stem}ed", f"{stem}ing"]
        if verb == "lie":
            regular = [verb, "lies"]
        for form in regular + _read()["forms"].get(verb, "").split():
            # "lay" and "left" are forms of two verbs; the first stays.
            found.setdefault(form, verb)
    return found


@lru_cache(maxsize=KEPT)
def plain(text: str) -> str:
    """A text in lower case, contractions written out and the person as *he*."""
    text = " " + re.sub(r"\s+", " ", text.lower()).strip()
    for pattern, written in _SPELLED:
        text = re.sub(pattern, written, text)
    return text.strip()


def terms(text: str) -> list[Term]:
    """The words of a text in order, names of objects and rooms as one term each.

    Args:
        text: Any text; it is made `plain` first.
    """
    return list(_terms(plain(text).replace("-", " ")))


@lru_cache(maxsize=KEPT)
def _terms(text: str) -> tuple[Term, ...]:
    words = re.findall(r"[a-z]+|\d+|[.?!,;:]", text)
    found: list[Term] = []
    place = 0
    while place < len(words):
        for length in range(min(LONGEST_NAME, len(words) - place), 0, -1):
            name = tuple(words[place : place + length])
            if name in _nouns():
                kind, classes = _nouns()[name]
                if length == 1 and _is_verb_here(name[0], found):
                    continue
                found.append(Term(kind, " ".join(name), classes))
                place += length
                break
        else:
            found.append(_term(words[place]))
            place += 1
    return tuple(found)


def _is_verb_here(word: str, before: list[Term]) -> bool:
    """*Drink* and *book* can be either: a noun follows an article, a verb follows *he*, *to* or *does he*."""
    if word not in _lemmas():
        return False
    last = before[-1].text if before else ""
    return last in ("he", "to", "him", "not", "and", "then", "ever", "", "also", "we")


def _term(word: str) -> Term:
    if not word[0].isalnum():
        return Term("mark", word)
    if word in _SOMETHING:
        return Term("object", word, ANY)
    if word in PRONOUNS:
        return Term("pronoun", word)
    if word in NUMBERS or word.isdigit():
        return Term("number", word)
    if word in _lemmas():
        return Term("verb", word, lemma=_lemmas()[word])
    return Term("stop" if word in STOPS else "word", word)


def objects_in(text: str) -> list[Term]:
    """The objects that a text names, in order."""
    return [term for term in terms(text) if term.kind == "object" and term.classes != ANY]


def rooms_in(text: str) -> list[Term]:
    """The rooms that a text names, in order."""
    return [term for term in terms(text) if term.kind == "room"]
