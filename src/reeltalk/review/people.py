"""People: invitations, and sessions in the database.

What a browser or a script holds is random and never stored: the database has its hash, keyed with the project's secret,
so that a copied database opens no door.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError
from reeltalk.review.access import Role
from reeltalk.review.events import Change
from reeltalk.review.passwords import STRONG, HashCost, check_password, hash_password, is_password, nobody
from reeltalk.review.refusals import BadValueError, ConflictError, NotThereError, SignInFirstError
from reeltalk.review.tables import InvitationRow, PersonRow, SessionRow, moment
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, storage_errors, sync_directory

SESSION_DAYS: Final = 14
"""How long a browser that is not used stays signed in."""
LONGEST_SESSION_DAYS: Final = 90
"""How long it stays signed in at most."""
INVITATION_DAYS: Final = 7
LONGEST_NAME: Final = 80
LONGEST_NOTE: Final = 200
"""Characters of an invitation's note."""
SECRET: Final = "secret"
"""Name of the file that holds the project's secret."""


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
    slides: bool = False
    """True where the session shall be made to last longer: once a day."""


def read_secret(folder: Path) -> bytes:
    """The secret of a project, made at first start: 32 random bytes that only the owner of the process can read.

    Raises:
        BenchmarkError: It can neither be read nor written.
    """
    path = folder / SECRET
    with storage_errors(path):
        make_directory(folder)
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
            sync_directory(folder)
        found = path.read_bytes()
    if len(found) != 32:
        raise BenchmarkError(f"{path} holds {len(found)} bytes, not 32; remove it, and everybody signs in again")
    return found


def keyed(secret: bytes, token: str) -> str:
    """How a token is stored."""
    return hmac.new(secret, token.encode(), hashlib.sha256).hexdigest()


def printed(text: str, what: str, longest: int, *, field: str) -> str:
    """A short text with single spaces.

    Raises:
        BadValueError: It is empty, too long, or has characters that cannot be printed.
    """
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if not 1 <= len(text) <= longest or not text.isprintable():
        raise BadValueError(f"{what} has 1 to {longest} characters that can be printed", field=field)
    return text


def sign_in_name(name: str) -> str:
    """The form in which names are compared: composed, without case, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def names(session: Session) -> dict[str, str]:
    """The names of all people by id."""
    return dict((row.id, row.name) for row in session.execute(select(PersonRow.id, PersonRow.name)))


def invite(change: Change, secret: bytes, role: str, note: str = "", *, days: int = INVITATION_DAYS) -> tuple[str, str]:
    """Make an invitation; its id, and the token of its link, which is shown once.

    Raises:
        BadValueError: There is no such role.
    """
    if role not in list(Role):
        raise BadValueError(f"there is no role {role!r}; choose {', '.join(Role)}", field="role")
    note = printed(note, "a note", LONGEST_NOTE, field="note") if note.strip() else ""
    if not 1 <= days <= 90:
        raise BadValueError("an invitation is good for 1 to 90 days", field="days")
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


def join(change: Change, secret: bytes, token: str, name: str, password: str, cost: HashCost = STRONG) -> PersonRow:
    """Become a member by an invitation.

    Raises:
        NotThereError: The invitation cannot be used.
        BadValueError: The name or the password cannot be used.
    """
    invitation = invitation_of(change.session, secret, token)
    name = printed(name, "a name", LONGEST_NAME, field="name")
    check_password(password, name)
    if change.session.scalars(select(PersonRow.id).where(PersonRow.sign_in == sign_in_name(name))).first():
        raise BadValueError("somebody on the team has this name; choose another", field="name")
    row = PersonRow(
        id=secrets.token_hex(8),
        name=name,
        sign_in=sign_in_name(name),
        role=invitation.role,
        password=hash_password(password, cost),
        created_at=change.at,
        settings={},
    )
    change.session.add(row)
    change.session.flush()
    invitation.used_by = row.id
    change.author = row.id
    change.record("join", row.id, after={"name": name, "role": row.role, "invitation": invitation.id})
    return row


def joined_by(session: Session, secret: bytes, token: str, name: str, password: str) -> PersonRow | None:
    """Who joined by an invitation with this name and password: a button that is pressed twice asks twice."""
    row = session.scalars(select(InvitationRow).where(InvitationRow.token == keyed(secret, token))).one_or_none()
    person = session.get(PersonRow, row.used_by) if row is not None and row.used_by is not None else None
    if person is None or person.disabled_at is not None or person.sign_in != sign_in_name(name):
        return None
    return person if is_password(person.password, password) else None


def change_password(change: Change, person: PersonRow, current: str, password: str, *, keep: str) -> None:
    """Give somebody a new password, and end all their sessions but the one that asks.

    Args:
        change: The transaction.
        person: Whose password.
        current: Their password until now.
        password: The new one.
        keep: What the database has of the session that asks.

    Raises:
        BadValueError: The password until now is another, or the new one cannot be used.
    """
    if not is_password(person.password, current):
        # A button that was pressed twice asks for what is done.
        if is_password(person.password, password):
            return
        raise BadValueError("this is not your password until now", field="current", code="wrong_password")
    set_password(change, person, password, keep=keep)


def set_password(change: Change, person: PersonRow, password: str, *, keep: str = "") -> None:
    """Give somebody a new password and end their sessions, but one whose stored token is given.

    Raises:
        BadValueError: It cannot be used.
    """
    check_password(password, person.name)
    person.password = hash_password(password)
    end_sessions(change, person.id, keep=keep)
    change.record("password", person.id)


def end_sessions(change: Change, person_id: str, *, keep: str = "") -> int:
    """End all sessions of somebody, but one whose stored token is given; how many there were."""
    rows = change.session.scalars(
        select(SessionRow).where(SessionRow.person_id == person_id, SessionRow.token != keep)
    ).all()
    for row in rows:
        change.session.delete(row)
    return len(rows)


def find_by_password(session: Session, name: str, password: str) -> PersonRow:
    """Who signs in. Costs some tens of milliseconds of work, whether or not there is such a person.

    Raises:
        SignInFirstError: Name and password do not belong together, or the account is disabled.
    """
    row = session.scalars(select(PersonRow).where(PersonRow.sign_in == sign_in_name(name))).one_or_none()
    if not is_password(row.password if row is not None else nobody(), password) or row is None or row.disabled_at:
        raise SignInFirstError("name and password do not belong together", code="wrong_password")
    return row


def start_session(change: Change, secret: bytes, person_id: str) -> str:
    """Sign somebody in; the token for their cookie."""
    token = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    # Cleared where many come: nobody else looks at sessions that are over.
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
    now = datetime.now(UTC)
    if row is None or row.expires_at < moment(now):
        return None
    person = session.get(PersonRow, row.person_id)
    if person is None or person.disabled_at is not None:
        return None
    return Person(person.id, person.name, person.role, row.csrf, slides=_slid(row, now)[:10] > row.expires_at[:10])


def slide_session(session: Session, secret: bytes, token: str) -> None:
    """Let a session that is used last longer, up to its longest. No event: it changes no work."""
    row = session.get(SessionRow, keyed(secret, token))
    if row is not None:
        row.expires_at = max(row.expires_at, _slid(row, datetime.now(UTC)))


def _slid(row: SessionRow, now: datetime) -> str:
    longest = datetime.fromisoformat(row.created_at) + timedelta(days=LONGEST_SESSION_DAYS)
    return moment(min(now + timedelta(days=SESSION_DAYS), longest))
