"""The loop around a writer: write, lint, judge, send back; and what is kept in the end, with what was found about it.

SVBench sends a chain whose overall quality is below 90 of 100 back to revision (arXiv 2502.10810). Here a model
revises it a few times; what still does not pass is kept and flagged for a person, and never kept in silence.
"""

from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

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


@dataclass(frozen=True)
class _Attempt:
    chain: QAChain
    faults: list[GateResult]
    judged: Judged


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
        faults = lint(chain, language=language, settings=lint_settings)
        judged = writer.judge(video, clip, chain)
        if judged is None:
            return chain, [*results, *_linted(chain, faults)]
        if isinstance(judged, Unwritten):
            unchecked = GateResult(
                gate=QUALITY_GATE,
                unit="chain",
                unit_id=chain.id,
                outcome=GateOutcome.UNCHECKED,
                reason=f"the judge's reply cannot be used: {judged.reason}",
                raw=judged.replies,
            )
            return chain, [*results, *_linted(chain, faults), unchecked]
        if judged.overall >= gate:
            return chain, [*results, *_linted(chain, faults), _quality(chain, judged, GateOutcome.PASSED)]
        tried.append(_Attempt(chain, faults, judged))
        below = f"overall quality is {judged.overall:g}, below {gate:g}"
        if attempt < rewrites:
            reason = f"attempt {attempt + 1}: {_because(below, judged)}"
            results.append(_quality(chain, judged, GateOutcome.FLAGGED, reason, name=ATTEMPT_GATE))
        advice = [*judged.reasons, *(_advice(fault) for fault in faults)] or [_because(below, judged)]
    if not tried:
        return None, results
    best = max(reversed(tried), key=lambda one: one.judged.overall)
    below = f"overall quality is {best.judged.overall:g}, below {gate:g}, after {len(tried)} attempts"
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
