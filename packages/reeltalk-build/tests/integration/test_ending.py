"""A command that is told to end says so in one line, and leaves no process."""

import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from sample_videos import Numbered


def is_running(pid: Path) -> bool:
    try:
        return pid.joinpath("stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def processes_of(session: int) -> list[Path]:
    """Processes of a session that run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            fields = path.joinpath("stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and is_running(path):
            found.append(path)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_told_to_end_leaves_no_traceback_and_no_process(tmp_path: Path, number: int) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    path, _ = Numbered("h264-long.mp4", rate=Fraction(12), frames=480).make()
    for name in "abcdefgh":
        # Videos of equal bytes are decoded once.
        (videos / f"{name}.mp4").write_bytes(path.read_bytes() + name.encode())
    command = [sys.executable, "-m", "reeltalk", "curate", str(videos), "--into", str(tmp_path / "bench")]
    command += ["--workers", "2", "--min-duration-s", "0", "--min-shots", "1", "--min-mean-shot-s", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        deadline = time.monotonic() + 60
        # The command, the server that forks, and two workers.
        while len(processes_of(process.pid)) < 4:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("interrupted; nothing is half-written")
    assert "Traceback" not in said
    deadline = time.monotonic() + 10
    while processes_of(process.pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)
