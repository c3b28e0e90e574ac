"""The quality loop around a dialogue: write, check by rules, judge, send back; then faulty rounds are removed.

A dialogue is sent back with its faults below each line. What is left after the last attempt is decided here. A round
that the video contradicts, or with a grave fault, is removed, or the dialogue is dropped. A dialogue that does not do
its task is dropped too, as in MT-Video-Bench: its rounds would count for an ability that they do not test. Other
faults stay, with a flag for a person.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import VERIFIED, GateOutcome, GateResult
from reeltalk.schema.labels import Task
from reeltalk.schema.media import Scene, Video
from reeltalk_build.construct.leakage import leaks_of
from reeltalk_build.construct.linting import GATE, GRAVE, lint, repeats_of
from reeltalk_build.construct.quality import NEEDS_VIDEO, replaced_gate, shorten_dialogue, unwritten_gate
from reeltalk_build.construct.verification import DialogueVerdict, mark_faults, unchecked_gate, verdict_gates
from reeltalk_build.construct.writers import Language, Unwritten, Writer

TASK_GATE: Final = "task"
"""Gate of a dialogue that a judge asks whether it does its task; its value is the share of judges that agree."""
LEFT_GATE: Final = "faults.left"
"""Gate of a dialogue that is dropped for the faults of a round that cannot be removed."""


@dataclass(frozen=True)
class _Attempt:
    dialogue: Dialogue
    linted: list[GateResult]
    """Faults that rules find."""
    leaking: list[tuple[int, str, str]]
    """Rounds that need no video, as (index, gate, reason)."""
    repeating: list[tuple[int, str]]
    """Rounds that earlier dialogues about the video have, as (index, reason)."""
    judged: DialogueVerdict | Unwritten | None = None
    """None if nobody was asked."""

    @property
    def bad(self) -> dict[int, str]:
        """Rounds that must not stay, with the reason."""
        found: dict[int, str] = {}
        for fault in self.linted:
            if fault.turn_index is not None and fault.gate.removeprefix(f"{GATE}.") in GRAVE:
                found.setdefault(fault.turn_index, f"{fault.reason}")
        if isinstance(self.judged, DialogueVerdict):
            for index, verdict in enumerate(self.judged.turns):
                if verdict.verdict == "contradicted":
                    found.setdefault(index, verdict.complaints[0])
        return found

    @property
    def misses_task(self) -> bool:
        return isinstance(self.judged, DialogueVerdict) and not self.judged.does_task

    @property
    def faults(self) -> dict[int | None, list[str]]:
        """All faults by index of the round; None holds those of the whole."""
        found: dict[int | None, list[str]] = defaultdict(list)
        for fault in self.linted:
            found[fault.turn_index].append(f"{fault.reason}")
        for index, _, reason in self.leaking:
            found[index].append(f"{NEEDS_VIDEO}: {reason}")
        for index, reason in self.repeating:
            found[index].append(reason)
        if isinstance(self.judged, DialogueVerdict):
            for index, verdict in enumerate(self.judged.turns):
                found[index] += verdict.complaints
            found[None] += self.judged.reasons if self.misses_task else ()
        return {index: reasons for index, reasons in found.items() if reasons}

    @property
    def badness(self) -> tuple[bool, int, int]:
        return self.misses_task, len(self.bad), sum(map(len, self.faults.values()))

    def advice(self) -> list[str]:
        """The draft with its faults, for the writer. Part of prompts."""
        faults = self.faults
        told = mark_faults(self.dialogue.turns, {at: reasons for at, reasons in faults.items() if at is not None})
        return [told, *faults.get(None, ())]

    def sent_back(self) -> list[GateResult]:
        """Gate results of an attempt that is replaced by another."""
        name = self.dialogue.id
        found = [fault.model_copy(update={"outcome": GateOutcome.REPLACED}) for fault in self.linted]
        found += [replaced_gate(gate, "dialogue", name, reason, turn=index) for index, gate, reason in self.leaking]
        found += [
            replaced_gate(f"{GATE}.repeated", "dialogue", name, reason, turn=index) for index, reason in self.repeating
        ]
        if isinstance(self.judged, DialogueVerdict):
            for index, verdict in enumerate(self.judged.turns):
                if verdict.complaints:
                    found += verdict_gates(verdict, "dialogue", name, index, GateOutcome.REPLACED)
            if self.misses_task:
                found.append(_task(self.dialogue, self.judged, GateOutcome.REPLACED))
        return found


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

    Args:
        writer: Writes, and judges if it has judges.
        video: The video of the scene.
        scene: The scene.
        task: The task that the dialogue tests.
        number: Index, from 0, among the dialogues of this scene and task.
        earlier: Dialogues about the video so far; their questions are not asked again.
        attempts: Most revisions.
        language: Language of the dialogue.

    Returns:
        The dialogue, or None if nothing can be used; and all gate results.

    Raises:
        ModelError: A model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    results: list[GateResult] = []
    asked = [turn.question for other in earlier for turn in other.turns if turn.extra.get("about") == "video"]
    tried: list[_Attempt] = []
    advice: list[str] = []
    for attempt in range(1 + attempts):
        dialogue = writer.dialogue(video, scene, task, number=number, earlier=asked, advice=advice)
        if isinstance(dialogue, Unwritten):
            if not tried:
                results.append(unwritten_gate(f"dialogue.{task.value}", "scene", scene.id, dialogue))
            break
        if tried and dialogue.turns == tried[-1].dialogue.turns:
            # A writer that heeds no advice, as the graph, would write the same again.
            break
        one = _Attempt(dialogue, lint(dialogue, language=language), leaks_of(dialogue), repeats_of(dialogue, earlier))
        last = attempt == attempts
        if last or not one.faults:
            one = _judged(one, writer, video, scene, task)
        tried.append(one)
        if not one.faults or last:
            break
        advice = one.advice()
    if not tried:
        return None, results
    # A later attempt is better unless a judge says otherwise.
    best = min(reversed(tried), key=lambda one: (one.judged is None, *one.badness))
    for one in tried:
        results += one.sent_back() if one is not best else ()
    if best.judged is None:
        best = _judged(best, writer, video, scene, task)
    kept, found = _settled(best)
    return kept, [*results, *found]


def _judged(one: _Attempt, writer: Writer, video: Video, scene: Scene, task: Task) -> _Attempt:
    return replace(one, judged=writer.judge_dialogue(video, scene, one.dialogue, task))


def _settled(one: _Attempt) -> tuple[Dialogue | None, list[GateResult]]:
    """What stays of the best attempt, and its gate results."""
    name, judged, bad = one.dialogue.id, one.judged, one.bad
    if isinstance(judged, DialogueVerdict) and not judged.does_task:
        return None, [_task(one.dialogue, judged, GateOutcome.DROPPED)]
    stays = shorten_dialogue(one.dialogue, bad) if bad else list(range(len(one.dialogue.turns)))
    if isinstance(stays, str):
        reason = f"round {min(bad) + 1}: {bad[min(bad)]}; {stays}"
        left = GateResult(gate=LEFT_GATE, unit="dialogue", unit_id=name, outcome=GateOutcome.DROPPED, reason=reason)
        return None, [left]
    dialogue = one.dialogue.model_copy(update={"turns": tuple(one.dialogue.turns[index] for index in stays)})
    found = _linted(one, stays)
    if isinstance(judged, Unwritten):
        found += [
            unchecked_gate(gate, "dialogue", name, judged.reason, raw=judged.replies) for gate in (VERIFIED, TASK_GATE)
        ]
    elif judged is not None:
        for index, verdict in enumerate(judged.turns):
            if index in stays:
                found += verdict_gates(verdict, "dialogue", name, stays.index(index))
            elif verdict.complaints:
                found += verdict_gates(verdict, "dialogue", name, index, GateOutcome.DROPPED)
        found.append(_task(dialogue, judged, GateOutcome.PASSED))
    return dialogue, found


def _linted(one: _Attempt, stays: Sequence[int]) -> list[GateResult]:
    """Flags of the rules with the rounds' new indices, drops of removed rounds, and a result if nothing is flagged."""
    found = []
    for fault in one.linted:
        if fault.turn_index is None or fault.turn_index in stays:
            moved = None if fault.turn_index is None else stays.index(fault.turn_index)
            found.append(fault.model_copy(update={"turn_index": moved}))
        else:
            found.append(fault.model_copy(update={"outcome": GateOutcome.DROPPED}))
    if all(fault.outcome is GateOutcome.DROPPED for fault in found):
        found.append(GateResult(gate=GATE, unit="dialogue", unit_id=one.dialogue.id, outcome=GateOutcome.PASSED))
    return found


def _task(dialogue: Dialogue, judged: DialogueVerdict, outcome: GateOutcome) -> GateResult:
    return GateResult(
        gate=TASK_GATE,
        unit="dialogue",
        unit_id=dialogue.id,
        outcome=outcome,
        reason=None if outcome is GateOutcome.PASSED else "; ".join(judged.reasons) or "a judge says so",
        value=judged.agreement,
    )
