"""Settings of plays in which a model speaks unasked. Imports nothing heavy."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.evaluate.frame_settings import FrameSettings

THRESHOLD = 0.5
MOST_FRAMES = 100_000


class ProactiveSettings(BaseModel):
    """What can move what a model says, and when; each is part of the signature."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    fps: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = 1.0
    """Frames a second of the video's clock."""
    longest_side_px: Annotated[int, Field(ge=16, le=8192)] = 448
    """Frames are made smaller where their longer side has more pixels."""
    threshold: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = THRESHOLD
    """A model that tells how ready it is speaks from this readiness on."""
    refractory_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0
    """After a reply it is silent for so long."""

    @property
    def frames(self) -> FrameSettings:
        """Which frames are served."""
        return FrameSettings(policy="fps", frames=MOST_FRAMES, fps=self.fps, longest_side_px=self.longest_side_px)
