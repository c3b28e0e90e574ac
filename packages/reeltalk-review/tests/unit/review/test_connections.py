"""Connections that keep a server waiting are ended, and those of people at work are not; through real sockets."""

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from reeltalk_review.app import listen
from reeltalk_review.connections import (
    LARGEST_HEAD,
    SIGNED_IN,
    BoundedServer,
    Connection,
    ConnectionLimits,
)

ASK = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = ASK.replace(b"/", b"/large", 1)
POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
SHORT = ConnectionLimits(connections=20, head_s=0.5, rest_s=0.5)
LONG = ConnectionLimits(connections=20, head_s=60, rest_s=60)
PATIENCE_S = 30.0


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the length of what was sent; `/large` with 32 MiB, `/work` as to somebody who is signed in."""
    if scope["type"] != "http":
        return
    scope["state"][SIGNED_IN] = scope["path"] == "/work"
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length, more = length + len(message.get("body", b"")), message.get("more_body", False)
    body = str(length).encode() if scope["path"] != "/large" else b"x" * (32 << 20)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    for begin in range(0, len(body), 1 << 16):
        part = body[begin : begin + (1 << 16)]
        await send({"type": "http.response.body", "body": part, "more_body": begin + len(part) < len(body)})


@contextlib.contextmanager
def serving(limits: ConnectionLimits) -> "Iterator[tuple[Callable[[], socket.socket], Set[Connection]]]":
    """A server in a thread; what opens a connection to it, and those that it holds."""
    listening = listen("127.0.0.1", 0)
    config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_level="error", timeout_keep_alive=60)
    server = BoundedServer(config, limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    address = listening.getsockname()
    thread.start()
    with contextlib.ExitStack() as opened:

        def connect() -> socket.socket:
            return opened.enter_context(socket.create_connection(address, timeout=PATIENCE_S))

        yield connect, server.held
    server.should_exit = True
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def is_ended(connection: socket.socket, *, drip: bool = False) -> bool:
    """True where the server ends a connection, whatever it sends before."""
    connection.settimeout(0.1 if drip else PATIENCE_S)
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            if drip:
                connection.sendall(b"x")
            if not connection.recv(1 << 16):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


def answered(connection: socket.socket, request: bytes = ASK) -> bool:
    """True where a request on a connection is answered."""
    try:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status == 200 and answer.read().isdigit()
    except (OSError, http.client.HTTPException):
        return False


@pytest.mark.parametrize(
    ("sent", "drip"),
    [
        (b"", False),
        pytest.param(ASK[:20], False, marks=pytest.mark.slow),
        (ASK[:-4] + b"\r\nX-A: ", True),
        pytest.param(POST % 1000 + b"x", False, marks=pytest.mark.slow),
        (POST % 1000 + b"x", True),
        (ASK, False),
        pytest.param(ASK + ASK[:20], False, marks=pytest.mark.slow),
    ],
    ids=["silent", "half a head", "head by drops", "half a body", "body by drops", "answered", "answered and half"],
)
def test_whoever_keeps_the_server_waiting_is_ended(sent: bytes, drip: bool) -> None:
    with serving(SHORT) as (connect, places):
        waiting = connect()
        waiting.sendall(sent)
        assert is_ended(waiting, drip=drip)
        assert answered(connect())
    assert len(places) == 0


def test_whoever_does_not_take_the_answer_is_ended_and_whoever_does_is_not() -> None:
    with serving(SHORT) as (connect, places):
        waiting = connect()
        waiting.sendall(LARGE)
        end = time.monotonic() + PATIENCE_S
        while len(places) != 0 and time.monotonic() < end:
            time.sleep(0.05)
        assert is_ended(waiting)
        taking = connect()
        taking.sendall(LARGE)
        taken = 0
        while taken < 32 << 20:
            taken += len(taking.recv(1 << 16))


def test_who_is_signed_in_keeps_a_connection_that_others_lose() -> None:
    with serving(LONG) as (connect, places):
        at_work = connect()
        assert answered(at_work, ASK.replace(b"/", b"/work", 1))
        crowd = [connect() for _ in range(100)]
        newcomer = connect()
        assert answered(newcomer)
        assert answered(at_work)
        assert len(places) <= LONG.connections
        assert all(is_ended(each) for each in crowd[:79])


@pytest.mark.parametrize(
    "sent",
    [b"GET / HTTP/1.1\r\nX-A: " + b"x" * 4 * LARGEST_HEAD, ASK * 5000],
    ids=["a head that is too large", "too many requests at once"],
)
def test_what_no_browser_sends_is_ended(sent: bytes) -> None:
    with serving(LONG) as (connect, _):
        sending = connect()
        with contextlib.suppress(OSError):
            sending.sendall(sent)
        assert is_ended(sending)
        assert answered(connect())


def test_without_a_descriptor_the_server_neither_ends_nor_spins() -> None:
    script = f"""
import resource, sys, uvicorn
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_connections import app
from reeltalk_review.connections import BoundedServer, ConnectionLimits
from reeltalk_review.app import listen
listening = listen("127.0.0.1", 0)
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_level="error")
print(listening.getsockname()[1], flush=True)
BoundedServer(config, ConnectionLimits(connections=1000)).run(sockets=[listening])
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            address = ("127.0.0.1", int(process.stdout.readline()))
            with contextlib.ExitStack() as opened:
                for _ in range(100):
                    opened.enter_context(socket.create_connection(address, timeout=PATIENCE_S))
                assert answered(opened.enter_context(socket.create_connection(address, timeout=PATIENCE_S)))
                # More wait than there are descriptors: it looks again now and then, and does nothing else.
                before = processor_s(process.pid)
                time.sleep(1)
                assert processor_s(process.pid) - before < 0.5
            assert process.poll() is None
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=PATIENCE_S)
    assert b"Traceback" not in errors
    assert errors.count(b"no connection can be accepted just now: Too many open files") == 1


def processor_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
