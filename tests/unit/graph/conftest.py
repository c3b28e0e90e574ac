"""The graphs that VDAct released, read once for all tests."""

from pathlib import Path

import pytest

from reeltalk.graph.activity import ActivityGraph
from reeltalk.graph.reading import read_graphs, read_initial_rooms, read_scenarios, scenario_graphs


@pytest.fixture(scope="session")
def released(shared: Path) -> dict[str, ActivityGraph]:
    """All 706 by name."""
    return read_graphs(shared / "data/vdact/kg_activity.zip")


@pytest.fixture(scope="session")
def initial_rooms(shared: Path) -> dict[str, str]:
    """Where the person starts, by activity."""
    return read_initial_rooms(shared / "data/vdact/derived/initial_rooms.json")


@pytest.fixture(scope="session")
def scenarios(shared: Path, released: dict[str, ActivityGraph]) -> dict[str, list[ActivityGraph]]:
    """The 1,000 scenarios with their graphs."""
    path = shared / "data/vdact/derived/scenario_to_activities.json"
    return scenario_graphs(read_scenarios(path), released, file=path)
