"""One suite for every executor: order, failures of every kind, limits, and nothing left running."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reeltalk.parallel import Call, Executor, Failure, FailureKind, Limits, LocalExecutor

EXECUTORS: list[Callable[[], Executor]] = [lambda: LocalExecutor(1), lambda: LocalExecutor(3)]
WORK = "parallel_work"
LIMITS = Limits(wall_s=20, memory_bytes=256 << 20)

SOURCE = """
import os, signal, sys, time

def double(value): return value * 2
def refuse(value): raise ValueError(f"no {value}")
def crash(value): os.kill(os.getpid(), signal.SIGSEGV)
def leave(value): os._exit(3)
def sleep(value): time.sleep(value)
def grow(value): return len(bytearray(value << 20))
def babble(value): print("x" * 100000); sys.stderr.write("y" * 1000); return value
def odd(value): return {1, 2}
def touch(value):
    open(value + "/pid-" + str(os.getpid()), "w").close()
    time.sleep(60)
"""


@pytest.fixture(scope="module", autouse=True)
def work(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("work")
    (folder / f"{WORK}.py").write_text(SOURCE)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{before or ''}"
    yield folder
    os.environ["PYTHONPATH"] = before or ""


@pytest.fixture(params=EXECUTORS, ids=["local-1", "local-3"])
def executor(request: pytest.FixtureRequest) -> Executor:
    made: Executor = request.param()
    return made


def results(executor: Executor, function: str, *values: Any, limits: Limits = LIMITS) -> list[Any]:
    found = dict(executor.map(f"{WORK}:{function}", [Call(value, limits) for value in values]))
    return [found[index] for index in range(len(values))]


def test_every_call_has_its_result(executor: Executor) -> None:
    assert results(executor, "double", *range(40)) == [2 * n for n in range(40)]
    assert results(executor, "double") == []


@pytest.mark.parametrize(
    ("function", "value", "kind", "says"),
    [
        ("refuse", 7, FailureKind.ERROR, "ValueError: no 7"),
        ("odd", 0, FailureKind.ERROR, "TypeError"),
        ("crash", 0, FailureKind.DIED, "SIGSEGV"),
        ("leave", 0, FailureKind.DIED, "status 3"),
        ("sleep", 30, FailureKind.TIME, "longer than 1 s"),
        ("grow", 2000, FailureKind.MEMORY, "256 MiB"),
    ],
)
def test_a_call_that_fails_takes_nothing_with_it(
    executor: Executor, function: str, value: int, kind: FailureKind, says: str
) -> None:
    limits = Limits(wall_s=1, memory_bytes=256 << 20)
    for outcome in results(executor, function, value, value, limits=limits):
        assert isinstance(outcome, Failure)
        assert outcome.kind is kind
        assert says in str(outcome)
    assert results(executor, "double", 4) == [8]


def test_what_a_library_prints_does_not_reach_the_answer(executor: Executor) -> None:
    assert results(executor, "babble", 5) == [5]


def test_memory_below_the_limit_is_granted(executor: Executor) -> None:
    assert results(executor, "grow", 100) == [100 << 20]


def test_a_function_that_is_not_there_is_a_mistake(executor: Executor) -> None:
    with pytest.raises(RuntimeError, match="cannot be called: AttributeError"):
        results(executor, "nowhere", 1)


def test_closing_the_iterator_ends_what_runs(executor: Executor, tmp_path: Path) -> None:
    calls = [Call(0, LIMITS), Call(30, LIMITS), Call(30, LIMITS)]
    iterator = executor.map(f"{WORK}:sleep", calls)
    assert next(iterator) == (0, None)
    start = time.monotonic()
    iterator.close()  # type: ignore[attr-defined]
    assert time.monotonic() - start < 10
    running = [path.read_text() for path in Path(f"/proc/{os.getpid()}/task").glob("*/children")]
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for line in running for pid in line.split()]
    assert not any(WORK.encode() in command for command in commands)


def wait_for_pid(folder: Path) -> int:
    for _ in range(200):
        found = list(folder.glob("pid-*"))
        if found:
            return int(found[0].name.removeprefix("pid-"))
        time.sleep(0.05)
    raise AssertionError("the call did not start")


def test_nothing_outlives_a_parent_that_is_killed(work: Path, tmp_path: Path) -> None:
    code = (
        "from reeltalk.parallel import *\n"
        f"list(LocalExecutor(1).map('{WORK}:touch', [Call({str(tmp_path)!r}, Limits(wall_s=60))]))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    pid = wait_for_pid(tmp_path)
    parent.kill()
    parent.wait()
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            return
        time.sleep(0.1)
    raise AssertionError("the child still runs")
