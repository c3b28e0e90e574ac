"""Look at a video without decoding it: facts, hash, and the quality of three key frames. Runs in a child process."""

import base64
from pathlib import Path
from typing import Any, Final

from reeltalk.curate.records import Ingested
from reeltalk.store.manifest import hash_file
from reeltalk.video.encode import centre_square, upright
from reeltalk.video.probe import probe
from reeltalk.video.quality import brisque
from reeltalk.video.records import Probe
from reeltalk.video.stream import VideoError, open_video, rgb

LOOKED_AT: Final = (1 / 6, 1 / 2, 5 / 6)
"""Which key frames are judged, as shares of the video's length."""


def ingest(argument: dict[str, Any]) -> dict[str, Any]:
    """Ingest one file.

    Args:
        argument: `path`; `judge`, whether its quality is measured; `pictures`, whether key frames are handed back.

    Returns:
        `Ingested` as JSON.
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
        return Ingested(sha256=sha256, reason=str(error)).model_dump(mode="json")
    return Ingested(sha256=sha256, **found).model_dump(mode="json")


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
        start = source.stream.start_time or 0
        for key_s in wanted:
            source.seek(start + round(key_s / source.time_base))
            picture = source.next_frame()
            if picture is not None:
                pictures.append(upright(rgb(picture), facts.rotation_deg))
    return pictures
