"""The quality loop around a writer: write, check by rules, judge, send back; then what cannot stay is removed.

SVBench sends a chain with an overall quality below 90 of 100 back to revision (arXiv 2502.10810). Here a draft with any
fault goes back to its writer a few times, with its faults below each line. What is left after the last attempt is
decided here. Of a chain, the first turn that the video contradicts, or with a grave fault, is removed with those that
follow it; of a dialogue, each such round, if the rest stands without it. A dialogue that does not do its task is
dropped, as in MT-Video-Bench: its rounds would count for an ability that they do not test. Other faults stay, with a
flag for a person.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GONE_OUTCOMES, VERIFIED, GateOutcome, GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Clip, Scene, Video
from reeltalk_build.construct.evidence import evidence_faults
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.leakage import leaks_of
from reeltalk_build.construct.linting import GATE, GRAVE_FAULTS, lint, repeats_of
from reeltalk_build.construct.mending import keep_turns, shorten_dialogue
from reeltalk_build.construct.replies import CHAIN_TURNS
from reeltalk_build.construct.verification import DialogueVerdict, TurnVerdict, mark_faults
from reeltalk_build.construct.writers import NO_SURROUNDINGS, ChainJudgement, Language, Surroundings, Unwritten, Writer

U = TypeVar("U", QAChain, Dialogue)
A = TypeVar("A", bound="Attempt[Any]")
QUALITY_GATE: Final = "quality"
ATTEMPT_GATE: Final = "quality.attempt"
"""Gate of an attempt below the wanted quality that was sent back. The judge's result is stored."""
TASK_GATE: Final = "task"
"""Gate of a dialogue that a judge asks whether it does its task; its value is the share of judges that agree."""
FAULTS_LEFT_GATE: Final = "faults.left"
"""Gate of a dialogue that is dropped for the faults of a round that cannot be removed."""
REPEATED: Final = f"{GATE}.repeated"
NO_VERDICTS: Final = "its judge gives no verdict on single turns"
"""Reason why the turns of a judged chain are unchecked."""
NEEDS_VIDEO: Final = "it can be answered without the video, so ask something else"
"""Advice to a writer about a question that leaks. Part of prompts."""
MIN_QUALITY: Final = 90.0
"""Lowest overall quality that passes (SVBench)."""
MAX_REWRITES: Final = 2
"""Most revisions of a chain; SVBench's annotators revise until it passes."""


class Attempt(Generic[U]):
    """A draft with what its checks found."""

    judged: Any = None
    """`Unwritten`, or what the judges find; None if nobody was asked, or nobody is needed."""
    is_judged = False

    def __init__(self, unit: U, earlier: Sequence[U], language: Language) -> None:
        self.unit: U = unit
        self.subject = Subject.of(unit)
        self.linted = [*lint(unit, language=language), *evidence_faults(unit)]
        self.leaking = leaks_of(unit)
        self.repeating = [(index, REPEATED, reason) for index, reason in repeats_of(unit, earlier)]

    @property
    def verdicts(self) -> Sequence[TurnVerdict]:
        return () if self.judged is None or isinstance(self.judged, Unwritten) else self.judged.turns

    @property
    def grave(self) -> list[GateResult]:
        """Faults after which a text must not stay."""
        return [fault for fault in self.linted if fault.gate.removeprefix(f"{GATE}.") in GRAVE_FAULTS]

    @property
    def untrue(self) -> dict[int, str]:
        """Turns that cannot stay, with the reason: the video contradicts them, or a fault is grave."""
        found = {index: str(fault.reason) for fault in self.grave if (index := fault.turn_index) is not None}
        for index, verdict in enumerate(self.verdicts):
            if verdict.verdict == "contradicted":
                found[index] = verdict.complaints[0]
        return found

    @property
    def faults(self) -> dict[int, list[str]]:
        """All faults of single turns, by index. Part of prompts."""
        found: dict[int, list[str]] = {}
        for fault in self.linted:
            found.setdefault(fault.turn_index or 0, []).append(str(fault.reason))
        for index, _, reason in self.leaking:
            found.setdefault(index, []).append(f"{NEEDS_VIDEO}: {reason}")
        for index, _, reason in self.repeating:
            found.setdefault(index, []).append(reason)
        for index, verdict in enumerate(self.verdicts):
            found.setdefault(index, []).extend(verdict.complaints)
        return {index: reasons for index, reasons in found.items() if reasons}

    @property
    def whole(self) -> Sequence[str]:
        """What is wrong with the draft as a whole. Part of prompts."""
        raise NotImplementedError

    @property
    def rank(self) -> tuple[float, ...]:
        """Lower is better."""
        raise NotImplementedError

    @property
    def may_pass(self) -> bool:
        """True if a judge is to be asked though there may be another attempt."""
        raise NotImplementedError

    @property
    def passes(self) -> bool:
        return not self.faults and not self.whole

    def advice(self) -> list[str]:
        """The draft with its faults, for another attempt. Part of prompts."""
        return [mark_faults(self.unit.turns, self.faults), *self.whole]

    def sent_back(self) -> list[GateResult]:
        """Gate results of an attempt that is not kept."""
        results = [fault.model_copy(update={"outcome": GateOutcome.REPLACED}) for fault in self.linted]
        results += [
            self.subject.gate(name, GateOutcome.REPLACED, reason, turn=index)
            for index, name, reason in (*self.leaking, *self.repeating)
        ]
        for index, verdict in enumerate(self.verdicts):
            if verdict.complaints:
                results += self.subject.verdict(verdict, turn=index, outcome=GateOutcome.REPLACED)
        return results


def _revised(
    write: Callable[[Sequence[str]], U | Unwritten], check: Callable[[U], A], judge: Callable[[U], Any], rewrites: int
) -> tuple[A | None, list[GateResult], Unwritten | None]:
    """The best attempt, gate results of the others, and why there is no further one."""
    advice: Sequence[str] = ()
    tried: list[A] = []
    nothing: Unwritten | None = None

    def ask(one: A) -> None:
        one.judged, one.is_judged = judge(one.unit), True

    for number in range(1 + rewrites):
        written = write(advice)
        if isinstance(written, Unwritten):
            nothing = written
            break
        if any(written.turns == one.unit.turns for one in tried):
            # A writer that heeds no advice, as the graph, would write the same again.
            break
        one = check(written)
        tried.append(one)
        if number == rewrites or one.may_pass:
            ask(one)
        if one.passes:
            break
        advice = one.advice()
    if not tried:
        return None, [], nothing
    # A later attempt is better unless its checks say otherwise.
    while not (best := min(reversed(tried), key=lambda one: one.rank)).is_judged:
        ask(best)
    return best, [row for one in tried if one is not best for row in one.sent_back()], nothing


class _ChainAttempt(Attempt[QAChain]):
    def __init__(
        self, unit: QAChain, earlier: Sequence[QAChain], language: Language, *, number: int, gate: float
    ) -> None:
        super().__init__(unit, earlier, language)
        self._number, self._gate = number, gate

    @property
    def overall(self) -> float:
        return self.judged.overall if isinstance(self.judged, ChainJudgement) else 100.0

    @property
    def whole(self) -> Sequence[str]:
        if not isinstance(self.judged, ChainJudgement):
            return ()
        return self.judged.reasons or ([_because(self._below, self.judged)] if self.overall < self._gate else ())

    @property
    def rank(self) -> tuple[float, ...]:
        lost = {*self.untrue, *(index for index, _, _ in self.leaking)}
        return len(lost), sum(map(len, self.faults.values())), -self.overall

    @property
    def may_pass(self) -> bool:
        return not self.rank[0]

    @property
    def passes(self) -> bool:
        return self.overall >= self._gate and not self.faults

    @property
    def _below(self) -> str:
        return f"overall quality is {self.overall:g}, below {self._gate:g}"

    def sent_back(self) -> list[GateResult]:
        below: list[GateResult] = []
        if isinstance(self.judged, ChainJudgement) and self.overall < self._gate:
            reason = f"attempt {self._number}: {_because(self._below, self.judged)}"
            below.append(self._quality(self.judged, GateOutcome.FLAGGED, reason, name=ATTEMPT_GATE))
        return [*below, *super().sent_back()]

    def settle(self, least: int, attempts: int) -> tuple[QAChain | None, list[GateResult]]:
        """The chain up to its first turn that cannot stay, if enough turns are left, with its gate results."""
        untrue = self.untrue
        stays = min(untrue, default=len(self.unit.turns))
        judged = (self.subject.verdict(verdict, turn=index) for index, verdict in enumerate(self.verdicts))
        rows = [*self.linted, *(row for own in judged for row in own)]
        results = [row for row in rows if (row.turn_index or 0) < stays]
        if not any(row.gate.startswith(GATE) for row in results):
            results.insert(0, self.subject.gate(GATE, GateOutcome.PASSED))
        # Later turns depend on the first one that cannot stay, and go with it.
        results += [
            row.model_copy(update={"outcome": GateOutcome.DROPPED})
            for row in rows
            if row.turn_index == stays and row.outcome is not GateOutcome.PASSED
        ]
        if stays < least and untrue:
            left = f"{stays} turns would be left, fewer than {least}, without turn {stays + 1}: {untrue[stays]}"
            gone = self.subject.gate(QUALITY_GATE, GateOutcome.DROPPED, left)
            return None, [*(row for row in results if row.outcome in GONE_OUTCOMES), gone]
        return keep_turns(self.unit, range(stays)), [*results, *self._verdict(attempts)]

    def _verdict(self, attempts: int) -> list[GateResult]:
        """The gate results about the whole chain."""
        if isinstance(self.judged, Unwritten):
            # The reason says already that a reply cannot be used.
            unchecked = [self.subject.unchecked(name, self.judged.reason) for name in (VERIFIED, QUALITY_GATE)]
            return [row.model_copy(update={"raw": self.judged.replies}) for row in unchecked]
        if not isinstance(self.judged, ChainJudgement):
            return []
        results = [] if self.judged.turns else [self.subject.unchecked(VERIFIED, NO_VERDICTS)]
        if self.overall >= self._gate:
            return [*results, self._quality(self.judged, GateOutcome.PASSED)]
        below = f"{self._below}, after {attempts} attempts"
        return [*results, self._quality(self.judged, GateOutcome.FLAGGED, _because(below, self.judged))]

    def _quality(
        self, judged: ChainJudgement, outcome: GateOutcome, reason: str | None = None, *, name: str = QUALITY_GATE
    ) -> GateResult:
        return self.subject.gate(name, outcome, reason, value=judged.overall, extra={"dimensions": judged.dimensions})


def _because(below: str, judged: ChainJudgement) -> str:
    if judged.reasons:
        return f"{below}: {'; '.join(judged.reasons)}"
    if not judged.dimensions:
        return below
    lowest = min(judged.dimensions, key=lambda name: judged.dimensions[name])
    return f"{below}; the lowest dimension is {lowest}, {judged.dimensions[lowest]:g}"


def write_checked_chain(
    writer: Writer,
    video: Video,
    clip: Clip,
    gate: float = MIN_QUALITY,
    rewrites: int = MAX_REWRITES,
    *,
    least: int = CHAIN_TURNS[0],
    language: Language = "en",
    around: Surroundings = NO_SURROUNDINGS,
    earlier: Sequence[QAChain] = (),
) -> tuple[QAChain | None, list[GateResult]]:
    """Write a chain about a clip, and send it back with its faults line by line while it has any.

    Code checks a draft first; a draft with a fault that cannot stay is sent back without asking the judges. If no
    attempt passes, the one with the fewest turns that cannot stay is taken; of equal ones, the one with the fewest
    faults, then the best quality, then the latest. It is cut before its first turn that cannot stay.

    Returns:
        The chain, or None if nothing could be written or too little of it can stay; and all gate results.
    """
    tried = 0

    def check(chain: QAChain) -> _ChainAttempt:
        nonlocal tried
        tried += 1
        return _ChainAttempt(chain, earlier, language, number=tried, gate=gate)

    best, results, nothing = _revised(
        lambda advice: writer.chain(video, clip, around, advice=advice),
        check,
        lambda chain: writer.judge(video, clip, chain),
        rewrites,
    )
    if nothing is not None:
        results.append(Subject("clip", clip.id).unwritten("written", nothing))
    if best is None:
        return None, results
    kept, found = best.settle(least, tried)
    return kept, [*results, *found]


class _DialogueAttempt(Attempt[Dialogue]):
    @property
    def whole(self) -> Sequence[str]:
        return self.judged.reasons if self.misses_task else ()

    @property
    def misses_task(self) -> bool:
        return isinstance(self.judged, DialogueVerdict) and not self.judged.does_task

    @property
    def rank(self) -> tuple[float, ...]:
        faults = sum(map(len, self.faults.values())) + len(self.whole)
        return self.judged is None, self.misses_task, len(self.untrue), faults

    @property
    def may_pass(self) -> bool:
        return not self.faults

    def sent_back(self) -> list[GateResult]:
        return [*super().sent_back(), *([self._task(GateOutcome.REPLACED)] if self.misses_task else [])]

    def settle(self) -> tuple[Dialogue | None, list[GateResult]]:
        """What stays of the dialogue, and its gate results."""
        if self.misses_task:
            return None, [self._task(GateOutcome.DROPPED)]
        bad = self.untrue
        stays = shorten_dialogue(self.unit, bad) if bad else list(range(len(self.unit.turns)))
        if isinstance(stays, str):
            first = min(bad)
            why = next((fault.reason for fault in self.grave if fault.turn_index == first), bad[first])
            reason = f"round {first + 1}: {why}; {stays}"
            return None, [self.subject.gate(FAULTS_LEFT_GATE, GateOutcome.DROPPED, reason)]
        found = self._linted(stays)
        if isinstance(self.judged, Unwritten):
            found += [
                self.subject.unchecked(gate, self.judged.reason, raw=self.judged.replies)
                for gate in (VERIFIED, TASK_GATE)
            ]
        elif self.judged is not None:
            for index, verdict in enumerate(self.verdicts):
                if index in stays:
                    found += self.subject.verdict(verdict, turn=stays.index(index))
                elif verdict.complaints:
                    found += self.subject.verdict(verdict, turn=index, outcome=GateOutcome.DROPPED)
            found.append(self._task(GateOutcome.PASSED))
        return keep_turns(self.unit, stays), found

    def _linted(self, stays: Sequence[int]) -> list[GateResult]:
        """Flags with the rounds' new indices, drops of removed rounds, and a result if nothing is flagged."""
        found = [
            fault.model_copy(update={"turn_index": stays.index(fault.turn_index)})
            if fault.turn_index in stays
            else fault.model_copy(update={"outcome": GateOutcome.DROPPED})
            for fault in self.linted
        ]
        if all(fault.outcome is GateOutcome.DROPPED for fault in found):
            found.append(self.subject.gate(GATE, GateOutcome.PASSED))
        return found

    def _task(self, outcome: GateOutcome) -> GateResult:
        reason = None if outcome is GateOutcome.PASSED else "; ".join(self.judged.reasons) or "a judge says so"
        return self.subject.gate(TASK_GATE, outcome, reason, value=self.judged.agreement)


def write_checked_dialogue(
    writer: Writer,
    video: Video,
    scene: Scene,
    task: Task,
    *,
    number: int,
    earlier: Sequence[Dialogue] = (),
    attempts: int,
    language: Language,
) -> tuple[Dialogue | None, list[GateResult]]:
    """Write a dialogue, and send it back while it has faults.

    Rules check it first; a judge is asked about a draft that they find nothing in, and about the last one.

    Returns:
        The dialogue, or None if nothing can be used; and all gate results.
    """
    asked = [turn.question for other in earlier for turn in other.turns if turn.extra.get("about") == "video"]
    best, results, nothing = _revised(
        lambda advice: writer.dialogue(video, scene, task, number=number, earlier=asked, advice=advice),
        lambda dialogue: _DialogueAttempt(dialogue, earlier, language),
        lambda dialogue: writer.judge_dialogue(video, scene, dialogue, task),
        attempts,
    )
    if nothing is not None and best is None:
        results.append(Subject("scene", scene.id).unwritten(f"dialogue.{task.value}", nothing))
    if best is None:
        return None, results
    kept, found = best.settle()
    return kept, [*results, *found]
