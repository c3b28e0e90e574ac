"""Triples in files to quads in the benchmark and back.

VDAct releases N-Triples whose IRIs are relative (`<vh2kg_url/ontology/on>`, `<w3_url#type>`), which the N-Triples
grammar forbids. They are read by giving them the namespaces of VirtualHome2KG, and written by taking those away
again. Line order is kept, so a file comes back byte for byte.
"""

import re
from pathlib import Path
from typing import Final
from urllib.parse import quote

from reeltalk.errors import InputError, MissingExtraError

ONTOLOGY: Final = "http://example.org/virtualhome2kg/ontology/"
INSTANCE: Final = "http://example.org/virtualhome2kg/instance/"
GRAPH: Final = "http://example.org/virtualhome2kg/graph/"
RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

PSEUDO_PREFIXES: Final = {
    "<vh2kg_url/ontology/": f"<{ONTOLOGY}",
    "<vh2kg_url/instance/": f"<{INSTANCE}",
    "<w3_url#type>": f"<{RDF_TYPE}>",
}
"""What VDAct's release writes, and the absolute IRI that it stands for."""

_PSEUDO = re.compile("|".join(map(re.escape, PSEUDO_PREFIXES)))
_CANONICAL = re.compile("|".join(re.escape(iri) for iri in PSEUDO_PREFIXES.values()))
_TO_PSEUDO: Final = {iri: pseudo for pseudo, iri in PSEUDO_PREFIXES.items()}


def graph_iri(name: str) -> str:
    """The IRI of the named graph that holds a clip's or activity's triples."""
    return GRAPH + quote(name, safe="")


def quads_from_triples(text: str, *, name: str, file: Path | str) -> tuple[str, bool]:
    """N-Triples, with or without VDAct's pseudo-IRIs, as N-Quads in the graph of `name`.

    Args:
        text: The file's content.
        name: The clip or activity that the triples describe.
        file: Where it was read, for errors.

    Returns:
        The quads, a line each in the order of the file, and whether the file had pseudo-IRIs.

    Raises:
        InputError: It is no N-Triples; names the line. Or it mixes pseudo and absolute IRIs of the same namespaces.
        MissingExtraError: pyoxigraph is not installed.
    """
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtraError("reading knowledge graphs", extra="graph") from None
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
    graph = pyoxigraph.NamedNode(graph_iri(name))
    try:
        quads = [
            pyoxigraph.Quad(triple.subject, triple.predicate, triple.object, graph)
            for triple in pyoxigraph.parse(absolute.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
        ]
    except SyntaxError as error:
        problem = re.sub(r"^Parser error (at|between) line.*?: ", "", str(error.msg))
        raise InputError(f"not N-Triples: {problem}", file=file, line=error.lineno) from None
    serialised = pyoxigraph.serialize(quads, format=pyoxigraph.RdfFormat.N_QUADS)
    assert serialised is not None  # it is None only where an output is passed
    return serialised.decode(), has_pseudo


def triples_from_quads(quads: str, *, pseudo: bool) -> str:
    """N-Quads as N-Triples, a line each in the same order.

    Args:
        quads: What `quads_from_triples` gave.
        pseudo: Write VDAct's pseudo-IRIs.
    """
    import pyoxigraph

    triples = [quad.triple for quad in pyoxigraph.parse(quads.encode(), format=pyoxigraph.RdfFormat.N_QUADS)]
    serialised = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
    assert serialised is not None
    text = serialised.decode()
    return _CANONICAL.sub(lambda match: _TO_PSEUDO[match.group()], text) if pseudo else text
