"""What a worker process does: it runs one call at a time, with limits, and answers with JSON text."""

import importlib
import json
import multiprocessing
import os
import resource
import signal
import threading
import traceback
from collections.abc import Callable
from typing import Any, Final

from reeltalk.errors import MissingToolError
from reeltalk.parallel.executor import Call, Failure, FailureKind, Outcome

THREADS_OF_LIBRARIES: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)
"""One thread per process, because processes run in parallel. Memory that threads reserve would count against the
limit."""
MEMORY_EXIT: Final = 86
"""Exit status of a process that ran out of memory and could still report it."""


def begin_worker() -> None:
    """Let this process end at once on a signal, or when the process that started it is gone."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


def import_function(function: str) -> Callable[..., Any]:
    """The function named `package.module:name`."""
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def limit_memory(memory_bytes: int) -> None:
    """Let this process take this much more address space, and write no core dump when it dies."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        mapped_bytes = int(stream.read().split()[0]) * resource.getpagesize()
    allowed, most = resource.getrlimit(resource.RLIMIT_AS)
    # A shell or the scheduler of a cluster may have set a limit that is lower.
    limits = [mapped_bytes + memory_bytes, *(one for one in (allowed, most) if one != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), most))
    # A crash is an expected outcome here, so no core dump is written.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def describe_error(error: Exception) -> str:
    """What went wrong in a call, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"[:500]


def run_call(function: str, argument: str, memory_bytes: int) -> str:
    """Run one call in this process.

    Args:
        function: As `package.module:name`.
        argument: JSON text.
        memory_bytes: Address space that the call may take.

    Returns:
        JSON text for `read_outcome`. Text, because only text of our own should be unpickled from a process that decoded
        a stranger's file.
    """
    try:
        work = import_function(function)
    except Exception as error:
        kind = "unready" if isinstance(error, ImportError | MemoryError | OSError) else "missing"
        return json.dumps({kind: f"{type(error).__name__}: {error}"})
    try:
        limit_memory(memory_bytes)
        return json.dumps({"result": work(json.loads(argument))})
    except MemoryError:
        # Another process takes its place, with its memory whole.
        os._exit(MEMORY_EXIT)
    except Exception as error:
        return json.dumps({"failure": FailureKind.ERROR, "detail": describe_error(error)})


def read_outcome(function: str, answer: str) -> Outcome:
    """The outcome that `run_call` or `failed_answer` wrote.

    Raises:
        RuntimeError: There is no such function.
        MissingToolError: A library that it needs cannot be loaded, for want of memory or files.
    """
    found: dict[str, Any] = json.loads(answer)
    if "unready" in found:
        raise MissingToolError(f"a process that reads videos cannot begin: {found['unready']}{_shell_limit()}")
    if "missing" in found:
        raise RuntimeError(f"{function} cannot be called: {found['missing']}")
    return Failure(FailureKind(found["failure"]), found["detail"]) if "failure" in found else found["result"]


def failed_answer(failure: Failure) -> str:
    """A failure as JSON text."""
    return json.dumps({"failure": failure.kind, "detail": failure.detail})


def out_of_memory(call: Call) -> Failure:
    """The failure of a call that took more memory than it may."""
    return Failure(
        FailureKind.MEMORY, f"it needs more than {call.limits.memory_bytes >> 20} MiB of memory{_shell_limit()}"
    )


def _shell_limit() -> str:
    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    said = f"; this shell allows each process {allowed >> 20} MiB in all: see 'ulimit -v'"
    return "" if allowed == resource.RLIM_INFINITY else said
