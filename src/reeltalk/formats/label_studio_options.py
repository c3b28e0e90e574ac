"""What an export for Label Studio can be asked for."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict


class LabelStudioOptions(BaseModel):
    """Where a Label Studio server finds the videos."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    media_url: str | None = None
    """Address before each video's name, as https://host/videos/; by default the server's own local files."""
    videos: Literal["copy", "link", "none"] = "copy"
    """copy: videos lie in the folder; link: as hard links, where the file system allows; none: they are elsewhere."""


DEFAULTS: Final = LabelStudioOptions()
