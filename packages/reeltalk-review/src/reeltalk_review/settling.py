"""Settles a unit when all work on it is in: agreement settles a place, and an adjudicator decides the others.

Adjudicators see the work of the others side by side, without names.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Self

from pydantic import Field, model_validator
from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, true
from sqlalchemy.orm import Session, aliased

from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision
from reeltalk_review.assigning import (
    ADJUDICATOR,
    ANNOTATOR,
    LAPSED,
    LIVE,
    UNFINISHED,
    holds_place,
    lapse_work,
    make_room,
    may_know,
    regain_place,
    renew_lease,
    take_unit,
    unfinished_copies,
)
from reeltalk_review.errors import InvalidValue
from reeltalk_review.events import Transaction
from reeltalk_review.reasons import check_reasons, offered_reasons
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow, timestamp
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import REMARKS, ReviewTask, Value
from reeltalk_review.tasks.turns import EDITABLE

OPEN: Final = "open"
ADJUDICATION: Final = "adjudication"
DONE: Final = "done"
BY_ADJUDICATOR: Final = ("taken", "written")
"""How an adjudicator settles a place."""


def submitted_works(session: Session, unit_id: str) -> list[tuple[AssignmentRow, dict[str, Json]]]:
    """All submitted work of annotators on a unit, in the order of submission, with the values by place.

    Callers first check that the unit is complete: until then nobody sees another's work.
    """
    rows = session.execute(
        select(AssignmentRow, EntryRow)
        .outerjoin(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
        .where(AssignmentRow.unit_id == unit_id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id, EntryRow.place)
    )
    found: dict[str, tuple[AssignmentRow, dict[str, Json]]] = {}
    for copy, entry in rows:
        values = found.setdefault(copy.id, (copy, {}))[1]
        if entry is not None:
            values[entry.place] = entry.value
    return list(found.values())


def settle_if_complete(change: Transaction, unit: UnitRow, task: ReviewTask, *, approval: bool) -> bool:
    """Settle what can be settled if all work on an open unit is in; returns whether it is.

    All work is in if enough people have submitted and no returned work is open. With `approval` an adjudicator looks at
    all places, even without disagreement.
    """
    session = change.session
    session.flush()
    if unit.gold is not None or unit.submitted < session.get_one(QueueRow, unit.queue_id).overlap:
        return False
    unfinished = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.unit_id == unit.id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state.in_(UNFINISHED)
        )
    ).all()
    if any(row.state == "returned" for row in unfinished):
        return False
    for row in unfinished:
        lapse_work(change, row)
    disputed_places: list[str] = []
    unit.disputed = 0
    if task.adjudicated:
        found = submitted_works(session, unit.id)
        values = [values for _, values in found]
        places = _all_places(unit, task, values)
        differing = _differing(unit, task, places, values)
        unit.disputed = len(differing)
        disputed_places = places if approval else differing
        how, people = ("sole" if len(found) == 1 else "agreed"), [row.person_id for row, _ in found]
        for place in places:
            if place not in disputed_places:
                _store_result(change, unit, place, values[0].get(place), how, people)
    unit.state = ADJUDICATION if disputed_places else DONE
    after = {"state": unit.state, "disputed": disputed_places, "differing": unit.disputed}
    change.record("complete", unit.id, after=after)
    return True


def set_overlap(change: Transaction, queue: QueueRow, task: ReviewTask, overlap: int, *, approval: bool) -> int:
    """Change how many people do each unit of a queue; returns how many units now have enough work and are complete."""
    session = change.session
    change.record("overlap", queue.id, before={"overlap": queue.overlap}, after={"overlap": overlap})
    queue.overlap = overlap
    begun = exists().where(AssignmentRow.unit_id == UnitRow.id)
    units = session.scalars(
        select(UnitRow).where(UnitRow.queue_id == queue.id, UnitRow.state == OPEN, UnitRow.gold.is_(None), begun)
    ).all()
    for unit in units:
        make_room(change, unit, ANNOTATOR, unfinished_copies(change, unit, ANNOTATOR))
    return sum(settle_if_complete(change, unit, task, approval=approval) for unit in units)


def release_work(
    change: Transaction, person_id: str, *, approval: bool, roles: Sequence[str] = (ANNOTATOR, ADJUDICATOR)
) -> int:
    """Give all unfinished work of a person to others, as when they leave the team; returns the number of copies."""
    session = change.session
    found = session.scalars(
        select(AssignmentRow).where(
            AssignmentRow.person_id == person_id,
            AssignmentRow.role.in_(roles),
            AssignmentRow.state.in_(UNFINISHED),
        )
    ).all()
    for row in found:
        lapse_work(change, row)
        unit = session.get_one(UnitRow, row.unit_id)
        if unit.state == OPEN:
            settle_if_complete(change, unit, TASKS[session.get_one(QueueRow, unit.queue_id).task], approval=approval)
    return len(found)


def disputed_places(session: Session, unit: UnitRow, task: ReviewTask) -> list[str]:
    """The places of a complete unit that are not settled."""
    settled = set(session.scalars(select(ResultRow.place).where(ResultRow.unit_id == unit.id)))
    values = [values for _, values in submitted_works(session, unit.id)]
    return [place for place in _all_places(unit, task, values) if place not in settled]


class Settlement(Value):
    """An adjudicator's decision about a place: somebody's work by its assignment, or the adjudicator's own value."""

    take: str | None = None
    """The assignment whose value counts."""
    write: Json = None
    """A value of the task."""
    sources: Annotated[dict[str, str], Field(alias="from")] = Field(default_factory=dict)
    """Whose the fields of a written value are: an assignment by field."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.take is None) == (self.write is None) or (self.take is not None and self.sources):
            raise ValueError("give either 'take' with an assignment, or 'write' with a value")
        return self


def check_settlement(session: Session, unit: UnitRow, task: ReviewTask, place: str, value: Json) -> Json:
    """An adjudicator's decision about a place of a complete unit, a `Settlement`, as it is stored.

    Raises:
        InvalidValue: It is none, the place is settled, or a field is not as in the work that it is said to be from.
    """
    if place not in disputed_places(session, unit, task):
        raise InvalidValue("there is nothing to settle at this place", field="place")
    found = Settlement.parsed(value)
    works = {row.id: values for row, values in submitted_works(session, unit.id)}
    stored: dict[str, Json] = {"note": found.note, "unsure": found.unsure}
    if found.take is not None:
        if found.take not in works:
            raise InvalidValue("there is no such work on this task", field="take")
        return {"take": found.take, **stored}
    written = check_reasons(session, task.check(unit.content, place, found.write))
    if not task.is_decided(written):
        raise InvalidValue("the value needs a decision", field="write")
    stored = {"write": written, **stored}
    for name, source in found.sources.items():
        there = works.get(source, {}).get(place)
        if there is None or name not in there or there[name] != found.write.get(name):
            raise InvalidValue(f"{name[:80]!r} is not as in the work that it is said to be from", field="from")
        # The task may store another value than was sent, as an accepted turn with changes.
        if written.get(name) == there[name]:
            stored.setdefault("from", {})[name] = source
    return stored


def undecided_disputes(
    session: Session, unit: UnitRow, task: ReviewTask, decisions: Mapping[str, EntryRow]
) -> list[str]:
    """Disputed places that an adjudicator has not decided, or must look at again."""
    there = {row.id for row, _ in submitted_works(session, unit.id)}
    found = []
    for place in disputed_places(session, unit, task):
        row = decisions.get(place)
        if row is None or row.value is None or row.stale:
            found.append(place)
        # Work that was taken may no longer be submitted.
        elif "take" in row.value and row.value["take"] not in there:
            found.append(place)
    return found


def settle_as_decided(
    change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask, decisions: Mapping[str, Json]
) -> None:
    """Settle all disputed places of a unit as its adjudicator decided."""
    found = {row.id: (row.person_id, values) for row, values in submitted_works(change.session, unit.id)}
    for place in disputed_places(change.session, unit, task):
        decision = decisions[place]
        if "take" in decision:
            person_id, values = found[decision["take"]]
            _store_result(change, unit, place, values.get(place), "taken", [person_id, assignment.person_id])
        else:
            _store_result(change, unit, place, decision["write"], "written", [assignment.person_id])
    unit.state = DONE
    change.record("settle", unit.id, after={"by": assignment.id, "state": DONE})


def unsettle(change: Transaction, unit: UnitRow) -> None:
    """Open a complete unit again because some of its work is returned or taken back. Its results are deleted."""
    session = change.session
    session.execute(delete(ResultRow).where(ResultRow.unit_id == unit.id))
    change.record("unsettle", unit.id, before={"state": unit.state}, after={"state": OPEN})
    unit.state, unit.set_aside = OPEN, None
    # The decisions of the adjudicator stay, for them to check and to go on with when all work is in again.
    judging = select(AssignmentRow).where(AssignmentRow.unit_id == unit.id, AssignmentRow.role == ADJUDICATOR)
    for row in session.scalars(judging).all():
        if row.state != LAPSED:
            lapse_work(change, row)
        row.submitted_at = None
        for entry in session.scalars(select(EntryRow).where(EntryRow.assignment_id == row.id)):
            entry.stale = True


def reconsider(change: Transaction, unit: UnitRow) -> None:
    """Let an adjudicator decide a settled unit again. What people agreed on stays settled."""
    session = change.session
    session.execute(delete(ResultRow).where(ResultRow.unit_id == unit.id, ResultRow.how.in_(BY_ADJUDICATOR)))
    change.record("reconsider", unit.id, before={"state": unit.state}, after={"state": ADJUDICATION})
    unit.state, unit.set_aside = ADJUDICATION, None


def _store_result(change: Transaction, unit: UnitRow, place: str, value: Json, how: str, people: Sequence[str]) -> None:
    row = ResultRow(unit_id=unit.id, place=place, value=value, how=how, people=list(people), at=change.at)
    change.session.add(row)
    change.record("result", unit.id, place=place, after={"value": value, "how": how, "people": list(people)})


def _all_places(unit: UnitRow, task: ReviewTask, works_values: Sequence[Mapping[str, Json]]) -> list[str]:
    fixed = list(task.places(unit.content))
    more = {place for values in works_values for place, value in values.items() if value is not None}
    return fixed + sorted(more - set(fixed))


def _differing(
    unit: UnitRow, task: ReviewTask, places: Sequence[str], works_values: Sequence[Mapping[str, Json]]
) -> list[str]:
    def essences(place: str) -> list[Json]:
        given = [values.get(place) for values in works_values]
        return [task.essence(unit.content, place, value) if value is not None else None for value in given]

    found = {place: essences(place) for place in places}
    return [place for place, (first, *others) in found.items() if any(essence != first for essence in others)]


LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LABELLED: Final = {"decision": [Decision.ACCEPT.value, Decision.EDIT.value, Decision.SKIP.value]}
CHOICES: Final[dict[str, dict[str, list[str]]]] = {
    "turns": {"decision": [decision.value for decision in Decision]},
    "links": {"decision": ["keep", "delete"]},
    "tagging": _LABELLED,
    "types": _LABELLED,
}
"""The closed list of values of a field, by task and field. The reasons of turns are the project's (`reasons.py`)."""
FIELDS: Final[dict[str, list[str]]] = {
    "turns": ["decision", "reasons", *EDITABLE, *REMARKS],
    "links": ["decision", "relations", "skills", "question", "references", "fits", *REMARKS],
}
"""The order of fields in the form for an own value, by task. Other fields follow."""


def open_disputes(session: Session, person_id: str) -> list[tuple[str, str, int, int]]:
    """The queues in which this person has something to adjudicate.

    Returns:
        Queue id, queue title, number of units that nobody has taken, and number of units that this person has begun.
    """
    counts: dict[str, list[int]] = {}
    for number, conditions in enumerate((_open_to(person_id, timestamp()), _begun_by(person_id))):
        query = select(UnitRow.queue_id, func.count()).where(*conditions).group_by(UnitRow.queue_id)
        for queue_id, count in session.execute(query):
            counts.setdefault(queue_id, [0, 0])[number] = count
    queues = session.execute(select(QueueRow.id, QueueRow.title).order_by(QueueRow.position, QueueRow.id))
    return [
        (queue_id, title, counts[queue_id][0], counts[queue_id][1]) for queue_id, title in queues if queue_id in counts
    ]


def next_dispute(
    change: Transaction, person_id: str, queue_id: str, *, lease_minutes: int, unit_id: str | None = None
) -> AssignmentRow | None:
    """The unit to decide next, or only `unit_id`: one that this person began, else the first that nobody has."""
    wanted = UnitRow.id == unit_id if unit_id is not None else true()
    begun = change.session.scalars(
        select(AssignmentRow)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(
            UnitRow.queue_id == queue_id,
            UnitRow.state == ADJUDICATION,
            wanted,
            _goes_on(person_id),
        )
        .order_by(AssignmentRow.state == LAPSED, UnitRow.position)
        .limit(1)
    ).one_or_none()
    if begun is not None:
        regain_place(change, begun, change.session.get_one(UnitRow, begun.unit_id))
        renew_lease(begun, lease_minutes=lease_minutes, now=change.at)
        return begun
    unit = change.session.scalars(
        select(UnitRow)
        .where(UnitRow.queue_id == queue_id, wanted, *_open_to(person_id, change.at))
        .order_by(UnitRow.position)
        .limit(1)
    ).one_or_none()
    return take_unit(change, unit, person_id, ADJUDICATOR, lease_minutes=lease_minutes) if unit is not None else None


def _begun_by(person_id: str) -> tuple[ColumnElement[bool], ...]:
    return (UnitRow.state == ADJUDICATION, exists().where(AssignmentRow.unit_id == UnitRow.id, _goes_on(person_id)))


def _goes_on(person_id: str) -> ColumnElement[bool]:
    """As SQL: an adjudicator's own copy, in work or lapsed while nobody else has the unit."""
    other = aliased(AssignmentRow)
    taken = exists().where(other.unit_id == AssignmentRow.unit_id, other.role == ADJUDICATOR, other.state.in_(LIVE))
    return and_(
        AssignmentRow.person_id == person_id,
        AssignmentRow.role == ADJUDICATOR,
        or_(AssignmentRow.state == "working", and_(AssignmentRow.state == LAPSED, ~taken)),
    )


def _open_to(person_id: str, now: str) -> tuple[ColumnElement[bool], ...]:
    """As SQL: units to adjudicate that no adjudicator holds and in which this person has no other work."""
    mine = exists().where(AssignmentRow.unit_id == UnitRow.id, AssignmentRow.person_id == person_id)
    held = exists().where(AssignmentRow.unit_id == UnitRow.id, holds_place(now, ADJUDICATOR))
    return (UnitRow.state == ADJUDICATION, ~mine, ~held, may_know(person_id))


def annotators_work(session: Session, unit: UnitRow) -> list[tuple[str, AssignmentRow, dict[str, Json]]]:
    """The annotators' work as A, B and so on, in a random order that is the same each time."""
    found = submitted_works(session, unit.id)
    found.sort(key=lambda work: hashlib.sha256(f"{unit.id} {work[0].id}".encode()).digest())
    return [(LETTERS[number % len(LETTERS)], row, values) for number, (row, values) in enumerate(found)]


def dispute_view(session: Session, unit: UnitRow, task: ReviewTask, *, names: bool) -> dict[str, Json]:
    """What an adjudicator sees of a complete unit beside their own decisions; `names`: whose A and B are."""
    open_places = disputed_places(session, unit, task)
    found = annotators_work(session, unit)
    settled = {row.place: row for row in session.scalars(select(ResultRow).where(ResultRow.unit_id == unit.id))}
    people = {
        person.id: person.name
        for person in session.scalars(select(PersonRow).where(PersonRow.id.in_([row.person_id for _, row, _ in found])))
    }
    reasons = [reason["name"] for reason in offered_reasons(session, task.kind)]
    known = [*task.places(unit.content)]
    places = known + [place for place in [*open_places, *settled] if place not in known]
    return {
        "sides": [
            {"id": row.id, "letter": letter, "round": row.round, "name": people[row.person_id] if names else None}
            for letter, row, _ in found
        ],
        "disputed": open_places,
        "choices": {**CHOICES.get(task.kind, {}), **({"reasons": reasons} if reasons else {})},
        "fields": FIELDS.get(task.kind, []),
        "places": {
            place: {
                "draft": _shown(task, unit.content, place, _draft(task, unit.content, place)),
                "sides": {row.id: _shown(task, unit.content, place, values.get(place)) for _, row, values in found},
                "settled": _shown(task, unit.content, place, settled[place].value) if place in settled else None,
                "how": settled[place].how if place in settled else None,
            }
            for place in dict.fromkeys(places)
        },
    }


def _draft(task: ReviewTask, content: Mapping[str, Json], place: str) -> Json:
    # A place that somebody added, such as a new link, has no draft.
    return task.draft_value(content, place) if place in task.places(content) else None


def _shown(task: ReviewTask, content: Mapping[str, Json], place: str, value: Json) -> Json:
    if value is None:
        return {"value": None, "lines": []}
    return {"value": value, "lines": [list(line) for line in task.summary(content, place, value)]}
