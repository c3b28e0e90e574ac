"""The stretches of a video that the answers of a writer rest on: what it may state about what it saw."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.linting import GATE
from reeltalk_build.construct.replies import ChainReply, ChainTurnReply

SHOWN: Final = "shown"
"""Key in the `extra` of what a model wrote: `parts`, the pairs of seconds of what it was to write about, and `at_s`,
the seconds of the frames that it saw of it, none if it saw no pictures."""
SLIP_S: Final = 1.0
"""Seconds by which evidence may reach beyond its clip; it is then cut to the clip."""
ROUNDED_S: Final = 0.05
"""A writer reads the seconds of frames to a tenth."""
WHOLE_SHARE: Final = 0.9
"""Evidence of this share of a part is all of it."""
FEW_TURNS: Final = 3
"""So few turns may all rest on the same, and a part with so few frames may be evidence as a whole."""


def with_shown(made: Mapping[str, Any], parts: Sequence[Interval], times_s: Sequence[float]) -> dict[str, Any]:
    """The `extra` of a chain or dialogue whose writer saw frames of some parts at these times."""
    shown = {"parts": [[part.start_s, part.end_s] for part in parts], "at_s": [round(time_s, 3) for time_s in times_s]}
    return {**made, SHOWN: shown}


def evidence_faults(unit: QAChain | Dialogue) -> list[GateResult]:
    """Flags for evidence that says less than it seems to: finer than the frames, the whole part, or always the same.

    A round of a dialogue without a stretch of its own rests on the whole scene, as a summary does; that is no fault.
    """
    if SHOWN not in unit.extra:
        return []
    parts = tuple(Interval(start_s=start_s, end_s=end_s) for start_s, end_s in unit.extra[SHOWN]["parts"])
    at_s: Sequence[float] = unit.extra[SHOWN]["at_s"]
    named = {
        index: turn.evidence
        for index, turn in enumerate(unit.turns)
        if turn.evidence and (isinstance(unit, QAChain) or turn.evidence != parts)
    }
    if len(named) > FEW_TURNS and len(set(named.values())) == 1:
        reasons = dict.fromkeys(named, ("same", "its evidence is that of all turns, and says not where its answer is"))
    else:
        reasons = {index: fault for index, own in named.items() if (fault := _fault(own, parts, at_s)) is not None}
    return [
        Subject.of(unit).gate(f"{GATE}.evidence_{rule}", GateOutcome.FLAGGED, reason, turn=index)
        for index, (rule, reason) in reasons.items()
    ]


def _fault(evidence: Sequence[Interval], parts: Sequence[Interval], at_s: Sequence[float]) -> tuple[str, str] | None:
    if at_s and not any(part.reaches(time_s, tolerance_s=ROUNDED_S) for part in evidence for time_s in at_s):
        return "fine", "its evidence lies between the moments that were shown, so nobody saw it there; name one of them"
    lengths_s = (sum(part.duration_s for part in some) for some in (evidence, parts))
    if next(lengths_s) >= WHOLE_SHARE * next(lengths_s) and not 0 < len(at_s) <= FEW_TURNS:
        return "whole", "its evidence is all of this part, and says not where its answer is"
    return None


def evidence_complaint(reply: ChainReply, interval: Interval) -> str | None:
    """The complaint about evidence that is no stretch of a clip; None if there is none."""
    for number, turn in enumerate(reply.turns, start=1):
        found = f"the evidence of question {number}, {turn.start_s:g} to {turn.end_s:g} s,"
        if turn.start_s < interval.start_s - SLIP_S or turn.end_s > interval.end_s + SLIP_S:
            return f"{found} lies outside this part, {interval.start_s:.1f} to {interval.end_s:.1f} s"
        if max(turn.start_s, interval.start_s) >= min(turn.end_s, interval.end_s):
            return f"{found} does not end after it starts"
    return None


def clamped(turn: ChainTurnReply, interval: Interval) -> Interval:
    """The evidence of a turn, cut to its clip."""
    return Interval(start_s=max(turn.start_s, interval.start_s), end_s=min(turn.end_s, interval.end_s))
