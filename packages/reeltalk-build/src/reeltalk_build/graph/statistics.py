"""Statistics of activity graphs and scenarios: VDAct's table 4 and figure 2a (AAAI 2025)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise

from reeltalk.analysis.graph_numbers import GraphCounts, Placements
from reeltalk_build.graph.activity import ActivityGraph, category_of
from reeltalk_build.graph.rdf import Triple

PAPER_ACTIVITY = (10.2, 11.2, 14.92, 10.84, 86.56, 4.08, 0.78, 320.78)
PAPER_SCENARIO = (40.26, 44.56, 60.36, 44.04, 360.17, 13.56, 2.57, 1317.51)

ROWS = ("Events", "Situations", "States", "StateVals", "Shapes", "Main objects", "Target objects", "Triples")


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


class MeanCounter:
    """Means over graphs, which are added one at a time."""

    def __init__(self) -> None:
        self.n = 0
        self._sums = [0.0] * len(fields(GraphCounts))

    def add(self, counts: GraphCounts) -> None:
        """Add one graph."""
        self.n += 1
        self._sums = [total + value for total, value in zip(self._sums, counts.values, strict=True)]

    def mean(self) -> GraphCounts:
        """The means so far.

        Raises:
            ValueError: There are no graphs.
        """
        if not self.n:
            raise ValueError("no graphs to average")
        return GraphCounts(*(total / self.n for total in self._sums))


def mean_counts(counts: Iterable[GraphCounts]) -> GraphCounts:
    """Means over graphs.

    Raises:
        ValueError: There are none.
    """
    counter = MeanCounter()
    for count in counts:
        counter.add(count)
    return counter.mean()


class PlacementCounter:
    """Counts the activities of each category by their position (figure 2a), one scenario at a time."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[int]] = {}
        self._longest = self._by_name = self._unknown = 0

    def add(self, graphs: Sequence[ActivityGraph]) -> None:
        """Count a scenario."""
        self._longest = max(self._longest, len(graphs))
        for place, graph in enumerate(graphs):
            category = category_of(graph)
            if category is None:
                self._unknown += 1
                continue
            self._by_name += category != graph.category
            self._counts.setdefault(category, Counter())[place] += 1

    def placements(self) -> Placements:
        """The counts so far."""
        counts = self._counts
        ordered = sorted(counts, key=lambda category: (-counts[category].total(), category))
        rows = {category: tuple(counts[category][place] for place in range(self._longest)) for category in ordered}
        return Placements(counts=rows, by_name=self._by_name, unknown=self._unknown)


def placements(scenarios: Mapping[str, Sequence[ActivityGraph]]) -> Placements:
    """Count the activities of each category by their position in a scenario (figure 2a)."""
    counter = PlacementCounter()
    for graphs in scenarios.values():
        counter.add(graphs)
    return counter.placements()
