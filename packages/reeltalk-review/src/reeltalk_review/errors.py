"""Errors that the application answers requests with, each with its HTTP status and a code for scripts.

Whatever checks a request raises them, with what is wrong and what to do; `app.py` turns them into answers in one place.
"""

from collections.abc import Mapping
from typing import ClassVar

from reeltalk.errors import ReeltalkError
from reeltalk.schema.record import Json


class ApiError(ReeltalkError):
    """A request that cannot be done as asked. Pages and JSON show the same message.

    Args:
        message: What is wrong and what to do next.
        code: The error's name for scripts; by default the name of the class.
        field: The field of the request that is wrong, if it is one.
        more: More entries of the JSON answer, such as the current revision.
    """

    status: ClassVar[int] = 400
    code = "refused"

    def __init__(
        self, message: str, *, code: str | None = None, field: str | None = None, more: Mapping[str, Json] | None = None
    ) -> None:
        super().__init__(message)
        self.field, self.more = field, dict(more or {})
        if code is not None:
            self.code = code

    def document(self) -> dict[str, Json]:
        """The body of a JSON answer."""
        error: dict[str, Json] = {"code": self.code, "message": str(self)}
        if self.field is not None:
            error["field"] = self.field
        return {"error": error, **self.more}


class Unauthorized(ApiError):
    """Nobody is signed in, or no longer."""

    status, code = 401, "sign_in"


class Forbidden(ApiError):
    """The person's role, or their part in this work, does not allow it."""

    status, code = 403, "not_allowed"


class NotFound(ApiError):
    """There is no such thing, or this person may not know of it."""

    status, code = 404, "not_there"


class Conflict(ApiError):
    """It was changed meanwhile, or its state does not allow it."""

    status, code = 409, "conflict"


class InvalidValue(ApiError):
    """A value that cannot be stored; names the field."""

    status, code = 422, "bad_value"


class TooManyRequests(ApiError):
    """Too many tries.

    Args:
        message: What was tried too often.
        wait_s: Seconds until the next try is accepted.
    """

    status, code = 429, "too_many"

    def __init__(self, message: str, *, wait_s: int) -> None:
        super().__init__(f"{message}; try again in {_spoken(wait_s)}", more={"retry_after_s": wait_s})
        self.wait_s = wait_s


def _spoken(seconds: int) -> str:
    if seconds < 90:
        return f"{seconds} second{'s' if seconds != 1 else ''}"
    return f"{-(-seconds // 60)} minutes"
