"""Whether a video's first and last frames can be decoded, and whether it was cut off. Runs in a child process."""

from pathlib import Path
from typing import Any, Final

import av

from reeltalk.video.probe import probe
from reeltalk.video.serving import REFUSED
from reeltalk.video.stream import Source, VideoError, open_video

MISSING_S: Final = 1.0
"""A header and the packets differ by less in files that are whole."""


def decode_ends(argument: dict[str, Any]) -> dict[str, Any]:
    """Decode the first frame, and from the last key frame to the end.

    Args:
        argument: `path`.

    Returns:
        `first_s` and `last_s`, presentation times of what was decoded; or `refused`, why it was not.
    """
    path = Path(argument["path"])
    try:
        facts = probe(path)
        with open_video(path) as source:
            named_s = _named_s(source)
            first = next(source.frames())
            start = source.start_pts
            source.seek(start + round(max(facts.key_frames_s, default=0.0) / source.time_base))
            last = None
            while (picture := source.next_frame()) is not None:
                last = picture
            damaged = source.damaged
        if last is None:
            return {REFUSED: "nothing can be decoded from its last key frame on"}
        if named_s - facts.duration_s > max(MISSING_S, 0.02 * named_s):
            told, found = f"its header names {named_s:.1f} s", f"its frames end at {facts.duration_s:.1f} s"
            return {REFUSED: f"it was cut off: {told}, {found}"}
        if damaged:
            return {REFUSED: f"{damaged} packets at its ends cannot be decoded"}
    except VideoError as error:
        return {REFUSED: str(error)}
    last_s = facts.duration_s if last.pts is None else float((last.pts - start) * source.time_base)
    return {"first_s": first.pts_s, "last_s": last_s}


def _named_s(source: Source) -> float:
    """How long the header says that the pictures last; 0 where it does not."""
    if source.stream.duration is not None:
        return float(source.stream.duration * source.time_base)
    # Sound may go on after the pictures.
    if source.container.duration is None or source.container.streams.audio:
        return 0.0
    return float(source.container.duration / av.time_base)
