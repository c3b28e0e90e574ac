"""Pages of owners: the team and its invitations, queues and settings, and the history of all changes."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ValidationError
from sqlalchemy import func, select

from reeltalk.schema.record import Json
from reeltalk.schema.review import REASON_TITLES
from reeltalk_review import administration, people
from reeltalk_review.access import Action, may
from reeltalk_review.administration import (
    MOST_EVENTS,
    TEAM_EVENTS,
    UNIT_EVENTS,
    EventFilter,
    VisibleEvent,
    all_events,
    events_after,
    events_before,
)
from reeltalk_review.assigning import ORDERS
from reeltalk_review.database import ProjectSettings, ReviewProject
from reeltalk_review.duties import assign_queue, queue_duties
from reeltalk_review.errors import ApiError, Conflict, InvalidValue
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.idempotency import form_key, make_secret_once
from reeltalk_review.people import User
from reeltalk_review.reasons import read_reasons
from reeltalk_review.sheets import CSV, Format, stream_csv
from reeltalk_review.tables import QueueRow, UnitRow, canonical_json
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import spoken_place
from reeltalk_review.web import (
    FormNumber,
    FormText,
    ProjectHere,
    ShortText,
    link_to,
    page,
    plain_text,
    require,
    require_form,
)

router = APIRouter()
Owner = Annotated[User, require(Action.MANAGE)]
Names = Annotated[list[ShortText], Form(max_length=1000, default_factory=list)]
ChangingOwner = Annotated[User, require_form(Action.MANAGE)]


@router.get("/team", response_class=HTMLResponse)
def show_team(request: Request, project: ProjectHere, person: Owner) -> Response:
    """People, open invitations, and the form that makes one."""
    return _team_page(request, project, person)


@router.post("/team/invitations", response_class=HTMLResponse)
def invite(
    request: Request,
    project: ProjectHere,
    person: ChangingOwner,
    role: ShortText,
    key: ShortText,
    note: ShortText = "",
    days: FormNumber = people.INVITATION_DAYS,
) -> Response:
    """Make an invitation and show its link once."""
    try:
        with transaction(project.database, person.id) as change:
            token = make_secret_once(
                change,
                request.app.state.one_time_secrets,
                person.id,
                key,
                "invitation",
                lambda: people.invite(change, project.secret, role, note, days=days)[1],
            )
    except InvalidValue as error:
        return _team_page(request, project, person, problem=error, note=note)
    return _team_page(request, project, person, link=link_to(request, f"/join/{token}") if token else "")


@router.post("/team/invitations/{invitation_id}/withdraw")
def withdraw(project: ProjectHere, person: ChangingOwner, invitation_id: str) -> Response:
    """Make an invitation's link useless."""
    with transaction(project.database, person.id) as change:
        people.withdraw(change, invitation_id)
    return RedirectResponse("/team", status_code=303)


@router.post("/team/people/{person_id}/role", response_class=HTMLResponse)
def change_role(
    request: Request, project: ProjectHere, person: ChangingOwner, person_id: str, role: ShortText
) -> Response:
    """Give somebody another role."""
    try:
        with transaction(project.database, person.id) as change:
            administration.change_role(change, person_id, role, approval=project.settings.approval)
    except (InvalidValue, Conflict) as error:
        return _team_page(request, project, person, problem=error)
    # An owner who gave the role up may not see this page any more.
    return RedirectResponse("/" if person_id == person.id else "/team", status_code=303)


@router.post("/team/people/{person_id}/disable", response_class=HTMLResponse)
def disable(request: Request, project: ProjectHere, person: ChangingOwner, person_id: str) -> Response:
    """Close somebody's account."""
    try:
        with transaction(project.database, person.id) as change:
            administration.disable_account(change, person_id, approval=project.settings.approval)
    except Conflict as error:
        return _team_page(request, project, person, problem=error)
    return RedirectResponse("/team", status_code=303)


@router.post("/team/people/{person_id}/enable")
def enable(project: ProjectHere, person: ChangingOwner, person_id: str) -> Response:
    """Open somebody's account again."""
    with transaction(project.database, person.id) as change:
        administration.enable_account(change, person_id)
    return RedirectResponse("/team", status_code=303)


def _team_page(
    request: Request,
    project: ReviewProject,
    person: User,
    *,
    problem: ApiError | None = None,
    link: str | None = None,
    note: str = "",
) -> Response:
    with project.database.reading() as session:
        return page(
            request,
            "team.html",
            person,
            status=problem.status if problem is not None else 200,
            members=administration.members(session),
            invitations=administration.open_invitations(session),
            names=people.names_by_id(session),
            problem=problem,
            link=link,
            note=note,
            key=form_key(),
            days=people.INVITATION_DAYS,
        )


@router.get("/setup", response_class=HTMLResponse)
def show_setup(request: Request, project: ProjectHere, person: Owner, saved: str = "") -> Response:
    """Queues and settings, each with its form."""
    return _setup_page(request, project, person, saved=saved)


@router.post("/setup/queues/{queue_id}", response_class=HTMLResponse)
def change_queue(
    request: Request,
    project: ProjectHere,
    person: ChangingOwner,
    queue_id: str,
    title: ShortText,
    position: FormNumber,
    overlap: FormNumber,
    people: Names,
    is_open: ShortText = "",
    order: ShortText = ORDERS[0],
    in_bulk: ShortText = "",
    labels: ShortText = "",
) -> Response:
    """Change a queue, and whom it is for."""
    try:
        with transaction(project.database, person.id) as change:
            administration.change_queue(
                change,
                queue_id,
                title=title,
                position=position - 1,
                overlap=overlap,
                is_open=is_open == "yes",
                approval=project.settings.approval,
                order=order,
                in_bulk=in_bulk == "yes",
                labels=labels == "yes",
            )
            assign_queue(change, queue_id, people)
    except (InvalidValue, Conflict) as error:
        return _setup_page(request, project, person, problem=error, at=queue_id)
    return RedirectResponse("/setup?saved=queue", status_code=303)


@router.post("/setup/settings", response_class=HTMLResponse)
def change_settings(
    request: Request,
    project: ProjectHere,
    person: ChangingOwner,
    lease_minutes: ShortText,
    approval: ShortText = "",
    least_agreement: ShortText = "",
) -> Response:
    """Change the project's settings."""
    try:
        given = _settings(lease_minutes, approval, least_agreement)
        with transaction(project.database, person.id) as change:
            settings = administration.change_settings(
                change,
                lease_minutes=given.lease_minutes,
                approval=given.approval,
                least_agreement=given.least_agreement,
            )
    except (InvalidValue, Conflict) as error:
        return _setup_page(request, project, person, problem=error, at=administration.PROJECT)
    project.settings = settings
    return RedirectResponse("/setup?saved=settings", status_code=303)


@router.post("/setup/reasons", response_class=HTMLResponse)
def change_reasons(request: Request, project: ProjectHere, person: ChangingOwner, reasons: FormText = "") -> Response:
    """Change the project's own reasons for rejecting."""
    try:
        with transaction(project.database, person.id) as change:
            settings = administration.change_settings(change, reasons=read_reasons(reasons))
    except (InvalidValue, Conflict) as error:
        return _setup_page(request, project, person, problem=error, at="reasons", typed=reasons)
    project.settings = settings
    return RedirectResponse("/setup?saved=reasons", status_code=303)


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
            "lease_minutes": "a task is held for 1 to 1440 whole minutes",
            "least_agreement": "the least agreement is a number from -1 to 1, or empty",
        }
        raise InvalidValue(wanted.get(field, f"{field} cannot be used"), field=field) from None


def _setup_page(
    request: Request,
    project: ReviewProject,
    person: User,
    *,
    problem: ApiError | None = None,
    at: str = "",
    saved: str = "",
    typed: str | None = None,
) -> Response:
    with project.database.reading() as session:
        counts: dict[str, int] = dict(
            session.execute(select(UnitRow.queue_id, func.count()).group_by(UnitRow.queue_id)).all()
        )
        queues = session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id)).all()
        team = [member.row for member in administration.members(session) if member.row.disabled_at is None]
        return page(
            request,
            "setup.html",
            person,
            status=problem.status if problem is not None else 200,
            queues=queues,
            workers=[row for row in team if may(row.role, Action.WORK)],
            assigned={
                row.id: {duty.person_id for duty in queue_duties(session, row.id)}
                for row in queues
                if row.task in TASKS
            },
            counts=counts,
            settings=project.settings,
            reasons=REASON_TITLES.values(),
            typed=typed,
            largest_overlap=administration.LARGEST_OVERLAP,
            problem=problem,
            at=at,
            saved=saved in ("queue", "settings", "reasons"),
        )


ON_A_PAGE = 50
LARGEST_SEQ = 2**31 - 1


Chosen = Annotated[str, Query(max_length=100), AfterValidator(plain_text)]


async def event_filter(
    person: Chosen = "", kind: Chosen = "", queue: Chosen = "", unit: Chosen = "", day: Chosen = ""
) -> EventFilter:
    """Which events an address selects."""
    return EventFilter(person, kind, queue, " ".join(unit.split()), day)


Filter = Annotated[EventFilter, Depends(event_filter)]


class HistoryEvent(BaseModel):
    """A change. Place and values are withheld until all work on the unit is in."""

    seq: int
    at: str
    author: str
    kind: str
    subject: str
    unit: str | None
    name: str | None
    place: str | None
    before: Any
    after: Any
    withheld: bool


class HistoryPage(BaseModel):
    """Events, first to last."""

    events: list[HistoryEvent]
    last: int
    """Ask for the events after this one next."""


@router.get("/history", response_class=HTMLResponse)
def show_history(
    request: Request,
    project: ProjectHere,
    person: Owner,
    chosen: Filter,
    before: Annotated[int | None, Query(ge=1, le=LARGEST_SEQ)] = None,
) -> Response:
    """Events, newest first, a page at a time."""
    problem = None
    with project.database.reading() as session:
        try:
            events = events_before(session, before, ON_A_PAGE + 1, chosen)
        except InvalidValue as error:
            problem, events = error, []
        names = people.names_by_id(session)
        return page(
            request,
            "history.html",
            person,
            status=problem.status if problem is not None else 200,
            events=events[:ON_A_PAGE],
            older=events[ON_A_PAGE - 1].seq if len(events) > ON_A_PAGE else None,
            latest=before is None,
            names={**names, OPERATOR: "a command", "": "nobody yet"},
            team=sorted(names.items(), key=lambda entry: entry[1].casefold()),
            queues=session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id)).all(),
            kinds=sorted(TEAM_EVENTS | UNIT_EVENTS),
            chosen=chosen,
            problem=problem,
        )


@router.get("/api/events", response_model=HistoryPage, responses=CSV)
def pull_events(
    project: ProjectHere,
    person: Owner,
    chosen: Filter,
    after: Annotated[int, Query(ge=0, le=LARGEST_SEQ)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 100,
    format: Format = "json",
) -> Any:
    """The events after one, first to last. Ask again from the last until none come. As CSV you get all at once."""
    if format == "csv":
        with project.database.reading() as session:
            names = people.names_by_id(session)
        chosen.conditions()
        rows = (_line(event, names) for event in all_events(project.database, chosen))
        return stream_csv("history", rows, ("number", *_COLUMNS))
    with project.database.reading() as session:
        found = events_after(session, after, limit, chosen)
    return JSONResponse({"events": [event.document() for event in found], "last": found[-1].seq if found else after})


_COLUMNS = ("at", "author", "kind", "subject", "name", "place", "before", "after", "withheld")


def _line(event: VisibleEvent, names: dict[str, str]) -> dict[str, Json]:
    line = {name: getattr(event, name) for name in _COLUMNS}
    for name in ("before", "after"):
        line[name] = canonical_json(line[name]) if line[name] is not None else None
    author = names.get(event.author, event.author)
    return {**line, "number": event.seq, "author": author, "place": event.place and spoken_place(event.place)}
