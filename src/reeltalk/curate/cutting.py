"""Cut one clip. Runs in a child process."""

from pathlib import Path
from typing import Any

from reeltalk.curate.records import CutClip
from reeltalk.schema.intervals import Interval
from reeltalk.video.cut import cut_clip


def cut(argument: dict[str, Any]) -> dict[str, Any]:
    """Write one clip file.

    Args:
        argument: `path`, `interval`, `lossless` and `rotation_deg` of `cut_clip`; `folder` and `target`, where to.

    Returns:
        `CutClip` as JSON.
    """
    made = cut_clip(
        Path(argument["path"]),
        Interval.model_validate(argument["interval"]),
        Path(argument["folder"], argument["target"]),
        lossless=argument["lossless"],
        rotation_deg=argument["rotation_deg"],
    )
    return CutClip(cut=made, target=argument["target"]).model_dump(mode="json")
