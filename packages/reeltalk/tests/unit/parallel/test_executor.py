"""One suite for every executor: order, failures of every kind, limits, and nothing left running."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reeltalk.parallel import Call, Executor, Failure, FailureKind, Limits, LocalExecutor, open_executor

EXECUTORS = (("local", 1), ("local", 3), ("ray", 3))
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
    folder, seconds = value
    open(folder + "/pid-" + str(os.getpid()), "w").close()
    time.sleep(seconds)
"""


@pytest.fixture(scope="module", autouse=True)
def work(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("work")
    (folder / f"{WORK}.py").write_text(SOURCE)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = f"{folder}{os.pathsep}{before or ''}"
    # Processes of this machine have the path of this one, and the workers of Ray the variable.
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))
    os.environ["PYTHONPATH"] = before or ""


@pytest.fixture(scope="module")
def own_ray(work: Path) -> Iterator[str]:
    """Address of Ray on this machine, which knows the functions of `work`."""
    with pytest.MonkeyPatch.context() as patch:
        # So that another process can join it.
        patch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        open_executor("ray", 3)
        import ray

        yield f"ray://{ray.get_runtime_context().gcs_address}"
        ray.shutdown()


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=pytest.mark.slow if one[0] == "ray" else ()) for one in EXECUTORS],
    ids=["local-1", "local-3", "ray-3"],
)
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """One for all tests, as a process keeps one: what a call did to it, the next test finds."""
    name, workers = request.param
    if name == "ray":
        request.getfixturevalue("own_ray")
    opened = open_executor(name, workers)
    yield opened
    if isinstance(opened, LocalExecutor):
        opened.close()


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


def test_a_lower_limit_of_the_shell_holds_and_is_named() -> None:
    program = (
        "import json, resource\n"
        "from reeltalk.parallel import work\n"
        "resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20))\n"
        "print(work.run_call('builtins:len', json.dumps([1, 2]), 4 << 30))\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0] >> 20)\n"
        "try:\n"
        "    work.read_outcome('x:y', work.run_call('no_such_module:f', '1', 1))\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    answer, limit_mib, said = done.stdout.splitlines()
    assert json.loads(answer) == {"result": 2}
    assert limit_mib == "900"
    assert said.startswith("MissingToolError a process that reads videos cannot begin: ModuleNotFoundError")
    assert "allows each process 900 MiB in all: see 'ulimit -v'" in said


def is_running(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and "Z" not in state.read_text().rpartition(")")[2].split()[0]


def pids(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def test_closing_the_iterator_ends_what_runs(executor: Executor, tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    calls = [Call([str(tmp_path / "first"), 0], LIMITS), *(Call([str(tmp_path), 60], LIMITS) for _ in range(2))]
    iterator = executor.map(f"{WORK}:touch", calls)
    assert next(iterator) == (0, None)
    wait_until(lambda: bool(pids(tmp_path)))
    iterator.close()  # type: ignore[attr-defined]
    wait_until(lambda: not any(map(is_running, pids(tmp_path))))


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(400):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to be")


@pytest.mark.parametrize("name", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_nothing_outlives_a_parent_that_is_killed(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    if name == "ray":
        name = request.getfixturevalue("own_ray")
    code = (
        "from reeltalk.parallel import *\n"
        f"list(open_executor({name!r}, 1).map('{WORK}:touch', [Call([{str(tmp_path)!r}, 60], Limits(wall_s=60))]))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    wait_until(lambda: bool(pids(tmp_path)))
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(map(is_running, pids(tmp_path))))


def test_calls_are_taken_as_workers_become_free(executor: Executor) -> None:
    taken = []

    def calls() -> Iterator[Call]:
        for value in range(1000):
            taken.append(value)
            yield Call(value, LIMITS)

    iterator = executor.map(f"{WORK}:double", calls())
    for _ in range(5):
        next(iterator)
    assert len(taken) < 20
    iterator.close()  # type: ignore[attr-defined]
