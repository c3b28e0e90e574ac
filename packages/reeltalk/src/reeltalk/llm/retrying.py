"""Decides when a failed request is sent again, and when a command stops because its server is dead.

A request is retried after transient failures, with growing, jittered waits. A dead server costs seconds, not hours.
"""

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from reeltalk.errors import FailureKind, ModelError, OutageError
from reeltalk.llm.model import Endpoint

APART_S: Final = 600.0
"""Failures further apart than this are not related, at least."""
IN_A_ROW: Final = 8
"""A command stops after this many failures of a lasting kind in a row."""
AT_ONCE: Final[frozenset[FailureKind]] = frozenset({"access", "not-found"})
"""Kinds that no request survives: the command stops at the first, or at the second if the model has answered before,
since gateways and servers that load models send single ones by chance."""
LASTING: Final[dict[FailureKind, tuple[str, str]]] = {
    "connection": ("cannot be reached", "start the server or correct the address"),
    "access": ("refuses access", "correct the key"),
    "not-found": ("says 'not found'", "correct the model's name or the address"),
    "invalid": ("refuses the requests as invalid", "correct the settings that it refuses"),
    "quota": ("has no quota left for you", "pay, raise the limit or wait until it is renewed"),
    "content": ("refuses what it is asked", "see what its filter refuses, or pass --no-preflight to accept that"),
    "reply": ("sends replies that cannot be used", "see what answers at the address, and mend it"),
    "empty": ("sends replies without a word", "see why it says nothing, or pass --no-preflight to accept that"),
}
"""Lasting kinds of failure, each with a description and what to do."""
MOST_RESENDS: Final[dict[FailureKind, int]] = {"reply": 2, "empty": 1}
"""How often a request is sent again at most after a reply of no use. The same words may give the same reply."""
PASSING: Final[frozenset[FailureKind]] = frozenset({"busy", "server", "time-out"})
"""Transient kinds of failure."""


class Breaker:
    """Failures of one model at one address; shared by all threads and tasks that ask it."""

    def __init__(self, name: str, *, give_up_after_s: float, preflight: Callable[[], object] | None = None) -> None:
        """Begin with no failures.

        Args:
            name: Model and address, for errors.
            give_up_after_s: Longest time without any answer while the model fails; 0 for no limit.
            preflight: Called once, before the first request; raises `OutageError` if no request can succeed. Without
                it, replies without a word and content that is refused do not stop the command.
        """
        self.give_up_after_s, self._accepts_silence = give_up_after_s, preflight is None
        self._name, self._lock = name, threading.Lock()
        self._in_a_row = self._failures = self._requests = self._reused = 0
        self._answered_s = float("-inf")
        self._failing_since_s: float | None = None
        self._failed_s = 0.0
        self._message: str | None = None
        self._preflight, self._first = preflight, threading.Lock()
        self._wakes: set[Callable[[], object]] = set()

    @property
    def is_untried(self) -> bool:
        """True if `check` would send a request, which takes a while."""
        return self._preflight is not None

    def check(self) -> None:
        """Return if the model may be asked. Called before each request; the first call tries the server.

        Raises:
            OutageError: The model failed too often, or no request can succeed.
            BudgetError: A limit would be passed.
        """
        if self._preflight is not None:
            with self._first:
                self._try()
        with self._lock:
            if self._message is not None:
                raise OutageError(self._message)

    def _try(self) -> None:
        if self._preflight is None:  # another thread tried while this one waited for the lock
            return
        try:
            self._preflight()
        except OutageError as error:
            with self._lock:
                self._message = str(error)
        self._preflight = None

    def record_success(self) -> None:
        """Record that the model answered."""
        with self._lock:
            self._answered_s, self._failing_since_s = time.monotonic(), None
            self._in_a_row, self._failures, self._requests = 0, 0, 0

    def record_reused(self) -> None:
        """Record that a kept reply was used in place of a request.

        The model accepted such a request before, so the requests that it refuses as invalid may be few among many. It
        does not show that the server can be reached now.
        """
        with self._lock:
            self._reused += 1

    def record_failure(self, error: ModelError, *, first: bool = True) -> None:
        """Record that a request failed.

        Args:
            error: The failure. One of a single request does not count, and lasting ones of all kinds count together.
            first: True for the first attempt. If a model that has answered before fails on few requests, however often
                they are sent, the requests may be the cause; they do not stop the command. A model may have nothing to
                say to a question, so that its empty replies to one question count once.

        Raises:
            OutageError: The model failed too often.
        """
        if error.kind not in LASTING and error.kind not in PASSING:
            return
        if error.kind in ("empty", "content") and (self._accepts_silence or not first):
            return
        now_s = time.monotonic()
        with self._lock:
            if self._message is not None:
                raise OutageError(self._message)
            if self._failing_since_s is None or now_s - self._failed_s > max(self.give_up_after_s, APART_S):
                # The time between rare requests is no time of waiting for an answer. Waits before retries, and long
                # requests, are such time.
                self._failing_since_s, self._failures, self._requests = now_s, 0, 0
            self._in_a_row += error.kind in LASTING
            self._failed_s = now_s
            self._failures += 1
            self._requests += first
            gone_s = now_s - self._failing_since_s
            # Kept replies do not end a row of refusals, so each allows as many more of them.
            most = IN_A_ROW * (1 + self._reused) if error.kind == "invalid" else IN_A_ROW
            if error.kind in AT_ONCE:
                most = 2 if self.has_answered else 1
            if error.kind in LASTING and (self._in_a_row >= most or error.kind == "quota"):
                does, advice = LASTING[error.kind]
                often = f", {self._in_a_row} times in a row" if self._in_a_row >= max(2, most) else ""
                problem = f"{self._name} {does}{often}"
            elif 0 < self.give_up_after_s <= gone_s and (self._requests >= IN_A_ROW or not self.has_answered):
                problem = f"{self._name} gave no answer for {_in_words(gone_s)}, {self._failures:,} failures in a row"
                advice = "wait until the server works again, or raise --give-up-after-s"
            else:
                return
            self._message = (
                f"{problem}, so the command stops; the last failure: {error}; all replies so far are kept: {advice}, "
                "and the same command continues"
            )
            wakes = list(self._wakes)
        for wake in wakes:
            wake()
        raise OutageError(self._message)

    @property
    def has_answered(self) -> bool:
        """True if the model ever answered."""
        return self._answered_s > float("-inf")

    @property
    def fails_one(self) -> bool:
        """True if the model has answered before and failed at most one request since."""
        with self._lock:
            return self.has_answered and self._requests <= 1

    def answered_since(self, moment_s: float) -> bool:
        """True if the model answered any request since a moment of `time.monotonic`."""
        with self._lock:
            return self._answered_s >= moment_s

    @contextlib.contextmanager
    def wake_on_stop(self, wake: Callable[[], object]) -> Iterator[None]:
        """Call `wake` if the breaker stops the command during the block, or did before.

        Args:
            wake: Called once, in the thread that records the failure.
        """
        with self._lock:
            is_open = self._message is not None
            self._wakes.add(wake)
        try:
            if is_open:
                wake()
            yield
        finally:
            with self._lock:
                self._wakes.discard(wake)


def _in_words(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} s"


LONG_WAIT_S: Final = 1.0
"""Shortest wait of a request that is still retried after `max_retries`."""


class TransientError(ModelError):
    """A failure after which the same request may succeed.

    Args:
        problem: The failure in words.
        kind: Kind of the failure.
        wait_s: Wait that the server asks for.
        reached: False if no connection could be opened, so that no server has seen the request.
    """

    def __init__(
        self, problem: str, *, kind: FailureKind = "other", wait_s: float | None = None, reached: bool = True
    ) -> None:
        self.wait_s, self.reached = wait_s, reached
        super().__init__(problem, kind=kind)


class RetryPolicy:
    """Decides whether a failed request is sent again, and after which wait."""

    def __init__(self, endpoint: Endpoint, breaker: Breaker) -> None:
        """Set the limits.

        Args:
            endpoint: Has the number of retries and the waits.
            breaker: Shows whether the server answers other requests.
        """
        self._retries, self._breaker = endpoint.max_retries, breaker
        self._backoff_s, self._longest_wait_s = endpoint.backoff_s, endpoint.longest_wait_s

    def should_retry(self, error: TransientError, times: int, began_s: float) -> bool:
        """True if a request is sent again after a transient failure.

        Beyond `max_retries` it is sent again for a time if the server is busy, or fails for all requests. A request
        that fails alone is given up, since it may be the cause.

        Args:
            error: The failure.
            times: Attempts so far.
            began_s: Time of the first attempt, by `time.monotonic`.
        """
        if times <= min(self._retries, MOST_RESENDS.get(error.kind, self._retries)):
            return True
        give_up_after_s = self._breaker.give_up_after_s
        if not self._retries or not give_up_after_s or error.kind not in PASSING:
            return False
        if error.kind != "busy" and (self._breaker.answered_since(began_s) or self._breaker.fails_one):
            return False
        # If the server never answered, the breaker ends the request and the command.
        return time.monotonic() - began_s < give_up_after_s or not self._breaker.has_answered

    def wait_s(self, error: TransientError, times: int) -> float:
        """Seconds before a request is sent again.

        Args:
            error: The failure.
            times: Attempts so far.
        """
        # No power of two beyond 2^30.
        grown_s = self._backoff_s * 2.0 ** min(times - 1, 30) if error.wait_s is None else error.wait_s
        if times > self._retries:
            grown_s = max(grown_s, LONG_WAIT_S)
        # Requests that were refused together must not come back together. A server's own moment is never too early.
        spread_s = random.uniform(-grown_s / 2, grown_s / 2) if error.wait_s is None else 0.0
        # Never longer than the time to give up, even if the server asks for more.
        longest_s = min(self._longest_wait_s, self._breaker.give_up_after_s or self._longest_wait_s)
        return min(grown_s + spread_s + random.uniform(0, self._backoff_s), longest_s)


def final_error(error: TransientError, times: int) -> ModelError:
    """The error of a request that failed in every attempt."""
    return ModelError(f"{error}{f' (asked {times} times)' if times > 1 else ''}", kind=error.kind)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to wait: `Retry-After` as a number or an HTTP date, or `retry-after-ms`."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        return max(0.0, parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None
