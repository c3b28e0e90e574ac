"""Who said what of a place: one verdict for each person, one of which counted."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from reeltalk.review.applying.settled import DoneUnit, Settled
from reeltalk.review.assigning import ADJUDICATOR
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, FieldEdit


@dataclass(frozen=True)
class Said:
    """What a value says."""

    decision: Decision
    reasons: Sequence[str] = ()
    edits: Sequence[FieldEdit] = ()
    comment: str = ""


@dataclass(frozen=True)
class Verdict:
    """What one person said, as it becomes a `Review`."""

    reviewer: str
    at: str
    said: Said
    comment: str
    counts: bool
    """True for the one whose decision counted."""


def verdicts(unit: DoneUnit, place: str, settled: Settled, read: Callable[[Json], Said]) -> Iterator[Verdict]:
    """What each person said of a place. An adjudicator's counts where there was one, otherwise the first's.

    Args:
        unit: Where all work is in.
        place: Which place.
        settled: What was settled there.
        read: What a value says.
    """
    by_adjudicator, counted = settled.how in ("taken", "written"), False
    for work in unit.works:
        value, note = work.values.get(place), None
        if value is None:
            continue
        if work.role == ADJUDICATOR:
            # An adjudicator's value says whose work they took; what they settled on is the result.
            note, value = value.get("note"), settled.value
        counts = not counted and (work.role == ADJUDICATOR) == by_adjudicator
        counted |= counts
        said = read(value)
        yield Verdict(work.reviewer, work.times[place], said, note or said.comment, counts)
    if not counted:
        # Whoever settled it holds no such work any longer, as where nobody drew a link; their name stays.
        said = read(settled.value)
        reviewer = settled.people[-1] if settled.people else "unknown"
        yield Verdict(reviewer, settled.at, said, said.comment, counts=True)
