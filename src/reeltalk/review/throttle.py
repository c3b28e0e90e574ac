"""Limits on tries to sign in or join, in memory. The tables stay small under a flood of failed sign-ins."""

import hashlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from reeltalk.review.errors import TooManyRequests

Value = TypeVar("Value")
MOST_KEYS: Final = 10_000
"""How many keys are remembered. The key with the oldest try is forgotten first."""
FREE_TRIES: Final = 5
"""Tries for a name from one address before there is a wait."""
LONGEST_WAIT_S: Final = 15 * 60.0
LONGEST_PAUSE_S: Final = 5.0
"""How long a paced try may be delayed. A try that would wait longer is refused."""


class BackOff:
    """Exponential back-off: some tries are free, each further one doubles the next wait.

    Args:
        free: Number of free tries.
        most_keys: How many keys are remembered.
    """

    def __init__(self, free: int = FREE_TRIES, *, most_keys: int = MOST_KEYS) -> None:
        self._free, self._most_keys = free, most_keys
        self._tries: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tries)

    def wait_s(self, key: bytes, now: float) -> float:
        """Seconds until a try is accepted; 0 if it is accepted now."""
        return max(0.0, self._tries.get(key, (0, now))[1] - now)

    def count(self, key: bytes, now: float) -> None:
        """Count a try before its cost is spent, so that parallel tries count too."""
        count, until = self._tries.get(key, (0, now))
        # After a long pause, counting starts again.
        count = 1 if now - until >= LONGEST_WAIT_S else count + 1
        wait_s = min(LONGEST_WAIT_S, 2.0 ** min(count - self._free, 20)) if count >= self._free else 0.0
        _put(self._tries, key, (count, now + wait_s), self._most_keys)

    def forget(self, key: bytes) -> None:
        """Forget all tries of a key."""
        self._tries.pop(key, None)


@dataclass(frozen=True)
class Rate:
    """How many tries are accepted at once, and the seconds for each further one."""

    at_once: int
    every_s: float


class Pace:
    """Accepts some tries at once and further ones at a steady rate: the generic cell rate algorithm.

    Args:
        rate: The rate.
        most_keys: How many keys are remembered.
    """

    def __init__(self, rate: Rate, *, most_keys: int = MOST_KEYS) -> None:
        self._rate, self._most_keys = rate, most_keys
        self._due: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def wait_s(self, key: bytes, now: float) -> float:
        """Seconds to wait before a try that is counted now may run."""
        return max(0.0, self._due.get(key, now) - (self._rate.at_once - 1) * self._rate.every_s - now)

    def count(self, key: bytes, now: float) -> None:
        _put(self._due, key, max(self._due.get(key, now), now) + self._rate.every_s, self._most_keys)

    def forgive(self, key: bytes) -> None:
        """Take a try back because it was successful."""
        if key in self._due:
            self._due[key] -= self._rate.every_s


class LoginLimiter:
    """Limits tries to sign in and to join.

    Five wrong passwords for a name from one address are accepted at once. Further tries wait, twice as long each time,
    up to a quarter of an hour. The wait affects neither other names from that address nor the same name from other
    addresses. Many tries from one address, or for one name from many addresses, are paced.

    Args:
        clock: Returns the time in seconds and never goes back.
        of_address: The rate of all tries from one address. It limits the processor time spent on passwords.
        of_name: The rate of all tries for one name. It limits how much many addresses together can guess.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        of_address: Rate = Rate(100, 0.25),
        of_name: Rate = Rate(100, 2.0),
    ) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._here = BackOff()
        self._address, self._name = Pace(of_address), Pace(of_name)

    def hit(self, name: str, address: str) -> float:
        """Count a try to sign in; returns after how many seconds it may run.

        Raises:
            TooManyRequests: There were too many tries; this one is not counted.
        """
        now, here, at_name, at_address = self._clock(), _hashed((name, address)), _hashed((name,)), _hashed((address,))
        with self._lock:
            pause_s = max(self._address.wait_s(at_address, now), self._name.wait_s(at_name, now))
            wait_s = self._here.wait_s(here, now) or (pause_s if pause_s > LONGEST_PAUSE_S else 0.0)
            if wait_s:
                raise TooManyRequests("there were too many tries", wait_s=math.ceil(wait_s))
            self._here.count(here, now)
            self._address.count(at_address, now)
            self._name.count(at_name, now)
        return pause_s

    def reset(self, name: str, address: str) -> None:
        """The password was right: earlier mistakes no longer count."""
        with self._lock:
            self._here.forget(_hashed((name, address)))
            self._address.forgive(_hashed((address,)))
            self._name.forgive(_hashed((name,)))


def _put(remembered: "OrderedDict[bytes, Value]", key: bytes, value: Value, most: int) -> None:
    remembered[key] = value
    remembered.move_to_end(key)
    while len(remembered) > most:
        remembered.popitem(last=False)


def _hashed(key: tuple[str, ...]) -> bytes:
    # A fixed size, however long a name is sent.
    found = hashlib.blake2b(digest_size=16)
    for part in key:
        found.update(len(part).to_bytes(8, "big") + part.encode("utf-8", "surrogatepass"))
    return found.digest()
