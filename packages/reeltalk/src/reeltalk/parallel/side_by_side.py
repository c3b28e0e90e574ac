"""Runs a few processes side by side, each with a long share of one work, with progress reports and an orderly end."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from reeltalk import errors
from reeltalk.errors import ProcessError, ReeltalkError
from reeltalk.parallel.reporting import BEGUN, ENDED, FAILED, INTERRUPTED
from reeltalk.schema.record import Json

GRACE_S: Final = 20.0
"""How long an interrupted process may take to end. After that it is killed."""

Line = tuple[str, Any]


def side_by_side(
    function: str,
    arguments: Sequence[Json],
    told: Callable[[int, Json], None],
    *,
    variables: Sequence[Mapping[str, str]] = (),
) -> None:
    """Call a function once for each argument, all at the same time, each call in its own process.

    If one process fails or dies, or on Ctrl-C, the others are interrupted as by Ctrl-C. The function waits for their
    end.

    Args:
        function: At the top of a module, as `package.module:name`. It takes a JSON value and a callback for progress
            reports, which are JSON values.
        arguments: One for each process.
        told: Receives the number of a process, from 0, and its report. It is called in this thread.
        variables: Environment variables of each process beyond those of this one; none by default.

    Raises:
        ReeltalkError: The first one that a call raised; of the same class if its message is its only argument.
        ProcessError: A process died.
        KeyboardInterrupt: Ctrl-C.
    """
    lines: queue.Queue[tuple[int, Line | None]] = queue.Queue()
    processes: list[_Process] = []
    try:
        for number, (argument, own) in enumerate(zip(arguments, variables or [{}] * len(arguments), strict=True)):
            processes.append(_Process(number, function, argument, lines, own))
        running = len(processes)
        while running:
            number, line = lines.get()
            if line is None:
                running -= 1
                processes[number].check(of=len(processes))
            elif line[0] == FAILED:
                raise _error(*line[1])
            elif line[0] == ENDED:
                processes[number].has_ended = True
            elif line[0] == BEGUN:
                processes[number].has_begun = True
            else:
                told(number, line[1])
    finally:
        _end(processes)


class _Process:
    def __init__(
        self,
        number: int,
        function: str,
        argument: Json,
        lines: "queue.Queue[tuple[int, Line | None]]",
        variables: Mapping[str, str],
    ) -> None:
        self.has_begun, self.has_ended = False, False
        self._number = number
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reeltalk.parallel.reporting"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | variables,
            # This process handles Ctrl-C.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        # Standard input stays open as long as this process lives.
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"function": function, "argument": argument}).encode() + b"\n")
            self._process.stdin.flush()
        self._reader = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._reader.start()

    def check(self, *, of: int) -> None:
        """Check that a process did not end before its work did.

        Raises:
            ProcessError: It died.
            KeyboardInterrupt: Only this process was interrupted.
        """
        status = self._process.wait()
        if self.has_ended:
            return
        if status == INTERRUPTED:
            raise KeyboardInterrupt
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        why = ", as happens where memory runs out" if status == -signal.SIGKILL else ""
        raise ProcessError(f"process {self._number + 1} of {of} {how}{why}")

    def interrupt(self) -> None:
        """Ask it to end."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT if self.has_begun else signal.SIGKILL)

    def wait(self, wait_s: float) -> None:
        """Wait for its end; kill it after this many seconds."""
        try:
            self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it now."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Close its pipes, after it has ended."""
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self, lines: "queue.Queue[tuple[int, Line | None]]") -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # A killed process may leave half a line.
            if line.endswith(b"\n"):
                kind, value = json.loads(line)
                lines.put((self._number, (kind, value)))
        lines.put((self._number, None))


def _end(processes: Sequence[_Process]) -> None:
    try:
        for process in processes:
            process.interrupt()
        for process in processes:
            process.wait(GRACE_S)
    finally:
        # Also runs after a second Ctrl-C.
        for process in processes:
            process.kill()
            process.close()


def _error(kind: str, message: str) -> ReeltalkError:
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, ReeltalkError) and "__init__" not in vars(found):
        return found(message)
    return ReeltalkError(message)
