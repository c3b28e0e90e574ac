"""Stages on two Ray nodes give what they give locally, also where one node is killed while it works."""

import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster

from reeltalk.cli import run
from reeltalk.errors import ClusterError
from reeltalk.parallel import Call, open_executor

FILM = ("--scenarios", "3", "--houses", "1", "--width-px", "320", "--fps", "2", "--max-duration-s", "90")
LENIENT = (
    *("--min-shots", "1", "--min-mean-shot-s", "0", "--max-mean-shot-s", "9000", "--min-flow-px", "0"),
    *("--max-flow-px", "9999", "--min-duration-s", "0", "--cut", "lossless", "--save-frames"),
)
NAP = Call(0.3)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A Ray cluster whose head has one core."""
    os.environ["RAY_worker_niceness"] = "0"
    quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 2, "health_check_initial_delay_ms": 0}
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}
    found = Cluster(initialize_head=True, head_node_args=head)
    yield found
    ray.shutdown()
    found.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Filmed and constructed locally; beside it what was curated from its videos."""
    folder = tmp_path_factory.mktemp("local") / "household"
    assert run(["world", "film", *FILM, "--into", str(folder)]) == 0
    assert run(["construct", str(folder)]) == 0
    assert run(["curate", str(videos_of(folder)), "--into", str(folder.parent / "curated"), *LENIENT]) == 0
    return folder


def videos_of(folder: Path) -> Path:
    """The videos under names that end as those of videos do."""
    videos = folder.parent / "videos"
    videos.mkdir()
    for number, path in enumerate(sorted((folder / "media").rglob("*")), start=1):
        if path.is_file():
            shutil.copy(path, videos / f"{number}.mp4")
    return videos


def files(folder: Path) -> dict[str, bytes]:
    """Everything but the manifest, whose only other content is when and from where."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".work" not in path.parts and path.name != "manifest.json"
    }


def children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (task / "children").read_text().split())
    return found


def raylet_of(node: Any) -> int:
    return int(node.all_processes["raylet"][0].process.pid)


def workers_of(raylet: int) -> list[int]:
    return [pid for pid in children(raylet) if b"ray::" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def works(raylet: int) -> int | None:
    """A worker of a node on which a call runs: its forking process has a child."""
    return next((pid for pid in workers_of(raylet) if any(children(forking) for forking in children(pid))), None)


class Killer(threading.Thread):
    """Kills a node, and what runs on it, while a call runs there."""

    def __init__(self, node: Any) -> None:
        super().__init__(daemon=True)
        self.raylet, self.killed = raylet_of(node), False

    def run(self) -> None:
        while (worker := works(self.raylet)) is None:
            time.sleep(0.002)
        os.kill(self.raylet, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        self.killed = True


def test_a_node_that_is_killed_costs_its_calls_alone(cluster: Any, filmed: Path, tmp_path: Path) -> None:
    executor, again = f"ray://{cluster.address}", tmp_path / "ray"
    killer = Killer(cluster.add_node(num_cpus=1))
    killer.start()
    assert run(["world", "film", *FILM, "--into", str(again), "--executor", executor]) == 0
    assert killer.killed
    assert run(["construct", str(again), "--executor", executor]) == 0
    assert files(again) == files(filmed)
    videos, curated = filmed.parent / "videos", tmp_path / "curated"
    assert run(["curate", str(videos), "--into", str(curated), *LENIENT, "--executor", executor]) == 0
    assert files(curated) == files(filmed.parent / "curated")


def test_a_node_that_joins_works_and_one_that_is_unfit_is_told_of(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, until_s = open_executor(f"ray://{cluster.address}"), time.monotonic() + 100
    naps = executor.map("time:sleep", repeat(NAP))
    assert next(naps)[1] is None
    with pytest.raises(ClusterError, match=rf"works with the Ray cluster at {cluster.address} already"):
        open_executor("ray://127.0.0.1:1")
    raylet = raylet_of(cluster.add_node(num_cpus=1))
    while works(raylet) is None:
        assert next(naps)[1] is None
        assert time.monotonic() < until_s
    # A node's own Python comes before what this process has.
    (tmp_path / "reeltalk").mkdir()
    (tmp_path / "reeltalk" / "__init__.py").write_text("raise ModuleNotFoundError('not here')")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    cluster.add_node(num_cpus=1)
    with pytest.raises(ClusterError, match=r"has no reeltalk .*not here.*install the same version"):
        all(time.monotonic() < until_s for _ in naps)
