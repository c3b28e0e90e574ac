"""Calls on this machine: a forking process for each worker, a thread here to talk to it."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Final

from reeltalk.parallel.executor import Call, Failure, FailureKind, Outcome

THREADS_OF_LIBRARIES: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)
"""One thread a process: the processes are what runs in parallel. Memory that threads reserve would count, too."""


class LocalExecutor:
    """`Executor` by processes of this machine.

    Args:
        workers: How many calls run at a time; by default one for each core that this process may use.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self.cpu_s = 0.0
        """User and system time of all calls so far."""
        self.peak_bytes = 0
        """Largest resident memory of a call so far."""
        # Kept between maps: what a process has imported is worth keeping. They end with this object.
        self._idle: list[subprocess.Popen[bytes]] = []
        self._servers: list[subprocess.Popen[bytes]] = []
        weakref.finalize(self, _stop_all, self._servers)

    def close(self) -> None:
        """End all processes now. Calls that still run, in other threads, end as a `Failure`; no call may follow."""
        _stop_all(list(self._servers))

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        """As `Executor.map`."""
        waiting = enumerate(calls)
        done: queue.Queue[tuple[int, Outcome] | BaseException | None] = queue.Queue()
        lock, stopping = threading.Lock(), threading.Event()
        at_work: list[subprocess.Popen[bytes]] = []

        def work() -> None:
            server: subprocess.Popen[bytes] | None = None
            try:
                while not stopping.is_set():
                    with lock:
                        item = next(waiting, None)
                        if item is None:
                            break
                        if server is None or server.poll() is not None:
                            if self._idle:
                                server = self._idle.pop()
                            else:
                                server = _start()
                                self._servers.append(server)
                            at_work.append(server)
                    done.put((item[0], self._ask(server, function, item[1])))
                if server is not None and not stopping.is_set():
                    self._idle.append(server)
                    at_work.remove(server)
            except BaseException as error:
                done.put(error)
            finally:
                done.put(None)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        try:
            running = len(threads)
            while running:
                item = done.get()
                if item is None:
                    running -= 1
                elif isinstance(item, BaseException):
                    raise item
                else:
                    yield item
        finally:
            stopping.set()
            while any(thread.is_alive() for thread in threads):
                _stop_all(list(at_work))
                for thread in threads:
                    thread.join(0.05)
            _stop_all(at_work)

    def _ask(self, server: subprocess.Popen[bytes], function: str, call: Call) -> Outcome:
        assert server.stdin is not None
        assert server.stdout is not None
        request = {
            "function": function,
            "argument": call.argument,
            "wall_s": call.limits.wall_s,
            "memory_bytes": call.limits.memory_bytes,
        }
        try:
            server.stdin.write(json.dumps(request).encode() + b"\n")
            server.stdin.flush()
            line = server.stdout.readline()
            reply: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):
            server.kill()
            return Failure(FailureKind.DIED, "the process that runs the calls died")
        if "missing" in reply:
            raise RuntimeError(f"{function} cannot be called: {reply['missing']}")
        self.cpu_s += reply["cpu_s"]
        self.peak_bytes = max(self.peak_bytes, reply["peak_bytes"])
        if "failure" in reply:
            return Failure(FailureKind(reply["failure"]), reply["detail"])
        return reply["result"]


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "reeltalk.parallel.forking"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | THREADS_OF_LIBRARIES,
        # Ctrl-C is ours to hear; what runs is ended when the iterator is closed.
        start_new_session=True,
    )


def _stop_all(servers: list[subprocess.Popen[bytes]]) -> None:
    for server in servers:
        # The whole session: the process that forks, and the child it may be waiting for.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if server.returncode is None:
                os.killpg(server.pid, 9)
        server.wait()
        for stream in (server.stdin, server.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
