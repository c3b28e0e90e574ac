"""Results of checks of turns, chains, linkages and scenes, and the turns that need the video by these results."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, Literal

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import Task
from reeltalk.schema.record import Finite, Index, Name, Record

GateUnit = Literal["chain", "dialogue", "linkage", "path", "scene", "clip", "video", "kind"]
"""What is checked; `kind` is a kind of question, over all its turns."""

Only = Literal["passed", "reviewed", "all"]
"""Which turns leave a benchmark: all but those that a check flags, those that people accepted, or all."""

LEAK: Final = "leak."
"""Prefix of the names of gates that ask a turn without the video."""
VERIFIED: Final = "verified"
"""Gate of a reference answer, draft or caption that a judge compares with the video: passed if the video supports it,
flagged if the judge cannot tell, dropped or replaced if the video contradicts it, unchecked without a judge."""
ELSEWHERE_KEY: Final = "elsewhere"
"""Key in the `extra` of a result of `verified` that is flagged since the judge names a moment outside the evidence."""
FAULTS: Final = "faults"
"""Gate of the other faults that a judge finds in a draft, one result for each fault."""
ANSWERABLE: Final = "answerable"
"""Gate of a turn that a model must be able to answer from its evidence alone."""
EVIDENCE_CUT: Final = "evidence.cut"
"""Gate of a turn that a model must not be able to answer from the video without its evidence."""
DEPENDS: Final = "depends"
"""Gate of a turn that claims to need the dialogue; its value is the depth, the number of earlier turns it rests on."""
DIFFICULTY: Final = "difficulty"
"""Gate of a turn that no attacker should be able to answer; its value is the share of attackers that can."""
BY_DESIGN: Final[tuple[tuple[str, str], ...]] = (
    ("mt_video_bench.task", Task.MEMORY_RECALL.value),
    ("mt_video_bench.task", Task.CONTENT_SUMMARY.value),
    ("mt_video_bench.task", Task.ANSWER_REFUSAL.value),
)
"""Labels of turns that need no video by design: the answer is in the history, or is a refusal."""


class GateOutcome(StrEnum):
    """The outcome for the unit."""

    PASSED = "passed"
    FLAGGED = "flagged"
    """Kept, and shown to reviewers."""
    DROPPED = "dropped"
    """Left out of the tables by a set rule."""
    REPLACED = "replaced"
    """Replaced by another unit or turn, or not used."""
    UNWRITTEN = "unwritten"
    """A writer gave nothing usable. Its raw replies are kept, and nothing replaces it."""
    UNCHECKED = "unchecked"
    """The check could not be made."""


GONE_OUTCOMES: Final = frozenset({GateOutcome.DROPPED, GateOutcome.REPLACED, GateOutcome.UNWRITTEN})
"""Outcomes of units that are in no table."""


class GateResult(Record):
    """One check of one unit. A check without findings has a row too, as a record that it was made."""

    gate: Name
    """Name of the check, such as `lint` or `leak.blind`."""
    unit: GateUnit
    unit_id: Name
    turn_index: Index | None = None
    """Index from 0, if the check is about one turn."""
    outcome: GateOutcome
    reason: str | None = None
    """The reason if it did not pass."""
    value: Finite | None = None
    """The measured value, such as an overall quality of 0 to 100."""
    raw: tuple[str, ...] = ()
    """Replies of a model that could not be used, as they came."""


def is_counted(turn: Turn) -> bool:
    """True if a turn is meant to need the video and has a reference.

    False for turns with labels in `BY_DESIGN`, turns about no video (`extra.about`: `topic`, `chat`), refusals
    (`extra.answer_type`), and turns without a reference.
    """
    elsewhere = turn.extra.get("about") in ("topic", "chat")
    if elsewhere or not turn.references or turn.extra.get("answer_type") == "refusal":
        return False
    return not any(label in turn.labels.get(vocabulary, ()) for vocabulary, label in BY_DESIGN)


def turn_gates(gates: Iterable[GateResult]) -> Mapping[tuple[str, int], tuple[GateResult, ...]]:
    """The results on single turns, by the turn's unit and its index.

    Args:
        gates: Rows of the table; those about whole units are ignored.
    """
    found: dict[tuple[str, int], list[GateResult]] = defaultdict(list)
    for gate in gates:
        if gate.turn_index is not None:
            found[gate.unit_id, gate.turn_index].append(gate)
    return {place: tuple(results) for place, results in found.items()}


def needs_video(turn: Turn, gates: Iterable[GateResult]) -> bool:
    """True if a turn is meant to need the video and no check could answer it without the video.

    Args:
        turn: The turn in its chain or dialogue; for a path, the turn of its chain.
        gates: The results on this turn, from `turn_gates`. Without results the turn counts as one that needs the video,
            so callers first check that the benchmark was checked at all.
    """
    leaks = any(gate.gate.startswith(LEAK) and gate.outcome is GateOutcome.FLAGGED for gate in gates)
    return is_counted(turn) and not leaks
