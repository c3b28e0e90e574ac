"""The people of a project, as its owners change them: roles, and accounts that are disabled and enabled again."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, Role, may
from reeltalk.review.assigning import ADJUDICATOR, UNFINISHED
from reeltalk.review.events import Change
from reeltalk.review.people import end_sessions
from reeltalk.review.refusals import BadValueError, ConflictError, NotThereError
from reeltalk.review.settling import let_go
from reeltalk.review.tables import AssignmentRow, InvitationRow, PersonRow, TokenRow, moment


@dataclass(frozen=True)
class Member:
    """Somebody on the team, as owners see them: how much is theirs, nothing of what they wrote."""

    row: PersonRow
    unfinished: int
    submitted: int


def members(session: Session) -> list[Member]:
    """All people, those who may sign in first, by name."""
    counts: dict[tuple[str, str], int] = {
        (person, state): count
        for person, state, count in session.execute(
            select(AssignmentRow.person_id, AssignmentRow.state, func.count()).group_by(
                AssignmentRow.person_id, AssignmentRow.state
            )
        )
    }
    rows = session.scalars(select(PersonRow).order_by(PersonRow.disabled_at.is_not(None), PersonRow.sign_in)).all()
    return [
        Member(row, sum(counts.get((row.id, state), 0) for state in UNFINISHED), counts.get((row.id, "submitted"), 0))
        for row in rows
    ]


def open_invitations(session: Session) -> list[InvitationRow]:
    """Invitations by which somebody could still join, newest first."""
    query = select(InvitationRow).where(
        InvitationRow.used_by.is_(None), InvitationRow.withdrawn_at.is_(None), InvitationRow.expires_at > moment()
    )
    return list(session.scalars(query.order_by(InvitationRow.created_at.desc(), InvitationRow.id)))


def change_role(change: Change, person_id: str, role: str, *, approval: bool) -> None:
    """Give somebody another role. It counts from their next request on.

    Who may no longer work, or adjudicate, lets go of what they have not handed in; what they typed is kept.

    Args:
        change: The transaction.
        person_id: Whose.
        role: The new one.
        approval: Whether an adjudicator approves units that become complete by that.

    Raises:
        NotThereError: There is no such person.
        BadValueError: There is no such role.
        ConflictError: They are the last owner.
    """
    person = _person(change.session, person_id)
    if role not in list(Role):
        raise BadValueError(f"choose {', '.join(Role)}", field="role")
    if person.role == role:
        return
    if person.role == Role.OWNER:
        _keep_an_owner(change.session, person)
    before, person.role = person.role, role
    change.record("role", person.id, before={"role": before}, after={"role": role})
    if not may(role, Action.WORK):
        let_go(change, person.id, approval=approval)
    elif not may(role, Action.ADJUDICATE):
        let_go(change, person.id, approval=approval, roles=(ADJUDICATOR,))


def disable(change: Change, person_id: str, *, approval: bool) -> None:
    """Close somebody's account: their sessions and tokens end, what they have not handed in goes to others.

    Args:
        change: The transaction.
        person_id: Whose.
        approval: Whether an adjudicator approves units that become complete by that.

    Raises:
        NotThereError: There is no such person.
        ConflictError: They are the last owner.
    """
    person = _person(change.session, person_id)
    if person.disabled_at is not None:
        return
    if person.role == Role.OWNER:
        _keep_an_owner(change.session, person)
    person.disabled_at = change.at
    end_sessions(change, person.id)
    for token in change.session.scalars(
        select(TokenRow).where(TokenRow.person_id == person.id, TokenRow.revoked_at.is_(None))
    ).all():
        token.revoked_at = change.at
    change.record("disable", person.id)
    let_go(change, person.id, approval=approval)


def enable(change: Change, person_id: str) -> None:
    """Open an account again; its tokens stay revoked.

    Raises:
        NotThereError: There is no such person.
    """
    person = _person(change.session, person_id)
    if person.disabled_at is not None:
        person.disabled_at = None
        change.record("enable", person.id)


def _person(session: Session, person_id: str) -> PersonRow:
    found = session.get(PersonRow, person_id)
    if found is None:
        raise NotThereError("there is no such person")
    return found


def _keep_an_owner(session: Session, leaving: PersonRow) -> None:
    others = session.scalar(
        select(func.count())
        .select_from(PersonRow)
        .where(PersonRow.role == Role.OWNER, PersonRow.disabled_at.is_(None), PersonRow.id != leaving.id)
    )
    if leaving.disabled_at is None and not others:
        raise ConflictError("this is the project's last owner; make somebody else an owner first", code="last_owner")
