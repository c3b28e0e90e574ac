"""Several processes that answer requests on one listening socket, so that a server uses several processor cores.

The first process makes the application and watches over the others. Each of them is a fork of it. If one ends, another
takes its place; the socket stays open meanwhile, and browsers ask again for what was not answered. Tries to sign in and
secrets that were just made are kept in one more process, so that limits are the same however many processes answer.
"""

import gc
import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from multiprocessing import connection, get_context
from multiprocessing.managers import BaseManager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final, cast

from fastapi import FastAPI

from reeltalk.review.errors import TooManyRequests
from reeltalk.review.guard import TOO_MANY, LoginLimiter
from reeltalk.review.idempotency import OneTimeSecrets

ENDING_S: Final = 15.0
"""How long a process may take to end. Answers that were begun are finished within ten seconds."""
SHORT_LIFE_S: Final = 1.0
"""After a process that ended sooner, the next one waits for as long."""
_ENDS: Final = (signal.SIGINT, signal.SIGTERM)
_FORKING: Final = get_context("fork")


class _SharedState(BaseManager):
    """What all processes share. It lives in a process of its own, behind a socket that only this user can open."""


_SharedState.register("limiter", cache(LoginLimiter), exposed=("wait", "reset"))
_SharedState.register("secrets", cache(OneTimeSecrets), exposed=("keep", "again"))


class SharedLimiter:
    """The limiter of sign-ins of all processes; see `LoginLimiter`.

    Args:
        limiter: The connection to it.
    """

    def __init__(self, limiter: Any) -> None:
        self._limiter = limiter
        self.reset = limiter.reset

    def hit(self, name: str, address: str) -> float:
        """Count a try to sign in; returns after how many seconds it may run.

        Raises:
            TooManyRequests: There were too many tries; this one is not counted.
        """
        pause_s, wait_s = self._limiter.wait(name, address)
        if wait_s:
            raise TooManyRequests(TOO_MANY, wait_s=wait_s)
        return float(pause_s)


class Processes:
    """Serves an application with several processes until it is told to stop.

    Args:
        app: The FastAPI application. No connection to the database may be open.
        serve: Answers requests in one of the processes, until SIGTERM.
        count: How many processes.
    """

    def __init__(self, app: FastAPI, serve: Callable[[], None], count: int) -> None:
        self._app, self._serve, self._count = app, serve, count
        self._key = secrets.token_bytes(32)
        self._stopped = False
        # Whoever holds the second end is alive: the first process alone.
        self._alive = os.pipe()
        self._woken, self._wakes = socket.socketpair()

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM. Requests that are being answered are finished first."""
        # What was loaded before the first fork stays shared memory.
        gc.collect()
        gc.freeze()
        self._wakes.setblocking(False)
        handlers = {number: signal.signal(number, self._stop) for number in _ENDS}
        wakes = signal.set_wakeup_fd(self._wakes.fileno())
        try:
            while not self._stopped:
                with tempfile.TemporaryDirectory(prefix="reeltalk-") as folder:
                    self._run_at(str(Path(folder) / "state"))
        finally:
            signal.set_wakeup_fd(wakes)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            for descriptor in self._alive:
                os.close(descriptor)
            self._woken.close()
            self._wakes.close()

    def _stop(self, *_: Any) -> None:
        self._stopped = True

    def _run_at(self, address: str) -> None:
        shared = _SharedState(address, self._key).get_server()
        started: list[BaseProcess] = []
        try:
            started.append(self._started(shared.serve_forever))
            started += [self._started(self._answer, address) for _ in range(self._count)]
            self._watch(started, address)
        finally:
            cast(Any, shared).listener.close()
            for process in started:
                process.terminate()
            end = time.monotonic() + ENDING_S
            for process in started:
                process.join(max(0.0, end - time.monotonic()))
                if process.is_alive():
                    process.kill()
                    process.join()

    def _watch(self, started: list[BaseProcess], address: str) -> None:
        begun = dict.fromkeys(started, time.monotonic())
        while not self._stopped:
            connection.wait([self._woken, *(process.sentinel for process in started)])
            for at, process in enumerate(started):
                if self._stopped or process.is_alive():
                    continue
                process.join()
                sys.stderr.write(f"a process of the server ended ({_ending(process)}); another takes its place\n")
                if time.monotonic() - begun.pop(process) < SHORT_LIFE_S:
                    connection.wait([self._woken], SHORT_LIFE_S)
                if at == 0:
                    # Nobody can reach what it knew: all start again.
                    return
                started[at] = self._started(self._answer, address)
                begun[started[at]] = time.monotonic()

    def _started(self, target: Callable[..., None], *arguments: Any) -> BaseProcess:
        process = _FORKING.Process(target=self._forked, args=(target, *arguments))
        # A signal that reaches the fork before it has handlers of its own must wait for them.
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
        process.start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        return process

    def _forked(self, target: Callable[..., None], *arguments: Any) -> None:
        signal.set_wakeup_fd(-1)
        # Ctrl-C reaches all processes of a terminal; the first one tells the others to end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
        reading, writing = self._alive
        os.close(writing)
        threading.Thread(target=_end_with, args=(reading,), daemon=True).start()
        target(*arguments)

    def _answer(self, address: str) -> None:
        shared = _SharedState(address, self._key)
        shared.connect()
        # `register` made these methods.
        made = cast(Any, shared)
        self._app.state.login_limiter, self._app.state.one_time_secrets = SharedLimiter(made.limiter()), made.secrets()
        self._serve()


def _end_with(reading: int) -> None:
    """End this process when the first one has ended, however that happened."""
    os.read(reading, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _ending(process: BaseProcess) -> str:
    code = process.exitcode or 0
    return f"signal {-code}" if code < 0 else f"exit code {code}"
