"""A link by which somebody who lost their password, or came back from an export without one, chooses a new one."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from reeltalk.errors import SettingError
from reeltalk.review.events import Change
from reeltalk.review.people import keyed, set_password, sign_in_name
from reeltalk.review.refusals import NotThereError
from reeltalk.review.tables import PersonRow, ResetRow, moment

RESET_DAYS: Final = 3


def make_reset(change: Change, secret: bytes, name: str, *, days: int = RESET_DAYS) -> str:
    """The token of a link that is good once, and for some days. Earlier links of the person are good no longer.

    Args:
        change: The transaction.
        secret: The project's.
        name: Of the person, in any case.
        days: For how long.

    Raises:
        SettingError: Nobody has the name, or the account is disabled.
    """
    person = change.session.scalars(select(PersonRow).where(PersonRow.sign_in == sign_in_name(name))).one_or_none()
    if person is None:
        known = ", ".join(change.session.scalars(select(PersonRow.name).order_by(PersonRow.name).limit(20)))
        raise SettingError(f"--name {name}: nobody on the team has this name; there are {known or 'none yet'}")
    if person.disabled_at is not None:
        raise SettingError(f"--name {name}: the account is disabled; an owner enables it on the page of the team")
    token = secrets.token_urlsafe(24)
    expires_at = moment(datetime.now(UTC) + timedelta(days=days))
    change.session.execute(delete(ResetRow).where(ResetRow.person_id == person.id))
    change.session.add(ResetRow(token=keyed(secret, token), person_id=person.id, expires_at=expires_at))
    change.record("reset_link", person.id, after={"expires_at": expires_at})
    return token


def person_of_reset(session: Session, secret: bytes, token: str) -> PersonRow:
    """Whose password a link changes.

    Raises:
        NotThereError: It was used, has expired, or never was.
    """
    row = session.get(ResetRow, keyed(secret, token))
    person = session.get(PersonRow, row.person_id) if row is not None and row.expires_at >= moment() else None
    if person is None or person.disabled_at is not None:
        raise NotThereError("this link cannot be used: it was used or has expired; ask an operator for a new one")
    return person


def reset_password(change: Change, secret: bytes, token: str, password: str) -> PersonRow:
    """Give the person of a link a new password; all their browsers are signed out, and the link is used up.

    Raises:
        NotThereError: The link cannot be used.
        BadValueError: The password cannot be used.
    """
    person = person_of_reset(change.session, secret, token)
    change.author = person.id
    set_password(change, person, password)
    change.session.execute(delete(ResetRow).where(ResetRow.person_id == person.id))
    return person
