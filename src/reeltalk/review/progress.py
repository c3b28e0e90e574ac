"""How far a project is: tasks of each queue by state, and the work of each person. The database counts."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session

from reeltalk.review.assigning import ANNOTATOR, UNFINISHED
from reeltalk.review.settling import ADJUDICATION, DONE
from reeltalk.review.tables import AssignmentRow, PersonRow, QueueRow, UnitRow

STATES: Final = ("waiting", "begun", "adjudication", "done")
"""A unit is in one of them: nobody has it, somebody has it but not all work is in, people differ, all is settled."""


@dataclass(frozen=True)
class QueueProgress:
    """One queue."""

    id: str
    title: str
    overlap: int
    units: Mapping[str, int]
    """By `STATES`; they add up to all units."""
    turns: Mapping[str, int]
    """The same, in turns."""

    @property
    def total(self) -> int:
        """All units."""
        return sum(self.units.values())

    @property
    def total_turns(self) -> int:
        """All turns."""
        return sum(self.turns.values())


@dataclass(frozen=True)
class PersonProgress:
    """One person's work as an annotator, and what they settled."""

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
    """Every queue, in the order of the project.

    Args:
        session: The database.
        seen_by: An annotator whose own view it is. Gold counts in it as any other unit would that only they work on,
            so that their numbers do not tell which of their units were gold. Without one, gold does not count.
    """
    taken = exists().where(
        AssignmentRow.unit_id == UnitRow.id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state != "lapsed"
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
            units.get(queue.id, dict.fromkeys(STATES, 0)),
            turns.get(queue.id, dict.fromkeys(STATES, 0)),
        )
        for queue in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id))
    ]


def people_progress(session: Session, *, only: str | None = None) -> list[PersonProgress]:
    """Everybody who may sign in or has worked, by name.

    Args:
        session: The database.
        only: The id of the one person to look at.
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
            settled=counted.get((person.id, "adjudicator"), (0, 0, 0, 0))[0],
        )
        for person in session.scalars(people)
        if person.disabled_at is None or any((person.id, role) in counted for role in (ANNOTATOR, "adjudicator"))
    ]


HEADINGS = ("queue", "units", "turns", "done", "to adjudicate", "under way", "left", "people each")


def queue_counts(session: Session) -> Iterator[tuple[str, ...]]:
    """A line of headings and one for each queue; nothing where there is none. Planted units are not counted."""
    queues = session.scalars(select(QueueRow).order_by(QueueRow.position)).all()
    if not queues:
        return
    yield HEADINGS
    states: dict[str, dict[str, int]] = defaultdict(dict)
    turns: dict[str, int] = defaultdict(int)
    real = UnitRow.gold.is_(None)
    grouped = select(UnitRow.queue_id, UnitRow.state, func.count(), func.sum(UnitRow.turns)).where(real)
    for queue_id, state, count, places in session.execute(grouped.group_by(UnitRow.queue_id, UnitRow.state)):
        states[queue_id][state] = count
        turns[queue_id] += int(places or 0)
    under_way = (
        select(UnitRow.queue_id, func.count(UnitRow.id.distinct()))
        .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
        .where(real, UnitRow.state.not_in((DONE, ADJUDICATION)))
        .group_by(UnitRow.queue_id)
    )
    begun: dict[str, int] = {queue_id: count for queue_id, count in session.execute(under_way)}
    for queue in queues:
        found = states[queue.id]
        total, done, disputed = sum(found.values()), found.get(DONE, 0), found.get(ADJUDICATION, 0)
        left = total - done - disputed - begun.get(queue.id, 0)
        numbers = (total, turns[queue.id], done, disputed, begun.get(queue.id, 0), left, queue.overlap)
        yield (queue.id + ("" if queue.is_open else " (closed)"), *(f"{number:,}" for number in numbers))
