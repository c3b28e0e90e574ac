"""Settings of what is shown of a video while a dialogue is played. Imports nothing heavy."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

FramePolicy = Literal["uniform", "fps", "per-clip", "first-turn", "none"]


class FrameSettings(BaseModel):
    """Which frames a turn sees and how large they are; all of it can move a score."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    policy: FramePolicy = "uniform"
    """`uniform`: spread anew over what may be seen at each turn; `fps`: a fixed rate, sent as it comes; `per-clip`:
    whole seconds of each clip when a turn comes to it (SVBench); `first-turn`: once, with the first turn (VDAct);
    `none`: no frames."""
    frames: Annotated[int, Field(ge=1, le=100_000)] = 16
    """How many: of a turn (`uniform`), of a script at most (`fps`), of a clip (`per-clip`), or all (`first-turn`)."""
    fps: Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)] = 1.0
    """Frames per second of `fps`, before it is thinned to `frames`."""
    longest_side_px: Annotated[int, Field(ge=16, le=8192)] | None = 720
    """Frames are made smaller where their longer side has more pixels; None shows them as they are."""
    square_px: Annotated[int, Field(ge=16, le=8192)] | None = None
    """Frames are brought to exactly this width and height, whatever their shape, as InternVL's 448; goes before
    `longest_side_px`."""
    quality: Annotated[int, Field(ge=1, le=100)] = 90
    """Quality of the JPEG files."""

    @property
    def size(self) -> str:
        """The limit of the size as a word: `square448`, `720`, or `full`."""
        if self.square_px is not None:
            return f"square{self.square_px}"
        return "full" if self.longest_side_px is None else str(self.longest_side_px)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What of it can move a score, by name; what the policy does not use is left out."""
        if self.policy == "none":
            return (("policy", self.policy),)
        rate = (("fps", f"{self.fps:g}"),) if self.policy == "fps" else ()
        return (
            ("policy", self.policy),
            ("frames", str(self.frames)),
            *rate,
            ("size", self.size),
            ("quality", str(self.quality)),
        )
