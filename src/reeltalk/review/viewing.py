"""Who may see which video."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, may
from reeltalk.review.collecting import AWAITING, LIVE
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
    # Each begins with what is this person's, which is little; a file may be the video of many records.
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
