"""A review project and its database: SQLite by default, PostgreSQL by address, with the same guarantees on both.

A commit that was acknowledged is durable: SQLite writes ahead and waits for the disk (`synchronous=FULL`), PostgreSQL
is configured to do so. Writers take turns, since every change appends to one chain of events. Readers never wait, and
see one snapshot of the database from their first query to their last.
"""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import (
    URL,
    Column,
    Engine,
    Integer,
    MetaData,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NoSuchModuleError,
    ProgrammingError,
)
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session
from sqlalchemy.schema import CreateIndex, CreateTable

from reeltalk.errors import BenchmarkError, MissingExtraError, SettingError
from reeltalk_review.credentials import HISTORY_KEY, read_secret
from reeltalk_review.reasons import OwnReason
from reeltalk_review.rows import NotingSession
from reeltalk_review.tables import Base, ProjectRow

T = TypeVar("T")

SCHEMA_VERSION: Final = 1
"""Grows whenever a table changes. A database with another number is refused."""
_STORED_VERSION: Final = Table("schema_version", MetaData(), Column("version", Integer, nullable=False))
POOL: Final = 48
"""Most connections: more than the threads that answer requests, fewer than PostgreSQL's usual hundred."""
BUSY_MS: Final = 30_000
"""How long to wait for a writer of another process."""
JOURNAL_POLL_S: Final = 0.02
"""Time between two tries on a new file that another process writes."""
WRITERS: Final = 0x5EE17A1C
"""Number of the lock that PostgreSQL's writers take in turn. Any number would do, but it must never change."""
ENCODING: Final = "UTF8"
KEY: Final = "key"
"""Key of a session's `info`: the project's key, which signs events."""
_POSTGRES_SETTINGS: Final = (
    # Acknowledged commits are durable, whatever the server's default is.
    "SET synchronous_commit = on",
    f"SET lock_timeout = '{BUSY_MS}ms'",
    # A process that hangs, or whose machine is gone, must not block other writers for ever. Importing a large
    # benchmark takes long between two statements.
    "SET idle_in_transaction_session_timeout = '10min'",
)
_POSTGRES_ARGUMENTS: Final = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "client_encoding": ENCODING,
}
# Errors of the program keep their traceback. All others concern the disk, the network, the server or permissions.
_MISTAKES: Final = (IntegrityError, DataError, ProgrammingError)


def sqlite_url(path: Path) -> str:
    """The address of a SQLite file."""
    # A path may hold `?` or `#`, which have a meaning in an address.
    return URL.create("sqlite", database=str(path.resolve())).render_as_string(hide_password=False)


class Database:
    """The database of a project.

    Args:
        url: `sqlite:///…` or `postgresql+psycopg://…`.
        key: The project's key, with which the program signs events.

    Raises:
        SettingError: The address cannot be used.
        MissingExtraError: The address is for PostgreSQL, and its driver is not installed.
    """

    def __init__(self, url: str, key: bytes = b"") -> None:
        self.key = key
        wrong = SettingError(f"--database {_hidden(url)}: give sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME")
        try:
            parsed = make_url(url)
            self.is_sqlite = parsed.get_backend_name() == "sqlite"
            if self.is_sqlite:
                if parsed.database in (None, "", ":memory:") or parsed.query:
                    raise wrong
                parsed = parsed.set(drivername="sqlite")
                self.engine: Engine = create_engine(parsed, pool_size=POOL, max_overflow=POOL)
            elif parsed.get_backend_name() == "postgresql":
                parsed = parsed.set(drivername="postgresql+psycopg")
                # The server may have ended a connection that was idle, so each is tried before it is used.
                options: dict[str, Any] = {"pool_pre_ping": True, "connect_args": _POSTGRES_ARGUMENTS}
                self.engine = create_engine(parsed, pool_size=POOL, max_overflow=0, **options)
            else:
                raise wrong
        except ModuleNotFoundError:
            raise MissingExtraError("a PostgreSQL database", extra="postgres", of="reeltalk-review") from None
        except (ArgumentError, NoSuchModuleError, ValueError, TypeError):
            raise wrong from None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
            self._reader = self.engine
        else:
            event.listen(self.engine, "connect", _prepare_postgres)
            event.listen(self.engine, "begin", _begin_postgres)
            self._reader = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
        self._writer = self.engine.execution_options(reeltalk_writes=True)
        if not self.is_sqlite:
            # A stricter level would take its snapshot before this writer's turn comes and see old data.
            self._writer = self._writer.execution_options(isolation_level="READ COMMITTED")
        # A waiting SQLite writer polls; a lock within the process passes the turn on at once.
        self._turn = threading.Lock()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that reads one snapshot and writes nothing.

        Raises:
            BenchmarkError: The database cannot be reached.
        """
        with self._errors(), Session(self._reader, info={KEY: self.key}) as session:
            yield session

    @contextlib.contextmanager
    def writing(self) -> Iterator[NotingSession]:
        """A transaction. It is the only writer, and is committed if the block ends without an exception.

        Raises:
            BenchmarkError: The database cannot be reached or written.
        """
        with (
            self._errors(),
            self._taking_turn(),
            NotingSession(self._writer, expire_on_commit=False, info={KEY: self.key}) as session,
        ):
            yield session
            session.commit()

    def make_tables(self) -> None:
        """Make all tables in a new database, and check that those of another one are this version's.

        Raises:
            BenchmarkError: Its tables are of another version, or it cannot be reached or changed.
            SettingError: Its encoding does not cover Unicode.
        """
        with self._errors(mistakes=False), self._writer.begin() as connection:
            if not self.is_sqlite:
                _check_encoding(connection.scalar(text("SHOW server_encoding")))
            there = set(inspect(connection).get_table_names())
            if there.isdisjoint({*Base.metadata.tables, _STORED_VERSION.name}):
                # Of two indexes that suit a query SQLite takes one by the order in which they were made.
                for table in Base.metadata.sorted_tables:
                    connection.execute(CreateTable(table))
                    for index in sorted(table.indexes, key=lambda index: str(index.name)):
                        connection.execute(CreateIndex(index))
                _STORED_VERSION.create(connection)
                connection.execute(insert(_STORED_VERSION).values(version=SCHEMA_VERSION))
                return
            found = connection.scalar(select(_STORED_VERSION.c.version)) if _STORED_VERSION.name in there else None
            if found != SCHEMA_VERSION:
                raise BenchmarkError(
                    f"the review database {self.engine.url.render_as_string(hide_password=True)} has tables of "
                    f"{'no version' if found is None else f'version {found}'}, and this reeltalk works with version "
                    f"{SCHEMA_VERSION}: go on with the reeltalk that made it, or move it away to begin a new one"
                )

    def close(self) -> None:
        """Close all connections. The next use opens new ones."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _errors(self, *, mistakes: bool = True) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeoutError) as error:
            if mistakes and isinstance(error, _MISTAKES):
                raise
            where = self.engine.url.render_as_string(hide_password=True)
            raise BenchmarkError(
                f"the review database {where} cannot be used: {_words(error)}; check that it is there, can be written "
                "and has room, and try again"
            ) from error

    @contextlib.contextmanager
    def _taking_turn(self) -> Iterator[None]:
        if not self.is_sqlite:
            yield
            return
        if not self._turn.acquire(timeout=BUSY_MS / 1000):
            raise BenchmarkError(f"the review database was busy for {BUSY_MS // 1000} s; try again")
        try:
            yield
        finally:
            self._turn.release()


def _words(error: DBAPIError | PoolTimeoutError) -> str:
    return " ".join(str(error.orig if isinstance(error, DBAPIError) else error).split())


def _check_encoding(found: str) -> None:
    if found != ENCODING:
        raise SettingError(
            f"the database's encoding is {found}, which cannot hold all texts; make one with "
            f"`createdb --encoding={ENCODING} --template=template0 NAME`"
        )


def _hidden(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "…"


def _prepare_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    # `_begin_sqlite` begins transactions, not the driver.
    connection.isolation_level = None
    connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    _write_ahead(connection)
    for pragma in ("synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    # SQLite's own timeout does not cover this statement: it holds a reader's lock when it asks for a writer's lock. If
    # two processes start at once on a new file, one is refused without waiting.
    latest = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= latest:
                raise
        time.sleep(JOURNAL_POLL_S)


def _begin_sqlite(connection: Any) -> None:
    writes = connection.get_execution_options().get("reeltalk_writes", False)
    # A transaction that reads first and then writes could fail half-way, so writers say so at the start.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare_postgres(connection: Any, _: Any) -> None:
    for setting in _POSTGRES_SETTINGS:
        connection.execute(setting)
    connection.commit()


def _begin_postgres(connection: Any) -> None:
    if connection.get_execution_options().get("reeltalk_writes", False):
        # Locking the chain's row is not enough: while there is none yet, two writers could both make it.
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITERS})")


FOLDER_ENDING: Final = ".review"
DATABASE: Final = "review.db"
PLAYABLE: Final = "playable"


class ProjectSettings(BaseModel):
    """Settings that owners can change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lease_minutes: Annotated[int, Field(ge=1, le=24 * 60)] = 30
    """How long a unit is held for somebody who does nothing in it. Every save renews the time."""
    approval: bool = False
    """True: an adjudicator looks at every unit, even without disagreement."""
    least_agreement: Annotated[float, Field(ge=-1, le=1)] | None = None
    """Krippendorff's alpha of decisions below which settled work is not applied."""
    reasons: tuple[OwnReason, ...] = ()
    """The project's own reasons for rejecting a turn."""


def folder_of(benchmark: Path) -> Path:
    """The folder next to a benchmark that holds its review."""
    resolved = benchmark.resolve()
    return resolved.with_name(resolved.name + FOLDER_ENDING)


@dataclass
class ReviewProject:
    """Everything that a server needs for one benchmark's review."""

    benchmark: Path
    folder: Path
    database: Database
    secret: bytes = field(repr=False)
    settings: ProjectSettings = field(default_factory=ProjectSettings)

    @classmethod
    def open(cls, benchmark: Path, *, folder: Path | None = None, url: str | None = None) -> "ReviewProject":
        """Open the project of a benchmark, and make its tables if it has none.

        Args:
            benchmark: The benchmark's folder. It need not exist for commands that only read the database.
            folder: Where the review keeps its files; by default next to the benchmark.
            url: The database's address; by default a SQLite file in `folder`.

        Raises:
            BenchmarkError: The folder or the database cannot be used.
            SettingError: The address cannot be used.
        """
        folder = folder or folder_of(benchmark)
        secret = read_secret(folder)
        database = Database(url or sqlite_url(folder / DATABASE), read_secret(folder, HISTORY_KEY))
        database.make_tables()
        return cls(benchmark, folder, database, secret, _stored_settings(database))


def _stored_settings(database: Database) -> ProjectSettings:
    with database.reading() as session:
        row = session.scalars(select(ProjectRow)).one_or_none()
    try:
        return ProjectSettings.model_validate(row.settings) if row is not None else ProjectSettings()
    except ValidationError as error:
        raise BenchmarkError(
            f"the review database has settings that no owner can have chosen ({error.errors()[0]['msg']}): something "
            "else changed them; put a backup back"
        ) from None


def in_batches(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """The rows in lists of a size; the last one may be shorter."""
    left = iter(rows)
    while some := list(islice(left, size)):
        yield some
