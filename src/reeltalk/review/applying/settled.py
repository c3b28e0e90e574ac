"""Reads settled work from the database: finished units, what was settled in each, and what each person decided."""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.review.assigning import ADJUDICATOR
from reeltalk.review.settling import DONE
from reeltalk.review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow, canonical_json
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, FieldEdit

BATCH = 500


@dataclass(frozen=True)
class SubmittedWork:
    """The work that one person submitted on a unit."""

    reviewer: str
    """The person's name."""
    person_id: str
    role: str
    """`annotator` or `adjudicator`."""
    at: str
    """When it was submitted."""
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
        return value_hash([self.value, self.how, list(self.people)])


@dataclass(frozen=True)
class DoneUnit:
    """A unit without open work."""

    id: str
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


def done_units(session: Session, kind: str) -> Iterator[DoneUnit]:
    """All finished units of one kind of work, in the order of their queue, without gold."""
    names: dict[str, str] = {name: shown for name, shown in session.execute(select(PersonRow.id, PersonRow.name))}
    ids = list(
        session.scalars(
            select(UnitRow.id)
            .join(QueueRow, QueueRow.id == UnitRow.queue_id)
            .where(QueueRow.task == kind, UnitRow.state == DONE, UnitRow.gold.is_(None))
            .order_by(QueueRow.position, UnitRow.position, UnitRow.id)
        )
    )
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
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
                kind=kind,
                target_table=row.target_table or "",
                target_id=row.target_id or "",
                video_id=row.video_id,
                content=row.content,
                results=results[unit_id],
                works=works[unit_id],
            )


def _works(session: Session, units: Sequence[str], names: Mapping[str, str]) -> dict[str, list[SubmittedWork]]:
    found: dict[str, list[SubmittedWork]] = defaultdict(list)
    values: dict[str, dict[str, Json]] = defaultdict(dict)
    times: dict[str, dict[str, str]] = defaultdict(dict)
    mine = select(AssignmentRow.id).where(AssignmentRow.unit_id.in_(units), AssignmentRow.state == "submitted")
    for entry in session.scalars(select(EntryRow).where(EntryRow.assignment_id.in_(mine)).order_by(EntryRow.place)):
        values[entry.assignment_id][entry.place] = entry.value
        times[entry.assignment_id][entry.place] = entry.at
    for row in session.scalars(
        select(AssignmentRow)
        .where(AssignmentRow.unit_id.in_(units), AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id)
    ):
        name = names.get(row.person_id, row.person_id)
        submitted_at = row.submitted_at or row.created_at
        found[row.unit_id].append(
            SubmittedWork(name, row.person_id, row.role, submitted_at, values[row.id], times[row.id])
        )
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


def parse_moment(at: str) -> datetime:
    """A stored time as a `datetime` with its zone."""
    return datetime.fromisoformat(at)


@dataclass(frozen=True)
class ReviewDecision:
    """The decision in a value."""

    decision: Decision
    reasons: Sequence[str] = ()
    edits: Sequence[FieldEdit] = ()
    comment: str = ""


@dataclass(frozen=True)
class PersonReview:
    """One person's decision on a place, as it becomes a `Review`."""

    reviewer: str
    at: str
    said: ReviewDecision
    comment: str
    counts: bool
    """True for the one decision that counted."""


def person_reviews(
    unit: DoneUnit, place: str, settled: SettledPlace, read: Callable[[Json], ReviewDecision]
) -> Iterator[PersonReview]:
    """The decision of each person on a place. An adjudicator's counts if there is one, otherwise the first annotator's.

    Args:
        unit: A finished unit.
        place: The place.
        settled: Its settled value.
        read: Reads the decision from a value.
    """
    by_adjudicator, counted = settled.how in ("taken", "written"), False
    for work in unit.works:
        value, note = work.values.get(place), None
        if value is None:
            continue
        if work.role == ADJUDICATOR:
            # An adjudicator's value only names the work they took. The settled value is the result.
            note, value = value.get("note"), settled.value
        counts = not counted and (work.role == ADJUDICATOR) == by_adjudicator
        counted |= counts
        said = read(value)
        yield PersonReview(work.reviewer, work.times[place], said, note or said.comment, counts)
    if not counted:
        # The person who settled it has no value there, as when nobody drew a link. Their name is kept.
        said = read(settled.value)
        reviewer = settled.people[-1] if settled.people else "unknown"
        yield PersonReview(reviewer, settled.at, said, said.comment, counts=True)


def value_hash(value: Json) -> str:
    """The first 64 bits of the SHA-256 of canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]
