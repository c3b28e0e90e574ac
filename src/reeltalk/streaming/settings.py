"""What training reeltalk-mini can be told."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class VisionSettings(BaseModel):
    """Of the first part: the vision encoder."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    steps: Annotated[int, Field(ge=1)] = 1500
    batch: Annotated[int, Field(ge=1)] = 48
    """Frames a step."""
    rate: Annotated[float, Field(gt=0)] = 3e-3
    """Highest learning rate."""
    warmup: Annotated[int, Field(ge=1)] = 100
    weight_decay: Annotated[float, Field(ge=0)] = 0.02
    bf16: bool = True
    """Compute in bfloat16 where that loses nothing that is summed up."""


class SpeechSettings(BaseModel):
    """Of the second part: projector and decoder."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    steps: Annotated[int, Field(ge=1)] = 1400
    batch: Annotated[int, Field(ge=1)] = 8
    """Sequences a step."""
    short: Annotated[int, Field(ge=0)] = 5600
    """So many lessons at the beginning are about a clip or two, which is sooner read; all others are about a video."""
    rate: Annotated[float, Field(gt=0)] = 2e-3
    """Highest learning rate."""
    warmup: Annotated[int, Field(ge=1)] = 100
    weight_decay: Annotated[float, Field(ge=0)] = 0.05
    blur: Annotated[float, Field(ge=0, lt=1)] = 0.1
    """Share of the visual tokens' values that is hidden while learning."""
    ready_weight: Annotated[float, Field(ge=0)] = 0.2
    """Weight of the loss of when to speak beside that of what to say."""
    named_weight: Annotated[float, Field(ge=0)] = 0.3
    """The same of what frames are called."""
    looked_weight: Annotated[float, Field(ge=0)] = 0.2
    """The same of where some heads look while an answer is given."""
    bf16: bool = True
    """Compute in bfloat16 where that loses nothing that is summed up."""


class MiniSettings(BaseModel):
    """Of the whole training of reeltalk-mini."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    seed: int = 17
    """Decides what the network begins with and all that is drawn."""
    eye: VisionSettings = VisionSettings()
    speech: SpeechSettings = SpeechSettings()
    vocabulary: Annotated[int, Field(ge=64)] = 1100
    """Words and pieces of words at most."""
    save_every: Annotated[int, Field(ge=1)] = 100
    """Steps after which the state is written."""
    threads: Annotated[int, Field(ge=1)] = 1
    """Cores that torch computes on."""
