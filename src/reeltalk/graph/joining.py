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
    """The moment at which each activity begins, in seconds from the start; None where a length is unknown.

    A graph that says itself when it begins is believed; others follow each other without a gap.
    """
    starts, end_s = [], 0.0
    for graph in graphs:
        if graph.duration_s is None:
            return None
        starts.append(end_s if graph.begins_s is None else graph.begins_s)
        end_s = starts[-1] + graph.duration_s
    return starts


def beginning(name: str, begins_s: float) -> str:
    """N-Quads in an activity's own named graph that say when it begins in its video.

    Args:
        name: The activity, as `Drink_milk3_scene2`.
        begins_s: Seconds from the start of the video.
    """
    own = f"<{graph_iri(name)}>"
    return "".join(f"{line} {own} .\n" for line in _begins(name.lower(), begins_s))


def _begins(node: str, begins_s: float) -> tuple[str, str]:
    moment = f"<{INSTANCE}beginning_{node}>"
    return (
        f"<{INSTANCE}{node}> <{TIME}hasBeginning> {moment}",
        f'{moment} <{TIME}numericPosition> "{begins_s:.3f}"^^<{XSD}decimal>',
    )


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
        lines += [f"{line} {own} ." for line in _begins(graph.node, start)]
    return "".join(f"{line}\n" for line in lines)
