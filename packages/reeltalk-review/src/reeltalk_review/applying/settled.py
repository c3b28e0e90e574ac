"""What people settled: finished units with their results and everybody's work, as `review apply` reads them."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.assigning import ADJUDICATOR
from reeltalk_review.database import in_batches
from reeltalk_review.settling import DONE
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow, canonical_json

BATCH = 500


@dataclass(frozen=True)
class SubmittedWork:
    """The work that one person submitted on a unit."""

    reviewer: str
    """The person's name."""
    role: str
    """`annotator` or `adjudicator`."""
    values: Mapping[str, Json]
    """By place."""
    times: Mapping[str, str]
    """When each place was decided."""


@dataclass(frozen=True)
class SettledPlace:
    """The settled value of one place."""

    value: Json
    how: str
    people: Sequence[str]
    """Names; first those whose work it is."""
    at: str

    @property
    def hash(self) -> str:
        """Identifies the value, to know whether it was applied."""
        # Whether somebody was unsure is not part of a result.
        value = {k: v for k, v in self.value.items() if k != "unsure"} if isinstance(self.value, dict) else self.value
        return value_hash([value, self.how, list(self.people)])


def value_hash(value: Json) -> str:
    """The first 64 bits of the SHA-256 of canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class DoneUnit:
    """A unit without open work."""

    id: str
    title: str
    kind: str
    """The kind of work."""
    target_table: str
    target_id: str
    video_id: str | None
    content: Mapping[str, Json]
    results: Mapping[str, SettledPlace]
    """By place; empty if each person's work counts by itself."""
    works: Sequence[SubmittedWork]
    """In the order of submission."""

    @property
    def revision(self) -> int:
        """Revision of the benchmark that people saw."""
        return int(self.content.get("revision", 0))

    def counted(self, place: str) -> SubmittedWork | None:
        """The work that counts at a place: the adjudicator's if it was adjudicated, otherwise the first annotator's.

        None if the person who settled it has no value there, as when nobody drew a link.
        """
        is_adjudicated = self.results[place].how in ("taken", "written")
        return next(
            (
                work
                for work in self.works
                if (work.role == ADJUDICATOR) == is_adjudicated and work.values.get(place) is not None
            ),
            None,
        )


def finished_units(session: Session, kind: str) -> Sequence[str]:
    """Ids of the finished units of one kind of work, without gold, in the order of their queues."""
    query = (
        select(UnitRow.id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.state == DONE, UnitRow.gold.is_(None), QueueRow.task == kind)
        .order_by(QueueRow.position, UnitRow.position, UnitRow.id)
    )
    return session.scalars(query).all()


def done_units(session: Session, kind: str, unit_ids: Sequence[str]) -> Iterator[DoneUnit]:
    """Finished units of one kind of work, in the order of their ids here. Some are in memory at once."""
    names: dict[str, str] = {name: shown for name, shown in session.execute(select(PersonRow.id, PersonRow.name))}
    for some in in_batches(unit_ids, BATCH):
        results: dict[str, dict[str, SettledPlace]] = defaultdict(dict)
        for found in session.scalars(select(ResultRow).where(ResultRow.unit_id.in_(some)).order_by(ResultRow.place)):
            people = [names.get(person, person) for person in found.people or ()]
            results[found.unit_id][found.place] = SettledPlace(found.value, found.how, people, found.at)
        works = _works(session, some, names)
        rows = {row.id: row for row in session.scalars(select(UnitRow).where(UnitRow.id.in_(some)))}
        for unit_id in some:
            row = rows[unit_id]
            yield DoneUnit(
                id=unit_id,
                title=row.title,
                kind=kind,
                target_table=row.target_table or "",
                target_id=row.target_id or "",
                video_id=row.video_id,
                content=row.content,
                results=results[unit_id],
                works=works[unit_id],
            )


def _works(session: Session, units: Sequence[str], names: Mapping[str, str]) -> Mapping[str, list[SubmittedWork]]:
    """Submitted work by unit, in the order of submission."""
    submitted = (AssignmentRow.unit_id.in_(units), AssignmentRow.state == "submitted")
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    times: dict[str, dict[str, str]] = defaultdict(dict)
    mine = select(AssignmentRow.id).where(*submitted)
    for entry in session.scalars(select(EntryRow).where(EntryRow.assignment_id.in_(mine)).order_by(EntryRow.place)):
        values[entry.assignment_id][entry.place] = entry.value
        times[entry.assignment_id][entry.place] = entry.at
    found: dict[str, list[SubmittedWork]] = defaultdict(list)
    query = select(AssignmentRow).where(*submitted).order_by(AssignmentRow.submitted_at, AssignmentRow.id)
    for row in session.scalars(query):
        name = names.get(row.person_id, row.person_id)
        found[row.unit_id].append(SubmittedWork(name, row.role, values[row.id], times[row.id]))
    return found


def undecided_counts(session: Session) -> dict[str, int]:
    """Number of places in unfinished units, by kind of work."""
    rows = session.execute(
        select(QueueRow.task, func.sum(UnitRow.turns))
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.state != DONE, UnitRow.gold.is_(None))
        .group_by(QueueRow.task)
    )
    return {kind: int(count or 0) for kind, count in rows}
