"""Gate results about one chain, dialogue, clip, scene or video."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import ELSEWHERE_KEY, FAULTS, VERIFIED, GateOutcome, GateResult, GateUnit
from reeltalk_build.construct.replies import Verdict
from reeltalk_build.construct.verification import TurnVerdict
from reeltalk_build.construct.writers import Unwritten

OUTCOMES: Final[Mapping[Verdict, GateOutcome]] = {
    "supported": GateOutcome.PASSED,
    "cannot tell": GateOutcome.FLAGGED,
    "contradicted": GateOutcome.DROPPED,
}
"""Outcome of the gate `verified` by verdict."""


@dataclass(frozen=True)
class Subject:
    """What gate results are about."""

    kind: GateUnit
    id: str

    @classmethod
    def of(cls, unit: QAChain | Dialogue) -> Self:
        """A chain or a dialogue."""
        return cls("chain" if isinstance(unit, QAChain) else "dialogue", unit.id)

    def gate(
        self, name: str, outcome: GateOutcome, reason: str | None = None, *, turn: int | None = None, **more: Any
    ) -> GateResult:
        """A result of a gate.

        Args:
            name: Name of the gate.
            reason: Why, unless it passed.
            turn: Index of the turn, from 0; None for the whole.
            more: Other fields of the result.
        """
        return GateResult(
            gate=name, unit=self.kind, unit_id=self.id, turn_index=turn, outcome=outcome, reason=reason, **more
        )

    def unwritten(self, name: str, nothing: Unwritten, *, turn: int | None = None) -> GateResult:
        """The result for something that a writer could not write, with the model's raw replies."""
        return self.gate(name, GateOutcome.UNWRITTEN, nothing.reason, turn=turn, raw=nothing.replies)

    def unchecked(self, name: str, reason: str, *, turn: int | None = None, raw: Sequence[str] = ()) -> GateResult:
        """The result for a check that could not be made, with the judge's raw replies if it gave any."""
        why = f"the judge's reply cannot be used: {reason}" if raw else reason
        return self.gate(name, GateOutcome.UNCHECKED, why, turn=turn, raw=tuple(raw))

    def verdict(
        self, verdict: TurnVerdict, *, turn: int | None = None, outcome: GateOutcome | None = None
    ) -> list[GateResult]:
        """The results of judging one text: `verified`, and `faults` for each other fault.

        Args:
            verdict: What the judges find.
            turn: Index of the turn, from 0; None for a text that is no turn.
            outcome: Outcome of a text that does not stay, for example `REPLACED`; by the verdict by default.
        """
        failed = verdict.verdict != "supported"
        own = GateOutcome.FLAGGED if verdict.elsewhere else OUTCOMES[verdict.verdict]
        verified = self.gate(
            VERIFIED,
            own if outcome is None or not failed else outcome,
            verdict.seen if failed else verdict.elsewhere or None,
            turn=turn,
            value=verdict.agreement,
            extra={
                "moment_s": verdict.moment_s,
                "seen": verdict.seen,
                "verdicts": list(verdict.verdicts),
                "judges": list(verdict.judges),
                **({ELSEWHERE_KEY: True} if verdict.elsewhere else {}),
            },
        )
        return [
            verified,
            *(self.gate(FAULTS, outcome or GateOutcome.FLAGGED, fault, turn=turn) for fault in verdict.faults),
        ]
