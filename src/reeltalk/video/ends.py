"""Checks that a video's first and last frames can be decoded and that it was not cut off. Runs in a child process."""

from pathlib import Path
from typing import Any

from reeltalk.video.probe import probe
from reeltalk.video.serving import REFUSED
from reeltalk.video.stream import VideoError, open_video


def decode_ends(argument: dict[str, Any]) -> dict[str, Any]:
    """Decode the first frame, and everything from the last key frame to the end.

    Args:
        argument: `path`.

    Returns:
        `first_s` and `last_s`, the presentation times of the decoded frames; or `refused`, the reason of a failure.
    """
    path = Path(argument["path"])
    try:
        facts = probe(path)
        with open_video(path) as source:
            first = next(source.frames())
            start = source.start_pts
            source.seek(start + round(max(facts.key_frames_s, default=0.0) / source.time_base))
            last = None
            while (picture := source.next_frame()) is not None:
                last = picture
            damaged = source.damaged
        if last is None:
            return {REFUSED: "nothing can be decoded from its last key frame on"}
        if facts.promised_s > facts.duration_s:
            told, found = f"its header names {facts.promised_s:.1f} s", f"its frames end at {facts.duration_s:.1f} s"
            return {REFUSED: f"it was cut off: {told}, {found}"}
        if facts.gaps_s:
            start_s, end_s = facts.gaps_s[0]
            more = f" and {len(facts.gaps_s) - 1} more parts" if facts.gaps_s[1:] else ""
            return {REFUSED: f"it is damaged: it has no frames from {start_s:.1f} to {end_s:.1f} s{more}"}
        if damaged:
            return {REFUSED: f"{damaged} packets at its ends cannot be decoded"}
    except VideoError as error:
        return {REFUSED: str(error)}
    last_s = facts.duration_s if last.pts is None else float((last.pts - start) * source.time_base)
    return {"first_s": first.pts_s, "last_s": last_s}
