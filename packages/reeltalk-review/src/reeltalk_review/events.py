"""The history: every change appends an event with the hash of the one before, so that no change goes unnoticed.

Events are never changed or deleted. Undo, the board's times and `review status --verify` read them.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.database import Database
from reeltalk_review.tables import ChainRow, EventRow, canonical_json, moment

OPERATOR: Final = "operator"
"""The author of changes by commands."""
FIRST_HASH: Final = hashlib.sha256(b"reeltalk.review").hexdigest()
"""The previous hash of the first event."""


@dataclass
class Transaction:
    """One database transaction that changes something, and its author."""

    session: Session
    author: str
    at: str
    head: ChainRow
    events: list[EventRow] = field(default_factory=list)
    """The appended events, in order."""

    def record(
        self, kind: str, subject: str, *, place: str | None = None, before: Json = None, after: Json = None
    ) -> EventRow:
        """Append an event.

        Args:
            kind: What was done, as `save`.
            subject: The id of what changed.
            place: The place in it.
            before: The earlier state.
            after: The new state.
        """
        seq, previous = self.head.seq + 1, self.head.hash
        row = EventRow(
            seq=seq,
            at=self.at,
            author=self.author,
            kind=kind,
            subject=subject,
            place=place,
            before=before,
            after=after,
            previous=previous,
            hash=event_hash(previous, seq, self.at, self.author, kind, subject, place, before, after),
        )
        self.session.add(row)
        self.head.seq, self.head.hash = seq, row.hash
        self.events.append(row)
        return row


@contextlib.contextmanager
def transaction(database: Database, author: str, *, now: datetime | None = None) -> Iterator[Transaction]:
    """A transaction whose changes are events. Nothing is kept if the block raises.

    Args:
        database: The database.
        author: A person's id, or `OPERATOR`.
        now: The time; by default the clock's.
    """
    with database.writing() as session:
        head = session.scalars(select(ChainRow).with_for_update()).one_or_none()
        if head is None:
            head = ChainRow(id=1, seq=0, hash=FIRST_HASH)
            session.add(head)
        yield Transaction(session, author, moment(now), head)


def stored_text(column: Any) -> Any:
    """A JSON column as the text that is stored."""
    return type_coerce(column, Text()).label(column.key)


_STORED: Final = (
    select(
        EventRow.seq,
        EventRow.at,
        EventRow.author,
        EventRow.kind,
        EventRow.subject,
        EventRow.place,
        EventRow.previous,
        EventRow.hash,
        stored_text(EventRow.before),
        stored_text(EventRow.after),
    )
    .order_by(EventRow.seq)
    .execution_options(yield_per=2000)
)


def event_hash(*parts: Json) -> str:
    """SHA-256 of an event's fields and the hash before it, as canonical JSON."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()


def broken_links(session: Session) -> Iterator[str]:
    """What is wrong with the chain of events, one sentence each; nothing if it is whole."""
    previous, expected = FIRST_HASH, 1
    for row in session.execute(_STORED):
        if row.seq != expected:
            yield f"event {expected} is missing; the next there is {row.seq}"
            expected = row.seq
        if row.previous != previous:
            yield f"event {row.seq} does not follow the one before it: its hash differs"
        parts = (row.previous, row.seq, row.at, row.author, row.kind, row.subject, row.place)
        # Before and after are read as text, so that a change that left no valid JSON is found too.
        texts = [*map(canonical_json, parts), row.before or "null", row.after or "null"]
        if hashlib.sha256(f"[{','.join(texts)}]".encode(errors="surrogatepass")).hexdigest() != row.hash:
            yield f"event {row.seq} ({row.kind} of {row.subject} at {row.at}) was changed after it was written"
        previous, expected = row.hash, expected + 1
    head = session.scalars(select(ChainRow)).one_or_none()
    if (head.seq, head.hash) != (expected - 1, previous) if head is not None else expected > 1:
        last = head.seq if head is not None else 0
        yield f"the chain should end with event {last}, and ends with {expected - 1}: events were taken away or put in"
