"""Backups: make one, and download it once nobody's work is hidden any more."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from reeltalk_review.access import Action
from reeltalk_review.backups import MOST_BACKUPS, backup_file, backup_folder, hides_work, list_backups, make_backup
from reeltalk_review.people import User
from reeltalk_review.web import ProjectHere, page, require, require_form

router = APIRouter()


@router.get("/backup", response_class=HTMLResponse)
def show_backups(
    request: Request, project: ProjectHere, person: Annotated[User, require(Action.MANAGE)], made: str = ""
) -> Response:
    """The backups on the server, and how to restore one."""
    with project.database.reading() as session:
        hidden = hides_work(session)
    return page(
        request,
        "backup.html",
        person,
        backups=list_backups(project),
        folder=backup_folder(project),
        hidden=hidden,
        kept=MOST_BACKUPS,
        made=made == "1",
    )


@router.post("/backup")
def back_up(project: ProjectHere, person: Annotated[User, require_form(Action.MANAGE)]) -> Response:
    """Make a backup on the server."""
    make_backup(project, person.id)
    return RedirectResponse("/backup?made=1", status_code=303)


@router.get("/backup/{name}")
def download_backup(project: ProjectHere, name: str, person: Annotated[User, require(Action.MANAGE)]) -> Response:
    """Download a backup, while nobody's work is hidden."""
    path = backup_file(project, name)
    return FileResponse(path, media_type="application/zip", filename=f"{project.benchmark.name}-review-{name}")
