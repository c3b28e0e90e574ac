"""Runs calls on this machine: a forking process for each worker, and a thread here that talks to it."""

import os
import queue
import threading
import weakref
from collections.abc import Iterable, Iterator

from reeltalk.parallel.call_server import CallServer, read_reply, request_line
from reeltalk.parallel.executor import Call, Outcome


class LocalExecutor:
    """`Executor` that uses processes on this machine.

    Args:
        workers: Calls at a time; by default one for each core that this process may use.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        self.cpu_s = 0.0
        """User and system time of all calls so far."""
        self.peak_bytes = 0
        """Largest resident memory of a call so far."""
        # Kept between maps, so that imported modules stay loaded. The processes end with this object.
        self._idle: list[CallServer] = []
        self._servers: list[CallServer] = []
        weakref.finalize(self, _stop_all, self._servers)

    def close(self) -> None:
        """End all processes now. Calls that still run in other threads end as a `Failure`. Make no calls after this."""
        _stop_all(list(self._servers))

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        waiting = enumerate(calls)
        done: queue.Queue[tuple[int, Outcome] | BaseException | None] = queue.Queue()
        lock, stopping = threading.Lock(), threading.Event()
        at_work: list[CallServer] = []

        def work() -> None:
            server: CallServer | None = None
            try:
                while not stopping.is_set():
                    with lock:
                        item = next(waiting, None)
                        if item is None:
                            break
                        if server is None or not server.is_alive:
                            if self._idle:
                                server = self._idle.pop()
                            else:
                                server = CallServer()
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

    def _ask(self, server: CallServer, function: str, call: Call) -> Outcome:
        reply = read_reply(function, server.ask(request_line(function, call)))
        self.cpu_s += reply.cpu_s
        self.peak_bytes = max(self.peak_bytes, reply.peak_bytes)
        return reply.outcome


def _stop_all(servers: list[CallServer]) -> None:
    for server in servers:
        server.stop()
