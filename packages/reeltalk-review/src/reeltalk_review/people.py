"""People and how they sign in: invitations, sessions, and links to reset a password."""

import secrets
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from reeltalk.errors import SettingError
from reeltalk_review.access import Role
from reeltalk_review.credentials import (
    STRONG,
    HashCost,
    check_password,
    decoy_hash,
    hash_password,
    is_password,
    keyed_hash,
)
from reeltalk_review.errors import Conflict, InvalidValue, NotFound, Unauthorized
from reeltalk_review.events import Transaction
from reeltalk_review.tables import (
    InvitationRow,
    PasswordRow,
    PersonRow,
    ResetRow,
    SessionRow,
    canonical_json,
    timestamp,
)

SESSION_DAYS: Final = 14
"""How long an unused browser stays signed in."""
LONGEST_SESSION_DAYS: Final = 90
"""How long a browser stays signed in at most."""
INVITATION_DAYS: Final = 7
RESET_DAYS: Final = 3
SHOWN_AGAIN: Final = timedelta(minutes=5)
"""How long a form that is sent again, as by a double click, shows the link that it made."""
LONGEST_NAME: Final = 80
LONGEST_NOTE: Final = 200
"""Characters of an invitation's note."""


@dataclass(frozen=True)
class User:
    """A person who is signed in."""

    id: str
    name: str
    role: str
    csrf: str
    """The token that every change from their browser must carry."""
    slides: bool = False
    """True if the session should be extended now; once a day."""


def clean_line(text: str, what: str, longest: int, *, field: str) -> str:
    """A short text in one line, with single spaces."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if not 1 <= len(text) <= longest or not text.isprintable():
        raise InvalidValue(f"{what} has 1 to {longest} characters that can be printed", field=field)
    return text


def sign_in_name(name: str) -> str:
    """The form in which names are compared: composed, case-folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


_ALIKE: Final = str.maketrans(
    "АВЕЗКМНОРСТУХІЈЅавеокмнорстухіјѕԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧαεικνορτυχ01|",
    "abe3kmhopctyxijsabeokmhopctyxijsdhqwabezhikmnoptyxaeiknoptyxoll",
)
"""Letters that look like those of other scripts, from the confusables of Unicode's UTS #39."""


def skeleton_of(name: str) -> str:
    """The form in which names are compared by how they look: two people must not have the same."""
    parts = unicodedata.normalize("NFKC", name).translate(_ALIKE)
    shown = "".join(c for c in parts.casefold() if unicodedata.category(c)[0] in "LNMS")
    return shown.replace("i", "l").replace("rn", "m").replace("vv", "w")


def names_by_id(session: Session) -> dict[str, str]:
    """Names of all people by id."""
    return dict((row.id, row.name) for row in session.execute(select(PersonRow.id, PersonRow.name)))


def invite(change: Transaction, secret: bytes, role: str, note: str = "", *, form: str = "") -> tuple[str, str]:
    """Make an invitation; returns its id and the token of its link, which only this answer holds.

    A page's form that is sent again, with its key, makes no other invitation: it gets the same token for some minutes,
    and an empty one afterwards.
    """
    if role not in list(Role):
        raise InvalidValue(f"there is no role {role!r}; choose {', '.join(Role)}", field="role")
    note = clean_line(note, "a note", LONGEST_NOTE, field="note") if note.strip() else ""
    # From the form, so that it need not be remembered; nobody guesses it without both the form's key and the secret.
    made_by = [change.author, form or secrets.token_hex(16), role, note]
    token, now = keyed_hash(secret, f"invitation {canonical_json(made_by)}")[:48], datetime.now(UTC)
    stored = keyed_hash(secret, token)
    made = change.session.scalars(select(InvitationRow).where(InvitationRow.token == stored)).one_or_none()
    if made is not None:
        return made.id, token if made.created_at > timestamp(now - SHOWN_AGAIN) else ""
    row = InvitationRow(
        id=secrets.token_hex(8),
        token=stored,
        role=role,
        note=note,
        created_by=change.author,
        created_at=change.at,
        expires_at=timestamp(now + timedelta(days=INVITATION_DAYS)),
    )
    change.session.add(row)
    change.record("invite", row.id, after={"role": role, "note": note, "expires_at": row.expires_at})
    return row.id, token


def withdraw(change: Transaction, invitation_id: str) -> None:
    """Make an invitation's link useless."""
    row = change.session.get(InvitationRow, invitation_id)
    if row is None:
        raise NotFound("there is no such invitation")
    if row.used_by is not None:
        raise Conflict("somebody has joined with this invitation; disable their account instead")
    if row.withdrawn_at is None:
        row.withdrawn_at = change.at
        change.record("withdraw", row.id)


def invitation_of(session: Session, secret: bytes, token: str) -> InvitationRow:
    """The invitation of a link."""
    row = session.scalars(select(InvitationRow).where(InvitationRow.token == keyed_hash(secret, token))).one_or_none()
    if row is None or row.used_by is not None or row.withdrawn_at is not None or row.expires_at < timestamp():
        raise NotFound("this invitation cannot be used: it was used, withdrawn or has expired; ask for a new one")
    return row


def join_team(
    change: Transaction, secret: bytes, token: str, name: str, password: str, cost: HashCost = STRONG
) -> PersonRow:
    """Join the team with an invitation."""
    invitation = invitation_of(change.session, secret, token)
    name = clean_line(name, "a name", LONGEST_NAME, field="name")
    check_password(password, name)
    if any(skeleton_of(other) == skeleton_of(name) for other in change.session.scalars(select(PersonRow.name))):
        raise InvalidValue(
            "somebody on the team has this name, or one that looks like it; choose another", field="name"
        )
    row = PersonRow(
        id=secrets.token_hex(8),
        name=name,
        sign_in=sign_in_name(name),
        role=invitation.role,
        created_at=change.at,
    )
    change.session.add(row)
    change.session.flush()
    change.session.add(PasswordRow(person_id=row.id, hash=hash_password(password, cost)))
    invitation.used_by = row.id
    change.author = row.id
    change.record("join", row.id, after={"name": name, "role": row.role, "invitation": invitation.id})
    return row


def change_password(change: Transaction, person: PersonRow, current: str, password: str, *, keep: str) -> None:
    """Change somebody's password, and end all their sessions except the one whose stored token is given."""
    if not _is_password_of(change.session, person, current):
        raise InvalidValue("this is not your current password", field="current", code="wrong_password")
    set_password(change, person, password, keep=keep)


def set_password(change: Transaction, person: PersonRow, password: str, *, keep: str = "") -> None:
    """Set somebody's password and end their sessions, except one whose stored token is given."""
    check_password(password, person.name)
    row = change.session.get(PasswordRow, person.id)
    if row is None:
        change.session.add(row := PasswordRow(person_id=person.id))
    row.hash = hash_password(password)
    end_sessions(change, person.id, keep=keep)
    change.record("password", person.id)


def end_sessions(change: Transaction, person_id: str, *, keep: str = "") -> None:
    """End all sessions of somebody, except one whose stored token is given."""
    own = SessionRow.person_id == person_id, SessionRow.token != keep
    change.session.execute(delete(SessionRow).where(*own))


def find_by_password(session: Session, name: str, password: str) -> PersonRow:
    """The person with a name and a password. Takes equally long whether or not there is such a person."""
    row = session.scalars(select(PersonRow).where(PersonRow.sign_in == sign_in_name(name))).one_or_none()
    if not _is_password_of(session, row, password) or row is None or row.disabled_at:
        raise Unauthorized("name and password do not match", code="wrong_password")
    return row


def _is_password_of(session: Session, person: PersonRow | None, password: str) -> bool:
    """True if it is somebody's password. Takes equally long for nobody, and for who has none."""
    row = session.get(PasswordRow, person.id) if person is not None else None
    return is_password(row.hash if row is not None else decoy_hash(), password)


def start_session(change: Transaction, secret: bytes, person_id: str) -> str:
    """Sign somebody in; returns the token for their cookie."""
    token = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    # Expired sessions are deleted here, since nothing else reads them.
    change.session.execute(delete(SessionRow).where(SessionRow.expires_at < timestamp(now)))
    change.session.add(
        SessionRow(
            token=keyed_hash(secret, token),
            person_id=person_id,
            csrf=secrets.token_urlsafe(24),
            created_at=change.at,
            expires_at=timestamp(now + timedelta(days=SESSION_DAYS)),
        )
    )
    change.record("sign_in", person_id)
    return token


def end_session(change: Transaction, secret: bytes, token: str) -> None:
    """Sign a browser out."""
    row = change.session.get(SessionRow, keyed_hash(secret, token))
    if row is not None:
        change.session.delete(row)
        change.record("sign_out", row.person_id)


def person_of_session(session: Session, secret: bytes, token: str) -> User | None:
    """The person of a session; None if nobody is signed in."""
    now = datetime.now(UTC)
    query = select(
        SessionRow.csrf, SessionRow.created_at, SessionRow.expires_at, PersonRow.id, PersonRow.name, PersonRow.role
    ).join(PersonRow, PersonRow.id == SessionRow.person_id)
    row = session.execute(
        query.where(
            SessionRow.token == keyed_hash(secret, token),
            SessionRow.expires_at >= timestamp(now),
            PersonRow.disabled_at.is_(None),
        )
    ).one_or_none()
    if row is None:
        return None
    slides = _slid(row.created_at, now)[:10] > row.expires_at[:10]
    return User(row.id, row.name, row.role, row.csrf, slides=slides)


def slide_session(session: Session, secret: bytes, token: str) -> None:
    """Extend a session that is in use, up to its longest duration."""
    row = session.get(SessionRow, keyed_hash(secret, token))
    if row is not None:
        row.expires_at = max(row.expires_at, _slid(row.created_at, datetime.now(UTC)))


def _slid(created_at: str, now: datetime) -> str:
    longest = datetime.fromisoformat(created_at) + timedelta(days=LONGEST_SESSION_DAYS)
    return timestamp(min(now + timedelta(days=SESSION_DAYS), longest))


def make_reset(change: Transaction, secret: bytes, name: str) -> str:
    """The token of a link to reset a person's password. It works once, for some days, and earlier links of theirs end.

    Raises:
        SettingError: Nobody has the name, in any case, or the account is disabled.
    """
    person = change.session.scalars(select(PersonRow).where(PersonRow.sign_in == sign_in_name(name))).one_or_none()
    if person is None:
        known = ", ".join(change.session.scalars(select(PersonRow.name).order_by(PersonRow.name).limit(20)))
        raise SettingError(f"--name {name}: nobody on the team has this name; there are {known or 'none yet'}")
    if person.disabled_at is not None:
        raise SettingError(f"--name {name}: the account is disabled; an owner enables it on the page of the team")
    token = secrets.token_urlsafe(24)
    expires_at = timestamp(datetime.now(UTC) + timedelta(days=RESET_DAYS))
    change.session.execute(delete(ResetRow).where(ResetRow.person_id == person.id))
    change.session.add(ResetRow(token=keyed_hash(secret, token), person_id=person.id, expires_at=expires_at))
    change.record("reset_link", person.id, after={"expires_at": expires_at})
    return token


def person_of_reset(session: Session, secret: bytes, token: str) -> PersonRow:
    """The person whose password a link resets."""
    row = session.get(ResetRow, keyed_hash(secret, token))
    person = session.get(PersonRow, row.person_id) if row is not None and row.expires_at >= timestamp() else None
    if person is None or person.disabled_at is not None:
        raise NotFound("this link cannot be used: it was used or has expired; ask an operator for a new one")
    return person


def reset_password(change: Transaction, secret: bytes, token: str, password: str) -> PersonRow:
    """Set the password of a link's person. All their browsers are signed out, and the link is used up."""
    person = person_of_reset(change.session, secret, token)
    change.author = person.id
    set_password(change, person, password)
    change.session.execute(delete(ResetRow).where(ResetRow.person_id == person.id))
    return person
