"""What a question can ask for, and the parts that all kinds share: its moment, and the object it is about."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.graph.grounded_clauses import Classes, Clause, Referents, read_clause
from reeltalk.graph.grounded_words import Term, objects_in

Kind = Literal[
    "yes_no", "count", "object", "place", "room", "order", "action", "posture", "state", "colour", "seconds", "people",
    "rooms", "back", "purpose", "holding", "choice",
]  # fmt: skip


Relation = Literal["after", "before", "when"]


Pick = Literal["all", "first", "last", "next", "previous"]


@dataclass(frozen=True)
class Moment:
    """The time to which a question keeps: after, before or at an event."""

    relation: Relation
    clause: Clause | None
    """The event; None for what *that* means."""
    right: bool = False
    """True where it is *right* after or before."""


@dataclass(frozen=True)
class Asked:
    """What a question asks for."""

    kind: Kind
    clause: Clause | None = None
    """The action that it is about."""
    other: Clause | None = None
    """The action it is compared with."""
    moment: Moment | None = None
    pick: Pick = "all"
    """Which of the events that fit."""
    about: Classes | None = None
    """The object that it is about, or the kind of object that it asks for."""
    besides: Classes = frozenset()
    """What is not meant: *what else*."""
    words: tuple[str, ...] = ()
    """Choices that it names, as `on` and `off`."""
    distinct: bool = False
    """True where things are counted, not events."""


_MOMENT: Final = (
    r"(?:(right|immediately|directly|just|shortly|promptly) )?(after|before|following|once|when|while|prior to|upon)"
)


_THAT: Final = re.compile(
    r"^(?:that|this|doing that|doing this|doing so|he do(?:es)? (?:that|this)|it|doing it)(?: one)?$"
)


def timed_part(text: str, referents: Referents) -> tuple[str, Moment | None] | None:
    """A question without its *after …*, and that; None where the moment is not understood."""
    if found := re.match(rf"^(?:only )?{_MOMENT} (.+?), (?:and )?(.+)$", text):
        right, relation, what, core = found.groups()
    elif found := re.match(r"^(?:and )?()(having) (.+?), (.+)$", text):
        right, relation, what, core = found.groups()
    elif found := re.match(rf"^(.+?),? (?:and )?{_MOMENT} (.+)$", text):
        core, right, relation, what = found.groups()
    elif found := re.match(r"^(.+?),? (?:while|when|as) (.+)$", text):
        core, right, relation, what = found[1], None, "when", found[2]
    elif found := re.match(r"^(.+?) (next|afterwards?|subsequently)$", text):
        return found[1], Moment("after", None)
    elif found := re.match(r"^(.+?) (?:right |just |immediately )?(before|beforehand)$", text):
        return found[1], Moment("before", None, True)
    else:
        return text, None
    core = re.sub(r" next$", "", core)
    relation = {"following": "after", "once": "after", "upon": "after", "having": "after", "prior to": "before"}.get(
        relation, relation
    )
    relation = "when" if relation == "while" else relation
    strict = right in ("right", "immediately", "directly", "just")
    kind: Relation = "after" if relation == "after" else "before" if relation == "before" else "when"
    if _THAT.match(what):
        return core, Moment(kind, None, strict)
    what = re.sub(r"^he (?:be|have) (?:done|finished)(?: with)? ", "", what)
    clause = read_clause(what, referents)
    return None if clause is None or clause.negated else (core, Moment(kind, clause, strict))


def with_object(text: str, noun: Term, referents: Referents) -> Clause | None:
    """A clause whose object stands before it: *forks* and *he put in the sink*."""
    text = re.sub(r"^(?:he|him) ", "", text)
    text = re.sub(r"\bin(?:to)? his hands\b", "", re.sub(r"^take into his hands", "pick up", text))
    name = noun.text
    words = text.split()
    for place in range(1, len(words) + 1):
        # The object stands after the verb or after its particle, whichever makes a clause.
        tried = " ".join([*words[:place], "the", name, *words[place:]])
        clause = read_clause(tried, referents)
        if clause is not None and clause.main is not None and clause.main == noun.classes:
            return clause
    return None


def one_named(text: str, referents: Referents) -> Classes | None:
    """Classes of the one object that a text names, or of what *it* stands for where it names none."""
    named = {term.classes for term in objects_in(text)}
    return named.pop() if len(named) == 1 else referents.it if not named else None
