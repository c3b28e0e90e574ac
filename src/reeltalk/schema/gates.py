"""What a check found about a turn, a chain, a linkage or a scene, and which turns need the video by what was found."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import Task
from reeltalk.schema.record import Finite, Name, Record

GateUnit = Literal["chain", "dialogue", "linkage", "path", "scene", "clip", "video"]

LEAK: Final = "leak."
"""Begins the name of every gate that asks a turn without the video."""
BY_DESIGN: Final[tuple[tuple[str, str], ...]] = (
    ("mt_video_bench.task", Task.MEMORY_RECALL.value),
    ("mt_video_bench.task", Task.CONTENT_SUMMARY.value),
    ("mt_video_bench.task", Task.ANSWER_REFUSAL.value),
)
"""Labels of turns that need no video by design: the answer stands in the history, or is a refusal."""


class GateOutcome(StrEnum):
    """What became of the unit."""

    PASSED = "passed"
    FLAGGED = "flagged"
    """Kept, and shown to whoever reviews it."""
    DROPPED = "dropped"
    """Left out of the tables by a set rule."""
    REPLACED = "replaced"
    """Not asked, or written again; what stands in its place is a unit or turn of its own."""
    UNWRITTEN = "unwritten"
    """A writer gave nothing that could be used; its raw replies are kept, and nothing stands in its place."""
    UNCHECKED = "unchecked"
    """The check could not be made."""


GONE: Final = frozenset({GateOutcome.DROPPED, GateOutcome.REPLACED, GateOutcome.UNWRITTEN})
"""Outcomes of what no table holds."""


class GateResult(Record):
    """One check of one unit. A check that found nothing has a row too, so that what was checked is known."""

    gate: Name
    """Which check, as `lint` or `leak.blind`."""
    unit: GateUnit
    unit_id: Name
    turn_index: Annotated[int, Field(ge=0)] | None = None
    """From 0, if it is about one turn."""
    outcome: GateOutcome
    reason: str | None = None
    """Why it did not pass."""
    value: Finite | None = None
    """What was measured, as an overall quality of 0 to 100."""
    raw: tuple[str, ...] = ()
    """Replies of a model that could not be used, as they came."""


def is_counted(turn: Turn) -> bool:
    """True if a turn is meant to need the video, and has a reference to compare with.

    Turns are left out whose labels are in `BY_DESIGN`, that are about no video (`extra.about`: `topic`, `chat`), whose
    answer is a refusal (`extra.answer_type`), and that have no reference.
    """
    elsewhere = turn.extra.get("about") in ("topic", "chat")
    if elsewhere or not turn.references or turn.extra.get("answer_type") == "refusal":
        return False
    return not any(label in turn.labels.get(vocabulary, ()) for vocabulary, label in BY_DESIGN)


def turn_gates(gates: Iterable[GateResult]) -> Mapping[tuple[str, int], tuple[GateResult, ...]]:
    """What was found about single turns, by the turn's unit and its index.

    Args:
        gates: The table; results about whole units are left out.
    """
    found: dict[tuple[str, int], list[GateResult]] = defaultdict(list)
    for gate in gates:
        if gate.turn_index is not None:
            found[gate.unit_id, gate.turn_index].append(gate)
    return {place: tuple(results) for place, results in found.items()}


def needs_video(turn: Turn, gates: Iterable[GateResult]) -> bool:
    """True if a turn is meant to need the video and no check that asked it without the video could answer it.

    Args:
        turn: The turn as its chain or dialogue has it; a path's turn is that of its chain.
        gates: What was found about this turn, as `turn_gates` gives it. A turn that was never asked without the video
            passes as one that needs it, so that callers look first whether a benchmark was checked at all.
    """
    leaks = any(gate.gate.startswith(LEAK) and gate.outcome is GateOutcome.FLAGGED for gate in gates)
    return is_counted(turn) and not leaks
