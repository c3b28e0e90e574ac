"""Functions for child processes: ingest or cut one file. Arguments and results are JSON."""

import base64
from pathlib import Path
from typing import Any, Final

from reeltalk.attach.records import FileFacts
from reeltalk.schema.intervals import Interval
from reeltalk.store.manifest import hash_file
from reeltalk.video.cut import cut_clip
from reeltalk.video.encode import centre_square
from reeltalk.video.probe import probe
from reeltalk.video.records import Probe
from reeltalk.video.stream import VideoError, open_video
from reeltalk_build.curate.records import CutClip
from reeltalk_build.video.measure import brisque, load_brisque

load_brisque()

LOOKED_AT: Final = (1 / 6, 1 / 2, 5 / 6)
"""Positions of the judged key frames, as shares of the video's length."""


def ingest(argument: dict[str, Any]) -> dict[str, Any]:
    """Ingest one file.

    Args:
        argument: `path`; `judge`, true to measure its quality if it lasts `shortest_s`; `pictures`, true to return key
            frames.

    Returns:
        `FileFacts` as JSON.
    """
    path = Path(argument["path"])
    sha256, _ = hash_file(path)
    try:
        facts = probe(path)
        found: dict[str, Any] = {"probe": facts}
        if argument["judge"] and facts.duration_s >= argument["shortest_s"]:
            pictures = _key_frames(path, facts)
            scores = [score for picture in pictures if (score := brisque(picture)) is not None]
            found["quality"] = round(sum(scores) / len(scores), 3) if scores else None
            if argument["pictures"]:
                found["pictures"] = [
                    base64.b64encode(centre_square(picture).tobytes()).decode() for picture in pictures
                ]
    except VideoError as error:
        return FileFacts(sha256=sha256, reason=str(error)).model_dump(mode="json")
    return FileFacts(sha256=sha256, **found).model_dump(mode="json")


def _key_frames(path: Path, facts: Probe) -> list[Any]:
    wanted = sorted(
        {
            min(facts.key_frames_s, key=lambda key_s: (abs(key_s - share * facts.duration_s), key_s))
            for share in LOOKED_AT
            if facts.key_frames_s
        }
    )
    pictures = []
    with open_video(path) as source:
        for key_s in wanted:
            source.seek(source.zero_or(0) + round(key_s / source.time_base))
            picture = source.next_frame()
            if picture is not None:
                pictures.append(source.shown(picture))
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
