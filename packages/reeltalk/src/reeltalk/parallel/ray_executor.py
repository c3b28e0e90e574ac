"""Runs calls on the nodes of a Ray cluster. No other module uses Ray.

A call is a Ray task that carries JSON text in both directions. On the node it runs as it does locally, in a process
with limits. Ray runs a task again elsewhere if its node dies, also if only the result was lost with the node. It
puts tasks on nodes that join. This is safe only if every called function keeps one rule: **a call is a function of its
JSON argument alone, and a file that it writes appears whole and is the same however often it is made.**
"""

import contextlib
import json
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from reeltalk._version import __version__
from reeltalk.errors import ClusterError, MissingExtraError
from reeltalk.parallel.executor import Call, Failure, FailureKind, Outcome
from reeltalk.parallel.work import read_outcome
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors

RUNS_AGAIN: Final = 5
"""How often a call is repeated if it did not end by itself. After more attempts, the call probably ends its nodes."""
LOOK_EVERY_S: Final = 2.0
"""How often to look for nodes that have joined."""
CALLS_AHEAD: Final = 2
"""Calls handed to Ray for each core, by default. Waiting calls make an autoscaling cluster grow."""
CANCEL_S: Final = 10.0
REACH_S: Final = 10.0
"""Longest wait for the first reply of a cluster."""
HEAD_S: Final = 20.0
"""How long a head may be silent. It may restart; after 60 seconds without it, Ray ends this process."""
OBJECTS_BYTES: Final = 100 << 20
"""Shared memory of a Ray instance of our own. Only short texts go there."""
AUTH_MODE: Final = "RAY_AUTH_MODE"
AUTH_TOKEN: Final = "RAY_AUTH_TOKEN"
TOKEN_PATH: Final = "RAY_AUTH_TOKEN_PATH"
QUIET_OPTIONS: Final[dict[str, Any]] = {"log_to_driver": False, "logging_level": logging.ERROR}
CONTINUE_HINT: Final = "start the cluster again and run the same command: it continues"


class RayExecutor:
    """`Executor` that uses the nodes of a Ray cluster.

    A process has at most one Ray connection: a second executor uses the connection of the first. A Ray instance that
    was started here ends with this process, and its token, which no file holds, with it. A cluster that wants a token
    gets the one of `RAY_AUTH_TOKEN`, `RAY_AUTH_TOKEN_PATH` or `~/.ray/auth_token`.

    Args:
        address: `HOST:PORT` of the cluster that this machine is a node of, or `auto` for the one that `ray start` began
            here; by default a Ray instance of our own on this machine.
        workers: Calls at a time; by default as many as the cluster has cores, and more if nodes join.
        shared: Files and folders that calls read and write. A node that does not see them is reported before it works.

    Raises:
        MissingExtraError: Ray is not installed.
        ClusterError: There is no such cluster, it refuses the token, its Ray or Python has another version, Ray does
            not start, or this process is connected to another cluster.
    """

    def __init__(self, address: str | None = None, workers: int | None = None, shared: Sequence[Path] = ()) -> None:
        self._ray = _opened(address, workers)
        self._head: str = self._ray.get_runtime_context().gcs_address
        self.workers = workers
        self._shared = [path.absolute() for path in shared]
        self._answer = self._ray.remote(num_cpus=1, max_retries=RUNS_AGAIN)(_by_value())
        self._room, self._looked_s = workers or 0, float("-inf")
        self._silent_s: float | None = None

    def map(self, function: str, calls: Iterable[Call]) -> Iterator[tuple[int, Outcome]]:
        """See `Executor.map`.

        Raises:
            ClusterError: A node lacks reeltalk, has another version of it, or does not see a path of `shared`; or the
                head died, or the node of this machine.
        """
        waiting = enumerate(calls)
        under_way: dict[Any, int] = {}
        with _seen(self._shared) as paths:
            terms = {"version": __version__, "folder": os.getcwd(), "paths": [str(path) for path in paths]}
            try:
                while True:
                    self._look()
                    while len(under_way) < self._room and (item := next(waiting, None)) is not None:
                        under_way[self._answer.remote(function, json.dumps(asdict(item[1])), terms)] = item[0]
                    if not under_way:
                        break
                    ready, _ = self._ray.wait(list(under_way), timeout=LOOK_EVERY_S)
                    for task in ready:
                        yield under_way.pop(task), self._outcome(function, task)
            finally:
                self._cancel(list(under_way))

    def _outcome(self, function: str, task: Any) -> Outcome:
        errors = self._ray.exceptions
        try:
            line = self._ray.get(task)
        except errors.RayTaskError as error:
            # Every failure of a call comes back as a reply, so this error is from the node or from us.
            raise ClusterError(f"a node cannot make calls: {str(error).strip().splitlines()[-1]}") from error
        except errors.LocalRayletDiedError as error:
            raise ClusterError(
                f"the node of this machine, of the Ray cluster at {self._head}, died; {CONTINUE_HINT}"
            ) from error
        except errors.RayError as error:
            why = f"what ran it died {RUNS_AGAIN + 1} times ({type(error).__name__})"
            return Failure(FailureKind.DIED, why)
        if line.startswith('{"unfit"'):
            raise ClusterError(json.loads(line)["unfit"])
        return read_outcome(function, line)

    def _look(self) -> None:
        """Now and then, see whether the head is there and how many cores its cluster has."""
        if time.monotonic() - self._looked_s <= LOOK_EVERY_S:
            return
        try:
            _reach(self._head, LOOK_EVERY_S)
            if self.workers is None:
                self._room = CALLS_AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._silent_s = None
        except (OSError, self._ray.exceptions.RayError) as error:
            self._silent_s = self._silent_s or time.monotonic()
            if time.monotonic() - self._silent_s > HEAD_S:
                raise ClusterError(
                    f"the head of the Ray cluster at {self._head} does not answer any more; {CONTINUE_HINT}"
                ) from error
        self._looked_s = time.monotonic()

    def _cancel(self, tasks: list[Any]) -> None:
        for task in tasks:
            # By force: this ends the worker, and with it the process of its call.
            self._ray.cancel(task, force=True)
        if tasks:
            self._ray.wait(tasks, num_returns=len(tasks), timeout=CANCEL_S)


def _by_value() -> Callable[[str, str, dict[str, Any]], str]:
    """The function for a node. Ray sends a nested function by value, so it can report that reeltalk is missing."""

    def answer(function: str, call: str, terms: dict[str, Any]) -> str:
        try:
            from reeltalk.parallel.node import answer as answer_here
        except ImportError as error:
            import json
            import platform
            import sys

            where = f"node {platform.node()} has no reeltalk {terms['version']} in {sys.executable} ({error})"
            return json.dumps({"unfit": f"{where}; install the same version on every node"})
        return answer_here(function, call, terms)

    return answer


@contextlib.contextmanager
def _seen(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Paths that a node must see, and a new file in each writable folder to tell it from a folder of the same name."""
    looked_for, marks = [], []
    try:
        for path in paths:
            if path.is_dir() and os.access(path, os.W_OK):
                mark = path / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
                with storage_errors(path):
                    mark.touch()
                marks.append(mark)
                looked_for.append(mark)
            elif path.exists():
                looked_for.append(path)
        yield looked_for
    finally:
        for mark in marks:
            mark.unlink(missing_ok=True)


def _opened(address: str | None, workers: int | None) -> Any:
    """Ray, connected and without its messages."""
    # No usage data leaves the machine, and users cannot act on the warnings of Ray.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray gives its workers a low priority. In an instance of our own they are all the work there is.
    os.environ.setdefault("RAY_worker_niceness", "0")
    try:
        import ray
    except ImportError:
        raise MissingExtraError("--executor ray", extra="ray") from None
    if ray.is_initialized():
        _check_same(address, ray.get_runtime_context().gcs_address)
        return ray
    if address is None:
        _start(ray, workers or len(os.sched_getaffinity(0)))
    else:
        _join(ray, address)
    return ray


def _start(ray: Any, cores: int) -> None:
    """Start Ray on this machine."""
    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": OBJECTS_BYTES}
    token = os.environ.get(AUTH_TOKEN) or secrets.token_hex(32)
    try:
        with _access(ray, os.environ.get(AUTH_MODE) or "token", token):
            ray.init(address="local", num_cpus=cores, **own, **QUIET_OPTIONS)
    except (OSError, RuntimeError, ValueError) as error:
        why = f"Ray does not start on this machine: {_first_line(error)}"
        raise ClusterError(f"{why}; correct that, or leave --executor out to work without Ray") from error


def _join(ray: Any, address: str) -> None:
    """Connect to a cluster, with a token exactly if the cluster wants one."""
    from ray._private.services import canonicalize_bootstrap_address_or_die

    logging.getLogger("ray").setLevel(logging.ERROR)
    try:
        found = canonicalize_bootstrap_address_or_die(address)
        # Ray itself would try for minutes.
        _reach(found, REACH_S)
        with _access(ray, _mode(ray, found)):
            ray.init(address=found, **QUIET_OPTIONS)
    except OSError as error:
        raise ClusterError(
            f"no Ray cluster at {address}: {_first_line(error)}; start one with `ray start --head` here, or join one "
            "with `ray start --address HOST:6379`, and run the command on a node of it"
        ) from error
    except (RuntimeError, ValueError, AssertionError, ray.exceptions.RayError) as error:
        raise ClusterError(f"the Ray cluster at {address} cannot be joined: {_first_line(error)}") from error


def _reach(address: str, within_s: float) -> None:
    host, _, port = address.rpartition(":")
    socket.create_connection((host.strip("[]"), int(port)), within_s).close()


@contextlib.contextmanager
def _access(ray: Any, mode: str, token: str | None = None) -> Iterator[None]:
    """Let Ray use a mode, `token` or `disabled`, and a token, for a connection made in the block."""
    ours = {AUTH_MODE: mode} | ({AUTH_TOKEN: token} if token else {})
    before = {name: os.environ.get(name) for name in ours}
    os.environ.update(ours)
    try:
        # Ray keeps what it read when it was imported.
        ray._raylet.Config.initialize("")
        ray._raylet.AuthenticationTokenLoader.instance().reset_cache()
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _mode(ray: Any, address: str) -> str:
    """The mode that a cluster has: a process in another one is refused, or refuses the nodes."""
    asked = os.environ.get(AUTH_MODE)
    if asked != "token" and _lets_in(ray, address, "disabled"):
        return "disabled"
    wants = f"the Ray cluster at {address} wants a token"
    if asked == "disabled":
        raise ClusterError(f"{wants}, and {AUTH_MODE}=disabled forbids one here; unset {AUTH_MODE}")
    path = os.environ.get(TOKEN_PATH) or str(Path.home() / ".ray" / "auth_token")
    copy = f"copy ~/.ray/auth_token from the head to {path} on this machine, and let nobody else read it"
    try:
        here = ray._raylet.AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True)
    except ray.exceptions.AuthenticationError:
        # The file that the variable names cannot be read, or is empty.
        here = False
    if not here:
        raise ClusterError(f"{wants}, and this machine has none; {copy}")
    if not _lets_in(ray, address, "token"):
        source, unset = (AUTH_TOKEN, f"unset {AUTH_TOKEN} and ") if os.environ.get(AUTH_TOKEN) else (path, "")
        raise ClusterError(f"the Ray cluster at {address} refuses the token of {source}; {unset}{copy}")
    return "token"


def _lets_in(ray: Any, address: str, mode: str) -> bool:
    errors = os.dup(2)
    with _access(ray, mode), open(os.devnull, "wb") as nowhere:
        # Ray writes of each refusal there.
        os.dup2(nowhere.fileno(), 2)
        try:
            ray._raylet.GcsClient(address=address)
        except ray.exceptions.AuthenticationError:
            return False
        finally:
            os.dup2(errors, 2)
            os.close(errors)
    return True


def _check_same(asked: str | None, found: str) -> None:
    if asked is None or asked in ("auto", found):
        return
    host, _, port = asked.rpartition(":")
    with contextlib.suppress(OSError):
        if f"{socket.gethostbyname(host)}:{port}" == found:
            return
    raise ClusterError(
        f"this process works with the Ray cluster at {found} already; use {asked} from another process, or after "
        "ray.shutdown()"
    )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0].rstrip(".,:") if lines else type(error).__name__)[:300]
