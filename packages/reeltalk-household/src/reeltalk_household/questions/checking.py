"""Answers questions again with SPARQL, independently of the code in `questions.py` that wrote them.

A scenario's graphs are loaded into a store. One query ranks all events by the order of their activities
(`nextActivity`) and by their situations. Each kind of question has a query of its own, which shares no code with the
writer.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.language.vocabulary import INSTANCE, ONTOLOGY
from reeltalk.schema.dialogue import Turn
from reeltalk_build.graph.rdf import engine, graph_iri, parse_rdf

CHECKS_FILE: Final = Path(__file__).parent / "checks.toml"
LINKED_CHECKS: Final = Path(__file__).parent / "linked_checks.toml"
ROUND_CHECKS: Final = Path(__file__).parent / "round_checks.toml"
_RANK: Final = "urn:reeltalk:rank"
_PREFIX: Final = """
PREFIX : <http://example.org/virtualhome2kg/ontology/>
PREFIX a: <http://example.org/virtualhome2kg/ontology/action/>
PREFIX r: <urn:reeltalk:>
PREFIX time: <http://www.w3.org/2006/time#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""
_EVENTS: Final = """
SELECT ?event ?graph ?position ?index
  (CONCAT(REPLACE(STR(?action), "^.*/", ""), "|", COALESCE(?main_class, "")) AS ?act) ?target_class
WHERE {
  GRAPH ?graph { ?activity :hasEvent ?event . ?event :action ?action ; :situationBeforeEvent ?before .
    OPTIONAL { ?event :mainObject ?main .
      BIND(REPLACE(STR(?main), "^.*/([a-z]+)[0-9]+_scene[0-9]+$", "$1") AS ?main_class) }
    OPTIONAL { ?event :targetObject ?target .
      BIND(REPLACE(STR(?target), "^.*/([a-z]+)[0-9]+_scene[0-9]+$", "$1") AS ?target_class) }
  }
  BIND(xsd:integer(REPLACE(STR(?before), "^.*/home_situation([0-9]+)_.*$", "$1")) AS ?index)
  { SELECT ?activity (COUNT(?earlier) AS ?position) WHERE {
      { SELECT DISTINCT ?activity WHERE { ?activity :hasEvent ?any } }
      OPTIONAL { ?earlier :nextActivity+ ?activity }
    } GROUP BY ?activity }
} ORDER BY ?position ?index STR(?target)
"""


@cache
def checks() -> Mapping[str, str]:
    """SPARQL by kind of question."""
    return dict(tomllib.loads(CHECKS_FILE.read_text(encoding="utf-8")))


@cache
def linked_checks() -> Mapping[str, str]:
    """SPARQL by kind of question about two scenes."""
    return dict(tomllib.loads(LINKED_CHECKS.read_text(encoding="utf-8")))


@cache
def round_checks() -> Mapping[str, str]:
    """SPARQL by kind of fact that rounds of a dialogue tell beside the answer to a question."""
    return dict(tomllib.loads(ROUND_CHECKS.read_text(encoding="utf-8")))


FACTS: Final = "facts"
"""Key of a turn's `extra`: the facts that it tells beside the answer to its question, each with the `kind` of its
query, its `params` and its `answer_key`."""
_LITERAL: Final = frozenset({"signature", "part", "value", "class", "classes", "action", "colour"})
_NUMBER: Final = frozenset({"event", "other", "boundary"})
_NO_EVENT: Final = {"posture": "standing"}
"""The answer if no event decides it."""


@dataclass(frozen=True)
class Disagreement:
    """A question for which SPARQL finds another answer."""

    question: str
    kind: str
    written: str
    found: str


class Checker:
    """A SPARQL store with the graphs of one scenario."""

    def __init__(self, graphs: Mapping[str, str]) -> None:
        self._engine = engine()
        quads = []
        for name, text in graphs.items():
            graph = self._engine.NamedNode(graph_iri(name))
            quads += [
                self._engine.Quad(triple.subject, triple.predicate, triple.object, graph)
                for triple in parse_rdf(text, file=f"{name}.nq")
            ]
        self._quads, self._people = quads, dict[str, Checker]()
        self._store = self._engine.Store()
        self._store.bulk_extend(quads)
        self._join(list(graphs))
        scenes = {match[1] for name in graphs if (match := re.search(r"_(scene\d+)$", name.lower()))}
        if len(scenes) != 1:
            raise InputError("the activities of a scenario lie in one environment", file=next(iter(graphs), "graphs"))
        (self._scene,) = scenes
        self._rank()

    def _of(self, person: str) -> "Checker":
        """A checker whose store has the events of one person alone."""
        if person not in self._people:
            agent, has = self._engine.NamedNode(f"{ONTOLOGY}agent"), self._engine.NamedNode(f"{ONTOLOGY}hasEvent")
            own = self._engine.NamedNode(f"{INSTANCE}{person}_{self._scene}")
            events = {quad.object for quad in self._quads if quad.predicate == has}
            other = events - {quad.subject for quad in self._quads if quad.predicate == agent and quad.object == own}
            part = object.__new__(Checker)
            part._engine, part._scene, part._people = self._engine, self._scene, {}
            part._quads = [
                quad
                for quad in self._store.quads_for_pattern(None, None, None)
                if quad.subject not in other
                and quad.object not in other
                and not quad.predicate.value.startswith("urn:reeltalk:")
                and not (quad.predicate == agent and quad.object != own)
            ]
            part._store = self._engine.Store()
            part._store.bulk_extend(part._quads)
            part._rank()
            self._people[person] = part
        return self._people[person]

    def _join(self, names: Sequence[str]) -> None:
        """Add `nextActivity` links in the given order; released activity graphs have none."""
        following = self._engine.NamedNode(f"{ONTOLOGY}nextActivity")
        nodes = [self._engine.NamedNode(f"{INSTANCE}{name.lower()}") for name in names]
        inside = [q for q in self._store.quads_for_pattern(None, following, None) if q.object in nodes]
        if len(inside) == len(nodes) - 1 and inside:
            return
        # Parts of a scenario, some of it left out in between, follow each other as they are given.
        for quad in inside:
            self._store.remove(quad)
        self._store.extend(self._engine.Quad(a, following, b) for a, b in pairwise(nodes))

    def _rank(self) -> None:
        quad, node, literal = self._engine.Quad, self._engine.NamedNode, self._engine.Literal
        added = []
        # An event with several targets has a row for each.
        for rank, (event, rows) in enumerate(groupby(self._query(_EVENTS), key=lambda row: row["event"])):
            first, *others = rows
            targets = [row["target_class"].value for row in (first, *others) if row["target_class"] is not None]
            signature = "|".join((first["act"].value, *targets))
            added.append(quad(event, node(_RANK), literal(rank)))
            added.append(quad(event, node("urn:reeltalk:signature"), literal(signature)))
            added.append(quad(first["graph"], node("urn:reeltalk:position"), first["position"]))
        self._store.extend(added)

    def _query(self, text: str) -> Any:
        return list(self._store.query(_PREFIX + text, use_default_graph_as_union=True))

    def answer(self, kind: str, params: Mapping[str, object]) -> str:
        """The answer to a question, found by SPARQL.

        Args:
            kind: A kind that `checks.toml` knows.
            params: The question's own.

        Returns:
            The answer in the form of a question's key; empty where there is none.
        """
        if "person" in params:
            others = {name: value for name, value in params.items() if name != "person"}
            return self._of(str(params["person"])).answer(kind, others)
        text = {**checks(), **linked_checks(), **round_checks()}[kind]
        for name, value in sorted(params.items(), key=lambda given: -len(given[0])):
            if name in _NUMBER:
                term = str(int(str(value)))
            elif name in _LITERAL:
                term = str(self._engine.Literal(str(value)))
            else:
                term = str(self._engine.NamedNode(f"{INSTANCE}{value}_{self._scene}"))
            text = text.replace(f"${name}", term)
        rows = [row["answer"].value for row in self._query(text) if row["answer"] is not None]
        return "|".join(rows) if rows else _NO_EVENT.get(kind, "")

    def disagreements(self, turns: Iterable[Turn]) -> list[Disagreement]:
        """Turns of the graph writer for which SPARQL finds another answer. Other turns are ignored."""
        known = checks().keys() | linked_checks().keys() | round_checks().keys()
        found = []
        for turn in turns:
            for fact in (turn.extra, *turn.extra.get(FACTS, ())):
                kind, params = fact.get("kind"), fact.get("params")
                if isinstance(kind, str) and kind in known and isinstance(params, dict):
                    again, written = self.answer(kind, params), str(fact.get("answer_key"))
                    if again != written:
                        found.append(Disagreement(turn.question, kind, written, again))
        return found
