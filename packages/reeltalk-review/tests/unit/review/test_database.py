"""What the database promises: acknowledged work lasts, writers take turns, and what is wrong is said in words."""

import contextlib
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from postgres_cluster import postgres_cluster
from reliability_page import Reliability
from review_projects import small_project
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk_review.database import SCHEMA_VERSION, Database, ReviewProject, sqlite_url
from reeltalk_review.events import OPERATOR, broken_links, transaction
from reeltalk_review.idempotency import CLEAN_EVERY, KEEP_REQUESTS, forget_requests
from reeltalk_review.tables import EventRow, PersonRow, RequestRow, UnitRow, timestamp
from reeltalk_review.work import entry_history


@pytest.fixture
def database(tmp_path: Path, database_kind: str) -> Iterator[Database]:
    found = small_project(tmp_path).database
    yield found
    found.close()


def test_a_path_may_hold_what_means_something_in_an_address(tmp_path: Path) -> None:
    folder = tmp_path / "what? 100%#@ü [1]&x=2"
    folder.mkdir()
    database = Database(sqlite_url(folder / "review.db"))
    database.make_tables()
    database.close()
    assert (folder / "review.db").is_file()


@pytest.mark.parametrize(
    "address",
    [
        "",
        "nonsense",
        "mysql://host/name",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x.db?mode=ro",
        "postgresql+psycopg://me:secret@host:port/x",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(SettingError, match="--database") as refused:
        Database(address)
    assert "secret" not in str(refused.value)


def test_every_connection_waits_for_the_disk(
    database: Database, database_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("team.WAITS", True)
    database.engine.dispose()
    with database.reading() as session:
        if database_kind == "sqlite":
            assert session.scalar(text("PRAGMA journal_mode")) == "wal"
            assert session.scalar(text("PRAGMA synchronous")) == 2
            assert session.scalar(text("PRAGMA foreign_keys")) == 1
        else:
            assert session.scalar(text("SHOW synchronous_commit")) == "on"
            assert session.scalar(text("SHOW transaction_isolation")) == "repeatable read"
            assert session.scalar(text("SHOW transaction_read_only")) == "on"


def test_writers_take_turns_and_lose_nothing(database: Database) -> None:
    def write(number: int) -> None:
        for turn in range(10):
            with transaction(database, f"writer{number}") as change:
                change.record("tried", f"{number}/{turn}", after={"text": "Übung\0 \U0001f3a5"})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.reading() as session:
        found = session.scalars(select(EventRow).where(EventRow.kind == "tried").order_by(EventRow.seq)).all()
        assert sorted(event.subject for event in found) == sorted(f"{n}/{t}" for n in range(8) for t in range(10))
        assert [event.seq for event in found] == list(range(found[0].seq, found[0].seq + 80))
        assert found[0].after == {"text": "Übung\0 \U0001f3a5"}
        assert list(broken_links(session)) == []


def test_two_that_start_at_once_both_get_the_tables_and_one_chain(
    tmp_path: Path, database_kind: str, project: ReviewProject
) -> None:
    project.database.close()
    address = project.database.engine.url.render_as_string(hide_password=False)
    if database_kind == "sqlite":
        address = sqlite_url(tmp_path / "fresh.db")
    problems: list[BaseException] = []
    start = threading.Barrier(4)

    def begin(number: int) -> None:
        try:
            database = Database(address)
            start.wait()
            database.make_tables()
            with transaction(database, OPERATOR) as change:
                change.record("started", str(number))
            database.close()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    database = Database(address)
    with database.reading() as session:
        assert list(broken_links(session)) == []
        assert len(session.scalars(select(EventRow)).all()) == 4
    database.close()


def test_a_new_file_that_another_process_writes_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "fresh.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE theirs (number INTEGER)")
        other.execute("BEGIN IMMEDIATE")
        with contextlib.closing(sqlite3.connect(path, timeout=60)) as ours:
            # Not even a long time-out makes SQLite wait here.
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                ours.execute("PRAGMA journal_mode=WAL")
        letting_go = threading.Timer(0.3, other.execute, ["COMMIT"])
        letting_go.start()
        database = Database(sqlite_url(path))
        database.make_tables()
        letting_go.join()
    with database.reading() as session:
        assert session.scalar(text("PRAGMA journal_mode")) == "wal"
    database.close()


@pytest.fixture
def project(tmp_path: Path, database_kind: str) -> ReviewProject:
    """Nothing but tables."""
    return ReviewProject.open(tmp_path / "bench", folder=tmp_path / "bench.review")


def test_whoever_reads_sees_one_moment_also_while_others_write(database: Database) -> None:
    with database.reading() as session:
        before = session.scalar(select(UnitRow.state).where(UnitRow.id == "u0"))
        with transaction(database, OPERATOR) as change:
            change.session.get_one(UnitRow, "u0").state = "done"
            change.session.get_one(UnitRow, "u1").state = "done"
        assert before == "open"
        assert session.scalar(select(UnitRow.state).where(UnitRow.id == "u1")) == "open"
    with database.reading() as session:
        assert session.scalar(select(UnitRow.state).where(UnitRow.id == "u1")) == "done"


def test_a_change_that_fails_half_way_leaves_nothing(database: Database) -> None:
    with database.reading() as session:
        events = len(session.scalars(select(EventRow)).all())

    def fail() -> None:
        with transaction(database, OPERATOR) as change:
            change.record("tried", "x")
            change.session.get_one(UnitRow, "u0").state = "done"
            change.session.add(PersonRow(id="ann", name="", sign_in="", role="reader", created_at=""))
            change.session.flush()

    with pytest.raises(IntegrityError):
        fail()
    with database.reading() as session:
        assert len(session.scalars(select(EventRow)).all()) == events
        assert session.get_one(UnitRow, "u0").state == "open"
    with transaction(database, OPERATOR) as change:
        change.record("tried", "y")
    with database.reading() as session:
        assert list(broken_links(session)) == []


def test_texts_sort_alike_on_every_database(database: Database) -> None:
    names = ["a", "B", "ä", "_", "10", "9", "Z", "-", "z z", "zz", "\U0001f600", "\uffee"]
    with transaction(database, OPERATOR) as change:
        for name in names:
            change.record("save", "sorted", place=name, after={})
    with database.reading() as session:
        query = select(EventRow.place).where(EventRow.subject == "sorted").order_by(EventRow.place)
        assert list(session.scalars(query)) == sorted(names)
        assert len(entry_history(session, "sorted", "ä")) == 1


def test_requests_are_forgotten_after_thirty_days(database: Database) -> None:
    now = datetime.now(UTC)
    with transaction(database, OPERATOR) as change:
        for days in (0, 29, 31, 400):
            at = timestamp(now - timedelta(days=days))
            change.session.add(RequestRow(person_id="ann", key=f"{days} days", what="", status=200, body=None, at=at))
    with transaction(database, OPERATOR, now=now) as change:
        for number in range(CLEAN_EVERY):
            change.record("tried", str(number))
        forget_requests(change)
    with database.reading() as session:
        assert sorted(session.scalars(select(RequestRow.key))) == ["0 days", "29 days"]
    assert timedelta(days=30) == KEEP_REQUESTS


def test_a_folder_that_cannot_be_written_and_a_file_that_is_no_database_are_said(tmp_path: Path) -> None:
    for place, content in ((tmp_path / "none" / "review.db", None), (tmp_path / "text.db", b"This is a text." * 100)):
        if content is not None:
            place.write_bytes(content)
        database = Database(sqlite_url(place))
        with pytest.raises(BenchmarkError, match="cannot be used"):
            database.make_tables()
        database.close()


OF_ANOTHER_VERSION = [
    "UPDATE schema_version SET version = 7",
    "DELETE FROM schema_version",
    "DROP TABLE schema_version",
]


@pytest.mark.parametrize("change", OF_ANOTHER_VERSION)
def test_a_database_of_another_version_is_refused_and_stays_as_it_is(
    project: ReviewProject, change: str, tmp_path: Path
) -> None:
    with project.database.writing() as session:
        session.execute(text(change))
    where = re.escape(project.database.engine.url.render_as_string(hide_password=True))
    version = "version 7" if change.startswith("UPDATE") else "no version"
    with pytest.raises(BenchmarkError) as refused:
        project.database.make_tables()
    assert re.fullmatch(
        f"the review database {where} has tables of {version}, and this reeltalk works with version {SCHEMA_VERSION}: "
        "go on with the reeltalk that made it, or move it away to begin a new one",
        str(refused.value),
    )
    with pytest.raises(BenchmarkError, match=version):
        ReviewProject.open(tmp_path / "bench", folder=tmp_path / "bench.review")
    with project.database.reading() as session:
        assert session.scalars(select(EventRow)).all() == []
    project.database.close()


def test_tables_of_others_in_a_database_are_left_alone(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "shared.db")) as other:
        other.execute("CREATE TABLE theirs (number INTEGER)")
    database = Database(sqlite_url(tmp_path / "shared.db"))
    for _ in range(2):
        database.make_tables()
    with database.reading() as session:
        assert session.scalar(text("SELECT version FROM schema_version")) == SCHEMA_VERSION
        assert session.execute(text("SELECT * FROM theirs")).all() == []
    database.close()


def test_a_full_disk_loses_the_change_that_was_refused_and_no_other(tmp_path: Path, reliability: Reliability) -> None:
    tally = reliability("storage", "a full disk under the review database (SQLite)", "an acknowledged change is lost")
    database = small_project(tmp_path).database
    # What SQLite itself says of a disk without room, at a size that it is told not to go beyond.
    with transaction(database, OPERATOR) as change:
        pages = change.session.scalar(text("PRAGMA page_count"))
    connections = [database.engine.connect() for _ in range(3)]
    for connection in connections:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 3}")
    for connection in connections:
        connection.close()
    kept: list[str] = []

    def fill() -> None:
        for number in range(100):
            with transaction(database, OPERATOR) as change:
                change.record("tried", str(number), after={"text": "x" * 2000})
            kept.append(str(number))
            tally.tried = 1

    with pytest.raises(BenchmarkError, match="full"):
        fill()
    with database.reading() as session:
        assert (
            list(session.scalars(select(EventRow.subject).where(EventRow.kind == "tried").order_by(EventRow.seq)))
            == kept
        )
        assert list(broken_links(session)) == []
    database.close()


@pytest.mark.slow
def test_a_database_that_cannot_hold_all_texts_is_refused(new_postgres: Callable[[], str]) -> None:
    if "REELTALK_POSTGRES" in os.environ:
        pytest.skip("makes a cluster of its own")
    with postgres_cluster() as cluster:
        database = Database(cluster.new_database(encoding="SQL_ASCII"))
        with pytest.raises(SettingError, match="encoding is SQL_ASCII"):
            database.make_tables()
        database.close()


@pytest.mark.slow
def test_a_server_that_is_killed_is_said_and_its_return_is_used(new_postgres: Callable[[], str]) -> None:
    if "REELTALK_POSTGRES" in os.environ:
        pytest.skip("makes a cluster of its own")
    with postgres_cluster(durable=True) as cluster:
        database = Database(cluster.new_database())
        database.make_tables()
        acknowledged = []
        for turn in range(3):
            with transaction(database, OPERATOR) as change:
                change.record("tried", str(turn))
            acknowledged.append(str(turn))
            cluster.kill()
            with pytest.raises(BenchmarkError, match="cannot be used"), transaction(database, OPERATOR) as change:
                change.record("refused", str(turn))
            cluster.start()
            with database.reading() as session:
                assert list(session.scalars(select(EventRow.subject).order_by(EventRow.seq))) == acknowledged
                assert list(broken_links(session)) == []
        database.close()
