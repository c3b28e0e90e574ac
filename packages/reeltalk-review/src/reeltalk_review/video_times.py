"""Checks every time in a value against the length of the unit's video."""

from collections.abc import Iterator

from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk.store.invariants import TOLERANCE_S
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tables import UnitRow, VideoRow

SECONDS = "_s"
"""Ending of the names of fields that hold a time in seconds."""


def check_times(session: Session, unit: UnitRow, value: Json) -> None:
    """Reject a value with a time after the end of the unit's video.

    Args:
        session: The database.
        unit: The unit.
        value: A value of any kind of work. Times are the fields whose names end in `_s`, at any depth.

    Raises:
        InvalidValue: A time is too late. The message names the field, the time and the length of the video.
    """
    late = next(late_times(value, duration_of(session, unit)), None)
    if late is not None:
        field, problem = late
        raise InvalidValue(problem, field=field)


def duration_of(session: Session, unit: UnitRow) -> float | None:
    """Length of a unit's video in seconds; None if it is not known."""
    row = session.get(VideoRow, unit.video_id) if unit.video_id is not None else None
    return row.duration_s if row is not None else None


def late_times(value: Json, duration_s: float | None) -> Iterator[tuple[str, str]]:
    """The times in a value that are after the end of a video.

    Args:
        value: The value.
        duration_s: Length of the video; None if it is not known, and nothing is too late.

    Yields:
        The field, as `evidence.0.end_s`, and what is wrong with it, for people.
    """
    if duration_s is None:
        return
    for field, time_s in _times(value, ()):
        if time_s > duration_s + TOLERANCE_S:
            yield field, f"{_spoken(field)} is {_seconds(time_s)}, but the video lasts only {_seconds(duration_s)}"


def _times(value: Json, path: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.endswith(SECONDS) and isinstance(inner, int | float) and not isinstance(inner, bool):
                yield ".".join((*path, name)), float(inner)
            else:
                yield from _times(inner, (*path, name))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _times(inner, (*path, str(index)))


def _spoken(field: str) -> str:
    """A field for people, who count from 1: `evidence.0.end_s` is `the end of evidence 1`."""
    *outer, name = field.split(".")
    words = [str(int(part) + 1) if part.isdigit() else part.replace("_", " ") for part in outer if part != "write"]
    what = {"asked_at_s": "the time at which it is asked"}.get(name, f"the {name.removesuffix(SECONDS)}")
    return f"{what.replace('_', ' ')} of {' '.join(words)}" if words else what.replace("_", " ")


def _seconds(time_s: float) -> str:
    return f"{round(time_s, 2):.10g} s"
