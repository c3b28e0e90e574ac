"""Counts of activity graphs, which `reeltalk report` finds in the entry points `reeltalk.reports`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reeltalk.analysis.graph_numbers import GraphCounts, GraphNumbers
from reeltalk.cli.reporting import format_count
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk_build.cli.graphs import read_known
from reeltalk_build.graph import statistics as st
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import VideoGraphs, read_scenarios, scenario_graphs


def graph_numbers(benchmark: Benchmark, videos: Iterable[str]) -> GraphNumbers:
    """Count the graphs of a benchmark: VDAct's table 4 and figure 2a.

    Args:
        benchmark: A benchmark whose clips have graphs.

    Raises:
        InputError: A graph is damaged.
    """
    known = VideoGraphs(benchmark)
    return _counted((graphs for video in videos if (graphs := known.of(video))), known.rest())


def _counted(joined: Iterable[Sequence[ActivityGraph]], rest: Iterable[ActivityGraph]) -> GraphNumbers:
    """The numbers of scenarios, and of the activities that belong to none."""
    activities: dict[str, GraphCounts] = {}
    scenarios: list[GraphCounts] = []

    def scenario() -> Iterator[Sequence[ActivityGraph]]:
        for graphs in joined:
            activities.update({one.name: st.count_triples(one.triples) for one in graphs if one.name not in activities})
            scenarios.append(st.count_scenario(graphs))
            yield graphs

    placed = st.placements(scenario())
    activities |= {graph.name: st.count_triples(graph.triples) for graph in rest}
    return GraphNumbers(
        activities=len(activities),
        scenarios=len(scenarios),
        activity=st.mean_counts(list(activities.values())),
        scenario=st.mean_counts(scenarios) if scenarios else None,
        placed=placed,
    )


def print_counts(source: Path, opened: Benchmark | None, scenarios: Path | None) -> None:
    """Print VDAct's table 4 and figure 2a.

    Args:
        source: A benchmark, or a file, archive or folder of graphs.
        opened: The benchmark, if it is one.
        scenarios: JSON object of lists of activities by scenario.

    Raises:
        InputError: A graph is malformed.
    """
    if opened is not None and scenarios is None:
        found = graph_numbers(opened, (video.id for video in opened.read(VIDEOS)))
    else:
        known = read_known(source)
        joined = scenario_graphs(read_scenarios(scenarios), known, file=scenarios) if scenarios is not None else {}
        found = _counted(joined.values(), known.values())
    print(f"{'Table 4, means':<16}{'activity':>12}{'VDAct':>12}{'scenario':>12}{'VDAct':>12}")
    for n, name in enumerate(st.STATISTICS_ROWS):
        there = format_count(found.scenario.values[n] if found.scenario else None)
        print(
            f"{name:<16}{found.activity.values[n]:>12,.2f}{st.PAPER_ACTIVITY[n]:>12,.2f}{there:>12}{st.PAPER_SCENARIO[n]:>12,.2f}"
        )
    print(f"\n{found.activities:,} activities, {found.scenarios:,} scenarios")
    if not found.scenarios:
        return
    placed = found.placed
    if not placed.counts:
        print("Figure 2a: not known, neither graphs nor the names of activities give categories")
        return
    width = max(map(len, placed.counts.values()))
    print(f"\n{'Figure 2a':<20}" + "".join(f"{_ordinal(n + 1):>8}" for n in range(width)))
    for category, row in placed.counts.items():
        print(f"{category:<20}" + "".join(f"{count:>8,}" for count in row))
    if placed.source:
        print(placed.source)


def _ordinal(n: int) -> str:
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"
