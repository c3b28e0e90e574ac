"""Pools of worker processes. They are pebble's; a server that has imported what they need forks them."""

import signal
import sys
import types
from collections.abc import Callable
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import TYPE_CHECKING, Any, Final

from reeltalk.parallel.work import begin_worker

if TYPE_CHECKING:
    from pebble import ProcessPool

PRELOADED: Final = "reeltalk.parallel.preloaded"


class _Process(ForkServerProcess):
    """A process that does not import the script of its parent, which may have no guard for it."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:
        script = sys.modules["__main__"]
        sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            return ForkServerProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"] = script


class _Context(ForkServerContext):
    Process = _Process


CONTEXT: Final = _Context()


def open_pool(
    workers: int, *modules: str, prepare: Callable[..., None] = begin_worker, arguments: tuple[Any, ...] = ()
) -> "ProcessPool":
    """A pool of processes that end with this one.

    Args:
        workers: Processes.
        modules: Imported once for all processes; those of the first pool.
        prepare: Called in each process when it begins. It must call `begin_worker`.
        arguments: Arguments of `prepare`.
    """
    from pebble import ProcessPool

    CONTEXT.set_forkserver_preload([PRELOADED, *modules])
    return ProcessPool(workers, initializer=prepare, initargs=arguments, context=CONTEXT)


def close_pool(pool: "ProcessPool") -> None:
    """End all processes of a pool now."""
    pool.stop()  # type: ignore[no-untyped-call]
    pool.join()


def died_of(status: int) -> str:
    """How a process ended, by its exit status."""
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
