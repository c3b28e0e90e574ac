"""The quality loop around a writer: write, lint, judge, send back. Then turns that need no video are removed.

SVBench sends a chain with an overall quality below 90 of 100 back to revision (arXiv 2502.10810). Here the writer
revises it a few times; a chain that still fails stays, with a flag for a person. A chain or dialogue is also sent
back if a question can be answered without the video. `remove_leaks` removes such turns that remain, or the whole unit
if its rules would be broken.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar, runtime_checkable

from reeltalk.construct.equivalence import Equivalence
from reeltalk.construct.leakage import LeakSettings, leaks, leaks_of
from reeltalk.construct.linting import (
    DEFAULT_LINT,
    GATE,
    LintSettings,
    check_structure,
    is_labelled,
    lint,
    names_a_round,
)
from reeltalk.construct.model_linking import LinkageResult
from reeltalk.construct.writers import ChainJudgement, Language, Unwritten, Writer
from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain
from reeltalk.schema.entrances import refers_back
from reeltalk.schema.gates import GONE, GateOutcome, GateResult, GateUnit
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Video

WRITTEN_GATE: Final = "written"
QUALITY_GATE: Final = "quality"
ATTEMPT_GATE: Final = "quality.attempt"
"""Gate of an attempt that was sent back. The attempt is dropped, the judge's result is stored."""
NEEDS_VIDEO: Final = "it can be answered without the video, so ask something else"
"""Advice to a writer about a question that leaks. Part of prompts."""
MIN_QUALITY: Final = 90.0
"""Lowest overall quality that passes (SVBench)."""
MAX_REWRITES: Final = 2
"""Most revisions of a chain; SVBench's annotators revise until it passes."""


@runtime_checkable
class ReportsRejected(Protocol):
    """A writer that also reports which pairs of turns it could not use."""

    def link_chains(self, video: Video, before: QAChain, after: QAChain, /) -> LinkageResult | Unwritten:
        """Linkages between two chains, and the rejected pairs."""
        ...


@runtime_checkable
class ReportsReplaced(Protocol):
    """A writer that itself detects questions that need no video, and replaces them."""

    def list_replaced(self, unit_id: str, /) -> list[GateResult]:
        """Gate results for the replaced questions of a chain or dialogue that was just written."""
        ...


@dataclass(frozen=True)
class _Attempt:
    chain: QAChain
    faults: list[GateResult]
    judged: ChainJudgement | Unwritten | None
    leaking: list[tuple[int, str, str]]
    """Turns that need no video, as (index, gate, reason)."""

    @property
    def overall(self) -> float:
        return self.judged.overall if isinstance(self.judged, ChainJudgement) else 100.0

    def passes(self, gate: float) -> bool:
        """True if the quality reaches the gate, or if there is no judgement."""
        return self.overall >= gate

    def below(self, gate: float) -> str:
        return f"overall quality is {self.overall:g}, below {gate:g}"

    def advice(self, below: str) -> list[str]:
        """Advice to the writer for another attempt. Part of prompts."""
        told = [f"question {index + 1}: {NEEDS_VIDEO}: {reason}" for index, _, reason in self.leaking]
        told += self.judged.reasons if isinstance(self.judged, ChainJudgement) else ()
        told += [_advice(fault) for fault in self.faults]
        return told or ([_because(below, self.judged)] if isinstance(self.judged, ChainJudgement) else [])

    @property
    def verdict(self) -> list[GateResult]:
        """The gate result of a chain that passes."""
        if isinstance(self.judged, ChainJudgement):
            return [_quality(self.chain, self.judged, GateOutcome.PASSED)]
        if self.judged is None:
            return []
        why = self.judged.reason
        unchecked = GateResult(
            gate=QUALITY_GATE,
            unit="chain",
            unit_id=self.chain.id,
            outcome=GateOutcome.UNCHECKED,
            reason=f"the judge's reply cannot be used: {why}" if self.judged.replies else why,
            raw=self.judged.replies,
        )
        return [unchecked]


def write_checked_chain(
    writer: Writer,
    video: Video,
    clip: Clip,
    gate: float = MIN_QUALITY,
    rewrites: int = MAX_REWRITES,
    *,
    language: Language = "en",
    lint_settings: LintSettings = DEFAULT_LINT,
) -> tuple[QAChain | None, list[GateResult]]:
    """Write a chain about a clip, and send it back while it fails the checks.

    If no attempt passes, the best one is returned; of equal ones the latest.

    Args:
        writer: Writes and judges.
        video: The video of the clip.
        clip: The clip.
        gate: Lowest overall quality that passes, 0 to 100.
        rewrites: Most revisions.
        language: Language of the chain.
        lint_settings: Bounds of the lint rules.

    Returns:
        The chain, or None if nothing could be written; and all gate results.

    Raises:
        ModelError: A model gives no reply.
        BudgetError: A limit would be exceeded.
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
            if not one.passes(gate) and isinstance(one.judged, ChainJudgement):
                reason = f"attempt {attempt + 1}: {_because(below, one.judged)}"
                results.append(_quality(chain, one.judged, GateOutcome.FLAGGED, reason, name=ATTEMPT_GATE))
            results += [
                replaced_gate(name, "chain", chain.id, reason, turn=index) for index, name, reason in one.leaking
            ]
        advice = one.advice(below)
    if not tried:
        return None, results
    best = max(reversed(tried), key=lambda one: (not one.leaking, one.overall))
    if best.passes(gate):
        return best.chain, [*results, *_linted(best.chain, best.faults), *best.verdict]
    assert isinstance(best.judged, ChainJudgement)
    below = f"{best.below(gate)}, after {len(tried)} attempts"
    flagged = _quality(best.chain, best.judged, GateOutcome.FLAGGED, _because(below, best.judged))
    return best.chain, [*results, *_linted(best.chain, best.faults), flagged]


def write_checked_linkages(
    writer: Writer, video: Video, before: QAChain, after: QAChain
) -> tuple[list[Linkage], list[GateResult]]:
    """Find the linkages between two chains, with a gate result for each pair that could not be used.

    Args:
        writer: Finds the linkages.
        video: The video of the chains.
        before: The earlier chain.
        after: The later chain.

    Raises:
        ModelError: A model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    found = (
        writer.link_chains(video, before, after)
        if isinstance(writer, ReportsRejected)
        else writer.linkages(video, before, after)
    )
    if isinstance(found, Unwritten):
        return [], [unwritten_gate("linkage", "chain", after.id, found)]
    return (found.linkages, found.rejected) if isinstance(found, LinkageResult) else (found, [])


def _linted(chain: QAChain, faults: list[GateResult]) -> list[GateResult]:
    return faults or [GateResult(gate=GATE, unit="chain", unit_id=chain.id, outcome=GateOutcome.PASSED)]


def _advice(fault: GateResult) -> str:
    return f"question {(fault.turn_index or 0) + 1}: {fault.reason}"


def _because(below: str, judged: ChainJudgement) -> str:
    if judged.reasons:
        return f"{below}: {'; '.join(judged.reasons)}"
    if not judged.dimensions:
        return below
    lowest = min(judged.dimensions, key=lambda name: judged.dimensions[name])
    return f"{below}; the lowest dimension is {lowest}, {judged.dimensions[lowest]:g}"


def _quality(
    chain: QAChain, judged: ChainJudgement, outcome: GateOutcome, reason: str | None = None, *, name: str = QUALITY_GATE
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
    """The gate result for something that a writer could not write, with the model's raw replies."""
    return GateResult(
        gate=gate,
        unit=unit,
        unit_id=unit_id,
        turn_index=turn,
        outcome=GateOutcome.UNWRITTEN,
        reason=nothing.reason,
        raw=nothing.replies,
    )


def replaced_gate(gate: str, unit: GateUnit, unit_id: str, reason: str, *, turn: int) -> GateResult:
    """The gate result for a question that failed a gate and was replaced by another.

    Args:
        gate: The gate.
        unit: Kind of the unit that the question belongs to.
        unit_id: Identifier of the unit.
        reason: Why the question failed.
        turn: Index of the turn, from 0.
    """
    return GateResult(
        gate=gate, unit=unit, unit_id=unit_id, turn_index=turn, outcome=GateOutcome.REPLACED, reason=reason
    )


LEFT: Final = "leak.left"
"""Gate of a chain or dialogue that is dropped as a whole."""
U = TypeVar("U", QAChain, Dialogue)
Shortener = Callable[[U, Collection[int]], "list[int] | str"]
"""Gives the indices of the turns that stay when some are removed, or the reason why the unit must be dropped."""


def remove_leaks(
    units: Sequence[U], gates: Sequence[GateResult], shorter: Shortener[U], equivalence: Equivalence | None = None
) -> tuple[list[U], list[GateResult]]:
    """Remove turns that their own question or an earlier turn answers.

    Args:
        units: Chains, or dialogues, as they were written.
        gates: Gate results about them so far.
        shorter: Decides which turns of a unit stay.
        equivalence: Compares open answers; by default only identical ones leak.

    Returns:
        The remaining units, and the gate results: `gates` with updated turn indices, one for each removed turn, and one
        for each dropped unit.
    """
    kept, found = list(units), list(gates)
    # Removing turns changes word frequencies, and so which questions count as similar; hence the loop.
    while leaking := _leaking(kept, equivalence):
        stays: dict[str, list[int]] = {}
        for unit in kept:
            if unit.id not in leaking:
                continue
            found += leaking[unit.id].values()
            left = shorter(unit, leaking[unit.id])
            stays[unit.id] = [] if isinstance(left, str) else left
            if isinstance(left, str):
                kind, reason = leaking[unit.id][min(leaking[unit.id])].unit, left
                found.append(
                    GateResult(gate=LEFT, unit=kind, unit_id=unit.id, outcome=GateOutcome.DROPPED, reason=reason)
                )
        kept = [_cut(unit, stays[unit.id]) if unit.id in stays else unit for unit in kept]
        kept = [unit for unit in kept if unit.turns]
        found = [gate for row in found if (gate := _moved(row, stays)) is not None]
    return kept, found


def _cut(unit: U, stays: Sequence[int]) -> U:
    return unit.model_copy(update={"turns": tuple(unit.turns[index] for index in stays)})


def _leaking(units: Sequence[U], equivalence: Equivalence | None) -> dict[str, dict[int, GateResult]]:
    """Gate results of the turns to remove, by unit and turn."""
    found: dict[str, dict[int, GateResult]] = {}
    by_id: dict[str, U] = {unit.id: unit for unit in units}
    settings = LeakSettings(probes=("own", "history"))
    for row in leaks(units, settings=settings, equivalence=equivalence):
        if row.outcome is GateOutcome.FLAGGED and row.turn_index is not None:
            reason = f"{by_id[row.unit_id].turns[row.turn_index].question!r}: {row.reason}"
            dropped = row.model_copy(update={"outcome": GateOutcome.DROPPED, "reason": reason})
            found.setdefault(row.unit_id, {}).setdefault(row.turn_index, dropped)
    return found


def _moved(gate: GateResult, stays: Mapping[str, Sequence[int]]) -> GateResult | None:
    """A gate result with the turn's new index; None if its turn or unit was removed."""
    if gate.unit_id not in stays or gate.outcome in GONE:
        return gate
    if not stays[gate.unit_id]:
        return None
    if gate.turn_index is None:
        return gate
    if gate.turn_index not in stays[gate.unit_id]:
        return None
    return gate.model_copy(update={"turn_index": stays[gate.unit_id].index(gate.turn_index)})


def chain_shortener(least: int) -> Shortener[QAChain]:
    """A function that cuts a chain before its first leak, since each later turn depends on it (SVBench).

    Args:
        least: Fewest turns of a chain.
    """

    def shorter(chain: QAChain, out: Collection[int]) -> list[int] | str:
        first = min(out)
        return list(range(first)) if first >= least else f"{first} turns would be left, fewer than {least}"

    return shorter


def shorten_dialogue(dialogue: Dialogue, out: Collection[int]) -> list[int] | str:
    """Remove rounds from a dialogue if no other round refers to them and the rules of its task still hold.

    Args:
        dialogue: The dialogue.
        out: Indices of the rounds to remove.

    Returns:
        Indices of the remaining rounds, or the reason why the dialogue must be dropped.
    """
    task = next((task for task in Task if task.value == dialogue.task), None)
    turns = dialogue.turns
    if any(is_labelled(turn, Task.CONTENT_SUMMARY) for turn in turns):
        return "its summary tells of the round that would be taken out"
    if any(names_a_round(turn) for turn in turns[min(out) + 1 :]):
        return "a later round names rounds by their number"
    stays = [index for index in range(len(turns)) if index not in out]
    if any(index - 1 in out and refers_back(turns[index]) for index in stays):
        return "the next round rests on the one that would be taken out"
    problems = check_structure(_cut(dialogue, stays), task) if task is not None else []
    return f"without it the rules of its task are broken: {'; '.join(problems)}" if problems else stays
