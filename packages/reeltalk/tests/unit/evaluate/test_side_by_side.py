"""Scripts run side by side: the first error ends a run, and connections are closed whatever happens."""

import asyncio
import subprocess
import sys

import pytest

from reeltalk.errors import BenchmarkError
from reeltalk.evaluation.side_by_side import run_side_by_side

INTERRUPTED = """
import asyncio, signal
from reeltalk.evaluation.side_by_side import run_side_by_side

async def play(name):
    if name == "c":
        signal.raise_signal(signal.SIGINT)
        await asyncio.sleep(60)

async def judge(name):
    print("judged", name)

async def close():
    await asyncio.sleep(0)
    print("closed")

try:
    run_side_by_side("abc", play, judge, at_a_time=1, close=close)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_first_error_ends_the_run_after_the_scripts_under_way() -> None:
    done = []

    async def play(name: str) -> None:
        if name == "a":
            await asyncio.sleep(0.01)
            raise BenchmarkError("no video")
        await asyncio.sleep(0.1)
        done.append(f"played {name}")

    async def judge(name: str) -> None:
        done.append(f"judged {name}")

    async def close() -> None:
        done.append("closed")

    with pytest.raises(BenchmarkError, match="no video"):
        run_side_by_side("abc", play, judge, at_a_time=2, close=close)
    assert done == ["played b", "closed"]


def test_an_interrupted_run_closes_connections_and_decoders() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("judged a\njudged b\nclosed\ninterrupted\n", "")


def test_it_runs_in_a_notebook() -> None:
    done = []

    async def note(name: str) -> None:
        done.append(name)

    async def close() -> None:
        done.append("closed")

    async def cell() -> None:
        run_side_by_side(["a"], note, note, at_a_time=2, close=close)

    asyncio.run(cell())
    assert done == ["a", "a", "closed"]
