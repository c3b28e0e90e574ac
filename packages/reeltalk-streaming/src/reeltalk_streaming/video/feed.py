"""Runs a generator in a separate process and reads its blocks as they come."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

from reeltalk.parallel.executor import Failure, FailureKind, Limits
from reeltalk.parallel.work import MEMORY_EXIT, THREADS_OF_LIBRARIES
from reeltalk.schema.record import Json
from reeltalk_streaming.video.feeding import BLOCK_HEADER, ENDED, ITEM

LARGEST_BLOCK_BYTES: Final = 1 << 28
"""A longer block is an error: a frame of 8K has 107 MB."""


class Feed:
    """Runs a generator in a process and yields its blocks.

    The process waits if you do not read its blocks. If the process dies, `failure` gives the reason.

    Args:
        function: A generator of bytes at the top of a module, as `package.module:name`. It takes one JSON value.
        argument: The value that the function is called with.
        limits: `wall_s` is the longest wait for the next block. `memory_bytes` has its usual meaning.
    """

    def __init__(self, function: str, argument: Json, limits: Limits) -> None:
        self.failure: Failure | None = None
        """The reason why there is no further block; None after a normal end."""
        self._limits = limits
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reeltalk_streaming.video.feeding"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | THREADS_OF_LIBRARIES,
            # This process handles Ctrl-C.
            start_new_session=True,
        )
        assert self._process.stdin is not None
        call = {"function": function, "argument": argument, "memory_bytes": limits.memory_bytes}
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(call).encode() + b"\n")
            self._process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        head = self._read(BLOCK_HEADER.size)
        kind, length = BLOCK_HEADER.unpack(head) if head is not None else (b"", 0)
        if kind == ENDED:
            raise StopIteration
        if length > LARGEST_BLOCK_BYTES:
            self._fail(Failure(FailureKind.DIED, "it gave a block without end"))
            raise StopIteration
        content = self._read(length) if kind else None
        if content is None or kind != ITEM:
            if content is not None:
                self._fail(Failure(FailureKind.ERROR, content.decode(errors="replace")))
            raise StopIteration
        return content

    def stop(self) -> None:
        """End the process now. A reader in another thread then finds no further block."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def close(self) -> None:
        """End the process and close its pipe. No other thread may be reading."""
        self.stop()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read(self, size: int) -> bytes | None:
        """Reads this many bytes. Returns None, with the reason in `failure`, if they do not come."""
        assert self._process.stdout is not None
        reader = self._process.stdout.fileno()
        blocks: list[bytes] = []
        deadline = time.monotonic() + self._limits.wall_s
        while size:
            ready, _, _ = select.select([reader], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self._fail(Failure(FailureKind.TIME, f"nothing came for {self._limits.wall_s:.0f} s"))
                return None
            block = os.read(reader, min(size, 1 << 20))
            if not block:
                self._fail(self._death())
                return None
            blocks.append(block)
            size -= len(block)
        return b"".join(blocks)

    def _death(self) -> Failure:
        status = self._process.wait()
        if status in (MEMORY_EXIT, -signal.SIGKILL):
            return Failure(FailureKind.MEMORY, f"it needs more than {self._limits.memory_bytes >> 20} MiB of memory")
        return Failure(FailureKind.DIED, f"the process that read it ended with status {status}")

    def _fail(self, failure: Failure) -> None:
        self.failure = self.failure or failure
        self.stop()
