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

from reeltalk.review.errors import Conflict, InvalidValue
from reeltalk.review.events import Transaction, transaction
from reeltalk.review.people import User
from reeltalk.review.project import ReviewProject
from reeltalk.review.tables import RequestRow, canonical_json, moment
from reeltalk.schema.record import Json

LONGEST_KEY: Final = 100
KEEP_SECRETS_S: Final = 300.0
MOST_SECRETS: Final = 200


class OneTimeSecrets:
    """Secrets that were made a moment ago, in memory alone: the database has their hashes.

    Args:
        clock: Tells the time in seconds; never goes back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._made: OrderedDict[bytes, tuple[float, str]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, person_id: str, key: str, secret: str) -> None:
        """Remember for some minutes what a form of a person made."""
        with self._lock:
            self._made[_place(person_id, key)] = (self._clock() + KEEP_SECRETS_S, secret)
            while len(self._made) > MOST_SECRETS:
                self._made.popitem(last=False)

    def again(self, person_id: str, key: str) -> str | None:
        """What the form made, None where that is too long ago or never was."""
        with self._lock:
            until, secret = self._made.get(_place(person_id, key), (0.0, ""))
            return secret if secret and until > self._clock() else None


def form_key() -> str:
    """A key for a form: sent twice, it counts once."""
    return secrets.token_urlsafe(18)


def _place(person_id: str, key: str) -> bytes:
    return hashlib.blake2b(f"{person_id}\n{key}".encode()).digest()


def make_secret_once(
    change: Transaction, shown: OneTimeSecrets, person_id: str, key: str, what: str, make: Callable[[], str]
) -> str | None:
    """Make a secret for a form, or find the one that the same form made a moment ago.

    Args:
        change: The transaction.
        shown: Where it is remembered.
        person_id: Whose form it is.
        key: The form's key.
        what: What the form makes, as `invitation`.
        make: Makes it.

    Returns:
        The secret; None where it was made and can be shown no more.

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
        return shown.again(person_id, key)
    made = make()
    change.session.add(RequestRow(person_id=person_id, key=key, what=what, status=200, body=None, at=change.at))
    shown.keep(person_id, key, made)
    return made


KEEP_REQUESTS: Final = timedelta(days=30)
"""How long it is remembered that a change was made, so that asking for it again changes nothing twice."""


CLEAN_EVERY: Final = 1000
"""After how many events old requests are looked for."""


def forget_requests(change: Transaction) -> None:
    """Forget now and then which requests were answered long ago."""
    first = change.head.seq - len(change.events)
    if first // CLEAN_EVERY == change.head.seq // CLEAN_EVERY:
        return
    oldest = moment(datetime.fromisoformat(change.at) - KEEP_REQUESTS)
    change.session.execute(delete(RequestRow).where(RequestRow.at < oldest))


def answer_once(
    project: ReviewProject, person: User, key: str, request: Request, body: Json, do: Callable[[Transaction], Json]
) -> JSONResponse:
    """Make a change, or answer again what was answered when it was made.

    Args:
        project: Where.
        person: Who asks.
        key: The key of the request.
        request: The request, whose method and address belong to what the key stands for.
        body: Its body, which belongs to it too.
        do: Makes the change in one transaction with the record that it was made; gives the body of the answer.

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


async def request_key(idempotency_key: Annotated[str, Header(max_length=LONGEST_KEY)] = "") -> str:
    """The key of a change: whoever did not hear the answer asks again with the same.

    Raises:
        InvalidValue: There is none, or it has other characters than printable ASCII.
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
