"""Connections that the server holds: how many, from whom, and how long one may keep it waiting.

uvicorn bounds neither how long a request takes to come nor how large its head is, and asyncio accepts connections until
no descriptor is left. Here no connection is turned away for what others do. Where places run short, the one that has
waited longest for a request gives its place up, as in nginx's reusable connections: whoever sends a request at once
gets an answer, however many say nothing.
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
from reeltalk.review.guard import LARGEST_BODY, network_of

KEPT_DESCRIPTORS: Final = 128
"""Descriptors for databases, logs and libraries."""
MOST_CONNECTIONS: Final = 2000
FEWEST_CONNECTIONS: Final = 16
LARGEST_HEAD: Final = 32 << 10
"""Bytes of a request's line and headers; nginx takes as many."""
LARGEST_PIPELINE: Final = 16
"""Requests that wait on one connection for the answer to an earlier one; browsers send none so."""
HELD_BYTES: Final = 64 << 20
"""Bytes of requests that have come and are not answered yet, of all connections together."""
RETRY_S: Final = 0.05
"""Seconds until the next look where no place, or no descriptor, is free."""
IDLE_S: Final = 1.0
"""Seconds after which a connection of somebody who is signed in may be ended: their browser opens another unseen."""
OUT_OF: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
SIGNED_IN: Final = "signed_in"
"""Key of a request's state: true where somebody is signed in."""


@dataclass(frozen=True)
class ConnectionLimits:
    """What connections may take."""

    connections: int = MOST_CONNECTIONS
    """At a time."""
    per_address: int = MOST_CONNECTIONS // 2
    """From one address at a time, but for those that are being answered; a proxy's address has no limit of its own."""
    head_s: float = 10.0
    """Seconds in which the head of a request must have come."""
    body_s: float = 60.0
    """Seconds in which its body must have come."""
    reading_s: float = 60.0
    """Seconds in which the next part of an answer must be taken. Players ask again for what they still need."""


def connection_limits(connections: int | None = None, per_address: int | None = None) -> ConnectionLimits:
    """The limits of this process, which may then open as many files as they take and the system allows.

    Args:
        connections: At a time; by default what the process's descriptors allow, 2,000 at most.
        per_address: From one address; by default half of `connections`.

    Raises:
        SettingError: There are fewer descriptors than that takes, or a number is too small.
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
    # One for the connection, and one for the video that is sent through it.
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
    """What a connection is at."""

    HEAD = auto()
    """The head of a request is awaited, or its first byte."""
    BODY = auto()
    """The rest of a body is awaited."""
    REST = auto()
    """It was answered before its body had come, and the rest of that is thrown away."""
    ANSWER = auto()
    """A whole request is being answered."""


class ConnectionPool:
    """The places that connections take.

    Args:
        limits: How many there are.
        is_proxy: True for addresses of proxies, through which many people come.
    """

    def __init__(self, limits: ConnectionLimits, is_proxy: Callable[[str], bool] = lambda _: False) -> None:
        self.limits, self._is_proxy = limits, is_proxy
        self._share = HELD_BYTES // limits.connections
        # In the order in which they came.
        self._held: dict[Connection, None] = {}
        self._of_address: Counter[str] = Counter()

    def __len__(self) -> int:
        """How many are taken."""
        return len(self._held)

    def enter(self, connection: "Connection") -> None:
        """Give a place to a connection; where its address has too many, one of that address that waits ends."""
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
        """End one connection that waits; False where there is none that may be ended.

        Those that were never answered go first, then those of an address that has many waiting, then those that have
        waited longest. People who are signed in keep theirs, unless places run short altogether.

        Args:
            address: Look at the connections of this address alone.
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
        """True where none is free."""
        return len(self._held) >= self.limits.connections

    def bound_bytes(self, connection: "Connection") -> None:
        """Where requests hold too much memory, end the connections with the largest that have not come whole.

        Args:
            connection: The one that has just received a part.
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
    """A connection that is ended where its peer keeps the server waiting."""

    def __init__(self, places: ConnectionPool, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._places = places
        self.address, self.signed_in = "", False
        self.phase, self.since, self.received = Phase.HEAD, self.loop.time(), 0
        self._deadline: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """It begins."""
        super().connection_made(transport)
        self.address = network_of(self.client[0] if self.client else None)
        self._places.enter(self)
        self._await(Phase.HEAD)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._places.leave(self)
        for timer in (self._deadline, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The next part of a request, or of several."""
        self.received += len(data)
        super().data_received(data)
        self._look()
        large = self.received > (LARGEST_HEAD if self.phase is Phase.HEAD else 2 * LARGEST_BODY)
        if (large and self.phase is not Phase.ANSWER) or len(self.pipeline) > LARGEST_PIPELINE:
            self.end()
        elif self.phase is Phase.BODY:
            self._places.bound_bytes(self)

    def on_headers_complete(self) -> None:
        """The head of a request has come."""
        super().on_headers_complete()
        if len(self.pipeline) > LARGEST_PIPELINE:
            # Raised here it ends the reading of a chunk that may hold ten thousand more.
            raise ValueError("too many requests wait for an answer")

    def on_response_complete(self) -> None:
        """The last part of an answer was written, perhaps not yet sent."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Whoever asked takes the answer more slowly than it is made."""
        super().pause_writing()
        if self._reading is None:
            self.since, self.signed_in = self.loop.time(), self._is_signed_in()
            self._reading = self.loop.call_later(self._places.limits.reading_s, self.end)

    def resume_writing(self) -> None:
        """The next part of an answer was taken."""
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    @property
    def waits(self) -> bool:
        """True where its peer keeps the server waiting, by what it does not send or does not take."""
        return self.phase is not Phase.ANSWER or self._reading is not None

    @property
    def was_answered(self) -> bool:
        """True where a request has come through it."""
        return self.cycle is not None and self.cycle.response_complete

    def end(self) -> None:
        """Free its descriptor at once: a connection that is closed would wait until what was written is taken."""
        self.transport.abort()

    def _is_signed_in(self) -> bool:
        # Requests for files of the package do not say.
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
            # The end of the answer before is still on its way.
            seconds = max(seconds, limits.reading_s)
        self._deadline = self.loop.call_later(seconds, self.end)


class BoundedServer(uvicorn.Server):
    """A server that holds no more connections than it has places for.

    Args:
        config: Of the server.
        places: For its connections.
    """

    def __init__(self, config: uvicorn.Config, places: ConnectionPool) -> None:
        super().__init__(config)
        self.places = places
        self._accepting: list[asyncio.Task[None]] = []

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections on sockets that listen."""
        # uvicorn starts the application alone; asyncio's own server would accept as many as wait, whatever is free.
        await super().startup(sockets=[])
        for listening in sockets or []:
            listening.setblocking(False)
            self._accepting.append(asyncio.get_running_loop().create_task(self._accept(listening)))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, and let answers that are begun be finished."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop, told = asyncio.get_running_loop(), False
        while True:
            # Where all are being answered, others wait in the system's own queue until one is done.
            while self.places.full and not self.places.free():
                await asyncio.sleep(RETRY_S)
            try:
                accepted, _ = await loop.sock_accept(listening)
            except OSError as error:
                # Whoever went away before they were accepted is no concern; without a descriptor, asking again at once
                # would keep the process busy with nothing else.
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
