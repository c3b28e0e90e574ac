"""The first page: work that came back, where one stopped, queues with their progress, and what to do next."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, may
from reeltalk.review.adjudicating import waiting
from reeltalk.review.assigning import ADJUDICATOR, UNFINISHED, next_unit, open_units
from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.refusals import NotThereError
from reeltalk.review.settling import ADJUDICATION, DONE
from reeltalk.review.tables import AssignmentRow, EntryRow, QueueRow, UnitRow, moment
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.web import ProjectHere, changing_by_form, seeing

router = APIRouter()
RECENT = 50
"""Units that were handed in and are listed."""


@router.get("/", response_class=HTMLResponse)
def show_home(
    request: Request, project: ProjectHere, person: Annotated[Person, seeing(Action.LOOK)], nothing: str = ""
) -> Response:
    """What came back, where the person stopped, queues, and what they handed in."""
    with project.database.reading() as session:
        own = _own(session, person.id, UNFINISHED)
        return page(
            request,
            "home.html",
            person,
            queues=_queues(session, person),
            returned=[row for row in own if row["state"] == "returned"],
            begun=[row for row in own if row["state"] == "working"],
            handed_in=_own(session, person.id, ("submitted",), RECENT),
            disputed=_disputed(session, person),
            nothing=nothing == "1",
        )


@router.post("/queues/{queue_id}/next")
def go_on(project: ProjectHere, queue_id: str, person: Annotated[Person, changing_by_form(Action.WORK)]) -> Response:
    """Go on with one's own work in a queue, or take the next unit."""
    with changing(project.database, person.id) as change:
        found = next_unit(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    if found is None:
        return RedirectResponse("/?nothing=1", status_code=303)
    return RedirectResponse(f"/work/{found.id}", status_code=303)


@router.get("/work/{assignment_id}", response_class=HTMLResponse)
def show_work(
    request: Request, project: ProjectHere, assignment_id: str, person: Annotated[Person, seeing(Action.WORK)]
) -> Response:
    """The screen of one's own work on a unit."""
    with project.database.reading() as session:
        assignment = session.get(AssignmentRow, assignment_id)
        if assignment is None or assignment.person_id != person.id:
            raise NotThereError("you have no such work")
        if assignment.role == ADJUDICATOR:
            return RedirectResponse(f"/adjudicate/{assignment.id}", status_code=303)
        unit = session.get_one(UnitRow, assignment.unit_id)
        task = TASKS[session.get_one(QueueRow, unit.queue_id).task]
        return page(request, task.template, person, assignment=assignment, unit=unit, task=task)


def _own(session: Session, person_id: str, states: Sequence[str], limit: int | None = None) -> list[Mapping[str, Any]]:
    """The person's work in some states, what they touched last first."""
    saved = select(func.max(EntryRow.at)).where(EntryRow.assignment_id == AssignmentRow.id).scalar_subquery()
    touched = func.coalesce(AssignmentRow.submitted_at, saved, AssignmentRow.created_at)
    query = (
        select(
            AssignmentRow.id,
            AssignmentRow.role,
            AssignmentRow.state,
            AssignmentRow.note,
            UnitRow.title,
            QueueRow.title.label("queue"),
            touched.label("touched"),
        )
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(AssignmentRow.person_id == person_id, AssignmentRow.state.in_(states))
        .order_by(touched.desc(), AssignmentRow.id)
        .limit(limit)
    )
    return [dict(row) for row in session.execute(query).mappings()]


def _queues(session: Session, person: Person) -> list[Mapping[str, Any]]:
    """Queues with how many of their units are complete, and how many are left for this person."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    # Units with planted faults look like any other where one works on them, and are no part of the progress.
    for queue, state, count in session.execute(
        select(UnitRow.queue_id, UnitRow.state, func.count())
        .where(UnitRow.gold.is_(None))
        .group_by(UnitRow.queue_id, UnitRow.state)
    ):
        counts[queue][state] = count
    works, now = may(person.role, Action.WORK), moment()
    return [
        {
            "row": row,
            "total": sum(counts[row.id].values()),
            "complete": sum(counts[row.id].get(state, 0) for state in (DONE, ADJUDICATION)),
            "left": open_units(session, row.id, person.id, now) if works and row.is_open and row.task in TASKS else 0,
            "in_pairs": row.task not in TASKS,
        }
        for row in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id))
    ]


def _disputed(session: Session, person: Person) -> int:
    """How many complete units this person could settle: those that nobody has, and those they began."""
    if not may(person.role, Action.ADJUDICATE):
        return 0
    return sum(free + begun for _, _, free, begun in waiting(session, person.id))
