"""How far a project is: units of each queue by state, and the work of each person. The database counts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session

from reeltalk.review.assigning import ADJUDICATOR, ANNOTATOR, LAPSED, UNFINISHED
from reeltalk.review.tables import AssignmentRow, PersonRow, QueueRow, UnitRow

STATES: Final = ("waiting", "begun", "adjudication", "done")
"""A unit is in one of them: nobody has it, somebody has it but not all work is in, people differ, all is settled."""
HEADINGS: Final = ("queue", "units", "turns", "done", "to adjudicate", "under way", "left", "people each")


@dataclass(frozen=True)
class QueueProgress:
    """Progress of one queue."""

    id: str
    title: str
    overlap: int
    """How many people do each unit."""
    is_open: bool
    units: Mapping[str, int]
    """Number of units by `STATES`."""
    turns: Mapping[str, int]
    """Number of turns by `STATES`."""

    @property
    def total(self) -> int:
        """Number of all units."""
        return sum(self.units.values())

    @property
    def total_turns(self) -> int:
        """Number of all turns."""
        return sum(self.turns.values())


@dataclass(frozen=True)
class PersonProgress:
    """One person's work as an annotator, and how many units they adjudicated."""

    id: str
    name: str
    role: str
    done: int
    """Units handed in."""
    turns: int
    """Turns handed in."""
    open: int
    """Units begun or returned, and not handed in."""
    returned: int
    """How often work came back."""
    settled: int
    """Units decided as an adjudicator."""


def queue_progress(session: Session, *, seen_by: str | None = None) -> list[QueueProgress]:
    """Progress of every queue, in the order of the project.

    Args:
        session: The database.
        seen_by: Id of the annotator who looks. Their gold then counts like any unit that only they work on, so that the
            numbers do not tell which units were gold. Without one, gold does not count.
    """
    taken = exists().where(
        AssignmentRow.unit_id == UnitRow.id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state != LAPSED
    )
    begun = case((taken, "begun"), else_="waiting")
    if seen_by is not None:
        own = (AssignmentRow.unit_id == UnitRow.id, AssignmentRow.person_id == seen_by)
        mine = case(
            (exists().where(*own, AssignmentRow.state == "submitted") & (QueueRow.overlap == 1), "done"),
            (exists().where(*own), "begun"),
            else_="waiting",
        )
        begun = case((UnitRow.gold.is_not(None), mine), else_=begun)
    state = case((UnitRow.state == "open", begun), else_=UnitRow.state).label("state")
    query = (
        select(UnitRow.queue_id, state, func.count().label("units"), func.sum(UnitRow.turns).label("turns"))
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .group_by(UnitRow.queue_id, state)
    )
    if seen_by is None:
        query = query.where(UnitRow.gold.is_(None))
    units: dict[str, dict[str, int]] = {}
    turns: dict[str, dict[str, int]] = {}
    for queue_id, name, count, total in session.execute(query):
        units.setdefault(queue_id, dict.fromkeys(STATES, 0))[name] += count
        turns.setdefault(queue_id, dict.fromkeys(STATES, 0))[name] += int(total or 0)
    return [
        QueueProgress(
            queue.id,
            queue.title,
            queue.overlap,
            queue.is_open,
            units.get(queue.id, dict.fromkeys(STATES, 0)),
            turns.get(queue.id, dict.fromkeys(STATES, 0)),
        )
        for queue in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id))
    ]


def queue_table(session: Session) -> Iterator[tuple[str, ...]]:
    """A row of headings and one for each queue, as commands print them; nothing if there is no queue."""
    queues = queue_progress(session)
    if queues:
        yield HEADINGS
    for queue in queues:
        states = (queue.units[name] for name in ("done", "adjudication", "begun", "waiting"))
        numbers = (queue.total, queue.total_turns, *states, queue.overlap)
        yield (queue.id + ("" if queue.is_open else " (closed)"), *(f"{number:,}" for number in numbers))


def people_progress(session: Session, *, only: str | None = None) -> list[PersonProgress]:
    """Everybody who may sign in or has worked, by name.

    Args:
        session: The database.
        only: Id of the one person to look at.
    """
    query = select(
        AssignmentRow.person_id,
        AssignmentRow.role,
        func.count().filter(AssignmentRow.state == "submitted"),
        func.sum(UnitRow.turns).filter(AssignmentRow.state == "submitted"),
        func.count().filter(AssignmentRow.state.in_(UNFINISHED)),
        func.sum(AssignmentRow.round - 1),
    ).join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
    people = select(PersonRow).order_by(PersonRow.name, PersonRow.id)
    if only is not None:
        query, people = query.where(AssignmentRow.person_id == only), people.where(PersonRow.id == only)
    counted = {
        (person_id, role): (done, int(turns or 0), unfinished, int(returned or 0))
        for person_id, role, done, turns, unfinished, returned in session.execute(
            query.group_by(AssignmentRow.person_id, AssignmentRow.role)
        )
    }
    return [
        PersonProgress(
            person.id,
            person.name,
            person.role,
            *counted.get((person.id, ANNOTATOR), (0, 0, 0, 0)),
            settled=counted.get((person.id, ADJUDICATOR), (0, 0, 0, 0))[0],
        )
        for person in session.scalars(people)
        if person.disabled_at is None or any((person.id, role) in counted for role in (ANNOTATOR, ADJUDICATOR))
    ]
