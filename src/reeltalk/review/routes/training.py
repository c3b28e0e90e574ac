"""The training round of a queue, for owners: its tasks, their explanations, the pass mark, and who is in training."""

from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AfterValidator

from reeltalk.review import training
from reeltalk.review.access import Action
from reeltalk.review.database import ReviewProject
from reeltalk.review.errors import ApiError, Conflict, InvalidValue, NotFound
from reeltalk.review.events import transaction
from reeltalk.review.naming import unit_names
from reeltalk.review.people import User
from reeltalk.review.tables import QueueRow, UnitRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.web import ProjectHere, ShortText, page, plain_text, require, require_form

router = APIRouter()
Owner = Annotated[User, require(Action.MANAGE)]
ChangingOwner = Annotated[User, require_form(Action.MANAGE)]
SHOWN = 100
"""How many settled tasks are offered."""


@router.get("/setup/queues/{queue_id}/training", response_class=HTMLResponse)
def show_training(request: Request, project: ProjectHere, queue_id: str, person: Owner) -> Response:
    """The training round of a queue."""
    return _page(request, project, person, queue_id)


@router.post("/setup/queues/{queue_id}/training", response_class=HTMLResponse)
def add_tasks(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    person: ChangingOwner,
    unit: Annotated[list[ShortText] | None, Form(max_length=training.MOST_TASKS)] = None,
) -> Response:
    """Put settled tasks into the training round."""
    try:
        with transaction(project.database, person.id) as change:
            training.add_training(change, queue_id, unit or [])
    except InvalidValue as error:
        return _page(request, project, person, queue_id, problem=error)
    return RedirectResponse(f"/setup/queues/{queue_id}/training", status_code=303)


@router.post("/setup/queues/{queue_id}/training/rule", response_class=HTMLResponse)
def change_rule(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    person: ChangingOwner,
    pass_percent: Annotated[int | None, Form(ge=-(10**9), le=10**9)] = None,
    let_in: ShortText = "",
) -> Response:
    """Change the pass mark, or let somebody in who is below it."""
    try:
        with transaction(project.database, person.id) as change:
            training.change_rule(change, queue_id, pass_percent=pass_percent, let_in=let_in or None)
    except InvalidValue as error:
        return _page(request, project, person, queue_id, problem=error)
    return RedirectResponse(f"/setup/queues/{queue_id}/training", status_code=303)


@router.post("/setup/training/{unit_id}", response_class=HTMLResponse)
def change_task(
    request: Request,
    project: ProjectHere,
    unit_id: str,
    person: ChangingOwner,
    text: Annotated[str, Form(max_length=30_000), AfterValidator(plain_text)] = "",
    action: Annotated[Literal["explain", "remove"], Form()] = "explain",
) -> Response:
    """Explain the known answers of a training task, or take it out of the round."""
    with project.database.reading() as session:
        unit = session.get(UnitRow, unit_id)
        queue_id = unit.queue_id if unit is not None else ""
    try:
        with transaction(project.database, person.id) as change:
            if action == "remove":
                training.remove_training(change, unit_id)
            else:
                training.explain_training(change, unit_id, text)
    except (InvalidValue, Conflict) as error:
        return _page(request, project, person, queue_id, problem=error, at=unit_id, typed=text)
    return RedirectResponse(f"/setup/queues/{queue_id}/training", status_code=303)


def _page(
    request: Request,
    project: ReviewProject,
    person: User,
    queue_id: str,
    *,
    problem: ApiError | None = None,
    at: str = "",
    typed: str = "",
) -> Response:
    with project.database.reading() as session:
        queue = session.get(QueueRow, queue_id)
        if queue is None or queue.task not in TASKS or not TASKS[queue.task].adjudicated:
            raise NotFound("there is no such queue, or its work has no known answers")
        task, units = TASKS[queue.task], training.training_tasks(session, queue_id)
        used = {unit.gold["source"] for unit in units}
        settled = [unit.id for unit in training.settled_units(session, queue_id) if unit.id not in used][:SHOWN]
        names = unit_names(session, [*settled, *(unit.id for unit in units)])
        tasks = []
        for unit in units:
            answers, places = unit.gold["answers"], training.known_places(session, unit)
            said = [(number, answers[place]["why"]) for number, place in enumerate(places, 1)]
            whys = [f"{number}: {why}" for number, why in said if why]
            values = [(place, answers[place]["value"]) for place in places]
            tasks.append(
                {
                    "id": unit.id,
                    "name": names[unit.id],
                    "text": typed if unit.id == at else "\n".join(whys),
                    "places": [
                        (place, task.summary(unit.content, place, value) if value is not None else [("", "nothing")])
                        for place, value in values
                    ],
                }
            )
        return page(
            request,
            "training.html",
            person,
            status=problem.status if problem is not None else 200,
            queue=queue,
            tasks=tasks,
            people=training.trainees(session, queue),
            pass_percent=training.pass_percent(queue),
            settled=[(unit_id, names[unit_id]) for unit_id in settled],
            problem=problem,
        )
