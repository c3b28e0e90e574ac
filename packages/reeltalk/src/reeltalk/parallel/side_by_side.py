"""Runs a few processes side by side, each with a long share of one work, with progress reports and an orderly end."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from multiprocessing.connection import Connection, wait
from signal import SIGKILL
from typing import Any, Final

from reeltalk import errors
from reeltalk.errors import ProcessError, ReeltalkError
from reeltalk.parallel.pools import CONTEXT, close_pool, died_of, open_pool
from reeltalk.parallel.work import begin_worker, find
from reeltalk.schema.record import Json

LOOK_EVERY_S: Final = 0.1
_pipes: list[Connection] = []
"""In a process: the pipes for the reports of all."""


def side_by_side(
    function: str,
    arguments: Sequence[Json],
    told: Callable[[int, Json], None],
    *,
    variables: Sequence[Mapping[str, str]] = (),
) -> None:
    """Call a function once for each argument, all at the same time, each call in its own process.

    If one process fails or dies, or on Ctrl-C, the others are ended.

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
    from pebble import ProcessExpired

    count = len(arguments)
    pipes = [CONTEXT.Pipe(duplex=False) for _ in arguments]
    readers = {reader: number for number, (reader, _) in enumerate(pipes)}
    pool = open_pool(count, prepare=_prepare, arguments=([writer for _, writer in pipes],))
    try:
        futures: dict[int, Future[Any]] = {}
        for number, (argument, own) in enumerate(zip(arguments, variables or [{}] * count, strict=True)):
            futures[number] = pool.schedule(_run, (function, number, argument, {**os.environ, **own}))
        while futures:
            ended = [number for number, future in futures.items() if future.done()]
            for reader in wait(readers, 0 if ended else LOOK_EVERY_S):
                while reader.poll():  # type: ignore[union-attr]
                    told(readers[reader], json.loads(reader.recv_bytes()))  # type: ignore[union-attr, index]
            for number in ended:
                try:
                    failed = futures.pop(number).result()
                except ProcessExpired as error:
                    why = ", as happens where memory runs out" if error.exitcode == -SIGKILL else ""
                    how = died_of(error.exitcode or 0)
                    raise ProcessError(f"process {number + 1} of {count} {how}{why}") from None
                if failed is not None:
                    raise _error(*failed)
    finally:
        close_pool(pool)
        for reader, writer in pipes:
            reader.close()
            writer.close()


def _prepare(pipes: list[Connection]) -> None:
    begin_worker()
    _pipes[:] = pipes


def _run(function: str, number: int, argument: Json, variables: Mapping[str, str]) -> tuple[str, str] | None:
    """Run one call in a process. Returns kind and message of an error that the user must act on."""
    os.environ.clear()
    os.environ.update(variables)
    try:
        find(function)(argument, lambda value: _pipes[number].send_bytes(json.dumps(value).encode()))
    except ReeltalkError as error:
        return type(error).__name__, str(error)
    return None


def _error(kind: str, message: str) -> ReeltalkError:
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, ReeltalkError) and "__init__" not in vars(found):
        return found(message)
    return ReeltalkError(message)
