"""The table of units, the page of one unit, and what is done to many units at once: pages and JSON API."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AfterValidator
from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review import unit_changes, units
from reeltalk_review.access import Action, may
from reeltalk_review.database import ReviewProject, in_batches
from reeltalk_review.errors import Conflict
from reeltalk_review.events import transaction
from reeltalk_review.people import User
from reeltalk_review.routes.media import video_view
from reeltalk_review.settling import next_dispute
from reeltalk_review.sheets import CSV, Format, stream_csv
from reeltalk_review.tables import PersonRow
from reeltalk_review.team_stats import queue_progress
from reeltalk_review.unit_changes import Outcome
from reeltalk_review.unit_detail import UnitDetail, unit_detail
from reeltalk_review.units import UnitPage, UnitQuery
from reeltalk_review.web import ProjectHere, ShortText, page, plain_text, require, require_form

router = APIRouter()
Viewer = Annotated[User, require(Action.SEE_RESULTS)]
Returner = Annotated[User, require_form(Action.ADJUDICATE)]
Owner = Annotated[User, require_form(Action.MANAGE)]


@router.get("/units", response_class=HTMLResponse)
def show_units(
    request: Request, project: ProjectHere, person: Viewer, query: Annotated[UnitQuery, Query()]
) -> Response:
    """Progress, and a page of the table. The address holds all filters, so that a view can be linked."""
    return _table(request, project, person, query)


def _table(
    request: Request,
    project: ReviewProject,
    person: User,
    query: UnitQuery,
    *,
    outcome: Outcome | None = None,
    done: str = "",
) -> Response:
    with project.database.reading() as session:
        found = units.find_units(session, person, query)
        people = _people(session)
        return page(
            request,
            "units.html",
            person,
            found=found,
            query=query,
            progress=queue_progress(session),
            people=people,
            workers=[row for row in people if row.disabled_at is None and may(row.role, Action.WORK)],
            states=_states(person),
            outcome=outcome,
            done=done,
        )


def _states(person: User) -> dict[str, str]:
    judges = may(person.role, Action.ADJUDICATE)
    return {name: words for name, words in units.STATES.items() if judges or name in ("adjudication", "done")}


def _people(session: Session) -> Sequence[PersonRow]:
    return session.scalars(select(PersonRow).order_by(PersonRow.disabled_at.is_not(None), PersonRow.sign_in)).all()


@router.get("/units/{unit_id}", response_class=HTMLResponse)
def show_unit(request: Request, project: ProjectHere, unit_id: str, person: Viewer) -> Response:
    """One unit, read-only."""
    with project.database.reading() as session:
        detail, row = unit_detail(session, person, unit_id)
        return page(
            request,
            "unit.html",
            person,
            detail=detail,
            video=video_view(project, session, person.id, row),
            states=units.STATES,
        )


@router.post("/units/{unit_id}/adjudicate")
def adjudicate_now(project: ProjectHere, unit_id: str, person: Returner) -> Response:
    """Settle this unit now, if nobody else does."""
    with transaction(project.database, person.id) as change:
        _, row = unit_detail(change.session, person, unit_id)
        minutes = project.settings.lease_minutes
        found = next_dispute(change, person.id, row.queue_id, lease_minutes=minutes, unit_id=row.id)
        if found is None:
            raise Conflict("this task does not wait for you: it is settled, somebody else settles it, or it is yours")
        return RedirectResponse(f"/adjudicate/{found.id}", status_code=303)


Ids = Annotated[list[ShortText], Form(max_length=units.ON_A_PAGE, default_factory=list)]
Names = Annotated[list[ShortText], Form(max_length=1000, default_factory=list)]
Count = Annotated[int, Form(ge=0, le=10**7)]


@router.post("/units/return", response_class=HTMLResponse)
def return_chosen(
    request: Request,
    project: ProjectHere,
    person: Returner,
    note: Annotated[str, Form(max_length=4000), AfterValidator(plain_text)],
    unit: Ids,
    match: ShortText = "",
    count: Count = 0,
    every: ShortText = "",
) -> Response:
    """Return submitted work on the chosen units, with a note."""
    with transaction(project.database, person.id) as change:
        chosen = _chosen(change.session, person, unit, match, count, every)
        outcome = unit_changes.return_units(change, person, chosen, note)
    return _table(request, project, person, UnitQuery.of_address(match), outcome=outcome, done="returned")


@router.post("/units/assign", response_class=HTMLResponse)
def assign_chosen(
    request: Request,
    project: ProjectHere,
    person: Owner,
    unit: Ids,
    people: Names,
    match: ShortText = "",
    count: Count = 0,
    every: ShortText = "",
) -> Response:
    """Assign the chosen units to exactly the chosen people."""
    with transaction(project.database, person.id) as change:
        chosen = _chosen(change.session, person, unit, match, count, every)
        outcome = unit_changes.give_units(change, person, chosen, people)
    return _table(request, project, person, UnitQuery.of_address(match), outcome=outcome, done="assigned")


def _chosen(
    session: Session, person: User, unit_ids: Sequence[str], match: str, count: int, every: str
) -> Sequence[str]:
    """The chosen units, or all that match a view of the table."""
    if every != "yes":
        return unit_ids
    found = units.matching_ids(session, person, UnitQuery.of_address(match))
    unit_changes.check_same_count(found, count)
    return found


class ListQuery(UnitQuery):
    """What of the table to list, and how."""

    format: Format = "json"


@router.get("/api/units", response_model=UnitPage, responses=CSV)
def list_units(project: ProjectHere, person: Viewer, query: Annotated[ListQuery, Query()]) -> Any:
    """A page of the units that match. As CSV you get all of them at once."""
    with project.database.reading() as session:
        if query.format == "json":
            return units.find_units(session, person, query)
        unit_ids = units.matching_ids(session, person, query)
    return stream_csv("tasks", _lines(project, unit_ids), _COLUMNS)


_COLUMNS: Final = (
    *("id", "name", "queue_title", "task", "video", "state", "people", "assigned"),
    *("turns", "flags", "disputed", "notes", "unsure", "aside", "gold"),
)


def _lines(project: ReviewProject, unit_ids: Sequence[str]) -> Iterator[dict[str, Json]]:
    for some in in_batches(unit_ids, units.ON_A_PAGE):
        with project.database.reading() as session:
            for row in units.summaries(session, some):
                line = {name: getattr(row, name) for name in _COLUMNS}
                line["people"] = "; ".join(f"{one.name} ({one.state})" for one in row.people)
                line["assigned"] = "; ".join(row.assigned)
                yield line


@router.get("/api/units/{unit_id}")
def read_unit(project: ProjectHere, unit_id: str, person: Viewer) -> UnitDetail:
    """One unit: its turns, who works on it, its history, and once all work is in its settled values."""
    with project.database.reading() as session:
        return unit_detail(session, person, unit_id)[0]
