"""Settings of the training of reeltalk-mini."""

from typing import Annotated, Literal

from pydantic import Field

from reeltalk.schema.settings import Settings


class VisionSettings(Settings):
    """Settings of the first part: the vision encoder."""

    steps: Annotated[int, Field(ge=1)] = 6000
    batch: Annotated[int, Field(ge=1)] = 24
    """Frames per step."""
    rate: Annotated[float, Field(gt=0)] = 4e-3
    """Highest learning rate."""
    warmup: Annotated[int, Field(ge=1)] = 100
    weight_decay: Annotated[float, Field(ge=0)] = 0.02
    bf16: bool = True
    """Compute in bfloat16, except for sums that would lose precision."""


class SpeechSettings(Settings):
    """Settings of the second part: projector and decoder."""

    steps: Annotated[int, Field(ge=1)] = 1800
    batch: Annotated[int, Field(ge=1)] = 8
    """Sequences per step."""
    short: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the lessons, at the beginning, that are about one or two clips, which are faster to read; all others are
    about a video."""
    rate: Annotated[float, Field(gt=0)] = 2e-3
    """Highest learning rate."""
    warmup: Annotated[int, Field(ge=1)] = 100
    weight_decay: Annotated[float, Field(ge=0)] = 0.05
    blur: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the visual tokens' values that is hidden in training."""
    ready_weight: Annotated[float, Field(ge=0)] = 0.2
    """Weight of the loss for when to speak, relative to the loss for the words."""
    named_weight: Annotated[float, Field(ge=0)] = 0.3
    """Weight of the loss for the words for frames."""
    looked_weight: Annotated[float, Field(ge=0)] = 0.2
    """Weight of the loss for the attention of some heads during an answer."""
    bf16: bool = True
    """Compute in bfloat16, except for sums that would lose precision."""


class MiniSettings(Settings):
    """Settings of the whole training of reeltalk-mini."""

    seed: int = 17
    """Decides the initial weights and all random choices."""
    eye: VisionSettings = VisionSettings()
    speech: SpeechSettings = SpeechSettings()
    vocabulary: Annotated[int, Field(ge=64)] = 1100
    """Most words and pieces of words."""
    save_every: Annotated[int, Field(ge=1)] = 100
    """Number of steps between two saved states."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Number of CPU cores for torch."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Where the network is trained."""
