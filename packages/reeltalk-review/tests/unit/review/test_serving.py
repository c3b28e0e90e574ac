"""The socket that a review is served on."""

import asyncio
import contextlib
import resource
import socket
from collections.abc import Iterator

import pytest

from reeltalk.errors import SettingError
from reeltalk_review.app import listen
from reeltalk_review.connections import MOST_CONNECTIONS, RESERVED_DESCRIPTORS, connection_limits


def test_what_is_small_is_sent_at_once() -> None:
    async def without_delay() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def heard(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            found.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        listening = listen("127.0.0.1", 0)
        async with await asyncio.start_server(heard, sock=listening):
            _, writer = await asyncio.open_connection(*listening.getsockname())
            writer.close()
            return await found

    assert asyncio.run(without_delay())


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_that_is_taken_is_told_with_what_to_do(host: str) -> None:
    try:
        taken = listen(host, 0)
    except SettingError:
        pytest.skip(f"no {host} on this machine")
    with contextlib.closing(taken), pytest.raises(SettingError, match=rf"--host {host} --port \d+: .*choose another"):
        listen(host, taken.getsockname()[1])


@pytest.fixture
def descriptors() -> Iterator[int]:
    """How many this process may open; it is as before afterwards."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before[1] if before[1] != resource.RLIM_INFINITY else 1 << 20
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_connections_are_as_many_as_descriptors_allow_with_one_for_each_video(descriptors: int) -> None:
    found = connection_limits()
    assert found.connections == min(MOST_CONNECTIONS, (descriptors - RESERVED_DESCRIPTORS) // 2)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 2 * found.connections + RESERVED_DESCRIPTORS
