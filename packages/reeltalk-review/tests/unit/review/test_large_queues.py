"""What one person asks for costs about as much in a large queue as in a small one."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import Connection, event

from reeltalk_review.assigning import next_unit
from reeltalk_review.database import Database, ReviewProject
from reeltalk_review.events import transaction
from reeltalk_review.naming import unit_name
from reeltalk_review.tables import UnitRow

SMALL, LARGE = 100, 1000


@contextlib.contextmanager
def counted(database: Database) -> Iterator[list[int]]:
    """The number of steps that SQLite takes while the block lasts, as the only item of a list."""
    steps = [0]

    def count() -> None:
        steps[0] += 1

    def begin(connection: Connection) -> None:
        driver = connection.connection.dbapi_connection
        assert isinstance(driver, sqlite3.Connection)
        driver.set_progress_handler(count, 1)

    event.listen(database.engine, "begin", begin)
    yield steps
    event.remove(database.engine, "begin", begin)
    database.close()


def taken(project: ReviewProject) -> None:
    with transaction(project.database, "ann") as change:
        assert next_unit(change, "ann", QUEUE, lease_minutes=30) is not None


def worked_on(project: ReviewProject) -> None:
    with transaction(project.database, "ann") as change:
        work = next_unit(change, "ann", QUEUE, lease_minutes=30)
        assert work is not None
        decide(change, work)
        submit(change, work)


def named(project: ReviewProject) -> None:
    with project.database.reading() as session:
        assert unit_name(session, session.get_one(UnitRow, "u0"), seen_by="ann").startswith("u0")


@pytest.mark.parametrize(
    ("does", "of_each"),
    # A name has the number of units of its queue, which are counted in an index.
    [(taken, 0), (worked_on, 0), (named, 9)],
    ids=["taken", "worked on", "named"],
)
def test_no_unit_of_others_is_looked_at(does: Callable[[ReviewProject], None], of_each: int, tmp_path: Path) -> None:
    steps = {}
    for units in (SMALL, LARGE):
        project = small_project(tmp_path / str(units), units=units)
        for _ in range(3):
            worked_on(project)
        with counted(project.database) as found:
            does(project)
        steps[units] = found[0]
    assert steps[SMALL] > 0
    # Identifiers are random, so an index takes a few steps more or less.
    assert steps[LARGE] - steps[SMALL] <= (of_each + 0.1) * (LARGE - SMALL)
