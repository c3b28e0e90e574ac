"""A small filmed household, with a train and a dev split."""

from pathlib import Path

import pytest

from reeltalk.parallel.local import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk.world.film import film
from reeltalk.world.settings import FilmSettings


@pytest.fixture(scope="session")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("household") / "bench"
    settings = FilmSettings(
        scenarios=4, houses=2, dev_houses=1, test_houses=0, seed=5, width_px=320, fps=2, max_duration_s=80
    )
    film(Benchmark.create(folder), settings, executor=LocalExecutor(2))
    return folder
