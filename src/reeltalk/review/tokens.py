"""Personal tokens: by them scripts ask in a person's name, until they expire or are revoked."""

import secrets
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.review.events import Change
from reeltalk.review.people import LONGEST_NAME, Person, keyed, printed
from reeltalk.review.refusals import BadValueError, NotThereError
from reeltalk.review.tables import PersonRow, TokenRow, moment

TOKEN_DAYS: Final = 90


def make_token(change: Change, secret: bytes, person_id: str, label: str, days: int = TOKEN_DAYS) -> tuple[str, str]:
    """A personal token: its id, and the token itself, which is shown once.

    Raises:
        BadValueError: The label or the days cannot be used.
    """
    label = printed(label, "a label", LONGEST_NAME, field="label")
    if not 1 <= days <= 366:
        raise BadValueError("a token is good for 1 to 366 days", field="days")
    token = f"rt_{secrets.token_urlsafe(32)}"
    row = TokenRow(
        id=secrets.token_hex(8),
        token=keyed(secret, token),
        person_id=person_id,
        label=label,
        created_at=change.at,
        expires_at=moment(datetime.now(UTC) + timedelta(days=days)),
    )
    change.session.add(row)
    change.record("token", row.id, after={"person": person_id, "label": label, "expires_at": row.expires_at})
    return row.id, token


def revoke_token(change: Change, person_id: str, token_id: str) -> None:
    """Make a personal token useless.

    Raises:
        NotThereError: The person has no such token.
    """
    row = change.session.get(TokenRow, token_id)
    if row is None or row.person_id != person_id:
        raise NotThereError("you have no such token")
    if row.revoked_at is None:
        row.revoked_at = change.at
        change.record("revoke", row.id)


def person_of_token(session: Session, secret: bytes, token: str) -> Person | None:
    """Whose personal token it is, or None where it is nobody's, revoked or expired."""
    row = session.scalars(select(TokenRow).where(TokenRow.token == keyed(secret, token))).one_or_none()
    if row is None or row.revoked_at is not None or row.expires_at < moment():
        return None
    person = session.get(PersonRow, row.person_id)
    if person is None or person.disabled_at is not None:
        return None
    return Person(person.id, person.name, person.role, "", by_token=True)
