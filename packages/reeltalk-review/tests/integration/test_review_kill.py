"""A server that is killed under eight writers: what it acknowledged is there, once, and the history leads to it.

So it is where PostgreSQL under it stands still, is shut down, is killed, or has no room on its disk.
"""

import contextlib
import http.client
import itertools
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
from places import ROOT
from postgres_cluster import PostgresCluster, postgres_cluster
from reliability_page import Reliability
from sqlalchemy import select

from reeltalk.cli import run
from reeltalk.store.benchmark import Benchmark
from reeltalk_review.database import ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import import_benchmark
from reeltalk_review.people import person_of_session, start_session
from reeltalk_review.tables import EntryRow, EventRow, PersonRow
from reeltalk_review.verifying import verify_history
from reeltalk_review.web import cookie_name

WRITERS = 8


@dataclass
class Writer:
    """Somebody who saves, takes back and hands in, and asks again with the same key where no answer came."""

    port: int
    cookie: str
    csrf: str
    number: int
    units: int
    stop: threading.Event
    copies: int = 0
    saved: list[tuple[str, str, int, str]] = field(default_factory=list)
    """What was acknowledged: copy, place, revision, note."""
    done: Counter[str] = field(default_factory=Counter)
    asked_again: int = 0
    refusals: set[str] = field(default_factory=set)
    """What the server said where it could not save."""
    problem: BaseException | None = None

    def work(self) -> None:
        try:
            self.rng = random.Random(self.number)
            self.connection = self._connect()
            while not self.stop.is_set() and (copy := self._next()) is not None:
                self._work_on(copy)
        except BaseException as error:
            self.problem = error
        finally:
            self.connection.close()

    def _work_on(self, copy: str) -> None:
        _, opened = self._ask("GET", f"/api/work/{copy}")
        turns = opened["unit"]["content"]["turns"]
        revisions = {place: entry["revision"] for place, entry in opened["entries"].items()}
        decided: set[str] = set()
        self.copies += 1
        # On the last there is something to do until the end.
        for _ in itertools.repeat(None) if self.copies == self.units else range(40):
            if self.stop.is_set():
                return
            chance = self.rng.random()
            if chance < 0.85:
                decided.add(self._save(copy, self.rng.randrange(len(turns)), turns, revisions))
            else:
                step = "undo" if chance < 0.95 else "redo"
                status, answer = self._ask("POST", f"/api/work/{copy}/{step}", {}, allowed=(200, 409))
                if status == 200:
                    revisions = {place: entry["revision"] for place, entry in answer["entries"].items()}
                    self.done[step] += 1
        for place in range(len(turns)):
            self._save(copy, place, turns, revisions)
        self._ask("POST", f"/api/work/{copy}/submit", {})
        self.done["submit"] += 1

    def _save(self, copy: str, place: int, turns: list[Any], revisions: dict[str, int]) -> str:
        name, note = str(place), f"{self.number}-{secrets.token_hex(6)}"
        kept = {"question": turns[place]["question"], "labels": turns[place].get("labels", {})}
        value = {**kept, "decision": "accept", "references": [note], "note": note}
        read = revisions.get(name, 0)
        _, answer = self._ask("PUT", f"/api/work/{copy}/entries/{name}", {"revision": read, "value": value})
        assert answer["revision"] == read + 1, f"{read} was read, and {answer['revision']} stored"
        revisions[name] = answer["revision"]
        self.saved.append((copy, name, answer["revision"], note))
        self.done["save"] += 1
        return name

    def _next(self) -> str | None:
        _, address = self._ask("POST", "/queues/turns/next", allowed=(303,))
        return address.rpartition("/work/")[2] if "/work/" in address else None

    def _ask(self, method: str, path: str, body: Any = None, allowed: tuple[int, ...] = (200,)) -> tuple[int, Any]:
        """Ask until there is an answer, always with the same key."""
        headers = {"Cookie": self.cookie, "X-CSRF-Token": self.csrf, "Idempotency-Key": secrets.token_hex(8)}
        headers["Content-Type"] = "application/json" if body is not None else "application/x-www-form-urlencoded"
        sent = json.dumps(body) if body is not None else f"csrf={self.csrf}"
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                self.connection.request(method, path, None if method == "GET" else sent, headers)
                answer = self.connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self.asked_again += 1
                self.connection.close()
                time.sleep(0.01)
                continue
            if answer.status == 503:
                self.refusals.add(content.decode(errors="replace"))
                self.asked_again += 1
                time.sleep(0.05)
                continue
            assert answer.status in allowed, (method, path, answer.status, content[:500])
            return answer.status, answer.headers["Location"] if answer.status == 303 else json.loads(content)
        raise TimeoutError(f"no answer to {method} {path} for a minute")

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)


@dataclass
class Server:
    """A `reeltalk review` that can be killed and started."""

    port: int
    arguments: list[str]
    starter: subprocess.Popen[str]
    process: int = 0

    def start(self) -> None:
        assert self.starter.stdin is not None
        assert self.starter.stdout is not None
        self.starter.stdin.write(json.dumps(self.arguments) + "\n")
        self.starter.stdin.flush()
        self.process = int(self.starter.stdout.readline())
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5):
                return
            time.sleep(0.01)
        raise TimeoutError("the server does not listen")

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        # Its address is free when it is gone, which is a moment later.
        with contextlib.suppress(ProcessLookupError):
            while True:
                os.kill(self.process, 0)
                time.sleep(0.002)


@pytest.fixture(scope="module")
def starter() -> Iterator[subprocess.Popen[str]]:
    """The process that starts all servers of this file, which has imported what they need."""
    command = [sys.executable, str(ROOT / "tools" / "killable_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@contextlib.contextmanager
def served(starter: subprocess.Popen[str], benchmark: Path, url: str | None) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    arguments = ["review", str(benchmark), "--port", str(port)]
    arguments += ["--database", url] if url is not None else []
    server = Server(port, arguments, starter)
    server.start()
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def benchmark_folder(samples: Path, tmp_path: Path) -> Path:
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")]) == 0
    return tmp_path / "bench"


def kill_under_writers(
    starter: subprocess.Popen[str],
    benchmark: Path,
    url: str | None,
    kills: int,
    kill: Callable[[Server], None],
    reliability: Reliability,
    what: str,
) -> list[Writer]:
    """Kill `kills` times while eight people write, and check that nothing was lost or doubled."""
    survived = reliability(
        "power", f"{what} while 8 people save", "the history does not lead to the state, or no return"
    )
    saves = reliability(
        "power", f"saves acknowledged while there was {what}", "a save is lost or stored twice", is_counted=False
    )
    project = ReviewProject.open(benchmark, url=url)
    units = import_benchmark(project, Benchmark.open(benchmark), serving=lambda _: {}, overlap=WRITERS).new["turns"]
    signed_in = []
    with transaction(project.database, OPERATOR) as change:
        for number in range(WRITERS):
            name = f"writer{number}"
            row = PersonRow(id=name, name=name, sign_in=name, role="annotator", created_at=change.at)
            change.session.add(row)
            change.session.flush()
            token = start_session(change, project.secret, name)
            person = person_of_session(change.session, project.secret, token)
            assert person is not None
            signed_in.append((f"{cookie_name(project)}={token}", person.csrf))
    stop, rng = threading.Event(), random.Random(60)
    with served(starter, benchmark, url) as server:
        writers = [Writer(server.port, *known, number, units, stop) for number, known in enumerate(signed_in)]
        threads = [threading.Thread(target=writer.work) for writer in writers]
        for thread in threads:
            thread.start()
        try:
            for _ in range(kills):
                # Somebody was answered since the last kill, and a moment of the next requests has passed.
                known = sum(len(writer.saved) for writer in writers)
                end = time.monotonic() + 60
                while sum(len(writer.saved) for writer in writers) < known + WRITERS:
                    assert time.monotonic() < end, "nobody was answered for a minute"
                    assert all(thread.is_alive() for thread in threads), [writer.problem for writer in writers]
                    time.sleep(0.005)
                time.sleep(rng.uniform(0, 0.15))
                kill(server)
                survived.tried += 1
        finally:
            stop.set()
            for thread in threads:
                thread.join(90)
    for writer in writers:
        if writer.problem is not None:
            raise writer.problem
    saves.tried = sum(len(writer.saved) for writer in writers)
    check(project, writers)
    project.database.close()
    return writers


def check(project: ReviewProject, writers: list[Writer]) -> None:
    acknowledged = [save for writer in writers for save in writer.saved]
    with project.database.reading() as session:
        saves = session.scalars(select(EventRow).where(EventRow.kind == "save").order_by(EventRow.seq)).all()
        stored = Counter(
            (event.subject, event.place, event.after["revision"], event.after["value"]["note"]) for event in saves
        )
        lost = [save for save in acknowledged if save not in stored]
        doubled = [save for save, times in stored.items() if times > 1]
        notes = Counter(event.after["value"]["note"] for event in saves)
        assert lost == []
        assert doubled == []
        assert max(notes.values()) == 1
        # Everybody asked until there was an answer: nothing is there that was not acknowledged.
        assert sum(notes.values()) == len(acknowledged)
        steps = Counter(session.scalars(select(EventRow.kind)))
        for kind in ("undo", "redo", "submit"):
            assert steps[kind] == sum(writer.done[kind] for writer in writers)
        assert session.scalars(select(EntryRow.place)).first() is not None
    found = verify_history(project.database)
    assert found.findings == ()
    assert found.events == found.seq


def again(server: Server) -> None:
    server.kill()
    server.start()


@pytest.mark.timeout(7200)
def test_kills_of_a_server_with_sqlite_lose_and_double_nothing(
    starter: subprocess.Popen[str], benchmark_folder: Path, reliability: Reliability
) -> None:
    kills = reliability.count(3, full=200, release=1000)
    what = "SIGKILL of the review server (SQLite)"
    writers = kill_under_writers(starter, benchmark_folder, None, kills, again, reliability, what)
    assert sum(writer.asked_again for writer in writers) >= kills


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_kills_of_a_server_with_postgresql_lose_and_double_nothing(
    starter: subprocess.Popen[str], benchmark_folder: Path, reliability: Reliability
) -> None:
    with own_postgres() as postgres:
        kills = reliability.count(2, full=60, release=200)
        what = "SIGKILL of the review server (PostgreSQL)"
        writers = kill_under_writers(
            starter, benchmark_folder, postgres.new_database(), kills, again, reliability, what
        )
        assert sum(writer.asked_again for writer in writers) >= kills


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_kills_of_postgresql_itself_lose_and_double_nothing(
    starter: subprocess.Popen[str], benchmark_folder: Path, reliability: Reliability
) -> None:
    def cut(_: Server) -> None:
        postgres.kill()
        postgres.start()

    with own_postgres() as postgres:
        kills = reliability.count(1, full=30, release=100)
        what = "SIGKILL of all processes of PostgreSQL"
        writers = kill_under_writers(starter, benchmark_folder, postgres.new_database(), kills, cut, reliability, what)
        assert sum(writer.asked_again for writer in writers) >= kills


def stand_still(postgres: PostgresCluster) -> None:
    postgres.send_to_all(signal.SIGSTOP)
    time.sleep(1)
    postgres.send_to_all(signal.SIGCONT)


def shut_down_at_leisure(postgres: PostgresCluster) -> None:
    # It waits for all sessions to end, which a server of pages does not do.
    if not postgres.shut_down(signal.SIGTERM, within_s=1):
        postgres.shut_down(signal.SIGINT, within_s=60)
    postgres.start()


def shut_down_fast(postgres: PostgresCluster) -> None:
    postgres.shut_down(signal.SIGINT, within_s=60)
    postgres.start()


def shut_down_at_once(postgres: PostgresCluster) -> None:
    postgres.shut_down(signal.SIGQUIT, within_s=60)
    postgres.start()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("outage", [stand_still, shut_down_at_leisure, shut_down_fast, shut_down_at_once])
def test_an_outage_of_postgresql_loses_and_doubles_nothing(
    outage: Callable[[PostgresCluster], None],
    starter: subprocess.Popen[str],
    benchmark_folder: Path,
    reliability: Reliability,
) -> None:
    with own_postgres() as postgres:
        outages = reliability.count(1, full=5, release=25)
        what = "PostgreSQL that stands still for a second, or is shut down and started again"
        url = postgres.new_database()
        writers = kill_under_writers(
            starter, benchmark_folder, url, outages, lambda _: outage(postgres), reliability, what
        )
    check_said({said for writer in writers for said in writer.refusals})


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_full_disk_under_postgresql_loses_and_doubles_nothing(
    starter: subprocess.Popen[str], benchmark_folder: Path, reliability: Reliability
) -> None:
    with small_disk("160m") as disk, own_postgres(data=disk) as postgres:

        def fill(_: Server) -> None:
            ballast = disk / "ballast"
            with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as stream:
                while stream.write(bytes(1 << 16)):
                    pass
            # Its log of what is to be written wants a new file, and has no room for it.
            with contextlib.suppress(psycopg.Error):
                postgres.ask("SELECT pg_switch_wal()")
            time.sleep(1)
            ballast.unlink()
            postgres.start()

        url = postgres.new_database()
        fills, what = reliability.count(1, full=5, release=25), "PostgreSQL whose disk is full for a second"
        writers = kill_under_writers(starter, benchmark_folder, url, fills, fill, reliability, what)
    said = {said for writer in writers for said in writer.refusals}
    assert said
    check_said(said)


@contextlib.contextmanager
def own_postgres(data: Path | None = None) -> Iterator[PostgresCluster]:
    """A server that waits for the disk; without PostgreSQL the test is skipped."""
    with contextlib.ExitStack() as stack:
        try:
            postgres = stack.enter_context(postgres_cluster(durable=True, data=data))
        except RuntimeError as error:
            pytest.skip(str(error))
        yield postgres


@contextlib.contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """A disk of its own, in memory; where none may be mounted the test is skipped."""
    # PostgreSQL runs as somebody else, who does not come through the folders of pytest.
    with tempfile.TemporaryDirectory(prefix="reeltalk-disk-") as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode:
            pytest.skip(f"no disk can be mounted: {mounted.stderr.strip()}")
        Path(folder).chmod(0o755)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=False)


def check_said(refusals: set[str]) -> None:
    """A refusal says what is so and what becomes of the work, and nothing of the database."""
    for said in refusals:
        assert "cannot store anything at the moment; what you typed stays in this browser" in said
        assert "postgresql" not in said
