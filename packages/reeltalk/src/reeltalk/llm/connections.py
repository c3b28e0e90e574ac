"""How many requests are sent to a server at a time: fewer after it received too many, then slowly more again."""

import asyncio
import time
from collections import deque
from typing import Final

CUT: Final = 0.8
"""What is left of the limit after a cut."""
GROWTH: Final = 0.05
"""Part of the limit that is added after each round of `limit` requests at the limit, none of them refused."""
APART_S: Final = 15.0
"""Least time between two cuts. Requests that were under way at a cut say nothing about the new limit."""


class Connections:
    """A limit of requests at a time, entered with `async with`; who waits longest enters first."""

    def __init__(self, most: int) -> None:
        self.limit = most
        """Requests that may be sent at a time now."""
        self._most, self._running, self._waiting = most, 0, deque[asyncio.Future[None]]()
        self._answered, self._cut_s = 0, float("-inf")

    def cut(self) -> None:
        """Lower the limit after the server refused a request because there are too many."""
        self._answered = 0
        if time.monotonic() - self._cut_s >= APART_S:
            self._cut_s = time.monotonic()
            self.limit = max(1, int(self.limit * CUT))

    def grow(self) -> None:
        """Count a request that was answered at once. Raises the limit after enough of them."""
        # The request that was answered counts as running.
        is_binding = self._running >= self.limit
        if self.limit < self._most and is_binding and time.monotonic() - self._cut_s >= APART_S:
            self._answered += 1
            if self._answered >= self.limit:
                self._answered = 0
                self.limit = min(self._most, self.limit + max(1, round(self.limit * GROWTH)))

    async def __aenter__(self) -> None:
        # After the limit has grown, a place is free for who waits already.
        if self._running < self.limit and not self._waiting:
            self._running += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._running -= 1
        while self._waiting and self._running < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                self._running += 1
