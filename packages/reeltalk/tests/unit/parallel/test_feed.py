"""A generator in a process of its own: what it yields comes, and however it ends is told."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reeltalk.parallel import FailureKind, Limits
from reeltalk_streaming.video.feed import Feed

LIMITS = Limits(wall_s=20, memory_bytes=256 << 20)
SOURCE = """
import os, signal, sys, time

def count(upto):
    for n in range(upto):
        print("noise on standard output")
        yield bytes([n]) * (n * 100_000)
def refuse(value):
    yield b"one"
    raise ValueError(f"no {value}")
def crash(value):
    yield b"one"
    os.kill(os.getpid(), signal.SIGSEGV)
def sleep(value):
    yield b"one"
    time.sleep(60)
def grow(value):
    yield bytes(value << 20)
def endless(path):
    while True:
        open(path, "w").write(str(os.getpid()))
        yield b"x" * 100_000
"""


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "feed_work.py").write_text(SOURCE)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return tmp_path


def test_all_blocks_come_whole_and_in_order() -> None:
    with Feed("feed_work:count", 12, LIMITS) as feed:
        assert list(feed) == [bytes([n]) * (n * 100_000) for n in range(12)]
        assert feed.failure is None


@pytest.mark.parametrize(
    ("function", "argument", "kind", "words"),
    [
        ("refuse", 3, FailureKind.ERROR, r"ValueError: no 3 \(feed_work.py:10\)"),
        ("crash", 0, FailureKind.DIED, "ended with status -11"),
        ("grow", 1000, FailureKind.MEMORY, "needs more than 256 MiB"),
        ("missing", 0, FailureKind.ERROR, "AttributeError"),
    ],
)
def test_an_end_before_the_end_is_told(function: str, argument: int, kind: FailureKind, words: str) -> None:
    with Feed(f"feed_work:{function}", argument, LIMITS) as feed:
        assert list(feed) in ([], [b"one"])
        assert feed.failure is not None
        assert feed.failure.kind == kind
        assert re.search(words, feed.failure.detail)


def test_what_says_nothing_for_too_long_is_ended() -> None:
    with Feed("feed_work:sleep", 0, Limits(wall_s=6.0)) as feed:
        assert list(feed) == [b"one"]
        assert feed.failure is not None
        assert feed.failure.kind == FailureKind.TIME


def test_the_process_is_gone_when_it_is_closed(tmp_path: Path) -> None:
    with Feed("feed_work:endless", str(tmp_path / "pid"), LIMITS) as feed:
        assert len(next(feed)) == 100_000
        process = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


def test_the_process_is_gone_when_its_parent_is(tmp_path: Path) -> None:
    code = (
        "import os, time\nfrom reeltalk.parallel import Limits\nfrom reeltalk_streaming.video.feed import Feed\n"
        f"feed = Feed('feed_work:endless', {str(tmp_path / 'pid')!r}, Limits())\nnext(feed)\nos._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    process = int((tmp_path / "pid").read_text())
    for _ in range(200):
        if not Path(f"/proc/{process}").exists() or "Z" in Path(f"/proc/{process}/stat").read_text().split()[2]:
            return
        time.sleep(0.05)
    raise AssertionError("the process still runs")
