"""The history: every change appends an event with the hash of the one before, so that no change goes unnoticed.

Events are never changed or deleted. The last event of a transaction also has the hashes of all rows that it added,
changed or deleted, in any table: so each table follows from the history. Undo, the board's times and
`review status --verify` read events.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Text, select, type_coerce
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.credentials import keyed_hash
from reeltalk_review.database import KEY, Database, in_batches
from reeltalk_review.rows import hashes_of
from reeltalk_review.tables import ChainRow, EventRow, JsonText, canonical_json, timestamp

OPERATOR: Final = "operator"
"""The author of changes by commands."""
FIRST_HASH: Final = hashlib.sha256(b"reeltalk.review").hexdigest()
"""The previous hash of the first event."""
ROWS_KIND: Final = "rows"
"""Kind of an event that only has the hashes of rows, such as how long a unit is held for somebody."""
ROWS_AT_ONCE: Final = 2000
"""Rows of which one event has the hashes."""


@dataclass
class Transaction:
    """One database transaction that changes something, and its author."""

    session: Session
    author: str
    at: str
    seq: int
    """Number of the last event."""
    hash: str
    """Its hash."""
    key: bytes = field(repr=False)
    """Signs events."""
    events: list[EventRow] = field(default_factory=list)
    """The appended events, in order."""

    def record(
        self,
        kind: str,
        subject: str,
        *,
        place: str | None = None,
        before: Json = None,
        after: Json = None,
        rows: Json = None,
    ) -> EventRow:
        """Append an event.

        Args:
            kind: What was done, as `save`.
            subject: The id of what changed.
            place: The place in it.
            before: The earlier state.
            after: The new state.
            rows: Hashes of changed rows by table and key. A transaction adds its own at its end.
        """
        row = EventRow(
            seq=self.seq + 1,
            at=self.at,
            author=self.author,
            kind=kind,
            subject=subject,
            place=place,
            before=before,
            after=after,
            rows=rows,
            previous=self.hash,
        )
        self._sign(row)
        self.session.add(row)
        self.events.append(row)
        return row

    def _sign(self, row: EventRow) -> None:
        """Give the last event its hash and its signature."""
        row.hash = event_hash(*(getattr(row, name) for name in HASHED_FIELDS))
        row.signature = keyed_hash(self.key, row.hash)
        self.seq, self.hash = row.seq, row.hash

    def seal(self, hashes: Iterable[tuple[str, str, str | None]]) -> None:
        """Let the last event, and more where there are many, have the hashes of the rows that changed."""
        last = self.events[-1] if self.events else None
        for some in in_batches(hashes, ROWS_AT_ONCE):
            rows: dict[str, Any] = {}
            for table, key, found in some:
                rows.setdefault(table, {})[key] = found
            if last is None:
                self.record(ROWS_KIND, "project", rows=rows)
                continue
            last.rows = rows
            self._sign(last)
            last = None


@contextlib.contextmanager
def transaction(database: Database, author: str, *, now: datetime | None = None) -> Iterator[Transaction]:
    """A transaction whose changes are events. Nothing is kept if the block raises.

    Args:
        author: A person's id, or `OPERATOR`.
        now: The time; by default the clock's.
    """
    with database.writing() as session:
        head = session.scalars(select(ChainRow).with_for_update()).one_or_none()
        if head is None:
            head = ChainRow(id=1, seq=0, hash=FIRST_HASH)
            session.add(head)
        change = Transaction(session, author, timestamp(now), head.seq, head.hash, database.key)
        yield change
        session.flush()
        change.seal(hashes_of(session, session.touched))
        head.seq, head.hash = change.seq, change.hash


def stored_text(column: Any) -> Any:
    """A JSON column as the text that is stored."""
    return type_coerce(column, Text()).label(column.key)


_STORED: Final = (
    select(*(stored_text(one) if isinstance(one.type, JsonText) else one for one in EventRow.__table__.columns))
    .order_by(EventRow.seq)
    .execution_options(yield_per=2000)
)
HASHED_FIELDS: Final = ("previous", "seq", "at", "author", "kind", "subject", "place", "before", "after", "rows")
"""The fields of an event of which it holds the hash."""


def event_hash(*parts: Json) -> str:
    """SHA-256 of an event's fields and the hash before it, as canonical JSON."""
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()


def broken_links(session: Session, recorded: dict[str, dict[str, str]] | None = None) -> Iterator[str]:
    """What is wrong with the chain of events, one sentence each; nothing if it is whole.

    Args:
        session: The database.
        recorded: Receives the hash of each row that there should be, by table and key.
    """
    previous, expected = FIRST_HASH, 1
    recorded = {} if recorded is None else recorded
    unsigned: list[int] = []
    key = session.info[KEY]
    for row in session.execute(_STORED):
        if row.seq != expected:
            yield f"event {expected} is missing; the next there is {row.seq}"
            expected = row.seq
        if row.previous != previous:
            yield f"event {row.seq} does not follow the one before it: its hash differs"
        parts = (row.previous, row.seq, row.at, row.author, row.kind, row.subject, row.place)
        # JSON is read as text, so that a change that left no valid JSON is found too.
        texts = [*map(canonical_json, parts), *(text or "null" for text in (row.before, row.after, row.rows))]
        if hashlib.sha256(f"[{','.join(texts)}]".encode(errors="surrogatepass")).hexdigest() != row.hash:
            yield f"event {row.seq} ({row.kind} of {row.subject} at {row.at}) was changed after it was written"
        elif row.rows is not None:
            _repeat(json.loads(row.rows), recorded)
        if row.signature != keyed_hash(key, row.hash):
            unsigned.append(row.seq)
        previous, expected = row.hash, expected + 1
    if unsigned:
        yield (
            f"{len(unsigned):,} events, the first of them {unsigned[0]}, are not signed with the key of this project: "
            "another program wrote them, or its file history.key was lost"
        )
    head = session.scalars(select(ChainRow)).one_or_none()
    if (head.seq, head.hash) != (expected - 1, previous) if head is not None else expected > 1:
        last = head.seq if head is not None else 0
        yield f"the chain should end with event {last}, and ends with {expected - 1}: events were taken away or put in"


def _repeat(changed: Any, recorded: dict[str, dict[str, str]]) -> None:
    for table, rows in changed.items():
        there = recorded.setdefault(table, {})
        for key, found in rows.items():
            if found is None:
                there.pop(key, None)
            else:
                there[key] = found
