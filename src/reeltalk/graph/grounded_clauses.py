"""Actions told in words, as *putting the mug on the table*: which events of a graph they can mean.

A clause is understood as a whole or not at all: a word that is neither the verb, an object, a room nor one of the
few words that change nothing leaves the clause unread.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from reeltalk.graph.grounded_words import ADJECTIVES, ANY, STOPS, Term, plain, terms, verb_groups

Classes = frozenset[str]

ACTIONS: Final = {
    "grab": {"grab"},
    "put": {"put", "putIn"},
    "clean": {"wipe", "scrub", "rinse", "wash", "soak"},
    "wash": {"wash", "rinse", "soak", "scrub"},
    "go": {"walk", "run"},
    "fall": {"fall", "fallback", "fallsit", "falltable2"},
    "throw": {"throw", "put", "putIn"},
    "cook": {"put", "putIn"},
    "relax": {"sit", "lie", "sleep"},
    "exercise": {"squat", "jump", "stretch", "legopp", "straddle", "dance"},
}
"""Actions of graphs by group, where a group is not an action itself."""
_PREPOSITIONS: Final = {
    **dict.fromkeys(("on", "onto", "in", "inside", "over"), "place"),
    **dict.fromkeys(("to", "toward", "towards", "through"), "to"),
    **dict.fromkeys(("from", "off", "out"), "source"),
    **dict.fromkeys(("with", "using"), "tool"),
    "into": "into",
    "at": "at",
    **dict.fromkeys("under near beside for by next behind around between without before after".split(), "other"),
}
"""The role of what follows a preposition; `other` is none that a graph could tell."""
_ALLOWED: Final = {
    "grab": {"source", "place"},
    "put": {"place", "to"},
    "sit": {"place"},
    "relax": {"place"},
    "lie": {"place"},
    "sleep": {"place"},
    "climb": {"place"},
    "drink": {"source", "place"},
    "eat": {"place"},
    "pour": {"place", "source"},
    "clean": {"tool", "place"},
    "wipe": {"tool"},
    "scrub": {"tool"},
    "rinse": {"place"},
    "wash": {"tool", "place"},
    "soak": {"place"},
    "go": {"to", "place"},
    "run": {"to", "place"},
    "turnTo": {"to"},
    "lookAt": {"place"},
    "watch": {"place"},
    "read": {"place"},
    "write": {"place"},
    "type": {"place"},
    "text": {"place"},
    "brush": {"tool"},
    "throw": {"place"},
    "cook": {"place"},
    "fall": {"source"},
}
"""Roles that a group's objects may have beside the one acted on."""
NEEDS_OBJECT: Final = frozenset(
    {"grab", "put", "switchOn", "switchOff", "open", "close", "clean", "throw", "use", "go", "find", "rinse", "soak"}
    | {"brush", "squeeze", "touch", "wash", "cook", "plugIn", "plugOut", "turnTo", "pour", "lookAt", "watch", "cut"}
    | {"wipe", "scrub", "shake", "climb"}
)
"""Groups that say nothing without an object."""
UNMOVED: Final = frozenset(
    "stove fridge sofa bed desk kitchentable coffeetable tv sink toilet computer chair closet microwave bathtub".split()
)
"""What is not carried about."""


@dataclass(frozen=True)
class Clause:
    """What a clause says is done."""

    groups: frozenset[str]
    """Action groups that its verb can mean."""
    main: Classes | None = None
    """What is acted on; None where it is not said."""
    place: Classes | None = None
    """Where something is put, poured, or sat on."""
    source: Classes | None = None
    """What it is taken from."""
    tool: Classes | None = None
    room: str | None = None
    """The room in which it is done, or that is gone to."""
    rooms: Classes = frozenset()
    """All that the room's name can mean."""
    negated: bool = False
    pronoun: bool = False
    """True where *it* stood for an object."""
    said: tuple[Term, ...] = field(default=(), compare=False)
    """The objects and rooms that are named, in order."""

    @property
    def actions(self) -> frozenset[str]:
        """Actions of graphs."""
        return frozenset(action for group in self.groups for action in ACTIONS.get(group, {group}))


@dataclass(frozen=True)
class Referents:
    """What pronouns stand for."""

    it: Classes | None = None
    """Classes of the one object that *it* can mean; None where that is not sure."""
    there: Classes | None = None
    """The room that *there* can mean."""
    that: frozenset[int] = frozenset()
    """Orders of the events that *that* can mean."""
    opened: bool = False
    """True after the first turn: what is *first* may then be the first of what was spoken of."""


NOBODY: Final = Referents()

_LEADING: Final = re.compile(
    r"^(?:(?:he|him|that he|to|then|first|next|also|just|be|is|was|are|were|been|do|does|did|have|has|had|ever|actually"
    r"|be done with|done with|done|finished|finishing|is done|starts?|started|begins?|began|starting|beginning"
    r"|proceeds?|proceeded|decides?|decided|goes on|went on|continues?|wants?|by|seen|afterwards|finally|after that"
    r"|manages?|managed|again|simply|immediately|now|so|well|yes|no|in order|there|before that|just before)[ ,]+)+"
)


def read_clause(text: str, referents: Referents = NOBODY, *, loose: bool = False) -> Clause | None:
    """The clause that a text is, or None where any of it is not understood.

    Args:
        text: A clause, with or without the person in front.
        referents: What *it*, *there* and *that* stand for.
        loose: Let *it* stand for anything where it is not known, and pass over what follows a clause that is whole.
    """
    text = re.sub(r"[.?!]+$", "", plain(text)).strip()
    negated = bool(re.search(r"\b(?:not|never|n't)\b", text))
    text = re.sub(r"\b(?:not|never)\b ?", "", text)
    text = _LEADING.sub("", text)
    found = terms(text)
    if not found:
        return None
    # "text" and "brush" are nouns too; what begins a clause is its verb.
    head, rest = found[0], found[1:]
    if head.kind != "verb":
        return None
    groups, rest = _verb(head.lemma, rest)
    if not groups:
        return None
    clause = _roles(Clause(groups=groups, negated=negated), rest, referents, loose)
    if clause is not None and head.lemma == "leave" and clause.main is not None and clause.main <= UNMOVED:
        # "leaves the stove" tells of the person.
        return None
    if clause is None or (clause.main is None and clause.groups & NEEDS_OBJECT and not _placed_only(clause)):
        return None
    return clause


def _placed_only(clause: Clause) -> bool:
    return bool(clause.groups & {"go"}) and (clause.room is not None or clause.place is not None)


def _verb(lemma: str, rest: Sequence[Term]) -> tuple[frozenset[str], list[Term]]:
    """Groups of a verb and its particles, and what is left: *turn the TV on* as *turn on* and *the TV*."""
    known = verb_groups()
    left = list(rest)
    best: tuple[tuple[str, ...], list[int]] = ((lemma,), [])
    for verb in known:
        if verb[0] != lemma or len(verb) <= len(best[0]):
            continue
        places: list[int] = []
        start = 0
        for particle in verb[1:]:
            place = next((n for n in range(start, len(left)) if left[n].text == particle), None)
            if place is None or not _may_stand(left, place, start, lemma, particle):
                break
            places.append(place)
            start = place + 1
        else:
            best = (verb, places)
    verb, places = best
    return known.get(verb, frozenset()), [term for n, term in enumerate(left) if n not in places]


def _may_stand(rest: Sequence[Term], place: int, start: int, lemma: str, particle: str) -> bool:
    """A particle follows its verb, or the one object after it."""
    between = rest[start:place]
    if sum(term.kind in ("object", "pronoun") for term in between) > 1:
        return False
    if any(term.text in _PREPOSITIONS or term.kind in ("room", "mark", "verb") for term in between):
        return False
    # "puts the mug on the table" and "sits on" have prepositions; "turns the TV on" ends with its particle.
    return lemma in ("turn", "switch", "power", "shut", "pick", "plug") or particle not in ("on", "off", "in", "out")


def _roles(clause: Clause, rest: Sequence[Term], referents: Referents, loose: bool) -> Clause | None:
    role, ended = "main", ""
    last: tuple[str, Classes] | None = None
    for term in rest:
        if term.kind == "mark":
            if loose and last is not None:
                break
            return None
        if term.kind in ("object", "room", "pronoun") and not (
            term.kind == "pronoun" and term.text in ("that", "this")
        ):
            meant = _meant(term, referents, loose)
            if meant is None:
                return None
            filled = _fill(clause, role, term, meant)
            if filled is None:
                return clause if loose and last is not None else None
            clause, last = filled, (role, meant)
            role, ended = "done", term.text
            continue
        if term.text == "of" and ended:
            # "a glass of that" is what is in the glass.
            return None
        ended = ""
        if term.text == "and":
            return clause if loose and last is not None else None
        elif term.text in _PREPOSITIONS and not (term.text == "out"):
            role = _PREPOSITIONS[term.text]
            if role == "other":
                return clause if loose and (last is not None or not clause.groups & NEEDS_OBJECT) else None
        elif term.text in STOPS | ADJECTIVES | {"down", "back", "over", "along"}:
            continue
        elif loose and last is not None:
            break
        else:
            return None
    # A preposition at the end stands for what is asked: "what does he put it on".
    return clause if role in ("main", "done") else None


def _meant(term: Term, referents: Referents, loose: bool) -> Classes | None:
    if term.kind != "pronoun":
        return term.classes
    if term.text == "there":
        return referents.there
    return referents.it or (ANY if loose else None)


def _fill(clause: Clause, role: str, term: Term, classes: Classes) -> Clause | None:
    said = (*clause.said, term)
    allowed: set[str] = set().union(*(_ALLOWED.get(group, set()) for group in clause.groups))
    is_room = term.kind == "room" or term.text == "there"
    if is_room:
        if role not in ("place", "to", "into", "main", "source") or clause.room is not None:
            return None
        # "takes the wine into the kitchen" tells of more than one event.
        if role in ("to", "into") and not clause.groups & {"go", "run", "put"}:
            return None
        if role == "main" and not clause.groups & {"go"}:
            return None
        if role == "at":
            return None
        if role == "source" and clause.groups & {"go"}:
            return None
        return replace(clause, room=min(classes), rooms=classes, said=said)
    pronoun = clause.pronoun or term.kind == "pronoun"
    role = "place" if role == "into" else role
    if role == "at":
        # Who sits at a desk sits on a chair.
        role = "place" if clause.groups & {"lookAt"} else "at"
    if role == "main":
        if clause.main is not None or clause.groups & {"go", "climb", "sit", "lie", "relax"}:
            return None
        return replace(clause, main=classes, said=said, pronoun=pronoun)
    if role == "to" and clause.groups & {"go", "run", "turnTo"}:
        return replace(clause, main=classes, said=said, pronoun=pronoun) if clause.main is None else None
    if role not in allowed:
        return None
    one = clause.groups & {"sit", "relax", "lie", "sleep", "climb", "type", "text", "write", "lookAt", "watch", "go"}
    if role == "place" and one and clause.main is None:
        return replace(clause, main=classes, said=said, pronoun=pronoun)
    if role in ("place", "to"):
        return replace(clause, place=classes, said=said, pronoun=pronoun) if clause.place is None else None
    if role == "source":
        if clause.groups & {"drink", "fall"} and clause.main is None:
            return replace(clause, main=classes, said=said, pronoun=pronoun)
        return replace(clause, source=classes, said=said, pronoun=pronoun) if clause.source is None else None
    if role == "tool":
        return replace(clause, tool=classes, said=said, pronoun=pronoun) if clause.tool is None else None
    return None


def clauses_of(text: str, referents: Referents = NOBODY) -> list[Clause]:
    """The clauses of an answer that are understood, in order.

    Args:
        text: Sentences.
        referents: What *it* stands for at first; each clause's object is *it* for the next.
    """
    found: list[Clause] = []
    it = referents.it
    for part in split_clauses(text):
        clause = read_clause(part, replace(referents, it=it), loose=True)
        if clause is None:
            continue
        found.append(clause)
        if clause.main is not None and clause.main != ANY:
            it = clause.main
    return found


_INTENDED: Final = (
    r"\b(?:prepar(?:e|es|ed|ing)|tr(?:y|ies|ied|ying)|wants?|wanted|ready|about|intend(?:s|ed)?|plan(?:s|ned)?"
    r"|supposed|"
    r"wish(?:es)?|needs?|needed|hop(?:es|ed|ing)) to [^,.;]*"
)
"""What is not told as done."""


def split_clauses(text: str) -> Iterable[str]:
    """A text cut where a clause may end."""
    text = re.sub(_INTENDED, " ", plain(text))
    parts = re.split(
        r"[.;:!?,]|\band then\b|\bthen\b|\band\b|\bbut\b|\bbefore\b|\bafter\b|\bwhile\b|\bwhere\b|\bwhen\b"
        r"|\bso that\b|\bbecause\b|\bin order\b|\bto (?=[a-z]+)(?!the|his|a|an|it|them|see|bed|where)",
        text,
    )
    return [part.strip() for part in parts if part.strip()]
