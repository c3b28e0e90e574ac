"""The gates step: finds turns that need no video, turns that the video does not answer, and turns that are too easy.

A model is asked about a turn with less than the video, and with the frames of the evidence. With the question only,
with the history, with one frame or with shuffled frames it should fail, as the baselines of `leakage.py` should. With
the frames of the reference evidence it should succeed; otherwise the turn cannot be answered. If the model gives no
reply, the turn is unchecked, never passed.

A turn is too easy if many of the given runs answer it correctly.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.context import video_path
from reeltalk.construct.frames import read_frames
from reeltalk.construct.leakage import Conversation, LeakSettings, history_before, leaks, limit_leak_share
from reeltalk.construct.prompting import prompts
from reeltalk.construct.step import Ask, ConstructRun, StepResult, StepSpec
from reeltalk.errors import BenchmarkError, BudgetError, OutageError, ReeltalkError, SettingError
from reeltalk.llm import Prompt
from reeltalk.metrics.agree import SIGNATURE, agrees
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.gates import ANSWERABLE, DIFFICULTY, GateOutcome, GateResult, is_counted
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.store.runs import read_run
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, VIDEOS

Condition = Literal["blind", "history", "one_frame", "shuffled", "evidence"]
FramesAt = Callable[[str, Sequence[float]], list[bytes]]
"""Gives encoded pictures of a video, by its identifier, at times in seconds."""

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


Item = tuple[str, int]
"""A turn, as (identifier of its dialogue or chain, index from 0)."""


class DifficultySettings(BaseModel):
    """When a turn is too easy, and what happens to it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    at_least: Annotated[int, Field(ge=1)] = 2
    """Number of models that must answer a turn correctly for it to be too easy."""
    metric: str = "token_f1"
    """The metric of the runs that says what is correct."""
    threshold: float = 0.5
    """Score from which an answer is correct."""
    rule: Literal["flag", "drop"] = "flag"
    """flag keeps such a turn and shows it to reviewers; drop leaves it out."""


def read_correct(runs: Sequence[Path], settings: DifficultySettings) -> dict[str, dict[Item, bool]]:
    """Which turns each model of the runs answers correctly, by model. A model that occurs twice gets its run's path.

    Args:
        runs: Run folders.
        settings: Metric and threshold.

    Raises:
        BenchmarkError: A folder is not a run, or its scores are not in the order of its answers.
        SettingError: A run has no scores of the metric.
        InputError: A file of a run is damaged.
    """
    found: dict[str, dict[Item, bool]] = {}
    for path in runs:
        run = read_run(path)
        models: dict[str, dict[Item, bool]] = {}
        # Both files hold the same rows in the same order; only the answers name dialogue and turn.
        rows = zip(run.answers(), run.item_scores(), strict=False)
        for answer, scores in rows:
            if (answer.model, answer.item_id) != (scores.model, scores.item_id):
                raise BenchmarkError(
                    f"{path}: the scores of '{scores.model}' for '{scores.item_id}' are next to the answer of "
                    f"'{answer.model}' to '{answer.item_id}'; score the answers again"
                )
            score = scores.scores.get(settings.metric)
            if score is not None:
                item = (answer.unit_id, answer.turn_index)
                models.setdefault(answer.model, {})[item] = score >= settings.threshold
        if not models:
            known = ", ".join(run.info.metrics) or "none"
            raise SettingError(f"{path} has no scores of '{settings.metric}'; its metrics are {known}")
        for model, correct in models.items():
            found[model if model not in found else f"{model} ({path})"] = correct
    return found


def check_difficulty(
    correct: Mapping[str, Mapping[Item, bool]],
    settings: DifficultySettings | None = None,
    *,
    unit: Literal["dialogue", "chain", "path"] = "dialogue",
) -> list[GateResult]:
    """Check every turn that at least one model answered.

    Args:
        correct: True for each turn that a model answers correctly, by model and turn.
        settings: Number of models that must be correct, and what happens to the turn.
        unit: Kind of unit that the turns belong to.

    Returns:
        One result per turn, in the order of units and turns; `unchecked` if too few models answered it.

    Raises:
        SettingError: The settings require more models than are given.
    """
    settings = settings or DifficultySettings()
    if settings.at_least > len(correct):
        raise SettingError(
            f"a turn is too easy if {settings.at_least} models answer it, but only {len(correct)} are given"
        )
    results = []
    for item in sorted({item for answered in correct.values() for item in answered}):
        answers = {model: answered[item] for model, answered in sorted(correct.items()) if item in answered}
        right = [model for model, is_right in answers.items() if is_right]
        outcome, reason = GateOutcome.PASSED, None
        if len(right) >= settings.at_least:
            outcome = GateOutcome.DROPPED if settings.rule == "drop" else GateOutcome.FLAGGED
            reason = f"{len(right)} of {len(answers)} models answer it correctly: {', '.join(right)}"
        elif len(right) + len(correct) - len(answers) >= settings.at_least:
            outcome = GateOutcome.UNCHECKED
            reason = f"only {len(answers)} of {len(correct)} models answered it, {len(right)} of them correctly"
        results.append(
            GateResult(gate=DIFFICULTY, unit=unit, unit_id=item[0], turn_index=item[1], outcome=outcome, reason=reason)
        )
    return results


MOST: Final = 0.5
"""A dialogue is too easy if more than this share of its turns is."""


def check_gates(run: ConstructRun) -> StepResult:
    """Check all turns with baselines, with a model if one is given, and with the given runs."""
    dialogues: list[Dialogue] = run.written_rows(DIALOGUES)
    conversations: list[Conversation] = [*run.written_rows(CHAINS), *dialogues]
    settings = LeakSettings(max_context_share=run.settings.max_leaking)
    run.progress("asking without the video", 0, 1, 0.0)
    gates = leaks(
        conversations,
        settings=settings,
        equivalence=run.equivalence,
        in_order=lambda work, pairs: run.map_ordered("comparing answers", pairs, work),
    )
    run.progress("asking without the video", 1, 1, 1.0)
    gates += _probed(run, conversations)
    gates += limit_leak_share(dialogues, gates, settings.max_context_share)
    gates += _too_easy(run, dialogues)
    return StepResult({}, gates)


def _probed(run: ConstructRun, conversations: Sequence[Conversation]) -> list[GateResult]:
    """Results of a model that sees less than the video, and of one that sees the evidence."""
    if run.probe is None:
        return []
    videos = {str(video.id): video for video in run.videos()}
    frames = _frames_of(run, videos) if run.probe_sees else None
    seen = ("blind", "history", "one_frame", "shuffled", "evidence") if frames else ("blind", "history")
    settings = ProbeSettings(conditions=seen, seed=run.settings.seed, language=run.settings.language)
    probe = ModelProbe(run.probe, frames, settings, prompts(run.settings.language, run.prompts)["probe"])

    def ask(conversation: Conversation) -> list[GateResult]:
        video = videos.get(conversation.video_id)
        duration_s = video.duration_s if video else None
        return [
            result
            for index in range(len(conversation.turns))
            for result in probe.check(conversation, index, duration_s=duration_s)
        ]

    return [result for found in run.map_ordered("probing", conversations, ask) for result in found]


def _frames_of(run: ConstructRun, videos: dict[str, Video]) -> FramesAt:
    def frames(video_id: str, times_s: Sequence[float]) -> list[bytes]:
        video = videos[video_id]
        # The decoder moves forward in time; shuffled times get their order back afterwards.
        found = read_frames(
            video_path(run.benchmark, video),
            sorted(times_s),
            executor=run.executor,
            rotation_deg=video.encoding.rotation_deg if video.encoding else 0,
            longest_px=run.settings.frame_width_px,
        )
        by_time = dict(zip(sorted(times_s), (frame.jpeg for frame in found), strict=True))
        return [by_time[time_s] for time_s in times_s]

    return frames


def _too_easy(run: ConstructRun, dialogues: Sequence[Dialogue]) -> list[GateResult]:
    """Results for turns that enough runs answer correctly, and for dialogues that consist mostly of such turns."""
    if not run.runs:
        return []
    correct = read_correct(run.runs, DifficultySettings())
    wanted = run.settings.easy_runs or len(correct) // 2 + 1
    known: dict[str, Dialogue] = {dialogue.id: dialogue for dialogue in dialogues}
    found = [gate for gate in check_difficulty(correct, DifficultySettings(at_least=wanted)) if gate.unit_id in known]
    easy = Counter(gate.unit_id for gate in found if gate.outcome is GateOutcome.FLAGGED)
    if run.settings.easy == "drop":
        for name, count in sorted(easy.items()):
            turns = len(known[name].turns)
            if count > MOST * turns:
                found.append(
                    GateResult(
                        gate=f"{DIFFICULTY}.share",
                        unit="dialogue",
                        unit_id=name,
                        outcome=GateOutcome.DROPPED,
                        reason=f"{count} of {turns} turns are answered correctly by {wanted} runs or more",
                    )
                )
    return found


GATE_STEP = StepSpec(
    "gates",
    check_gates,
    reads=(VIDEOS, CLIPS, CHAINS, DIALOGUES),
    writes=(GATES,),
    settings=("language", "limit", "seed", "frame_width_px", "max_leaking", "easy", "easy_runs"),
)
