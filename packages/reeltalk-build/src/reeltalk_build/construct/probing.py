"""Asks a model about turns with less than the video, with parts of it, and with all of it.

A model that sees less should fail: with the question only (`blind`), with the history, with one frame, with shuffled
frames. It should succeed with the frames of the reference evidence, and fail with the frames outside it
(`evidence_cut`). A turn that claims to need the dialogue is asked with the dialogue (`whole`), without it
(`no_history`) and without the turn it rests on (`no_parent`). A condition is not asked if its outcome is known.

If a model gives no reply, or nobody can compare its reply with the reference, the turn is unchecked, never passed.
"""

import math
import random
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import BudgetError, OutageError, ReeltalkError, shorten
from reeltalk.llm import Prompt
from reeltalk.metrics.agree import content_words
from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.entrances import refers_back
from reeltalk.schema.gates import ANSWERABLE, DEPENDS, EVIDENCE_CUT, LEAK, GateOutcome, GateResult, is_counted
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.labels import Task
from reeltalk.schema.speech import Speech
from reeltalk_build.construct.context import speech_lines
from reeltalk_build.construct.equivalence import AnswerPair, Equivalence
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.leakage import Conversation, history_before
from reeltalk_build.construct.linting import is_labelled
from reeltalk_build.construct.prompting import prompts, without_fences
from reeltalk_build.construct.step import Ask
from reeltalk_build.construct.writers import Language

Condition = Literal[
    "blind", "history", "one_frame", "shuffled", "evidence", "evidence_cut", "whole", "no_history", "no_parent"
]
FramesAt = Callable[[str, Sequence[float]], list[bytes]]
"""Gives encoded pictures of a video, by its identifier, at times in seconds."""
PROBE_CONDITIONS: Final[tuple[Condition, ...]] = ("blind", "history", "one_frame", "shuffled")
"""Conditions under which a turn should not be answered, from the one that shows least."""
WITHOUT_HISTORY: Final = frozenset({"blind", "one_frame", "shuffled", "no_history"})
MOST_A_SECOND: Final = 2.0
"""Most frames of a second of evidence."""
LEAST_OUTSIDE_S: Final = 1.0
"""Least time outside the evidence for a video to be asked about without it."""

_WORDS: Final[Mapping[str, Mapping[str, str]]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""The words that the prompt `probe` is filled with."""
PROBE_FRAMES: Final = 8
"""Frames shown of the video, of its evidence, or of the rest. Half of those of the whole lie in the evidence."""


@dataclass(frozen=True)
class ProbedAnswer:
    """A model's answer to a turn under one condition."""

    reply: str = ""
    """Empty if there is none."""
    right: bool | None = None
    """Whether it says the same as a reference; None if that is not known."""
    reason: str | None = None
    """Why it is not known."""


@dataclass(frozen=True)
class ModelProbe:
    """A model that is asked about turns. Safe to share among threads."""

    ask: Ask
    frames: FramesAt | None = None
    """Source of pictures; None for a model that sees none."""
    equivalence: Equivalence = field(default_factory=Equivalence)
    """Compares its answers with the references."""
    language: Language = "en"
    prompt: Prompt | None = None
    """A prompt to use instead of ours."""
    speech: Speech = field(default_factory=lambda: Speech(()))
    """What is said in the videos. It is shown with the frames of the parts in which it is said; a model with one frame
    or with shuffled frames gets none."""
    seed: int = 17
    """Shuffles frames."""


class ProbedConversation:
    """Answers of a model to the turns of one conversation. The same request is sent once, whatever its condition.

    Args:
        conversation: The dialogue or chain.
        duration_s: Length of the video. Without it, frames reach as far as the question and its evidence.
    """

    def __init__(self, probe: ModelProbe, conversation: Conversation, duration_s: float | None = None) -> None:
        self.conversation = conversation
        self._probe, self._duration_s = probe, duration_s
        self._cached: dict[tuple[str, tuple[float, ...]], ProbedAnswer] = {}
        self._compared: dict[tuple[int, str], bool | None] = {}
        self.answers: dict[tuple[int, Condition], ProbedAnswer] = {}
        """Answers by index of the turn and condition."""

    def ask(self, condition: Condition, indices: Iterable[int]) -> None:
        """Ask about turns under a condition, and compare all replies with the references."""
        turns = self.conversation.turns
        asked = {index: self._reply(index, condition) for index in indices}
        new = [index for index, answer in asked.items() if answer.reply and (index, answer.reply) not in self._compared]
        verdicts = self._probe.equivalence.decide([AnswerPair.of(turns[i], asked[i].reply) for i in new])
        self._compared |= {(index, asked[index].reply): right for index, right in zip(new, verdicts, strict=True)}
        for index, answer in asked.items():
            if answer.reply:
                right = self._compared[index, answer.reply]
                why = f"the model answers {shorten(answer.reply)}; {self._probe.equivalence.undecided}"
                asked[index] = ProbedAnswer(answer.reply, right, why if right is None else None)
        self.answers |= {(index, condition): answer for index, answer in asked.items()}

    def right(self, index: int, condition: Condition) -> bool | None:
        """Whether the answer is right; None if that is not known, or if it was not asked for."""
        answer = self.answers.get((index, condition))
        return answer.right if answer else None

    def verdicts(self, condition: Condition, indices: Iterable[int]) -> dict[int, bool | None]:
        """Whether the answers to some turns are right, for those that were asked under a condition."""
        return {index: self.answers[index, condition].right for index in indices if (index, condition) in self.answers}

    def _reply(self, index: int, condition: Condition) -> ProbedAnswer:
        try:
            times = self._times(index, condition)
            text = self._prompt_of(index, condition, times)
            if (text, times) not in self._cached:
                self._cached[text, times] = self._sent(text, times)
            return self._cached[text, times]
        except _NothingToShowError as error:
            return ProbedAnswer(reason=str(error))
        except (BudgetError, OutageError):
            raise
        except ReeltalkError as error:
            return ProbedAnswer(reason=f"the model failed: {error}")

    def _sent(self, text: str, times: Sequence[float]) -> ProbedAnswer:
        pictures: list[bytes] = []
        if times and self._probe.frames is not None:
            pictures = self._probe.frames(self.conversation.video_id, times)
            if not pictures:
                raise _NothingToShowError("no frame of the video could be shown")
        reply = self._probe.ask(text, pictures).strip()
        return ProbedAnswer(reply, reason=None if reply else "the model's reply is empty")

    def _prompt_of(self, index: int, condition: Condition, times: Sequence[float]) -> str:
        turn, words = self.conversation.turns[index], _WORDS[self._probe.language]
        said = [] if condition in WITHOUT_HISTORY else history_before(self.conversation, index)
        if condition == "no_parent":
            del said[parent_of(self.conversation, index)]
        if condition in ("blind", "history"):
            shown = words["history" if said else "blind"]
        elif condition in ("one_frame", "shuffled"):
            shown = words[condition]
        else:
            moments = ", ".join(f"{time:.1f}" for time in times)
            shown = words["seen_history" if said else "seen"].format(moments=moments)
        turns = "\n".join(words["turn"].format(question=question, answer=answer) for question, answer in said)
        options = ""
        if turn.options:
            lines = "\n".join(f"{chr(ord('A') + n)}. {option}" for n, option in enumerate(turn.options))
            options = words["options"].format(options=lines)
        prompt = self._probe.prompt or prompts(self._probe.language)["probe"]
        return prompt.fill(
            shown=shown + self._speech(index, condition),
            history=words["said"].format(turns=turns) if said else "",
            question=words["question"].format(question=turn.question),
            options=options,
        )

    def _times(self, index: int, condition: Condition) -> tuple[float, ...]:
        """Times of the frames to show, in the order in which they are shown; never after the question."""
        if condition in ("blind", "history") or self._probe.frames is None:
            return ()
        turn = self.conversation.turns[index]
        end_s = _end_of(turn, self._duration_s)
        evidence = _within(turn.evidence, end_s)
        if condition in ("evidence", "evidence_cut") and not evidence:
            raise _NothingToShowError(
                "the evidence lies after the question" if turn.evidence else "the turn has no evidence interval"
            )
        if condition == "evidence":
            length_s = sum(interval.duration_s for interval in evidence)
            return tuple(middles_of(evidence, min(PROBE_FRAMES, max(2, math.ceil(MOST_A_SECOND * length_s)))))
        whole = [Interval(start_s=0.0, end_s=end_s)]
        if condition == "evidence_cut":
            outside = _outside(evidence, end_s)
            if sum(interval.duration_s for interval in outside) < LEAST_OUTSIDE_S:
                raise _NothingToShowError("nothing of the video before the question lies outside the evidence")
            return tuple(middles_of(outside, PROBE_FRAMES))
        if condition == "one_frame":
            return tuple(middles_of(whole, 1))
        if condition == "shuffled":
            times = middles_of(whole, PROBE_FRAMES)
            random.Random(f"{self._probe.seed} {self.conversation.id} {turn.question}").shuffle(times)
            return tuple(times)
        # Frames of the whole alone may miss the short moment that the turn is about.
        inside = middles_of(evidence, PROBE_FRAMES // 2) if evidence else []
        return tuple(sorted({*inside, *middles_of(whole, PROBE_FRAMES - len(inside))}))

    def _speech(self, index: int, condition: Condition) -> str:
        """What is said in the parts that are shown, for the prompt; empty if nothing is."""
        if condition in PROBE_CONDITIONS or self._probe.frames is None:
            return ""
        turn, speech = self.conversation.turns[index], self._probe.speech
        end_s = _end_of(turn, self._duration_s)
        known = speech.until(self.conversation.video_id, end_s)
        if condition in ("evidence", "evidence_cut"):
            inside = set(map(id, speech.heard_in(self.conversation.video_id, _within(turn.evidence, end_s))))
            known = tuple(spoken for spoken in known if (id(spoken) in inside) is (condition == "evidence"))
        words = _WORDS[self._probe.language]
        return words["speech"].format(lines=without_fences(speech_lines(known))) if known else ""


class _NothingToShowError(Exception):
    """There are no pictures for this condition and turn."""


def _end_of(turn: Turn, duration_s: float | None) -> float:
    ends = [end for end in (turn.asked_at_s, duration_s) if end is not None]
    if not ends and not turn.evidence:
        raise _NothingToShowError("neither the length of the video nor the moment of the question is known")
    return min(ends) if ends else max(interval.end_s for interval in turn.evidence)


def _within(intervals: Sequence[Interval], end_s: float) -> list[Interval]:
    """The parts of intervals up to a time, joined where they overlap, in order of time."""
    cut = (
        Interval(start_s=one.start_s, end_s=min(one.end_s, end_s))
        for one in intervals
        if one.start_s < end_s or one.start_s == one.end_s == end_s
    )
    return list(union(cut))


def _outside(intervals: Sequence[Interval], end_s: float) -> list[Interval]:
    """The rest of a video up to a time, without intervals that are in order and do not overlap."""
    starts = [0.0, *(interval.end_s for interval in intervals)]
    ends = [*(interval.start_s for interval in intervals), end_s]
    return [Interval(start_s=start, end_s=end) for start, end in zip(starts, ends, strict=True) if start < end]


def middles_of(intervals: Sequence[Interval], count: int) -> list[float]:
    """`count` times in seconds, each in the middle of an equal part of the intervals laid end to end, in order."""
    total = sum(interval.duration_s for interval in intervals)
    if total == 0:
        return [interval.start_s for interval in intervals][:count]
    times = []
    for n in range(count):
        left = (n + 0.5) / count * total
        for interval in intervals:
            if left < interval.duration_s:
                times.append(round(interval.start_s + left, 3))
                break
            left -= interval.duration_s
    return times


def claims_dialogue(conversation: Conversation, index: int) -> bool:
    """True for a turn that says that it needs the dialogue.

    These are the turns of a chain after the first, and the rounds of a dialogue that refer back or whose task is object
    reference or memory recall.
    """
    turn = conversation.turns[index]
    if not index or not turn.references:
        return False
    tasks = (Task.OBJECT_REFERENCE, Task.MEMORY_RECALL)
    return isinstance(conversation, QAChain) or any(is_labelled(turn, task) for task in tasks) or refers_back(turn)


def parent_of(conversation: Conversation, index: int) -> int:
    """Index of the turn that a turn rests on: the one before it; for a recall, the one with most of its words."""
    turn = conversation.turns[index]
    if isinstance(conversation, QAChain) or not is_labelled(turn, Task.MEMORY_RECALL):
        return index - 1
    words = set(content_words(" ".join((turn.question, *turn.references[:1]))))
    common = [
        len(words & set(content_words(" ".join((one.question, *one.references[:1])))))
        for one in conversation.turns[:index]
    ]
    return max(range(index), key=lambda earlier: (common[earlier], earlier))


def probe_conversation(conversation: ProbedConversation, *, sees: bool) -> list[GateResult]:
    """Ask about every turn under the conditions that can tell something about it.

    Returns:
        Results in the order of turns. A turn that needs no video by design gets no leak gates.
    """
    turns = conversation.conversation.turns
    counted = [index for index, turn in enumerate(turns) if is_counted(turn)]
    tight = counted
    for condition in PROBE_CONDITIONS if sees else PROBE_CONDITIONS[:2]:
        conversation.ask(condition, tight)
        tight = [index for index in tight if not conversation.right(index, condition)]
    if sees:
        # Pictures matter only for turns that no text answers.
        told = {
            index for index in counted if conversation.right(index, "blind") or conversation.right(index, "history")
        }
        proven = [index for index, turn in enumerate(turns) if turn.references and turn.evidence]
        shown = sorted({*counted, *proven} - told)
        conversation.ask("evidence", shown)
        conversation.ask(
            "evidence_cut", [index for index in shown if index in counted and conversation.right(index, "evidence")]
        )
        claiming = [
            index
            for index in range(len(turns))
            if index not in told and claims_dialogue(conversation.conversation, index)
        ]
        conversation.ask("whole", claiming)
        conversation.ask("no_history", [index for index in claiming if conversation.right(index, "whole")])
        conversation.ask("no_parent", [index for index in claiming if conversation.right(index, "no_history") is False])
    found = _Results(conversation)
    return [result for index in range(len(turns)) for result in found.of(index)]


_HAS: Final[dict[Condition, str]] = {
    "blind": "only the question",
    "history": "only the question and the history",
    "one_frame": "one frame",
    "shuffled": "shuffled frames",
}


class _Results:
    """Gate results from the answers of a model."""

    def __init__(self, probed: ProbedConversation) -> None:
        self._probed, self._subject = probed, Subject.of(probed.conversation)
        self._depths: dict[int, int] = {}

    def of(self, index: int) -> list[GateResult]:
        found = []
        for condition in PROBE_CONDITIONS:
            if answer := self._probed.answers.get((index, condition)):
                told = f"a model that has {_HAS[condition]} answers {answer.reply!r}"
                found.append(self._result(f"{LEAK}model.{condition}", index, answer, passes=False, told=told))
        if answer := self._probed.answers.get((index, "evidence")):
            told = f"with the evidence before it the model answers {answer.reply!r}"
            found.append(self._result(ANSWERABLE, index, answer, passes=True, told=told))
            found += self._cut(index, answer)
        return [*found, *self._depends(index)]

    def _cut(self, index: int, evidence: ProbedAnswer) -> list[GateResult]:
        if answer := self._probed.answers.get((index, "evidence_cut")):
            told = f"without the frames of its evidence the model answers {answer.reply!r}"
            return [self._result(EVIDENCE_CUT, index, answer, passes=False, told=told)]
        if not is_counted(self._probed.conversation.turns[index]):
            return []
        why = evidence.reason or "the model does not answer it with the evidence either"
        return [self._subject.gate(EVIDENCE_CUT, GateOutcome.UNCHECKED, why, turn=index)]

    def _depends(self, index: int) -> Iterator[GateResult]:
        if not claims_dialogue(self._probed.conversation, index):
            return
        answers, gate = self._probed.answers, partial(self._subject.gate, DEPENDS, turn=index)
        whole, alone = answers.get((index, "whole")), answers.get((index, "no_history"))
        if self._probed.right(index, "blind"):
            yield gate(GateOutcome.FLAGGED, "a model that has only the question answers it", value=0)
        elif whole is not None and (alone is None or alone.right is None):
            doubt = whole if alone is None else alone
            why = doubt.reason or f"with the video and the dialogue the model answers {doubt.reply!r}"
            yield gate(GateOutcome.UNCHECKED, why)
        elif whole is not None and alone is not None and alone.right:
            told = f"without the dialogue the model answers {alone.reply!r}"
            yield gate(GateOutcome.FLAGGED, told, value=0, raw=(alone.reply,))
        elif whole is not None:
            parent = parent_of(self._probed.conversation, index)
            rests = self._probed.right(index, "no_parent") is False
            self._depths[index] = 1 + (self._depths.get(parent, 0) if rests else 0)
            yield gate(GateOutcome.PASSED, value=self._depths[index], extra={"rests_on": parent} if rests else {})

    def _result(self, gate: str, index: int, answer: ProbedAnswer, *, passes: bool, told: str) -> GateResult:
        """The result of a gate that an answer passes if it is right, or if it is wrong."""
        if answer.right is None:
            return self._subject.gate(gate, GateOutcome.UNCHECKED, answer.reason, turn=index)
        if answer.right == passes:
            return self._subject.gate(gate, GateOutcome.PASSED, turn=index)
        return self._subject.gate(gate, GateOutcome.FLAGGED, told, turn=index, raw=(answer.reply,))
