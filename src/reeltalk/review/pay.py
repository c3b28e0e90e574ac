"""What people have earned: their submitted work by month, times the rate of the project.

Work counts in the month in which it was last submitted, and time in the month in which a place was last saved. Gold
counts like all other work. Adjudicators are counted with the places that they settled.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from reeltalk.review.assigning import ANNOTATOR
from reeltalk.review.database import Pay
from reeltalk.review.tables import AssignmentRow, EntryRow, UnitRow
from reeltalk.review.training import TRAINEE

CENT: Final = Decimal("0.01")
BASES: Final = {"unit": "task", "turn": "turn", "hour": "hour"}
"""The words for what is paid for."""


@dataclass(frozen=True)
class MonthOfWork:
    """One person's work in one month."""

    person: str
    month: str
    """As `2026-11`."""
    units: int = 0
    turns: int = 0
    seconds: float = 0.0
    """Seconds of activity."""

    def amount(self, pay: Pay) -> Decimal:
        """What it is worth, rounded to a hundredth."""
        count = {
            "unit": Decimal(self.units),
            "turn": Decimal(self.turns),
            "hour": Decimal(str(round(self.seconds, 2))) / 3600,
        }[pay.basis]
        return (count * pay.rate).quantize(CENT, ROUND_HALF_UP)


def months_of_work(
    session: Session, turn_seconds: Mapping[tuple[str, str], float], *, only: str | None = None
) -> list[MonthOfWork]:
    """Everybody's work by month, newest month first, then by person. Training is no work.

    Args:
        session: The database.
        turn_seconds: Seconds of activity by assignment and place.
        only: Id of the one person to look at.
    """
    month = func.substr(AssignmentRow.submitted_at, 1, 7)
    places = case((AssignmentRow.role == ANNOTATOR, UnitRow.turns), else_=UnitRow.disputed)
    submitted = (
        select(AssignmentRow.person_id, month, func.count(), func.sum(places))
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.submitted_at.is_not(None), AssignmentRow.role != TRAINEE)
        .group_by(AssignmentRow.person_id, month)
    )
    saved = (
        select(EntryRow.assignment_id, EntryRow.place, AssignmentRow.person_id, EntryRow.at)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .where(AssignmentRow.role != TRAINEE)
    )
    if only is not None:
        submitted = submitted.where(AssignmentRow.person_id == only)
        saved = saved.where(AssignmentRow.person_id == only)
    counts = {(person, at): (units, int(turns or 0)) for person, at, units, turns in session.execute(submitted)}
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    if turn_seconds:
        for assignment_id, place, person, at in session.execute(saved):
            seconds[person, at[:7]] += turn_seconds.get((assignment_id, place), 0.0)
    found = [
        MonthOfWork(person, at, *counts.get((person, at), (0, 0)), seconds.get((person, at), 0.0))
        for person, at in counts.keys() | {key for key, value in seconds.items() if value}
    ]
    found.sort(key=lambda row: row.person)
    return sorted(found, key=lambda row: row.month, reverse=True)


def total_of(rows: Iterable[MonthOfWork], pay: Pay | None) -> tuple[int, int, float, Decimal | None]:
    """Units, turns, seconds and the amount of several rows; the amount is the sum of rounded amounts."""
    rows = list(rows)
    amount = sum((row.amount(pay) for row in rows), Decimal("0.00")) if pay is not None else None
    return sum(row.units for row in rows), sum(row.turns for row in rows), sum(row.seconds for row in rows), amount
