"""People's verdicts on one revision of one record."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.record import Json, Name, Record

WORDING_FIELDS: Final = ("question", "references", "asked_at_s", "evidence", "options", "correct_option")
"""Fields of a turn's wording: all that people edit except labels."""
TASK: Final = "task"
"""Key in a review's `extra`: the kind of work."""
PLACE: Final = "place"
"""The turn's index in the first draft, from 0; or another name of a place."""
WORDING: Final = "wording"
"""Hash of the wording that the review gave a turn or accepted."""
SETTLED: Final = "settled"
"""How the place was settled; only in the one review of a place that counted."""


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


def wording_hash(turn: Turn) -> str:
    """Identifies a turn by its wording; labels and checks may change meanwhile."""
    stored = turn.model_dump(mode="json", include=set(WORDING_FIELDS))
    return hashlib.sha256(json.dumps(stored, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def accepted_wordings(reviews: Iterable[Review]) -> Mapping[tuple[str, str], frozenset[str]]:
    """The wordings that people accepted last, as hashes, by table and id of the chain or dialogue.

    Args:
        reviews: Rows of the table, in their order.
    """
    last: dict[tuple[str, str], dict[Json, str | None]] = defaultdict(dict)
    for review in reviews:
        if SETTLED in review.extra and review.extra.get(TASK) == "turns":
            is_accepted = review.decision in (Decision.ACCEPT, Decision.EDIT)
            wording = review.extra.get(WORDING) if is_accepted else None
            last[review.target_table, review.target_id][review.extra.get(PLACE)] = wording
    return {key: frozenset(filter(None, places.values())) for key, places in last.items()}
