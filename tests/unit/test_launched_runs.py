"""A run that was forked behaves as one that Python started."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from launched_runs import Launcher
from sample_videos import Numbered


@pytest.mark.parametrize("arguments", [["--version"], ["nowhere"], ["validate", "nowhere"], ["rubrics", "--help"]])
def test_it_prints_and_ends_as_python_does(runs: Launcher, arguments: list[str], tmp_path: Path) -> None:
    forked = runs.completed(*arguments, cwd=tmp_path)
    command = [sys.executable, "-m", "reeltalk", *arguments]
    started = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_it_runs_where_and_with_what_the_test_has(
    runs: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text(
        "import os, sys\n"
        "class Model:\n"
        "    name = 'own'\n"
        "    def stream(self):\n"
        "        sys.exit(' '.join([os.environ['WORD'], os.getcwd(), sys.stdin.readline().strip()]))\n"
    )
    video = Numbered("short.mp4", frames=4).make()[0]
    monkeypatch.setenv("WORD", "one")
    command = ("chat", video, "--model", "python:own.py:Model")
    done = runs.completed(*command, input="typed\n", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, f"one {tmp_path} typed\n")
    done = runs.completed(*command, input="typed\n", cwd=tmp_path, environment={"WORD": "two"})
    assert done.stderr == f"two {tmp_path} typed\n"


def test_signals_end_it(runs: Launcher, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.yaml")
    for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 130)):
        # It opens a pipe that nobody writes to.
        with runs.start("run", tmp_path / "own.yaml", stderr=subprocess.DEVNULL) as run:
            with pytest.raises(subprocess.TimeoutExpired):
                run.wait(0.2)
            run.send_signal(number)
            assert run.wait(60) == code
            assert run.poll() == code


def test_it_can_have_a_terminal(runs: Launcher) -> None:
    ours, theirs = pty.openpty()
    with runs.start("--help", stdin=theirs, stdout=theirs, stderr=theirs, terminal=True) as run:
        os.close(theirs)
        shown = b""
        # The terminal of a process that is gone cannot be read.
        with contextlib.suppress(OSError):
            while True:
                shown += os.read(ours, 65536)
        assert run.wait() == 0
    os.close(ours)
    assert b"\r\n" in shown


def test_what_still_runs_is_killed_with_its_block(runs: Launcher, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "own.yaml")
    with runs.start("run", tmp_path / "own.yaml") as run:
        pass
    assert run.returncode == -9
