"""Runs of the command line in processes of their own, without each of them importing everything anew.

One process imports and then forks for every run: a run can be killed, interrupted or kept from writing, and another one
begins in a moment.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

LAUNCHER: Final = """
import gc, json, os, resource, sys, tempfile
from pathlib import Path
import openai, reeltalk.benchmarks, reeltalk.cli, reeltalk.curate.stage, reeltalk.evaluate.stage, reeltalk.llm.serving
import reeltalk.metrics.scoring
from reeltalk.evaluate.logged import LoggedSample, run_samples

async def play(name, notes):
    notes.message("user", name)

# What inspect_ai imports when it first runs takes as long as all else together.
with tempfile.TemporaryDirectory() as folder:
    samples = [LoggedSample("1", "1", {})]
    run_samples("first", samples, play, None, models={}, log_dir=Path(folder), at_a_time=1, metadata={})
openai.AsyncOpenAI(api_key="none").chat.completions

# Else each run spends most of a second at its end looking for cycles in all that was imported.
gc.freeze()

for line in sys.stdin:
    job = json.loads(line)
    child = os.fork()
    if child == 0:
        output = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        if job["largest_file_bytes"] is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file_bytes"],) * 2)
        sys.argv = ["reeltalk", *job["arguments"]]
        reeltalk.cli.main()
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """A run that ended."""

    code: int
    """Its exit code; below 0 the signal that ended it."""
    said: str
    """What it wrote, results and messages together."""


class Launcher:
    """Starts runs, one at a time. Made by `launcher`."""

    def __init__(self, process: "subprocess.Popen[str]", folder: Path) -> None:
        self._process, self._output = process, folder / "said.txt"

    @property
    def said(self) -> str:
        """What the last run wrote so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def run(
        self,
        *arguments: object,
        meanwhile: Callable[[int], None] | None = None,
        largest_file_bytes: int | None = None,
    ) -> Ended:
        """One run, to its end.

        Args:
            arguments: As typed after `reeltalk`.
            meanwhile: Is called with the run's process while it runs, as to kill it.
            largest_file_bytes: The kernel refuses files beyond, as on a full disk.
        """
        job = {
            "arguments": [str(argument) for argument in arguments],
            "output": str(self._output),
            "largest_file_bytes": largest_file_bytes,
        }
        stdin, stdout = self._pipes
        self._output.write_bytes(b"")
        stdin.write(json.dumps(job) + "\n")
        stdin.flush()
        process = int(stdout.readline())
        if meanwhile is not None:
            meanwhile(process)
        return Ended(int(stdout.readline()), self.said)

    def send(self, process: int, number: signal.Signals) -> None:
        """Send a signal to a run, which may have ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)

    @property
    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


@contextlib.contextmanager
def launcher() -> Iterator[Launcher]:
    """What starts runs, while the block lasts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-c", LAUNCHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        yield Launcher(process, Path(folder))
