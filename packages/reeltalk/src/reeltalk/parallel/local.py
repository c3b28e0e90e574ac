"""Runs calls on this machine, in a pool of processes."""

import json
import os
import queue
import weakref
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Future, TimeoutError
from concurrent.futures.process import BrokenProcessPool
from signal import SIGKILL
from threading import Lock
from typing import TYPE_CHECKING

from reeltalk.parallel.executor import Call, Failure, FailureKind, Outcome
from reeltalk.parallel.pools import close_pool, died_of, open_pool
from reeltalk.parallel.work import MEMORY_EXIT, failed_answer, out_of_memory, read_outcome, run_call

if TYPE_CHECKING:
    from pebble import ProcessPool

STOPPED = Failure(FailureKind.DIED, "the executor was closed")


class LocalExecutor:
    """`Executor` that uses processes on this machine.

    A process makes one call after another. One that hangs or dies in a call is replaced.

    Args:
        workers: Calls at a time; by default one for each core that this process may use.
    """

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0))
        # Kept between maps, so that imported modules stay loaded. The processes end with this object.
        self._pool: ProcessPool | None = None
        self._opening = Lock()
        self._running: set[Future[str]] = set()

    def close(self) -> None:
        """End all processes now. Calls that still run in other threads end as a `Failure`."""
        with self._opening:
            for future in list(self._running):
                future.cancel()
            if self._pool is not None:
                self._ended()
                self._pool = None

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        for number, answer in self.answers(function, calls):
            yield number, read_outcome(function, answer)

    def answers(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, str]]:
        """Like `map`, with outcomes as JSON text for `read_outcome`."""
        waiting = enumerate(calls)
        under_way: dict[Future[str], tuple[int, Call]] = {}
        ended: queue.SimpleQueue[Future[str]] = queue.SimpleQueue()

        def fill() -> None:
            # As many wait as run, so that no process is idle while a result is being used.
            while len(under_way) < 2 * self.workers and (item := next(waiting, None)) is not None:
                future = self._begin(function, item[1])
                under_way[future] = item
                future.add_done_callback(ended.put)

        try:
            fill()
            while under_way:
                future = ended.get()
                number, call = under_way.pop(future)
                self._running.discard(future)
                fill()
                yield number, _answer(future, call)
        finally:
            for future in under_way:
                future.cancel()
                self._running.discard(future)

    def _begin(self, function: str, call: Call) -> "Future[str]":
        arguments = (function, json.dumps(call.argument), call.limits.memory_bytes)
        with self._opening:
            if self._pool is None or not self._pool.active:
                self._pool = open_pool(self.workers, function.partition(":")[0])
                self._ended = weakref.finalize(self, close_pool, self._pool)
            future: Future[str] = self._pool.schedule(run_call, arguments, timeout=call.limits.wall_s)
            self._running.add(future)
        return future


def _answer(future: "Future[str]", call: Call) -> str:
    from pebble import ProcessExpired

    try:
        return future.result()
    except CancelledError:
        failure = STOPPED
    except TimeoutError:
        failure = Failure(FailureKind.TIME, f"it took longer than {call.limits.wall_s:.0f} s")
    except ProcessExpired as error:
        status = error.exitcode or 0
        is_memory = status in (MEMORY_EXIT, -SIGKILL)
        failure = out_of_memory(call) if is_memory else Failure(FailureKind.DIED, f"its process {died_of(status)}")
    except BrokenProcessPool as error:
        failure = Failure(FailureKind.DIED, f"its processes could not work on: {error}")
    return failed_answer(failure)
