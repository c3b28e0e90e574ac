"""Stages on two Ray nodes give what they give locally, also where one node is killed while it works.

Ray runs in processes of its own: a worker of the tests that loads it keeps its threads, and its 200 MB.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reeltalk.cli import run

pytestmark = pytest.mark.timeout(900)

LENIENT = (
    *("--min-shots", "1", "--min-mean-shot-s", "0", "--max-mean-shot-s", "9000", "--min-flow-px", "0"),
    *("--max-flow-px", "9999", "--min-duration-s", "0", "--cut", "lossless", "--save-frames"),
)
CLUSTER = """
import json, os, sys
from ray.cluster_utils import Cluster

quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 2, "health_check_initial_delay_ms": 0}
head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}

def patiently(make):
    # Ray gives a node 30 seconds to start, which are few on a machine that is busy.
    for _ in range(3):
        try:
            return make()
        except Exception as error:
            print(error, file=sys.stderr)
    return make()

cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=dict(head)))
print(cluster.address, flush=True)
for line in sys.stdin:
    os.environ.update(json.loads(line))
    node = patiently(lambda: cluster.add_node(num_cpus=1))
    print(node.all_processes["raylet"][0].process.pid, flush=True)
cluster.shutdown()
"""
COMMANDS = """
import json, sys
from reeltalk.cli import run

for command in json.loads(sys.argv[1]):
    assert run(command) == 0, command
"""
NAPS = """
import sys, time
from itertools import repeat
from reeltalk.errors import ClusterError
from reeltalk.parallel import Call, open_executor

naps, until_s = open_executor(sys.argv[1]).map("time:sleep", repeat(Call(0.3))), time.monotonic() + 200
assert next(naps)[1] is None
try:
    open_executor("ray://127.0.0.1:1")
except ClusterError as error:
    print(error, flush=True)
try:
    all(outcome is None and time.monotonic() < until_s for _, outcome in naps)
except ClusterError as error:
    print(error, flush=True)
"""


@dataclass
class Nodes:
    """A Ray cluster whose head has one core, in a process of its own."""

    address: str
    environment: dict[str, str]
    """For whoever works with it."""
    process: "subprocess.Popen[str]"

    def add(self, **environment: str) -> int:
        """The raylet of another node of one core, with an environment of its own."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(environment) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    @contextlib.contextmanager
    def running(self, program: str, argument: str) -> Iterator["subprocess.Popen[str]"]:
        """A Python program that may work with the cluster, until the block ends."""
        command = [sys.executable, "-c", program, argument]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self.environment) as process:
            try:
                yield process
            finally:
                process.kill()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    # Ray keeps the token of its clusters in the home.
    environment = os.environ | {"HOME": str(tmp_path_factory.mktemp("home")), "RAY_worker_niceness": "0"}
    command = [sys.executable, "-c", CLUSTER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        yield Nodes(process.stdout.readline().strip(), environment, process)


@pytest.fixture(scope="module")
def filming(full: bool) -> tuple[str, ...]:
    """What is filmed: a video for each core, and more of them with full counts."""
    counts = ("--scenarios", "3", "--max-duration-s", "90") if full else ("--scenarios", "2", "--max-duration-s", "45")
    short = () if full else ("--min-duration-s", "20")
    return ("--houses", "1", "--width-px", "320", "--fps", "2", *counts, *short)


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory, filming: tuple[str, ...]) -> Path:
    """Filmed and constructed locally; beside it what was curated from its videos."""
    folder = tmp_path_factory.mktemp("local") / "household"
    assert run(["world", "film", *filming, "--into", str(folder)]) == 0
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


def workers_of(raylet: int) -> list[int]:
    return [pid for pid in children(raylet) if b"ray::" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def works(raylet: int) -> int | None:
    """A worker of a node on which a call runs: its forking process has a child."""
    return next((pid for pid in workers_of(raylet) if any(children(forking) for forking in children(pid))), None)


class Killer(threading.Thread):
    """Kills a node, and what runs on it, while a call runs there."""

    def __init__(self, raylet: int) -> None:
        super().__init__(daemon=True)
        self.raylet, self.killed = raylet, False

    def run(self) -> None:
        while (worker := works(self.raylet)) is None:
            time.sleep(0.002)
        os.kill(self.raylet, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        self.killed = True


def test_a_node_that_is_killed_costs_its_calls_alone(
    cluster: Nodes, filmed: Path, filming: tuple[str, ...], tmp_path: Path
) -> None:
    executor, again, curated = ("--executor", f"ray://{cluster.address}"), tmp_path / "ray", tmp_path / "curated"
    killer = Killer(cluster.add())
    killer.start()
    commands = [
        ["world", "film", *filming, "--into", str(again), *executor],
        ["construct", str(again), *executor],
        ["curate", str(filmed.parent / "videos"), "--into", str(curated), *LENIENT, *executor],
    ]
    with cluster.running(COMMANDS, json.dumps(commands)) as process:
        print(process.communicate()[0])
    assert process.returncode == 0
    assert killer.killed
    assert files(again) == files(filmed)
    assert files(curated) == files(filmed.parent / "curated")


def test_a_node_that_joins_works_and_one_that_is_unfit_is_told_of(cluster: Nodes, tmp_path: Path) -> None:
    with cluster.running(NAPS, f"ray://{cluster.address}") as process:
        assert process.stdout is not None
        assert f"works with the Ray cluster at {cluster.address} already" in process.stdout.readline()
        raylet = cluster.add()
        wait_for(lambda: works(raylet) is not None or process.poll() is not None)
        assert process.poll() is None
        # A node's own Python comes before what this process has.
        (tmp_path / "reeltalk").mkdir()
        (tmp_path / "reeltalk" / "__init__.py").write_text("raise ModuleNotFoundError('not here')")
        cluster.add(PYTHONPATH=f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        said = process.communicate()[0]
    assert process.returncode == 0
    assert re.search(r"has no reeltalk .*not here.*install the same version", said)


def wait_for(reached: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 200
    while not reached():
        assert time.monotonic() < until_s
        time.sleep(0.05)
