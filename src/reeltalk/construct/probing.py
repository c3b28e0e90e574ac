"""Asks a model about a turn with less than the video, and with the frames of the evidence.

With the question only, with the history, with one frame or with shuffled frames it should fail, as the baselines of
`leakage.py` should. With the frames of the reference evidence it should succeed; otherwise the turn cannot be answered.
If the model gives no reply, the turn is unchecked, never passed.
"""

import random
from collections.abc import Callable, Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.leakage import Conversation, history_before
from reeltalk.construct.prompting import prompts
from reeltalk.errors import BudgetError, OutageError, ReeltalkError
from reeltalk.llm import Prompt
from reeltalk.metrics.agree import SIGNATURE, agrees
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.gates import GateOutcome, GateResult, is_counted
from reeltalk.schema.intervals import Interval

Condition = Literal["blind", "history", "one_frame", "shuffled", "evidence"]
Ask = Callable[[str, Sequence[bytes]], str]
"""Turns a prompt and encoded pictures into a reply; raises a `ReeltalkError` if the model fails."""
FramesAt = Callable[[str, Sequence[float]], list[bytes]]
"""Gives encoded pictures of a video, by its identifier, at times in seconds."""

ANSWERABLE: Final = "answerable"
"""Gate of the condition `evidence`; the others are `leak.model.CONDITION`."""
UNKNOWN: Final = "UNKNOWN"

_WORDS: Final[dict[str, dict[str, str]]] = {
    "en": {
        "blind": "You cannot see the video, and you do not know what was said before.",
        "history": "You cannot see the video, but you know what was said before.",
        "one_frame": "You see one picture of it.",
        "shuffled": "You see pictures of it; their order is not that of the video.",
        "evidence": "You see pictures of it in their order, and you know what was said before.",
        "said": "What was said before:\n{turns}\n\n",
        "turn": "Question: {question}\nAnswer: {answer}",
        "question": "Question: {question}",
        "options": "\nChoose one of:\n{options}",
    },
    "zh": {
        "blind": "你看不到视频,也不知道之前的对话。",
        "history": "你看不到视频,但知道之前的对话。",
        "one_frame": "你能看到其中一帧画面。",
        "shuffled": "你能看到其中若干帧画面,但顺序已被打乱。",
        "evidence": "你能按顺序看到其中若干帧画面,并知道之前的对话。",
        "said": "之前的对话:\n{turns}\n\n",
        "turn": "问:{question}\n答:{answer}",
        "question": "问:{question}",
        "options": "\n请从以下选项中选择一项:\n{options}",
    },
}


class ProbeSettings(BaseModel):
    """Conditions, frames and language of the probes."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    conditions: tuple[Condition, ...] = ("blind", "history", "one_frame", "shuffled", "evidence")
    """What it may see: nothing, the history, one frame, frames out of order, the evidence with the history."""
    frames: Annotated[int, Field(ge=1)] = 8
    """Frames shown of the video (shuffled), or of all evidence intervals together (evidence)."""
    seed: int = 17
    """Shuffles frames."""
    language: Literal["en", "zh"] = "en"
    """Language of the prompt."""


class ModelProbe:
    """Asks a model about turns under each condition.

    Args:
        ask: The model.
        frames: Source of pictures; None for conditions with text only.
        settings: Conditions, frames and language.
        prompt: A prompt to use instead of ours.

    Raises:
        ValueError: A condition needs pictures, but `frames` is None.
    """

    def __init__(
        self,
        ask: Ask,
        frames: FramesAt | None = None,
        settings: ProbeSettings | None = None,
        prompt: Prompt | None = None,
    ) -> None:
        self._ask, self._frames, self.settings = ask, frames, settings or ProbeSettings()
        self._prompt = prompt or prompts(self.settings.language)["probe"]
        needing = [condition for condition in self.settings.conditions if condition not in ("blind", "history")]
        if needing and frames is None:
            raise ValueError(f"the conditions {', '.join(needing)} need frames")

    @property
    def signature(self) -> str:
        """The prompt, the frames shown, and the comparison of answers."""
        return f"{self._prompt.signature}|frames:{self.settings.frames}|seed:{self.settings.seed}|{SIGNATURE}"

    def check(self, conversation: Conversation, index: int, *, duration_s: float | None = None) -> list[GateResult]:
        """Ask about one turn under every condition.

        Args:
            conversation: The dialogue or chain.
            index: Index of the turn, from 0.
            duration_s: Length of the video. Without it, frames reach as far as the question and its evidence.

        Returns:
            One result per condition. A turn that needs no video by design gets only `answerable`.
        """
        turn = conversation.turns[index]
        return [
            self._check(conversation, index, condition, duration_s)
            for condition in self.settings.conditions
            if turn.references and (is_counted(turn) or (condition == "evidence" and turn.evidence))
        ]

    def _check(
        self, conversation: Conversation, index: int, condition: Condition, duration_s: float | None
    ) -> GateResult:
        turn = conversation.turns[index]
        gate = ANSWERABLE if condition == "evidence" else f"leak.model.{condition}"
        outcome, reason = GateOutcome.PASSED, None
        raw: tuple[str, ...] = ()
        try:
            pictures = self._pictures(conversation, turn, condition, duration_s)
            reply = self._ask(self._prompt_of(conversation, index, condition), pictures).strip()
        except _NothingToShowError as error:
            outcome, reason = GateOutcome.UNCHECKED, str(error)
        except (BudgetError, OutageError):
            raise
        except ReeltalkError as error:
            outcome, reason = GateOutcome.UNCHECKED, f"the model failed: {error}"
        else:
            if not reply:
                outcome, reason = GateOutcome.UNCHECKED, "the model's reply is empty"
            else:
                known = UNKNOWN.lower() not in reply.lower()
                right = known and agrees(reply, turn.references, turn.question, turn.options)
                if condition == "evidence" and not right:
                    outcome, raw = GateOutcome.FLAGGED, (reply,)
                    reason = f"with the evidence before it the model answers {reply!r}"
                elif condition != "evidence" and right:
                    outcome, raw = GateOutcome.FLAGGED, (reply,)
                    reason = f"a model that has {_HAS[condition]} answers {reply!r}"
        return GateResult(
            gate=gate,
            unit="dialogue" if isinstance(conversation, Dialogue) else "chain",
            unit_id=conversation.id,
            turn_index=index,
            outcome=outcome,
            reason=reason,
            raw=raw,
        )

    def _prompt_of(self, conversation: Conversation, index: int, condition: Condition) -> str:
        turn, words = conversation.turns[index], _WORDS[self.settings.language]
        history = ""
        said = history_before(conversation, index)
        if condition in ("history", "evidence") and said:
            turns = "\n".join(words["turn"].format(question=question, answer=answer) for question, answer in said)
            history = words["said"].format(turns=turns)
        options = ""
        if turn.options:
            lines = "\n".join(f"{chr(ord('A') + n)}. {option}" for n, option in enumerate(turn.options))
            options = words["options"].format(options=lines)
        return self._prompt.fill(
            shown=words[condition],
            history=history,
            question=words["question"].format(question=turn.question),
            options=options,
        )

    def _pictures(
        self, conversation: Conversation, turn: Turn, condition: Condition, duration_s: float | None
    ) -> list[bytes]:
        if condition in ("blind", "history") or self._frames is None:
            return []
        if condition == "evidence":
            if not turn.evidence:
                raise _NothingToShowError("the turn has no evidence interval")
            times = middles_of(turn.evidence, self.settings.frames)
        else:
            # The model never sees frames after the question.
            ends = [turn.asked_at_s, duration_s] if turn.asked_at_s is not None else [duration_s]
            known = [end for end in ends if end is not None] or [interval.end_s for interval in turn.evidence]
            if not known:
                raise _NothingToShowError("neither the length of the video nor the moment of the question is known")
            end_s = min(known) if turn.asked_at_s is not None or duration_s is not None else max(known)
            count = 1 if condition == "one_frame" else self.settings.frames
            times = middles_of([Interval(start_s=0.0, end_s=end_s)], count)
        if condition == "shuffled":
            random.Random(f"{self.settings.seed} {conversation.id} {turn.question}").shuffle(times)
        pictures = self._frames(conversation.video_id, times)
        if not pictures:
            raise _NothingToShowError("no frame of the video could be shown")
        return pictures


class _NothingToShowError(Exception):
    """There are no pictures for this condition and turn."""


_HAS: Final = {
    "blind": "only the question",
    "history": "only the question and the history",
    "one_frame": "one frame",
    "shuffled": "shuffled frames",
}


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
