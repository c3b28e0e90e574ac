"""Ask again after failures that pass, with growing, jittered waits. The home of tenacity."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, TypeVar

from reeltalk.errors import ModelError

if TYPE_CHECKING:
    from tenacity import RetryCallState

T = TypeVar("T")


class TransientError(ModelError):
    """A failure after which the same request may well succeed.

    Args:
        problem: What went wrong.
        wait_s: How long the server asks to be left alone.
    """

    def __init__(self, problem: str, *, wait_s: float | None = None) -> None:
        self.wait_s = wait_s
        super().__init__(problem)


class Persistence:
    """Calls a function until it gives a result or too many transient errors; safe to share among threads."""

    def __init__(self, retries: int, *, backoff_s: float, longest_wait_s: float) -> None:
        """Set the waits.

        Args:
            retries: Calls after the first.
            backoff_s: First wait; each further one is twice as long.
            longest_wait_s: Longest wait, whatever a server asks for.
        """
        import tenacity

        self._tenacity, self._retries = tenacity, retries
        self._backoff_s, self._longest_wait_s = backoff_s, longest_wait_s
        self._growing = tenacity.wait_exponential(backoff_s, longest_wait_s) + tenacity.wait_random(0, backoff_s)
        self._stopped = threading.Event()

    def __call__(self, attempt: Callable[[], T]) -> T:
        """The first result of `attempt`.

        Raises:
            ModelError: Every call ended in a transient error, or `stop` was called. All other errors pass through.
        """
        tenacity = self._tenacity

        def unless_stopped() -> T:
            if self._stopped.is_set():
                raise ModelError("the model was closed before it gave a reply")
            return attempt()

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self._retries + 1),
            wait=self.wait,
            sleep=tenacity.sleep_using_event(self._stopped),
            retry=tenacity.retry_if_exception_type(TransientError),
            reraise=True,
        )
        try:
            result: T = retrying(unless_stopped)
        except TransientError as error:
            times = int(retrying.statistics.get("attempt_number", 1))
            raise ModelError(f"{error}{f' (asked {times} times)' if times > 1 else ''}") from None
        return result

    def stop(self) -> None:
        """End all waits: whoever waits gives up."""
        self._stopped.set()

    def wait(self, state: "RetryCallState") -> float:
        """Seconds before the next call, as tenacity asks for them."""
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, TransientError) and error.wait_s is not None:
            # Jitter, for a server that sends many away names the same moment to all.
            return min(error.wait_s + random.uniform(0, self._backoff_s), self._longest_wait_s)
        return min(self._growing(state), self._longest_wait_s)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a server asks to be left alone: `Retry-After` as a number or an HTTP date, or `retry-after-ms`."""
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
