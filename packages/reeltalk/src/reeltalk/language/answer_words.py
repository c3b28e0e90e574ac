"""Analyses the words of an answer: its final statement, and the things, rooms, persons and acts that it names.

The vocabulary is closed: the classes and actions of household graphs, with the synonyms in `answer_words.toml`.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from reeltalk.language.phrases import VERBS
from reeltalk.language.rules import read_rules
from reeltalk.language.vocabulary import PLAIN_CLASSES

RULE_FILE: Final = read_rules(Path(__file__).with_name("answer_forms.toml"))

WORDS: Final = Path(__file__).parent / "answer_words.toml"
LONGEST_LIGHT: Final = 6
"""Most words between a noun and the verb of *gives the mug a rinse*."""
MOST_WORDS: Final = 300
"""Most words and punctuation marks of an answer that are read. A later value is not found."""
LONGEST_NAME: Final = 4
"""Most words of a name."""
LONGEST_CLAUSE: Final = 40
"""Most words of a clause before or after a name that are read."""
CLOSED_TYPES: Final = ("feeling", "reply", "daytime", "size")
"""Types of answers that are one of a few words."""
PARTICLES: Final = RULE_FILE.words["particles"]
PUNCTUATION: Final = frozenset(".,;:!?()/")
BEFORE_NOUNS: Final = RULE_FILE.words["before_nouns"]
ARTICLES: Final = RULE_FILE.words["articles"]


@dataclass(frozen=True)
class Mention:
    """A name in an answer."""

    kind: str
    """`noun`, `room`, `person`, `colour`, `state`, `comparison` or `verb`."""
    values: frozenset[str]
    """Values that it can mean."""
    start: int
    end: int
    """Positions of its words in the answer, half-open; without a particle that is separated from its verb."""
    particle: str | None = None


@dataclass(frozen=True)
class Lexicon:
    """The meanings of words."""

    names: Mapping[str, Mapping[tuple[str, ...], frozenset[str]]]
    """Values by kind of name and words."""
    verbs: Mapping[str, frozenset[str]]
    """Base forms by inflected form."""
    actions: Mapping[tuple[str, str | None], frozenset[str]]
    """Actions by base form and particle."""
    phrases: Mapping[tuple[str, ...], frozenset[str]]
    """Actions by phrases such as `take a seat`; the verb is a base form."""
    either: frozenset[str]
    numbers: Mapping[str, int]
    hedges: re.Pattern[str]
    refusals: re.Pattern[str]
    """Matches phrases for something that is not shown or cannot be known."""
    signature: str


@cache
def lexicon() -> Lexicon:
    """The vocabulary, read once."""
    text = WORDS.read_text(encoding="utf-8")
    raw = tomllib.loads(text)
    nouns = _listed(raw["nouns"])
    for name in raw["same"]["words"].split():
        nouns.setdefault((name,), set()).add(name)
    for kinds in raw["nouns"]:
        if len(kinds.split()) == 1:
            nouns.setdefault((kinds,), set()).add(kinds)
    for kind, name in PLAIN_CLASSES.items():
        if kind not in ("character", "livingroom"):
            nouns.setdefault(tuple(name.lower().split()), set()).add(kind)
            nouns.setdefault((kind,), set()).add(kind)
    for words, found in list(nouns.items()):
        for plural in _plurals(words[-1]):
            nouns.setdefault((*words[:-1], plural), set()).update(found)
    names = {"noun": nouns, "room": _listed(raw["rooms"]), "person": _listed(raw["people"])}
    names |= {"colour": _listed(raw["colours"]), "state": _listed(raw["states"])}
    names |= {kind: _listed(raw[f"{kind}s" if kind != "reply" else "replies"]) for kind in CLOSED_TYPES}
    names |= {"running": _listed(raw["running"]), "comparison": _listed(raw["comparisons"])}
    irregular = {base: forms.split() for base, forms in raw["forms"].items()}
    actions: dict[tuple[str, str | None], set[str]] = {}
    phrases: dict[tuple[str, ...], set[str]] = {}
    bases: set[str] = {"be", "do", "happen", "show", "see", "make"}
    given = [(action, verb.split()) for action, listed in raw["verbs"].items() for verb in listed.split(" | ")]
    given += [(action, [forms[0]]) for action, forms in VERBS.items() if forms[0] not in ("pick", "use", "do", "type")]
    for action, words in given:
        bases.add(words[0])
        if len(words) == 1 or words[1] in PARTICLES or words[1] in ("for", "at", "around", "onto"):
            particle = words[1] if len(words) > 1 and words[1] in PARTICLES else None
            actions.setdefault((words[0], particle), set()).add(action)
        else:
            phrases.setdefault(tuple(words), set()).update(() if action == "none" else (action,))
    verbs: dict[str, set[str]] = {}
    for base in sorted(bases):
        for form in _forms(base, irregular.get(base, ())):
            verbs.setdefault(form, set()).add(base)
    numbers = {word: n for n, word in enumerate(raw["numbers"]["words"].split())}
    for n, ten in enumerate(raw["numbers"]["tens"].split(), start=2):
        numbers |= {ten: 10 * n} | {f"{ten} {word}": 10 * n + k for word, k in list(numbers.items()) if 0 < k < 10}
    numbers |= {word: n for n, word in enumerate(raw["numbers"]["times"].split(), start=1)}
    numbers |= dict.fromkeys(raw["numbers"]["nothing"].split(), 0)
    hedges = "|".join(sorted((re.escape(hedge) for hedge in raw["opinions"]["hedges"]), key=len, reverse=True))
    return Lexicon(
        names={kind: {words: frozenset(v) for words, v in found.items()} for kind, found in names.items()},
        verbs={form: frozenset(v) for form, v in verbs.items()},
        actions={key: frozenset(v) for key, v in actions.items()},
        phrases={key: frozenset(v) for key, v in phrases.items()},
        either=frozenset(raw["either"]["words"].split()),
        numbers=numbers,
        hedges=re.compile(rf"\b(?:{hedges})\b"),
        refusals=_refusals(raw["refusals"]),
        signature=hashlib.sha256(text.encode()).hexdigest()[:8],
    )


def _refusals(raw: Mapping[str, str]) -> re.Pattern[str]:
    tells, unknown, lacking = ("|".join(raw[name].replace("\n", " ").split()).replace("|||", "|") for name in raw)
    return re.compile(
        r"\b(?:not|never|no way to|nothing|nobody|no one|neither|impossible to|hard to|difficult to|unable to)\b"
        rf"(?: \w+){{0,4}}? \b(?:{tells})\b|\b(?:{unknown})\b|\bno (?:{lacking})\b"
        r"|\bup to (?:him|her|them|you|the person)\b|\bmatter of (?:taste|opinion)\b"
        r"|\bnothing (?:in|about|on|to)\b|\b(?:insufficient|not enough|too little) (?:information|evidence|detail)\b"
        r"|\b(?:is|are) not (?:in|part of|there)\b"
    )


def _listed(raw: Mapping[str, str]) -> dict[tuple[str, ...], set[str]]:
    found: dict[tuple[str, ...], set[str]] = {}
    for values, listed in raw.items():
        for name in listed.split(" | "):
            found.setdefault(tuple(name.split()), set()).update([values] if values == "as many" else values.split())
    return found


def _plurals(word: str) -> Iterable[str]:
    if word.endswith(("s", "x", "ch", "sh")):
        return [f"{word}es"]
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return [f"{word[:-1]}ies"]
    return [f"{word}s", f"{word[:-1]}ves"] if word.endswith("f") else [f"{word}s"]


def _forms(base: str, irregular: Sequence[str]) -> set[str]:
    forms = {base, *irregular}
    stem = base.removesuffix("e")
    if base.endswith(("s", "x", "ch", "sh", "o")):
        forms.add(f"{base}es")
    elif base.endswith("y") and base[-2:-1] not in "aeiou":
        forms |= {f"{base[:-1]}ies", f"{base[:-1]}ied"}
    else:
        forms.add(f"{base}s")
    forms.add("lying" if base == "lie" else f"{base if base in ('be', 'see') else stem}ing")
    return forms if irregular and base not in ("reach",) else forms | {f"{stem}ed"}


_CONTRACTED: Final = tuple((re.compile(pattern), put) for pattern, put in RULE_FILE.raw["contracted"]["rules"])
_BULLET: Final = RULE_FILE.pattern("bullet")
_LINE_END: Final = re.compile(r"(?<=[^\s.!?:,;])[ \t]*\n")
_QUOTES: Final = re.compile(r"[*_`#\"“”]+")
_TOKEN: Final = RULE_FILE.pattern("token")


_CACHED_CHARACTERS: Final = 500
"""Texts up to this length are kept: keys and questions come again with every answer."""


def normalise_answer(text: str) -> str:
    """The text in lower case, without contractions, hyphens and repeated spaces."""
    return _normalised(text) if len(text) <= _CACHED_CHARACTERS else _normalised.__wrapped__(text)


@lru_cache(maxsize=1 << 13)
def _normalised(text: str) -> str:
    text = text.lower().replace("’", "'")
    for pattern, put in _CONTRACTED:
        text = pattern.sub(put, text)
    return re.sub(r"\s+", " ", text).strip()


def answer_tokens(text: str) -> list[str]:
    """Words, numbers and punctuation of a text from `normalise_answer`, at most `MOST_WORDS`."""
    return _TOKEN.findall(text[: 12 * MOST_WORDS])[:MOST_WORDS]


_UNABLE: Final = RULE_FILE.pattern("unable")
_RETRACTED: Final = RULE_FILE.pattern("retracted")
UNTRUE_PATTERN: Final = RULE_FILE.pattern("untrue")


_VIEWER: Final = RULE_FILE.pattern("viewer")
_ASKS: Final = RULE_FILE.pattern("asks")


def is_unable(text: str) -> bool:
    """True if an answer, from `normalise_answer`, says that the model sees no video."""
    return _UNABLE.search(text) is not None


def final_statement(answer: str, question: str) -> str:
    """The normalised text of an answer without the repeated question, its own questions, and retracted parts.

    Args:
        answer: An answer from `plain_answer`.
    """
    if "\n" in answer:
        answer = _LINE_END.sub(". ", _BULLET.sub("", answer)).replace("\n", " ")
    text, asked = normalise_answer(_QUOTES.sub(" ", answer).strip(" -•")), normalise_answer(question)
    bare = asked.rstrip("?.! ")
    if asked and text.startswith(bare):
        text = text[len(bare) :].lstrip("?.!,: ")
    parts = [part for part in re.split(r"(?<=[.!?])\s+", text) if part]
    said = [part for part in parts if not part.endswith("?")]
    # "The kitchen?" alone is a value; among sentences, or as "Is it the kitchen?", it was only asked.
    parts = said or [part for part in parts if not _ASKS.match(part)]
    text = _VIEWER.sub("", " ".join(parts))
    taken_back = None
    for match in _RETRACTED.finditer(text):
        if re.search(r"[a-z0-9]", text[: match.start()]):
            taken_back = match
    if taken_back is not None:
        text = text[taken_back.end() :].lstrip(",.;:! ")
    return re.sub(r"\s+", " ", text).strip(" ,")


def without_hedges(text: str) -> str:
    """A text from `final_statement` without hedges such as *it is hard to say*."""
    return re.sub(r"\s+", " ", lexicon().hedges.sub(" ", text)).strip(" ,")


def names_in(tokens: Sequence[str], *kinds: str) -> list[Mention]:
    """Find names of some kinds. At each word the longest match counts.

    Args:
        tokens: Words of an answer.
        kinds: Kinds of names to find; of equal matches the first kind counts.
    """
    known, longest = _names(kinds)
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        for length in range(min(longest.get(tokens[at], 2), len(tokens) - at), 0, -1):
            words = tuple(tokens[at : at + length])
            if length == 2 and len(tokens[at]) > 2 and len(tokens[at + 1]) > 2 and words not in known:
                # "a tooth brush"
                words = (tokens[at] + tokens[at + 1],)
            if (name := known.get(words)) is not None:
                found.append(Mention(*name, at, at + length))
                at += length - 1
                break
        at += 1
    return found


@cache
def _names(kinds: tuple[str, ...]) -> tuple[dict[tuple[str, ...], tuple[str, frozenset[str]]], dict[str, int]]:
    """Kind and values of each name of some kinds, and the most words of a name by its first one, two at least."""
    names = lexicon().names
    known = {words: (kind, values) for kind in reversed(kinds) for words, values in names[kind].items()}
    longest: dict[str, int] = {}
    for first, *others in known:
        longest[first] = max(longest.get(first, 2), min(1 + len(others), LONGEST_NAME))
    return known, longest


def verbs_in(tokens: Sequence[str], nouns: Sequence[Mention] = ()) -> list[Mention]:
    """Find verbs that name actions, with their particles.

    Args:
        tokens: Words of an answer.
        nouns: Names in it; their words are not verbs.
    """
    known = lexicon()
    named = {place for noun in nouns for place in range(noun.start, noun.end)}
    found: list[Mention] = []
    for at, word in enumerate(tokens):
        bases = known.verbs.get(word, frozenset()) if at not in named else frozenset()
        # A noun that looks like a verb: "the water", "a drink", "his hands".
        if not bases or (at and tokens[at - 1] in BEFORE_NOUNS and not word.endswith("ing")):
            if bases and tokens[at - 1] in ("a", "an") and (light := _light(tokens, at, found)) is not None:
                # "gives the mug a rinse", "puts on a scowl", "a smile appears"
                acts = {action for base in bases for action in known.actions.get((base, None), ())}
                found = [verb for verb in found if verb.start != light]
                found.append(Mention("verb", frozenset(acts), min(light, at), min(light, at) + 1))
            continue
        phrase = next(
            (
                (known.phrases[base, *tokens[at + 1 : at + length]], length)
                for base in sorted(bases)
                for length in (4, 3, 2)
                if (base, *tokens[at + 1 : at + length]) in known.phrases
            ),
            None,
        )
        if phrase is not None:
            found.append(Mention("verb", phrase[0], at, at + phrase[1]))
            continue
        particle = _particle(tokens, at, named)
        actions: set[str] = set()
        for base in bases:
            exact = known.actions.get((base, particle)) if particle else None
            plain_ = known.actions.get((base, None), frozenset())
            opposed = particle in ("on", "off", "up") and (base, particle) not in known.actions
            turned = any((base, other) in known.actions for other in ("on", "off")) and opposed
            actions |= exact if exact is not None else frozenset() if turned else plain_
        if actions or bases & {"be", "do"}:
            adjacent = particle is not None and at + 1 < len(tokens) and tokens[at + 1] == particle
            found.append(Mention("verb", frozenset(actions), at, at + 2 if adjacent else at + 1, particle))
    return found


def _light(tokens: Sequence[str], at: int, verbs: Sequence[Mention]) -> int | None:
    """Index of a verb that says only that what a noun names happens, before or right after the noun."""
    if at + 1 < len(tokens) and tokens[at + 1] in _APPEARING:
        return at + 1
    start = max(clause_start(tokens, at), at - LONGEST_LIGHT, verbs[-1].start if verbs else 0)
    return next((n for n in range(at - 2, start - 1, -1) if tokens[n] in _GIVING), None)


def _particle(tokens: Sequence[str], at: int, named: set[int]) -> str | None:
    """The particle of a verb: right after it, or after its object if nothing follows that it could govern."""
    if tokens[at + 1 : at + 3] == ["back", "up"]:
        return "up"
    if at + 1 < len(tokens) and tokens[at + 1] in PARTICLES:
        following = tokens[at + 2] if at + 2 < len(tokens) else ""
        if tokens[at + 1] in ("on", "in", "off", "out", "over") and lexicon().verbs.get(tokens[at], frozenset()) & {
            "put",
            "sit",
            "place",
        }:
            return tokens[at + 1] if following in PUNCTUATION or not following else None
        return tokens[at + 1]
    for place in range(at + 2, min(at + 7, len(tokens))):
        if tokens[place] in PUNCTUATION or tokens[place] in ("and", "but", "then"):
            return None
        if tokens[place] in PARTICLES:
            following = tokens[place + 1] if place + 1 < len(tokens) else ""
            governs = following in ARTICLES or following in ("it", "them") or place + 1 in named
            return None if governs and tokens[place] not in ("up", "down", "back", "away") else tokens[place]
    return None


_GIVING: Final = RULE_FILE.words["giving"]
_APPEARING: Final = RULE_FILE.words["appearing"]
_BREAKS: Final = frozenset(".,;:!?()") | RULE_FILE.words["breaks"]
_NEGATORS: Final = RULE_FILE.words["negators"]
_NEGATED: Final = tuple(tuple(phrase.split()) for phrase in RULE_FILE.phrases["negated"])


_NEGATING: Final = frozenset(words[0] for words in _NEGATED)


def clause_start(tokens: Sequence[str], at: int) -> int:
    """Index of the first word of a clause, by punctuation and joining words."""
    place, limit = at, max(0, at - LONGEST_CLAUSE)
    while place > limit and tokens[place - 1] not in _BREAKS:
        place -= 1
    # "anything but red": this *but* parts nothing.
    if place > 1 and tokens[place - 1] == "but" and (tokens[place - 2], "but") in _NEGATED:
        return place - 2
    return place


def clause_end(tokens: Sequence[str], at: int) -> int:
    """Index after the last word of a clause."""
    place, limit = at, min(len(tokens), at + LONGEST_CLAUSE)
    while place < limit and tokens[place] not in _BREAKS:
        place += 1
    return place


def is_denied_before(tokens: Sequence[str], mention: Mention) -> bool:
    """True if a word before a name in its clause negates it."""
    start = clause_start(tokens, mention.start)
    before = tokens[start : mention.start]
    for n, word in enumerate(before):
        if word in _NEGATING and any(tuple(before[n : n + len(words)]) == words for words in _NEGATED):
            return True
    count = sum(word in _NEGATORS for word in before)
    if "nor" in before and count > 1:
        count = 1
    return count % 2 == 1


def is_denied_after(tokens: Sequence[str], mention: Mention, others: Sequence[Mention]) -> bool:
    """True if a name is the subject of a clause that denies it, for example `the sponge is not used`."""
    end = clause_end(tokens, mention.end)
    after = list(tokens[mention.end : end])
    if {"wrong", "incorrect", "false"} & set(after[:4]):
        return True
    if "not" not in after[:3]:
        return False
    return not any(mention.end <= other.start < end for other in others)
