"""Leaves out units whose results cannot be written into the benchmark, and says why."""

from collections.abc import Iterable, Iterator
from typing import Final

from reeltalk.schema.review import Decision
from reeltalk_review.applying.next_revision import DoneUnit, NextRevision
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tasks.registry import TASKS

UNWRITTEN: Final = frozenset({Decision.REJECT, Decision.SKIP, "delete"})
"""Decisions whose other values do not reach the benchmark."""


def sound_units(made: NextRevision, units: Iterable[DoneUnit]) -> Iterator[DoneUnit]:
    """The units whose results can be written. The others are set aside.

    Results that were applied before stay, whatever they are.

    Args:
        made: The next revision, which keeps what is set aside.
        units: Finished units of one kind of work.
    """
    for unit in units:
        is_sound = True
        for place, settled in unit.results.items():
            if settled.value is None or settled.value.get("decision") in UNWRITTEN or not made.is_new(unit, place):
                continue
            try:
                TASKS[unit.kind].check(unit.content, place, settled.value)
            except InvalidValue as error:
                is_sound = False
                found = error.more.get("findings")
                made.set_aside(unit, found[0]["text"] if found else str(error), place=place, field=error.field)
        if is_sound:
            yield unit
