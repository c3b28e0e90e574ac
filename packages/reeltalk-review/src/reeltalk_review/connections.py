"""Connections of the server: how many there are, and how long each may keep the server waiting.

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
from typing import Any, Final, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from reeltalk.errors import SettingError

RESERVED_DESCRIPTORS: Final = 128
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
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SIGNED_IN: Final = "signed_in"
"""Key of a request's state: true if somebody is signed in."""


@dataclass(frozen=True)
class ConnectionLimits:
    """Limits of connections."""

    connections: int = MOST_CONNECTIONS
    """Number of connections at a time."""
    head_s: float = 10.0
    """Seconds in which the head of a request must arrive."""
    rest_s: float = 60.0
    """Seconds in which a body must arrive, and in which the client must take the next part of an answer. Video players
    ask again for what they still need."""


def connection_limits() -> ConnectionLimits:
    """Limits of this process. Raises its number of open files as far as needed and allowed.

    Raises:
        SettingError: There are too few descriptors.
    """
    # One descriptor for the connection and one for the video that is sent through it.
    wanted = 2 * MOST_CONNECTIONS + RESERVED_DESCRIPTORS
    descriptors, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if descriptors == resource.RLIM_INFINITY:
        descriptors = wanted
    elif descriptors < allowed:
        # The system may allow fewer than it says.
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            descriptors = allowed
    possible = (descriptors - RESERVED_DESCRIPTORS) // 2
    if possible < FEWEST_CONNECTIONS:
        raise SettingError(
            f"this process may open {descriptors:,} files, too few for browsers; raise it with 'ulimit -n {wanted}'"
        )
    return ConnectionLimits(min(MOST_CONNECTIONS, possible))


class Connection(HttpToolsProtocol):
    """A connection that knows since when its client keeps the server waiting."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since, self._state = self.loop.time(), (self.cycle, False)
        self._head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Take the next part of a request, or of several."""
        before, in_body = self.cycle, self.cycle is not None and self.cycle.more_body
        super().data_received(data)
        self._head_bytes = 0 if in_body or self.cycle is not before else self._head_bytes + len(data)
        if self._head_bytes > LARGEST_HEAD or len(self.pipeline) > LARGEST_PIPELINE:
            self.end()

    def on_headers_complete(self) -> None:
        signed_in = self.signed_in
        super().on_headers_complete()
        # Until this request says otherwise; requests for static files do not.
        self.scope["state"].setdefault(SIGNED_IN, signed_in)
        if len(self.pipeline) > LARGEST_PIPELINE:
            # Raising here stops the parser, whose chunk may hold ten thousand more requests.
            raise ValueError("too many requests wait for an answer")

    def pause_writing(self) -> None:
        """The client takes the answer more slowly than it is made."""
        super().pause_writing()
        self.since = self.loop.time()

    @property
    def waits(self) -> bool:
        """True if the client keeps the server waiting: it sends nothing, or does not take the answer."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    @property
    def signed_in(self) -> bool:
        """True if somebody is signed in, as far as its requests say."""
        return self.cycle is not None and bool(self.cycle.scope["state"].get(SIGNED_IN))

    def end_if_overdue(self, limits: ConnectionLimits) -> None:
        """Close it if its client has kept the server waiting for too long."""
        now, state = self.loop.time(), (self.cycle, self.cycle is not None and self.cycle.response_complete)
        if state != self._state or not self.waits:
            self._state, self.since = state, now
        in_body = self.cycle is not None and self.cycle.more_body and not self.cycle.response_complete
        is_read = in_body or self.transport.get_write_buffer_size() > 0
        if now - self.since > (limits.rest_s if is_read else limits.head_s):
            self.end()

    def end(self) -> None:
        """Close it at once and free its descriptor. A normal close would wait until the written data is taken."""
        self.connections.discard(self)
        self.transport.abort()


class BoundedServer(uvicorn.Server):
    """A server that holds no more connections than it has places."""

    def __init__(self, config: uvicorn.Config, limits: ConnectionLimits) -> None:
        super().__init__(config)
        self.limits = limits
        self._accepting: list[asyncio.Task[None]] = []

    @property
    def held(self) -> "set[Connection]":
        """The connections."""
        return cast("set[Connection]", self.server_state.connections)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections on listening sockets."""
        # uvicorn only starts the application. asyncio's own server would accept all that wait, even if no place is
        # free.
        await super().startup(sockets=[])
        for listening in sockets or []:
            listening.setblocking(False)
            self._accepting.append(asyncio.get_running_loop().create_task(self._accept(listening)))

    async def on_tick(self, counter: int) -> bool:
        """Close connections whose time is up; ten times a second."""
        for connection in list(self.held):
            connection.end_if_overdue(self.limits)
        return await super().on_tick(counter)

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
            while len(self.held) >= self.limits.connections and not self._free():
                await asyncio.sleep(RETRY_S)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # A client that went away before it was accepted does not matter. Without a free descriptor, retrying
                # at once would keep the process busy.
                if error.errno in EXHAUSTED:
                    self._free()
                    if not told:
                        sys.stderr.write(f"no connection can be accepted just now: {error.strerror}\n")
                        told = True
                await asyncio.sleep(RETRY_S)
                continue
            try:
                await loop.connect_accepted_socket(self._connection, accepted)
            except OSError:
                accepted.close()

    def _connection(self) -> Any:
        return Connection(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    def _free(self) -> bool:
        """Close the connection that has waited longest; signed-in people keep theirs while there are others."""
        waiting = [connection for connection in self.held if connection.waits]
        if waiting:
            min(waiting, key=lambda connection: (connection.signed_in, connection.since)).end()
        return bool(waiting)
