"""Videos by content hash, in byte ranges, and the times of their frames.

A name leads to the file that was chosen when the benchmark was imported: the original or its proxy. No other file can
be named.
"""

import re
import stat
from pathlib import Path
from typing import Annotated, Final

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, Response
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.types import Receive, Scope, Send

from reeltalk.review.access import Action, may
from reeltalk.review.collecting import AWAITING, LIVE
from reeltalk.review.database import PLAYABLE, ReviewProject
from reeltalk.review.errors import NotFound
from reeltalk.review.people import User
from reeltalk.review.playable import PlayableFolder
from reeltalk.review.tables import AssignmentRow, LiveDialogueRow, UnitRow, VideoRow
from reeltalk.review.web import ProjectHere, require
from reeltalk.store.media import MediaStore


def may_see(session: Session, person: User, sha256: str) -> bool:
    """True if a person may watch a video.

    People who see results or manage the project may watch all videos. Others may watch the videos of their units
    and of dialogues in which they answer. An investigator does not get the video until the dialogue is approved,
    whatever their role. There is no other way to a video's bytes.

    Args:
        session: The database.
        person: Who asks.
        sha256: The original's hash, which addresses the video.
    """
    # Each query starts from this person's rows, which are few; a file may be the video of many records.
    talks = (
        select(LiveDialogueRow.id)
        .join(UnitRow, UnitRow.id == LiveDialogueRow.unit_id)
        .join(VideoRow, VideoRow.id == UnitRow.video_id)
        .where(VideoRow.sha256 == sha256)
        .limit(1)
    )
    asks = talks.where(LiveDialogueRow.investigator_id == person.id, LiveDialogueRow.state.in_((LIVE, AWAITING)))
    if session.scalars(asks).first() is not None:
        return False
    if may(person.role, Action.SEE_RESULTS):
        return True
    if session.scalars(talks.where(LiveDialogueRow.correspondent_id == person.id)).first() is not None:
        return True
    given = (
        select(AssignmentRow.id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(VideoRow, VideoRow.id == UnitRow.video_id)
        .where(AssignmentRow.person_id == person.id, VideoRow.sha256 == sha256)
    )
    return session.scalars(given.limit(1)).first() is not None


router = APIRouter(prefix="/media")
NAME: Final = re.compile(r"[0-9a-f]{64}")
RANGE: Final = re.compile(rb"bytes=(?:(\d{1,18})-(\d{0,18})|-\d{1,18})")
"""A single byte range. A request for several ranges, or with an invalid one, gets the whole file, as RFC 9110 allows:
players ask for one, and many small ones would cost more than they fetch."""
CACHING: Final = "private, max-age=3600"
"""Only the person's own browser may cache it, since other people may lack the right to see it."""
Viewer = Annotated[User, require(Action.LOOK)]


@router.get("/{sha256}")
@router.head("/{sha256}", include_in_schema=False)
def video(request: Request, project: ProjectHere, sha256: str, person: Viewer) -> Response:
    """The video's file, or its proxy."""
    path, media_type = _served(project, person, sha256, frames=False)
    return _answer(request, path, media_type, sha256)


@router.get("/{sha256}/frames")
def frames(request: Request, project: ProjectHere, sha256: str, person: Viewer) -> Response:
    """Presentation times of the served file's frames on the browser's clock: `{"pts_s": [...]}`, in seconds."""
    path, _ = _served(project, person, sha256, frames=True)
    return _answer(request, path, "application/json", sha256)


class OneRange(FileResponse):
    """A file response with at most one range."""

    chunk_size = 512 * 1024
    """Bytes in one read. Each read costs a thread switch, and players ask for about as much after a seek."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"range" or _is_one(value)]
        await super().__call__({**scope, "headers": headers}, receive, send)


def _is_one(value: bytes) -> bool:
    found = RANGE.fullmatch(value)
    return found is not None and (not found[2] or int(found[1]) <= int(found[2]))


def _served(project: ReviewProject, person: User, sha256: str, *, frames: bool) -> tuple[Path, str]:
    # For videos that this person may not see the answer is the same as for missing ones.
    missing = NotFound("there is no such video, or none that you may see")
    if NAME.fullmatch(sha256) is None:
        raise missing
    with project.database.reading() as session:
        row = session.scalars(select(VideoRow).where(VideoRow.sha256 == sha256, VideoRow.file.is_not(None))).first()
        if row is None or row.file is None or not may_see(session, person, sha256):
            raise missing
        file, media_type = row.file, row.media_type or "application/octet-stream"
    folder = PlayableFolder(project.folder / PLAYABLE, MediaStore(project.benchmark))
    return (folder.frames(sha256) if frames else folder.path(sha256, file)), media_type


def _answer(request: Request, path: Path, media_type: str, sha256: str) -> Response:
    try:
        status = path.stat()
    except OSError:
        status = None
    if status is None or not stat.S_ISREG(status.st_mode):
        raise NotFound("this video's file is missing; start the server again to see which files are missing")
    etag = f'"{sha256[:32]}-{status.st_size:x}-{status.st_mtime_ns:x}"'
    headers = {"etag": etag, "cache-control": CACHING, "vary": "Cookie, Authorization"}
    headers |= {"x-content-type-options": "nosniff"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return OneRange(path, media_type=media_type, headers=headers, stat_result=status)
