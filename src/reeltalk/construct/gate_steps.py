"""The gates: which turns can be answered without the video, which cannot be answered with it, which are too easy."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from reeltalk.construct.context import video_path
from reeltalk.construct.difficulty import GATE as DIFFICULTY
from reeltalk.construct.difficulty import DifficultySettings, read_correct, too_easy
from reeltalk.construct.frames import read_frames
from reeltalk.construct.leakage import Conversation, LeakSettings, keep_under, leaks
from reeltalk.construct.probing import FramesAt, Probe, ProbeSettings
from reeltalk.construct.prompting import prompts
from reeltalk.construct.step import Made, Run, StepSpec
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Video
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, VIDEOS

MOST: Final = 0.5
"""A dialogue is too easy as a whole where more than this share of its turns is."""


def check(run: Run) -> Made:
    """Ask every turn without the video, by baselines and by a model where one is given, and keep to the limits."""
    dialogues: list[Dialogue] = run.ours(DIALOGUES)
    conversations: list[Conversation] = [*run.ours(CHAINS), *dialogues]
    settings = LeakSettings(max_context_share=run.settings.max_leaking)
    run.progress("asking without the video", 0, 1, 0.0)
    gates = leaks(conversations, settings=settings)
    run.progress("asking without the video", 1, 1, 1.0)
    gates += _probed(run, conversations)
    gates += keep_under(dialogues, gates, settings.max_context_share)
    gates += _too_easy(run, dialogues)
    return Made({}, gates)


def _probed(run: Run, conversations: Sequence[Conversation]) -> list[GateResult]:
    """What a model answers when it sees less than the video, and when it sees the evidence."""
    if run.probe is None:
        return []
    videos = {str(video.id): video for video in run.videos()}
    frames = _frames_of(run, videos) if run.probe_sees else None
    seen = ("blind", "history", "one_frame", "shuffled", "evidence") if frames else ("blind", "history")
    settings = ProbeSettings(conditions=seen, seed=run.settings.seed, language=run.settings.language)
    probe = Probe(run.probe, frames, settings, prompts(run.settings.language, run.prompts)["probe"])

    def ask(conversation: Conversation) -> list[GateResult]:
        video = videos.get(conversation.video_id)
        duration_s = video.duration_s if video else None
        return [
            result
            for index in range(len(conversation.turns))
            for result in probe.check(conversation, index, duration_s=duration_s)
        ]

    return [result for found in run.each("probing", conversations, ask) for result in found]


def _frames_of(run: Run, videos: dict[str, Video]) -> FramesAt:
    def frames(video_id: str, times_s: Sequence[float]) -> list[bytes]:
        video = videos[video_id]
        # A decoder goes forward; shuffled moments are put back into their order afterwards.
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


def _too_easy(run: Run, dialogues: Sequence[Dialogue]) -> list[GateResult]:
    """Turns that at least k of the given runs answer correctly, and dialogues that consist of such turns."""
    if not run.runs:
        return []
    correct = read_correct(run.runs, DifficultySettings())
    wanted = run.settings.easy_runs or len(correct) // 2 + 1
    known: dict[str, Dialogue] = {dialogue.id: dialogue for dialogue in dialogues}
    found = [gate for gate in too_easy(correct, DifficultySettings(at_least=wanted)) if gate.unit_id in known]
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
    check,
    reads=(VIDEOS, CLIPS, CHAINS, DIALOGUES),
    writes=(GATES,),
    settings=("language", "limit", "seed", "frame_width_px", "max_leaking", "easy", "easy_runs"),
)
