"""Reduces a full activity graph to the facts about its main and target objects, as VDAct did (AAAI 2025).

Kept are the events, the states of every object that an event acts on or towards, the relations of those objects'
shapes, and the relations of the shapes that these point at; `close` only from or to the person. All 226,472 triples of
the 706 released graphs follow this rule. Times, rooms, hands, colours and categories of full graphs, which the released
ones lack, are kept by default.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from reeltalk.graph.rdf import Triple, short_triples
from reeltalk.graph.vocabulary import HOLDING, SPATIAL

if TYPE_CHECKING:
    import pyoxigraph

T = TypeVar("T")

EVENT_PREDICATES: Final = frozenset(
    {"action", "mainObject", "targetObject", "situationBeforeEvent", "situationAfterEvent"}
)
TIMED_PREDICATES: Final = frozenset({"from", "to", "time:hasDuration"})
STATE_PREDICATES: Final = frozenset({"isStateOf", "state", "bbox"})


def curate_triples(triples: "Sequence[pyoxigraph.Triple]", *, timed: bool = True) -> "list[pyoxigraph.Triple]":
    """Keep those triples of a full graph that VDAct keeps, in the same order.

    Args:
        triples: A full activity graph.
        timed: Keep durations, rooms, hands, the activity's category and its successor too; False leaves the 14
            predicates of the released graphs.
    """
    return select_curated(triples, list(short_triples(triples)), timed=timed)


def select_curated(statements: Sequence[T], triples: Sequence[Triple], *, timed: bool) -> list[T]:
    """The statements to keep, judged by their shortened forms in `triples`, which have the same order."""
    events = {triple.object for triple in triples if triple.predicate == "hasEvent"}
    activities = {triple.subject for triple in triples if triple.predicate == "hasEvent"}
    relevant = {
        triple.object
        for triple in triples
        if triple.predicate in ("mainObject", "targetObject") and triple.subject in events
    }
    states = {triple.subject for triple in triples if triple.predicate == "isStateOf" and triple.object in relevant}
    kinds = frozenset(SPATIAL + HOLDING) if timed else frozenset(SPATIAL)
    nearest = {triple.object for triple in triples if triple.predicate == "bbox" and triple.subject in states}
    spatial = [t for t in triples if t.predicate in kinds and (t.predicate != "close" or _of_agent(t))]
    related = nearest | {triple.object for triple in spatial if triple.subject in nearest}
    durations = {triple.object for triple in triples if triple.predicate == "time:hasDuration"}

    def kept(triple: Triple) -> bool:
        subject, predicate, target = triple
        if predicate == "hasEvent":
            return True
        if subject in events:
            if predicate == "rdf:type":
                return target == "StartEvent"
            return predicate in EVENT_PREDICATES or (timed and predicate in TIMED_PREDICATES)
        if subject in states:
            return predicate in STATE_PREDICATES
        if predicate in kinds:
            return subject in related and (predicate != "close" or _of_agent(triple))
        return timed and (
            (predicate == "time:numericDuration" and subject in durations)
            or (predicate in ("rdf:type", "agent") and subject in activities)
            or (predicate == "attribute" and (subject in relevant or subject.startswith("ex:character")))
            or predicate == "nextActivity"
        )

    return [statement for statement, triple in zip(statements, triples, strict=True) if kept(triple)]


def _of_agent(triple: Triple) -> bool:
    return "_character" in triple.subject or "_character" in triple.object
