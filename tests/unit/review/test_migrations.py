"""The migrations make exactly the tables that the code uses, on both databases."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from reeltalk.review.database import ReviewProject
from reeltalk.review.tables import Base


@pytest.fixture
def project(tmp_path: Path) -> ReviewProject:
    return ReviewProject.open(tmp_path / "bench")


def test_a_new_database_has_the_tables_that_the_code_uses(project: ReviewProject) -> None:
    with project.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = [row for row in compare_metadata(context, Base.metadata) if "alembic_version" not in str(row)]
    project.database.close()
    assert found == []
