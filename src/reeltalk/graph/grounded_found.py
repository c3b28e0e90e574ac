"""What a graph has for a question: the facts that are expected, and whether an answer says them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reeltalk.graph import phrases
from reeltalk.graph.grounded_asked import Asked, Moment
from reeltalk.graph.grounded_clauses import Classes, Clause, Referents
from reeltalk.graph.grounded_facts import Facts, Happening
from reeltalk.graph.grounded_replies import count_said
from reeltalk.graph.grounded_words import ANY
from reeltalk.graph.vocabulary import class_of, plain_name


@dataclass(frozen=True)
class Found:
    """What the graph has for a question."""

    expected: tuple[str, ...]
    says: Callable[[str], bool | None]
    """Whether an answer says so; None where the answer is not understood."""
    events: tuple[Happening, ...] = ()
    """Those that the question is about."""
    it: Classes | None = None
    """What *it* means in the question after; None where the answer tells."""


class NotCovered(Exception):
    """The graph does not decide a question; its text is the reason."""


def anchors_of(facts: Facts, moment: Moment, referents: Referents) -> list[Happening]:
    """The events that a moment is about.

    Raises:
        NotCovered: The graph has none.
    """
    if moment.clause is not None:
        found = facts.matching(moment.clause)
    else:
        found = [facts.happenings[order] for order in sorted(referents.that)]
    if not found:
        raise NotCovered("the graph does not have the event that the question rests on")
    return found


def events_of(facts: Facts, asked: Asked, referents: Referents, clause: Clause | None = None) -> list[Happening]:
    """Events that a question means, by its clause, moment and pick.

    Raises:
        NotCovered: The graph does not have the moment, or it is not sure from when on the first is meant.
    """
    clause = clause or asked.clause
    if clause is None:
        if asked.moment is None:
            raise NotCovered("the question names no event")
        return anchors_of(facts, asked.moment, referents)
    events = facts.matching(clause)
    if asked.moment is not None:
        anchors = anchors_of(facts, asked.moment, referents)
        groups = [around(facts, events, anchor, asked) for anchor in anchors]
        events = sorted({h.order: h for group in groups for h in group}.values(), key=lambda h: h.order)
    elif asked.pick == "first":
        if not facts.exact and referents.opened:
            raise NotCovered("it is not sure from when on the first is asked for")
        events = events[:1]
    elif asked.pick == "last":
        events = events[-1:]
    return events


def around(facts: Facts, events: Iterable[Happening], anchor: Happening, asked: Asked) -> list[Happening]:
    """Those of some events that lie on the side of an anchor that a question asks for."""
    assert asked.moment is not None
    if asked.moment.relation == "after":
        later = [h for h in events if h.order > anchor.order]
        return later[:1] if asked.pick in ("next", "first") else later
    if asked.moment.relation == "before":
        earlier = [h for h in events if h.order < anchor.order]
        return earlier[-1:] if asked.pick in ("previous", "last") else earlier
    return [h for h in events if h.event.part == anchor.event.part]


def alike(facts: Facts, events: Sequence[Happening]) -> list[Happening]:
    """All events that are the same as some, which are of one sort.

    Raises:
        NotCovered: They are of several.
    """
    signatures = {h.event.signature for h in events}
    if len(signatures) > 1:
        raise NotCovered("it is not sure which event is meant")
    return [h for h in facts.happenings if h.event.signature in signatures]


def one_object(facts: Facts, classes: Classes) -> str:
    """The one object of some classes that the person has to do with."""
    names = {
        name
        for h in facts.happenings
        for name in (h.event.main, *h.event.targets)
        if name is not None and class_of(name) in classes
    }
    if len(names) != 1:
        raise NotCovered("the graph does not have exactly one such object")
    return names.pop()


def number(n: int) -> Found:
    """What is found where a number is expected."""

    def says(answer: str) -> bool | None:
        said = count_said(answer)
        return None if said is None else said == n

    return Found((str(n),), says)


def in_words(classes: Classes) -> tuple[str, ...]:
    """Classes in plain English, sorted."""
    return tuple(sorted({plain_name(name) for name in classes}))


def phrase_of(happening: Happening) -> str:
    """What is done, as `picks up the mug`."""
    event = happening.event
    return phrases.phrase(event.action, event.main, event.targets, "does")


def object_of(clause: Clause | None) -> Classes | None:
    """What *it* means after a clause was spoken of."""
    return None if clause is None or clause.main == ANY else clause.main


def same_object(events: Sequence[Happening]) -> Classes | None:
    """The class of the object that all events act on; None where there are several."""
    names = {class_of(h.event.main) for h in events if h.event.main}
    return frozenset(names) if len(names) == 1 else None
