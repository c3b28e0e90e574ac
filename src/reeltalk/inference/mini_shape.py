"""The sizes of reeltalk-mini, which are stored with its weights."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator


class MiniShape(BaseModel):
    """Sizes of the network, and what its input is."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    height_px: int = 108
    """Of the pictures that it looks at."""
    width_px: int = 192
    channels: tuple[int, int, int, int] = (24, 48, 96, 160)
    """Channels of the four scales of the vision encoder."""
    glimpses: Annotated[int, Field(ge=1)] = 10
    """Places of a frame that are looked at more closely."""
    glimpse_width: int = 64
    frame_tokens: Annotated[int, Field(ge=1)] = 2
    """Tokens of each frame."""
    vision_width: int = 160
    """Width of a visual token before it is projected."""
    clock_waves: int = 12
    """Waves by which a frame is told how far into the video it is."""
    width: int = 192
    """Width of a token in the decoder."""
    layers: int = 4
    heads: int = 6
    hidden: int = 512
    """Width of the gated layer."""
    vocabulary: int = 1024
    """Words and pieces of words."""
    fps: float = 1.0
    """Frames a second that it was trained on."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "MiniShape":
        if self.width % self.heads or (self.width // self.heads) % 2:
            raise ValueError(f"width {self.width} does not give {self.heads} heads of an even width")
        return self

    @property
    def head_width(self) -> int:
        """Width of a head."""
        return self.width // self.heads
