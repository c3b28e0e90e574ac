"""Videos by content hash, in byte ranges, the times of their frames, their captions, and small pictures of them.

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

from reeltalk.schema.record import Json
from reeltalk.store.media import MediaStore
from reeltalk_review.access import Action, may
from reeltalk_review.assigning import UNFINISHED
from reeltalk_review.captions import captions, speech_file
from reeltalk_review.collecting import AWAITING, LIVE
from reeltalk_review.database import PLAYABLE, ReviewProject
from reeltalk_review.errors import NotFound
from reeltalk_review.people import User
from reeltalk_review.playable import PlayableFolder
from reeltalk_review.tables import AssignmentRow, LiveDialogueRow, QueueRow, UnitRow, VideoRow
from reeltalk_review.tasks.answering import AnswerTask, bound_s
from reeltalk_review.web import ProjectHere, require
from reeltalk_review.work import entries


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


def known_until(session: Session, person_id: str, sha256: str) -> float | None:
    """The time in a video up to which a person may read captions, while they take a test on it.

    Args:
        session: The database.
        person_id: Who asks.
        sha256: The video's hash.

    Returns:
        Seconds; None if there is no such bound.
    """
    tests = (
        select(AssignmentRow.id, UnitRow.content)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .join(VideoRow, VideoRow.id == UnitRow.video_id)
        .where(AssignmentRow.person_id == person_id, AssignmentRow.state.in_(UNFINISHED))
        .where(QueueRow.task == AnswerTask.kind, VideoRow.sha256 == sha256)
    )
    bounds = [
        bound_s(content, {place: row.value for place, row in entries(session, assignment_id).items()})
        for assignment_id, content in session.execute(tests)
    ]
    return min((bound for bound in bounds if bound is not None), default=None)


def video_view(project: ReviewProject, session: Session, person_id: str, unit: UnitRow) -> Json:
    """A unit's video as screens get it; None if it has none.

    Args:
        session: The database.
        person_id: Who looks. For somebody who takes a test on the video, captions end at the time of the question.
    """
    row = session.get(VideoRow, unit.video_id) if unit.video_id is not None else None
    if row is None:
        return None
    view: dict[str, Json] = {"id": row.id, "sha256": row.sha256, "duration_s": row.duration_s, "problem": row.problem}
    view |= {"playable": None, "captions": None}
    if row.file is None or row.sha256 is None:
        return view
    view["playable"] = f"/media/{row.sha256}"
    until_s = known_until(session, person_id, row.sha256)
    if speech_file(project.folder / PLAYABLE, row.sha256).is_file():
        # Browsers ask again for captions at another address only.
        view["captions"] = f"/media/{row.sha256}/captions" + (f"?until_s={until_s:g}" if until_s is not None else "")
    return view


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
    path, media_type, _ = _served(project, person, sha256)
    return _answer(request, path, media_type, sha256)


@router.get("/{sha256}/frames")
def frames(request: Request, project: ProjectHere, sha256: str, person: Viewer) -> Response:
    """Presentation times of the served file's frames on the browser's clock: `{"pts_s": [...]}`, in seconds."""
    _served(project, person, sha256)
    return _answer(request, _folder(project).frames(sha256), "application/json", sha256, encoding="gzip")


@router.get("/{sha256}/captions")
def subtitles(project: ProjectHere, sha256: str, person: Viewer) -> Response:
    """What is said in the video, as WebVTT. A person who takes a test gets the lines before the question."""
    _served(project, person, sha256)
    with project.database.reading() as session:
        until_s = known_until(session, person.id, sha256)
    found = captions(speech_file(project.folder / PLAYABLE, sha256), sha256, until_s)
    if found is None:
        raise NotFound("nothing is said in this video, or nothing that is written down")
    headers = {
        "cache-control": "private, no-cache",
        "vary": "Cookie, Authorization",
        "x-content-type-options": "nosniff",
    }
    return Response(found, media_type="text/vtt; charset=utf-8", headers=headers)


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


def _served(project: ReviewProject, person: User, sha256: str) -> tuple[Path, str, float | None]:
    """The file that is served for a video, its media type, and its length in seconds."""
    # For videos that this person may not see the answer is the same as for missing ones.
    missing = NotFound("there is no such video, or none that you may see")
    if NAME.fullmatch(sha256) is None:
        raise missing
    with project.database.reading() as session:
        with_file = select(VideoRow).where(VideoRow.sha256 == sha256, VideoRow.file.is_not(None)).limit(1)
        row = session.scalars(with_file).first()
        if row is None or row.file is None or not may_see(session, person, sha256):
            raise missing
        return _folder(project).path(sha256, row.file), row.media_type or "application/octet-stream", row.duration_s


def _folder(project: ReviewProject) -> PlayableFolder:
    return PlayableFolder(project.folder / PLAYABLE, MediaStore(project.benchmark))


def _answer(request: Request, path: Path, media_type: str, sha256: str, *, encoding: str = "") -> Response:
    try:
        status = path.stat()
    except OSError:
        status = None
    if status is None or not stat.S_ISREG(status.st_mode):
        raise NotFound("this video's file is missing; start the server again to see which files are missing")
    etag = f'"{sha256[:32]}-{status.st_size:x}-{status.st_mtime_ns:x}"'
    headers = {"etag": etag, "cache-control": CACHING, "vary": "Cookie, Authorization"}
    headers |= {"content-encoding": encoding} if encoding else {}
    headers |= {"x-content-type-options": "nosniff"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return OneRange(path, media_type=media_type, headers=headers, stat_result=status)
