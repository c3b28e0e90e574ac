"""The table of units, the page of one unit, and what is done to many units at once: pages and JSON API."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review import unit_changes, units
from reeltalk_review.access import Action, may
from reeltalk_review.comments import comments_view
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import Conflict, Forbidden
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.people import User
from reeltalk_review.routes.media import video_view
from reeltalk_review.settling import next_dispute
from reeltalk_review.sheets import CSV, Format, stream_csv
from reeltalk_review.tables import PersonRow, QueueRow, VideoRow
from reeltalk_review.unit_changes import Outcome
from reeltalk_review.unit_detail import UnitDetail, unit_detail
from reeltalk_review.units import Sight, UnitPage, UnitQuery, sight_of
from reeltalk_review.web import ProjectHere, ShortText, page, plain_text, require, require_api, require_form

router = APIRouter()
Viewer = Annotated[User, require(Action.SEE_RESULTS)]
Returner = Annotated[User, require_form(Action.ADJUDICATE)]
Owner = Annotated[User, require_form(Action.MANAGE)]
NAMED_VIDEOS: Final = 200
"""Most videos that the field for a video suggests."""
Id = Annotated[str, Field(max_length=200), AfterValidator(plain_text)]


class Choice(UnitQuery):
    """Units that are chosen in the table, and what should be done with them."""

    action: Literal["return", "assign", "unassign"] = "return"
    unit: Annotated[list[Id], Field(max_length=200, default_factory=list)]
    all: Literal["", "yes"] = ""
    """All that match, in place of single units."""


def _sight(session: Session, project: ReviewProject, person: User) -> Sight:
    return sight_of(session, person, approval=project.settings.approval)


@router.get("/units", response_class=HTMLResponse)
def show_units(
    request: Request, project: ProjectHere, person: Viewer, query: Annotated[UnitQuery, Query()]
) -> Response:
    """A page of the table. The address holds all filters, so that a view can be linked."""
    with project.database.reading() as session:
        found = units.find_units(session, _sight(session, project, person), query)
        videos = session.scalars(select(VideoRow.id).order_by(VideoRow.id).limit(NAMED_VIDEOS)).all()
        return page(
            request,
            "units.html",
            person,
            found=found,
            query=query,
            queues=session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id)).all(),
            people=_people(session),
            videos=videos,
            states=_states(person),
            sorts=units.SORTS,
            first=(found.page - 1) * units.ON_A_PAGE + 1,
        )


def _states(person: User) -> dict[str, str]:
    judges = may(person.role, Action.ADJUDICATE)
    return {name: words for name, words in units.STATES.items() if judges or name in ("adjudication", "done")}


def _people(session: Session, *, able: bool = False) -> Sequence[PersonRow]:
    rows = session.scalars(select(PersonRow).order_by(PersonRow.disabled_at.is_not(None), PersonRow.sign_in))
    return [row for row in rows if not able or (row.disabled_at is None and may(row.role, Action.WORK))]


@router.get("/units/confirm", response_class=HTMLResponse)
def confirm_change(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require(Action.ADJUDICATE)],
    choice: Annotated[Choice, Query()],
) -> Response:
    """Say how many units would be changed, and ask for what is needed to do it."""
    if choice.action != "return" and not may(person.role, Action.MANAGE):
        raise Forbidden("only an owner assigns tasks")
    with project.database.reading() as session:
        sight = _sight(session, project, person)
        if choice.all:
            chosen = units.matching_ids(session, sight, choice)
        else:
            chosen = units.visible_ids(session, sight, choice.unit)
        shown = units.summaries(session, sight, chosen[: units.ON_A_PAGE])
        return page(
            request,
            "units_confirm.html",
            person,
            choice=choice,
            match=choice.address(),
            chosen=[] if choice.all else chosen,
            count=len(chosen),
            shown=shown,
            people=_people(session, able=True),
            workers={here.id: here.name for row in shown for here in row.people if here.state == "submitted"},
        )


@router.get("/units/{unit_id}", response_class=HTMLResponse)
def show_unit(request: Request, project: ProjectHere, unit_id: str, person: Viewer) -> Response:
    """One unit, read-only."""
    with project.database.reading() as session:
        detail, row = unit_detail(session, _sight(session, project, person), unit_id)
        comments: dict[str, Json] | None = None
        if may(person.role, Action.ADJUDICATE):
            comments = comments_view(session, person.id, row, names=detail.unit.state != "adjudication")
        return page(
            request,
            "unit.html",
            person,
            detail=detail,
            video=video_view(project, session, person.id, row),
            states=units.STATES,
            comments=comments,
        )


@router.post("/units/{unit_id}/adjudicate")
def adjudicate_now(project: ProjectHere, unit_id: str, person: Returner) -> Response:
    """Settle this unit now, if nobody else does."""
    with transaction(project.database, person.id) as change:
        _, row = unit_detail(change.session, _sight(change.session, project, person), unit_id)
        minutes = project.settings.lease_minutes
        found = next_dispute(change, person.id, row.queue_id, lease_minutes=minutes, unit_id=row.id)
        if found is None:
            raise Conflict("this task does not wait for you: it is settled, somebody else settles it, or it is yours")
        return RedirectResponse(f"/adjudicate/{found.id}", status_code=303)


Ids = Annotated[list[ShortText], Form(max_length=units.ON_A_PAGE, default_factory=list)]
Names = Annotated[list[ShortText], Form(max_length=1000, default_factory=list)]


@router.post("/units/return", response_class=HTMLResponse)
def return_chosen(
    request: Request,
    project: ProjectHere,
    person: Returner,
    note: Annotated[str, Form(max_length=4000), AfterValidator(plain_text)],
    unit: Ids,
    match: ShortText = "",
    count: Annotated[int, Form(ge=0, le=10**7)] = 0,
    whose: ShortText = "",
) -> Response:
    """Return submitted work on the chosen units."""
    with transaction(project.database, person.id) as change:
        sight = _sight(change.session, project, person)
        chosen = _chosen(change.session, sight, unit, match, count)
        outcome = unit_changes.return_units(change, sight, chosen, note, person_id=whose or None)
    return _done(request, person, outcome, "returned", match)


@router.post("/units/assign", response_class=HTMLResponse)
def assign_chosen(
    request: Request,
    project: ProjectHere,
    person: Owner,
    unit: Ids,
    people: Names,
    match: ShortText = "",
    count: Annotated[int, Form(ge=0, le=10**7)] = 0,
    instead: ShortText = "",
    release: ShortText = "",
) -> Response:
    """Assign the chosen units to people."""
    with transaction(project.database, person.id) as change:
        sight = _sight(change.session, project, person)
        outcome = unit_changes.give_units(
            change,
            sight,
            _chosen(change.session, sight, unit, match, count),
            people,
            instead=instead == "yes",
            release=release == "yes",
            approval=project.settings.approval,
        )
    return _done(request, person, outcome, "assigned", match)


@router.post("/units/unassign", response_class=HTMLResponse)
def unassign_chosen(
    request: Request,
    project: ProjectHere,
    person: Owner,
    unit: Ids,
    match: ShortText = "",
    count: Annotated[int, Form(ge=0, le=10**7)] = 0,
    release: ShortText = "",
) -> Response:
    """End all assignments of the chosen units."""
    with transaction(project.database, person.id) as change:
        sight = _sight(change.session, project, person)
        chosen = _chosen(change.session, sight, unit, match, count)
        outcome = unit_changes.take_units_away(
            change, sight, chosen, release=release == "yes", approval=project.settings.approval
        )
    return _done(request, person, outcome, "taken back", match)


def _chosen(session: Session, sight: Sight, unit_ids: Sequence[str], match: str, count: int) -> Sequence[str]:
    """The chosen units, or all that match a view of the table."""
    if unit_ids:
        return unit_ids
    found = units.matching_ids(session, sight, UnitQuery.of_address(match))
    unit_changes.check_same_count(found, count)
    return found


def _done(request: Request, person: User, outcome: Outcome, what: str, match: str) -> Response:
    return page(request, "units_done.html", person, outcome=outcome, what=what, match=match)


class OutcomeView(BaseModel):
    """What was done to units."""

    done: int
    """Number of units."""
    refused: dict[str, int]
    """How many were left as they are, by reason."""
    warnings: list[str]


class UnitIds(BaseModel):
    """Body of a change of units."""

    model_config = ConfigDict(extra="forbid")

    units: Annotated[list[Id], Field(min_length=1, max_length=unit_changes.MOST_ASSIGNED)]


class ReturnUnits(UnitIds):
    """Body of a return."""

    note: Annotated[str, Field(max_length=2000), AfterValidator(plain_text)]
    """What should be done again."""
    person: Id | None = None
    """Only this person's work."""


class AssignUnits(UnitIds):
    """Body of an assignment."""

    people: Annotated[list[Id], Field(max_length=1000)] = []
    instead: bool = False
    """True: earlier assignments of these units end."""
    release: bool = False
    """True: unfinished work of people to whom the unit is not assigned makes room. What they saved is kept."""


class UnassignUnits(UnitIds):
    """Body of the end of assignments."""

    release: bool = False
    """True: unfinished work makes room, too. What people saved is kept."""


class ListQuery(UnitQuery):
    """What of the table to list, and how."""

    format: Format = "json"


@router.get("/api/units", response_model=UnitPage, responses=CSV)
def list_units(project: ProjectHere, person: Viewer, query: Annotated[ListQuery, Query()]) -> Any:
    """A page of the units that match. As CSV you get all of them at once."""
    with project.database.reading() as session:
        sight = _sight(session, project, person)
        if query.format == "json":
            return units.find_units(session, sight, query)
        unit_ids = units.matching_ids(session, sight, query)
    return stream_csv("tasks", _lines(project, person, unit_ids), _COLUMNS)


_COLUMNS: Final = (
    *("id", "name", "queue_title", "task", "video", "state", "people", "assigned"),
    *("turns", "flags", "disputed", "notes", "unsure", "aside", "gold"),
)


def _lines(project: ReviewProject, person: User, unit_ids: Sequence[str]) -> Iterator[dict[str, Json]]:
    for start in range(0, len(unit_ids), units.ON_A_PAGE):
        with project.database.reading() as session:
            sight = _sight(session, project, person)
            for row in units.summaries(session, sight, unit_ids[start : start + units.ON_A_PAGE]):
                line = {name: getattr(row, name) for name in _COLUMNS}
                line["people"] = "; ".join(f"{one.name} ({one.state})" for one in row.people)
                line["assigned"] = "; ".join(one.name for one in row.assigned)
                yield line


@router.get("/api/units/{unit_id}")
def read_unit(project: ProjectHere, unit_id: str, person: Viewer) -> UnitDetail:
    """One unit: its turns, who works on it, its history, and once all work is in its settled values."""
    with project.database.reading() as session:
        return unit_detail(session, _sight(session, project, person), unit_id)[0]


@router.post("/api/units/return", response_model=OutcomeView)
def return_by_script(
    request: Request,
    project: ProjectHere,
    body: ReturnUnits,
    person: Annotated[User, require_api(Action.ADJUDICATE)],
    key: RequestKey,
) -> JSONResponse:
    """Return submitted work on units to its annotators, with a note."""

    def do(change: Transaction, sight: Sight) -> Outcome:
        return unit_changes.return_units(change, sight, body.units, body.note, person_id=body.person)

    return _answer(request, project, body, person, key, do)


@router.post("/api/units/assign", response_model=OutcomeView)
def assign_by_script(
    request: Request,
    project: ProjectHere,
    body: AssignUnits,
    person: Annotated[User, require_api(Action.MANAGE)],
    key: RequestKey,
) -> JSONResponse:
    """Assign units to people."""

    def do(change: Transaction, sight: Sight) -> Outcome:
        return unit_changes.give_units(
            change,
            sight,
            body.units,
            body.people,
            instead=body.instead,
            release=body.release,
            approval=project.settings.approval,
        )

    return _answer(request, project, body, person, key, do)


@router.post("/api/units/unassign", response_model=OutcomeView)
def unassign_by_script(
    request: Request,
    project: ProjectHere,
    body: UnassignUnits,
    person: Annotated[User, require_api(Action.MANAGE)],
    key: RequestKey,
) -> JSONResponse:
    """End all assignments of units."""

    def do(change: Transaction, sight: Sight) -> Outcome:
        return unit_changes.take_units_away(
            change, sight, body.units, release=body.release, approval=project.settings.approval
        )

    return _answer(request, project, body, person, key, do)


def _answer(request: Request, project: ReviewProject, body: BaseModel, person: User, key: str, do: Any) -> JSONResponse:
    def change_units(change: Transaction) -> Json:
        return do(change, _sight(change.session, project, person)).document()

    return answer_once(project, person, key, request, body.model_dump(mode="json"), change_units)
