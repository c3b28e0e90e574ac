"""Stages on two Ray nodes give what they give locally, also where a node or the head is killed while it works.

The clusters of the page on scaling are started with its own commands, from homes that are empty.

Ray runs in processes of its own: a worker of the tests that loads it keeps its threads, and its 200 MB.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from places import doc_page

from reeltalk.cli import run

# tests/unit/parallel has Ray on one machine.
pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]

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
ASK = """
import sys
from reeltalk.errors import ClusterError
from reeltalk.parallel import Call, open_executor

try:
    print(*(outcome for _, outcome in open_executor(sys.argv[1], 1).map("os:getenv", [Call("CLUSTER")])))
except ClusterError as error:
    print(error)
"""
RUN = """
import sys
from reeltalk.cli import run

sys.exit(run(sys.argv[1:]))
"""
PAGE = doc_page("how-to/scale.md")
SMALL = "--num-cpus=1 --include-dashboard=false --object-store-memory=104857600 --disable-usage-stats --block"


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


@dataclass
class Documented:
    """A cluster that the commands of the page start, of which every machine is this one.

    Args:
        name: What a call sees as `CLUSTER`.
        folder: For the files of Ray, whose paths must be short.
    """

    name: str
    folder: Path
    port: int = field(default_factory=lambda: free_port())
    machines: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        home.mkdir(exist_ok=True)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        ours = {"HOME": str(home), "CLUSTER": self.name, "RAY_TMPDIR": str(self.folder), "RAY_worker_niceness": "0"}
        return inherited | ours | more

    def start(self, home: Path, begins: str, token_at: Path | None = None, tokens: bool = True) -> None:
        """Do what the page says for the head, or for another node, on a machine with this home."""
        found = re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        commands = next(block for block in found if begins in block)
        for written, here in (
            ("--port=6379", f"--port={self.port} --node-ip-address=127.0.0.1"),
            ("10.0.0.1:6379", f"{self.address} --node-ip-address=127.0.0.1"),
            # No SSH server runs here.
            ("scp -p 10.0.0.1:.ray/auth_token", f"cp -p {token_at}"),
        ):
            commands = commands.replace(written, here)
        commands = re.sub("^ray start", f"exec ray start {SMALL}", commands, flags=re.MULTILINE)
        if not tokens:
            commands = "export RAY_AUTH_MODE=disabled\n" + commands[commands.index("exec ray start") :]
        if begins == NODE:
            commands = commands.replace("--include-dashboard=false", "")
        log = self.folder / f"{len(self.machines)}.log"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        with log.open("wb") as said:
            process = subprocess.Popen(
                ["bash", "-euc", commands], env=self.environment(home, PATH=path), stdout=said, stderr=said
            )
        self.machines.append(process)
        wait_for(lambda: b"Ray runtime started" in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text()

    def ask(self, address: str, home: Path, **more: str) -> "subprocess.CompletedProcess[str]":
        """The name of the cluster at an address, or why it is not told."""
        command, environment = [sys.executable, "-c", ASK, address], self.environment(home, **more)
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def end(self) -> None:
        """Power off all machines."""
        for process in self.machines:
            kill_tree(process.pid)
            process.wait()
        self.machines.clear()


HEAD, NODE = "ray start --head", "ray start --address"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def kill_tree(pid: int) -> None:
    below = children(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    for child in below:
        kill_tree(child)


@pytest.fixture
def documented() -> Iterator[Callable[[str], Documented]]:
    """Makes clusters, whose machines are powered off at the end of a test."""
    made: list[Documented] = []

    def make(name: str) -> Documented:
        made.append(Documented(name, Path(tempfile.mkdtemp(prefix="ray"))))
        return made[-1]

    yield make
    for cluster in made:
        cluster.end()
        shutil.rmtree(cluster.folder)


def test_the_cluster_of_the_page_works_from_an_empty_home_after_ray_on_one_machine(
    documented: Callable[[str], Documented], tmp_path: Path
) -> None:
    cluster, home, other = documented("kitchen"), tmp_path / "head", tmp_path / "other"
    assert cluster.ask("ray", home).stdout == "kitchen\n"
    assert not list(home.iterdir()), "Ray on one machine leaves a token that every later cluster wants"
    replies = []
    for _ in range(2):
        cluster.end()
        cluster.start(home, HEAD)
        token = home / ".ray" / "auth_token"
        assert token.stat().st_mode & 0o777 == 0o600
        cluster.start(other, NODE, token)
        assert (other / ".ray" / "auth_token").stat().st_mode & 0o777 == 0o600
        for address in ("ray://auto", f"ray://{cluster.address}"):
            replies.append(cluster.ask(address, other))
            assert replies[-1].stdout == "kitchen\n"
    nobody = tmp_path / "nobody"
    replies += [
        cluster.ask(f"ray://{cluster.address}", nobody),
        cluster.ask(f"ray://{cluster.address}", other, RAY_AUTH_TOKEN="0" * 64),
        cluster.ask(f"ray://{cluster.address}", other, RAY_AUTH_MODE="disabled"),
        cluster.ask(f"ray://127.0.0.1:{free_port()}", other),
    ]
    none, wrong, forbidden, no_cluster = (reply.stdout for reply in replies[-4:])
    assert re.search(rf"wants a token, and this machine has none; copy .* to {nobody}/.ray/auth_token", none)
    assert re.search("refuses the token of RAY_AUTH_TOKEN; unset RAY_AUTH_TOKEN and copy ~/.ray/auth_token", wrong)
    assert "wants a token, and RAY_AUTH_MODE=disabled forbids one here; unset RAY_AUTH_MODE" in forbidden
    assert "no Ray cluster at" in no_cluster
    assert "token" not in no_cluster
    said = "".join(reply.stdout + reply.stderr for reply in replies)
    assert token.read_text() not in said
    assert "0" * 64 not in said


def test_a_second_cluster_is_used_by_its_address_and_leaves_the_first_alone(
    documented: Callable[[str], Documented], tmp_path: Path
) -> None:
    first, second, home = documented("first"), documented("second"), tmp_path / "home"
    first.start(home, HEAD, tokens=False)
    # Its token is there now for both, and the first wants none.
    second.start(home, HEAD)
    for cluster in (second, first, second):
        assert first.ask(f"ray://{cluster.address}", home).stdout == f"{cluster.name}\n"
    second.end()
    assert f"no Ray cluster at {second.address}" in first.ask(f"ray://{second.address}", home).stdout
    assert first.ask(f"ray://{first.address}", home).stdout == "first\n"


def test_the_command_continues_after_the_death_of_the_head(
    documented: Callable[[str], Documented], filmed: Path, filming: tuple[str, ...], tmp_path: Path
) -> None:
    cluster, home, again = documented("kitchen"), tmp_path / "home", tmp_path / "ray"
    executor = ("--executor", f"ray://{cluster.address}")
    film, construct = (
        [sys.executable, "-c", RUN, *command, *executor]
        for command in (["world", "film", *filming, "--into", str(again)], ["construct", str(again)])
    )
    cluster.start(home, HEAD)
    with subprocess.Popen(film, env=cluster.environment(home), stderr=subprocess.PIPE, text=True) as process:
        work = again / ".work" / "film"
        wait_for(lambda: list(work.glob("*.json")) != [] or process.poll() is not None)
        assert process.poll() is None
        kept = next(work.glob("*.json")).with_suffix(".mp4")
        kept_since = {kept.stat().st_mtime_ns}
        cluster.end()
        said = process.communicate()[1]
    assert process.returncode == 2
    assert re.search(
        "the head of the Ray cluster at .* does not answer any more; start .* again .*: it continues", said
    )
    cluster.start(home, HEAD)
    with subprocess.Popen(film, env=cluster.environment(home), text=True) as process:
        while process.poll() is None:
            # The folder goes at the end.
            with contextlib.suppress(FileNotFoundError):
                kept_since.add(kept.stat().st_mtime_ns)
            time.sleep(0.05)
    assert process.returncode == 0
    assert len(kept_since) == 1, "what was filmed before is filmed again"
    subprocess.run(construct, env=cluster.environment(home), check=True)
    assert files(again) == files(filmed)


def test_the_death_of_the_own_node_ends_the_command(documented: Callable[[str], Documented], tmp_path: Path) -> None:
    cluster, home = documented("kitchen"), tmp_path / "home"
    cluster.start(home, HEAD)
    raylet = next(pid for pid in children(cluster.machines[0].pid) if b"/raylet/raylet" in command_line(pid))
    program = [sys.executable, "-c", NAPS, f"ray://{cluster.address}"]
    with subprocess.Popen(program, env=cluster.environment(home), stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: works(raylet) is not None or process.poll() is not None)
        assert process.poll() is None
        os.kill(raylet, signal.SIGKILL)
        said = process.communicate()[0]
    assert process.returncode == 0
    assert re.search(
        "the node of this machine.* died; start the cluster again|the head of the .* does not answer", said
    )


def command_line(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""
