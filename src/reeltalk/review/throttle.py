"""How often somebody may try, in memory that stays small whoever knocks: who errs waits longer each time."""

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
"""How many keys are remembered; the one that was tried longest ago is forgotten first."""
FREE_TRIES: Final = 5
"""For a name from one address, before whoever tries waits."""
LONGEST_WAIT_S: Final = 15 * 60.0
LONGEST_PAUSE_S: Final = 5.0
"""How long a try that is paced may be kept waiting; a try that would wait longer is refused."""


class BackOff:
    """Some tries are free; each further one makes the next wait twice as long.

    Args:
        free: Tries that need not wait.
        most_keys: How many keys are remembered.
    """

    def __init__(self, free: int = FREE_TRIES, *, most_keys: int = MOST_KEYS) -> None:
        self._free, self._most_keys = free, most_keys
        self._tries: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._tries)

    def wait_s(self, key: bytes, now: float) -> float:
        """Seconds until a try is heard; 0 where it is heard now."""
        return max(0.0, self._tries.get(key, (0, now))[1] - now)

    def count(self, key: bytes, now: float) -> None:
        """Count a try, before what it costs is spent: tries that run side by side are counted too."""
        count, until = self._tries.get(key, (0, now))
        # Whoever was quiet for long enough begins anew.
        count = 1 if now - until >= LONGEST_WAIT_S else count + 1
        wait_s = min(LONGEST_WAIT_S, 2.0 ** min(count - self._free, 20)) if count >= self._free else 0.0
        _put(self._tries, key, (count, now + wait_s), self._most_keys)

    def forget(self, key: bytes) -> None:
        """Forget all tries of a key."""
        self._tries.pop(key, None)


@dataclass(frozen=True)
class Rate:
    """How many tries are heard at once, and how long each further one takes."""

    at_once: int
    every_s: float


class Pace:
    """Hears some tries at once and further ones in even steps: the generic cell rate algorithm.

    Args:
        rate: How many, and in which steps.
        most_keys: How many keys are remembered.
    """

    def __init__(self, rate: Rate, *, most_keys: int = MOST_KEYS) -> None:
        self._rate, self._most_keys = rate, most_keys
        self._due: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._due)

    def wait_s(self, key: bytes, now: float) -> float:
        """Seconds after which a try that is counted now is to be heard."""
        return max(0.0, self._due.get(key, now) - (self._rate.at_once - 1) * self._rate.every_s - now)

    def count(self, key: bytes, now: float) -> None:
        """Count a try."""
        _put(self._due, key, max(self._due.get(key, now), now) + self._rate.every_s, self._most_keys)

    def forgive(self, key: bytes) -> None:
        """Take a try back: it was a good one."""
        if key in self._due:
            self._due[key] -= self._rate.every_s


class LoginLimiter:
    """What is counted where people sign in and join.

    Five wrong passwords for a name from one address are heard at once; then whoever tries waits, twice as long each
    time, up to a quarter of an hour. That is nobody else's wait: not another name's from that address, and not the
    name's own from elsewhere. Many tries from one address, or for one name from many, are heard at a slow pace.

    Args:
        clock: Tells the time in seconds; never goes back.
        of_address: The pace of all tries from one address, which bounds what passwords cost the processor.
        of_name: The pace of all tries for one name, which bounds what many addresses together can guess.
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

    def knock(self, name: str, address: str) -> float:
        """Count a try to sign in; after how many seconds it is to be heard.

        Raises:
            TooManyRequests: There were too many; this one is not counted.
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

    def let_in(self, name: str, address: str) -> None:
        """The password was right: what was mistyped before counts no longer."""
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
    # Of fixed size, whatever somebody sends as a name.
    found = hashlib.blake2b(digest_size=16)
    for part in key:
        found.update(len(part).to_bytes(8, "big") + part.encode("utf-8", "surrogatepass"))
    return found.digest()
