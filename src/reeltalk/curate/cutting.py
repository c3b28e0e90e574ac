"""Cut one clip. Runs in a child process."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Sha256
from reeltalk.video.cut import Cut, cut_clip


class CutClip(BaseModel):
    """A clip that was cut."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cut: Cut
    target: Annotated[str, Field(pattern=r"^clip-[0-9a-f]+[.]mp4$")]
    """Name of its file in the work folder."""
    sha256: Sha256 | None = None
    """Its name in the media store, once it is there."""


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
