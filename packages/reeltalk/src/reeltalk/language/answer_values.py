"""Readers of values in answers: rooms, things, places, colours, states, persons, comparisons, counts, lengths of time.

Each reader takes the words of an answer without retracted parts, and returns the values that remain. An answer with two
different values is not right.
"""

import itertools
import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from reeltalk.language.answer_words import (
    ARTICLES,
    PUNCTUATION,
    Mention,
    answer_tokens,
    clause_end,
    clause_start,
    is_denied_after,
    is_denied_before,
    lexicon,
    names_in,
    normalise_answer,
    verbs_in,
)
from reeltalk.language.rules import read_rules
from reeltalk.language.vocabulary import plain_name
from reeltalk.schema.dialogue import AnswerKey

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))


@dataclass(frozen=True)
class ReadValues:
    """The values in an answer."""

    values: tuple[str, ...]
    """Values in the order of the answer; empty if none could be read."""
    right: bool = False
    why: str = ""
    """Explanation why the values are not right, if needed."""


UNKNOWN: Final = "unknown"
"""Value of the key of a question that the video does not answer."""
NOTHING: Final = ReadValues(())
_ON: Final = frozenset(RULE_FILE.phrases["on"])
_IN: Final = frozenset(RULE_FILE.phrases["in"])
_FROM: Final = frozenset(RULE_FILE.phrases["from"])
_TO: Final = frozenset(RULE_FILE.phrases["to"])
_BESIDE: Final = frozenset(RULE_FILE.phrases["beside"])
_LOCAL: Final = _ON | _IN | _FROM | _TO | _BESIDE | {"at", "before", "after", "following", "of"}
_PREPOSITIONS: Final = frozenset(word for words in _LOCAL for word in words.split()) | {
    "with",
    "without",
    "using",
    "front",
    "top",
}
_BEGINNING: Final = RULE_FILE.words["beginning"]
_ENDING: Final = RULE_FILE.words["ending"]
_LATER: Final = RULE_FILE.words["later"]
_EARLIER: Final = RULE_FILE.words["earlier"]
_WORD: Final = RULE_FILE.words["word"]


def preposition(tokens: Sequence[str], at: int) -> str:
    """The preposition that governs a name, for example `out of`; empty if there is none.

    Args:
        tokens: Words of an answer.
        at: Index of the first word of the name.
    """
    place = at - 1
    skipped = 0
    colours = lexicon().names["colour"]
    while place >= 0 and (
        tokens[place] in ARTICLES - {"of"}
        or (tokens[place],) in colours
        or (skipped < 1 and tokens[place].isalpha() and _is_adjective(tokens, place))
    ):
        skipped += tokens[place] not in ARTICLES
        place -= 1
    if place > 0 and tokens[place] == "of" and tokens[place - 1] == "top":
        return "from on top of" if "from" in tokens[max(0, place - 3) : place] else "on top of"
    if place > 0 and tokens[place] in _PARTED and _has_particle(tokens[place - 1], tokens[place]):
        # "hands over the mug", "switches off the lamp"
        return ""
    for length in (4, 3, 2, 1):
        words = " ".join(tokens[max(0, place - length + 1) : place + 1])
        if words in _LOCAL or words in ("with", "using", "by using", "without"):
            return words
    return ""


_PARTED: Final = frozenset({"over", "off"})


def _has_particle(verb: str, particle: str) -> bool:
    known = lexicon()
    return any((base, particle) in known.actions for base in known.verbs.get(verb, ()))


def _is_adjective(tokens: Sequence[str], place: int) -> bool:
    word = tokens[place]
    if word in _PREPOSITIONS or word in PUNCTUATION or word in _WORD or word in lexicon().verbs:
        return False
    return place > 0 and (tokens[place - 1] in ARTICLES or tokens[place - 1] in _PREPOSITIONS)


def _segment(tokens: Sequence[str], mention: Mention) -> tuple[int, int]:
    """Bounds of the part of a clause, split at *and*, that contains a name."""
    start, end = clause_start(tokens, mention.start), clause_end(tokens, mention.end)
    for place in range(mention.start - 1, start - 1, -1):
        if tokens[place] == "and":
            start = place + 1
            break
    for place in range(mention.end, end):
        if tokens[place] == "and":
            end = place
            break
    if start and tokens[start - 1] in ("then", "but", "so"):
        start -= 1
    return start, end


def _words(tokens: Sequence[str], mention: Mention) -> frozenset[str]:
    start, end = _segment(tokens, mention)
    return frozenset(tokens[start:end])


def _timed(tokens: Sequence[str], mentions: Sequence[Mention], question: str) -> list[Mention]:
    """The names that belong to the time that the question asks about."""
    asked = frozenset(answer_tokens(question))
    standing = list(mentions)
    if asked & _ENDING:
        late = [m for m in standing if _words(tokens, m) & (_ENDING | _LATER)]
        early = [m for m in standing if _words(tokens, m) & (_BEGINNING | _EARLIER)]
        return late or [m for m in standing if m not in early]
    if asked & _BEGINNING:
        first = [m for m in standing if _words(tokens, m) & _BEGINNING]
        # "The first thing after that": *after* says which first is meant.
        return first or [m for m in standing if not _words(tokens, m) & ((_ENDING | _LATER) - asked)]
    kept = [m for m in standing if not _words(tokens, m) & (_LATER - {"after", "next"})]
    return kept if kept and standing and kept[0] == standing[0] else standing


def compare_values(found: Sequence[frozenset[str]], key: AnswerKey) -> ReadValues:
    """Compare the values read with the key. Each word may have several meanings."""
    shown = tuple(dict.fromkeys("/".join(sorted(values)) for values in found))
    if not found:
        return NOTHING
    for wanted in (key.values, *((other,) for other in key.also)):
        if all(set(wanted) & values for values in found) and all(any(v in values for values in found) for v in wanted):
            return ReadValues(tuple(wanted), right=True)
    due = set(key.values) | set(key.also)
    if len(found) > 1 and any(due & values for values in found):
        return ReadValues(
            shown, why="it says something else as well" if len(found) > len(key.values) else "something is missing"
        )
    return ReadValues(shown)


def read_room(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the room that an answer names."""
    found = [m for m in names_in(tokens, "noun", "room") if m.kind == "room"]
    standing = []
    for m in found:
        before = tokens[clause_start(tokens, m.start) : m.start]
        near = before[-3:]
        left = any("leaving" in v.values for v in verbs_in(near)) and "to" not in near and "for" not in near
        left = left or "way" in near
        if "before" in before and "," not in before:
            continue
        opener = tokens[clause_start(tokens, m.start) - 1] if clause_start(tokens, m.start) else ""
        if opener in ("although", "though") and _words(tokens, m) & (_LATER | _EARLIER):
            continue
        back = preposition(tokens, m.start) in _FROM | {"before", "after"} and not question.startswith("from ")
        if not (left or back or is_denied_before(tokens, m) or is_denied_after(tokens, m, found)):
            standing.append(m)
    return compare_values([m.values for m in _timed(tokens, standing, question)], key)


def read_thing(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the things that an answer names."""
    nouns = [m for m in names_in(tokens, "noun", "room") if m.kind == "noun"]
    verbs = [v for v in verbs_in(tokens, nouns) if v.values]
    asked = {action for verb in verbs_in(answer_tokens(question)) for action in verb.values}
    cleaning = bool(re.search(r"\bclean(?:s|ed|ing)?\b", question))
    about = set(key.about) - set(key.values)
    standing: list[Mention] = []
    tools: list[Mention] = []
    for m in nouns:
        governor = next((v for v in reversed(verbs) if clause_start(tokens, m.start) <= v.start < m.start), None)
        local = preposition(tokens, m.start)
        used = local in ("with", "using", "by using") or is_used(tokens, m)
        if cleaning and used:
            tools.append(m)
        own_name = any(plain_name(value) == " ".join(tokens[m.start : m.end]) for value in m.values & set(key.values))
        if is_denied_before(tokens, m) or is_denied_after(tokens, m, nouns):
            continue
        # What the question names is no answer. Beside the milk, *the bottle* is the bottle.
        if about & m.values and not (cleaning or own_name):
            continue
        if standing and _is_purpose(tokens, m):
            continue
        if standing and _LIKE_WITH.search(" ".join(tokens[max(0, m.start - 3) : m.start])):
            # "a book with a red cover"
            continue
        poured = local in _FROM and re.search(r"\b(?:drink|pour|fill)", question) is not None
        if (
            local in _LOCAL
            and not (local == "of" or poured or (local == "by" and cleaning))
            and not _reached(tokens, m)
        ):
            continue
        start = clause_start(tokens, m.start)
        if _ASIDE & set(tokens[start : m.start]) and not _comes_after(tokens, start, m, verbs, asked):
            continue
        if governor is not None and not cleaning and "grab" in asked and governor.values <= {"put", "putIn"}:
            continue
        if cleaning and governor is not None and governor.values & {"wipe", "scrub"} and not used:
            continue
        standing.append(m)
    if cleaning and tools:
        standing = [m for m in standing if m in tools]
    standing = _timed(tokens, standing, question) if len(key.values) == 1 else standing
    between = [tokens[a.end : b.start] for a, b in itertools.pairwise(standing)]
    if any("or" in words for words in between) and len({m.values for m in standing}) > 1:
        return ReadValues(tuple("/".join(sorted(m.values)) for m in standing), why="it leaves open which")
    if any(is_unlike(tokens, m, key.looks) or _is_listed_with_unknown(tokens, m) for m in standing):
        return ReadValues(tuple("/".join(sorted(m.values)) for m in standing), why="it says something else as well")
    return _drop_ambiguous(compare_values([m.values for m in standing], key), standing, key, tokens)


def _is_listed_with_unknown(tokens: Sequence[str], mention: Mention) -> bool:
    """True if another thing is named with it that no graph holds, as the mug in *a mug and a spoon*."""
    joined = tokens[mention.end : mention.end + 2] in (["and", "a"], ["and", "an"], ["and", "some"])
    following = tokens[mention.end + 2 : mention.end + 3]
    return joined and bool(following) and not names_in(tokens[mention.end + 2 : mention.end + 6], "noun", "person")


def _drop_ambiguous(said: ReadValues, mentions: Sequence[Mention], key: AnswerKey, tokens: Sequence[str]) -> ReadValues:
    """Reject a right value if its name also fits a wrong one, as *the table* if there are two tables."""
    others = set(key.among) - set(key.values) - set(key.also)
    for value in said.values if said.right else ():
        named = [m for m in mentions if value in m.values]
        called = {" ".join(tokens[m.start : m.end]) for m in named}
        if named and plain_name(value) not in called and all(m.values & others for m in named):
            return ReadValues(said.values, why="it does not tell apart which one")
    return said


def is_unlike(tokens: Sequence[str], mention: Mention, looks: Sequence[str]) -> bool:
    """True if a thing is named with another colour or size than it has."""
    start = mention.start
    names = lexicon().names
    while start > 0 and any((tokens[start - 1],) in names[kind] for kind in ("colour", "size")):
        start -= 1
    for kind in ("colour", "size") if start < mention.start else ():
        own = {look for look in looks if (look,) in names[kind]}
        if own and any(not own & m.values for m in names_in(tokens[start : mention.start], kind)):
            return True
    return False


def _is_purpose(tokens: Sequence[str], mention: Mention) -> bool:
    """True for the cereal in *a bowl for his cereal*."""
    place = mention.start - 1
    while place > 0 and tokens[place] in ARTICLES:
        place -= 1
    return place > 0 and tokens[place] == "for"


_ASIDE: Final = RULE_FILE.words["aside"]


def _comes_after(
    tokens: Sequence[str], start: int, mention: Mention, verbs: Sequence[Mention], asked: set[str]
) -> bool:
    """True if the main clause starts before the name, as in *after he sits down he takes the phone*."""
    cue = next(n for n in range(start, mention.start) if tokens[n] in _ASIDE)
    inside = [v for v in verbs if cue < v.start < mention.start]
    if inside and tokens[inside[-1].start - 1] in _SUBJECTS and inside[-1].values & asked:
        # "After the toothpaste he grabs the toothbrush": a thing was named before the subject.
        named = names_in(tokens[cue : inside[-1].start], "noun")
        return bool(named) or len(inside) > 1
    return len(inside) > 1 and bool(inside[-1].values & asked) and not inside[-1].values & inside[0].values


_SUBJECTS: Final = RULE_FILE.words["subjects"]


def is_used(tokens: Sequence[str], mention: Mention) -> bool:
    """True for the towel in *he uses the towel*."""
    return bool({"use", "uses", "used", "using"} & set(tokens[max(0, mention.start - 3) : mention.start]))


def _reached(tokens: Sequence[str], mention: Mention) -> bool:
    """True for *reaches for the mug*."""
    return any(word.startswith("reach") for word in tokens[max(0, mention.start - 4) : mention.start])


_LIKE_WITH: Final = RULE_FILE.pattern("like_with")
_SOURCE: Final = RULE_FILE.pattern("source")
_GOAL: Final = RULE_FILE.pattern("goal")


def read_place(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the place that a thing is put into or taken from."""
    text = re.sub(r"picks? (?:it|them|up)|puts? (?:it|them) before", "", question)
    source = bool(re.search(r"\bfrom\b(?! (?:my|our|your) )", text)) or (
        bool(_SOURCE.search(text)) and not _GOAL.search(text)
    )
    nouns = [m for m in names_in(tokens, "noun", "room") if m.kind == "noun"]
    verbs = [v for v in verbs_in(tokens, nouns) if v.values]
    standing: list[tuple[Mention, str]] = []
    last = ""
    for m in nouns:
        relation = preposition(tokens, m.start)
        if not relation and m.start and tokens[m.start - 1] in ("the", "a", "or", "and", "his"):
            back = m.start - 2 if tokens[m.start - 1] in ("the", "a", "his") else m.start - 1
            relation = last if back >= 0 and tokens[back] in ("or", "and") and standing else ""
        last = relation
        if set(key.about) & m.values and not set(key.values) & m.values:
            continue
        start, _ = _segment(tokens, m)
        governor = next((v for v in reversed(verbs) if start <= v.start < m.start), None)
        placed = governor is not None and bool(governor.values & {"put", "putIn"}) and not governor.values & {"grab"}
        if _STAYS.search(" ".join(tokens[start : m.start])):
            # "It would not have moved from the table."
            standing.append((m, ""))
            continue
        if is_denied_before(tokens, m):
            continue
        if standing and standing[-1][1] in _ON | _IN | _FROM and relation in _ON | _IN:
            # "From the rack on the wall" tells where the rack is.
            between = [word for word in tokens[standing[-1][0].end : m.start] if word not in ARTICLES]
            if " ".join(between) == relation:
                continue
        if not source and relation in _FROM:
            continue
        if source and (relation in _TO or (placed and relation not in _FROM)):
            continue
        standing.append((m, relation))
    firm = [found for found in standing if found[1] not in _BESIDE]
    due = [m for m, relation in standing if relation in _BESIDE and set(key.values) & m.values]
    if due and not any(set(key.values) & m.values for m, _ in firm):
        return ReadValues((f"beside {key.values[0]}",), why="it lies elsewhere than in or on it")
    if firm and any(relation for _, relation in firm):
        # Next to places with a preposition, names without one are objects that are put there or opened.
        firm = [f for f in firm if f[1]] if not any(set(key.values) & m.values for m, r in firm if not r) else firm
        firm = [f for f in firm if f[1] or set(key.values) & f[0].values]
    found = _drop_ambiguous(compare_values([m.values for m, _ in firm], key), [m for m, _ in firm], key, tokens)
    if found.right and key.relation is not None and not set(key.values) & lexicon().either:
        said = {("on" if r in _ON else "in" if r in _IN else "") for m, r in firm}
        wrong = "in" if key.relation == "on" else "on"
        if wrong in said and key.relation not in said:
            return ReadValues((f"{wrong} {key.values[0]}",), why=f"it lies {key.relation} it")
    return found


_STAYS: Final = RULE_FILE.pattern("stays")
_PARTS: Final = {"clothespants": "trousers", "clothesshirt": "shirt"}


def read_colour(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the colour that an answer gives to the thing in question."""
    nouns = [m for m in names_in(tokens, "noun", "colour", "room") if m.kind == "noun"]
    shades = {m.start for m in names_in(tokens, "colour")}
    nouns = [m for m in nouns if not (tokens[m.start] == "light" and m.end in shades)]
    inside = {p for m in nouns for p in range(m.start, m.end)}
    colours = [m for m in names_in(tokens, "colour") if m.start not in inside]
    topic = {_PARTS.get(name, name) for name in key.about}
    topic |= {v for m in names_in(answer_tokens(question), "noun") for v in m.values}
    standing = []
    for m in colours:
        owner = next((n for n in nouns if 0 <= n.start - m.end <= 1 and "and" not in tokens[m.end : n.start]), None)
        if owner is not None and any(t in PUNCTUATION or t in _WORD for t in tokens[m.end : owner.start]):
            owner = None
        if owner is None:
            start, _ = _segment(tokens, m)
            before = [n for n in nouns if start <= n.start < m.start]
            owner = before[0] if before else None
        # "Its doors are green": a part of what is asked about.
        part = owner is not None and tokens[max(0, owner.start - 1)] in ("its", "their") and not topic & set(_WORN)
        if owner is not None and not part and not owner.values & topic:
            continue
        if is_denied_before(tokens, m) or is_denied_after(tokens, m, colours):
            continue
        values = m.values if "blond" in key.values or "blond" in key.among else m.values - {"blond"}
        values = values - {"yellow"} if "blond" in key.values and values & {"blond"} else values
        if _LEFT.search(" ".join(tokens[m.end : clause_end(tokens, m.end)])):
            # "She takes the red one; the blue one is left."
            continue
        standing.append((m, values or m.values))
    # "light grey", "dark brown" and a shade next to its colour are one colour.
    return compare_values([values for _, values in standing], key)


_LEFT: Final = RULE_FILE.pattern("left")
_NOT_SWITCHED: Final = RULE_FILE.words["not_switched"]


def read_state(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the state or posture in an answer."""
    wanted = (*key.values, *key.among)
    found = [m for m in names_in(tokens, "state") if m.values & set(wanted)]
    if set(wanted) & {"on", "off"}:
        found += [m for m in names_in(tokens, "running") if m.values & set(wanted)]
        for at, word in enumerate(tokens):
            following = tokens[at + 1] if at + 1 < len(tokens) else ""
            if (word == "off" and following != "to") or (
                word == "on" and (following not in _NOT_SWITCHED or following == "and")
            ):
                found.append(Mention("state", frozenset({word}), at, at + 1))
    found.sort(key=lambda m: m.start)
    known = [m for m in found if not _is_lazy(tokens, m)]
    said = [m for m in known if not is_denied_before(tokens, m) and not is_denied_after(tokens, m, known)]
    if not said and len(wanted) > 1:
        denied = {v for m in known if is_denied_before(tokens, m) for v in m.values}
        left = set(wanted) - denied
        return compare_values([frozenset(left)], key) if denied and len(left) == 1 else NOTHING
    # "Closed, it was open before."
    past = [m for m in said if "was" in _words(tokens, m) and _words(tokens, m) & (_EARLIER | _BEGINNING)]
    said = _timed(tokens, [m for m in said if m not in past] or said, question)
    values = [m.values for m in said]
    if len(set(values)) > 1 and len(wanted) == 2:
        between = tokens[said[-2].end : said[-1].start]
        joined = tokens[said[0].end : said[-1].start]
        if "or" not in joined and (_AT_LAST & set(between) or _AT_LAST & set(tokens[said[-1].end :])):
            values = values[-1:]
    return compare_values(values, key)


_AT_LAST: Final = RULE_FILE.words["at_last"]


def _is_lazy(tokens: Sequence[str], mention: Mention) -> bool:
    """True for words that do not mean a posture here, as *lies* for a thing or *stand* in *TV stand*."""
    before = tokens[mention.start - 1] if mention.start else ""
    return before in ("tv", "television") or (tokens[mention.start] == "seat" and before != "a")


def read_person(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the person in an answer."""
    if not {*key.values, *key.among} <= {value for values in lexicon().names["person"].values() for value in values}:
        return _read_named(tokens, question, key)
    found = names_in(tokens, "person")
    known = [m for m in found if not is_denied_before(tokens, m)]
    known = [m for m in known if tokens[max(0, clause_start(tokens, m.start) - 1)] not in ("while", "whereas")] or known
    by = [m for m in known if preposition(tokens, m.start) == "by"]
    given = re.search(r"\b(?:give|gives|gave|hand|hands|pass|passes)\b", question)
    from_ = [m for m in known if given and preposition(tokens, m.start) in _FROM]
    if by or from_:
        return compare_values([m.values for m in (by or from_)], key)
    subjects: list[Mention] = []
    for m in known:
        verbs = verbs_in(tokens[clause_start(tokens, m.start) : m.start])
        linked = tokens[m.start - 1] in ("is", "was") or (m.start > 1 and tokens[m.start - 2] in ("is", "was"))
        after_who = {"who", "whom", "that"} & set(tokens[clause_start(tokens, m.start) : m.start])
        if (not verbs or linked) and not after_who and preposition(tokens, m.start) not in _LOCAL | {"for", "with"}:
            subjects.append(m)
    # "He does, the man": the pronoun means the named person.
    named = [m for m in subjects if tokens[m.start] not in ("he", "she", "him", "her", "male", "female")] or subjects
    asked = {action for verb in verbs_in(answer_tokens(question)) for action in verb.values}
    doing = [m for m in named if any(v.values & asked for v in verbs_in(tokens[m.end : clause_end(tokens, m.end)]))]
    # "The man picks it up, the woman watches."
    return compare_values([m.values for m in (doing or named)], key)


def _read_named(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read one of several people, by name or by looks that nobody else has."""
    known = {form: words for words in (*key.among, *key.also, *key.values) for form in forms_of_look(words)}
    right = {*key.values, *key.also}
    people = lexicon().names["person"].items()
    men = {words: next(iter(values)) for words, values in people if len(values) == 1 and words not in _PRONOUNS}
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        for length in range(min(LONGEST_DESCRIPTION, len(tokens) - at), 0, -1):
            words = tuple(tokens[at : at + length])
            name = known.get(words) or known.get((men.get(words, ""),))
            if name is not None:
                found.append(Mention("person", frozenset({name}), at, at + length))
                at += length - 1
                break
        at += 1
    standing = [m for m in found if not (is_denied_before(tokens, m) or is_denied_after(tokens, m, found))]
    standing = [m for m in standing if tokens[max(0, clause_start(tokens, m.start) - 1)] not in _BESIDES]
    # "Emma throws the ball to Hugo", where the question names Hugo.
    asked = frozenset(answer_tokens(question))
    towards = [m for m in standing if asked >= set(tokens[m.start : m.end]) and _follows_verb(tokens, m)]
    standing = [m for m in standing if m not in towards or m.values & right] or standing
    acts = {action for verb in verbs_in(answer_tokens(question)) for action in verb.values}
    done_by = [m for m in standing if preposition(tokens, m.start) == "by" and _follows_verb(tokens, m)]
    standing = done_by or [m for m in standing if not _describes(tokens, m)]
    main = [m for m in standing if not _is_in_the_background(tokens, m, acts)]
    standing = main or standing
    said = tuple(dict.fromkeys(value for m in standing for value in m.values))
    if any("or" in tokens[a.end : b.start] for a, b in itertools.pairwise(standing)) and not set(said) <= right:
        return ReadValues(said, why="it leaves open which")
    return ReadValues(said, right=bool(said) and set(said) <= right)


_BESIDES: Final = frozenset({"while", "whereas", "not", "unlike"})
_COMPARING: Final = RULE_FILE.words["comparing"]
_DESCRIBED: Final = RULE_FILE.words["described"]


def _describes(tokens: Sequence[str], mention: Mention) -> bool:
    """True for Emma in *the person to whom Emma gives it* and *the one who gives it to Emma*."""
    start = clause_start(tokens, mention.start)
    before = tokens[start : mention.start]
    cue = next((n for n in range(len(before) - 1, 0, -1) if before[n] in ("who", "whom", "whose", "that")), None)
    if cue is None or not _DESCRIBED & set(before[max(0, cue - 2) : cue]):
        return False
    return "is" not in before[cue:] and "was" not in before[cue:]


def _is_in_the_background(tokens: Sequence[str], mention: Mention, acts: Set[str]) -> bool:
    """True for whom an answer only compares with, and for who does, or undergoes, another act than in the question."""
    start, end = _segment(tokens, mention)
    if _COMPARING & set(tokens[start : mention.start]):
        return True
    part = tokens[start:end]
    # "I would say Tom": this *say* tells no act.
    told = [v for v in verbs_in(part, names_in(part, "noun")) if v.values and not {"i", "would"} & set(part[: v.start])]
    return bool(acts and told) and not any(v.values & acts for v in told)


@lru_cache(maxsize=1024)
def forms_of_look(words: str) -> tuple[tuple[str, ...], ...]:
    """The words for a person and others of the same sense: `red shirt`, `red top`; `brown hair`, `brown haired`."""
    *colour, worn = answer_tokens(normalise_answer(words))
    others = RULE_FILE.phrases[worn] if colour and worn in _WORN else (worn,)
    return tuple((*colour, *other.split()) for other in others)


_WORN: Final = frozenset({"shirt", "trousers", "hair"})


def _follows_verb(tokens: list[str], mention: Mention) -> bool:
    return bool(verbs_in(tokens[clause_start(tokens, mention.start) : mention.start]))


_PRONOUNS: Final = frozenset({("he",), ("him",), ("she",), ("her",)})
LONGEST_DESCRIPTION: Final = 6
"""Most words of a name or a description of a person."""


def read_closed(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read one of a few words: a feeling, a reply, day or evening, a size."""
    wanted = {*key.values, *key.among}
    found = [m for m in names_in(tokens, key.type) if m.values & wanted]
    if key.type == "reply":
        # "No, she accepts": a verb tells more than *yes* or *no*.
        found += [m for m in verbs_in(tokens) if m.values & wanted]
        found = [m for m in found if tokens[m.start] not in ("yes", "no")] or found
        found.sort(key=lambda m: m.start)
    denied = [m for m in found if is_denied_before(tokens, m) or "un" in tokens[max(0, m.start - 1) : m.start]]
    standing = [m for m in found if m not in denied]
    if any("or" in tokens[a.end : b.start] for a, b in itertools.pairwise(standing)):
        return ReadValues(tuple("/".join(sorted(m.values)) for m in standing), why="it leaves open which")
    left = wanted.difference(*(m.values for m in denied))
    if denied and not standing and len(left) == 1:
        return compare_values([frozenset(left)], key)
    return compare_values([m.values & wanted for m in standing], key)


LEAST_REPEATED: Final = 0.75
"""Share of the content words of an utterance that an answer must repeat."""
LEAST_QUOTED: Final = 0.75
"""Least agreement of all words, as F1, of an utterance with what an answer puts into quotation marks."""
_UNSPOKEN: Final = RULE_FILE.words["unspoken"]
_HARD: Final = RULE_FILE.words["hard"]
_NEGATIONS: Final = RULE_FILE.words["negations"]
_SPOKEN: Final = RULE_FILE.pattern("spoken")


def read_utterance(answer: str, key: AnswerKey) -> ReadValues:
    """Read the words that somebody says: the most similar of those that are said in the video.

    Args:
        answer: The answer as it was written, since its quotation marks count.
        key: The expected words.
    """
    quoted = " ".join("".join(match.groups(default="")) for match in _SPOKEN.finditer(answer))
    told = _spoken_words(quoted or answer)
    best, agreed = "", 0.0
    for said in (*key.values, *key.also, *key.among):
        words = _spoken_words(said)
        content = stems_of(words - _UNSPOKEN or words)
        agreement = 2 * len(words & told) / (len(words) + len(told))
        if len(content & stems_of(told)) < LEAST_REPEATED * len(content) or agreement <= agreed:
            continue
        best, agreed = said, agreement
    if not best:
        return NOTHING
    words = _spoken_words(best)
    if (words ^ told) & _HARD or bool(words & _NEGATIONS) != bool(told & _NEGATIONS):
        return ReadValues((best,), why="a day, a number or a negation differs")
    if quoted and agreed < LEAST_QUOTED:
        return ReadValues((quoted[:200],), why="its words are others")
    return ReadValues((best,), right=best in (*key.values, *key.also))


def hard_words(text: str) -> list[tuple[str, str]]:
    """The days and numbers in words that are said, each with another one."""
    listed = RULE_FILE.raw["words"]["hard"].split()
    names = [word for word in re.findall(r"\w+", text) if word.lower() in listed]
    return [(name, listed[(listed.index(name.lower()) + 1) % len(listed)].title()) for name in names]


def _spoken_words(text: str) -> frozenset[str]:
    return frozenset(word for word in answer_tokens(normalise_answer(text)) if word not in PUNCTUATION)


def stems_of(words: Iterable[str]) -> frozenset[str]:
    """Words without the endings by which reported speech differs."""
    return frozenset(re.sub(r"(?<=\w{3})(?:ing|ed|es|s|e)$", "", word) for word in words)


_COMPARED: Final = RULE_FILE.pattern("compared")


def read_comparison(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read *more*, *fewer* or *as many* in an answer."""
    found = names_in(tokens, "comparison")
    swapped = {"more": "fewer", "fewer": "more", "as many": "as many"}
    standing, denied = [], set()
    for m in found:
        (value,) = m.values
        start, end = clause_start(tokens, m.start), clause_end(tokens, m.end)
        if value == "as many" and tokens[m.start] == "as" and m.start:
            # "twice as many", "not as many"
            before = tokens[m.start - 1]
            if before in ("twice", "thrice", "double", "triple", "times", "half", "not", "third", "quarter"):
                standing.append("more" if before in ("twice", "thrice", "double", "triple", "times") else "fewer")
                continue
        rest = tokens[m.end : end]
        scene = " ".join(tokens[start:end])
        earlier = _COMPARED.search(scene) is not None and not {"than", "as"} & set(rest) and "compared" not in scene
        value = swapped[value] if earlier and "here" not in rest and "now" not in rest else value
        if (is_denied_before(tokens, m) and value != "as many") or (
            "not" in tokens[start : m.start] and "no" not in rest
        ):
            denied.add(value)
        else:
            standing.append(value)
    if not standing and len(denied) == 2:
        standing = [value for value in swapped if value not in denied]
    return compare_values([frozenset({value}) for value in dict.fromkeys(standing)], key)


_VAGUE: Final = RULE_FILE.words["vague"]
_POINTING: Final = RULE_FILE.words["pointing"]
_UNITS: Final = (
    frozenset({"times", "time", "occasions"}), frozenset({"rooms", "room"}),
    frozenset({"things", "thing", "objects", "object", "items", "item"}),
    frozenset({"people", "person", "persons", "man", "individual", "individuals", "woman"}),
)  # fmt: skip


def read_count(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the number in an answer."""
    asked = ["times"] if "often" in question else [word for word in answer_tokens(question) if word != "time"]
    asked = asked[asked.index("many") :] if "many" in asked else asked
    unit = next((units for word in asked for units in _UNITS if word in units), frozenset())
    others = {word for words in _UNITS if words is not unit for word in words}
    acts = {key.about[0].split("|")[0]} if key.about else set()
    acts |= {action for verb in verbs_in(answer_tokens(question)) for action in verb.values} if acts else set()
    standing: list[tuple[int, int]] = []
    for at, end, value in numbers_in(tokens):
        before = tokens[at - 1] if at else ""
        after = tokens[end : end + 2]
        pointed = (
            before in _POINTING
            or (before == "in" and not unit & set(after))
            or (before.endswith("ing") and tokens[at - 2] in _POINTING)
        )
        if (tokens[at] == "one" and pointed) or before in (
            "more",
            "fewer",
            "less",
            "at",
            "number",
        ):
            continue
        if before in _VAGUE or tokens[max(0, at - 2) : at] == ["up", "to"] or (after[:1] and after[0] in _SECONDS):
            continue
        if after == ["more", "than"] or after in (["fewer", "than"], ["less", "than"]):
            return NOTHING
        if acts and _is_of_another(tokens, at, end, acts):
            continue
        owned = unit and after and (after[0] in others or (after[-1] in others and after[0] == "different"))
        partly = after[:1] == ["of"] or (after[:1] in (["in"], ["on"]) and standing)
        each = bool(standing) and (owned or partly or tokens[at] == "both")
        if owned or each:
            continue
        if is_denied_before(tokens, Mention("number", frozenset(), at, end)) and value:
            continue
        standing.append((at, int(value)) if value == int(value) else (at, -1))
    # "Once here and once there, so twice."
    concluded = [n for n, word in enumerate(tokens) if word in ("so", "thus", "hence", "therefore", "altogether")]
    standing = [found for found in standing if concluded and found[0] > concluded[-1]] or standing
    if re.search(
        r"\bnot (?:once|even once|at all)\b|\bno one\b|\bno (?:people|person|rooms?|things?)\b", " ".join(tokens)
    ):
        standing = [(0, 0)]
    # "Three; he never leaves the third."
    standing = [found for found in standing if found[1] or tokens[found[0]] != "never"] or standing
    if not standing and "single" in tokens:
        standing = [(0, 1)]
    if not standing and re.fullmatch(r"(?:a )?(?:couple|pair)(?: of times| of \w+)? ?\.?", " ".join(tokens)):
        standing = [(0, 2)]
    again = [m for m in re.finditer(r"\ba (second|third|fourth|fifth) time\b", " ".join(tokens)) if "not" not in tokens]
    if again and {n for _, n in standing} <= {1}:
        # "Once, and then a second time."
        standing = [(0, ("second", "third", "fourth", "fifth").index(again[-1][1]) + 2)]
    if len(standing) > 2 and standing[0][1] == sum(n for _, n in standing[1:]):
        # "Twice: once at the start and once at the end."
        between = {*tokens[standing[0][0] : standing[1][0]]}
        joined = "," in between and "and" in tokens[standing[-2][0] : standing[-1][0]]
        standing = standing[:1] if joined or between & {":", "("} else standing
    if {"between", "or"} & set(tokens) and len({n for _, n in standing}) > 1:
        return ReadValues(tuple(str(n) for _, n in standing), why="it leaves open how many")
    return compare_values([frozenset({str(n)}) for _, n in standing], key)


_LIGHT: Final = RULE_FILE.words["light"]


def _is_of_another(tokens: Sequence[str], at: int, end: int, acts: Set[str]) -> bool:
    """True if a number counts another act, as *three* in *he closes it twice and opens it three times* for closing."""
    start, stop = clause_start(tokens, at), clause_end(tokens, end)
    start = max([n + 1 for n in range(start, at) if tokens[n] == "and"], default=start)
    stop = min([n for n in range(end, stop) if tokens[n] == "and"], default=stop)
    part = list(tokens[start:stop])
    verbs = [verb for verb in verbs_in(part, names_in(part, "noun")) if verb.values]
    told = [verb.values for verb in verbs if not lexicon().verbs.get(part[verb.start], frozenset()) & _LIGHT]
    return bool(told) and not any(acts & values for values in told)


def numbers_in(tokens: Sequence[str]) -> list[tuple[int, int, float]]:
    """Numbers with the bounds of their words, as (start, end, value)."""
    known = lexicon().numbers
    found: list[tuple[int, int, float]] = []
    at = 0
    while at < len(tokens):
        two = " ".join(tokens[at : at + 2])
        if two in known:
            found.append((at, at + 2, float(known[two])))
            at += 1
        elif tokens[at] in known:
            found.append((at, at + 1, float(known[tokens[at]])))
        elif re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", tokens[at]):
            found.append((at, at + 1, float(tokens[at])))
        at += 1
    return found


_BOUND: Final = RULE_FILE.pattern("bound")
_SECONDS: Final = {"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60} | {
    "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "hrs": 3600,
}  # fmt: skip


def read_seconds(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the length of time in an answer. All its numbers must be near the right one."""
    text = re.sub(r"\bhalf an? (minute|hour)", r"0.5 \1", " ".join(tokens))
    text = re.sub(r"\b(?:an?|one) (minute|hour|second)\b", r"1 \1", text)
    text = re.sub(r"\ba third of 1 minute", "20 seconds", re.sub(r"\ba quarter of 1 minute", "15 seconds", text))
    text = re.sub(r"\bhundred\b", "100", re.sub(r"\b(?:a|one) hundred\b", "100", text))
    text = re.sub(r"\b(\d+) and a half (minutes?)\b", r"\1.5 \2", text)
    words = text.split()
    spans: list[float] = []
    stamps: list[float] = []
    pending: list[float] = []
    last_end = -9
    for at, end, value in _amounts(words):
        if isinstance(value, str):
            parts = [int(part) for part in value.split(":")]
            total = float(sum(part * 60**n for n, part in enumerate(reversed(parts))))
            start = at and words[at - 1] in ("from", "at", "to", "until", "between", "and")
            (stamps if start else spans).append(total)
            continue
        if is_denied_before(words, Mention("number", frozenset(), at, end)):
            continue
        unit = words[end] if end < len(words) else ""
        if unit in ("time", "times", "rooms"):
            continue
        if at and words[at - 1] == "at" and unit in _SECONDS:
            # "At 14 seconds he sits down" is a moment.
            continue
        if unit in _SECONDS:
            scale = _SECONDS[unit]
            joined = bool(spans) and at - last_end <= 1 and scale < 60 and spans[-1] % 60 == 0 and spans[-1] >= 60
            spans += [n * scale for n in pending]
            pending = []
            if joined:
                spans[-1] += value * scale
            else:
                spans.append(value * scale)
            last_end = end + 1 + (end + 1 < len(words) and words[end + 1] == "and")
        else:
            pending.append(value)
    spans += pending
    if _BOUND.search(text):
        return ReadValues(tuple(f"{span:g}" for span in spans), why="it gives a bound, and not a length")
    if not spans and len(stamps) == 2:
        spans = [abs(stamps[1] - stamps[0])]
    if not spans:
        return NOTHING
    due = float(key.values[0])
    shown = tuple(f"{span:g}" for span in spans)
    return ReadValues(shown, right=all(abs(span - due) <= max(key.tolerance, 0.5) for span in spans))


def _amounts(words: Sequence[str]) -> list[tuple[int, int, float | str]]:
    found: list[tuple[int, int, float | str]] = [*numbers_in(words)]
    found += [(at, at + 1, word) for at, word in enumerate(words) if ":" in word and len(word) > 1]
    return sorted(found, key=lambda amount: amount[0])


def names_of_people(key: AnswerKey) -> list[str]:
    """The names among the values of a key for a person, right and wrong, in the order of the alphabet.

    Descriptions of looks, which are values too, begin with a small letter and are left out.
    """
    return sorted(name for name in {*key.values, *key.among} if name[:1].isupper())


def place_of_name(names: Sequence[str], right: str, text: str) -> int:
    """How many of some names were said after the right one was said last; those that were not said follow by alphabet.

    Args:
        names: The names in the order of the alphabet, the right one among them.
        right: The right one.
        text: What was said.
    """
    return sorted(names, key=lambda name: -text.rfind(name)).index(right)
