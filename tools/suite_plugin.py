"""How the test suite runs: in a home of its own, in which order, for how long, and with how much memory.

A plugin of pytest, loaded by `conftest.py`.
"""

import contextlib
import ctypes
import functools
import gc
import os
import random
import resource
import shutil
import signal
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest

REALTIME: Final = (os.SCHED_FIFO, os.SCHED_RR) if hasattr(os, "SCHED_FIFO") else ()
LOOK_EVERY_S: Final = 2.0
SECONDS: Final = "reeltalk/seconds"
"""Under this name pytest's cache keeps how long each file took when it last ran."""
EXPECTED_S: Final = {
    "tests/contract/test_pages.py": 60.0,
    "tests/contract": 5.0,
    "tests/integration/test_examples.py": 60.0,
    "tests/integration/test_full_disks.py": 30.0,
    "packages/reeltalk-review/tests/integration/test_review_roles.py": 25.0,
    "tests/integration": 20.0,
    "packages/reeltalk/tests/integration": 20.0,
    "packages/reeltalk-build/tests/integration": 20.0,
    "packages/reeltalk-household/tests/integration": 20.0,
    "packages/reeltalk-review/tests/integration": 8.0,
    "packages/reeltalk-streaming/tests/integration": 20.0,
    "packages/reeltalk-build/tests/unit/video/test_shots.py": 15.0,
    "packages/reeltalk/tests/unit/evaluate/test_frames.py": 40.0,
    "packages/reeltalk-build/tests/unit/construct/test_graph_writer.py": 45.0,
    "packages/reeltalk-build/tests/unit/construct": 8.0,
    "packages/reeltalk-household/tests/unit/construct": 8.0,
    "packages/reeltalk-review/tests/unit/review/test_defects.py": 15.0,
    "packages/reeltalk-review/tests/unit": 4.0,
    "packages/reeltalk-streaming/tests/unit": 15.0,
    "packages/reeltalk-household/tests/unit/streaming": 15.0,
    "packages/reeltalk-household/tests/unit/world": 30.0,
}
"""How long a file takes that has not run here yet, by the start of its path; others take a second."""
TRIMMED_MB: Final = 64.0
"""When a file has taken so much more memory than was held before it, what its tests have left is collected."""
COLLECTED_AFTER: Final = (20_000, 10, 10)
"""The collector looks for circles after so many new objects, 30 times more than by default: that is a fifteenth of the
time of tests that make many objects."""
AGAIN_AFTER_S: Final = 20.0
"""A test that goes on after its limit, as where it waits for a process at its end, is interrupted again."""
KEPT: Final = {
    "PIP_CACHE_DIR": (".cache/pip",),
    "PIP_CONFIG_FILE": (".config/pip/pip.conf", ".pip/pip.conf"),
    "GIT_CONFIG_GLOBAL": (".gitconfig", ".config/git/config"),
    "NPM_CONFIG_CACHE": (".npm",),
    "NPM_CONFIG_USERCONFIG": (".npmrc",),
}
"""What a test may still read of the user's home, by the variable that names it: how packages and commits are found."""
XDG: Final = {
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run files, and the tests of each, in a random order")


def pytest_configure(config: pytest.Config) -> None:
    if not (config.getoption("--full", default=False) or config.getoption("--release", default=False)):
        # Of generated cases a fifth, where a test states no number of its own; a machine that is busy is no failure.
        hypothesis.settings.register_profile(
            "make test", max_examples=20, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
        )
        hypothesis.settings.load_profile("make test")
        _do_not_wait_for_disks(config)
    _share_arenas()
    config.pluginmanager.register(Used(config), "time-and-memory")
    # Workers are processes of the first one, and inherit all this.
    if hasattr(config, "workerinput"):
        return
    config.add_cleanup(_own_home())
    # Under root, processes of a test run were more than once found with a real-time priority that no test asks for, and
    # spun with it until nothing else ran. Whatever gives it to them: the first process of a run takes it away again.
    if REALTIME:
        threading.Thread(target=_keep_calm, name="keep-calm", daemon=True).start()


def _do_not_wait_for_disks(config: pytest.Config) -> None:
    """Let nothing in this process wait until its files are on the disk, which is half of the time of many tests.

    Power cuts are tried on processes of their own, which wait.
    """
    for name in ("fsync", "fdatasync"):
        if hasattr(os, name):
            config.add_cleanup(functools.partial(setattr, os, name, getattr(os, name)))
            setattr(os, name, lambda descriptor: None)


def _share_arenas() -> None:
    """Let all threads take their memory from two heaps. By default each has its own, and much of it is never reused."""
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(-8, 2)


def _give_back_memory() -> None:
    gc.collect()
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _own_home() -> Callable[[], None]:
    """Give this process an empty home; what is returned takes it away."""
    before = dict(os.environ)
    user = Path.home()
    home = Path(tempfile.mkdtemp(prefix="reeltalk-home-"))
    for variable, places in KEPT.items():
        found = next((user / place for place in places if (user / place).exists()), None)
        if found is not None:
            os.environ.setdefault(variable, str(found))
    os.environ |= {"HOME": str(home)} | {variable: str(home / place) for variable, place in XDG.items()}

    def leave() -> None:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(home, ignore_errors=True)

    return leave


def _keep_calm() -> None:
    while True:
        for process in own_processes():
            with contextlib.suppress(OSError):
                for task in map(int, os.listdir(f"/proc/{process}/task")):
                    if os.sched_getscheduler(task) in REALTIME:
                        os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
        time.sleep(LOOK_EVERY_S)


def own_processes() -> dict[int, float]:
    """This process and all that descend from it, each with when it began, in seconds since the machine did."""
    parents: dict[int, int] = {}
    begun_s: dict[int, float] = {}
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
            # The name in brackets may hold anything; the parent is the second field after it, and the start the 20th.
            fields = stat.rpartition(")")[2].split()
            parents[process], begun_s[process] = int(fields[1]), int(fields[19]) / os.sysconf("SC_CLK_TCK")
    own = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return {process: begun_s.get(process, 0.0) for process in own}


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> Iterator[None]:
    """Let the limit of a test end the processes that it started too, so that nothing waits for them."""
    done = yield
    interrupt = signal.getsignal(signal.SIGALRM)
    if settings.method == "signal" and callable(interrupt):
        # The kernel rounds down when a process began.
        begun_s = time.clock_gettime(time.CLOCK_BOOTTIME) - 1 / os.sysconf("SC_CLK_TCK")

        def end(number: int, frame: Any) -> None:
            signal.setitimer(signal.ITIMER_REAL, AGAIN_AFTER_S)
            for process, started_s in own_processes().items():
                if started_s >= begun_s and process != os.getpid():
                    with contextlib.suppress(OSError):
                        os.kill(process, signal.SIGKILL)
            interrupt(number, frame)

        signal.signal(signal.SIGALRM, end)
    return done


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    # All workers need the same order.
    node.workerinput["seconds"] = _seconds(node.config)


def _seconds(config: pytest.Config) -> dict[str, float]:
    if hasattr(config, "workerinput"):
        return dict(config.workerinput["seconds"])
    cache: pytest.Cache | None = getattr(config, "cache", None)
    return dict(cache.get(SECONDS, {})) if cache is not None else {}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    files: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        files[_file(item.nodeid)].append(item)
    if (seed := config.getoption("--shuffle")) is not None:
        chance = random.Random(seed)
        names = sorted(files)
        chance.shuffle(names)
        for name in names:
            chance.shuffle(files[name])
        items[:] = [item for name in names for item in files[name]]
        return
    workers = int(getattr(config, "workerinput", {}).get("workercount", 1))
    if workers > 1:
        together = [name for name, found in files.items() if getattr(found[0], "together", False)]
        order = dealt(list(files), _seconds(config), workers, together)
        items[:] = [item for name in order for item in files[name]]


def dealt(names: Sequence[str], seconds: dict[str, float], workers: int, together: Sequence[str] = ()) -> list[str]:
    """Files in an order that keeps all workers busy to the end.

    Each worker begins with a part of this order, and takes from the end of another's part when it has none left. So a
    part begins with what takes longest, and the parts take about the same time.

    Args:
        names: The files.
        seconds: How long a file takes, where that is known.
        workers: How many workers there are.
        together: Files for one worker, which begins with them.
    """

    def expected(name: str) -> float:
        starts = (s for start, s in EXPECTED_S.items() if name.startswith(start))
        return seconds.get(name, next(starts, 1.0))

    parts: list[list[str]] = [[] for _ in range(workers)]
    taken = [0.0] * workers
    for name in sorted(names, key=lambda name: (name not in together, -expected(name), name)):
        least = 0 if name in together else min(range(workers), key=lambda worker: taken[worker])
        parts[least].append(name)
        taken[least] += expected(name)
    return [name for part in parts for name in part]


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _suite(nodeid: str) -> str:
    return "/".join(_file(nodeid).split("/")[:2])


class Used:
    """Time and memory: how long each suite and file took, the most memory that each worker held, and where it grew."""

    MANY = 3
    """So many files are named for each worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._peaks: dict[str, dict[str, float]] = {}
        self._grown: dict[str, float] = defaultdict(float)
        self._held_mb = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        # What is imported stays, so there is nothing to collect.
        gc.disable()
        try:
            done = yield
        finally:
            gc.enable()
        return done

    def pytest_collection_finish(self) -> None:
        # Modules and tests stay to the end: the collector need not look at them again and again.
        _give_back_memory()
        gc.freeze()
        gc.set_threshold(*COLLECTED_AFTER)
        self._held_mb = held_mb()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        before = peak_mb()
        done = yield
        self._grown[_file(item.nodeid)] += peak_mb() - before
        if nextitem is None or nextitem.path != item.path:
            if held_mb() > self._held_mb + TRIMMED_MB:
                _give_back_memory()
                self._held_mb = held_mb()
        return done

    def pytest_sessionfinish(self) -> None:
        if self._grown:
            most = sorted(self._grown, key=lambda name: -self._grown[name])[: self.MANY]
            found = {"": peak_mb()} | {name: self._grown[name] for name in most}
            if hasattr(self._config, "workeroutput"):
                self._config.workeroutput["memory"] = found
            else:
                self._peaks["this process"] = found

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if "memory" in (getattr(node, "workeroutput", None) or {}):
            self._peaks[node.gateway.id] = node.workeroutput["memory"]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        seconds: dict[str, float] = defaultdict(float)
        counts: dict[str, int] = defaultdict(int)
        for reports in terminalreporter.stats.values():
            for report in reports:
                if isinstance(report, pytest.TestReport):
                    seconds[_file(report.nodeid)] += report.duration
                    counts[_suite(report.nodeid)] += report.when == "call"
        terminalreporter.section("time by suite, and memory of each worker")
        for suite, count in sorted(counts.items()):
            took_s = sum(s for name, s in seconds.items() if _suite(name) == suite)
            terminalreporter.write_line(f"{suite:<24} {count:>6} tests {took_s:>9.1f} s")
        cache: pytest.Cache | None = getattr(self._config, "cache", None)
        if cache is not None and not hasattr(self._config, "workerinput"):
            cache.set(SECONDS, _seconds(self._config) | {name: round(s, 2) for name, s in seconds.items()})
        for worker, found in sorted(self._peaks.items()):
            grown = ", ".join(f"{name} +{mb:.0f}" for name, mb in found.items() if name and mb >= 1)
            terminalreporter.write_line(f"{worker}: at most {found['']:.0f} MB; {grown or 'no file took more'}")


def held_mb() -> float:
    """The memory that this process holds now, where the kernel says so; else the most so far."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak_mb()
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def peak_mb() -> float:
    """The most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
