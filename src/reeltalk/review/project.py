"""An open review project: its database, folder, secret and settings."""

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
    """Settings that owners can change."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lease_minutes: Annotated[int, Field(ge=1, le=24 * 60)] = 30
    """How long a unit is held for somebody who does nothing in it. Every save renews the time."""
    approval: bool = False
    """True: an adjudicator looks at every unit, even without disagreement."""
    least_agreement: Annotated[float, Field(ge=-1, le=1)] | None = None
    """Krippendorff's alpha of decisions below which settled work is not applied."""


def folder_of(benchmark: Path) -> Path:
    """The folder beside a benchmark that holds its review."""
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
        """Open the project of a benchmark, and bring its tables to this version's form.

        Args:
            benchmark: The benchmark's folder. It need not exist for commands that only read the database.
            folder: Where the review keeps its files; by default beside the benchmark.
            url: The database's address; by default a SQLite file in `folder`.

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
