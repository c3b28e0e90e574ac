"""A small project with a team, in a database of its own, and browsers that are signed in to it."""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from served_review import QUICK
from sqlalchemy import URL, Engine, create_engine
from starlette.testclient import TestClient

from reeltalk.schema.dialogue import DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk_review import database
from reeltalk_review.app import create_app
from reeltalk_review.credentials import HashCost, keyed_hash
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import import_benchmark
from reeltalk_review.people import invite, join_team, start_session
from reeltalk_review.tables import SessionRow
from reeltalk_review.web import cookie_name

PASSWORD = "a horse, a battery"


DATABASES: Final[list[Any]] = ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)]
"""Kinds of databases that tests run on: PostgreSQL in full counts alone."""
LOOPS: list[BlockingPortal] = []
WAITS = False
"""Whether databases that are opened here wait for the disk, as those of a server do."""


@contextlib.contextmanager
def compiled_once() -> Iterator[None]:
    """Let all databases that are opened here share what SQLAlchemy compiles and not wait for the disk, for a block.

    A server compiles a query once in its life. Here each test opens a database of its own, and would compile all anew.
    Power cuts are tried on servers in processes of their own.
    """
    dialects: dict[str, Any] = {}
    compiled: dict[Any, Any] = {}

    def create(url: URL, **options: Any) -> Engine:
        engine = create_engine(url, execution_options={"compiled_cache": compiled}, **options)
        # Its own dialect reads at its first connection what the server can do.
        shared = dialects.setdefault(url.drivername, engine.dialect)
        if getattr(shared, "server_version_info", None) is not None:
            engine.dialect = shared
        return engine

    def prepare(connection: sqlite3.Connection, record: Any) -> None:
        prepared(connection, record)
        if not WAITS:
            connection.execute("PRAGMA synchronous=OFF")

    prepared = database._prepare_sqlite
    with (
        mock.patch("reeltalk_review.database.create_engine", create),
        mock.patch("reeltalk_review.database._prepare_sqlite", prepare),
    ):
        yield


@contextlib.contextmanager
def one_loop() -> Iterator[None]:
    """Let one event loop answer all requests of `client_of`, as that of a server does, while the block lasts."""
    with start_blocking_portal() as portal:
        LOOPS.append(portal)
        yield
        LOOPS.remove(portal)


def client_of(app: Any) -> TestClient:
    """A browser that has never been here; where there is no `one_loop`, each of its requests starts a loop."""
    client = TestClient(app, base_url="http://localhost")
    client.portal = LOOPS[-1] if LOOPS else None
    return client


def small_content(videos: int = 3) -> Content:
    """Videos of two clips with an activity each, a chain of three turns about the first, and a path along it."""
    content = Content()
    for number in range(videos):
        name = f"film{number}"
        content.videos.append(Video(id=name, sha256=f"{number:064x}", duration_s=20.0, split="test"))
        for part in range(2):
            content.clips.append(
                Clip(
                    id=f"{name}-{part}",
                    video_id=name,
                    interval=Interval(start_s=10.0 * part, end_s=10.0 * part + 10),
                    extra={"activity": ("Wash_dishes1", "Admire_art2")[part]},
                )
            )
        turns = tuple(
            Turn(question=f"Question {index} about {name}?", references=(f"Secret answer {index} of {name}.",))
            for index in range(3)
        )
        content.chains.append(QAChain(id=f"chain-{name}", video_id=name, clip_id=f"{name}-0", turns=turns))
        steps = tuple(PathStep(ref=TurnRef(unit_id=f"chain-{name}", turn_index=index)) for index in range(3))
        content.paths.append(DialoguePath(id=f"path-{name}", video_id=name, steps=steps))
    return content


@dataclass
class Browser:
    """Somebody who is signed in."""

    name: str
    id: str
    client: TestClient
    csrf: str
    keys: int = field(default=0)

    def get(self, address: str) -> Any:
        """A page, or JSON."""
        return self.client.get(address)

    def form(self, address: str, **fields: str) -> Any:
        """Send a form; what it leads to is not followed."""
        return self.client.post(address, data={"csrf": self.csrf, **fields}, follow_redirects=False)

    def api(self, method: str, address: str, body: Any = None, *, key: str | None = None) -> Any:
        """Change something, with a new key where none is given."""
        self.keys += 1
        headers = {"X-CSRF-Token": self.csrf, "Idempotency-Key": key or f"{self.name}-key-{self.keys:06d}"}
        return self.client.request(method, address, json=body, headers=headers)

    def next(self, queue: str) -> str:
        """Take the next unit of a queue; the assignment's id."""
        answer = self.form(f"/queues/{queue}/next")
        assert answer.status_code == 303, answer.text
        return str(answer.headers["location"]).removeprefix("/work/")

    def save(self, assignment: str, place: str, value: Any) -> Any:
        """Put a value at a place, over whatever is there."""
        entries = self.get(f"/api/work/{assignment}").json()["entries"]
        revision = entries.get(place, {"revision": 0})["revision"]
        return self.api("PUT", f"/api/work/{assignment}/entries/{place}", {"revision": revision, "value": value})


@dataclass
class Team:
    """A project and those who work on it."""

    project: ReviewProject
    app: Any

    def member(self, name: str, role: str, cost: HashCost = QUICK) -> Browser:
        """Somebody new, signed in; `cost` is what their password takes to check."""
        project = self.project
        with transaction(project.database, OPERATOR) as change:
            token = invite(change, project.secret, role)[1]
        with transaction(project.database, "") as change:
            row = join_team(change, project.secret, token, name, PASSWORD, cost)
            cookie = start_session(change, project.secret, row.id)
        client = client_of(self.app)
        client.cookies.set(cookie_name(project), cookie)
        # As pages say it; a page would take longer to draw than all else here.
        with project.database.reading() as session:
            csrf = session.get_one(SessionRow, keyed_hash(project.secret, cookie)).csrf
        return Browser(name, row.id, client, csrf)


def make_team(folder: Path, content: Content | None = None, *, url: str | None = None, overlap: int = 1) -> Team:
    """A team whose benchmark lies in `folder`."""
    benchmark = Benchmark.create(folder / "bench")
    benchmark.write_content(content if content is not None else small_content(), stage="test")
    project = ReviewProject.open(folder / "bench", url=url)
    import_benchmark(project, Benchmark.open(folder / "bench"), serving=lambda _: {}, overlap=overlap)
    return Team(project, create_app(project))
