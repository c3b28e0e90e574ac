"""What is shown once, as an invitation's link: a form that is sent twice in a moment gets the same answer twice."""

import hashlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from reeltalk.review.events import Change
from reeltalk.review.refusals import BadValueError, ConflictError
from reeltalk.review.tables import RequestRow

LONGEST_KEY: Final = 100
KEPT_S: Final = 300.0
MOST: Final = 200


class ShownOnce:
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
            self._made[_place(person_id, key)] = (self._clock() + KEPT_S, secret)
            while len(self._made) > MOST:
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


def make_once(
    change: Change, shown: ShownOnce, person_id: str, key: str, what: str, make: Callable[[], str]
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
        BadValueError: The form has no key.
        ConflictError: The key was used for something else (`key_used`).
    """
    if not 8 <= len(key) <= LONGEST_KEY:
        raise BadValueError("the form has lost its key; reload the page", field="key")
    known = change.session.get(RequestRow, (person_id, key))
    if known is not None:
        if known.what != what:
            raise ConflictError("this form was used for something else; reload the page", code="key_used")
        return shown.again(person_id, key)
    made = make()
    change.session.add(RequestRow(person_id=person_id, key=key, what=what, status=200, body=None, at=change.at))
    shown.keep(person_id, key, made)
    return made
