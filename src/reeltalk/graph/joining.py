"""A scenario as one graph: its activities' triples, joined by `nextActivity`, with times that run on.

Each activity stays a named graph of its own, so "one named graph per clip" holds; the links between activities and the
moments at which they begin are a named graph of the scenario.
"""

import itertools
from collections.abc import Sequence

from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.rdf import graph_iri
from reeltalk.graph.vocabulary import INSTANCE, ONTOLOGY, TIME, XSD


def starts_s(graphs: Sequence[ActivityGraph]) -> list[float] | None:
    """The moment at which each activity begins, in seconds from the start; None where a length is unknown."""
    starts = [0.0]
    for graph in graphs:
        if graph.duration_s is None:
            return None
        starts.append(starts[-1] + graph.duration_s)
    return starts[:-1]


def links(name: str, graphs: Sequence[ActivityGraph]) -> str:
    """N-Quads of the scenario's own named graph: `nextActivity`, and each activity's beginning where it is known.

    Args:
        name: The scenario.
        graphs: Its activities in order.
    """
    own = f"<{graph_iri(name)}>"
    lines = [
        f"<{INSTANCE}{first.node}> <{ONTOLOGY}nextActivity> <{INSTANCE}{second.node}> {own} ."
        for first, second in itertools.pairwise(graphs)
    ]
    for graph, start in zip(graphs, starts_s(graphs) or (), strict=False):
        moment = f"<{INSTANCE}beginning_{graph.node}>"
        lines += [
            f"<{INSTANCE}{graph.node}> <{TIME}hasBeginning> {moment} {own} .",
            f'{moment} <{TIME}numericPosition> "{start:.3f}"^^<{XSD}decimal> {own} .',
        ]
    return "".join(f"{line}\n" for line in lines)
