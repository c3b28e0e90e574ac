"""The tables of the review database. Times are UTC as text, `2026-11-22T04:30:00.000Z`, which sorts chronologically."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import CheckConstraint, ForeignKey, Index, TypeDecorator, UniqueConstraint, text
from sqlalchemy import Text as AnyText
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from reeltalk.errors import BenchmarkError
from reeltalk.schema.record import Json
from reeltalk_review.access import Role

Text: Final = AnyText().with_variant(AnyText(collation="C"), "postgresql")
"""Text that sorts by code point on every database, as SQLite does by default."""


def timestamp(at: datetime | None = None) -> str:
    """A time as it is stored, by default now: UTC to the millisecond, of fixed width."""
    at = (at or datetime.now(UTC)).astimezone(UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def canonical_json(value: Json) -> str:
    """The same text for equal JSON values on every machine: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class JsonText(TypeDecorator[Json]):
    """A JSON value as canonical text. Only ASCII, since PostgreSQL refuses U+0000 in its own JSON type.

    Args:
        kind: The type of all values, where they have one.
    """

    impl = AnyText
    cache_ok = True

    def __init__(self, kind: type | None = None) -> None:
        super().__init__()
        self.kind = kind

    def process_bind_param(self, value: Json, dialect: Any) -> str | None:
        return None if value is None else canonical_json(value)

    def process_result_value(self, value: Any, dialect: Any) -> Json:
        try:
            return None if value is None else json.loads(value)
        except (ValueError, TypeError, RecursionError):
            raise BenchmarkError(
                "the review database holds text that is no JSON: something else changed it; put a backup back, or look "
                "with 'reeltalk review status --verify' for what was changed"
            ) from None


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    """A constraint: a column has one of some words."""
    words = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({words})")


class Base(DeclarativeBase):
    """Base class of all tables."""


class ProjectRow(Base):
    """The reviewed benchmark; one row."""

    __tablename__ = "project"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    content_hash: Mapped[str] = mapped_column(Text)
    """Of the benchmark when it was imported, or when reviews were applied last."""
    settings: Mapped[Json] = mapped_column(JsonText(dict))
    created_at: Mapped[str] = mapped_column(Text)


class PersonRow(Base):
    """A person who can sign in, or could once."""

    __tablename__ = "people"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    sign_in: Mapped[str] = mapped_column(Text, unique=True)
    """The name in the form in which names are compared."""
    role: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(Text)
    disabled_at: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (one_of("role", Role),)


class PasswordRow(Base):
    """A person's password. It has a table of its own, which no export holds."""

    __tablename__ = "passwords"

    person_id: Mapped[str] = mapped_column(ForeignKey("people.id"), primary_key=True)
    hash: Mapped[str] = mapped_column(Text)
    """argon2id, with its parameters."""


class InvitationRow(Base):
    """A link with which one person can join, once."""

    __tablename__ = "invitations"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    token: Mapped[str] = mapped_column(Text, unique=True)
    """Keyed hash of the link's token."""
    role: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, default="")
    created_by: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(Text)
    expires_at: Mapped[str] = mapped_column(Text)
    used_by: Mapped[str | None] = mapped_column(ForeignKey("people.id"))
    withdrawn_at: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (one_of("role", Role),)


class SessionRow(Base):
    """A browser that is signed in."""

    __tablename__ = "sessions"

    token: Mapped[str] = mapped_column(Text, primary_key=True)
    """Keyed hash of the cookie."""
    person_id: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    csrf: Mapped[str] = mapped_column(Text)
    created_at: Mapped[str] = mapped_column(Text)
    expires_at: Mapped[str] = mapped_column(Text)


class ResetRow(Base):
    """A link to choose a new password, once."""

    __tablename__ = "resets"

    token: Mapped[str] = mapped_column(Text, primary_key=True)
    """Keyed hash of the link's token."""
    person_id: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    expires_at: Mapped[str] = mapped_column(Text)


class VideoRow(Base):
    """A video of the benchmark, and how browsers are served it."""

    __tablename__ = "videos"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    sha256: Mapped[str | None] = mapped_column(Text, index=True)
    duration_s: Mapped[float | None]
    file: Mapped[str | None] = mapped_column(Text)
    """`original`, or a file's name in the folder of proxies; None if nothing can be served."""
    media_type: Mapped[str | None] = mapped_column(Text)
    problem: Mapped[str | None] = mapped_column(Text)
    """Why it cannot be played."""


class QueueRow(Base):
    """A queue of units for one kind of work."""

    __tablename__ = "queues"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    task: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    position: Mapped[int]
    overlap: Mapped[int]
    """How many people do each unit."""
    is_open: Mapped[bool] = mapped_column(default=True)
    settings: Mapped[Json] = mapped_column(JsonText(dict), default=dict)

    __table_args__ = (CheckConstraint("overlap BETWEEN 1 AND 100000"),)


class UnitRow(Base):
    """A unit of work, which one person opens at a time. Pages call it a *task*."""

    __tablename__ = "units"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    queue_id: Mapped[str] = mapped_column(ForeignKey("queues.id"))
    position: Mapped[int]
    title: Mapped[str] = mapped_column(Text)
    video_id: Mapped[str | None] = mapped_column(ForeignKey("videos.id"), index=True)
    turns: Mapped[int]
    """Number of places to decide."""
    target_table: Mapped[str | None] = mapped_column(Text)
    target_id: Mapped[str | None] = mapped_column(Text)
    """The record of the benchmark that results change."""
    state: Mapped[str] = mapped_column(Text, default="open")
    """`open` until enough people have submitted, then `adjudication` if they differ, then `done`."""
    submitted: Mapped[int] = mapped_column(default=0)
    gold: Mapped[Json] = mapped_column(JsonText, default=None, nullable=True)
    """The planted faults by place; None for real units."""
    flags: Mapped[int] = mapped_column(default=0)
    """Number of turns that a check of construction flagged."""
    set_aside: Mapped[Json] = mapped_column(JsonText, default=None, nullable=True)
    """Why `review apply` last left its results out, as a list of `{place, field, problem}`, where place and field may
    be null; None if it did not."""
    disputed: Mapped[int] = mapped_column(default=0)
    """Number of places on which people differed when all work was last in. Shown only while the unit is complete."""
    doubt: Mapped[float] = mapped_column(default=0.0)
    """How doubtful the benchmark's checks leave it, 0 to 1, for queues that begin with the most doubtful."""
    words: Mapped[str] = mapped_column(JsonText, default="")
    """Names and texts by which it is found, in lower case, as a JSON string, which may hold any character."""
    content: Mapped[Json] = mapped_column(JsonText(dict))
    """The draft and everything shown with it. The last column, since SQLite reads a row from its start."""

    # With the id, so that counting open units need not read the rows, which are large. A table of units reads only
    # the second index.
    __table_args__ = (
        one_of("state", ("open", "adjudication", "done")),
        Index("units_by_queue", "queue_id", "state", "position", "id"),
        Index("units_by_doubt", "queue_id", "state", text("doubt DESC"), "position", "id"),
        Index(
            "units_listed",
            *("queue_id", "position", "id", "state", "submitted", "turns", "flags", "disputed", "video_id"),
            sqlite_where=text("gold IS NULL"),
            postgresql_where=text("gold IS NULL"),
        ),
        Index(
            "units_set_aside",
            "queue_id",
            sqlite_where=text("set_aside IS NOT NULL"),
            postgresql_where=text("set_aside IS NOT NULL"),
        ),
        Index(
            "units_of_gold",
            "queue_id",
            sqlite_where=text("gold IS NOT NULL"),
            postgresql_where=text("gold IS NOT NULL"),
        ),
    )


class AssignmentRow(Base):
    """One person's own copy of the work on a unit."""

    __tablename__ = "assignments"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    unit_id: Mapped[str] = mapped_column(ForeignKey("units.id"))
    person_id: Mapped[str] = mapped_column(ForeignKey("people.id"))
    role: Mapped[str] = mapped_column(Text)
    """`annotator` or `adjudicator`."""
    state: Mapped[str] = mapped_column(Text)
    """`working`, `returned` (to be worked on again) or `submitted`. `lapsed` if its place went to somebody else, or
    an adjudicator's while work is done again: its entries stay, and it may continue once there is a place."""
    round: Mapped[int] = mapped_column(default=1)
    note: Mapped[str] = mapped_column(Text, default="")
    """The adjudicator's note when it was returned."""
    created_at: Mapped[str] = mapped_column(Text)
    lease_until: Mapped[str] = mapped_column(Text)
    submitted_at: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        one_of("role", ("annotator", "adjudicator")),
        one_of("state", ("working", "returned", "submitted", "lapsed")),
        UniqueConstraint("unit_id", "person_id", "role"),
        Index("assignments_by_person", "person_id", "state"),
        Index("assignments_by_unit", "unit_id", "role", "state", "person_id"),
    )


class EntryRow(Base):
    """The value at one place of an assignment."""

    __tablename__ = "entries"

    assignment_id: Mapped[str] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    place: Mapped[str] = mapped_column(Text, primary_key=True)
    revision: Mapped[int]
    value: Mapped[Json] = mapped_column(JsonText, nullable=True)
    """None if everything that was saved was undone."""
    stale: Mapped[bool] = mapped_column(default=False)
    """True if something that it rests on has changed since."""
    at: Mapped[str] = mapped_column(Text)
    unsure: Mapped[bool] = mapped_column(default=False)
    """True if the value says that its person is unsure. Follows from the value, for searching."""
    noted: Mapped[bool] = mapped_column(default=False)
    """True if the value has a note. Follows from the value, for searching."""
    active_s: Mapped[float] = mapped_column(default=0.0)
    """Seconds that its person was active at this place, as their browser measured them: without idle time."""

    # Few entries have a note or are unsure. These indexes hold only them.
    __table_args__ = (
        Index("entries_noted", "assignment_id", sqlite_where=text("noted = 1"), postgresql_where=text("noted")),
        Index("entries_unsure", "assignment_id", sqlite_where=text("unsure = 1"), postgresql_where=text("unsure")),
    )


class ResultRow(Base):
    """The settled value at one place of a unit."""

    __tablename__ = "results"

    unit_id: Mapped[str] = mapped_column(ForeignKey("units.id"), primary_key=True)
    place: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[Json] = mapped_column(JsonText, nullable=True)
    """None if it was settled that there is nothing, such as no link between two turns."""
    how: Mapped[str] = mapped_column(Text)
    """By a `sole` annotator, `agreed`, or by an adjudicator: `taken` or `written`."""
    people: Mapped[Json] = mapped_column(JsonText)
    """Ids of the people whose work it is."""
    at: Mapped[str] = mapped_column(Text)

    __table_args__ = (one_of("how", ("sole", "agreed", "taken", "written")),)


class EventRow(Base):
    """One change. Rows are only ever added, and each holds the hash of the one before."""

    __tablename__ = "events"

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    at: Mapped[str] = mapped_column(Text)
    author: Mapped[str] = mapped_column(Text)
    """A person's id, or `operator` for commands."""
    kind: Mapped[str] = mapped_column(Text)
    subject: Mapped[str] = mapped_column(Text)
    """The id of what changed."""
    place: Mapped[str | None] = mapped_column(Text)
    before: Mapped[Json] = mapped_column(JsonText, nullable=True)
    after: Mapped[Json] = mapped_column(JsonText, nullable=True)
    rows: Mapped[Json] = mapped_column(JsonText, nullable=True)
    """Hashes of all rows that its transaction changed, by table and key; null for a deleted row."""
    previous: Mapped[str] = mapped_column(Text)
    hash: Mapped[str] = mapped_column(Text)
    signature: Mapped[str] = mapped_column(Text)
    """Of the hash, with the project's key, which the database does not hold: no other program can add an event."""

    __table_args__ = (Index("events_by_subject", "subject", "seq"),)


class ChainRow(Base):
    """The end of the chain of events; one row. A writer locks it."""

    __tablename__ = "chain"

    id: Mapped[int] = mapped_column(primary_key=True)
    seq: Mapped[int]
    hash: Mapped[str] = mapped_column(Text)


class RequestRow(Base):
    """A change that was made, so that the same request changes nothing twice."""

    __tablename__ = "requests"

    person_id: Mapped[str] = mapped_column(Text, primary_key=True)
    key: Mapped[str] = mapped_column(Text, primary_key=True)
    what: Mapped[str] = mapped_column(Text)
    """Hash of the method, the address and the body."""
    status: Mapped[int]
    body: Mapped[Json] = mapped_column(JsonText, nullable=True)
    at: Mapped[str] = mapped_column(Text, index=True)


class PairRow(Base):
    """Two people who collect dialogues together, each in both roles."""

    __tablename__ = "pairs"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    queue_id: Mapped[str] = mapped_column(ForeignKey("queues.id"))
    first_id: Mapped[str] = mapped_column(ForeignKey("people.id"))
    """The investigator in the first half of the pair's dialogues."""
    second_id: Mapped[str] = mapped_column(ForeignKey("people.id"))
    goal: Mapped[int]
    """Number of dialogues to collect."""
    created_at: Mapped[str] = mapped_column(Text)


class LiveDialogueRow(Base):
    """A dialogue between an investigator, who never gets the video, and a correspondent, who does."""

    __tablename__ = "live_dialogues"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    pair_id: Mapped[str] = mapped_column(ForeignKey("pairs.id"), index=True)
    number: Mapped[int]
    """Its index among the pair's dialogues, from 0."""
    unit_id: Mapped[str] = mapped_column(ForeignKey("units.id"), index=True)
    investigator_id: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    correspondent_id: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    state: Mapped[str] = mapped_column(Text)
    """`live`, `awaiting` approval, `approved`, or `dropped`."""
    note: Mapped[str] = mapped_column(Text, default="")
    """The note with which it was sent back or dropped."""
    created_at: Mapped[str] = mapped_column(Text)
    finished_at: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (UniqueConstraint("pair_id", "number"),)


class MessageRow(Base):
    """A question, at even positions, or the answer to the one before."""

    __tablename__ = "messages"

    dialogue_id: Mapped[str] = mapped_column(ForeignKey("live_dialogues.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str] = mapped_column("text", JsonText)
    """As a JSON string, which may hold any character."""
    evidence: Mapped[Json] = mapped_column(JsonText, default=list)
    """The parts of the video that show an answer."""
    at: Mapped[str] = mapped_column(Text)


class DutyRow(Base):
    """A queue, or one unit of it, that is assigned to a person.

    A queue with duties of its own is for those people only, and a unit likewise.
    """

    __tablename__ = "duties"

    id: Mapped[str] = mapped_column(Text, primary_key=True)
    queue_id: Mapped[str] = mapped_column(ForeignKey("queues.id"))
    unit_id: Mapped[str | None] = mapped_column(ForeignKey("units.id"), index=True)
    """None: the whole queue."""
    person_id: Mapped[str] = mapped_column(ForeignKey("people.id"), index=True)
    created_at: Mapped[str] = mapped_column(Text)

    __table_args__ = (Index("duties_by_queue", "queue_id", "unit_id"),)


class GuidelineRow(Base):
    """A queue's guideline, where a lead wrote one. The history has the earlier ones."""

    __tablename__ = "guidelines"

    queue_id: Mapped[str] = mapped_column(ForeignKey("queues.id"), primary_key=True)
    text: Mapped[str] = mapped_column(JsonText)
    """Markdown, as a JSON string, which may hold any character."""
    author: Mapped[str] = mapped_column(Text)
    at: Mapped[str] = mapped_column(Text)
