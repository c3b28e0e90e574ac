"""Functions for child processes: ingest or cut one file. Arguments and results are JSON."""

import base64
from pathlib import Path
from typing import Any, Final

from reeltalk.curate.records import FileFacts
from reeltalk.curate.workers import file_facts
from reeltalk.schema.intervals import Interval
from reeltalk.video.cut import cut_clip
from reeltalk.video.encode import centre_square
from reeltalk.video.records import Probe
from reeltalk.video.stream import VideoError, open_video
from reeltalk_build.curate.records import CutClip
from reeltalk_build.video.measure import brisque, load_brisque

load_brisque()

JUDGED_POSITIONS: Final = (1 / 6, 1 / 2, 5 / 6)
"""Positions of the judged key frames, as shares of the video's length."""


def ingest(argument: dict[str, Any]) -> dict[str, Any]:
    """Look at one file.

    Args:
        argument: `path`; `shortest_s`, the length from which its quality is measured; `pictures`, true to return key
            frames.

    Returns:
        `FileFacts` as JSON.
    """
    path = Path(argument["path"])
    found = file_facts(path)
    if found.probe is not None and found.probe.duration_s >= argument["shortest_s"]:
        try:
            pictures = _key_frames(path, found.probe)
        except VideoError as error:
            return FileFacts(sha256=found.sha256, reason=str(error)).model_dump(mode="json")
        scores = [score for picture in pictures if (score := brisque(picture)) is not None]
        squares = map(centre_square, pictures if argument["pictures"] else ())
        more = {
            "quality": round(sum(scores) / len(scores), 3) if scores else None,
            "pictures": tuple(base64.b64encode(square.tobytes()).decode() for square in squares),
        }
        found = found.model_copy(update=more)
    return found.model_dump(mode="json")


def _key_frames(path: Path, facts: Probe) -> list[Any]:
    wanted = sorted(
        {
            min(facts.key_frames_s, key=lambda key_s: (abs(key_s - share * facts.duration_s), key_s))
            for share in JUDGED_POSITIONS
            if facts.key_frames_s
        }
    )
    pictures = []
    with open_video(path) as source:
        for key_s in wanted:
            source.seek(source.zero_or(0) + round(key_s / source.time_base))
            frame = source.next_frame()
            if frame is not None:
                pictures.append(source.shown(frame.picture))
    return pictures


def cut(argument: dict[str, Any]) -> dict[str, Any]:
    """Write one clip file.

    Args:
        argument: `path`, `interval` and `lossless` as for `cut_clip`; `folder` and `target` of the new file.

    Returns:
        `CutClip` as JSON.
    """
    made = cut_clip(
        Path(argument["path"]),
        Interval.model_validate(argument["interval"]),
        Path(argument["folder"], argument["target"]),
        lossless=argument["lossless"],
    )
    return CutClip(cut=made, target=argument["target"]).model_dump(mode="json")
