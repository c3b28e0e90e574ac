"""Reports on activity graphs, which `reeltalk report` finds in the entry points `reeltalk.reports`."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from reeltalk.analysis.graph_numbers import GraphCounts, GraphNumbers
from reeltalk.cli.reporting import format_count
from reeltalk.errors import SettingError
from reeltalk.pages.site import BenchmarkSite, make_environment, write_static
from reeltalk.pages.stage import environment_of, write_more
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import VIDEOS
from reeltalk_build.cli.graphs import read_by_scenario, read_known
from reeltalk_build.graph import statistics as st
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.rdf import SUFFIXES
from reeltalk_build.graph.reading import VideoGraphs, read_scenarios, scenario_graphs
from reeltalk_build.pages.scenarios import ShownScenario, scenarios_of, write_scenario_pages

TEMPLATES: Final = "reeltalk_build.pages"
"""Package that holds the templates."""


def holds_graphs(source: Path) -> bool:
    """True for a file, archive or folder of activity graphs."""
    if source.is_file():
        return source.suffix.lower() in (*SUFFIXES, ".zip")
    return source.is_dir() and any(path.suffix.lower() in SUFFIXES for path in source.iterdir() if path.is_file())


def write_graph_report(graphs: Path, scenarios: Path | None, only: str | None, out: Path, *, overwrite: bool) -> None:
    """Write a site about activity graphs.

    Args:
        graphs: File, archive or folder.
        scenarios: JSON object of lists of activities by scenario; without it each activity is a scenario.
        only: Comma-separated names of the scenarios to show; None for all.
        out: Folder that appears.
        overwrite: Replace an existing folder.

    Raises:
        SettingError: There is no scenario of a name.
        InputError: A graph is malformed.
    """
    by_scenario, _ = read_by_scenario(graphs, scenarios, None)
    wanted = [name.strip() for name in only.split(",")] if only else list(by_scenario)
    if missing := [name for name in wanted if name not in by_scenario]:
        raise SettingError(f"--only {missing[0]}: there is no such scenario")
    shown = [ShownScenario(name, by_scenario[name], f"{n:04d}.html") for n, name in enumerate(wanted, 1)]
    with writing_directory(out, overwrite=overwrite) as folder:
        write_scenario_report(graphs.name, shown, folder)


def write_benchmark_report(benchmark: Benchmark, folder: Path) -> None:
    """Write the site of a benchmark whose clips have graphs.

    Args:
        folder: An existing, empty folder.
    """
    write_scenario_report(benchmark.manifest.name, scenarios_of(benchmark), folder, benchmark=benchmark)


def write_scenario_report(
    title: str, scenarios: Iterable[ShownScenario], folder: Path, *, benchmark: Benchmark | None = None
) -> Path:
    """Write the pages about scenarios: time lines, states and relations.

    Args:
        title: Name of the set of scenarios.
        folder: An existing, empty folder.
        benchmark: Their benchmark; pages about its objects are added if there are sightings.

    Returns:
        Path of `index.html`.
    """
    write_static(folder)
    environment = (
        environment_of(benchmark, packages=(TEMPLATES,)) if benchmark is not None else make_environment(TEMPLATES)
    )
    page = write_scenario_pages(title, scenarios, folder, environment)
    if benchmark is not None:
        write_more(BenchmarkSite(benchmark, folder, environment))
    return page


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
