"""People: invitations, passwords, sessions in the database, personal tokens.

What a browser or a script holds is random and never stored: the database has its hash, keyed with the project's secret,
so that a copied database opens no door.
"""

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError
from reeltalk.review.access import Role
from reeltalk.review.events import Change
from reeltalk.review.refusals import BadValueError, ConflictError, NotThereError, SignInFirstError
from reeltalk.review.tables import InvitationRow, PersonRow, SessionRow, TokenRow, moment
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors

SESSION_DAYS: Final = 14
INVITATION_DAYS: Final = 7
TOKEN_DAYS: Final = 90
SHORTEST_PASSWORD: Final = 10
LONGEST_PASSWORD: Final = 200
LONGEST_NAME: Final = 80
SECRET: Final = "secret"
"""Name of the file that holds the project's secret."""

_HASHER: Final = PasswordHasher()
# Verified where nobody has the name, so that the time of an answer does not tell who is on the team.
_NOBODY: Final = _HASHER.hash(secrets.token_hex(16))
_NAME: Final = re.compile(r"\S(.*\S)?")


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in."""

    id: str
    name: str
    role: str
    csrf: str
    """What every change from their browser must carry."""
    by_token: bool = False
    """True for a script with a personal token, which needs no CSRF token: no browser sends one unasked."""


def read_secret(folder: Path) -> bytes:
    """The secret of a project, made at first start: 32 random bytes that only the owner of the process can read.

    Raises:
        BenchmarkError: It can neither be read nor written.
    """
    path = folder / SECRET
    with storage_errors(path):
        folder.mkdir(parents=True, exist_ok=True)
        # Made aside and linked into place, so that nobody ever reads half a secret, and the first to come decides.
        partial = folder / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
        if not path.exists():
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(32))
                stream.flush()
                os.fsync(stream.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(partial, path)
            partial.unlink()
        found = path.read_bytes()
    if len(found) != 32:
        raise BenchmarkError(f"{path} holds {len(found)} bytes, not 32; remove it, and everybody signs in again")
    return found


def keyed(secret: bytes, token: str) -> str:
    """How a token is stored."""
    return hmac.new(secret, token.encode(), hashlib.sha256).hexdigest()


def sign_in_name(name: str) -> str:
    """The form in which names are compared: composed, without case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def invite(change: Change, secret: bytes, role: str, note: str = "", *, days: int = INVITATION_DAYS) -> tuple[str, str]:
    """Make an invitation; its id, and the token of its link, which is shown once.

    Raises:
        BadValueError: There is no such role.
    """
    if role not in list(Role):
        raise BadValueError(f"there is no role {role!r}; choose {', '.join(Role)}", field="role")
    if len(note) > LONGEST_NAME:
        raise BadValueError(f"the note has {len(note)} characters; {LONGEST_NAME} fit", field="note")
    token, now = secrets.token_urlsafe(24), datetime.now(UTC)
    row = InvitationRow(
        id=secrets.token_hex(8),
        token=keyed(secret, token),
        role=role,
        note=note,
        created_by=change.author,
        created_at=change.at,
        expires_at=moment(now + timedelta(days=days)),
    )
    change.session.add(row)
    change.record("invite", row.id, after={"role": role, "note": note, "expires_at": row.expires_at})
    return row.id, token


def withdraw(change: Change, invitation_id: str) -> None:
    """Make an invitation's link useless.

    Raises:
        NotThereError: There is no such invitation.
        ConflictError: Somebody has joined by it.
    """
    row = change.session.get(InvitationRow, invitation_id)
    if row is None:
        raise NotThereError("there is no such invitation")
    if row.used_by is not None:
        raise ConflictError("somebody has joined by this invitation; disable their account in its place")
    if row.withdrawn_at is None:
        row.withdrawn_at = change.at
        change.record("withdraw", row.id)


def invitation_of(session: Session, secret: bytes, token: str) -> InvitationRow:
    """The invitation of a link.

    Raises:
        NotThereError: It was used, withdrawn, has expired, or never was.
    """
    row = session.scalars(select(InvitationRow).where(InvitationRow.token == keyed(secret, token))).one_or_none()
    if row is None or row.used_by is not None or row.withdrawn_at is not None or row.expires_at < moment():
        raise NotThereError("this invitation cannot be used: it was used, withdrawn or has expired; ask for a new one")
    return row


def join(change: Change, secret: bytes, token: str, name: str, password: str) -> PersonRow:
    """Become a member by an invitation.

    Raises:
        NotThereError: The invitation cannot be used.
        BadValueError: The name or the password cannot be used.
    """
    invitation = invitation_of(change.session, secret, token)
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME or not name.isprintable():
        raise BadValueError(f"a name has 1 to {LONGEST_NAME} characters that can be printed", field="name")
    check_password(password, name)
    if change.session.scalars(select(PersonRow.id).where(PersonRow.sign_in == sign_in_name(name))).first():
        raise BadValueError("somebody on the team has this name; choose another", field="name")
    row = PersonRow(
        id=secrets.token_hex(8),
        name=name,
        sign_in=sign_in_name(name),
        role=invitation.role,
        password=_HASHER.hash(password),
        created_at=change.at,
        settings={},
    )
    change.session.add(row)
    change.session.flush()
    invitation.used_by = row.id
    change.author = row.id
    change.record("join", row.id, after={"name": name, "role": row.role, "invitation": invitation.id})
    return row


def check_password(password: str, name: str) -> None:
    """Refuse passwords that are too short, too long, or the name itself.

    Raises:
        BadValueError: It cannot be used.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise BadValueError(
            f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters; this one has {len(password)}",
            field="password",
        )
    if sign_in_name(password) == sign_in_name(name) or len(set(password)) < 4:
        raise BadValueError("this password is too easy to guess; choose another", field="password")


def set_password(change: Change, person: PersonRow, password: str) -> None:
    """Give somebody a new password and end their sessions.

    Raises:
        BadValueError: It cannot be used.
    """
    check_password(password, person.name)
    person.password = _HASHER.hash(password)
    change.session.execute(delete(SessionRow).where(SessionRow.person_id == person.id))
    change.record("password", person.id)


def find_by_password(session: Session, name: str, password: str) -> PersonRow:
    """Who signs in. Costs some tens of milliseconds of work, whether or not there is such a person.

    Raises:
        SignInFirstError: Name and password do not belong together, or the account is disabled.
    """
    row = session.scalars(select(PersonRow).where(PersonRow.sign_in == sign_in_name(name))).one_or_none()
    try:
        _HASHER.verify(row.password if row is not None else _NOBODY, password[: LONGEST_PASSWORD + 1])
    except (VerificationError, InvalidHashError):
        row = None
    if row is None or row.disabled_at is not None:
        raise SignInFirstError("name and password do not belong together", code="wrong_password")
    return row


def start_session(change: Change, secret: bytes, person_id: str) -> str:
    """Sign somebody in; the token for their cookie."""
    token = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    change.session.execute(delete(SessionRow).where(SessionRow.expires_at < moment(now)))
    change.session.add(
        SessionRow(
            token=keyed(secret, token),
            person_id=person_id,
            csrf=secrets.token_urlsafe(24),
            created_at=change.at,
            expires_at=moment(now + timedelta(days=SESSION_DAYS)),
        )
    )
    change.record("sign_in", person_id)
    return token


def end_session(change: Change, secret: bytes, token: str) -> None:
    """Sign a browser out."""
    row = change.session.get(SessionRow, keyed(secret, token))
    if row is not None:
        change.session.delete(row)
        change.record("sign_out", row.person_id)


def person_of_session(session: Session, secret: bytes, token: str) -> Person | None:
    """Whose browser it is, or None where nobody is signed in."""
    row = session.get(SessionRow, keyed(secret, token))
    if row is None or row.expires_at < moment():
        return None
    person = session.get(PersonRow, row.person_id)
    if person is None or person.disabled_at is not None:
        return None
    return Person(person.id, person.name, person.role, row.csrf)


def make_token(change: Change, secret: bytes, person_id: str, label: str, days: int = TOKEN_DAYS) -> tuple[str, str]:
    """A personal token: its id, and the token itself, which is shown once.

    Raises:
        BadValueError: The label or the days cannot be used.
    """
    label = " ".join(label.split())
    if not 1 <= len(label) <= LONGEST_NAME or not label.isprintable():
        raise BadValueError(f"a label has 1 to {LONGEST_NAME} characters that can be printed", field="label")
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
