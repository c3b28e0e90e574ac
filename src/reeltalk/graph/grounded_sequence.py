"""What a graph has for questions about order: what comes first, what is done next or before, and what for."""

import re
from dataclasses import replace
from typing import Final

from reeltalk.graph.grounded_acts import OPEN_WORLD
from reeltalk.graph.grounded_asked import Asked
from reeltalk.graph.grounded_clauses import Classes, Referents, clauses_of
from reeltalk.graph.grounded_facts import Facts, Happening
from reeltalk.graph.grounded_found import Found, NotCovered, anchors_of, events_of, object_of, phrase_of
from reeltalk.graph.grounded_words import plain
from reeltalk.graph.vocabulary import ROOMS

PURPOSE_REACH: Final = 3
"""How many events after a walk can be what it was for."""


def order(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Which of two actions comes first, where every event of one comes before every event of the other."""
    assert asked.clause is not None
    assert asked.other is not None
    ones, others = facts.matching(asked.clause), facts.matching(asked.other)
    if not ones or not others:
        raise NotCovered("the graph does not have both events")
    first_named = ones[-1].order < others[0].order
    if not first_named and others[-1].order > ones[0].order:
        raise NotCovered("one is neither before nor after the other")
    earlier = ones if first_named else others

    def says(answer: str) -> bool | None:
        text = re.sub(
            r"\b(?:first comes|comes first|is earlier|is first|happens first|comes earlier|first)\b",
            " ",
            plain(answer),
        )
        told = clauses_of(text.strip(" ,."), referents)
        if not told or re.match(r"(?:before|after)\b", plain(answer)):
            if said := re.match(r"(?:he does so |it was |right |just |definitely )?(before|after)\b", plain(answer)):
                return (said[1] == "before") == first_named
            return None
        one, other = (any(facts.fits(told[0], h) for h in events) for events in (ones, others))
        if one == other:
            return None if one else False
        return one == first_named

    return Found(tuple(phrase_of(h) for h in earlier[:1]), says, tuple(earlier))


def action(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """What is done at some moment, in a room or with a thing."""
    events = _done(facts, asked, referents)
    if not events:
        raise NotCovered("the graph does not have the event that the question rests on")
    meant = replace(referents, it=asked.about) if asked.about and not asked.about & ROOMS else referents

    def says(answer: str) -> bool | None:
        told = clauses_of(answer, meant)
        if asked.moment is not None and (moment := asked.moment.clause) is not None:
            told = [c for c in told if not (c.groups & moment.groups and c.main == moment.main)]
        if not told:
            return None
        if any(facts.fits(clause, h) and not clause.negated for clause in told[:2] for h in events):
            return True
        # What is told may be true though no scripted step says so.
        open_world = not facts.exact and any(clause.groups & OPEN_WORLD for clause in told[:2])
        return None if open_world else False

    return Found(tuple(dict.fromkeys(map(phrase_of, events))), says, tuple(events))


def _done(facts: Facts, asked: Asked, referents: Referents) -> list[Happening]:
    """Events that answer what is done, at some moment, in a room, or with an object."""
    happenings = facts.happenings
    if asked.moment is not None:
        found: dict[int, Happening] = {}
        for anchor in anchors_of(facts, asked.moment, referents):
            later = asked.moment.relation == "after"
            found |= {h.order: h for h in _beside(facts, anchor, later=later, right=asked.moment.right)}
        return [found[order] for order in sorted(found)]
    if asked.about is not None and asked.about & ROOMS and asked.pick == "all":
        return [h for h in happenings if asked.about & {h.room, h.room_after}]
    if asked.about is not None and asked.about & ROOMS:
        entered = next((h for h in happenings if h.room_after in asked.about and h.room not in asked.about), None)
        start = entered.order + 1 if entered is not None else 0
        return [h for h in [h for h in happenings[start:] if h.event.action != "walk"][:1] if h.room in asked.about]
    if asked.about is not None and asked.pick == "all":
        found_with = [h for h in happenings if h.names & asked.about or h.targets & asked.about]
        return [h for h in found_with if h.event.action not in ("walk", "find", "turnTo")]
    if asked.about is not None:
        return _uses(facts, asked.about)
    if asked.pick == "last":
        return [h for h in happenings if h.event.part == happenings[-1].event.part] if not facts.exact else []
    if facts.exact:
        return list(happenings[:1])
    if referents.opened:
        raise NotCovered("it is not sure from when on the first is asked for")
    return [h for h in happenings if h.event.part == 0]


def _beside(facts: Facts, anchor: Happening, *, later: bool, right: bool) -> list[Happening]:
    """What comes after or before an event: the next one, or, where only activities are told, any of the next."""
    happenings = facts.happenings
    side = happenings[anchor.order + 1 :] if later else happenings[: anchor.order]
    if facts.exact:
        return list(side[:1] if later else side[-1:])
    part = anchor.event.part
    reach = {part} if right else {part, part + (1 if later else -1)}
    near = [h for h in side if h.event.part in reach]
    return near or list(side[:1] if later else side[-1:])


def _uses(facts: Facts, classes: Classes) -> list[Happening]:
    grabs = [h for h in facts.happenings if h.event.action == "grab" and h.names & classes]
    if len(grabs) != 1:
        raise NotCovered("it is not picked up exactly once")
    later = facts.happenings[grabs[0].order + 1 :]
    return [h for h in later if h.event.main == grabs[0].event.main][:1]


def purpose(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """What a walk is for: what follows it in the same activity."""
    assert asked.clause is not None
    walks = events_of(facts, asked, referents)
    if asked.moment is not None and asked.moment.relation == "after":
        walks = walks[:1]
    if not walks:
        raise NotCovered("the graph does not have the event")
    events: list[Happening] = []
    for walk in walks:
        later = [h for h in facts.happenings[walk.order + 1 :] if h.event.part == walk.event.part]
        events += [h for h in later if h.event.action not in ("walk", "run", "turnTo", "find")][:PURPOSE_REACH]
    if not events:
        raise NotCovered("the graph has nothing that follows")
    meant = replace(referents, it=asked.clause.main) if asked.clause.main else referents

    def says(answer: str) -> bool | None:
        told = [c for c in clauses_of(_purpose_told(answer), meant) if c.groups != {"go"}]
        if not told:
            return None
        if any(facts.fits(clause, h) for clause in told for h in events):
            return True
        return False if facts.exact else None

    return Found(tuple(dict.fromkeys(map(phrase_of, events))), says, tuple(events), object_of(asked.clause))


def _purpose_told(answer: str) -> str:
    return re.sub(
        r"\b(?:he goes there|because he wants|he wants|so that he can|so he can|in order|because)\b", " ", plain(answer)
    )
