"""What a graph has for questions about what is done: whether, how often, how long, and with what."""

import re
from dataclasses import replace
from typing import Final

from reeltalk.graph.grounded_asked import Asked
from reeltalk.graph.grounded_clauses import Classes, Clause, Referents, clauses_of
from reeltalk.graph.grounded_facts import Facts
from reeltalk.graph.grounded_found import (
    Found,
    NotCovered,
    alike,
    anchors_of,
    around,
    events_of,
    in_words,
    object_of,
    same_object,
)
from reeltalk.graph.grounded_replies import count_said, is_denied, named, polarity
from reeltalk.graph.grounded_words import ANY, plain
from reeltalk.graph.vocabulary import class_of

SECONDS_TOLERANCE: Final = 0.25
"""A length of time may be this share off, or a second."""
OPEN_WORLD: Final = frozenset({"use", "find", "lookAt", "watch", "turnTo", "stand", "cook", "touch", "clean", "wash"})
"""Actions that a graph made of scripted steps need not hold though they are seen."""


def yes_no(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Whether something is done, which any event that fits decides."""
    assert asked.clause is not None
    every = facts.matching(asked.clause)
    events = every
    if asked.moment is not None and every:
        anchors = anchors_of(facts, asked.moment, referents)
        near = [around(facts, every, anchor, asked) for anchor in anchors]
        if _gets_up(facts, asked):
            # The next activity begins upright, whatever happened before.
            near = [[h for h in n if h.event.part == a.event.part] for n, a in zip(near, anchors, strict=True)]
        results = {bool(found) for found in near}
        events = [h for found in near for h in found]
        if len(results) > 1 or (asked.moment.relation == "when" and not events):
            raise NotCovered("it is so of one such event and not of another")
    if not facts.exact and not _gets_up(facts, asked):
        _decides(facts, asked.clause, bool(events))
    if _gets_up(facts, asked) and not events:
        raise NotCovered("the graph ends with it")
    key = "yes" if events else "no"
    clause = asked.clause

    def says(answer: str) -> bool | None:
        said = polarity(answer)
        if said is None:
            told = clauses_of(answer, replace(referents, it=clause.main))
            if told and told[0].groups & clause.groups:
                same = told[0].main is None or clause.main is None or bool(told[0].main & clause.main)
                said = ("no" if told[0].negated else "yes") if same else None
        return None if said is None else said == key

    return Found((key,), says, tuple(events), object_of(clause))


def _gets_up(facts: Facts, asked: Asked) -> bool:
    falls = asked.moment is not None and asked.moment.clause is not None and "fall" in asked.moment.clause.groups
    return falls and asked.clause is not None and asked.clause.groups == {"stand"} and not facts.exact


def _decides(facts: Facts, clause: Clause, happens: bool) -> None:
    """Make sure that a graph of scripted steps decides whether something is done."""
    if clause.groups == {"stand"} or (clause.main == frozenset({"water"}) and clause.groups & {"grab"}):
        raise NotCovered("it is not sure what is meant")
    vague = clause.groups & {"grab", "put", "use", "open", "close", "switchOn", "switchOff", "find"}
    if clause.main == ANY and vague and not (clause.place or clause.source or clause.room):
        raise NotCovered("something or other is done by every graph")
    if clause.main not in (None, ANY) and clause.main is not None and not clause.main & facts.handled:
        # What no step touches is not used, whatever the use.
        return
    if not happens and (clause.groups & OPEN_WORLD or clause.pronoun or (clause.groups & {"go"} and clause.main)):
        raise NotCovered("the graph need not hold it")


def count(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """How often something is done, or with how many things."""
    events = events_of(facts, asked, referents)
    if asked.clause is None:
        events = alike(facts, events)
    if not facts.exact and asked.distinct and (None in {h.event.main for h in events}):
        raise NotCovered("the graph does not name what is counted")
    if not facts.exact and asked.about == ANY and referents.opened:
        raise NotCovered("it is not sure what is meant to be counted")
    if not facts.exact and referents.opened and len({h.event.part for h in events}) > 1:
        raise NotCovered("it is done in several activities, of which one may be meant")
    n = len({h.event.main for h in events}) if asked.distinct else len(events)
    if n == 0 and not facts.exact:
        raise NotCovered("the graph does not have what is counted")

    def says(answer: str) -> bool | None:
        said = count_said(answer)
        return None if said is None else said == n

    it = object_of(asked.clause) if asked.clause else same_object(events)
    return Found((str(n),), says, tuple(events), it)


def seconds(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """How long the video lasts, or an action."""
    if asked.clause is None and asked.moment is None:
        length, events = facts.story.duration_s, []
    else:
        events = events_of(facts, asked, referents)
        if asked.clause is None:
            events = alike(facts, events)
        spans = [h.event.interval for h in events]
        length = sum(span.duration_s for span in spans if span is not None) if spans and None not in spans else None
    if length is None:
        raise NotCovered("the graph has no times")
    due = length

    def says(answer: str) -> bool | None:
        said = count_said(re.sub(r"\b(?:about|or so|roughly|around)\b", " ", plain(answer)))
        if said is None:
            return None
        seconds = said * 60 if re.search(r"\bminutes?\b", answer) else said
        return abs(seconds - due) <= max(1.0, SECONDS_TOLERANCE * due)

    return Found((f"{round(due)} seconds",), says, tuple(events), object_of(asked.clause) if asked.clause else None)


def object_(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """What an action is done to or with."""
    assert asked.clause is not None
    clause = asked.clause
    events = [h for h in events_of(facts, asked, referents) if not asked.besides & h.names]
    wanted = asked.about if asked.about is not None and asked.about != ANY else None
    events = [h for h in events if h.event.main and (wanted is None or wanted & h.names)]
    if not events:
        raise NotCovered("the graph does not have the event")
    cleaned = clause.groups & {"clean", "wipe", "scrub"} and clause.tool != ANY and clause.main == ANY
    expected: Classes = frozenset().union(*(facts.cleaned(h) if cleaned and h.targets else h.names for h in events))
    mentioned = (clause.place or frozenset()) | (clause.source or frozenset())
    mentioned |= clause.main if clause.main not in (None, ANY) and clause.tool is not None else frozenset()
    least = len({class_of(h.event.main or "") for h in events}) if asked.besides else 1

    def says(answer: str) -> bool | None:
        text = re.sub(r"^(?:apart from|besides|after|before|once|when) [^,.]*,", "", plain(answer))
        names = [t for t in named(text) if t.kind == "object" and t.classes != ANY]
        names = [t for t in names if not t.classes <= mentioned]
        if not names:
            return None
        right = [t for t in names if t.classes & expected]
        if asked.besides:
            return len(right) == len(names) and len({t.classes for t in right}) >= least
        if asked.pick == "all":
            return len(right) * 3 >= len(names)
        return bool(right) and (names[0] in right or len(right) * 2 > len(names))

    return Found(in_words(expected), says, tuple(events))


def holding(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Whether something is in the hands at an event."""
    assert asked.moment is not None
    assert asked.about is not None
    anchors = anchors_of(facts, asked.moment, referents)
    held = [facts.held_at(anchor) for anchor in anchors]
    keys = {
        "yes" if (bool(classes) if asked.about == ANY else bool(classes & asked.about)) else "no" for classes in held
    }
    if len(keys) != 1:
        raise NotCovered("it is so of one such event and not of another")
    key = keys.pop()

    def says(answer: str) -> bool | None:
        said = polarity(answer)
        if said is None and asked.about == ANY:
            names = [t for t in named(answer) if t.kind == "object"]
            said = "yes" if names and not is_denied(answer) else None
        return None if said is None else said == key

    return Found((key,), says, tuple(anchors), None if asked.about == ANY else asked.about)


def choice(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Which of two things an action is done to."""
    assert asked.clause is not None
    assert asked.other is not None
    sides = (asked.clause, asked.other)
    events = [events_of(facts, asked, referents, clause) for clause in sides]
    if not any(events):
        raise NotCovered("the graph has neither")
    due = {n for n in (0, 1) if events[n]}
    if len(due) == 2 and not facts.exact:
        raise NotCovered("it is so of both, at different times")
    names: list[Classes] = [clause.said[-1].classes for clause in sides]

    def says(answer: str) -> bool | None:
        text = plain(answer)
        if re.search(r"\bboth\b", text):
            return len(due) == 2
        if re.search(r"\bneither\b", text):
            return False
        told = {n for n in (0, 1) for term in named(text, place=True) if term.classes & names[n]}
        return None if not told or (is_denied(text) and len(told) > 1) else told == due

    expected = in_words(frozenset().union(*(names[n] for n in due)))
    return Found(expected, says, tuple(h for found in events for h in found))
