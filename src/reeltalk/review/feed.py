"""The project's history as owners may see it: nobody, in any role, reads work on a unit that is not complete.

Hashes of events are left out. They cover withheld values, and somebody who guesses a decision could check the guess
against them. `reeltalk review status --verify` checks the chain where the database is.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from reeltalk.review.settling import OPEN
from reeltalk.review.tables import AssignmentRow, EventRow, UnitRow
from reeltalk.schema.record import Json

MOST_EVENTS: Final = 500
"""Most events in one answer."""
TEAM_EVENTS: Final = frozenset(
    {
        *("invite", "withdraw", "join", "role", "disable", "enable"),
        *("sign_in", "sign_out", "sign_out_everywhere", "password", "reset_link", "token", "revoke"),
        *("load", "benchmark", "queue", "overlap", "settings", "apply", "pair"),
    }
)
"""Kinds of events that contain no work. All others belong to a unit, or are withheld."""


@dataclass(frozen=True)
class VisibleEvent:
    """An event without what may not be shown yet."""

    seq: int
    at: str
    author: str
    kind: str
    subject: str
    unit: str | None
    """Id of the unit that it belongs to."""
    title: str | None
    """The unit's title."""
    place: str | None
    before: Json
    after: Json
    withheld: bool
    """True if place and values are left out."""

    def document(self) -> dict[str, Json]:
        """As JSON for scripts."""
        return dict(vars(self))


def visible_events(session: Session, rows: Sequence[EventRow]) -> list[VisibleEvent]:
    """Events without what may not be shown yet.

    Places are withheld too: where people draw links or add labels, a place tells what they did.
    """
    units = _units(session, {row.subject for row in rows if row.kind not in TEAM_EVENTS})
    found = []
    for row in rows:
        unit = units.get(row.subject)
        hidden = row.kind not in TEAM_EVENTS and (unit is None or unit.state == OPEN)
        found.append(
            VisibleEvent(
                seq=row.seq,
                at=row.at,
                author=row.author,
                kind=row.kind,
                subject=row.subject,
                unit=unit.id if unit is not None else None,
                title=unit.title if unit is not None else None,
                place=None if hidden else row.place,
                before=None if hidden else row.before,
                after=None if hidden else row.after,
                withheld=hidden,
            )
        )
    return found


def events_after(session: Session, seq: int, limit: int) -> list[VisibleEvent]:
    """The events that follow one, first to last."""
    query = select(EventRow).where(EventRow.seq > seq).order_by(EventRow.seq).limit(min(limit, MOST_EVENTS))
    return visible_events(session, session.scalars(query).all())


def events_before(session: Session, seq: int | None, limit: int) -> list[VisibleEvent]:
    """The events before one, or the latest, last to first."""
    query = select(EventRow).order_by(EventRow.seq.desc()).limit(min(limit, MOST_EVENTS))
    return visible_events(session, session.scalars(query if seq is None else query.where(EventRow.seq < seq)).all())


def _units(session: Session, subjects: Iterable[str]) -> dict[str, Row[Any]]:
    """The unit of each subject that is one or is work on one, with its id, title and state.

    A complete unit is open again while work on it was returned. Its events are then withheld again.
    """
    subjects = list(subjects)
    shown = (UnitRow.id, UnitRow.title, UnitRow.state)
    own = select(UnitRow.id.label("subject"), *shown).where(UnitRow.id.in_(subjects))
    work = (
        select(AssignmentRow.id.label("subject"), *shown)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.id.in_(subjects))
    )
    rows: list[Row[Any]] = [*session.execute(own), *session.execute(work)]
    return {row.subject: row for row in rows}
