"""The loop around a writer: write, lint, judge, send back; and what is kept in the end, with what was found about it.

A chain goes back also where a question of it can be answered without the video.
SVBench sends a chain whose overall quality is below 90 of 100 back to revision (arXiv 2502.10810). Here a model
revises it a few times; what still does not pass is kept and flagged for a person, and never kept in silence.
"""

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from reeltalk.construct.leakage import leaks_of
from reeltalk.construct.linting import DEFAULT_LINT, GATE, LintSettings, lint
from reeltalk.construct.model_linking import Linked
from reeltalk.construct.writers import Judged, Language, Unwritten, Writer
from reeltalk.schema.dialogue import Linkage, QAChain
from reeltalk.schema.gates import GateOutcome, GateResult, GateUnit
from reeltalk.schema.media import Clip, Video

WRITTEN_GATE: Final = "written"
QUALITY_GATE: Final = "quality"
ATTEMPT_GATE: Final = "quality.attempt"
"""A chain that was sent back: it is not kept, but what the judge found is."""
NEEDS_VIDEO: Final = "it can be answered without the video, so ask something else"
"""What a writer is told of a question that leaks."""
MIN_QUALITY: Final = 90.0
"""Lowest overall quality that passes (SVBench)."""
MAX_REWRITES: Final = 2
"""How often a chain is sent back; SVBench's people go on until it passes."""


@runtime_checkable
class TellsRejected(Protocol):
    """A writer that also says which pairs of chains it could not use."""

    def linked(self, video: Video, before: QAChain, after: QAChain, /) -> Linked | Unwritten:
        """Relations between turns of two chains, and what was rejected."""
        ...


@runtime_checkable
class TellsReplaced(Protocol):
    """A writer that looks itself which questions need no video, and asks others in their place."""

    def replaced(self, unit_id: str, /) -> list[GateResult]:
        """The questions in whose place others are asked in a chain or dialogue that was just written."""
        ...


@dataclass(frozen=True)
class _Attempt:
    chain: QAChain
    faults: list[GateResult]
    judged: Judged | Unwritten | None
    leaking: list[tuple[int, str, str]]
    """Turns that need no video: index, gate and reason."""

    @property
    def overall(self) -> float:
        return self.judged.overall if isinstance(self.judged, Judged) else 100.0

    def passes(self, gate: float) -> bool:
        """True also where nobody judged it, or could."""
        return self.overall >= gate

    def below(self, gate: float) -> str:
        return f"overall quality is {self.overall:g}, below {gate:g}"

    def advice(self, below: str) -> list[str]:
        """What the writer is told for another attempt."""
        told = [f"question {index + 1}: {NEEDS_VIDEO}: {reason}" for index, _, reason in self.leaking]
        told += self.judged.reasons if isinstance(self.judged, Judged) else ()
        told += [_advice(fault) for fault in self.faults]
        return told or ([_because(below, self.judged)] if isinstance(self.judged, Judged) else [])

    @property
    def verdict(self) -> list[GateResult]:
        """The result of the judging of a chain that passes."""
        if isinstance(self.judged, Judged):
            return [_quality(self.chain, self.judged, GateOutcome.PASSED)]
        if self.judged is None:
            return []
        unchecked = GateResult(
            gate=QUALITY_GATE,
            unit="chain",
            unit_id=self.chain.id,
            outcome=GateOutcome.UNCHECKED,
            reason=f"the judge's reply cannot be used: {self.judged.reason}",
            raw=self.judged.replies,
        )
        return [unchecked]


def written_chain(
    writer: Writer,
    video: Video,
    clip: Clip,
    gate: float = MIN_QUALITY,
    rewrites: int = MAX_REWRITES,
    *,
    language: Language = "en",
    lint_settings: LintSettings = DEFAULT_LINT,
) -> tuple[QAChain | None, list[GateResult]]:
    """A chain about a clip, and all that was found about it.

    Of several attempts below the gate the best is kept, the later one where two are equal.

    Args:
        writer: Writes and judges.
        video: Whose clip it is.
        clip: What it is about.
        gate: Lowest overall quality that passes, 0 to 100.
        rewrites: How often a chain below it is sent back.
        language: What it is to be written in.
        lint_settings: Bounds of the rules that need no model.

    Returns:
        The chain, or None where nothing could be written; and what the checks found.

    Raises:
        ModelError: A model has no reply to give.
        BudgetError: A limit would be passed.
    """
    results: list[GateResult] = []
    advice: list[str] = []
    tried: list[_Attempt] = []
    for attempt in range(1 + rewrites):
        chain = writer.chain(video, clip, advice=advice)
        if isinstance(chain, Unwritten):
            results.append(unwritten_gate(WRITTEN_GATE, "clip", clip.id, chain))
            break
        one = _Attempt(
            chain,
            lint(chain, language=language, settings=lint_settings),
            writer.judge(video, clip, chain),
            leaks_of(chain),
        )
        if one.passes(gate) and not one.leaking:
            return chain, [*results, *_linted(chain, one.faults), *one.verdict]
        tried.append(one)
        below = one.below(gate)
        if attempt < rewrites:
            if not one.passes(gate) and isinstance(one.judged, Judged):
                reason = f"attempt {attempt + 1}: {_because(below, one.judged)}"
                results.append(_quality(chain, one.judged, GateOutcome.FLAGGED, reason, name=ATTEMPT_GATE))
            results += [replaced(name, "chain", chain.id, reason, turn=index) for index, name, reason in one.leaking]
        advice = one.advice(below)
    if not tried:
        return None, results
    best = max(reversed(tried), key=lambda one: (not one.leaking, one.overall))
    if best.passes(gate):
        return best.chain, [*results, *_linted(best.chain, best.faults), *best.verdict]
    assert isinstance(best.judged, Judged)
    below = f"{best.below(gate)}, after {len(tried)} attempts"
    flagged = _quality(best.chain, best.judged, GateOutcome.FLAGGED, _because(below, best.judged))
    return best.chain, [*results, *_linted(best.chain, best.faults), flagged]


def written_linkages(
    writer: Writer, video: Video, before: QAChain, after: QAChain
) -> tuple[list[Linkage], list[GateResult]]:
    """Relations between two chains, with whatever could not be used.

    Args:
        writer: Finds them.
        video: Whose chains they are.
        before: The earlier chain.
        after: The later one.

    Raises:
        ModelError: A model has no reply to give.
        BudgetError: A limit would be passed.
    """
    found = (
        writer.linked(video, before, after)
        if isinstance(writer, TellsRejected)
        else writer.linkages(video, before, after)
    )
    if isinstance(found, Unwritten):
        return [], [unwritten_gate("linkage", "chain", after.id, found)]
    return (found.linkages, found.rejected) if isinstance(found, Linked) else (found, [])


def _linted(chain: QAChain, faults: list[GateResult]) -> list[GateResult]:
    return faults or [GateResult(gate=GATE, unit="chain", unit_id=chain.id, outcome=GateOutcome.PASSED)]


def _advice(fault: GateResult) -> str:
    return f"question {(fault.turn_index or 0) + 1}: {fault.reason}"


def _because(below: str, judged: Judged) -> str:
    if judged.reasons:
        return f"{below}: {'; '.join(judged.reasons)}"
    if not judged.dimensions:
        return below
    lowest = min(judged.dimensions, key=lambda name: judged.dimensions[name])
    return f"{below}; the lowest dimension is {lowest}, {judged.dimensions[lowest]:g}"


def _quality(
    chain: QAChain, judged: Judged, outcome: GateOutcome, reason: str | None = None, *, name: str = QUALITY_GATE
) -> GateResult:
    return GateResult(
        gate=name,
        unit="chain",
        unit_id=chain.id,
        outcome=outcome,
        reason=reason,
        value=judged.overall,
        extra={"dimensions": judged.dimensions},
    )


def unwritten_gate(
    gate: str, unit: GateUnit, unit_id: str, nothing: Unwritten, *, turn: int | None = None
) -> GateResult:
    """That a writer gave nothing, with its raw replies."""
    return GateResult(
        gate=gate,
        unit=unit,
        unit_id=unit_id,
        turn_index=turn,
        outcome=GateOutcome.UNWRITTEN,
        reason=nothing.reason,
        raw=nothing.replies,
    )


def replaced(gate: str, unit: GateUnit, unit_id: str, reason: str, *, turn: int) -> GateResult:
    """That a question did not pass a gate, and another one stands in its place.

    Args:
        gate: The gate.
        unit: What it would be a turn of.
        unit_id: Its identifier.
        reason: Why it did not pass.
        turn: Where it would stand, from 0.
    """
    return GateResult(
        gate=gate, unit=unit, unit_id=unit_id, turn_index=turn, outcome=GateOutcome.REPLACED, reason=reason
    )
