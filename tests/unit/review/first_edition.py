"""The samples that `tools/first_edition_review.py` made with the program of the first edition, as databases to open."""

import shutil
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import make_url
from team import Team

from reeltalk.review.app import create_app
from reeltalk.review.database import ReviewProject

SAMPLES: Final = Path(__file__).parents[2] / "review_first_edition"


def open_first_edition(folder: Path, url: str | None = None) -> ReviewProject:
    """Unpack the sample into a folder and open it.

    Args:
        folder: Where benchmark, database, export and `expected.json` go.
        url: An empty PostgreSQL database; a SQLite file by default.
    """
    kind = "sqlite" if url is None else "postgresql"
    shutil.unpack_archive(SAMPLES / f"{kind}.tar.gz", folder, filter="data")
    if url is not None:
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain, autocommit=True) as connection:
            connection.execute((folder / "review.sql").read_bytes())
    return ReviewProject.open(folder / "bench", url=url)


def first_edition_team(folder: Path, url: str | None = None) -> Team:
    """The sample with its team; see `open_first_edition`."""
    project = open_first_edition(folder, url)
    return Team(project, create_app(project))
