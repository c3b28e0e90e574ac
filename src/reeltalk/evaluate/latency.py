"""How long answers took, and what was sent and kept: by turn, by the length of the video, by the question's moment.

SVBench's figures 8 and 9 have the first of these against the length of the video. A model that follows a stream is told
from one that looks at everything anew only by how its figures go with the moment at which it is asked.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.judge.measures import MeanItem, Measure, mean_measure
from reeltalk.schema.answers import AnsweredTurn, AnswerState

LENGTHS_S: Final = (60.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1800.0, 3600.0)
"""Bounds of the groups of video length."""
ASKED_S: Final = (30.0, 60.0, 90.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
"""Bounds of the groups of the moment of a question."""
MIB: Final = 1 << 20


def length_group(duration_s: float | None, bounds_s: Sequence[float] = LENGTHS_S) -> str:
    """The group of a video's length or of a moment, as `60-120 s`: from its lower bound to below its upper one.

    Args:
        duration_s: Seconds; None where nobody knows.
        bounds_s: Bounds of the groups, rising.
    """
    if duration_s is None:
        return "unknown"
    below = 0.0
    for bound in bounds_s:
        if duration_s < bound:
            return f"{below:g}-{bound:g} s"
        below = bound
    return f"{below:g} s and more"


def latency_measures(turns: Sequence[AnsweredTurn], durations_s: Mapping[str, float | None]) -> list[Measure]:
    """Seconds, tokens, frames and memory of one model's answers, where they were measured.

    A question without a moment is asked at the end of its video.

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
        ("new_frames", lambda played: float(played.new_frames)),
        ("memory_mib", lambda played: None if played.memory_bytes is None else played.memory_bytes / MIB),
    ):
        entries = [
            MeanItem(
                turn.video_id,
                float(value),
                groups={
                    "turn": (str(turn.turn_index + 1),),
                    "video_length": (length_group(durations_s.get(turn.video_id)),),
                    "asked_at": (length_group(_asked_at(turn, durations_s), ASKED_S),),
                },
            )
            for turn in turns
            if turn.state is AnswerState.ANSWERED and turn.played and (value := of(turn.played)) is not None
        ]
        if entries:
            found.append(mean_measure(name, entries, by=("turn", "video_length", "asked_at")))
    return found


def _asked_at(turn: AnsweredTurn, durations_s: Mapping[str, float | None]) -> float | None:
    return turn.asked_at_s if turn.asked_at_s is not None else durations_s.get(turn.video_id)
