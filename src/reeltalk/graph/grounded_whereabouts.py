"""What a graph has for questions about places, rooms, and how a thing or the person is."""

import re
from typing import Final

from reeltalk.graph.grounded_asked import Asked
from reeltalk.graph.grounded_clauses import Classes, Referents
from reeltalk.graph.grounded_facts import Facts, Happening
from reeltalk.graph.grounded_found import (
    Found,
    NotCovered,
    anchors_of,
    events_of,
    in_words,
    number,
    object_of,
    one_object,
    same_object,
)
from reeltalk.graph.grounded_replies import named, polarity
from reeltalk.graph.grounded_words import ANY, plain

_POSTURES: Final = {
    "sitting": r"\b(?:sits?|sitting|seated)\b",
    "lying": r"\b(?:lies|lie|lying|laying)\b",
    "standing": r"\b(?:stands?|standing)\b",
}
_COLOURS: Final = frozenset(
    "red blue green yellow brown white grey gray black purple orange pink blond blonde silver beige".split()
)
_SHADES: Final = {"yellow": ("yellow", "blond", "blonde"), "grey": ("grey", "gray")}


def _stands(facts: Facts, classes: Classes) -> Found:
    """Where a thing is that is not moved."""
    where = facts.standing(classes)
    if not where:
        raise NotCovered("the graph does not say where, or it is moved")

    def says(answer: str) -> bool | None:
        told = [t for t in named(answer, place=True) if t.classes != ANY and not t.classes & classes]
        rooms = [t for t in told if t.kind == "room"]
        if rooms:
            return any(t.classes & where for t in rooms)
        return True if any(t.classes & where for t in told) else None

    return Found(in_words(where), says, it=classes)


def place(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Where something is done, taken from, put, or stands."""
    if asked.clause is None:
        return _stands(facts, asked.about or frozenset())
    clause = asked.clause
    events = events_of(facts, asked, referents)
    if not events:
        raise NotCovered("the graph does not have the event")
    if asked.words == ("carried",) and clause.main is not None:
        # A cloth is carried to what it wipes, a bottle to what is poured into.
        used = [h for h in facts.happenings if h.event.action != "grab" and h.names & clause.main]
        events = sorted({h.order: h for h in (*events, *used)}.values(), key=lambda h: h.order)
    places: set[str] = set()
    rooms: set[str] = set()
    for h in events:
        if h.event.action in ("grab", "put", "putIn", "pour"):
            places |= h.sources if h.event.action == "grab" else h.places
        if h.event.action in ("sit", "lie", "sleep", "climb", "wipe", "scrub"):
            places |= h.names | h.targets
        rooms |= {room for room in (h.room, h.room_after) if room is not None}
    if not places and not rooms:
        raise NotCovered("the graph does not say where")
    own = frozenset().union(*(h.names for h in events)) - places

    def says(answer: str) -> bool | None:
        terms = [t for t in named(answer, place=True) if t.classes != ANY]
        objects = [t for t in terms if t.kind == "object" and not t.classes <= own]
        if any(t.classes & places for t in objects):
            return True
        told = [t for t in terms if t.kind == "room"]
        if not told and not objects:
            return None
        if told and rooms and (not objects or not places):
            return any(t.classes & rooms for t in told)
        return False if places and objects else None

    return Found(in_words(frozenset(places) | frozenset(rooms)), says, tuple(events), object_of(clause))


def room(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """In which room something is done, or where the person goes."""
    events: list[Happening] = []
    happenings = facts.happenings
    if asked.clause is not None and asked.clause.groups == {"go"} and asked.pick in ("first", "next"):
        rooms = _gone_to(facts, asked, referents)
    elif asked.clause is None and asked.moment is None:
        rooms = {happenings[0].room if asked.pick == "first" else happenings[-1].room_after}
        if None in rooms:
            raise NotCovered("the graph does not say in which room")
        if not facts.exact and asked.pick == "first":
            # Released activities begin with a walk to where they take place.
            rooms |= {h.room for h in [facts.substantive_after(-1)] if h is not None}
    else:
        events = events_of(facts, asked, referents)
        rooms = {h.room_after if h.event.action == "walk" else h.room for h in events}
    known = frozenset(room for room in rooms if room is not None)
    if not known:
        raise NotCovered("the graph does not say in which room")

    def says(answer: str) -> bool | None:
        told = [t for t in named(answer, place=True) if t.kind == "room"]
        if not told:
            return None
        return told[0].classes & known != frozenset() or (len(known) > 1 and any(t.classes & known for t in told))

    it = object_of(asked.clause) if asked.clause else same_object(events)
    return Found(in_words(known), says, tuple(events), it)


def _gone_to(facts: Facts, asked: Asked, referents: Referents) -> set[str | None]:
    starts = [-1] if asked.moment is None else [h.order for h in anchors_of(facts, asked.moment, referents)]
    if asked.moment is not None and asked.moment.relation != "after":
        raise NotCovered("only where he goes after something is known")
    found: set[str | None] = set()
    for start in starts:
        room = facts.happenings[max(start, 0)].room_after if start >= 0 else facts.happenings[0].room
        later = (h for h in facts.happenings[start + 1 :] if h.room_after not in (room, None))
        first = next(later, None)
        goal = facts.substantive_after(start)
        if first is not None and not facts.exact and goal is not None:
            between = facts.happenings[first.order : goal.order + 1]
            found |= {h.room_after for h in between} - {None}
        else:
            found.add(first.room_after if first is not None else None)
    if len(found) > 1 and len(starts) > 1:
        raise NotCovered("he goes to different rooms after such events")
    return found


def rooms(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """How many rooms the person is in."""
    return number(len(facts.rooms))


def people(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """How many people there are; graphs have one agent."""
    return number(1)


def posture(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Whether the person sits, lies or stands at an event."""
    if not facts.exact:
        raise NotCovered("the graphs do not say how the person begins each activity")
    events = events_of(facts, asked, referents)
    postures = {facts.story.posture_before(h.event) for h in events}
    if len(postures) != 1:
        raise NotCovered("the graph does not have one such event")
    posture = postures.pop()

    def says(answer: str) -> bool | None:
        told = {word for word in ("sitting", "lying", "standing") if re.search(_POSTURES[word], plain(answer))}
        return None if len(told) != 1 else told == {posture}

    return Found((posture,), says, tuple(events), same_object(events))


def state(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Whether a thing is on or off, open or closed at the end."""
    name = one_object(facts, asked.about or frozenset())
    values = {value.lower() for value in facts.story.values_at_end(name)} & set(asked.words)
    if len(values) != 1:
        raise NotCovered("the graph does not say in which state it is")
    state = values.pop()

    def says(answer: str) -> bool | None:
        text = plain(answer)
        told = {word for word in asked.words if re.search(rf"\b{word}\b", text)}
        return None if len(told) != 1 else told == {state} and not re.search(r"\bnot\b", text)

    return Found((state,), says, it=asked.about)


def colour(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """The colour of a thing or of what the person wears."""
    attributes = facts.story.attributes
    if asked.words:
        looks = dict(v.split("_", 1) for v in attributes.get(facts.story.agent, ()) if "_" in v)
        colours = {looks[asked.words[0]]} if asked.words[0] in looks else set()
    else:
        found = attributes.get(one_object(facts, asked.about or frozenset()), ())
        colours = {value.removeprefix("colour_") for value in found if value.startswith("colour_")}
    if len(colours) != 1:
        raise NotCovered("the graph does not say of what colour it is")
    colour = colours.pop()
    words = _SHADES.get(colour, (colour,))

    def says(answer: str) -> bool | None:
        text = plain(answer)
        told = {word for word in _COLOURS if re.search(rf"\b{word}\b", text)}
        return None if not told else bool(told & set(words)) and len(told) == 1

    return Found((colour,), says, it=asked.about)


def back(facts: Facts, asked: Asked, referents: Referents) -> Found:
    """Whether a thing ends up where it was taken from."""
    name = one_object(facts, asked.about or frozenset())
    grabs = [h for h in facts.happenings if h.event.action == "grab" and h.event.main == name]
    puts = [h for h in facts.happenings if h.event.action in ("put", "putIn") and h.event.main == name]
    if len(grabs) != 1 or len(puts) != 1:
        raise NotCovered("it is not taken and put down exactly once")
    before = facts.story.support_before(grabs[0].event, name)
    after = facts.story.support_after(puts[0].event, name)
    if before is None or after is None:
        raise NotCovered("the graph does not say where it is")
    key = "yes" if before[0] == after[0] else "no"

    def says(answer: str) -> bool | None:
        said = polarity(answer)
        return None if said is None else said == key

    return Found((key,), says, (grabs[0], puts[0]), asked.about)
