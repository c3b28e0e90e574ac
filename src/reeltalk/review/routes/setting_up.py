"""For owners: queues and the project's settings."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError
from sqlalchemy import func, select

from reeltalk.review import setting_up
from reeltalk.review.access import Action
from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.project import Project, ProjectSettings
from reeltalk.review.refusals import BadValueError, ConflictError, Refusal
from reeltalk.review.tables import QueueRow, UnitRow
from reeltalk.review.web import FormNumber, ProjectHere, ShortText, changing_by_form, seeing

router = APIRouter(prefix="/setup")
Owner = Annotated[Person, changing_by_form(Action.MANAGE)]


@router.get("", response_class=HTMLResponse)
def show_setup(
    request: Request, project: ProjectHere, person: Annotated[Person, seeing(Action.MANAGE)], saved: str = ""
) -> Response:
    """Queues and settings, each with its form."""
    return _page(request, project, person, saved=saved)


@router.post("/queues/{queue_id}", response_class=HTMLResponse)
def change_queue(
    request: Request,
    project: ProjectHere,
    person: Owner,
    queue_id: str,
    title: ShortText,
    position: FormNumber,
    overlap: FormNumber,
    is_open: ShortText = "",
) -> Response:
    """Set a queue up."""
    try:
        with changing(project.database, person.id) as change:
            setting_up.change_queue(
                change,
                queue_id,
                title=title,
                position=position,
                overlap=overlap,
                is_open=is_open == "yes",
                approval=project.settings.approval,
            )
    except (BadValueError, ConflictError) as error:
        return _page(request, project, person, problem=error, at=queue_id)
    return RedirectResponse("/setup?saved=queue", status_code=303)


@router.post("/settings", response_class=HTMLResponse)
def change_settings(
    request: Request,
    project: ProjectHere,
    person: Owner,
    lease_minutes: ShortText,
    approval: ShortText = "",
    least_agreement: ShortText = "",
) -> Response:
    """Set the project up."""
    try:
        settings = _settings(lease_minutes, approval, least_agreement)
        with changing(project.database, person.id) as change:
            setting_up.change_settings(change, settings)
    except (BadValueError, ConflictError) as error:
        return _page(request, project, person, problem=error, at=setting_up.PROJECT)
    project.settings = settings
    return RedirectResponse("/setup?saved=settings", status_code=303)


def _settings(lease_minutes: str, approval: str, least_agreement: str) -> ProjectSettings:
    try:
        # A browser sends texts; the settings are strict about numbers, and say which field is wrong.
        return ProjectSettings.model_validate_strings(
            {
                "lease_minutes": lease_minutes.strip(),
                "approval": "true" if approval == "yes" else "false",
                **({"least_agreement": least_agreement.strip()} if least_agreement.strip() else {}),
            }
        )
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        wanted = {
            "lease_minutes": "a unit is held for 1 to 1440 whole minutes",
            "least_agreement": "the least agreement is a number from -1 to 1, or empty",
        }
        raise BadValueError(wanted.get(field, f"{field} cannot be used"), field=field) from None


def _page(
    request: Request,
    project: Project,
    person: Person,
    *,
    problem: Refusal | None = None,
    at: str = "",
    saved: str = "",
) -> Response:
    with project.database.reading() as session:
        counts: dict[str, int] = dict(
            session.execute(select(UnitRow.queue_id, func.count()).group_by(UnitRow.queue_id)).all()
        )
        return page(
            request,
            "setup.html",
            person,
            status=problem.status if problem is not None else 200,
            queues=session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id)).all(),
            counts=counts,
            settings=project.settings,
            largest_overlap=setting_up.LARGEST_OVERLAP,
            problem=problem,
            at=at,
            saved=saved in ("queue", "settings"),
        )
