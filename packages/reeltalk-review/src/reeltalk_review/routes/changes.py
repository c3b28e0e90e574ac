"""The page of what settled work would change in the benchmark, for owners."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from reeltalk_review.access import Action
from reeltalk_review.applied import waiting_units
from reeltalk_review.applying.decisions import CHANGES
from reeltalk_review.applying.differences import changes_of
from reeltalk_review.applying.settled import done_units
from reeltalk_review.naming import unit_names
from reeltalk_review.people import User
from reeltalk_review.web import ProjectHere, page, require

router = APIRouter()
ON_A_PAGE: Final = 25
"""Tasks of one page."""


@router.get("/changes", response_class=HTMLResponse)
def show_changes(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require(Action.MANAGE)],
    number: Annotated[int, Query(alias="page", ge=1, le=10**6)] = 1,
) -> Response:
    """What `reeltalk review apply` would change, some tasks at a time."""
    with project.database.reading() as session:
        found = waiting_units(session, CHANGES, skipped=(number - 1) * ON_A_PAGE, most=ON_A_PAGE + 1)
        units = [unit for kind, unit_id in found[:ON_A_PAGE] for unit in done_units(session, kind, [unit_id])]
        names = unit_names(session, [unit.id for unit in units])
    return page(
        request,
        "changes.html",
        person,
        tasks=[(unit.id, names[unit.id], list(changes_of(unit))) for unit in units],
        benchmark=project.benchmark.name,
        number=number,
        has_more=len(found) > ON_A_PAGE,
    )
