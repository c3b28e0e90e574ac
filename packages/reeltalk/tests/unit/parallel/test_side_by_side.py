"""Processes side by side: what they tell arrives, the first failure ends all of them, and none outlives its parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk.errors import BudgetError, ProcessError, ReeltalkError
from reeltalk.parallel.side_by_side import side_by_side

SOURCE = """
import os, pathlib, signal, time
from reeltalk.errors import BudgetError, InputError

def name(variable, told):
    told(os.environ.get(variable))

def count(upto, told):
    print("this is no line of the protocol")
    for number in range(upto):
        told(number)

def end(how, told):
    folder, what = how
    if what == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pathlib.Path(folder, f"pid-{os.getpid()}").touch()
    told(os.getpid())
    match what:
        case "budget": raise BudgetError("the budget is spent")
        case "input": raise InputError("it is torn", file="a.jsonl", line=3)
        case "bug": raise ValueError("a mistake of ours")
        case "die": os.kill(os.getpid(), signal.SIGKILL)
        case "wait" | "deaf": time.sleep(60)
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "side_work.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]))


def pids(folder: Path) -> list[int]:
    return [int(path.name.partition("-")[2]) for path in folder.glob("pid-*")]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def within(seconds: float, reached: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.01)
    return reached()


def test_what_each_process_tells_arrives_in_its_order() -> None:
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    side_by_side("side_work:count", [3, 0, 5], lambda number, value: found[number].append(value))
    assert found == {0: [0, 1, 2], 1: [], 2: [0, 1, 2, 3, 4]}


def test_each_process_has_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEN", "0,1")
    found: dict[int, object] = {}
    side_by_side("side_work:name", ["SEEN", "SEEN"], found.__setitem__, variables=[{"SEEN": "1"}, {}])
    assert found == {0: "1", 1: "0,1"}


@pytest.mark.parametrize(
    ("what", "kind", "says"),
    [
        ("budget", BudgetError, r"^the budget is spent$"),
        ("input", ReeltalkError, r"it is torn \(a\.jsonl:3\)"),
        ("bug", ValueError, "a mistake of ours"),
        ("die", ProcessError, "process 1 of 2 was killed by SIGKILL, as happens where memory runs out"),
    ],
)
def test_the_first_failure_is_raised_and_the_others_are_ended(
    tmp_path: Path, what: str, kind: type[Exception], says: str
) -> None:
    with pytest.raises(kind, match=says):
        side_by_side("side_work:end", [[str(tmp_path), what], [str(tmp_path), "wait"]], lambda number, value: None)
    assert all(map(gone, pids(tmp_path)))


def test_ctrl_c_ends_all(tmp_path: Path) -> None:
    begun = []

    def told(number: int, pid: int) -> None:
        begun.append(pid)
        if len(begun) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        side_by_side("side_work:end", [[str(tmp_path), "wait"]] * 2, told)
    assert all(map(gone, begun))


def test_no_process_outlives_a_parent_that_is_killed(tmp_path: Path) -> None:
    source = f"""
from reeltalk.parallel.side_by_side import side_by_side
side_by_side("side_work:end", [[{str(tmp_path)!r}, "deaf"]] * 2, lambda number, value: None)
"""
    with subprocess.Popen([sys.executable, "-c", source]) as parent:
        assert within(30, lambda: len(pids(tmp_path)) == 2)
        parent.kill()
    assert within(30, lambda: all(map(gone, pids(tmp_path))))
