"""How often somebody may try: a limit per key in a sliding window, in memory that stays small whoever knocks."""

import hashlib
import ipaddress
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Final

from reeltalk.review.refusals import TooManyError

WINDOW_S: Final = 15 * 60.0
MOST_KEYS: Final = 10_000
"""How many keys are remembered; the one that was tried longest ago is forgotten first."""


class Throttle:
    """Counts tries by key.

    Args:
        limit: Tries that are heard within a window.
        window_s: How long a try counts, in seconds.
        most_keys: How many keys are remembered.
        clock: Tells the time in seconds; never goes back.
    """

    def __init__(
        self,
        limit: int,
        *,
        window_s: float = WINDOW_S,
        most_keys: int = MOST_KEYS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit, self._window_s, self._most_keys, self._clock = limit, window_s, most_keys, clock
        self._tries: OrderedDict[bytes, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many keys are remembered."""
        return len(self._tries)

    def attempt(self, *key: str) -> None:
        """Count a try, before what it costs is spent: tries that run side by side are counted too.

        Raises:
            TooManyError: There were as many as the limit; this one is not counted.
        """
        now, place = self._clock(), _hashed(key)
        with self._lock:
            tries = self._tries.setdefault(place, deque())
            self._tries.move_to_end(place)
            while tries and tries[0] <= now - self._window_s:
                tries.popleft()
            if len(tries) >= self._limit:
                wait_s = max(1, math.ceil(tries[0] + self._window_s - now))
                raise TooManyError("there were too many tries", wait_s=wait_s)
            tries.append(now)
            while len(self._tries) > self._most_keys:
                self._tries.popitem(last=False)

    def forgive(self, *key: str) -> None:
        """Take the last try back: it was a good one."""
        with self._lock:
            place = _hashed(key)
            tries = self._tries.get(place)
            if tries:
                tries.pop()
            if not tries:
                self._tries.pop(place, None)

    def forget(self, *key: str) -> None:
        """Forget all tries of a key."""
        with self._lock:
            self._tries.pop(_hashed(key), None)


class Door:
    """What is counted where people sign in and join.

    Ten wrong passwords for a name from one address, a hundred for it from anywhere, fifty of any kind from one address,
    each in a quarter of an hour. One address alone locks nobody else out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.name_here = Throttle(10, clock=clock)
        self.name = Throttle(100, clock=clock)
        self.address = Throttle(50, clock=clock)

    def knock(self, name: str, address: str) -> None:
        """Count a try to sign in.

        Raises:
            TooManyError: There were too many.
        """
        self.address.attempt(address)
        self.name_here.attempt(name, address)
        self.name.attempt(name)

    def let_in(self, name: str, address: str) -> None:
        """The password was right: what was mistyped before counts no longer."""
        self.address.forgive(address)
        self.name_here.forget(name, address)
        self.name.forgive(name)


def network_of(address: str | None) -> str:
    """What counts as one address: an IPv4 address, or the half of an IPv6 address that its holder cannot choose."""
    try:
        found = ipaddress.ip_address(address or "")
    except ValueError:
        return address or ""
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped.compressed
        return str(ipaddress.ip_network((found, 64), strict=False))
    return found.compressed


def _hashed(key: tuple[str, ...]) -> bytes:
    # Of fixed size, whatever somebody sends as a name.
    found = hashlib.blake2b(digest_size=16)
    for part in key:
        found.update(len(part).to_bytes(8, "big") + part.encode("utf-8", "surrogatepass"))
    return found.digest()
