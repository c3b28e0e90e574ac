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
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reeltalk.errors import SettingError
from reeltalk_review.guard import LARGEST_BODY, network_of

KEPT_DESCRIPTORS: Final = 128
"""Descriptors for databases, logs and libraries."""
MOST_CONNECTIONS: Final = 2000
FEWEST_CONNECTIONS: Final = 16
LARGEST_HEAD: Final = 32 << 10
"""Bytes of a request's line and headers; the same limit as in nginx."""
LARGEST_PIPELINE: Final = 16
"""Pipelined requests on one connection. Browsers send none."""
HELD_BYTES: Final = 64 << 20
"""Bytes of unanswered requests, over all connections."""
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
    per_address: int = MOST_CONNECTIONS // 2
    """Connections from one address at a time, not counting those being answered. A proxy's address has no limit."""
    head_s: float = 10.0
    """Seconds in which the head of a request must arrive."""
    body_s: float = 60.0
    """Seconds in which the body must arrive."""
    reading_s: float = 60.0
    """Seconds in which the client must take the next part of an answer. Video players ask again for what they still
    need."""


def connection_limits(connections: int | None = None, per_address: int | None = None) -> ConnectionLimits:
    """Limits of this process. Raises its number of open files as far as needed and allowed.

    Args:
        connections: Connections at a time; by default what the process's descriptors allow, at most 2,000.
        per_address: Connections from one address; by default half of `connections`.

    Raises:
        SettingError: There are too few descriptors, or a number is too small.
    """
    wanted = 2 * max(connections or 0, MOST_CONNECTIONS) + KEPT_DESCRIPTORS
    descriptors, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors == resource.RLIM_INFINITY:
        descriptors = wanted
    elif (most := wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)) > descriptors:
        # The system may allow fewer than it says.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            descriptors = most
    # One descriptor for the connection and one for the video that is sent through it.
    possible = (descriptors - KEPT_DESCRIPTORS) // 2
    found = connections if connections is not None else min(MOST_CONNECTIONS, possible)
    if found > possible or possible < FEWEST_CONNECTIONS:
        raise SettingError(
            f"--connections {found}: with the {descriptors:,} descriptors of this process there can be "
            f"{max(0, possible):,} connections; raise it with 'ulimit -n {2 * max(found, 448) + KEPT_DESCRIPTORS}'"
        )
    if found < FEWEST_CONNECTIONS:
        raise SettingError(f"--connections {found}: a browser alone opens six; give at least {FEWEST_CONNECTIONS}")
    shared = per_address if per_address is not None else found // 2
    if not 1 <= shared <= found:
        raise SettingError(f"--connections-per-address {shared}: give 1 to {found}, the connections in all")
    return ConnectionLimits(found, shared)


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
        is_proxy: True for addresses of proxies, through which many people connect.
    """

    def __init__(self, limits: ConnectionLimits, is_proxy: Callable[[str], bool] = lambda _: False) -> None:
        self.limits, self._is_proxy = limits, is_proxy
        self._share = HELD_BYTES // limits.connections
        # In the order in which they connected.
        self._held: dict[Connection, None] = {}
        self._of_address: Counter[str] = Counter()

    def __len__(self) -> int:
        """Number of taken places."""
        return len(self._held)

    def enter(self, connection: "Connection") -> None:
        """Give a place to a connection. If its address has too many, one of them that waits is closed."""
        address = connection.address
        peer = connection.client[0] if connection.client else ""
        if self._of_address[address] >= self.limits.per_address and not self._is_proxy(peer):
            self.free(address)
        self._held[connection] = None
        self._of_address[address] += 1

    def leave(self, connection: "Connection") -> None:
        """Take a connection's place back."""
        if connection in self._held:
            del self._held[connection]
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]

    def free(self, address: str | None = None) -> bool:
        """Close one waiting connection; returns False if none may be closed.

        Connections that were never answered go first, then those of an address with many waiting, then those that have
        waited longest. Signed-in people keep theirs unless places run short altogether.

        Args:
            address: Consider only the connections of this address.
        """
        waiting = [each for each in self._held if each.waits and address in (None, each.address)]
        count = Counter(each.address for each in waiting)
        long_ago = asyncio.get_running_loop().time() - IDLE_S
        may_end = [each for each in waiting if not each.signed_in or (address is None and each.since < long_ago)]
        if not may_end:
            return False
        found = min(may_end, key=lambda each: (each.signed_in, each.was_answered, -count[each.address], each.since))
        self.leave(found)
        found.end()
        return True

    @property
    def full(self) -> bool:
        """True if no place is free."""
        return len(self._held) >= self.limits.connections

    def bound_bytes(self, connection: "Connection") -> None:
        """If requests hold too much memory, close the connections with the largest incomplete ones.

        Args:
            connection: The connection that has just received a part.
        """
        if connection.received <= self._share:
            return
        held = sum(each.received for each in self._held if each.phase in (Phase.BODY, Phase.ANSWER))
        parts = (each for each in self._held if each.phase is Phase.BODY and each.received > self._share)
        for each in sorted(parts, key=lambda part: -part.received):
            if held <= HELD_BYTES:
                return
            held -= each.received
            self.leave(each)
            each.end()


class Connection(HttpToolsProtocol):
    """A connection that is closed if its client keeps the server waiting."""

    def __init__(self, places: ConnectionPool, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = places
        self.address, self.signed_in = "", False
        self.phase, self.since, self.received = Phase.HEAD, self.loop.time(), 0
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = network_of(self.client[0] if self.client else None)
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
        large = self.received > (LARGEST_HEAD if self.phase is Phase.HEAD else 2 * LARGEST_BODY)
        if (large and self.phase is not Phase.ANSWER) or len(self.pipeline) > LARGEST_PIPELINE:
            self.end()
        elif self.phase is Phase.BODY:
            self._places.bound_bytes(self)

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
