"""The first page: queues, one's own work, and what to do next."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select
from sqlalchemy.orm import defer

from reeltalk.review.access import Action
from reeltalk.review.assigning import ADJUDICATOR, next_unit, open_units
from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.refusals import NotThereError
from reeltalk.review.tables import AssignmentRow, QueueRow, UnitRow, moment
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.web import ProjectHere, changing_by_form, seeing

router = APIRouter()


@router.get("/", response_class=HTMLResponse)
def show_home(request: Request, project: ProjectHere, person: Annotated[Person, seeing(Action.LOOK)]) -> Response:
    """Queues with what is left for this person, and the work they have begun or handed in."""
    with project.database.reading() as session:
        now = moment()
        queues = [
            {"row": queue, "task": TASKS[queue.task], "left": open_units(session, queue.id, person.id, now)}
            for queue in session.scalars(select(QueueRow).order_by(QueueRow.position))
            if queue.task in TASKS
        ]
        own = session.execute(
            select(AssignmentRow, UnitRow)
            .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
            .options(defer(UnitRow.content))
            .where(AssignmentRow.person_id == person.id)
            .order_by(AssignmentRow.state, AssignmentRow.created_at.desc())
            .limit(200)
        ).all()
        return page(request, "home.html", person, queues=queues, own=own)


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
