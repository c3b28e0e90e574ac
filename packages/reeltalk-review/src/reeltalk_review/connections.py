"""Connections of the server: how many, from whom, and how long each may keep the server waiting.

uvicorn limits neither how long a request may take to arrive nor how large its head is, and asyncio accepts connections
until no file descriptor is left. Here no connection is rejected because of others. If places run short, the connection
that has waited longest for a request is closed, like nginx's reusable connections. So a client that sends a request at
once gets an answer, however many others say nothing.
"""

import asyncio
import contextlib
import errno
import resource
import socket
import sys
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reeltalk.errors import SettingError
from reeltalk_review.guard import LARGEST_DRAINED

KEPT_DESCRIPTORS: Final = 128
"""Descriptors for databases, logs and libraries."""
MOST_CONNECTIONS: Final = 600
"""A browser opens six: enough for a hundred people."""
FEWEST_CONNECTIONS: Final = 16
LARGEST_HEAD: Final = 32 << 10
"""Bytes of a request's line and headers; the same limit as in nginx."""
LARGEST_PIPELINE: Final = 16
"""Pipelined requests on one connection. Browsers send none."""
RETRY_S: Final = 0.05
"""Seconds between two tries while no place or no descriptor is free."""
IDLE_S: Final = 1.0
"""A signed-in connection that has been idle for this many seconds may be closed. The browser opens another
unnoticed."""
OUT_OF: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SIGNED_IN: Final = "signed_in"
"""Key of a request's state: true if somebody is signed in."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of connections."""

    connections: int = MOST_CONNECTIONS
    """Number of connections at a time."""
    head_s: float = 10.0
    """Seconds in which the head of a request must arrive."""
    body_s: float = 60.0
    """Seconds in which the body must arrive."""
    reading_s: float = 60.0
    """Seconds in which the client must take the next part of an answer. Video players ask again for what they still
    need."""


def connection_limits() -> ConnectionLimits:
    """Limits of this process. Raises its number of open files as far as needed and allowed.

    Raises:
        SettingError: There are too few descriptors.
    """
    # One descriptor for the connection and one for the video that is sent through it.
    wanted = 2 * MOST_CONNECTIONS + KEPT_DESCRIPTORS
    descriptors, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if descriptors != resource.RLIM_INFINITY and most > descriptors:
        # The system may allow fewer than it says.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            descriptors = most
    possible = MOST_CONNECTIONS if descriptors == resource.RLIM_INFINITY else (descriptors - KEPT_DESCRIPTORS) // 2
    if possible < FEWEST_CONNECTIONS:
        raise SettingError(
            f"this process may open {descriptors:,} files, too few for browsers; raise it with 'ulimit -n {wanted}'"
        )
    return ConnectionLimits(min(MOST_CONNECTIONS, possible))


class Phase(Enum):
    """What a connection is doing."""

    HEAD = auto()
    """It waits for the head of a request."""
    BODY = auto()
    """It waits for the rest of a body."""
    REST = auto()
    """The answer was sent before the body arrived; the rest of the body is thrown away."""
    ANSWER = auto()
    """A whole request is being answered."""


class ConnectionPool:
    """The places of the connections.

    Args:
        limits: How many places there are.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        # In the order in which they connected.
        self._held: dict[Connection, None] = {}

    def __len__(self) -> int:
        """Number of taken places."""
        return len(self._held)

    def enter(self, connection: "Connection") -> None:
        """Give a place to a connection."""
        self._held[connection] = None

    def leave(self, connection: "Connection") -> None:
        """Take a connection's place back."""
        self._held.pop(connection, None)

    def free(self) -> bool:
        """Close one waiting connection; returns False if none may be closed.

        Connections that were never answered go first, then those that have waited longest. Signed-in people keep
        theirs while there are others.
        """
        long_ago = asyncio.get_running_loop().time() - IDLE_S
        may_end = [each for each in self._held if each.waits and (not each.signed_in or each.since < long_ago)]
        if not may_end:
            return False
        found = min(may_end, key=lambda each: (each.signed_in, each.was_answered, each.since))
        self.leave(found)
        found.end()
        return True

    @property
    def full(self) -> bool:
        """True if no place is free."""
        return len(self._held) >= self.limits.connections


class Connection(HttpToolsProtocol):
    """A connection that is closed if its client keeps the server waiting."""

    def __init__(self, places: ConnectionPool, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = places
        self.signed_in = False
        self.phase, self.since, self.received = Phase.HEAD, self.loop.time(), 0
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._places.enter(self)
        self._await(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        self._places.leave(self)
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take the next part of a request, or of several."""
        self.received += len(data)
        super().data_received(data)
        self._look()
        large = self.received > (LARGEST_HEAD if self.phase is Phase.HEAD else 2 * LARGEST_DRAINED)
        if (large and self.phase is not Phase.ANSWER) or len(self.pipeline) > LARGEST_PIPELINE:
            self.end()

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        if len(self.pipeline) > LARGEST_PIPELINE:
            # Raising here stops the parser, whose chunk may hold ten thousand more requests.
            raise ValueError("too many requests wait for an answer")

    def on_response_complete(self) -> None:
        """The last part of an answer was written, but perhaps not sent yet."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client takes the answer more slowly than it is made."""
        super().pause_writing()
        if self._reading is None:
            self.since, self.signed_in = self.loop.time(), self._is_signed_in()
            self._reading = self.loop.call_later(self._places.limits.reading_s, self.end)

    def resume_writing(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    @property
    def waits(self) -> bool:
        """True if the client keeps the server waiting: it sends nothing, or does not take the answer."""
        return self.phase is not Phase.ANSWER or self._reading is not None

    @property
    def was_answered(self) -> bool:
        """True if a request was answered on it."""
        return self.cycle is not None and self.cycle.response_complete

    def end(self) -> None:
        """Close it at once and free its descriptor. A normal close would wait until the written data is taken."""
        self.transport.abort()

    def _is_signed_in(self) -> bool:
        # Requests for static files do not set it.
        return self.cycle is not None and bool(self.cycle.scope["state"].get(SIGNED_IN, self.signed_in))

    def _look(self) -> None:
        cycle = self.cycle
        if cycle is None or (cycle.response_complete and not cycle.more_body):
            phase = Phase.HEAD
        elif cycle.response_complete:
            phase = Phase.REST
        else:
            phase = Phase.BODY if cycle.more_body else Phase.ANSWER
        if phase is not self.phase:
            self._await(phase)

    def _await(self, phase: Phase) -> None:
        if phase in (Phase.HEAD, Phase.REST):
            self.signed_in, self.received = self._is_signed_in(), 0
        self.phase, self.since = phase, self.loop.time()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        limits = self._places.limits
        if phase is Phase.ANSWER:
            return
        seconds = limits.body_s if phase is Phase.BODY else limits.head_s
        if self.transport.get_write_buffer_size():
            # The end of the previous answer is still being sent.
            seconds = max(seconds, limits.reading_s)
        self._deadline = self.loop.call_later(seconds, self.end)


class BoundedServer(uvicorn.Server):
    """A server that holds no more connections than it has places.

    Args:
        config: Configuration of the server.
        places: The places for its connections.
    """

    def __init__(self, config: uvicorn.Config, places: ConnectionPool) -> None:
        super().__init__(config)
        self.places = places
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections on listening sockets."""
        # uvicorn only starts the application. asyncio's own server would accept all that wait, even if no place is
        # free.
        await super().startup(sockets=[])
        for listening in sockets or []:
            listening.setblocking(False)
            self._accepting.append(asyncio.get_running_loop().create_task(self._accept(listening)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and finish the answers that were begun."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop, told = asyncio.get_running_loop(), False
        while True:
            # While all connections are being answered, others wait in the operating system's queue.
            while self.places.full and not self.places.free():
                await asyncio.sleep(RETRY_S)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # A client that went away before it was accepted does not matter. Without a free descriptor, retrying
                # at once would keep the process busy.
                if error.errno in OUT_OF:
                    self.places.free()
                    if not told:
                        sys.stderr.write(f"no connection can be accepted just now: {error.strerror}\n")
                        told = True
                await asyncio.sleep(RETRY_S)
                continue
            try:
                await loop.connect_accepted_socket(self._connection, accepted)
            except OSError:
                accepted.close()

    def _connection(self) -> Connection:
        return Connection(
            self.places, config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
