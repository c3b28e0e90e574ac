"""How long answers took and how much was sent: per turn and by the length of the video (SVBench, figures 8 and 9)."""

from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.evaluate.judging.measures import Entry, Measure, mean_of
from reeltalk.schema.answers import AnsweredTurn, AnswerState

LENGTHS_S: Final = (60.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1800.0, 3600.0)
"""Bounds of the groups of video length."""


def length_group(duration_s: float | None) -> str:
    """The group of a video's length, as `60-120 s`."""
    if duration_s is None:
        return "unknown"
    below = 0.0
    for bound in LENGTHS_S:
        if duration_s < bound:
            return f"{below:g}-{bound:g} s"
        below = bound
    return f"{below:g} s and more"


def latency(turns: Sequence[AnsweredTurn], durations_s: Mapping[str, float | None]) -> list[Measure]:
    """Seconds and tokens of one model's answers, where they were measured.

    Args:
        turns: Its turns.
        durations_s: Length of each video.
    """
    found: list[Measure] = []
    for name, of in (
        ("took_s", lambda played: played.took_s),
        ("first_token_s", lambda played: played.first_token_s),
        ("prompt_tokens", lambda played: played.prompt_tokens),
        ("completion_tokens", lambda played: played.completion_tokens),
        ("frames_seen", lambda played: float(len(played.frames_s))),
    ):
        entries = [
            Entry(
                turn.video_id,
                float(value),
                groups={
                    "turn": (str(turn.turn_index + 1),),
                    "video_length": (length_group(durations_s.get(turn.video_id)),),
                },
            )
            for turn in turns
            if turn.state is AnswerState.ANSWERED and turn.played and (value := of(turn.played)) is not None
        ]
        if entries:
            found.append(mean_of(name, entries, by=("turn", "video_length")))
    return found
