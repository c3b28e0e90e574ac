"""What of a benchmark is taught, and how much of it a sequence holds."""

from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.sft import SampleLimits

TRAIN: Final = "train"
TEST: Final = "test"
EVERY_SPLIT: Final = "all"

UnitKind = Literal["path", "chain", "dialogue"]


class TrainingOptions(BaseModel):
    """What of a benchmark becomes training samples, for streamingchat, sharegpt and trl."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    units: UnitKind | None = None
    """path: each path is a conversation; chain: all chains of a video in order; dialogue: each dialogue. By default the
    first of these that the split has."""
    frames: Literal["segment", "stream"] = "segment"
    """segment: frames of the clips that turns are about; stream: all frames from the beginning on."""
    choices: Literal["told", "open"] = "told"
    """told: a question with options is asked with them and answered by letter; open: without them, by its reference."""
    fps: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = 1.0
    """Frames a second, on the video's own grid."""
    size: Annotated[int, Field(ge=16, le=4096)] = 448
    """Width and height of each frame in pixels, whatever the video's shape."""
    quality: Annotated[int, Field(ge=1, le=100)] = 90
    """Quality of the JPEG files."""
    frame_tokens: Annotated[int, Field(ge=1)] = 256
    """Tokens of a frame in the model that is trained."""
    budget: Annotated[int, Field(ge=1)] = 32768
    """Tokens of a sample at most; a longer conversation is cut between segments."""
    max_frames: Annotated[int, Field(ge=1)] = 100
    """Frames of a sample at most."""
    reserve: Annotated[int, Field(ge=0)] = 128
    """Tokens kept free for a system message."""
    carry_over: Annotated[int, Field(ge=0, le=100)] = 0
    """Turns before a cut that the next sample is told as text, without loss."""
    tokenizer: Path | None = None
    """Folder of the tokenizer of the model that is trained; without it a text counts as many tokens as it has bytes."""
    answer_rows: bool = False
    """trl: a row for each answer, as prompt and completion, in place of a row for each sample."""
    skip_missing: bool = False
    """Leave out what is about videos that are not at hand."""

    @property
    def limits(self) -> SampleLimits:
        """What a sample may hold."""
        return SampleLimits(
            budget=self.budget, frame_tokens=self.frame_tokens, max_frames=self.max_frames, reserve=self.reserve
        )


TRAINING_DEFAULTS: Final = TrainingOptions()
