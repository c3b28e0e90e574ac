"""Who may see which video."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, may
from reeltalk.review.collecting import is_kept_from
from reeltalk.review.people import Person
from reeltalk.review.tables import AssignmentRow, LiveDialogueRow, UnitRow, VideoRow


def may_see(session: Session, person: Person, sha256: str) -> bool:
    """True where a person may watch a video.

    Who sees results, or manages the project, may watch all of them; others those of units that they were given, and of
    dialogues in which they answer. Whoever asks about a video without knowing it gets none of it, whatever their role:
    this is the only way to a video's bytes.

    Args:
        session: Of the database.
        person: Who asks.
        sha256: The hash of the original, under which every video is addressed.
    """
    videos = session.scalars(select(VideoRow.id).where(VideoRow.sha256 == sha256)).all()
    if is_kept_from(session, person.id, videos):
        return False
    if may(person.role, Action.SEE_RESULTS):
        return True
    answering = (
        select(LiveDialogueRow.id)
        .join(UnitRow, UnitRow.id == LiveDialogueRow.unit_id)
        .where(LiveDialogueRow.correspondent_id == person.id, UnitRow.video_id.in_(videos))
    )
    if session.scalars(answering.limit(1)).first() is not None:
        return True
    given = (
        select(AssignmentRow.id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(VideoRow, VideoRow.id == UnitRow.video_id)
        .where(AssignmentRow.person_id == person.id, VideoRow.sha256 == sha256)
    )
    return session.scalars(given.limit(1)).first() is not None
