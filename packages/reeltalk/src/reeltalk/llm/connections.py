"""How many requests are sent to a server at a time: few at first, and more while it answers them side by side.

A server with one slot lets the others wait. So a larger number is tried, as in TCP's slow start, and kept if replies
overtake each other, or come nearly as fast as before (the gradient of latency: TCP Vegas, Netflix's
concurrency-limits). Once a server refused a request, or gave no reply in time, the number is cut and grows slowly
(additive increase, multiplicative decrease: Chiu and Jain 1989).
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncGenerator
from typing import Final

FIRST: Final = 4
"""Requests at a time at first."""
LEAST: Final = 2
"""Requests at a time for a server that answers one after the other, so that it never waits for the next."""
WAITS: Final = 0.75
"""Requests wait for each other if a reply takes longer by more than this power of their number: 1.68 times if it is
doubled. With free slots it takes as long as before, with none twice as long."""
STEADY: Final = 1.2
"""If a reply takes less than so many times as long as with fewer requests, four times as many are tried at once."""
PAUSE: Final = 4
"""Rounds at a number before a larger one is tried again; twice as many after each trial that failed."""
CUT: Final = 0.8
"""What is left of the limit after a refusal."""
HALF: Final = 0.5
"""What is left of it after a reply that did not come in time."""
GROWTH: Final = 0.05
"""Part of the limit that is added after each round of `limit` requests at the limit, none of them refused."""
APART_S: Final = 15.0
"""Least time between two cuts. Requests that were under way at a cut say nothing about the new limit."""


OVERTAKEN: Final = 32
"""Replies to later requests that a request waits for. llama.cpp's server has few threads. Each receives what comes next
on its connection, so a request on a new connection may be overtaken for long."""


class Queue:
    """The requests that a server did not answer yet. Ollama, llama.cpp and vLLM answer in the order of arrival."""

    def __init__(self) -> None:
        self._under_way: dict[asyncio.Timeout, int] = {}
        """How often each was overtaken, in the order in which they were sent."""

    @contextlib.asynccontextmanager
    async def reply_within(self, seconds: float | None) -> AsyncGenerator[None]:
        """Limit the time of a reply. It begins anew with each reply of the server to another request.

        Raises:
            TimeoutError: The time is over.
        """
        async with asyncio.timeout(seconds) as own:
            self._under_way[own] = 0
            try:
                yield
                overtakes = True
                for other, times in self._under_way.items():
                    overtakes = overtakes and other is not own
                    self._under_way[other] = times + overtakes
                    if seconds is not None and times < OVERTAKEN and not other.expired():
                        other.reschedule(asyncio.get_running_loop().time() + seconds)
            finally:
                del self._under_way[own]


class Connections:
    """A limit of requests at a time; who waits longest gets the next place."""

    def __init__(self, most: int) -> None:
        self.limit = min(most, FIRST)
        """Requests that may be sent at a time now."""
        self.most = most
        self._under_way: dict[object, float] = {}
        """When each request was sent, in this order."""
        self._waiting = deque[asyncio.Future[None]]()
        self._took_s: list[float] = []
        """Seconds of each reply of this round."""
        self._changed_s = self._cut_s = float("-inf")
        self._best, self._best_s, self._pause = 1, 0.0, PAUSE

    @property
    def best(self) -> int:
        """The number of requests at a time that proved best so far."""
        return self._best if self._best_s else self.limit

    def cut(self, left: float = CUT) -> None:
        """Lower the limit after the server refused a request because there are too many, or did not answer in time."""
        self._took_s = []
        if time.monotonic() - self._cut_s >= APART_S:
            self._cut_s = time.monotonic()
            self.limit = self._best = max(1, int(self.limit * left))

    def grow(self, place: object) -> None:
        """Count a request that was answered at once, and change the limit if replies say so.

        Args:
            place: Its own, from `place`.
        """
        now_s, sent_s = time.monotonic(), self._under_way[place]
        # Where fewer run than may, or were sent under another limit, replies say nothing about this one.
        if len(self._under_way) != self.limit or sent_s < self._changed_s or now_s - self._cut_s < APART_S:
            return
        self._took_s.append(now_s - sent_s)
        if self._best_s == 0.0:
            self._best_s = now_s - sent_s
        came, most = len(self._took_s), self.limit
        if self._cut_s > float("-inf"):
            if came >= most:
                self._best = min(self.most, most + max(1, round(most * GROWTH)))
                self._set(self._best)
        elif 2 * (list(self._under_way).index(place) + 1) > most:
            self._keep()
        elif most == self._best:
            if came >= most * self._pause:
                self._keep()
        elif came >= most:
            if self._mean_s() < self._best_s * (most / self._best) ** WAITS:
                self._keep(4 if self._mean_s() < STEADY * self._best_s else 2)
            else:
                self._best, self._pause = max(LEAST, self._best), 2 * self._pause
                self._set(self._best)

    def _keep(self, times: int = 2) -> None:
        """Keep the limit, and try a larger one."""
        self._best, self._best_s = self.limit, self._mean_s()
        self._set(min(self.most, times * self._best))

    def _mean_s(self) -> float:
        """Mean time of the later replies: the first ones found a shorter queue."""
        later = self._took_s[len(self._took_s) // 2 :]
        return sum(later) / len(later)

    def _set(self, limit: int) -> None:
        self._took_s = []
        if limit != self.limit:
            self.limit, self._changed_s = limit, time.monotonic()

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncGenerator[object]:
        """A place for one request while the block runs."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._admit()
        try:
            await place
            yield place
        finally:
            # Whoever gives up while waiting leaves a place that is done, which is passed over.
            place.cancel()
            self._under_way.pop(place, None)
            self._admit()

    def _admit(self) -> None:
        while self._waiting and len(self._under_way) < self.limit:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                self._under_way[place] = time.monotonic()
