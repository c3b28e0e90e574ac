"""What one person asks for costs about as much in a large queue as in a small one."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from review_projects import QUEUE, decide, small_project, submit
from sqlalchemy import Connection, event

from reeltalk_review.assigning import ORDER, ORDERS, next_unit
from reeltalk_review.database import Database, ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.tables import QueueRow

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


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("does", [taken, worked_on])
def test_no_unit_of_others_is_looked_at(does: Callable[[ReviewProject], None], order: str, tmp_path: Path) -> None:
    steps = {}
    for units in (SMALL, LARGE):
        project = small_project(tmp_path / str(units), units=units)
        with transaction(project.database, OPERATOR) as change:
            change.session.get_one(QueueRow, QUEUE).settings = {ORDER: order}
        for _ in range(3):
            worked_on(project)
        with counted(project.database) as found:
            does(project)
        steps[units] = found[0]
    assert steps[SMALL] > 0
    # Identifiers are random, so an index takes a few steps more or less.
    assert steps[LARGE] - steps[SMALL] <= 0.1 * (LARGE - SMALL)
