"""A project that is open: its database, its folder, its secret, and what was set."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select

from reeltalk.review.credentials import read_secret
from reeltalk.review.database import Database, sqlite_url
from reeltalk.review.tables import ProjectRow

FOLDER_ENDING: Final = ".review"
DATABASE: Final = "review.db"
PLAYABLE: Final = "playable"


class ProjectSettings(BaseModel):
    """What an owner may set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lease_minutes: Annotated[int, Field(ge=1, le=24 * 60)] = 30
    """How long a unit is held for somebody who does not touch it; every save renews it."""
    approval: bool = False
    """True where an adjudicator looks at every unit, also where nobody disagrees."""
    least_agreement: Annotated[float, Field(ge=-1, le=1)] | None = None
    """Krippendorff's alpha of decisions below which accepted work is not applied."""


def folder_of(benchmark: Path) -> Path:
    """The folder beside a benchmark that holds its review."""
    resolved = benchmark.resolve()
    return resolved.with_name(resolved.name + FOLDER_ENDING)


@dataclass
class ReviewProject:
    """What a server needs to serve one benchmark's review."""

    benchmark: Path
    folder: Path
    database: Database
    secret: bytes = field(repr=False)
    settings: ProjectSettings = field(default_factory=ProjectSettings)

    @classmethod
    def open(cls, benchmark: Path, *, folder: Path | None = None, url: str | None = None) -> "ReviewProject":
        """Open the project of a benchmark, with its tables in this version's form.

        Args:
            benchmark: The benchmark's folder; it need not be there for commands that read the database alone.
            folder: Where the review keeps its files; beside the benchmark by default.
            url: The database's address; a SQLite file in `folder` by default.

        Raises:
            BenchmarkError: The folder or the database cannot be used.
            SettingError: The address cannot be used.
        """
        folder = folder or folder_of(benchmark)
        secret = read_secret(folder)
        database = Database(url or sqlite_url(folder / DATABASE))
        database.migrate()
        return cls(benchmark, folder, database, secret, _stored_settings(database))


def _stored_settings(database: Database) -> ProjectSettings:
    with database.reading() as session:
        row = session.scalars(select(ProjectRow)).one_or_none()
    return ProjectSettings.model_validate(row.settings) if row is not None else ProjectSettings()
