"""Changes that happen once, however often a request is sent.

A browser that did not hear an answer asks again with the same key and gets the same answer.
"""

import hashlib
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
from reeltalk_review.tables import RequestRow, canonical_json, timestamp

LONGEST_KEY: Final = 100
KEEP_REQUESTS: Final = timedelta(days=30)
"""How long the database remembers that a change was made."""
CLEAN_EVERY: Final = 1000
"""Old requests are deleted each time this many events were added."""


async def request_key(idempotency_key: Annotated[str, Header(max_length=LONGEST_KEY)] = "") -> str:
    """The key of a change. A client that got no answer asks again with the same key."""
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

    The key belongs to the request's method, address and body. `do` makes the change and returns the body of the answer;
    the record of the request joins its transaction.
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
    oldest = timestamp(datetime.fromisoformat(change.at) - KEEP_REQUESTS)
    change.session.execute(delete(RequestRow).where(RequestRow.at < oldest))
