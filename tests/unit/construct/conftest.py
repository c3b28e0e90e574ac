"""Benchmarks of a household that is told and not filmed: graphs, clips and times as filming gives them."""

from pathlib import Path

import pytest
from page_world import World


@pytest.fixture(scope="session")
def household(world: World) -> Path:
    """Three told scenarios, nothing written about them yet. Copy it before writing."""
    return world.made("told/3")


@pytest.fixture(scope="session")
def constructed(world: World, full: bool) -> Path:
    """Told scenarios, 20 in full counts, written about by the graph. Copy it before writing."""
    return world.made(f"written/{20 if full else 4}")
