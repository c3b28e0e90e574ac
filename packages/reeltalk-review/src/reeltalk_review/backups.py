"""Backups that owners make from a page: exports in zip files in the folder of the review, on the server.

An export holds everybody's work, also on units on which not all work is in. It can be downloaded only while no work is
hidden from anybody. Until then the operator of the server copies the file. Restoring is a command, because a request is
too small for an export, and because only an empty project can be restored into.
"""

import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.store.atomic import make_directory, storage_errors
from reeltalk_review.assigning import ANNOTATOR
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import Conflict, NotFound
from reeltalk_review.events import transaction
from reeltalk_review.exporting import ZIP, export_to_zip
from reeltalk_review.settling import OPEN
from reeltalk_review.tables import AssignmentRow, EntryRow, LiveDialogueRow, UnitRow, timestamp

BACKUPS: Final = "backups"
MOST_BACKUPS: Final = 20
"""When there are more, the oldest ones are deleted."""
BACKUP: Final = "backup"
"""Kind of the event of a backup."""
_NAME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d{6}\.\d{3}Z\.zip", re.ASCII)
_MAKING: Final = threading.Lock()


@dataclass(frozen=True)
class Backup:
    """A backup on the server."""

    name: str
    """The file's name: when it was made."""
    at: str
    size_bytes: int


def backup_folder(project: ReviewProject) -> Path:
    """Where the backups of a project are."""
    return project.folder / BACKUPS


def list_backups(project: ReviewProject) -> list[Backup]:
    """The backups of a project, newest first."""
    folder = backup_folder(project)
    paths = [path for path in folder.iterdir() if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return [
        Backup(path.name, f"{path.name[:13]}:{path.name[13:15]}:{path.name[15:22]}", path.stat().st_size)
        for path in sorted(paths, reverse=True)
    ]


def make_backup(project: ReviewProject, person_id: str) -> Backup:
    """Write a backup while people keep working.

    Raises:
        BenchmarkError: It cannot be written, or there is nothing to write.
    """
    if not _MAKING.acquire(blocking=False):
        raise Conflict("a backup is being made; wait for it")
    try:
        folder = backup_folder(project)
        with storage_errors(folder):
            make_directory(folder)
        name = timestamp().replace(":", "") + ZIP
        export_to_zip(project.database, folder / name)
        with transaction(project.database, person_id) as change:
            change.record(BACKUP, "project", after={"file": name})
        found = list_backups(project)
        for old in found[MOST_BACKUPS:]:
            (folder / old.name).unlink(missing_ok=True)
        return found[0]
    finally:
        _MAKING.release()


def backup_file(project: ReviewProject, name: str) -> Path:
    """The file of a backup, to be downloaded."""
    path = backup_folder(project) / name
    if not _NAME.fullmatch(name) or not path.is_file():
        raise NotFound("there is no such backup")
    with project.database.reading() as session:
        if hides_work(session):
            raise Conflict(
                "people are still at work, and a backup holds what nobody may see before all of it is in; the operator "
                "of the server can copy the file"
            )
    return path


def hides_work(session: Session) -> bool:
    """True if there is work that nobody else may see yet.

    Work on gold is hidden while its queue has open units: who saw it would know the gold.
    """
    real = aliased(UnitRow)
    goes_on = exists().where(real.queue_id == UnitRow.queue_id, real.gold.is_(None), real.state == OPEN)
    hidden = (
        select(EntryRow.place)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.role == ANNOTATOR, UnitRow.state == OPEN, or_(UnitRow.gold.is_(None), goes_on))
        .limit(1)
    )
    live = select(LiveDialogueRow.id).where(LiveDialogueRow.state == "live").limit(1)
    return session.scalars(hidden).first() is not None or session.scalars(live).first() is not None
