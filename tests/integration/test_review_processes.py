"""A review that several processes serve: Ctrl-C, killed processes, one limit of sign-ins, secrets, and settings."""

import contextlib
import os
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from postgres_cluster import PostgresCluster
from served_review import PASSWORD, QUICK

from reeltalk.cli import run
from reeltalk.errors import SettingError
from reeltalk.review import people
from reeltalk.review.database import Database, ReviewProject
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.verifying import verify_history

COUNT = 3


def children(process: int) -> list[int]:
    """Ids of a process's children, in the order in which they were started."""
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(is_so: object, what: str, seconds: float = 60) -> None:
    assert callable(is_so)
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@dataclass
class Site:
    """A running server with several processes."""

    benchmark: Path
    url: str
    address: str
    process: subprocess.Popen[str]
    told: list[str]

    def project(self) -> ReviewProject:
        return ReviewProject.open(self.benchmark, url=self.url)

    def join(self, name: str, role: str) -> None:
        project = self.project()
        with transaction(project.database, OPERATOR) as change:
            token = people.invite(change, project.secret, role)[1]
            people.join_team(change, project.secret, token, name, PASSWORD, QUICK)
        project.database.close()

    def client(self, address: str = "127.0.0.1") -> httpx.Client:
        """A browser that opens a new connection, and so may reach another process, for every request."""
        limits = httpx.Limits(max_keepalive_connections=0)
        transport = httpx.HTTPTransport(local_address=address, limits=limits)
        return httpx.Client(base_url=self.address, transport=transport, timeout=60)

    def signed_in(self, name: str) -> tuple[httpx.Client, str]:
        """A browser in which somebody is signed in, and its token for changes."""
        client = self.client()
        assert client.post("/sign-in", data={"name": name, "password": PASSWORD}).status_code == 303
        found = re.search(r'name="csrf" content="([^"]+)"', client.get("/").text)
        assert found is not None
        return client, found[1]

    def workers(self) -> list[int]:
        """The processes that answer; the first child keeps what they share."""
        return children(self.process.pid)[1:]


@contextlib.contextmanager
def served(postgres: PostgresCluster, samples: Path, folder: Path) -> Iterator[Site]:
    benchmark = folder / "bench"
    assert run(["import", "vdact", str(samples / "vdact"), str(benchmark)]) == 0
    url = postgres.new_database()
    command = [sys.executable, "-m", "reeltalk", "review", str(benchmark), "--port", "0", "--database", url]
    command += ["--processes", str(COUNT)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    told: list[str] = []
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        found = re.match(r"open (http://\S+?)/join/", line)
        assert found is not None, (line, process.stderr.read())
        reading = threading.Thread(target=lambda: told.extend(process.stderr or ()), daemon=True)
        reading.start()
        made = Site(benchmark, url, found[1], process, told)
        wait_until(lambda: len(children(process.pid)) == COUNT + 1, "the processes do not start")
        yield made
        assert "Traceback" not in "".join(told), "".join(told)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@pytest.fixture(scope="module")
def site(postgres: PostgresCluster, samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(postgres, samples, tmp_path_factory.mktemp("site")) as found:
        yield found


@pytest.fixture
def own_site(postgres: PostgresCluster, samples: Path, tmp_path: Path) -> Iterator[Site]:
    """A site that a test may end."""
    with served(postgres, samples, tmp_path) as found:
        yield found


def test_ctrl_c_ends_all_processes(own_site: Site) -> None:
    site = own_site
    all_of_them = [site.process.pid, *children(site.process.pid)]
    # As a terminal does it: to the whole group.
    os.killpg(site.process.pid, signal.SIGINT)
    assert site.process.wait(60) == 0
    assert not any(map(is_running, all_of_them))
    wait_until(lambda: "stopped; everything is kept in the database\n" in site.told, "the end is not told")


def test_no_process_outlives_the_first_one(own_site: Site) -> None:
    site = own_site
    others = children(site.process.pid)
    site.process.kill()
    wait_until(lambda: not any(map(is_running, others)), "processes go on alone")


def test_a_killed_process_is_replaced_and_nothing_is_lost(site: Site, full: bool) -> None:
    site.join("Ann", "annotator")
    client, csrf = site.signed_in("Ann")
    work = client.post("/queues/turns/next", data={"csrf": csrf}).headers["location"].removeprefix("/work/")
    turn = client.get(f"/api/work/{work}").json()["unit"]["content"]["turns"][0]
    revision, kills, before = 0, 20 if full else 3, len(site.told)
    for number in range(kills):
        workers = site.workers()
        assert len(workers) == COUNT
        os.kill(workers[number % COUNT], signal.SIGKILL)
        kept = {"question": turn["question"], "labels": turn.get("labels", {})}
        value = {**kept, "decision": "accept", "references": [f"after kill {number}"]}
        headers = {"X-CSRF-Token": csrf, "Idempotency-Key": secrets.token_hex(8)}
        for _ in range(20):
            with contextlib.suppress(httpx.TransportError):
                body = {"revision": revision, "value": value}
                answer = client.put(f"/api/work/{work}/entries/0", json=body, headers=headers)
                assert answer.status_code == 200, answer.text
                break
        else:
            raise AssertionError("no process answers")
        assert answer.json()["revision"] == revision + 1
        revision = answer.json()["revision"]
        wait_until(lambda: len(site.workers()) == COUNT and all(map(is_running, site.workers())), "none is replaced")
    ended = "a process of the server ended (signal 9); another takes its place\n"
    wait_until(lambda: site.told[before:].count(ended) == kills, "it is not told")
    project = site.project()
    assert verify_history(project.database).findings == ()
    project.database.close()


def test_tries_to_sign_in_are_counted_over_all_processes(site: Site) -> None:
    site.join("Ben", "annotator")
    client = site.client("127.0.0.2")
    tried = [client.post("/sign-in", data={"name": "Ben", "password": f"wrong {n}"}).status_code for n in range(15)]
    # Five are free, and each further one waits for longer than the one before took.
    assert tried[:5] == [401] * 5
    assert tried.count(401) <= 7
    assert site.signed_in("Ben")


def test_what_shared_the_limits_is_replaced_too(site: Site) -> None:
    site.join("Cai", "annotator")
    before = children(site.process.pid)
    os.kill(before[0], signal.SIGKILL)
    wait_until(lambda: len(children(site.process.pid)) == COUNT + 1, "the processes do not start again")
    wait_until(lambda: not set(before) & set(children(site.process.pid)), "the processes do not start again")

    def signs_in() -> bool:
        with contextlib.suppress(httpx.TransportError):
            form = {"name": "Cai", "password": PASSWORD}
            return site.client().post("/sign-in", data=form).status_code == 303
        return False

    wait_until(signs_in, "nobody can sign in")


def test_a_form_sent_twice_shows_the_same_link_whichever_process_answers(site: Site) -> None:
    site.join("Ada", "owner")
    client, csrf = site.signed_in("Ada")
    form = {"csrf": csrf, "role": "annotator", "note": "", "key": secrets.token_hex(12)}
    links = {re.findall(r"/join/[\w-]+", client.post("/team/invitations", data=form).text)[0] for _ in range(12)}
    assert len(links) == 1


def test_settings_are_the_same_in_all_processes_within_a_second(site: Site) -> None:
    site.join("Olga", "owner")
    client, csrf = site.signed_in("Olga")
    saved = client.post("/setup/settings", data={"csrf": csrf, "lease_minutes": "77"})
    assert saved.status_code == 303, saved.text
    time.sleep(1.1)
    pages = [client.get("/setup").text for _ in range(12)]
    assert all(
        re.search(r'name="lease_minutes"[^>]*value="77"|value="77"[^>]*name="lease_minutes"', it) for it in pages
    )


def test_a_sqlite_file_takes_one_process(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"--processes 2: .*--database of a PostgreSQL server, or leave"):
        Database(f"sqlite:///{tmp_path / 'review.db'}", processes=2)
    with pytest.raises(SettingError, match="--processes 0: give 1 to 16"):
        Database("postgresql+psycopg:///nowhere", processes=0)
