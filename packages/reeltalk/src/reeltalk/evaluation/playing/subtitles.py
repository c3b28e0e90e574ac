"""Spoken lines that a model may know at a turn."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.schema.labels import Target
from reeltalk.schema.speech import Speech, Utterance
from reeltalk.store.content import Content
from reeltalk.store.rows import rows_by

CACHED_VIDEOS: Final = 256
"""Videos whose speech is kept in memory, more than are played at a time."""
TARGETS: Final = "cogme.target"
NO_SPEECH: Final = (
    "subtitles are to be shown, but the benchmark has no speech: 'reeltalk attach' adds subtitle and transcript files "
    "beside videos"
)


def speech_notice(content: Content, scripts: Iterable[Script], *, shown: bool) -> str | None:
    """A sentence if the speech that is to be shown is missing, or if questions about speech are asked without it."""
    if shown:
        return None if content.speech else NO_SPEECH
    if not content.speech:
        return None
    steps = (step for one in scripts if not one.epoch for step in one.steps)
    about = sum(Target.CONVERSATION in step.turn.labels.get(TARGETS, ()) for step in steps)
    if not about:
        return None
    return f"{about:,} turns are tagged as questions about what is said, which is not shown; --subtitles shows it"


def spoken_lines(content: Content) -> Callable[[Script, Step], tuple[Utterance, ...]]:
    """Gives the lines that a turn is shown, in the order of time.

    A turn with a moment is shown all lines of its video that ended by then. A turn that is asked after the whole video
    is shown the lines that are heard in its clips, or all lines if it names no clips.

    Args:
        content: The benchmark whose scripts are played.
    """
    by_video = rows_by(content.speech, "video_id")

    @lru_cache(CACHED_VIDEOS)
    def speech_of(video_id: str) -> Speech:
        return Speech(by_video.get(video_id, ()))

    def spoken(script: Script, step: Step) -> tuple[Utterance, ...]:
        if step.asked_at_s is None and step.clips:
            return speech_of(script.video_id).heard_in(script.video_id, step.clips)
        return speech_of(script.video_id).until(script.video_id, step.asked_at_s)

    return spoken
