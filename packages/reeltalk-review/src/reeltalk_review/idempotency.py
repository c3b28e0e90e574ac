"""Changes that happen once, however often a request is sent.

A browser that did not hear an answer asks again with the same key and gets the same answer. The answer of a form that
makes a secret, such as an invitation's link, is kept in memory for a few minutes only.
"""

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Final

from fastapi import Depends, Header, Request
from fastapi.responses import JSONResponse
from sqlalchemy import delete

from reeltalk.schema.record import Json
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import Conflict, InvalidValue
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.people import User
from reeltalk_review.tables import RequestRow, canonical_json, moment

LONGEST_KEY: Final = 100
KEEP_SECRETS_S: Final = 300.0
MOST_SECRETS: Final = 200
KEEP_REQUESTS: Final = timedelta(days=30)
"""How long the database remembers that a change was made."""
CLEAN_EVERY: Final = 1000
"""Old requests are deleted each time this many events were added."""


async def request_key(idempotency_key: Annotated[str, Header(max_length=LONGEST_KEY)] = "") -> str:
    """The key of a change. Whoever did not hear the answer asks again with the same key.

    Raises:
        InvalidValue: There is no key, or it has other characters than printable ASCII.
    """
    if not 8 <= len(idempotency_key) <= LONGEST_KEY or not (
        idempotency_key.isascii() and idempotency_key.isprintable()
    ):
        raise InvalidValue(
            f"every change needs a header Idempotency-Key of 8 to {LONGEST_KEY} printable ASCII characters, kept when "
            "it is sent again",
            field="Idempotency-Key",
        )
    return idempotency_key


RequestKey = Annotated[str, Depends(request_key)]


def answer_once(
    project: ReviewProject, person: User, key: str, request: Request, body: Json, do: Callable[[Transaction], Json]
) -> JSONResponse:
    """Make a change, or repeat the answer that was given when it was made.

    Args:
        project: The project.
        person: Who asks.
        key: The key of the request.
        request: The request; its method and address belong to the key.
        body: Its body, which belongs to the key too.
        do: Makes the change and returns the body of the answer. The record of the request joins its transaction.

    Raises:
        Conflict: The key was used for another change (`key_used`).
    """
    what = hashlib.sha256(canonical_json([request.method, request.url.path, body]).encode()).hexdigest()
    with transaction(project.database, person.id) as change:
        known = change.session.get(RequestRow, (person.id, key))
        if known is not None:
            if known.what != what:
                raise Conflict("this key was used for another change; make a new one", code="key_used")
            return JSONResponse(known.body, status_code=known.status)
        answer = do(change)
        change.session.add(RequestRow(person_id=person.id, key=key, what=what, status=200, body=answer, at=change.at))
        forget_requests(change)
    return JSONResponse(answer)


def forget_requests(change: Transaction) -> None:
    """Delete requests that were answered long ago, each time `CLEAN_EVERY` events were added."""
    first = change.seq - len(change.events)
    if first // CLEAN_EVERY == change.seq // CLEAN_EVERY:
        return
    oldest = moment(datetime.fromisoformat(change.at) - KEEP_REQUESTS)
    change.session.execute(delete(RequestRow).where(RequestRow.at < oldest))


class OneTimeSecrets:
    """Secrets made in the last minutes, in memory only. The database holds their hashes.

    Args:
        clock: Returns the time in seconds and never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, person_id: str, key: str, secret: str) -> None:
        """Remember for some minutes the secret that a person's form made."""
        with self._lock:
            self._made[_place(person_id, key)] = (self._clock() + KEEP_SECRETS_S, secret)
            while len(self._made) > MOST_SECRETS:
                self._made.popitem(last=False)

    def again(self, person_id: str, key: str) -> str | None:
        """The secret that the form made; None if that was too long ago or never."""
        with self._lock:
            until, secret = self._made.get(_place(person_id, key), (0.0, ""))
            return secret if secret and until > self._clock() else None


def _place(person_id: str, key: str) -> bytes:
    return hashlib.blake2b(f"{person_id}\n{key}".encode()).digest()


def form_key() -> str:
    """A key for a form, so that a form sent twice counts once."""
    return secrets.token_urlsafe(18)


def make_secret_once(
    change: Transaction, made: OneTimeSecrets, person_id: str, key: str, what: str, make: Callable[[], str]
) -> str | None:
    """Make a secret for a form, or return the one that the same form made a moment ago.

    Args:
        change: The transaction.
        made: The secrets of the last minutes.
        person_id: Who sent the form.
        key: The form's key.
        what: What the form makes, as `invitation`.
        make: Makes the secret.

    Returns:
        The secret; None if it was made and can be shown no more.

    Raises:
        InvalidValue: The form has no key.
        Conflict: The key was used for something else (`key_used`).
    """
    if not 8 <= len(key) <= LONGEST_KEY:
        raise InvalidValue("the form has lost its key; reload the page", field="key")
    known = change.session.get(RequestRow, (person_id, key))
    if known is not None:
        if known.what != what:
            raise Conflict("this form was used for something else; reload the page", code="key_used")
        return made.again(person_id, key)
    secret = make()
    change.session.add(RequestRow(person_id=person_id, key=key, what=what, status=200, body=None, at=change.at))
    made.keep(person_id, key, secret)
    return secret
