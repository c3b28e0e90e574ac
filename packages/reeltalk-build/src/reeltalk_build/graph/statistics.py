"""Statistics of activity graphs and scenarios: VDAct's table 4 and figure 2a (AAAI 2025)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from reeltalk.analysis.graph_numbers import GraphCounts, Placements
from reeltalk_build.graph.activity import ActivityGraph, category_of
from reeltalk_build.graph.rdf import Triple

PAPER_ACTIVITY = (10.2, 11.2, 14.92, 10.84, 86.56, 4.08, 0.78, 320.78)
PAPER_SCENARIO = (40.26, 44.56, 60.36, 44.04, 360.17, 13.56, 2.57, 1317.51)

STATISTICS_ROWS = ("Events", "Situations", "States", "StateVals", "Shapes", "Main objects", "Target objects", "Triples")


def count_triples(triples: Iterable[Triple]) -> GraphCounts:
    """Count the components of one graph of an activity or a scenario."""
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
    links = [Triple(f"ex:{first.node}", "nextActivity", f"ex:{second.node}") for first, second in pairwise(graphs)]
    return joined + links


def mean_counts(counts: Sequence[GraphCounts]) -> GraphCounts:
    """Means over graphs.

    Raises:
        ValueError: There are none.
    """
    if not counts:
        raise ValueError("no graphs to average")
    return GraphCounts(*map(fmean, zip(*(one.values for one in counts), strict=True)))


def placements(scenarios: Iterable[Sequence[ActivityGraph]]) -> Placements:
    """Count the activities of each category by their position in a scenario (figure 2a).

    Args:
        scenarios: The activities of each in order; read once.
    """
    counts: dict[str, Counter[int]] = {}
    longest = by_name = unknown = 0
    for graphs in scenarios:
        longest = max(longest, len(graphs))
        for place, graph in enumerate(graphs):
            category = category_of(graph)
            if category is None:
                unknown += 1
                continue
            by_name += category != graph.category
            counts.setdefault(category, Counter())[place] += 1
    ordered = sorted(counts, key=lambda category: (-counts[category].total(), category))
    rows = {category: tuple(counts[category][place] for place in range(longest)) for category in ordered}
    return Placements(counts=rows, by_name=by_name, unknown=unknown)
