"""Results of a curation's child processes."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.media import Sha256
from reeltalk.video.records import Cut


class CutClip(BaseModel):
    """A clip that was written as a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cut: Cut
    target: Annotated[str, Field(pattern=r"^clip-[0-9a-f]+[.]mp4$")]
    """Name of its file in the work folder."""
    sha256: Sha256 | None = None
    """Its name in the media store; None before it is moved there."""
