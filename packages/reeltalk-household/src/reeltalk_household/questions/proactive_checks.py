"""Finds the moments and answers of streams again with SPARQL, independently of the code that wrote them.

Each request says in terms of the graph what it asks for (`UserRequest.fact`). Here the events and situations that
answer it are found by queries on the graphs, with no code of the writers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from reeltalk.schema.stream import ProactiveTask, UserRequest
from reeltalk_build.graph.rdf import engine, graph_iri, parse_rdf

CLOSE_S: Final = 0.002
"""Times are written to a millisecond."""
_PREFIX: Final = """
PREFIX : <http://example.org/virtualhome2kg/ontology/>
PREFIX time: <http://www.w3.org/2006/time#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
_EVENTS: Final = """
SELECT ?graph ?index ?action ?agent ?main ?target ?from ?to ?speech_act ?start ?length WHERE { GRAPH ?graph {
  ?activity :hasEvent ?event . ?event :action ?a ; :situationBeforeEvent ?before ;
    time:hasDuration/time:numericDuration ?length ; time:hasBeginning/time:numericPosition ?start .
  OPTIONAL { ?event :agent ?g } OPTIONAL { ?event :mainObject ?m } OPTIONAL { ?event :targetObject ?t }
  OPTIONAL { ?event :from ?f } OPTIONAL { ?event :to ?o } OPTIONAL { ?event :speechAct ?speech_act } }
  BIND(xsd:integer(REPLACE(STR(?before), "^.*/home_situation([0-9]+)_.*$", "$1")) AS ?index)
  BIND(REPLACE(STR(?a), "^.*/", "") AS ?action)
  BIND(REPLACE(STR(?g), "^.*/([a-z]+[0-9]+)_[^/]*$", "$1") AS ?agent)
  BIND(REPLACE(STR(?m), "^.*/([a-z]+[0-9]+)_[^/]*$", "$1") AS ?main)
  BIND(REPLACE(STR(?t), "^.*/([a-z]+[0-9]+)_[^/]*$", "$1") AS ?target)
  BIND(REPLACE(STR(?f), "^.*/([a-z]+[0-9]+)_[^/]*$", "$1") AS ?from)
  BIND(REPLACE(STR(?o), "^.*/([a-z]+[0-9]+)_[^/]*$", "$1") AS ?to)
}
"""
_PLACES: Final = """
SELECT ?number ?kind ?holder WHERE { GRAPH <$graph> {
  ?shape ?relation ?other . FILTER(?relation IN (:on, :inside))
  FILTER(REGEX(STR(?shape), "/shape_state[0-9]+_$name_")) }
  BIND(xsd:integer(REPLACE(STR(?shape), "^.*/shape_state([0-9]+)_.*$", "$1")) AS ?number)
  FILTER(?number <= $situation)
  BIND(REPLACE(STR(?relation), "^.*/", "") AS ?kind)
  BIND(REPLACE(STR(?other), "^.*/shape_state[0-9]+_([a-z]+[0-9]+)_.*$", "$1") AS ?holder)
} ORDER BY ?number
"""
_VALUES: Final = """
SELECT ?number ?value WHERE { GRAPH <$graph> {
  ?state :isStateOf ?thing . FILTER(REGEX(STR(?thing), "/$name_")) OPTIONAL { ?state :state ?v } }
  BIND(xsd:integer(REPLACE(STR(?state), "^.*/state([0-9]+)_.*$", "$1")) AS ?number)
  FILTER(?number <= $situation)
  BIND(REPLACE(STR(?v), "^.*/", "") AS ?value)
} ORDER BY ?number
"""
_COLOUR: Final = """
SELECT ?value WHERE { GRAPH ?graph { ?thing :attribute ?v . FILTER(REGEX(STR(?thing), "/$name_")) }
  FILTER(CONTAINS(STR(?v), "/colour_")) BIND(REPLACE(STR(?v), "^.*/colour_", "") AS ?value) }
"""
_ROOM: Final = re.compile(r"(kitchen|bedroom|livingroom|bathroom)\d+")
_NOT_HANDLING: Final = ("walk", "run", "stand", "turnTo", "say", "lookAt", "watch", "wait")
_FEELINGS: Final = frozenset({"HAPPY", "SAD", "ANGRY", "SURPRISED"})
Event = Mapping[str, Any]


class StreamChecker:
    """A SPARQL store with the graphs of one video."""

    def __init__(self, graphs: Mapping[str, str], begins_s: Sequence[float], until_s: float) -> None:
        kit = engine()
        self._store = kit.Store()
        for name, text in graphs.items():
            named = kit.NamedNode(graph_iri(name))
            triples = parse_rdf(text, file=f"{name}.nq")
            self._store.bulk_extend([kit.Quad(t.subject, t.predicate, t.object, named) for t in triples])
        self._begins_s = {graph_iri(name): begin_s for name, begin_s in zip(graphs, begins_s, strict=True)}
        self._until_s = until_s

    def _rows(self, query: str, **words: object) -> list[dict[str, str]]:
        for name, value in words.items():
            query = query.replace(f"${name}", str(value))
        found = self._store.query(_PREFIX + query)
        names = [variable.value for variable in found.variables]
        return [{name: row[name].value for name in names if row[name] is not None} for row in found]

    @cached_property
    def events(self) -> list[Event]:
        """All events with the time `at` of their effect, in the order of time."""
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for row in self._rows(_EVENTS):
            begin_s = self._begins_s[row["graph"]]
            length = float(row["length"])
            passed = length if row["action"] in ("walk", "run") else length / 2
            event = found.setdefault(
                (row["graph"], int(row["index"])),
                {
                    **row,
                    "index": int(row["index"]),
                    "at": begin_s + float(row["start"]) + passed,
                    "times": (begin_s + float(row["start"]), begin_s + float(row["start"]) + length),
                    "targets": [],
                },
            )
            event["targets"] += [row["target"]] if "target" in row else []
        return sorted(found.values(), key=lambda event: (event["at"], event["index"]))

    def _situation(self, at_s: float) -> tuple[str, int]:
        graph = [name for name, begin_s in self._begins_s.items() if begin_s <= at_s][-1]
        return graph, sum(event["graph"] == graph and event["at"] <= at_s for event in self.events)

    def _latest(self, query: str, name: str, at_s: float) -> list[dict[str, str]]:
        graph, situation = self._situation(at_s)
        rows = self._rows(query, graph=graph, name=name, situation=situation)
        return [row for row in rows if row["number"] == rows[-1]["number"]]

    def _support(self, name: str, at_s: float) -> tuple[str, str]:
        found = [(row["kind"], row["holder"]) for row in self._latest(_PLACES, name, at_s)]
        own = [pair for pair in found if not _ROOM.fullmatch(pair[1])]
        return (own or found)[0]

    def _room(self, name: str, at_s: float) -> str:
        while not _ROOM.fullmatch(name):
            rooms = [row["holder"] for row in self._latest(_PLACES, name, at_s) if _ROOM.fullmatch(row["holder"])]
            name = rooms[0] if rooms else self._support(name, at_s)[1]
        return name

    def value(self, fact: Mapping[str, Any], at_s: float) -> str:
        """The answer to a question about a time, in the terms of `UserRequest.fact`."""
        kind = fact["kind"]
        if kind == "where":
            return " ".join(self._support(fact["object"], at_s))
        if kind == "holder":
            holder = self._support(fact["object"], at_s)[1]
            return holder if holder.startswith("character") else "nobody"
        if kind == "in_room":
            return self._room(fact["person"], at_s)
        if kind == "people":
            people = {event["agent"] for event in self.events if "agent" in event}
            return str(sum(self._room(person, at_s) == fact["room"] for person in people))
        if kind == "colour":
            return "|".join(sorted({row["value"] for row in self._rows(_COLOUR, name=fact["object"])}))
        if kind == "doing":
            own = [event for event in self.events if event.get("agent") == fact["person"]]
            now = [event for event in own if event["times"][0] <= at_s <= event["times"][1]]
            acts = {(event["action"], event.get("main")) for event in now}
            return str(fact["value"]) if acts == {(fact["action"], fact["main"])} else f"{sorted(map(str, acts))}"
        values = {
            row["value"] for row in self._latest(_VALUES, fact.get("person") or fact["object"], at_s) if "value" in row
        }
        if kind == "is_state":
            return "yes" if fact["state"] in values else "no"
        return next(iter(values & _FEELINGS), "CALM")

    def watched(self, fact: Mapping[str, Any], start_s: float, end_s: float) -> list[float]:
        """When events of a standing request take effect in a time."""

        def fits(event: Event) -> bool:
            who = event.get("agent")
            if "agent" in fact and who != fact["agent"]:
                return False
            if fact["kind"] == "happen":
                return who is None and event["action"] in fact["actions"]
            if fact["kind"] == "enter":
                return who is not None and event.get("to") == fact["thing"] != event.get("from")
            if fact["kind"] == "handle":
                acted = event["action"] not in _NOT_HANDLING
                return who is not None and acted and event.get("main") == fact["thing"]
            return who is not None and event["action"] in fact["actions"]

        return [event["at"] for event in self.events if start_s <= event["at"] < end_s and fits(event)]

    def answer(self, fact: Mapping[str, Any], at_s: float) -> Event | None:
        """The event that answers a question that waits: the only one, or the next after its time."""

        def fits(event: Event) -> bool:
            if any(
                name in fact and event.get(name) != fact[name] for name in ("agent", "main", "action", "speech_act")
            ):
                if fact["kind"] != "where_put" or event["action"] not in ("put", "putIn"):
                    return False
                if any(event.get(name) != fact[name] for name in ("agent", "main")):
                    return False
            if fact["kind"] == "next_room" and (
                event["action"] not in ("walk", "run") or event.get("to") == event.get("from")
            ):
                return False
            return "targets" not in fact or sorted(event["targets"]) == sorted(fact["targets"])

        found = [event for event in self.events if fits(event)]
        if fact["kind"] == "who_does":
            return found[0] if len(found) == 1 else None
        later = next((event for event in found if event["at"] > at_s), None)
        if fact["kind"] == "next_room" and later is not None:
            # The first room that is not the person's present one must be the one that is entered.
            before_s = later["times"][0]
            begins = [begin_s for begin_s in self._begins_s.values() if at_s < begin_s <= before_s]
            if any(self._room(fact["agent"], begin_s) != self._room(fact["agent"], at_s) for begin_s in begins):
                return None
        return later

    def disagreements(self, task: ProactiveTask) -> Iterator[str]:
        """What the graphs do not say of a task, in words. Requests without a fact are not checked."""
        for place, request in enumerate(task.requests):
            if request.fact:
                yield from (
                    f"{request.text!r} at {request.at_s:g} s: {why}" for why in self._wrong(task, place, request)
                )

    def _wrong(self, task: ProactiveTask, place: int, request: UserRequest) -> Iterator[str]:
        fact = request.fact
        if request.act == "ask":
            found = self.value(fact, request.at_s)
            if found != fact["value"]:
                yield f"the answer is {fact['value']!r}, and SPARQL finds {found!r}"
            return
        if request.act == "await":
            event = self.answer(fact, request.at_s)
            due = request.moments[0].interval if request.moments else None
            if (event is None) != (due is None):
                yield "SPARQL finds no answer" if event is None else f"SPARQL finds an answer at {event['at']:g} s"
            elif event is not None and due is not None and abs(max(event["at"], request.at_s) - due.start_s) > CLOSE_S:
                yield f"the answer is due at {due.start_s:g} s, and SPARQL finds it at {event['at']:g} s"
            return
        ends_s = task.ends_s(place)
        due_s = [] if request.act == "cancel" else self.watched(fact, request.at_s, ends_s)
        yield from _compared("due", [m.interval.start_s for m in request.moments], due_s)
        if request.of is not None:
            before = task.requests[request.of].fact
            old = self.watched(before, request.at_s, ends_s if request.act == "change" else self._until_s)
            quiet = old if request.act == "cancel" else [at_s for at_s in old if not _has(due_s, at_s)]
            yield from _compared("due no more", [m.interval.start_s for m in request.quiet], quiet)


def _has(times: Sequence[float], at_s: float) -> bool:
    return any(abs(time_s - at_s) <= CLOSE_S for time_s in times)


def _compared(what: str, written: Sequence[float], found: Sequence[float]) -> Iterator[str]:
    if len(written) != len(found) or not all(_has(found, at_s) for at_s in written):
        told = ", ".join(f"{at_s:g}" for at_s in sorted(found)) or "never"
        yield f"messages are {what} at {', '.join(f'{at_s:g}' for at_s in written) or 'no time'} s, SPARQL finds {told}"
