"""Client of a forking process: it sends one line of JSON and receives one, over any transport."""

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from reeltalk.parallel.executor import Call, Failure, FailureKind, Outcome

THREADS_OF_LIBRARIES: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)
"""One thread per process, because processes run in parallel. Memory that threads reserve would count against the
limit."""


@dataclass(frozen=True)
class CallOutcome:
    """How a call ended, and the resources that it used."""

    outcome: Outcome
    cpu_s: float = 0.0
    """User and system time."""
    peak_bytes: int = 0
    """Largest resident memory."""


class CallServer:
    """A `parallel.forking` process on this machine, started and stopped by this object.

    Args:
        folder: Working folder of the calls; by default that of this process.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reeltalk.parallel.forking"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | THREADS_OF_LIBRARIES,
            cwd=folder,
            # This process handles Ctrl-C; `stop` ends the running calls.
            start_new_session=True,
        )

    @property
    def is_alive(self) -> bool:
        """True until the process has ended."""
        return self._process.poll() is None

    def ask(self, request: str) -> str:
        """Make a call and wait for its end.

        Args:
            request: From `request_line`.

        Returns:
            A line for `read_reply`; empty if the process died, which a call alone cannot cause.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(request.encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except (OSError, ValueError):
            line = b""
        if not line.endswith(b"\n"):
            self._process.kill()
            return ""
        return line.decode()

    def stop(self) -> None:
        """End the process now, and its child if one is running."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.returncode is None:
                # The whole session: the forking process and its child.
                os.killpg(self._process.pid, 9)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def request_line(function: str, call: Call) -> str:
    """A call as a line of JSON."""
    request = {
        "function": function,
        "argument": call.argument,
        "wall_s": call.limits.wall_s,
        "memory_bytes": call.limits.memory_bytes,
    }
    return json.dumps(request)


def read_reply(function: str, line: str) -> CallOutcome:
    """Parse the line that `CallServer.ask` returned.

    Raises:
        RuntimeError: There is no such function.
    """
    try:
        reply: dict[str, Any] = json.loads(line)
    except ValueError:
        return CallOutcome(Failure(FailureKind.DIED, "the process that runs the calls died"))
    if "missing" in reply:
        raise RuntimeError(f"{function} cannot be called: {reply['missing']}")
    outcome = Failure(FailureKind(reply["failure"]), reply["detail"]) if "failure" in reply else reply["result"]
    return CallOutcome(outcome, reply["cpu_s"], reply["peak_bytes"])
