"""Every test of this folder that opens a project runs on SQLite and on a real PostgreSQL."""

import os
import secrets
from collections.abc import Callable, Iterator

import psycopg
import pytest
from postgres_cluster import postgres_cluster
from sqlalchemy import make_url

from reeltalk.review.database import Database

KINDS = ("sqlite", "postgresql")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"project", "database"} & set(metafunc.fixturenames):
        metafunc.parametrize("database_kind", KINDS, indirect=True)


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[Callable[[], str]]:
    """Makes an empty database and gives its address; in the server that REELTALK_POSTGRES names, or in one of our own.

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

    def new_database() -> str:
        name = f"reeltalk_{secrets.token_hex(6)}"
        plain = server.set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
        return server.set(database=name).render_as_string(hide_password=False)

    yield new_database


@pytest.fixture(autouse=True)
def database_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What a project that names no database gets: a SQLite file beside its benchmark, or a PostgreSQL of its own."""
    kind: str = getattr(request, "param", "sqlite")
    opened: list[Database] = []
    if kind == "postgresql":
        addresses: dict[object, str] = {}
        new_database: Callable[[], str] = request.getfixturevalue("new_postgres")

        def address_of(path: object) -> str:
            # A project that is opened again has the database that it had.
            if path not in addresses:
                addresses[path] = new_database()
            return addresses[path]

        class Noted(Database):
            """Connections to a server are closed with the test, whoever forgot to."""

            def __init__(self, url: str) -> None:
                super().__init__(url)
                opened.append(self)

        monkeypatch.setattr("reeltalk.review.project.sqlite_url", address_of)
        monkeypatch.setattr("reeltalk.review.project.Database", Noted)
    yield kind
    for database in opened:
        database.close()
