"""Processes of reeltalk without each of them importing everything anew: runs of the command line, and calls.

One process imports and then forks for every run. `warm_calls` does the same for the processes that follow a video,
which `reeltalk_streaming.video.feed` starts. A test takes the fixture `runs` (`tests/conftest.py`):

    ended = runs.run("judge", folder, meanwhile=kill)         # to its end: its outputs together, and its peak memory
    done = runs.completed("chat", video, input="@1 what?")    # as subprocess.run(..., capture_output=True, text=True)
    with runs.start("review", folder, stdout=PIPE) as run:    # as subprocess.Popen(..., text=True)
        run.stdout.readline()

A run has its own process, folder, environment (that of the test when it starts the run), files, limits and signals, and
ends as Python does. It differs from `python -m reeltalk` in this: modules are there already, the seed of hashes is
shared, and variables that Python or a library reads when it is first imported (PYTHONPATH, OMP_NUM_THREADS) have no
effect. A test of those starts Python itself.
"""

import contextlib
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Self
from unittest import mock

from reeltalk_streaming.video import feed

OF_COMMANDS: Final = """
import openai, reeltalk_household.benchmarks, reeltalk.cli, reeltalk_build.curate.stage, reeltalk.evaluation.stage
import reeltalk.llm.inspect_models, reeltalk.llm.wire_sender
import reeltalk.metrics.scoring
openai.AsyncOpenAI(api_key="none").chat.completions

sys.path.append(sys.argv[2])
import launched_runs
sys.path.pop()
if sys.argv[3]:
    calls = launched_runs.Launcher(sys.argv[3])
    diverting = launched_runs.diverted(lambda: calls)
    diverting.__enter__()
    # Else a run may end it only when modules are gone, and write a traceback.
    atexit.register(diverting.__exit__, None, None, None)
"""
OF_CALLS: Final = """
import importlib
import numpy, reeltalk_streaming.video.feeding, reeltalk_streaming.video.live
"""
OF_TESTS: Final = """
import contextlib, importlib

folders, modules = sys.argv[2:4]
sys.path[:0] = folders.split(os.pathsep)
for module in modules.split():
    # Not every environment has torch and peft.
    with contextlib.suppress(ImportError):
        importlib.import_module(module)
"""
LAUNCHER: Final = """
# Else each run spends most of a second at its end looking for cycles in all that was imported.
gc.freeze()

# A test that was killed while it talked to this process is gone, and this process with it.
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
ended, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
signal.set_wakeup_fd(wakes)
signal.signal(signal.SIGCHLD, lambda *_: None)
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
running = {}
events = selectors.DefaultSelector()
for source in (listener, ended, 0):
    events.register(source, selectors.EVENT_READ)
print("ready", flush=True)

job = None
while job is None:
    for key, _ in events.select():
        if key.fileobj == 0:
            for process in running:
                os.kill(process, signal.SIGKILL)
            os._exit(0)
        elif key.fileobj is listener:
            connection, _ = listener.accept()
            first, files, _, _ = socket.recv_fds(connection, 65536, 3)
            received = [first]
            while not received[-1].endswith(b"\\n"):
                received.append(connection.recv(65536))
            child = os.fork()
            if child == 0:
                job = json.loads(b"".join(received))
                break
            for file in files:
                os.close(file)
            running[child] = connection
        else:
            os.read(ended, 4096)
            for child in list(running):
                process, status, used = os.wait4(child, os.WNOHANG)
                if process:
                    with running.pop(child) as connection:
                        try:
                            connection.sendall(b"%d %d\\n" % (os.waitstatus_to_exitcode(status), used.ru_maxrss))
                        except OSError:
                            pass

# From here on, this is a run.
signal.set_wakeup_fd(-1)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
events.close()
listener.close()
for other in running.values():
    other.close()
os.close(ended)
os.close(wakes)
if job["new_session"] or job["terminal"]:
    os.setsid()
for number, file in enumerate(files):
    os.dup2(file, number)
    os.close(file)
if job["terminal"]:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
if job["largest_file_bytes"] is not None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (job["largest_file_bytes"],) * 2)
if job["obeys_modes"]:
    libc = ctypes.CDLL(None)
    held, version = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 2)(0x20080522, 0)
    libc.capget(version, held)
    for number in range(3):
        # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, of what it has and of what its own processes get.
        held[number] &= ~0b110
    libc.capset(version, held)
    for right in (1, 2):
        libc.prctl(24, right)
os.chdir(job["folder"])
os.environ.clear()
os.environ.update(job["environment"])
tempfile.tempdir = None
encoding = sys.stdout.encoding
sys.stdin = sys.__stdin__ = open(0, encoding=encoding, closefd=False)
sys.stdout = sys.__stdout__ = open(1, "w", encoding=encoding, closefd=False, buffering=1 if os.isatty(1) else -1)
sys.stderr = sys.__stderr__ = open(2, "w", encoding=encoding, closefd=False, buffering=1, errors="backslashreplace")
sys.argv = [job["module"] or "reeltalk", *job["arguments"]]
connection.sendall(b"%d\\n" % os.getpid())
connection.close()
if job["module"]:
    sys.modules.pop(job["module"], None)
    runpy.run_module(job["module"], run_name="__main__", alter_sys=True)
else:
    reeltalk.cli.main()
"""
IMPORTS: Final = """
import atexit, ctypes, fcntl, gc, json, os, resource, runpy, selectors, signal, socket, sys, tempfile, termios
"""
FOR_TESTS: Final = ("pytest", "page_world", "willing_model", "torch", "peft", "tiny_architectures")
"""Modules that take long to import, and that many files of tests import."""
OF_ALL_TESTS: Final = "REELTALK_TESTS_LAUNCHER"
"""The variable that gives a file of tests the address of the launcher that started it."""
LOOK_FOR_S: Final = 0.1
"""How long one thread waits for the end of a run before another may."""
FEEDING: Final = "reeltalk_streaming.video.feeding"
"""The module that `warm_calls` starts."""


@dataclass(frozen=True)
class Ended:
    """A run that ended."""

    code: int
    """Its exit code; below 0 the signal that ended it."""
    said: str
    """What it wrote, results and messages together."""
    peak_mb: float
    """Most memory that its process held at once."""


class Run:
    """A run that was started, with the names that a process of `subprocess.Popen` has.

    As a context it does not outlive its block: what still runs at the end is killed.
    """

    def __init__(self, connection: socket.socket, arguments: list[str], pipes: Mapping[int, IO[Any]]) -> None:
        self._connection, self._told = connection, connection.makefile("r")
        self._ending = threading.Lock()
        self.args = ["reeltalk", *arguments]
        self.pid = int(self._told.readline())
        self.returncode: int | None = None
        self.peak_mb = 0.0
        """Most memory that its process held at once, when it has ended."""
        self.stdin, self.stdout, self.stderr = map(pipes.get, range(3))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in filter(None, (self.stdin, self.stdout, self.stderr)):
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self.kill()
        self.wait()

    def poll(self) -> int | None:
        """The exit code, below 0 the signal that ended it; None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and give the exit code.

        Raises:
            TimeoutExpired: It has not ended within so many seconds.
        """
        until = math.inf if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            # Several threads may wait, and one of them reads. It waits in short turns, so that all others come round.
            with self._ending:
                if self.returncode is None and self._is_told(min(LOOK_FOR_S, max(until - time.monotonic(), 0.0))):
                    # Nothing is told where the launcher is gone, and what it launched with it.
                    code, peak_kb = map(int, (self._told.readline() or f"{-signal.SIGKILL} 0").split())
                    self._told.close()
                    self._connection.close()
                    self.peak_mb, self.returncode = peak_kb / 1024, code
            if self.returncode is None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self.returncode

    def _is_told(self, within_s: float) -> bool:
        return bool(select.select([self._connection], [], [], within_s)[0])

    def communicate(self, input: str = "", timeout: float | None = None) -> tuple[str, str]:
        """Send it what is typed, read its pipes to the end, and wait.

        Raises:
            TimeoutExpired: It has not ended within so many seconds; it is killed.
        """
        read = {1: "", 2: ""}

        def reads(number: int, pipe: IO[str]) -> None:
            read[number] = pipe.read()

        pipes = {1: self.stdout, 2: self.stderr}
        readers = [threading.Thread(target=reads, args=(number, pipe)) for number, pipe in pipes.items() if pipe]
        for reader in readers:
            reader.start()
        if self.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.write(input)
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()
            raise
        for reader in readers:
            reader.join()
        for pipe in filter(None, pipes.values()):
            pipe.close()
        return read[1], read[2]

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the run has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class Launcher:
    """Starts runs. Made by `launcher`."""

    def __init__(self, address: str) -> None:
        self.address, self._output = address, Path(f"{address}.txt")

    @property
    def said(self) -> str:
        """What the last of `run` wrote so far."""
        return self._output.read_text(encoding="utf-8", errors="replace")

    def start(
        self,
        *arguments: object,
        stdin: int | IO[str] | None = None,
        stdout: int | IO[str] | None = None,
        stderr: int | IO[str] | None = None,
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        largest_file_bytes: int | None = None,
        obeys_modes: bool = False,
        new_session: bool = False,
        terminal: bool = False,
        module: str | None = None,
        text: bool = True,
    ) -> Run:
        """A run that goes on while the test does.

        Args:
            arguments: As typed after `reeltalk`.
            stdin: As for `subprocess.Popen`: PIPE, DEVNULL, a file or its number, or None for that of this process;
                likewise `stdout` and `stderr`, which may also be STDOUT.
            stdout: See there.
            stderr: See there.
            cwd: Where it runs; None where this process does.
            environment: Variables that differ from those of this process.
            largest_file_bytes: The kernel refuses files beyond, as on a full disk.
            obeys_modes: As root it may write only where a mode allows it, as other users.
            new_session: It leads a session of its own.
            terminal: It does, and the terminal that `stdin` is becomes its own.
            module: Run as `python -m` does, in place of the command line.
            text: Whether its pipes carry text.
        """
        words = [str(argument) for argument in arguments]
        job = {
            "arguments": words,
            "folder": str(cwd or Path.cwd()),
            "environment": os.environ | dict(environment or {}),
            "largest_file_bytes": largest_file_bytes,
            "obeys_modes": obeys_modes,
            "new_session": new_session,
            "terminal": terminal,
            "module": module,
        }
        pipes: dict[int, IO[Any]] = {}
        files: list[int] = []
        opened: list[int] = []
        for number, given in enumerate((stdin, stdout, stderr)):
            if given == subprocess.PIPE:
                read, write = os.pipe()
                theirs, ours = (read, write) if number == 0 else (write, read)
                mode = "w" if number == 0 else "r"
                pipes[number] = os.fdopen(ours, mode, encoding="utf-8") if text else os.fdopen(ours, f"{mode}b")
                opened.append(theirs)
            elif given == subprocess.DEVNULL:
                theirs = os.open(os.devnull, os.O_RDWR)
                opened.append(theirs)
            elif given == subprocess.STDOUT:
                theirs = files[1]
            else:
                theirs = number if given is None else given if isinstance(given, int) else given.fileno()
            files.append(theirs)
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.address)
        message = json.dumps(job).encode() + b"\n"
        sent = socket.send_fds(connection, [message], files)
        connection.sendall(message[sent:])
        for theirs in opened:
            os.close(theirs)
        return Run(connection, words, pipes)

    def run(
        self,
        *arguments: object,
        meanwhile: Callable[[int], None] | None = None,
        largest_file_bytes: int | None = None,
        obeys_modes: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """One run, to its end.

        Args:
            arguments: As typed after `reeltalk`.
            meanwhile: Is called with the run's process while it runs, as to kill it.
            largest_file_bytes: See `start`.
            obeys_modes: See `start`.
            environment: See `start`.
        """
        with (
            self._output.open("w") as output,
            self.start(
                *arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=output, environment=environment,
                largest_file_bytes=largest_file_bytes, obeys_modes=obeys_modes,
            ) as run,
        ):  # fmt: skip
            if meanwhile is not None:
                meanwhile(run.pid)
            return Ended(run.wait(), self.said, run.peak_mb)

    def completed(
        self,
        *arguments: object,
        input: str = "",
        cwd: Path | None = None,
        environment: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """One run, to its end, with its results and its messages apart.

        Args:
            arguments: As typed after `reeltalk`.
            input: What is typed while it runs.
            cwd: See `start`.
            environment: See `start`.
            timeout: After so many seconds it is killed.

        Raises:
            TimeoutExpired: It has not ended within `timeout`.
        """
        pipe = subprocess.PIPE
        with self.start(*arguments, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, environment=environment) as run:
            printed, told = run.communicate(input, timeout)
            return subprocess.CompletedProcess(run.args, run.wait(), printed, told)

    def send(self, process: int, number: signal.Signals) -> None:
        """Send a signal to a run, which may have ended."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


@contextlib.contextmanager
def launcher(calls: Launcher | None = None) -> Iterator[Launcher]:
    """What starts runs, while the block lasts; those that still run at its end are killed.

    Args:
        calls: Launches what these runs start; by default Python does.
    """
    address = "" if calls is None else calls.address
    with _launching(OF_COMMANDS, str(Path(__file__).parent), address) as made:
        yield made


@contextlib.contextmanager
def launcher_of_tests() -> Iterator[Launcher]:
    """What starts runs of pytest in processes that have imported `FOR_TESTS`, while the block lasts.

    Where `OF_ALL_TESTS` gives the address of one, it is that one.
    """
    if address := os.environ.get(OF_ALL_TESTS):
        yield Launcher(address)
        return
    tools = Path(__file__).parent
    folders = os.pathsep.join((str(tools), str(tools.parent / "bench")))
    with _launching(OF_TESTS, folders, " ".join(FOR_TESTS)) as made:
        yield made


@contextlib.contextmanager
def warm_calls() -> Iterator[Callable[[], Launcher]]:
    """Let processes that `feed` starts in this one be forked, while the block lasts.

    What is given launches them; it is started when it is first needed.
    """
    lock, launched = threading.Lock(), list[Launcher]()
    with contextlib.ExitStack() as at_the_end:

        def calls() -> Launcher:
            with lock:
                if not launched:
                    launched.append(at_the_end.enter_context(_launching(OF_CALLS)))
            return launched[0]

        with diverted(calls):
            yield calls


@contextlib.contextmanager
def _launching(prepared: str, *arguments: str) -> Iterator[Launcher]:
    with tempfile.TemporaryDirectory() as name:
        address = str(Path(name) / "launcher")
        command = [sys.executable, "-c", IMPORTS + prepared + LAUNCHER, address, *arguments]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("the launcher of runs did not start; what it wrote says why")
            yield Launcher(address)


@contextlib.contextmanager
def diverted(calls: Callable[[], Launcher]) -> Iterator[None]:
    """Let processes be launched where `feed` would start Python, while the block lasts."""

    def start(
        command: list[str],
        *,
        env: Mapping[str, str],
        cwd: Path | None = None,
        start_new_session: bool = False,
        **files: Any,
    ) -> Any:
        if command[:2] != [sys.executable, "-m"] or command[2] != FEEDING:
            return subprocess.Popen(command, env=env, cwd=cwd, start_new_session=start_new_session, **files)
        return calls().start(
            module=command[2], cwd=cwd, environment=env, new_session=start_new_session, text=False, **files
        )

    in_place = types.SimpleNamespace(**vars(subprocess) | {"Popen": start})
    with mock.patch.object(feed, "subprocess", in_place):
        yield
