"""The command that counts graphs, scenarios and dialogues."""

from pathlib import Path
from typing import TYPE_CHECKING

from reeltalk.cli.app import app
from reeltalk.cli.graph_reading import read_known
from reeltalk.errors import BenchmarkError

if TYPE_CHECKING:
    from reeltalk.graph.activity import ActivityGraph


@app.command(sort_key=3)
def stats(
    source: Path,
    /,
    *,
    scenarios: Path | None = None,
) -> int:
    """Count what is in graphs, scenarios and dialogues: tables 3 and 4 and figure 2a of the VDAct paper.

    Example: `reeltalk stats kg_activity.zip --scenarios scenario_to_activities.json`, or `reeltalk stats
    benchmarks/household`

    Parameters
    ----------
    source
        A benchmark, or a folder, zip archive or file of activity graphs.
    scenarios
        JSON object of lists of activities by scenario; of a benchmark, by default its videos' clips.
    """
    from reeltalk.graph import statistics as st
    from reeltalk.graph.source import read_scenarios, scenario_graphs
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.tables import DIALOGUES, VIDEOS

    opened = Benchmark.open(source) if (source / "manifest.json").is_file() else None
    if opened is not None and opened.rows(DIALOGUES):
        counts = st.count_dialogues(opened.read(VIDEOS), opened.read(DIALOGUES))
        print(f"{'Table 3':<16}{'here':>12}{'VDAct':>12}")
        for name, value, paper in zip(st.TABLE_3, counts.values, st.PAPER_TABLE_3, strict=True):
            print(f"{name:<16}{_shown(value):>12}{paper:>12}")
        print()
    if opened is not None and not any(name.startswith("graphs/") for name in opened.manifest.files):
        if not opened.rows(DIALOGUES):
            raise BenchmarkError(f"{source} has neither dialogues nor graphs to count")
        return 0
    known = read_known(source)
    joined: dict[str, list[ActivityGraph]] = {}
    if scenarios is not None:
        joined = scenario_graphs(read_scenarios(scenarios), known, file=scenarios)
    elif opened is not None:
        from reeltalk.questions.asking import stories

        joined = {video.id: [known[name] for name in texts] for video, _, texts in stories(opened) if texts}
    activity = st.mean_counts([st.count_triples(graph.triples) for graph in known.values()])
    scenario = st.mean_counts([st.count_scenario(graphs) for graphs in joined.values()]) if joined else None
    print(f"{'Table 4, means':<16}{'activity':>12}{'VDAct':>12}{'scenario':>12}{'VDAct':>12}")
    for n, name in enumerate(st.ROWS):
        there = _shown(scenario.values[n] if scenario else None)
        print(
            f"{name:<16}{activity.values[n]:>12,.2f}{st.PAPER_ACTIVITY[n]:>12,.2f}{there:>12}{st.PAPER_SCENARIO[n]:>12,.2f}"
        )
    print(f"\n{len(known):,} activities, {len(joined):,} scenarios")
    if not joined:
        return 0
    placed = st.placements(joined)
    if not placed.counts:
        print("Figure 2a: not known, neither graphs nor the names of activities give categories")
        return 0
    width = max(map(len, placed.counts.values()))
    print(f"\n{'Figure 2a':<20}" + "".join(f"{_ordinal(n + 1):>8}" for n in range(width)))
    for category, row in placed.counts.items():
        print(f"{category:<20}" + "".join(f"{count:>8,}" for count in row))
    if placed.source:
        print(placed.source)
    return 0


def _shown(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def _ordinal(n: int) -> str:
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"
