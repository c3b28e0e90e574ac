"""Reads and writes RDF: N-Triples, N-Quads, Turtle and RDF/XML, with or without VDAct's pseudo-IRIs.

VDAct releases N-Triples with relative IRIs (`<vh2kg_url/ontology/on>`, `<w3_url#type>`), which the N-Triples grammar
forbids. The reader replaces them by the namespaces of VirtualHome2KG, and the writer can reverse this. The order of
lines is kept, so a file can be restored byte for byte.

`curate_triples` reduces a full activity graph to the facts about its main and target objects, as VDAct did (AAAI 2025).
It keeps the events, the states of every object that an event acts on or towards, the relations of those objects'
shapes, and the relations of the shapes that these point at; `close` only from or to the person. All 226,472 triples of
the 706 released graphs follow this rule. It also keeps, by default, what the released graphs lack and full graphs may
have: times, rooms, hands, colours, categories, agents and their names, causes, purposes, words, and counterfactuals.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

from reeltalk.errors import InputError
from reeltalk.language.vocabulary import GRAPH, HOLDING, INSTANCE, NAMESPACES, ONTOLOGY, RDF_TYPE, SPATIAL, class_of

if TYPE_CHECKING:
    import pyoxigraph

PSEUDO_PREFIXES: Final = {
    "<vh2kg_url/ontology/": f"<{ONTOLOGY}",
    "<vh2kg_url/instance/": f"<{INSTANCE}",
    "<w3_url#type>": f"<{RDF_TYPE}>",
}
"""Prefixes in VDAct's release, with the absolute IRIs that they stand for."""

_PSEUDO = re.compile("|".join(map(re.escape, PSEUDO_PREFIXES)))
_CANONICAL = re.compile("|".join(re.escape(iri) for iri in PSEUDO_PREFIXES.values()))
_TO_PSEUDO: Final = {iri: pseudo for pseudo, iri in PSEUDO_PREFIXES.items()}

SUFFIXES: Final = (".nt", ".nq", ".ttl", ".rdf", ".owl", ".xml")
"""Suffixes of the files that `parse_rdf` reads."""


class Triple(NamedTuple):
    """One statement, its IRIs shortened by `NAMESPACES`: `('ex:event0_…', 'action', 'action/walk')`.

    Literals stand by their text, blank nodes as `_:label`.
    """

    subject: str
    predicate: str
    object: str


def engine() -> Any:
    """The RDF library, imported at its first use."""
    import pyoxigraph

    return pyoxigraph


def graph_iri(name: str) -> str:
    """The IRI of the named graph that holds a clip's or activity's triples."""
    return GRAPH + quote(name, safe="")


def graph_name(file: Path | str) -> str:
    """The activity or clip of a file: its name without suffixes, `X_scene1` for `X_scene1.ttl.nt`."""
    name = Path(file).name
    while (stem := Path(name)).suffix.lower() in SUFFIXES:
        name = stem.stem
    return name


def parse_rdf(text: str, *, file: Path | str) -> "list[pyoxigraph.Triple]":
    """Parse the triples of a file in order. The file's suffix decides the format.

    Raises:
        InputError: The text has a syntax error, or it mixes pseudo-IRIs and absolute ones; the message names the line.
    """
    return _parse(text, file=file)[0]


def _parse(text: str, *, file: Path | str) -> "tuple[list[pyoxigraph.Triple], bool]":
    oxigraph = engine()
    formats = oxigraph.RdfFormat
    by_suffix = {
        ".nt": formats.N_TRIPLES,
        ".nq": formats.N_QUADS,
        ".ttl": formats.TURTLE,
        ".rdf": formats.RDF_XML,
        ".owl": formats.RDF_XML,
        ".xml": formats.RDF_XML,
    }
    rdf_format = by_suffix.get(Path(file).suffix.lower(), formats.N_TRIPLES)
    has_pseudo = _PSEUDO.search(text) is not None
    if has_pseudo and (both := _CANONICAL.search(text)):
        raise InputError(
            "pseudo-IRIs and absolute ones of the same namespace in one file",
            file=file,
            line=text.count("\n", 0, both.start()) + 1,
            value=both.group(),
            hint="use one kind throughout",
        )
    absolute = _PSEUDO.sub(lambda match: PSEUDO_PREFIXES[match.group()], text)
    try:
        # An RDF/XML file may name its terms relative to itself.
        base = INSTANCE if rdf_format == formats.RDF_XML else None
        triples = [quad.triple for quad in oxigraph.parse(absolute.encode(), format=rdf_format, base_iri=base)]
    except SyntaxError as error:
        problem = re.sub(r"^Parser error (at|between) line.*?: ", "", str(error.msg))
        raise InputError(f"not {rdf_format.name}: {problem}", file=file, line=error.lineno) from None
    return triples, has_pseudo


def short_triples(triples: "Iterable[pyoxigraph.Triple]") -> Iterator[Triple]:
    """The triples with their IRIs shortened."""
    oxigraph = engine()
    shortened: dict[str, str] = {}

    def name(term: Any) -> str:
        value: str = term.value
        if isinstance(term, oxigraph.NamedNode):
            return shortened.get(value) or shortened.setdefault(value, _short(value))
        return value if isinstance(term, oxigraph.Literal) else f"_:{value}"

    for triple in triples:
        yield Triple(name(triple.subject), name(triple.predicate), name(triple.object))


def _short(iri: str) -> str:
    for namespace, prefix in NAMESPACES.items():
        if iri.startswith(namespace):
            return prefix + iri[len(namespace) :]
    return iri


def quads_from_triples(text: str, *, name: str, file: Path | str) -> tuple[str, bool]:
    """A file's triples as N-Quads in the graph of `name`.

    Args:
        text: The file's content.
        name: The clip or activity that the triples describe.
        file: Path of the file. Its suffix decides the format, N-Triples by default.

    Returns:
        The quads, one per line in the order of the file, and True if the file had pseudo-IRIs.

    Raises:
        InputError: The text has a syntax error, or it mixes pseudo-IRIs and absolute ones; the message names the line.
    """
    triples, has_pseudo = _parse(text, file=file)
    return quads_of(triples, name=name), has_pseudo


def quads_of(triples: "Iterable[pyoxigraph.Triple]", *, name: str) -> str:
    """Triples as N-Quads in the graph of `name`, one per line in the same order."""
    oxigraph = engine()
    graph = oxigraph.NamedNode(graph_iri(name))
    return _serialised(
        [oxigraph.Quad(triple.subject, triple.predicate, triple.object, graph) for triple in triples],
        oxigraph.RdfFormat.N_QUADS,
    )


def triples_from_quads(quads: str, *, pseudo: bool) -> str:
    """N-Quads as N-Triples, one per line in the same order."""
    oxigraph = engine()
    triples = [quad.triple for quad in oxigraph.parse(quads.encode(), format=oxigraph.RdfFormat.N_QUADS)]
    text = _serialised(triples, oxigraph.RdfFormat.N_TRIPLES)
    return _CANONICAL.sub(lambda match: _TO_PSEUDO[match.group()], text) if pseudo else text


def _serialised(statements: list[Any], rdf_format: Any) -> str:
    serialised = engine().serialize(statements, format=rdf_format)
    assert serialised is not None  # it is None only where an output is passed
    text: str = serialised.decode()
    return text


def ntriples(triples: "Iterable[pyoxigraph.Triple]") -> str:
    """Triples as N-Triples, one per line in the same order."""
    return _serialised(list(triples), engine().RdfFormat.N_TRIPLES)


T = TypeVar("T")

EVENT_PREDICATES: Final = frozenset(
    {"action", "mainObject", "targetObject", "situationBeforeEvent", "situationAfterEvent"}
)
TIMED_PREDICATES: Final = frozenset(
    {"from", "to", "time:hasDuration", "time:hasBeginning", "agent", "causedBy", "purpose", "utterance", "speechAct"}
)
COUNTERFACTUAL_PREDICATES: Final = frozenset({"withoutEvent", "outcomeOf", "aspect", "outcome"})
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
    if timed:
        relevant |= {triple.subject for triple in triples if triple.predicate == "name"}
        # Where two things of a class can be told apart, both are needed to know which one is meant.
        kinds_acted_on = {_class_node(node) for node in relevant}
        looks = {triple.subject for triple in triples if triple.predicate == "attribute"}
        relevant |= {node for node in looks if _class_node(node) in kinds_acted_on}
    states = {triple.subject for triple in triples if triple.predicate == "isStateOf" and triple.object in relevant}
    kinds = frozenset(SPATIAL + HOLDING) if timed else frozenset(SPATIAL)
    nearest = {triple.object for triple in triples if triple.predicate == "bbox" and triple.subject in states}
    spatial = [t for t in triples if t.predicate in kinds and (t.predicate != "close" or _of_agent(t))]
    related = nearest | {triple.object for triple in spatial if triple.subject in nearest}
    durations = {triple.object for triple in triples if triple.predicate == "time:hasDuration"}
    moments = {triple.object for triple in triples if triple.predicate == "time:hasBeginning"}

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
            or (predicate == "time:numericPosition" and subject in moments)
            or predicate in COUNTERFACTUAL_PREDICATES
            or predicate == "name"
            or (predicate in ("rdf:type", "agent") and subject in activities)
            or (predicate == "attribute" and (subject in relevant | activities or subject.startswith("ex:character")))
            or predicate == "nextActivity"
        )

    return [statement for statement, triple in zip(statements, triples, strict=True) if kept(triple)]


def _class_node(node: str) -> str:
    """The class in the node of a thing: `ex:mug` for `ex:mug4_scene1`."""
    return class_of(node.rsplit("_", 1)[0])


def _of_agent(triple: Triple) -> bool:
    return "_character" in triple.subject or "_character" in triple.object
