"""Pages of owners: the team and its invitations, queues and settings, and the history of all changes."""

import secrets
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import AfterValidator
from sqlalchemy import func, select

from reeltalk.schema.review import REASON_TITLES
from reeltalk_review import administration, people
from reeltalk_review.access import ALLOWED, Action
from reeltalk_review.administration import LARGEST_OVERLAP, LARGEST_POSITION, past_events
from reeltalk_review.assigning import ORDERS
from reeltalk_review.database import LeaseMinutes, LeastAgreement, ReviewProject
from reeltalk_review.duties import assign_queue, queue_duties
from reeltalk_review.errors import ApiError, Conflict, InvalidValue
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.people import User
from reeltalk_review.reasons import read_reasons
from reeltalk_review.tables import InvitationRow, PersonRow, QueueRow, UnitRow, timestamp
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.web import (
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
ON_A_PAGE = 50
LARGEST_SEQ = 2**31 - 1
DISABLED = "disabled"
"""What is chosen in place of a role for an account that is closed."""
Owner = Annotated[User, require(Action.MANAGE)]
ChangingOwner = Annotated[User, require_form(Action.MANAGE)]
Chosen = Annotated[str, Query(max_length=100), AfterValidator(plain_text)]
Ticked = Annotated[bool, Form()]


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
    key: Annotated[str, Form(min_length=8, max_length=100)],
    note: ShortText = "",
) -> Response:
    """Make an invitation and show its link once."""
    try:
        with transaction(project.database, person.id) as change:
            token = people.invite(change, project.secret, role, note, form=key)[1]
    except InvalidValue as error:
        return _team_page(request, project, person, problem=error, note=note)
    return _team_page(request, project, person, link=link_to(request, f"/join/{token}") if token else "")


@router.post("/team/invitations/{invitation_id}/withdraw")
def withdraw(project: ProjectHere, person: ChangingOwner, invitation_id: str) -> Response:
    """Make an invitation's link useless."""
    with transaction(project.database, person.id) as change:
        people.withdraw(change, invitation_id)
    return RedirectResponse("/team", status_code=303)


@router.post("/team/people/{person_id}", response_class=HTMLResponse)
def change_member(
    request: Request, project: ProjectHere, person: ChangingOwner, person_id: str, role: ShortText
) -> Response:
    """Give somebody a role, which opens a closed account again, or close their account."""
    approval = project.settings.approval
    try:
        with transaction(project.database, person.id) as change:
            if role == DISABLED:
                administration.disable_account(change, person_id, approval=approval)
            else:
                administration.enable_account(change, person_id)
                administration.change_role(change, person_id, role, approval=approval)
    except (InvalidValue, Conflict) as error:
        return _team_page(request, project, person, problem=error)
    # An owner who gave the role up may not see this page any more.
    return RedirectResponse("/" if person_id == person.id else "/team", status_code=303)


def _team_page(
    request: Request,
    project: ReviewProject,
    person: User,
    *,
    problem: ApiError | None = None,
    link: str | None = None,
    note: str = "",
) -> Response:
    can_be_used = (InvitationRow.used_by.is_(None), InvitationRow.withdrawn_at.is_(None))
    invitations = select(InvitationRow).where(*can_be_used, InvitationRow.expires_at > timestamp())
    with project.database.reading() as session:
        return page(
            request,
            "team.html",
            person,
            problem=problem,
            members=administration.members(session),
            invitations=session.scalars(invitations.order_by(InvitationRow.created_at.desc(), InvitationRow.id)).all(),
            names=people.names_by_id(session),
            link=link,
            note=note,
            key=secrets.token_urlsafe(18),
            days=people.INVITATION_DAYS,
        )


@router.get("/setup", response_class=HTMLResponse)
def show_setup(request: Request, project: ProjectHere, person: Owner, saved: str = "") -> Response:
    """Queues and settings, each with its form."""
    return _setup_page(request, project, person, saved=saved == "yes")


@router.post("/setup/queues/{queue_id}", response_class=HTMLResponse)
def change_queue(
    request: Request,
    project: ProjectHere,
    person: ChangingOwner,
    queue_id: str,
    title: ShortText,
    position: Annotated[int, Form(ge=1, le=LARGEST_POSITION)],
    overlap: Annotated[int, Form(ge=1, le=LARGEST_OVERLAP)],
    people: Annotated[list[ShortText], Form(max_length=1000, default_factory=list)],
    is_open: Ticked = False,
    order: Annotated[str, Form(pattern=f"^({'|'.join(ORDERS)})$")] = ORDERS[0],
    in_bulk: Ticked = False,
    labels: Ticked = False,
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
                is_open=is_open,
                approval=project.settings.approval,
                order=order,
                in_bulk=in_bulk,
                labels=labels,
            )
            assign_queue(change, queue_id, people)
    except (InvalidValue, Conflict) as error:
        return _setup_page(request, project, person, problem=error, at=queue_id)
    return RedirectResponse("/setup?saved=yes", status_code=303)


@router.post("/setup/settings", response_class=HTMLResponse)
def change_settings(
    project: ProjectHere,
    person: ChangingOwner,
    lease_minutes: Annotated[LeaseMinutes, Form()],
    approval: Ticked = False,
    least_agreement: Annotated[LeastAgreement | None, Form()] = None,
) -> Response:
    """Change the project's settings."""
    with transaction(project.database, person.id) as change:
        settings = administration.change_settings(
            change, lease_minutes=lease_minutes, approval=approval, least_agreement=least_agreement
        )
    project.settings = settings
    return RedirectResponse("/setup?saved=yes", status_code=303)


@router.post("/setup/reasons", response_class=HTMLResponse)
def change_reasons(request: Request, project: ProjectHere, person: ChangingOwner, reasons: FormText = "") -> Response:
    """Change the project's own reasons for rejecting."""
    try:
        with transaction(project.database, person.id) as change:
            settings = administration.change_settings(change, reasons=read_reasons(reasons))
    except (InvalidValue, Conflict) as error:
        return _setup_page(request, project, person, problem=error, at="reasons", typed=reasons)
    project.settings = settings
    return RedirectResponse("/setup?saved=yes", status_code=303)


def _setup_page(
    request: Request,
    project: ReviewProject,
    person: User,
    *,
    problem: ApiError | None = None,
    at: str = "",
    saved: bool = False,
    typed: str | None = None,
) -> Response:
    can_work = PersonRow.disabled_at.is_(None), PersonRow.role.in_(ALLOWED[Action.WORK])
    with project.database.reading() as session:
        queues = session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id)).all()
        duties = {row.id: queue_duties(session, row.id) for row in queues if row.task in TASKS}
        return page(
            request,
            "setup.html",
            person,
            problem=problem,
            queues=queues,
            workers=session.scalars(select(PersonRow).where(*can_work).order_by(PersonRow.sign_in)).all(),
            assigned={queue: {duty.person_id for duty in found} for queue, found in duties.items()},
            counts=dict(session.execute(select(UnitRow.queue_id, func.count()).group_by(UnitRow.queue_id)).all()),
            settings=project.settings,
            reasons=REASON_TITLES.values(),
            typed=typed,
            largest_overlap=LARGEST_OVERLAP,
            at=at,
            saved=saved,
        )


@router.get("/history", response_class=HTMLResponse)
def show_history(
    request: Request,
    project: ProjectHere,
    shown_to: Owner,
    person: Chosen = "",
    unit: Chosen = "",
    before: Annotated[int | None, Query(ge=1, le=LARGEST_SEQ)] = None,
) -> Response:
    """Events, newest first, a page at a time."""
    unit = " ".join(unit.split())
    with project.database.reading() as session:
        events = past_events(session, ON_A_PAGE + 1, before=before, person=person, unit=unit)
        names = people.names_by_id(session)
    return page(
        request,
        "history.html",
        shown_to,
        events=events[:ON_A_PAGE],
        older=len(events) > ON_A_PAGE,
        latest=before is None,
        names={**names, OPERATOR: "a command", "": "nobody yet"},
        team=sorted(names.items(), key=lambda entry: entry[1].casefold()),
        chosen={"person": person, "unit": unit},
    )
