"""Samples for supervised fine-tuning of a streaming model, and the settings of an adapter that is trained on them.

A sample is a sequence of video frames with turns between them.

The layout is StreamingChat's (SVBench, arXiv 2502.10810): frames of a segment, then its questions and answers, then the
frames of the next segment. Each frame is before the first question that may see it, so no question sees
beyond its own moment. Only answers are in the loss.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.errors import SettingError
from reeltalk.schema.record import Name, Record, Seconds, VideoKey
from reeltalk.schema.settings import Settings

PLACEHOLDER: Final = "<image>"
"""Placeholder of one frame in a text. Placeholders are replaced from left to right."""
RESERVED: Final = (PLACEHOLDER, "<video>", "<audio>", "<img>", "</img>", "<IMG_CONTEXT>")
"""Words that trainers replace or count in texts. A question or answer must not contain them."""

FRAME_MARKS: Final = 3
"""Tokens around a frame's own: InternVL writes `<img>`, `</img>` and a line feed."""
MESSAGE_MARKS: Final = 8
"""Tokens that a chat template adds to a message, at most: ChatML adds 5."""

TokenCounter = Callable[[str], int]
"""Tokens of a text, without special ones."""
SampleText = Annotated[str, Field(min_length=1)]


def reserved_in(text: str) -> str | None:
    """The first word of `RESERVED` in a text, or None."""
    return next((word for word in RESERVED if word in text), None)


def escape_reserved(text: str) -> str:
    """The text with spaces inside every word of `RESERVED`: `<image>` becomes `< image >`."""
    for word in RESERVED:
        text = text.replace(word, f"{word[0]} {word[1:-1]} {word[-1]}")
    return text


class TrainingFrame(BaseModel):
    """One frame."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[str, Field(min_length=1)]
    """Path of the picture, relative to the root of the data set, with forward slashes."""
    at_s: Seconds | None = None
    """Its time in the video, if known."""


class TrainingTurn(BaseModel):
    """New frames, then a question, then the answer to learn."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frames: tuple[TrainingFrame, ...] = ()
    """Shown after the turn before and before this question, in the order of time."""
    question: SampleText
    answer: SampleText
    asked_at_s: Seconds | None = None
    """The moment of the question, if it is known; no frame up to here is later."""


class TrainingMessage(BaseModel):
    """One message of a sample, as input of a chat template: texts and frames in order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Name
    """`user` or `assistant`."""
    parts: tuple[str | TrainingFrame, ...]

    @property
    def text(self) -> str:
        """The message as one text, with `<image>` and a line feed for each frame."""
        return "".join(part if isinstance(part, str) else f"{PLACEHOLDER}\n" for part in self.parts)


class TrainingSample(Record):
    """One training sequence."""

    id: Name
    video_id: VideoKey | None = None
    turns: Annotated[tuple[TrainingTurn, ...], Field(min_length=1)]

    @property
    def frames(self) -> tuple[TrainingFrame, ...]:
        """All frames in the order in which they are shown; placeholders stand for them from left to right."""
        return tuple(frame for turn in self.turns for frame in turn.frames)

    @model_validator(mode="after")
    def _trains_no_placeholder_and_sees_no_future(self) -> Self:
        for index, turn in enumerate(self.turns):
            for name, text in (("question", turn.question), ("answer", turn.answer)):
                word = reserved_in(text)
                if word is not None:
                    raise ValueError(f"turns[{index}].{name} holds {word}, which stands for a frame")
        shown_s = 0.0
        for index, turn in enumerate(self.turns):
            for frame in turn.frames:
                if frame.at_s is None:
                    continue
                if frame.at_s < shown_s:
                    raise ValueError(f"turns[{index}].frames step back from {shown_s:g} s to {frame.at_s:g} s")
                shown_s = frame.at_s
            if turn.asked_at_s is not None and shown_s > turn.asked_at_s:
                raise ValueError(
                    f"turns[{index}] is asked at {turn.asked_at_s:g} s but a frame of {shown_s:g} s comes before it"
                )
        return self

    def messages(self) -> Iterator[TrainingMessage]:
        """Messages of user and assistant in turn, the user first."""
        for turn in self.turns:
            yield TrainingMessage(role="user", parts=(*turn.frames, turn.question))
            yield TrainingMessage(role="assistant", parts=(turn.answer,))


class SampleLimits(BaseModel):
    """Limits of a sequence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget: Annotated[int, Field(ge=1)] = 32768
    """Tokens of a sequence, frames and text."""
    frame_tokens: Annotated[int, Field(ge=1)] = 256
    """Tokens of one frame, without `FRAME_MARKS`."""
    max_frames: Annotated[int, Field(ge=1)] = 100
    reserve: Annotated[int, Field(ge=0)] = 128
    """Tokens kept free for a system message."""

    @property
    def per_frame(self) -> int:
        """Tokens of a frame, `FRAME_MARKS` included."""
        return self.frame_tokens + FRAME_MARKS


def tokens_of(turns: Iterable[TrainingTurn], limits: SampleLimits, count: TokenCounter) -> int:
    """Tokens of a sample of these turns: frames, texts, and the additions of a chat template.

    Args:
        limits: Tokens per frame, and tokens to keep free.
        count: Counts the tokens of a text.
    """
    tokens = limits.reserve
    for turn in turns:
        tokens += count(turn.question) + count(turn.answer) + 2 * MESSAGE_MARKS + limits.per_frame * len(turn.frames)
    return tokens


def most_tokens(text: str) -> int:
    """An upper bound of the tokens of a text: its bytes in UTF-8.

    No tokenizer of bytes or word pieces makes more tokens. For English the bound is several times the real count.
    """
    return len(text.encode())


class LoraSettings(Settings):
    """Settings of adapter training. Defaults follow SVBench's StreamingChat if they are published."""

    rank: Annotated[int, Field(ge=1, le=4096)] = 16
    """Rank of the adapters; alpha is twice the rank."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Dropout before each adapter."""
    train_projector: bool = True
    """Also train the projector from the vision encoder to the language model."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 4e-5
    """Highest learning rate, at the end of the warm-up."""
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.03
    """Share of all steps in which the learning rate rises; then it falls as half a cosine, to zero."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Weight decay of AdamW."""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """Largest norm of a gradient; longer ones are clipped."""
    epochs: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    """Passes over the samples."""
    max_steps: Annotated[int, Field(ge=0)] | None = None
    """Number of steps, in place of epochs; 0 writes an adapter that changes nothing, to measure the untrained model."""
    accumulate: Annotated[int, Field(ge=1)] = 16
    """Samples per process whose gradients are summed before a step."""
    system: str | None = None
    """System message before every sample; use the same one in evaluation."""
    frame_tokens: Annotated[int, Field(ge=1)] = 256
    """Most image tokens of a frame."""
    max_tokens: Annotated[int, Field(ge=16)] = 32_768
    """Most tokens of a sample."""
    over_budget: Literal["refuse", "skip"] = "refuse"
    """refuse: a longer sample is an error before training begins; skip: it is left out and counted."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Precision of computation and frozen weights; trained weights stay float32."""
    gradient_checkpointing: bool = False
    """Compute activations again instead of storing them: less memory, a third more time."""
    save_every: Annotated[int, Field(ge=1)] = 100
    """Steps between checkpoints."""
    validate_every: Annotated[int, Field(ge=1)] = 100
    """Steps between validations; there is also one after the last step."""
    patience: Annotated[int, Field(ge=1)] | None = None
    """Stop after so many validations in a row without a lower loss; without it, all steps run."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Seed of the adapters' initial weights, the order of samples, and dropout."""


TRAINING_NEEDS: Final[Mapping[str, str]] = {
    "validate_every": "`--validation`",
    "patience": "`--validation`",
    "epochs": "no `--max-steps`",
    "share": "not both `--eye-steps` and `--speech-steps`",
}
"""Options of `train lora` and `world train` that have an effect only with, or without, another one."""


def check_training_options(settings: LoraSettings, *, validates: bool) -> None:
    """Refuse an option of `train lora` that has no effect. Fields with their default value are not looked at.

    Args:
        settings: Settings of the training.
        validates: True if there are dialogues for validation.

    Raises:
        SettingError: An option has no effect.
    """
    start = LoraSettings()
    if settings.patience is not None and not validates:
        raise SettingError("--patience needs --validation, the dialogues whose loss it watches")
    if settings.validate_every != start.validate_every and not validates:
        raise SettingError("--validate-every has no effect without --validation, the dialogues whose loss is measured")
    if settings.epochs != start.epochs and settings.max_steps is not None:
        raise SettingError(
            "--epochs has no effect with --max-steps, which sets the number of steps; leave one of them out"
        )
