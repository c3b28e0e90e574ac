"""No address reads a file that it should not: 500 and more ways to climb out of a folder, at every address."""

import asyncio
import itertools
import os
import sys
import threading
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from askers import World, routes_of
from reliability_page import Reliability
from team import make_team

from reeltalk_review.web import cookie_name

UPS = (
    "../", "..%2f", "%2e%2e/", "%2e%2e%2f", "..\\", "..%5c", "%2e%2e%5c", "..%252f", "%252e%252e%252f", "....//",
    "..;/", "..%c0%af", "%c0%ae%c0%ae/", "..%ef%bc%8f", ".%00./", "/../", "./../", "..%2f%2e%2e%2f",
)  # fmt: skip
TARGETS = (
    "etc/passwd",
    "app.py",
    "templates/base.html",
    "proc/self/environ",
    "{secret}",
    "{database}",
    "c:/windows/win.ini",
)
LONE = (
    "/etc/passwd",
    "//etc/passwd",
    "file:///etc/passwd",
    "%2fetc%2fpasswd",
    ".",
    "..",
    "~/.ssh/id_rsa",
    "review.css/..",
)


def climbs(world: World) -> list[str]:
    """Ways out, as they stand in an address."""
    folder = world.team.project.folder
    places = {"secret": str(folder / "secret").lstrip("/"), "database": str(folder / "review.db").lstrip("/")}
    found = [
        up * depth + target.format(**places) for up, depth, target in itertools.product(UPS, (1, 2, 5, 12), TARGETS)
    ]
    found += [*LONE, *(f"{name}{ending}" for name in LONE for ending in ("%00.css", "?.css", "#.css"))]
    return found


class Opened:
    """Which files are opened while it watches, outside of what the server may read."""

    def __init__(self) -> None:
        self.watching = False
        self.found: list[str] = []
        self.allowed: tuple[str, ...] = ()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self.watching or event != "open" or not isinstance(args[0], str | bytes | os.PathLike):
            return
        if threading.current_thread().name == "keep-calm":
            # The tests' own look at their processes.
            return
        path = os.path.realpath(os.fsdecode(args[0]))
        if not path.startswith(self.allowed) and not path.endswith((".py", ".pyc", ".so")):
            self.found.append(path)


@pytest.fixture(scope="module")
def opened() -> Opened:
    return Opened()


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(make_team(tmp_path_factory.mktemp("files")))


async def ask(app: Any, raw: bytes, cookie: str) -> tuple[int, bytes]:
    """What a server hands the application for an address that no client has tidied up."""
    path, _, query = raw.partition(b"?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", b"localhost"), (b"cookie", cookie.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 80),
    }
    status, body = 0, b""
    heard = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(heard, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        nonlocal status, body
        status = message.get("status", status)
        body += message.get("body", b"")

    await app(scope, receive, send)
    return status, body


def file_routes(app: Any) -> Iterator[str]:
    """Where files are served: the address up to what names the file."""
    for method, route in routes_of(app):
        if method == "GET" and route.startswith(("/static/", "/media/")):
            yield route[: route.index("{")]


def test_no_way_out_of_a_folder_reads_a_file(world: World, opened: Opened, reliability: Reliability) -> None:
    app, owner = world.team.app, world.browsers["owner"]
    name = cookie_name(world.team.project)
    cookie = f"{name}={owner.client.cookies[name]}"
    package = Path(str(files("reeltalk_review")))
    static = package / "static"
    legal = {path.read_bytes() for path in static.rglob("*") if path.is_file()}
    secret = (world.team.project.folder / "secret").read_bytes()
    ways = climbs(world)
    assert len(set(ways)) >= 500
    prefixes = sorted(set(file_routes(app)))
    assert "/static/" in prefixes
    # The database is read to find out who asks, a template to say that there is nothing.
    database = world.team.project.folder / "review.db"
    opened.allowed = tuple(str(path.resolve()) for path in (static, package / "templates", database))
    asked = [prefix + way for prefix, way in itertools.product(prefixes, ways)]
    kept = reliability.count(120, full=len(asked), release=len(asked))
    asked = asked[:: -(-len(asked) // kept)]
    tally = reliability(
        "review", "ways out of a folder, at every address that serves files", "a foreign file is opened"
    )

    async def ask_all() -> list[tuple[int, bytes]]:
        first = await ask(app, b"/static/review.css", cookie)
        opened.watching = True
        try:
            return [first, *[await ask(app, address.encode(), cookie) for address in asked]]
        finally:
            opened.watching = False

    first, *answers = asyncio.run(ask_all())
    assert first[0] == 200
    read = []
    for address, (status, body) in zip(asked, answers, strict=True):
        if status == 200 and body not in legal:
            read.append((address, body[:80]))
        assert secret not in body
        assert b"root:" not in body
        assert status in (200, 307, 400, 404, 422), (address, status)
    tally.tried, tally.failed = len(asked), len(read) + len(opened.found)
    assert read == []
    assert opened.found == []


def test_the_watch_sees_what_is_read(opened: Opened, tmp_path: Path) -> None:
    opened.allowed, opened.watching, opened.found = (), True, []
    (tmp_path / "seen").write_text("x", encoding="utf-8")
    opened.watching = False
    assert opened.found == [str((tmp_path / "seen").resolve())]
