"""For owners: who is on the team, what each may do, and the invitations by which more join."""

from typing import Annotated

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from reeltalk.review import people, team
from reeltalk.review.access import Action
from reeltalk.review.events import changing
from reeltalk.review.pages import page
from reeltalk.review.people import Person
from reeltalk.review.project import Project
from reeltalk.review.refusals import BadValueError, ConflictError, Refusal
from reeltalk.review.shown_once import form_key, make_once
from reeltalk.review.web import FormNumber, ProjectHere, ShortText, changing_by_form, link_to, seeing

router = APIRouter(prefix="/team")
Owner = Annotated[Person, changing_by_form(Action.MANAGE)]


@router.get("", response_class=HTMLResponse)
def show_team(request: Request, project: ProjectHere, person: Annotated[Person, seeing(Action.MANAGE)]) -> Response:
    """People, invitations that are open, and the form that makes one."""
    return _page(request, project, person)


@router.post("/invitations", response_class=HTMLResponse)
def invite(
    request: Request,
    project: ProjectHere,
    person: Owner,
    role: ShortText,
    key: ShortText,
    note: ShortText = "",
    days: FormNumber = people.INVITATION_DAYS,
) -> Response:
    """Make an invitation and show its link, once."""
    try:
        with changing(project.database, person.id) as change:
            token = make_once(
                change,
                request.app.state.shown_once,
                person.id,
                key,
                "invitation",
                lambda: people.invite(change, project.secret, role, note, days=days)[1],
            )
    except BadValueError as error:
        return _page(request, project, person, problem=error, note=note)
    return _page(request, project, person, link=link_to(request, f"/join/{token}") if token else "")


@router.post("/invitations/{invitation_id}/withdraw")
def withdraw(project: ProjectHere, person: Owner, invitation_id: str) -> Response:
    """Make an invitation's link useless."""
    with changing(project.database, person.id) as change:
        people.withdraw(change, invitation_id)
    return RedirectResponse("/team", status_code=303)


@router.post("/people/{person_id}/role", response_class=HTMLResponse)
def change_role(request: Request, project: ProjectHere, person: Owner, person_id: str, role: ShortText) -> Response:
    """Give somebody another role."""
    try:
        with changing(project.database, person.id) as change:
            team.change_role(change, person_id, role, approval=project.settings.approval)
    except (BadValueError, ConflictError) as error:
        return _page(request, project, person, problem=error)
    # An owner who gave the role up may not see this page any more.
    return RedirectResponse("/" if person_id == person.id else "/team", status_code=303)


@router.post("/people/{person_id}/disable", response_class=HTMLResponse)
def disable(request: Request, project: ProjectHere, person: Owner, person_id: str) -> Response:
    """Close somebody's account."""
    try:
        with changing(project.database, person.id) as change:
            team.disable(change, person_id, approval=project.settings.approval)
    except ConflictError as error:
        return _page(request, project, person, problem=error)
    return RedirectResponse("/team", status_code=303)


@router.post("/people/{person_id}/enable")
def enable(project: ProjectHere, person: Owner, person_id: str) -> Response:
    """Open somebody's account again."""
    with changing(project.database, person.id) as change:
        team.enable(change, person_id)
    return RedirectResponse("/team", status_code=303)


def _page(
    request: Request,
    project: Project,
    person: Person,
    *,
    problem: Refusal | None = None,
    link: str | None = None,
    note: str = "",
) -> Response:
    with project.database.reading() as session:
        return page(
            request,
            "team.html",
            person,
            status=problem.status if problem is not None else 200,
            members=team.members(session),
            invitations=team.open_invitations(session),
            names=people.names(session),
            problem=problem,
            link=link,
            note=note,
            key=form_key(),
            days=people.INVITATION_DAYS,
        )
