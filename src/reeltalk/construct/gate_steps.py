"""The gates step: finds turns that need no video, turns that the video does not answer, and turns that are too easy.

A turn is too easy if many of the given runs answer it correctly.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.context import video_path
from reeltalk.construct.frames import read_frames
from reeltalk.construct.leakage import Conversation, LeakSettings, leaks, limit_leak_share
from reeltalk.construct.probing import FramesAt, ModelProbe, ProbeSettings
from reeltalk.construct.prompting import prompts
from reeltalk.construct.step import ConstructRun, StepResult, StepSpec
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Video
from reeltalk.store.runs import read_run
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, VIDEOS

DIFFICULTY: Final = "difficulty"
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
                    f"{path}: the scores of '{scores.model}' for '{scores.item_id}' stand beside the answer of "
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
    gates = leaks(conversations, settings=settings)
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
