"""The quality loop around a writer: write, lint, judge, send back. Then turns that need no video are removed.

SVBench sends a chain with an overall quality below 90 of 100 back to revision (arXiv 2502.10810). Here a draft with any
fault goes back to its writer a few times, also one with a turn that the video does not support or that can be answered
without it. What is untrue in the last draft never stays; other faults are flags for a person. `remove_leaks` removes
turns that need no video and remain, or the whole unit if its rules would be broken.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeVar

from reeltalk.schema.dialogue import Dialogue, Linkage, QAChain
from reeltalk.schema.entrances import refers_back
from reeltalk.schema.gates import GONE, VERIFIED, GateOutcome, GateResult, GateUnit
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Video
from reeltalk.store.rows import SpooledRows
from reeltalk_build.construct.equivalence import Equivalence
from reeltalk_build.construct.leakage import leaks, leaks_of
from reeltalk_build.construct.linting import (
    DEFAULT_LINT,
    GATE,
    GRAVE,
    LintSettings,
    check_structure,
    is_labelled,
    lint,
    names_a_round,
    repeats_of,
)
from reeltalk_build.construct.replies import CHAIN_TURNS
from reeltalk_build.construct.verification import TurnVerdict, mark_faults, unchecked_gate, verdict_gates
from reeltalk_build.construct.writers import (
    ALONE,
    ChainJudgement,
    Language,
    Surroundings,
    Unwritten,
    Writer,
)

WRITTEN_GATE: Final = "written"
QUALITY_GATE: Final = "quality"
ATTEMPT_GATE: Final = "quality.attempt"
"""Gate of an attempt below the wanted quality that was sent back. The judge's result is stored."""
REPEATED: Final = f"{GATE}.repeated"
NO_VERDICTS: Final = "its judge gives no verdict on single turns"
"""Reason why the turns of a judged chain are unchecked."""
NEEDS_VIDEO: Final = "it can be answered without the video, so ask something else"
"""Advice to a writer about a question that leaks. Part of prompts."""
MIN_QUALITY: Final = 90.0
"""Lowest overall quality that passes (SVBench)."""
MAX_REWRITES: Final = 2
"""Most revisions of a chain; SVBench's annotators revise until it passes."""


@dataclass
class _Attempt:
    """A draft with what its checks found."""

    chain: QAChain
    linted: list[GateResult]
    leaking: list[tuple[int, str, str]]
    """Turns that need no video, as (index, gate, reason)."""
    repeating: list[tuple[int, str]]
    """Turns that repeat earlier chains of the video, as (index, reason)."""
    is_judged: bool = False
    judged: ChainJudgement | Unwritten | None = None

    @property
    def verdicts(self) -> tuple[TurnVerdict, ...]:
        return self.judged.turns if isinstance(self.judged, ChainJudgement) else ()

    @property
    def overall(self) -> float:
        return self.judged.overall if isinstance(self.judged, ChainJudgement) else 100.0

    @property
    def untrue(self) -> dict[int, str]:
        """Turns that cannot stay, by index, with the reason: the video contradicts them, or a lint fault is grave."""
        found = {fault.turn_index: str(fault.reason) for fault in self.linted if _is_grave(fault)}
        for index, verdict in enumerate(self.verdicts):
            if verdict.verdict == "contradicted":
                found[index] = verdict.complaints[0]
        return {index: reason for index, reason in found.items() if index is not None}

    @property
    def faults(self) -> dict[int, list[str]]:
        """All faults of single turns, by index. Part of prompts."""
        found: dict[int, list[str]] = {}
        for fault in self.linted:
            found.setdefault(fault.turn_index or 0, []).append(str(fault.reason))
        for index, _, reason in self.leaking:
            found.setdefault(index, []).append(f"{NEEDS_VIDEO}: {reason}")
        for index, reason in self.repeating:
            found.setdefault(index, []).append(reason)
        for index, verdict in enumerate(self.verdicts):
            found.setdefault(index, []).extend(verdict.complaints)
        return {index: reasons for index, reasons in found.items() if reasons}

    @property
    def rank(self) -> tuple[int, int, float]:
        """Lower is better: turns that cannot stay, then faults, then quality."""
        lost = {*self.untrue, *(index for index, _, _ in self.leaking)}
        return len(lost), sum(map(len, self.faults.values())), -self.overall

    def passes(self, gate: float) -> bool:
        """True if no turn has a fault and the quality reaches the gate, where it was judged."""
        return self.overall >= gate and not self.faults

    def below(self, gate: float) -> str:
        return f"overall quality is {self.overall:g}, below {gate:g}"

    def advice(self, gate: float) -> list[str]:
        """Advice to the writer for another attempt. Part of prompts."""
        told = [mark_faults(self.chain.turns, self.faults)]
        if isinstance(self.judged, ChainJudgement):
            told += self.judged.reasons or ([_because(self.below(gate), self.judged)] if self.overall < gate else [])
        return told

    def sent_back(self, number: int, gate: float) -> list[GateResult]:
        """Gate results of an attempt that is not kept."""
        results: list[GateResult] = []
        if isinstance(self.judged, ChainJudgement) and self.overall < gate:
            reason = f"attempt {number}: {_because(self.below(gate), self.judged)}"
            results.append(_quality(self.chain, self.judged, GateOutcome.FLAGGED, reason, name=ATTEMPT_GATE))
        results += [fault.model_copy(update={"outcome": GateOutcome.REPLACED}) for fault in self.linted]
        results += [
            replaced_gate(name, "chain", self.chain.id, reason, turn=index)
            for index, name, reason in (*self.leaking, *((index, REPEATED, why) for index, why in self.repeating))
        ]
        for index, verdict in enumerate(self.verdicts):
            if verdict.complaints:
                results += verdict_gates(verdict, "chain", self.chain.id, index, GateOutcome.REPLACED)
        return results

    def settle(self, gate: float, least: int, attempts: int) -> tuple[QAChain | None, list[GateResult]]:
        """The chain up to its first turn that cannot stay, if enough turns are left, with its gate results."""
        untrue = self.untrue
        stays = min(untrue, default=len(self.chain.turns))
        rows = [
            *self.linted,
            *(
                row
                for index, verdict in enumerate(self.verdicts)
                for row in verdict_gates(verdict, "chain", self.chain.id, index)
            ),
        ]
        results = [row for row in rows if (row.turn_index or 0) < stays]
        if not any(row.gate.startswith(GATE) for row in results):
            results.insert(0, GateResult(gate=GATE, unit="chain", unit_id=self.chain.id, outcome=GateOutcome.PASSED))
        # Later turns depend on the first one that cannot stay, and go with it.
        results += [
            row.model_copy(update={"outcome": GateOutcome.DROPPED})
            for row in rows
            if row.turn_index == stays and row.outcome is not GateOutcome.PASSED
        ]
        if stays < least and untrue:
            left = f"{stays} turns would be left, fewer than {least}, without turn {stays + 1}: {untrue[stays]}"
            gone = GateResult(
                gate=QUALITY_GATE, unit="chain", unit_id=self.chain.id, outcome=GateOutcome.DROPPED, reason=left
            )
            return None, [*(row for row in results if row.outcome in GONE), gone]
        return _cut(self.chain, range(stays)), [*results, *self.verdict(gate, attempts)]

    def verdict(self, gate: float, attempts: int) -> list[GateResult]:
        """The gate results about the whole chain."""
        if isinstance(self.judged, Unwritten):
            return [
                unchecked_gate(name, "chain", self.chain.id, self.judged.reason).model_copy(
                    update={"raw": self.judged.replies}
                )
                for name in (VERIFIED, QUALITY_GATE)
            ]
        if self.judged is None:
            return []
        results = [] if self.judged.turns else [unchecked_gate(VERIFIED, "chain", self.chain.id, NO_VERDICTS)]
        if self.overall >= gate:
            return [*results, _quality(self.chain, self.judged, GateOutcome.PASSED)]
        below = f"{self.below(gate)}, after {attempts} attempts"
        return [*results, _quality(self.chain, self.judged, GateOutcome.FLAGGED, _because(below, self.judged))]


def write_checked_chain(
    writer: Writer,
    video: Video,
    clip: Clip,
    gate: float = MIN_QUALITY,
    rewrites: int = MAX_REWRITES,
    *,
    least: int = CHAIN_TURNS[0],
    language: Language = "en",
    lint_settings: LintSettings = DEFAULT_LINT,
    around: Surroundings = ALONE,
    earlier: Sequence[QAChain] = (),
) -> tuple[QAChain | None, list[GateResult]]:
    """Write a chain about a clip, and send it back with its faults line by line while it has any.

    Code checks a draft first; a draft with a fault that cannot stay is sent back without asking the judges. If no
    attempt passes, the one with the fewest turns that cannot stay is taken; of equal ones, the one with the fewest
    faults, then the best quality, then the latest. It is cut before its first turn that cannot stay, and its other
    faults are flags.

    Args:
        writer: Writes and judges.
        video: The video of the clip.
        clip: The clip.
        gate: Lowest overall quality that passes, 0 to 100.
        rewrites: Most revisions.
        least: Fewest turns that a chain may be cut to.
        language: Language of the chain.
        lint_settings: Bounds of the lint rules.
        around: What is known of the rest of the video.
        earlier: The video's earlier chains. A question that repeats one of theirs has a fault.

    Returns:
        The chain, or None if nothing could be written or too little of it can stay; and all gate results.

    Raises:
        ModelError: A model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    unwritten: list[GateResult] = []
    advice: list[str] = []
    tried: list[_Attempt] = []
    for attempt in range(1 + rewrites):
        chain = writer.chain(video, clip, around, advice=advice)
        if isinstance(chain, Unwritten):
            unwritten.append(unwritten_gate(WRITTEN_GATE, "clip", clip.id, chain))
            break
        if any(chain.turns == one.chain.turns for one in tried):
            break
        one = _Attempt(
            chain,
            lint(chain, language=language, settings=lint_settings),
            leaks_of(chain),
            repeats_of(chain, earlier, settings=lint_settings),
        )
        tried.append(one)
        if attempt == rewrites or not one.rank[0]:
            _judge(one, writer, video, clip)
        if one.passes(gate):
            break
        advice = one.advice(gate)
    if not tried:
        return None, unwritten
    while not (best := min(reversed(tried), key=lambda one: one.rank)).is_judged:
        _judge(best, writer, video, clip)
    results = [row for n, one in enumerate(tried, 1) if one is not best for row in one.sent_back(n, gate)]
    kept, found = best.settle(gate, least, len(tried))
    return kept, [*results, *unwritten, *found]


def _judge(one: _Attempt, writer: Writer, video: Video, clip: Clip) -> None:
    one.judged, one.is_judged = writer.judge(video, clip, one.chain), True


def _is_grave(fault: GateResult) -> bool:
    return fault.gate.removeprefix(f"{GATE}.") in GRAVE


def write_checked_linkages(
    writer: Writer, video: Video, before: QAChain, after: QAChain, wanted: Sequence[str] = ()
) -> tuple[list[Linkage], list[GateResult]]:
    """Find the linkages between two chains, with a gate result for each pair that could not be used.

    Args:
        writer: Finds the linkages.
        video: The video of the chains.
        before: The earlier chain.
        after: The later chain.
        wanted: Relations to look for first.

    Raises:
        ModelError: A model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    found = writer.linkages(video, before, after, wanted)
    if isinstance(found, Unwritten):
        return [], [unwritten_gate("linkage", "chain", after.id, found)]
    return found.linkages, found.rejected


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
    units: Sequence[U],
    gates: Sequence[GateResult],
    shorter: Shortener[U],
    equivalence: Equivalence | None = None,
) -> tuple[Sequence[U], Sequence[GateResult]]:
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
    kept, found = units, gates
    # Removing turns changes word frequencies, and so which questions count as similar; hence the loop.
    while leaking := _leaking(kept, equivalence):
        stays: dict[str, list[int]] = {}
        removed: list[GateResult] = []
        for unit in kept:
            if unit.id not in leaking:
                continue
            removed += leaking[unit.id].values()
            left = shorter(unit, leaking[unit.id])
            stays[unit.id] = [] if isinstance(left, str) else left
            if isinstance(left, str):
                kind, reason = leaking[unit.id][min(leaking[unit.id])].unit, left
                removed.append(
                    GateResult(gate=LEFT, unit=kind, unit_id=unit.id, outcome=GateOutcome.DROPPED, reason=reason)
                )
        cut = (_cut(unit, stays[unit.id]) if unit.id in stays else unit for unit in kept)
        kept = SpooledRows(type(units[0]), rows=(unit for unit in cut if unit.turns))
        moved = (_moved(row, stays) for row in chain(found, removed))
        found = SpooledRows(GateResult, rows=(gate for gate in moved if gate is not None))
    return kept, found


def _cut(unit: U, stays: Sequence[int]) -> U:
    return unit.model_copy(update={"turns": tuple(unit.turns[index] for index in stays)})


def _leaking(units: Sequence[U], equivalence: Equivalence | None) -> dict[str, dict[int, GateResult]]:
    """Gate results of the turns to remove, by unit and turn."""
    found: dict[str, dict[int, GateResult]] = {}
    for row in leaks(units, probes=("own", "history"), equivalence=equivalence):
        if row.outcome is GateOutcome.FLAGGED and row.turn_index is not None:
            found.setdefault(row.unit_id, {}).setdefault(row.turn_index, row)
    for unit in units if found else ():
        for index, row in found.get(unit.id, {}).items():
            reason = f"{unit.turns[index].question!r}: {row.reason}"
            found[unit.id][index] = row.model_copy(update={"outcome": GateOutcome.DROPPED, "reason": reason})
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
