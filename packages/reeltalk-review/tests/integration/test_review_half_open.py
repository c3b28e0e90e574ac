"""Connections that keep the server waiting, all from one address and without a login: work goes on beside them.

The server is a process of its own that may open 1,024 files. Each kind of connection is opened anew wherever the server
ends it, while somebody at the same address signs in, saves, and seeks in a video.
"""

import contextlib
import os
import re
import resource
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from reliability_page import Reliability
from served_review import content

from reeltalk.store.benchmark import Benchmark

CROWD: Final = 3000
FEWER: Final = 1200
"""For `make test`; still more than the server may open."""
DESCRIPTORS: Final = 1024
KEPT: Final = 250 << 20
"""Bytes that the C library keeps of what a crowd took, for the next one; it takes as much again from them."""
PASSWORD: Final = "a horse, a battery"
TIMEOUT_S: Final = 60.0
HEAD: Final = b"POST /sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
KINDS: Final = {
    "connected and silent": b"",
    "half a head": HEAD,
    "a head by one byte a second": HEAD,
    "half a body": HEAD + b"Content-Length: 1000000\r\n\r\nname=" + b"x" * 200_000,
    "a body by one byte a second": HEAD + b"Content-Length: 1000000\r\n\r\nname=",
    "answered and silent": b"GET /sign-in HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an answer that is not read": b"GET /static/player.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8,
}
OFTEN: Final = ("connected and silent",)
"""The kinds that are tried at every change; all of them are under `make test-full`."""


class Retrying(httpx.Client):
    """As a browser, asks again where the server closed a kept connection just when it was used again."""

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        try:
            return super().send(request, **options)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            return super().send(request, **options)


@dataclass
class Crowd:
    """Connections of one kind that are opened anew, a second after the server ended them."""

    port: int
    kind: str
    count: int
    opened: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _unsent: dict[socket.socket, bytes] = field(default_factory=dict)
    _problems: list[BaseException] = field(default_factory=list)

    def __enter__(self) -> "Crowd":
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        end = time.monotonic() + 60
        while self.opened < self.count and time.monotonic() < end and not self._problems:
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(30)
        assert self._problems == []

    def _run(self) -> None:
        try:
            self._stay()
        except BaseException as error:
            self._problems.append(error)
        finally:
            for each in self._unsent:
                each.close()

    def _stay(self) -> None:
        self._selector = selectors.DefaultSelector()
        ended: list[float] = [0.0] * self.count
        drip_at = time.monotonic()
        while not self._stop.is_set():
            now = time.monotonic()
            while ended and ended[0] < now - 1:
                ended.pop(0)
                self._open()
            for key, events in self._selector.select(0.05):
                if not self._serve(key.fileobj, events):  # type: ignore[arg-type]
                    ended.append(now)
            if "by one byte" in self.kind and now > drip_at:
                drip_at = now + 1
                for each in list(self._unsent):
                    with contextlib.suppress(OSError):
                        each.send(b"x")

    def _open(self) -> None:
        made = socket.socket()
        if "not read" in self.kind:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        made.setblocking(False)
        made.connect_ex(("127.0.0.1", self.port))
        self._unsent[made] = KINDS[self.kind]
        self._selector.register(made, selectors.EVENT_WRITE)
        self.opened += 1

    def _serve(self, made: socket.socket, events: int) -> bool:
        try:
            if events & selectors.EVENT_WRITE:
                rest = self._unsent[made]
                self._unsent[made] = rest[made.send(rest) :]
                if not self._unsent[made]:
                    self._selector.modify(made, 0 if "not read" in self.kind else selectors.EVENT_READ)
            elif not made.recv(1 << 16):
                raise ConnectionResetError
        except BlockingIOError:
            return True
        except OSError:
            self._selector.unregister(made)
            made.close()
            del self._unsent[made]
            return False
        return True


@dataclass
class Server:
    """A `reeltalk review` in a process of its own."""

    port: int
    process: int
    invitation: str

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.process}/fd"))

    def memory(self) -> int:
        return int(Path(f"/proc/{self.process}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < CROWD + 500:
        pytest.skip(f"{CROWD} connections take more descriptors than the {hard} of this machine")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, CROWD + 500), hard))
    benchmark = Benchmark.create(tmp_path_factory.mktemp("half open") / "bench")
    benchmark.write_content(content(), stage="test")
    command = [sys.executable, "-m", "reeltalk", "review", str(benchmark.path), "--port", "0"]
    limited = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *command]
    process = subprocess.Popen(limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)(/join/\S+)", line.replace(";", " "))
        assert found is not None, line
        yield Server(int(found[1]), process.pid, found[2])
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "Traceback" not in errors, errors[-3000:]
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Person:
    """Somebody at work, in a browser that keeps its connections."""

    def __init__(self, server: Server) -> None:
        # As browsers do: an idle connection that was ended is opened anew.
        self.client = Retrying(base_url=f"http://127.0.0.1:{server.port}", timeout=TIMEOUT_S)

    def sign_in(self) -> None:
        assert self.client.get("/sign-in").status_code == 200
        assert self.client.post("/sign-in", data={"name": "Ada", "password": PASSWORD}).status_code == 303
        self.csrf = re.search(r'name="csrf" content="([^"]+)"', self.client.get("/").text)[1]  # type: ignore[index]

    def work(self, times: int) -> None:
        """Save and seek."""
        answer = self.client.post("/queues/turns/next", data={"csrf": self.csrf})
        assert answer.status_code == 303, answer.text
        work = answer.headers["location"].removeprefix("/work/")
        opened = self.client.get(f"/api/work/{work}").json()
        sha256 = next(video.sha256 for video in content().videos if video.id == "kitchen")
        length = int(self.client.head(f"/media/{sha256}").headers["content-length"])
        revision, turn = opened["entries"].get("0", {"revision": 0})["revision"], opened["unit"]["content"]["turns"][0]
        for number in range(times):
            value: dict[str, Any] = {"decision": "accept", "question": turn["question"]}
            value |= {"references": ["A bottle."], "labels": turn.get("labels", {}), "note": f"{number}"}
            headers = {"X-CSRF-Token": self.csrf, "Idempotency-Key": secrets.token_hex(8)}
            body = {"revision": revision + number, "value": value}
            saved = self.client.put(f"/api/work/{work}/entries/0", json=body, headers=headers)
            assert saved.status_code == 200, saved.text
            begin = number * length // times
            sought = self.client.get(f"/media/{sha256}", headers={"Range": f"bytes={begin}-{begin + 999}"})
            assert sought.status_code == 206
            assert len(sought.content) == min(1000, length - begin)
            assert self.client.get("/static/player.js").status_code == 200


def settles(found: Callable[[], int], wanted: int, seconds: float = 90) -> int:
    """What a number comes down to, within some time."""
    end = time.monotonic() + seconds
    while found() > wanted and time.monotonic() < end:
        time.sleep(0.2)
    return found()


@pytest.fixture(scope="module")
def before(server: Server) -> tuple[int, int]:
    """Descriptors and bytes of the server that has answered one person."""
    joined = httpx.post(
        f"http://127.0.0.1:{server.port}{server.invitation}",
        data={"name": "Ada", "password": PASSWORD},
        timeout=TIMEOUT_S,
    )
    assert joined.status_code == 303
    person = Person(server)
    person.sign_in()
    person.work(3)
    person.client.close()
    time.sleep(1)
    return server.descriptors(), server.memory()


@pytest.mark.parametrize(
    "kind", [kind if kind in OFTEN else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_a_person_works_beside_three_thousand_half_open_connections(
    server: Server, before: tuple[int, int], kind: str, reliability: Reliability
) -> None:
    # Those that do not read are answered, and so cost more than their descriptor.
    many = reliability.count(FEWER, full=CROWD, release=CROWD)
    crowd = Crowd(server.port, kind, many if "not read" not in kind else DESCRIPTORS)
    at_work, newcomer = Person(server), Person(server)
    at_work.sign_in()
    tally = reliability(
        "review",
        f"{crowd.count:,} connections at once to a server that may open {DESCRIPTORS:,} files: {kind}",
        "a person at the same address is not answered, or descriptors or memory are not given back",
    )
    with crowd:
        assert crowd.opened >= crowd.count
        tally.tried = crowd.count
        newcomer.sign_in()
        at_work.work(10)
        newcomer.work(10)
        assert server.descriptors() < DESCRIPTORS
        assert server.memory() < 500 << 20
    at_work.client.close()
    newcomer.client.close()
    assert settles(server.descriptors, before[0] + 5) <= before[0] + 5
    assert settles(server.memory, before[1] + KEPT) <= before[1] + KEPT
