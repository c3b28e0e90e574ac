"""Every test of this folder that opens a project runs on SQLite, and in full counts also on a real PostgreSQL."""

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
from postgres_cluster import postgres_cluster
from sqlalchemy import make_url
from team import DATABASES, compiled_once, one_loop

from reeltalk_review.database import Database, sqlite_url


class NewDatabase(Protocol):
    """Makes a database, a copy of the one that `template` names, and gives its address."""

    def __call__(self, *, template: str = "template0") -> str: ...


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"project", "database"} & set(metafunc.fixturenames):
        metafunc.parametrize("database_kind", DATABASES, indirect=True)


@pytest.fixture(scope="session", autouse=True)
def _loop() -> Iterator[None]:
    with one_loop(), compiled_once():
        yield


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[NewDatabase]:
    """Makes databases, empty by default, in the server that REELTALK_POSTGRES names, or in one of our own.

    Tests are skipped where neither can be had.
    """
    address = os.environ.get("REELTALK_POSTGRES")
    if address is None:
        try:
            with postgres_cluster() as cluster:
                yield cluster.new_database
        except RuntimeError as error:
            pytest.skip(str(error))
        return
    server = make_url(address)

    def new_database(*, template: str = "template0") -> str:
        name = f"reeltalk_{secrets.token_hex(6)}"
        plain = server.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE {template}")
        return server.set(database=name).render_as_string(hide_password=False)

    yield new_database


@pytest.fixture(scope="session")
def file_with_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with all tables, to be copied: that is quicker than making them anew."""
    path = tmp_path_factory.mktemp("tables") / "review.db"
    _make_tables(sqlite_url(path))
    return path


@pytest.fixture(scope="session")
def new_postgres_with_tables(new_postgres: NewDatabase) -> Callable[[], str]:
    """Makes a database that has all tables already, and gives its address."""
    template = new_postgres()
    _make_tables(template)
    return lambda: new_postgres(template=str(make_url(template).database))


def _make_tables(url: str) -> None:
    database = Database(url)
    database.make_tables()
    database.close()


@pytest.fixture(autouse=True)
def database_kind(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, file_with_tables: Path
) -> Iterator[str]:
    """What a project that names no database gets: a SQLite file beside its benchmark, or a PostgreSQL of its own."""
    kind: str = getattr(request, "param", "sqlite")
    opened: list[Database] = []
    if kind == "postgresql":
        addresses: dict[object, str] = {}
        new_database: Callable[[], str] = request.getfixturevalue("new_postgres_with_tables")

        def address_of(path: object) -> str:
            # A project that is opened again has the database that it had.
            if path not in addresses:
                addresses[path] = new_database()
            return addresses[path]

        class Noted(Database):
            """Connections to a server are closed with the test, whoever forgot to."""

            def __init__(self, url: str, key: bytes = b"") -> None:
                super().__init__(url, key)
                opened.append(self)

        monkeypatch.setattr("reeltalk_review.database.sqlite_url", address_of)
        monkeypatch.setattr("reeltalk_review.database.Database", Noted)
    else:

        def file_at(path: Path) -> str:
            if not path.exists():
                shutil.copy(file_with_tables, path)
            return sqlite_url(path)

        monkeypatch.setattr("reeltalk_review.database.sqlite_url", file_at)
    yield kind
    for database in opened:
        database.close()
