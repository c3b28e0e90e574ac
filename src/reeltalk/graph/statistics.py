"""How much is in activity graphs and scenarios: VDAct's table 4 (AAAI 2025)."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.rdf import Triple

PAPER_ACTIVITY = (10.2, 11.2, 14.92, 10.84, 86.56, 4.08, 0.78, 320.78)
PAPER_SCENARIO = (40.26, 44.56, 60.36, 44.04, 360.17, 13.56, 2.57, 1317.51)


@dataclass(frozen=True)
class GraphCounts:
    """Components of a graph, or their means over graphs, in the order of table 4."""

    events: float
    situations: float
    states: float
    state_values: float
    """Distinct subjects of `state`: the states that have a value."""
    shapes: float
    main_objects: float
    target_objects: float
    triples: float

    @property
    def values(self) -> tuple[float, ...]:
        """The eight numbers in order."""
        return tuple(getattr(self, field.name) for field in fields(self))


ROWS = ("Events", "Situations", "States", "StateVals", "Shapes", "Main objects", "Target objects", "Triples")


def count_triples(triples: Iterable[Triple]) -> GraphCounts:
    """Count the components of one graph, an activity's or a scenario's."""
    distinct = set(triples)

    def objects(*predicates: str) -> int:
        return len({triple.object for triple in distinct if triple.predicate in predicates})

    def subjects(*predicates: str) -> int:
        return len({triple.subject for triple in distinct if triple.predicate in predicates})

    shapes = {node for triple in distinct for node in (triple.subject, triple.object) if node.startswith("ex:shape_")}
    return GraphCounts(
        events=objects("hasEvent"),
        situations=objects("situationBeforeEvent", "situationAfterEvent"),
        states=subjects("isStateOf"),
        state_values=subjects("state"),
        shapes=len(shapes),
        main_objects=objects("mainObject"),
        target_objects=objects("targetObject"),
        triples=len(distinct),
    )


def count_scenario(graphs: Sequence[ActivityGraph]) -> GraphCounts:
    """Count the components of a scenario: its activities' triples joined by `nextActivity`."""
    return count_triples(join_triples(graphs))


def join_triples(graphs: Sequence[ActivityGraph]) -> list[Triple]:
    """The triples of a scenario: those of its activities, and a `nextActivity` from each to the next."""
    joined = [triple for graph in graphs for triple in graph.triples]
    links = [
        Triple(f"ex:{first.node}", "nextActivity", f"ex:{second.node}") for first, second in itertools.pairwise(graphs)
    ]
    return joined + links


def mean_counts(counts: Sequence[GraphCounts]) -> GraphCounts:
    """Means over graphs.

    Raises:
        ValueError: There are none.
    """
    if not counts:
        raise ValueError("no graphs to average")
    return GraphCounts(*(sum(column) / len(counts) for column in zip(*(count.values for count in counts), strict=True)))
