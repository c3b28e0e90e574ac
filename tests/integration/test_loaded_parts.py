"""The `datasets` package loads every configuration of a data set repository, as a user loads it from the Hub."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from page_world import World
from sample_videos import Numbered

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "build" / "datasets" / "venv" / "bin" / "python"
parquet = pytest.importorskip("pyarrow.parquet")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.is_file(), reason="no datasets: run make build/datasets/ready"),
]


def curated(_samples: Path, folder: Path) -> Path:
    """Videos without a licence, with clips as files."""
    (folder / "raw").mkdir()
    shutil.copy(Numbered("loaded.mp4", frames=96).make()[0], folder / "raw" / "a film.mp4")
    options = ["--preset", "short-clips", "--min-flow-px", "0", "--min-mean-shot-s", "0", "--cut", "lossless"]
    assert run(["curate", str(folder / "raw"), "--into", str(folder / "curated"), *options]) == 0
    return folder / "curated"


def imported(layout: str, sample: str) -> Callable[[Path, Path], Path]:
    def make(samples: Path, folder: Path) -> Path:
        run(["import", layout, str(samples / sample), str(folder / "imported")])
        return folder / "imported"

    return make


MADE: dict[str, Callable[[Path, Path], Path]] = {
    "curated": curated,
    "folder": imported("folder", "folder"),
    "svbench": imported("svbench", "svbench"),
    "vdact": imported("vdact", "vdact"),
    "mt-video-bench": imported("mt-video-bench", "mt-video-bench-v2"),
    "mvbench": imported("mvbench", "mvbench"),
}


def loaded(folder: Path, work: Path) -> dict[str, Any]:
    """What `datasets` gives, without a network and with a cache of its own."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(work), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [PYTHON, str(ROOT / "tools" / "read_parts.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", ["household", *MADE])
def test_every_configuration_loads_with_the_rows_that_were_written(
    name: str, samples: Path, world: World, tmp_path: Path
) -> None:
    out = tmp_path / "hub"
    benchmark = Benchmark.open(world.made("constructed") if name == "household" else MADE[name](samples, tmp_path))
    assert run(["export", "hub", str(benchmark.path), str(out)]) == 0
    card = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    found = loaded(out, tmp_path)
    assert [config["config_name"] for config in card["configs"]] == list(found["parts"])
    for config in card["configs"]:
        part = found["parts"][config["config_name"]]
        assert part.keys() == {file["split"] for file in config["data_files"]}
        for file in config["data_files"]:
            assert part[file["split"]] == parquet.read_table(out / file["path"]).to_pylist()
    media = found["parts"].get("media", {}).get("full", [])
    assert {row["sha256"] for row in media} == set(benchmark.media.names())
    for row in media:
        assert hashlib.sha256((out / row["path"]).read_bytes()).hexdigest() == row["sha256"]
    told = {row["video"]["path"]: row["video_ids"] + row["clip_ids"] for row in found["videos"]}
    assert told == {str(out / row["path"]): row["video_ids"] + row["clip_ids"] for row in media}
    assert all(Path(path).is_file() for path in told)
