"""The checks of a turn in plain words, for pages that show drafts."""

from dataclasses import dataclass
from typing import Final

from reeltalk.metrics.turn_checks import CHECKS, CheckedTurn, CheckName, check_of, gate_name, verdict_of
from reeltalk.schema.gates import VERIFIED, GateOutcome, GateResult

_FAULTS: Final = {check.name: check.fault for check in CHECKS}
_VERDICTS: Final = {
    "supported": "The video supports the answer",
    "contradicted": "The video contradicts the answer",
    "cannot tell": "A judge cannot tell from the video if the answer is right",
}


@dataclass(frozen=True)
class TurnNotes:
    """What the checks say about one turn. A check that was not made says nothing."""

    verdict: str
    """`supported`, `contradicted` or `cannot tell`; empty if no judge looked."""
    seen: str
    """The verdict as a sentence, with the moment and what the judge saw."""
    facts: tuple[str, ...]
    """What is known about its evidence, its dependence and its difficulty."""
    flags: tuple[str, ...]
    """Faults that were found, each with its reason."""

    @property
    def flagged(self) -> bool:
        """True if a check found a fault."""
        return bool(self.flags) or self.verdict in ("contradicted", "cannot tell")


def describe_turn(turn: CheckedTurn) -> TurnNotes:
    """The checks of a turn in words. Flags of its whole chain or dialogue are left out."""
    verified = turn.result("verified")
    if verified is None or verified.outcome is GateOutcome.UNCHECKED:
        verdict, seen = "", ""
    else:
        verdict = verdict_of(verified)
        seen = _describe_verdict(verified, verdict)
    facts = [fact for fact in (_evidence(turn), _dependence(turn), _difficulty(turn)) if fact]
    flags = [describe_flag(gate) for gate in turn.flags if gate_name(gate) != VERIFIED and gate.turn_index is not None]
    return TurnNotes(verdict, seen, tuple(facts), tuple(dict.fromkeys(flags)))


def describe_flag(gate: GateResult) -> str:
    """A flag as a check and its reason, such as `Needs no video: a model answers it`."""
    check = check_of(gate_name(gate))
    title = _FAULTS[check] if check is not None else gate_name(gate)
    return f"{title}: {gate.reason or gate_name(gate)}"


def _describe_verdict(gate: GateResult, verdict: str) -> str:
    moment = gate.extra.get("moment_s")
    said = len(gate.extra.get("verdicts", ()))
    ground = [f"at {moment:.1f} s"] if isinstance(moment, int | float) else []
    ground += [f"{round((gate.value or 0) * said)} of {said} verdicts"] if said > 1 and gate.value is not None else []
    seen = gate.extra.get("seen") or gate.reason
    inside = f" ({', '.join(ground)})" if ground else ""
    return f"{_VERDICTS[verdict]}{inside}{f': {seen}' if seen else '.'}"


def _evidence(turn: CheckedTurn) -> str:
    if not turn.turn.evidence:
        return ""
    stretches = ", ".join(f"{part.start_s:.1f}–{part.end_s:.1f} s" for part in turn.turn.evidence)
    asked: tuple[tuple[CheckName, str], ...] = (("answerable", "enough"), ("evidence", "needed"))
    # A check that it did not pass is a flag, which gives the reason.
    passed = " and ".join(title for name, title in asked if turn.outcomes.get(name) is GateOutcome.PASSED)
    return f"Evidence {stretches} ({passed})" if passed else f"Evidence {stretches}"


def _dependence(turn: CheckedTurn) -> str:
    depth = turn.value("depends")
    if depth is None or turn.outcomes.get("depends") is not GateOutcome.PASSED:
        return ""
    return f"Rests on {depth:.0f} earlier turn{'' if depth == 1 else 's'}" if depth else "Rests on no earlier turn"


def _difficulty(turn: CheckedTurn) -> str:
    share = turn.value("difficulty")
    if share is None:
        return ""
    return f"{100 * share:.0f} % of the attackers answer it" if share else "No attacker answers it"
