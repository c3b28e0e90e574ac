"""How the suite runs: a home of its own, limits that end what a test started, every order, all workers busy."""

import os
import re
import subprocess
import sys
from pathlib import Path

import own_processes
import pytest
import suite_plugin

ROOT = Path(__file__).parents[2]
TESTS = """
import os, subprocess
from pathlib import Path

def test_that_waits_for_what_it_started():
    with subprocess.Popen(["sleep", "1000"]) as process:
        Path("process").write_text(str(process.pid))
        process.wait()

def test_after_it():
    assert Path("process").read_text() not in os.listdir("/proc")
    (Path.home() / "token").write_text("")
    (Path(os.environ["XDG_CACHE_HOME"]).parent / "another").write_text("")
"""


def of(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A run of the plugin alone."""
    plugins = ("-p", "suite_plugin", "-p", "no:cacheprovider", "-p", "no:schemathesis")
    command = [sys.executable, "-m", "pytest", "-q", *plugins, *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tools"), "HOME": str(folder / "home"), "PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_a_limit_ends_a_test_with_its_processes_and_nothing_is_left_at_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    done = of(tmp_path, "--timeout", "2")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "Timeout" in done.stdout
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.slow
def test_the_most_memory_of_each_worker_is_told_with_where_it_grew(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "test_large.py").write_text("def test_a():\n    bytearray(b'1') * (200 << 20)\n", encoding="utf-8")
    (tmp_path / "test_small.py").write_text("def test_b(): pass\n", encoding="utf-8")
    told = [line for line in of(tmp_path, "-n", "2").stdout.splitlines() if line.startswith("gw")]
    assert len(told) == 2
    (large,) = (line for line in told if "test_large.py" in line)
    found = re.fullmatch(r"gw\d: at most (\d+) MB; test_large.py \+(\d+)", large)
    assert found is not None
    peak_mb, grown_mb = map(int, found.groups())
    assert 150 < grown_mb < peak_mb


def test_a_shuffled_order_is_that_of_its_seed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    for name in "abc":
        tests = "".join(f"def test_{number}(): pass\n" for number in range(4))
        (tmp_path / f"test_{name}.py").write_text(tests, encoding="utf-8")

    def order(*options: str) -> list[str]:
        return [line for line in of(tmp_path, "--collect-only", *options).stdout.splitlines() if "::" in line]

    one, again, other, usual = (order("--shuffle", "1"), order("--shuffle", "1"), order("--shuffle", "2"), order())
    assert one == again
    assert len({tuple(one), tuple(other), tuple(usual)}) == 3
    assert sorted(one) == sorted(other) == usual


def test_files_are_dealt_so_that_workers_end_together() -> None:
    seconds = {"a": 100.0, "b": 60.0, "c": 50.0, "d": 1.0, "e": 2.0}
    assert suite_plugin.dealt(list(seconds), seconds, 2) == ["a", "e", "d", "b", "c"]
    assert suite_plugin.dealt(list(seconds), seconds, 2, together=["d", "e"]) == ["e", "d", "b", "c", "a"]
    assert suite_plugin.dealt(["tests/unit/a.py", "tests/integration/b.py"], {}, 1)[0] == "tests/integration/b.py"


WITHOUT_TORCH = """
import launched_runs
launched_runs.FOR_TESTS = ("pytest",)
pytest_plugins = ("own_processes",)
"""
IN_A_PROCESS = """
import os
from pathlib import Path

PROCESS = os.getpid()
def test_a(): Path("process").write_text(str(PROCESS))
def test_b(): assert 1 == 2, "so it is"
"""


@pytest.mark.slow
def test_a_file_of_much_memory_has_a_process_of_its_own_and_fails_with_its_tests(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    file = tmp_path / min(own_processes.FILES)
    file.parent.mkdir(parents=True)
    file.write_text(IN_A_PROCESS, encoding="utf-8")
    (tmp_path / "conftest.py").write_text(WITHOUT_TORCH, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    done = of(tmp_path, "-n", "1")
    assert "AssertionError: so it is" in done.stdout, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout, "the tests of the file"
    assert f"FAILED {min(own_processes.FILES)}::{own_processes.NAME}" in done.stdout
    (tmp_path / "process").unlink()
    for options in (("-n", "0", "-k", "test_a"), ("-n", "1", f"{file}::test_a")):
        done = of(tmp_path, *options)
        assert own_processes.NAME not in done.stdout, "without workers and by name as all others"
        assert "1 passed" in done.stdout
        (tmp_path / "process").unlink()


def test_files_with_processes_of_their_own_count_nothing_that_they_try() -> None:
    for name in own_processes.FILES:
        assert "reliability" not in (ROOT / name).read_text(encoding="utf-8"), f"{name}: its counts would be lost"


@pytest.mark.parametrize("variable", ["HOME", *suite_plugin.XDG])
def test_this_run_has_a_home_of_its_own(variable: str) -> None:
    assert "reeltalk-home-" in os.environ[variable]
