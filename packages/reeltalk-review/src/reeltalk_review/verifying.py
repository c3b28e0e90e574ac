"""Checks that the history is whole, and that every row of every table is as the history has it.

The chain of hashes shows that no event was changed, removed, added or moved. Events have the hashes of the rows that
they changed, so a row that was changed, added or removed past the program is found too. Each event is signed with a key
that the database does not hold. With that key one could forge a whole new chain; a noted head shows that, and also
that an older copy of the database was put back.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Table, func, select
from sqlalchemy.orm import Session

from reeltalk_review.database import Database
from reeltalk_review.events import broken_links
from reeltalk_review.rows import NEVER_EXPORTED, line_hash, recorded_tables, row_lines
from reeltalk_review.tables import ChainRow, EventRow

MOST_SHOWN: Final = 20
"""Findings of one table that are listed; the others are counted."""


@dataclass(frozen=True)
class Verification:
    """The checked parts and the problems."""

    events: int
    rows: Mapping[str, int]
    """Number of rows by table."""
    seq: int
    """Number of the last event; 0 if there is none."""
    head: str
    """Hash of the last event. If you note it elsewhere, it proves later that no event up to here was changed."""
    findings: tuple[str, ...]
    """What is wrong, one sentence each."""

    def lines(self) -> list[str]:
        """Lines for people."""
        counts = [f"{count:,} {name.replace('_', ' ')}" for name, count in self.rows.items() if count]
        found = [", ".join([f"{self.events:,} events", *counts]), f"head {self.seq}:{self.head}"]
        return [*found, *(f"found: {finding}" for finding in self.findings)]


def verify_history(database: Database, *, head: str | None = None) -> Verification:
    """Check the chain of events, and every table against it.

    Args:
        database: The project's database.
        head: The head of an earlier verification, as `SEQ:HASH`. It must be in the chain.
    """
    with database.reading() as session:
        recorded: dict[str, dict[str, str]] = {}
        findings = list(_shortened(broken_links(session, recorded)))
        if head is not None:
            findings += _not_in_chain(session, head)
        rows = {}
        for table in recorded_tables():
            there = recorded.get(table.name, {})
            findings += _shortened(_strange_rows(session, table, there))
            rows[table.name] = session.scalar(select(func.count()).select_from(table)) or 0
        chain = session.get(ChainRow, 1)
        return Verification(
            events=session.scalar(select(func.count()).select_from(EventRow)) or 0,
            rows=rows,
            seq=chain.seq if chain is not None else 0,
            head=chain.hash if chain is not None else "",
            findings=tuple(findings),
        )


def _strange_rows(session: Session, table: Table, recorded: dict[str, str]) -> Iterator[str]:
    name = table.name.replace("_", " ")
    for key, line in row_lines(session, table):
        expected = recorded.pop(key, None)
        if expected is None:
            yield f"{name} {key} is in the tables, and not in the history"
        elif line_hash(line.encode(errors="surrogatepass")) != expected:
            yield f"{name} {key} is not what the history leads to"
    if table.name not in NEVER_EXPORTED:
        yield from (f"{name} {key} is in the history, and not in the tables" for key in recorded)


def _shortened(findings: Iterable[str]) -> Iterator[str]:
    number = 0
    for number, finding in enumerate(findings, 1):
        if number <= MOST_SHOWN:
            yield finding
    if number > MOST_SHOWN:
        yield f"{number - MOST_SHOWN:,} more like the last one"


def _not_in_chain(session: Session, head: str) -> Iterator[str]:
    seq, _, noted = head.partition(":")
    number = int(seq) if seq.isascii() and seq.isdigit() and len(seq) < 16 else -1
    found = session.scalars(select(EventRow.hash).where(EventRow.seq == number)).one_or_none()
    if found is None:
        yield f"the noted head {head} names an event that is not there"
    elif found != noted:
        yield f"event {number} has another hash than was noted: the history up to there was written anew"
