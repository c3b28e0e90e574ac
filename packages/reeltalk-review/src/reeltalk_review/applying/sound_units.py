"""Leaves out units whose results cannot be written into the benchmark, and says why."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision
from reeltalk_review.applying.next_revision import DoneUnit, NextRevision
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.video_times import late_times

UNWRITTEN: Final = frozenset({Decision.REJECT, Decision.SKIP, "delete"})
"""Decisions whose other values do not reach the benchmark."""


def sound_units(
    made: NextRevision, units: Iterable[DoneUnit], durations_s: Mapping[str, float | None]
) -> Iterator[DoneUnit]:
    """The units whose results can be written. The others are set aside.

    Results that were applied before stay, whatever they are.

    Args:
        made: The next revision, which keeps what is set aside.
        units: Finished units of one kind of work.
        durations_s: Lengths of the videos in seconds, by id.
    """
    for unit in units:
        is_sound = True
        for place, settled in unit.results.items():
            if settled.value is None or settled.value.get("decision") in UNWRITTEN or not made.is_new(unit, place):
                continue
            found = _problem(unit, place, settled.value, durations_s.get(unit.video_id or ""))
            if found is not None:
                is_sound = False
                made.set_aside(unit, found[1], place=place, field=found[0])
        if is_sound:
            yield unit


def _problem(unit: DoneUnit, place: str, value: Json, duration_s: float | None) -> tuple[str | None, str] | None:
    late = next(late_times(value, duration_s), None)
    if late is not None:
        return late
    try:
        TASKS[unit.kind].check(unit.content, place, value)
    except InvalidValue as error:
        return error.field, str(error)
    return None
