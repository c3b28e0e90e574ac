"""When a request that failed is sent again: after failures that pass, with growing, jittered waits."""

import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from reeltalk.errors import FailureKind, ModelError
from reeltalk.llm.breaker import PASSING, Breaker
from reeltalk.llm.model import Endpoint

LONG_WAIT_S: Final = 1.0
"""Shortest wait of a request that was sent again so often as a user allows, and still goes on."""


class TransientError(ModelError):
    """A failure after which the same request may well succeed.

    Args:
        problem: What went wrong.
        kind: How the server failed.
        wait_s: How long the server asks to be left alone.
        reached: False where no connection could be opened, so that no server has seen the request.
    """

    def __init__(
        self, problem: str, *, kind: FailureKind = "other", wait_s: float | None = None, reached: bool = True
    ) -> None:
        self.wait_s, self.reached = wait_s, reached
        super().__init__(problem, kind=kind)


class RetryPolicy:
    """When a request that failed is sent again, and after which wait."""

    def __init__(self, endpoint: Endpoint, breaker: Breaker) -> None:
        """Set the waits.

        Args:
            endpoint: Names how often a request is sent again, and the waits.
            breaker: Knows whether the server answers others.
        """
        self._retries, self._breaker = endpoint.max_retries, breaker
        self._backoff_s, self._longest_wait_s = endpoint.backoff_s, endpoint.longest_wait_s

    def goes_on(self, error: TransientError, times: int, began_s: float) -> bool:
        """Whether a request is sent again after a failure that may pass.

        Beyond `retries` it is sent again for a time where the server is busy, or fails whoever asks it. A request that
        fails alone is given up: it may be the reason.

        Args:
            error: The failure.
            times: How often the request was sent.
            began_s: When it was sent first, by `time.monotonic`.
        """
        if times <= self._retries:
            return True
        give_up_after_s = self._breaker.give_up_after_s
        if not self._retries or not give_up_after_s or error.kind not in PASSING:
            return False
        if error.kind != "busy" and (self._breaker.answered_since(began_s) or self._breaker.fails_one):
            return False
        # Where no reply came at all, the breaker ends it, and with it the command.
        return time.monotonic() - began_s < give_up_after_s or not self._breaker.has_answered

    def wait_s(self, error: TransientError, times: int) -> float:
        """Seconds before a request is sent again.

        Args:
            error: Why.
            times: How often it was sent.
        """
        # Jitter, for a server that sends many away names the same moment to all. No power of two beyond 2^30.
        grown_s = self._backoff_s * 2.0 ** min(times - 1, 30) if error.wait_s is None else error.wait_s
        if times > self._retries:
            grown_s = max(grown_s, LONG_WAIT_S)
        # No longer than until one gives up, whatever a server asks for.
        longest_s = min(self._longest_wait_s, self._breaker.give_up_after_s or self._longest_wait_s)
        return min(grown_s + random.uniform(0, self._backoff_s), longest_s)


def asked_in_vain(error: TransientError, times: int) -> ModelError:
    """What is told of a request that failed each time.

    Args:
        error: The last failure.
        times: How often it was sent.
    """
    return ModelError(f"{error}{f' (asked {times} times)' if times > 1 else ''}", kind=error.kind)


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
