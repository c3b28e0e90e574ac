"""A small process that imports the modules of the work and forks a child for every call.

`python -m reeltalk.parallel.forking` reads one JSON call per line and answers each with one JSON line. It imports the
module of a function at the first call, so later children find it in memory. The child has limits and may die while it
decodes. This process only waits, so it can report how the child ended. Both end when the process that started them is
gone.
"""

import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any, Final

LONGEST_ANSWER_BYTES: Final = 64 << 20
MEMORY_EXIT: Final = 86
"""Exit status of a child that ran out of memory and could still report it."""
_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)
SIGNALS_OF_MEMORY: Final = frozenset({signal.SIGKILL})


def main() -> None:
    """Serve calls until standard input ends."""
    known: dict[str, Callable[[Any], Any]] = {}
    answers = os.fdopen(os.dup(1), "wb")
    # Libraries that print must not write among the answers.
    os.dup2(2, 1)
    pending = b""
    while True:
        while b"\n" not in pending:
            block = os.read(0, 1 << 16)
            if not block:
                return
            pending += block
        line, _, pending = pending.partition(b"\n")
        call = json.loads(line)
        work = known.get(call["function"])
        if work is None:
            try:
                work = known[call["function"]] = find(call["function"])
            except Exception as error:
                send(answers, {"missing": f"{type(error).__name__}: {error}"})
                continue
            # Modules that are loaded now stay in memory that the children share.
            gc.collect()
            gc.freeze()
        send(answers, run_in_child(work, call["argument"], call["wall_s"], call["memory_bytes"]))


def find(function: str) -> Callable[[Any], Any]:
    """Imports the function named `module:name`."""
    module, _, name = function.partition(":")
    found: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    return found


def send(stream: Any, value: object) -> None:
    """Write one JSON line."""
    stream.write(json.dumps(value).encode() + b"\n")
    stream.flush()


def run_in_child(work: Callable[[Any], Any], argument: Any, wall_s: float, memory_bytes: int) -> dict[str, Any]:
    """Call `work` in a forked child. Returns its result, or the failure."""
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reader)
        # Ray ends the processes of a worker that ends. The same signal must end the child, too.
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        _serve_one(work, argument, memory_bytes, writer)
    os.close(writer)
    try:
        answer, ended = _read_until(reader, time.monotonic() + wall_s)
    finally:
        os.close(reader)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    spent = {"cpu_s": usage.ru_utime + usage.ru_stime, "peak_bytes": usage.ru_maxrss * 1024}
    if not ended:
        too_long = len(answer) > LONGEST_ANSWER_BYTES
        detail = "it gave an answer without end" if too_long else f"it took longer than {wall_s:.0f} s"
        return {"failure": "died" if too_long else "time", "detail": detail} | spent
    return _outcome(answer, status, memory_bytes) | spent


def _outcome(answer: bytes, status: int, memory_bytes: int) -> dict[str, Any]:
    out_of_memory = {"failure": "memory", "detail": f"it needs more than {memory_bytes >> 20} MiB of memory"}
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number in SIGNALS_OF_MEMORY:
            return out_of_memory
        return {"failure": "died", "detail": f"the process that read it died of {signal.Signals(number).name}"}
    if os.WEXITSTATUS(status) == MEMORY_EXIT:
        return out_of_memory
    try:
        result: dict[str, Any] = json.loads(answer)
    except ValueError:
        return {"failure": "died", "detail": f"the process that read it ended with status {os.WEXITSTATUS(status)}"}
    return result


def _read_until(reader: int, deadline: float) -> tuple[bytes, bool]:
    """Reads from the child; also returns whether it closed its end in time. Ends at once if our own parent is gone."""
    blocks: list[bytes] = []
    size_bytes = 0
    parent = os.getppid()
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([reader], [], [], min(left, 1.0))
        if os.getppid() != parent:
            return b"", False
        if not ready:
            continue
        block = os.read(reader, 1 << 20)
        if not block:
            return b"".join(blocks), True
        blocks.append(block)
        size_bytes += len(block)
        if size_bytes > LONGEST_ANSWER_BYTES:
            break
    return b"".join(blocks), False


def _serve_one(work: Callable[[Any], Any], argument: Any, memory_bytes: int, writer: int) -> None:
    """Runs in the child; never returns."""
    status = 1
    try:
        limit_memory(memory_bytes)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        try:
            answer = json.dumps({"result": work(argument)})
        except MemoryError:
            os._exit(MEMORY_EXIT)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{os.path.basename(where.filename)}:{where.lineno}"
            answer = json.dumps({"failure": "error", "detail": f"{type(error).__name__}: {error} ({place})"[:500]})
        with os.fdopen(writer, "wb") as stream:
            stream.write(answer.encode())
        status = 0
    except MemoryError:
        status = MEMORY_EXIT
    finally:
        os._exit(status)


def limit_memory(memory_bytes: int) -> None:
    """Let this process take this much more address space, and write no core dump when it dies."""
    with open("/proc/self/statm", encoding="ascii") as stream:
        mapped_bytes = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped_bytes + memory_bytes,) * 2)
    # A crash is an expected outcome here, so no core dump is written.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
