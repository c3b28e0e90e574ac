"""People's verdicts on one revision of one record."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from reeltalk.schema.record import Json, Name, Record


class Decision(StrEnum):
    """A reviewer's verdict."""

    ACCEPT = "accept"
    EDIT = "edit"
    REJECT = "reject"
    SKIP = "skip"


class Reason(StrEnum):
    """Why a turn is rejected. A project may add reasons of its own."""

    NOT_IN_VIDEO = "not_in_video"
    AMBIGUOUS = "ambiguous"
    LEAKS = "leaks"
    """The answer is in the question, in the history, or known without the video."""
    ABILITY_MISMATCH = "ability_mismatch"
    TOO_EASY = "too_easy"
    WRONG_TIME = "wrong_time"
    WRONG_ANSWER = "wrong_answer"
    LANGUAGE = "language"
    OTHER = "other"
    """Explained in a note."""


REASON_TITLES: Final = {
    Reason.NOT_IN_VIDEO: "Not in the video",
    Reason.AMBIGUOUS: "Ambiguous",
    Reason.LEAKS: "The answer can be known without the video",
    Reason.ABILITY_MISMATCH: "Does not test what its labels say",
    Reason.TOO_EASY: "Too easy",
    Reason.WRONG_TIME: "Wrong time",
    Reason.WRONG_ANSWER: "Wrong answer",
    Reason.LANGUAGE: "Language",
    Reason.OTHER: "Other: say what in the note",
}
"""The reasons as people read them."""


class FieldEdit(Record):
    """One field of a record, before and after an edit."""

    field: Name
    """A JSON path inside the record, such as `turns[2].question`."""
    before: Json = None
    after: Json = None


def _has_zone(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("must carry a time zone")
    return moment


class Review(Record):
    """A person's verdict. A review never changes the record: applying reviews writes the next revision."""

    target_table: Name
    target_id: Name
    revision: Annotated[int, Field(ge=0)]
    reviewer: Name
    decision: Decision
    reasons: tuple[Name, ...] = ()
    """Names of `Reason`, or of reasons that the project added, such as `camera_shakes`."""
    edits: tuple[FieldEdit, ...] = ()
    comment: str = ""
    created_at: Annotated[datetime, AfterValidator(_has_zone)]
