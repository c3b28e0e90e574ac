"""How commands read activity graphs: with progress, warnings, scenarios and start rooms."""

from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from reeltalk.cli.app import Bar, say

if TYPE_CHECKING:
    from reeltalk.graph.activity import ActivityGraph


ROOMS = Parameter(name="--initial-rooms")
WARNINGS_SHOWN = 3


def read_known(graphs: Path) -> "dict[str, ActivityGraph]":
    """All activity graphs by name, with progress and a warning where one is odd."""
    from reeltalk.graph.source import read_graphs

    with Bar() as bar:
        known = read_graphs(graphs, progress=lambda done, total: bar.show("reading graphs", done, total, done / total))
    odd = {name: activity.warnings[0] for name, activity in known.items() if activity.warnings}
    for name, warning in list(odd.items())[:WARNINGS_SHOWN]:
        say(f"warning: {name}: {warning}")
    if len(odd) > WARNINGS_SHOWN:
        say(f"warning: {len(odd) - WARNINGS_SHOWN:,} more graphs are odd in such a way")
    return known


def read_by_scenario(
    graphs: Path, scenarios: Path | None, initial_rooms: Path | None
) -> "tuple[dict[str, list[ActivityGraph]], dict[str, str]]":
    """Activities by scenario, and start rooms."""
    from reeltalk.graph.source import read_initial_rooms, read_scenarios, scenario_graphs
    from reeltalk.graph.telling import initial_room

    known = read_known(graphs)
    if initial_rooms is not None:
        rooms = read_initial_rooms(initial_rooms)
    else:
        rooms = {name: room for name, activity in known.items() if (room := initial_room(activity))}
    if scenarios is None and (graphs / "manifest.json").is_file():
        from reeltalk.questions.asking import stories
        from reeltalk.store.benchmark import Benchmark

        opened = Benchmark.open(graphs)
        return {video.id: [known[name] for name in texts] for video, _, texts in stories(opened) if texts}, rooms
    if scenarios is None:
        return {name: [activity] for name, activity in known.items()}, rooms
    return scenario_graphs(read_scenarios(scenarios), known, file=scenarios), rooms
