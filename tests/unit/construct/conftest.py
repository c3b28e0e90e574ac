"""Benchmarks of a household that is told and not filmed: graphs, clips and times as filming gives them."""

from pathlib import Path

import pytest
from told_households import told

from reeltalk.construct.graph_writer import GraphWriter
from reeltalk.construct.settings import ConstructSettings
from reeltalk.construct.stage import construct
from reeltalk.construct.step import ConstructRun
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark


@pytest.fixture(scope="session")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three told scenarios, nothing written about them yet. Copy it before writing."""
    folder = tmp_path_factory.mktemp("told") / "household"
    told(folder, scenarios=3, seed=7)
    return folder


@pytest.fixture(scope="session")
def constructed(tmp_path_factory: pytest.TempPathFactory, full: bool) -> Path:
    """Told scenarios, 20 in full counts, written about by the graph."""
    folder = tmp_path_factory.mktemp("constructed") / "household"
    told(folder, scenarios=20 if full else 4, seed=7)
    benchmark = Benchmark.open(folder)
    settings = ConstructSettings()
    construct(ConstructRun(benchmark, settings, GraphWriter(benchmark, settings), LocalExecutor(1)))
    return folder
