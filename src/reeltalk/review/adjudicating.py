"""Disagreements for adjudicators: units on which people differ, side by side, without the people's names."""

import hashlib
from collections.abc import Mapping
from typing import Final

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.review.assigning import (
    ADJUDICATOR,
    LAPSED,
    LIVE,
    holds_place,
    may_know,
    regain_place,
    renew_lease,
    take_unit,
)
from reeltalk.review.errors import Conflict, NotFound
from reeltalk.review.events import Transaction
from reeltalk.review.settling import ADJUDICATION, disputed_places, submitted_works
from reeltalk.review.tables import AssignmentRow, PersonRow, QueueRow, ResultRow, UnitRow, moment
from reeltalk.review.tasks.task import ReviewTask
from reeltalk.review.tasks.turns import EDITABLE
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, Reason

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LABELLED: Final = {"decision": [Decision.ACCEPT.value, Decision.EDIT.value, Decision.SKIP.value]}
CHOICES: Final[dict[str, dict[str, list[str]]]] = {
    "turns": {"decision": [decision.value for decision in Decision], "reasons": [reason.value for reason in Reason]},
    "links": {"decision": ["keep", "delete"]},
    "tagging": _LABELLED,
    "types": _LABELLED,
}
"""The closed list of values of a field, by task and field."""
FIELDS: Final[dict[str, list[str]]] = {
    "turns": ["decision", "reasons", *EDITABLE, "note"],
    "links": ["decision", "relations", "skills", "question", "references", "fits", "note"],
}
"""The order of fields in the form for an own value, by task. Other fields follow."""


def open_disputes(session: Session, person_id: str) -> list[tuple[str, str, int, int]]:
    """The queues in which this person has something to adjudicate.

    Returns:
        Queue id, queue title, number of units that nobody has taken, and number of units that this person has begun.
    """
    counts: dict[str, list[int]] = {}
    for number, conditions in enumerate((_open_to(person_id, moment()), _begun_by(person_id))):
        query = select(UnitRow.queue_id, func.count()).where(*conditions).group_by(UnitRow.queue_id)
        for queue_id, count in session.execute(query):
            counts.setdefault(queue_id, [0, 0])[number] = count
    queues = session.execute(select(QueueRow.id, QueueRow.title).order_by(QueueRow.position, QueueRow.id))
    return [
        (queue_id, title, counts[queue_id][0], counts[queue_id][1]) for queue_id, title in queues if queue_id in counts
    ]


def next_dispute(change: Transaction, person_id: str, queue_id: str, *, lease_minutes: int) -> AssignmentRow | None:
    """The unit to decide next: one that this person began, else the first that nobody has; None if there is none."""
    begun = change.session.scalars(
        select(AssignmentRow)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(
            UnitRow.queue_id == queue_id,
            UnitRow.state == ADJUDICATION,
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
        .where(UnitRow.queue_id == queue_id, *_open_to(person_id, change.at))
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
    """As SQL: units to adjudicate that no adjudicator holds and in which this person has no other work.

    People who left, or who only looked and whose lease is over, hold nothing: a unit must not wait for them for ever.
    """
    mine = exists().where(AssignmentRow.unit_id == UnitRow.id, AssignmentRow.person_id == person_id)
    held = exists().where(AssignmentRow.unit_id == UnitRow.id, holds_place(now, ADJUDICATOR))
    return (UnitRow.state == ADJUDICATION, ~mine, ~held, may_know(person_id))


def own_dispute(session: Session, person_id: str, assignment_id: str) -> tuple[AssignmentRow, UnitRow]:
    """Somebody's own work as adjudicator, on a unit for which all work is in.

    Raises:
        NotFound: They have no such work.
        Conflict: Work on the unit was returned and is not in again.
    """
    assignment = session.get(AssignmentRow, assignment_id)
    if assignment is None or assignment.person_id != person_id or assignment.role != ADJUDICATOR:
        raise NotFound("you have no such work")
    unit = session.get_one(UnitRow, assignment.unit_id)
    # Returned work is blind again: nobody sees it until all of it is in.
    if unit.state == "open":
        raise Conflict("work on this task was returned to its annotator; continue when it is submitted again")
    return assignment, unit


def sides(session: Session, unit: UnitRow) -> list[tuple[str, AssignmentRow, dict[str, Json]]]:
    """The annotators' work as A, B and so on, in a random order that is the same each time."""
    found = submitted_works(session, unit.id)
    found.sort(key=lambda work: hashlib.sha256(f"{unit.id} {work[0].id}".encode()).digest())
    return [(LETTERS[number % len(LETTERS)], row, values) for number, (row, values) in enumerate(found)]


def dispute_view(session: Session, unit: UnitRow, task: ReviewTask, *, names: bool) -> dict[str, Json]:
    """Everything that the page shows besides the adjudicator's own decisions.

    Args:
        session: The database.
        unit: A complete unit.
        task: Its task.
        names: Also tell who A and B are.
    """
    open_places = disputed_places(session, unit, task)
    found = sides(session, unit)
    settled = {row.place: row for row in session.scalars(select(ResultRow).where(ResultRow.unit_id == unit.id))}
    people = {
        person.id: person.name
        for person in session.scalars(select(PersonRow).where(PersonRow.id.in_([row.person_id for _, row, _ in found])))
    }
    known = [*task.places(unit.content)]
    places = known + [place for place in [*open_places, *settled] if place not in known]
    return {
        "sides": [
            {"id": row.id, "letter": letter, "round": row.round, "name": people[row.person_id] if names else None}
            for letter, row, _ in found
        ],
        "disputed": open_places,
        "choices": CHOICES.get(task.kind, {}),
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
