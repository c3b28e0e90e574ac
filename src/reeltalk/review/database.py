"""One database per project: SQLite by default, PostgreSQL by address, with the same promises on both.

A commit that was acknowledged lasts: SQLite writes ahead and waits for the disk (`synchronous=FULL`), PostgreSQL does
so by default. Writers take turns, since every change appends to one chain of events; readers never wait.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, OperationalError
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, MissingExtraError, SettingError

MIGRATIONS: Final = Path(__file__).parent / "migrations"
BUSY_MS: Final = 30_000
"""How long a writer of another process is waited for."""


def sqlite_url(path: Path) -> str:
    """The address of a SQLite file."""
    return f"sqlite:///{path.resolve()}"


class Database:
    """The database of a project.

    Args:
        url: `sqlite:///…` or `postgresql+psycopg://…`.

    Raises:
        SettingError: The address cannot be used.
        MissingExtraError: It is PostgreSQL's, and its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        try:
            parsed = make_url(url)
            if parsed.get_backend_name() not in ("sqlite", "postgresql"):
                raise SettingError(f"--database {_hidden(url)}: give sqlite:///FILE or postgresql+psycopg://…")
            if parsed.get_backend_name() == "postgresql":
                parsed = parsed.set(drivername="postgresql+psycopg")
            self.is_sqlite = parsed.get_backend_name() == "sqlite"
            self.engine: Engine = create_engine(parsed, pool_size=20, max_overflow=30, pool_pre_ping=not self.is_sqlite)
        except ModuleNotFoundError:
            raise MissingExtraError("a PostgreSQL database", extra="postgres") from None
        except (ArgumentError, NoSuchModuleError, ValueError):
            raise SettingError(f"--database {_hidden(url)}: give sqlite:///FILE or postgresql+psycopg://…") from None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare_sqlite)
            event.listen(self.engine, "begin", _begin_sqlite)
        self._writer = self.engine.execution_options(reeltalk_writes=True)
        # SQLite lets a waiting writer poll; in one process a lock hands the turn on at once, and fairly.
        self._turn = threading.Lock() if self.is_sqlite else contextlib.nullcontext()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Session]:
        """One consistent look; nothing is written.

        Raises:
            BenchmarkError: The database cannot be reached.
        """
        with self._errors(), Session(self.engine) as session:
            yield session

    @contextlib.contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that alone writes, committed when the block ends without an exception.

        Raises:
            BenchmarkError: The database cannot be reached or written.
        """
        with self._errors(), self._turn, Session(self._writer, expire_on_commit=False) as session:
            yield session
            session.commit()

    def migrate(self) -> None:
        """Bring the tables to this version's form; a new database gets them all.

        Raises:
            BenchmarkError: A newer reeltalk wrote it, or it cannot be reached.
        """
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        with self._errors(), self._writer.begin() as connection:
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise BenchmarkError(
                    f"the review database was made by another version of reeltalk ({error}); update reeltalk"
                ) from None

    def has_tables(self) -> bool:
        """True where the database was used before."""
        with self._errors():
            return bool(inspect(self.engine).get_table_names())

    def close(self) -> None:
        """Let go of all connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OperationalError as error:
            where = self.engine.url.render_as_string(hide_password=True)
            raise BenchmarkError(
                f"the review database {where} cannot be used: {_words(error)}; nothing was changed, check that it is "
                "there, can be written and has room"
            ) from error


def _words(error: DBAPIError) -> str:
    return " ".join(str(error.orig).split())


def _hidden(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return "…"


def _prepare_sqlite(connection: sqlite3.Connection, _: Any) -> None:
    # Transactions are begun by `_begin_sqlite`, not by the driver's guess.
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Any) -> None:
    writes = connection.get_execution_options().get("reeltalk_writes", False)
    # A transaction that reads first and then writes could fail half-way: one that will write says so at once.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
