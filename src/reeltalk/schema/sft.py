"""Samples for supervised fine-tuning: frames of a video with turns between them, as a streaming model is taught.

The layout is StreamingChat's (SVBench, arXiv 2502.10810): frames of a segment, then its questions and answers, then the
frames of the next segment. A frame stands before the question that it is the first to be seen at, so no question can
see beyond its own moment. Loss falls on answers of `turns` only; `carried` turns are told as text.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.record import Name, Record, Seconds, VideoKey

PLACEHOLDER: Final = "<image>"
"""Stands for one frame in a text, replaced from left to right."""
RESERVED: Final = (PLACEHOLDER, "<video>", "<audio>", "<img>", "</img>", "<IMG_CONTEXT>")
"""Words that trainers replace or count in texts. A question or answer must not contain them."""
CARRIED_TITLE: Final = "Earlier in this conversation:"
"""First line of the text that tells carried turns."""

FRAME_MARKS: Final = 3
"""Tokens around a frame's own: InternVL writes `<img>`, `</img>` and a line feed."""
MESSAGE_MARKS: Final = 8
"""Tokens that a chat template adds to a message, at most: ChatML adds 5."""

TokenCounter = Callable[[str], int]
"""Tokens of a text, without special ones."""
SampleText = Annotated[str, Field(min_length=1)]


def reserved_in(text: str) -> str | None:
    """The first of `RESERVED` that stands in a text, or None."""
    return next((word for word in RESERVED if word in text), None)


def escape_reserved(text: str) -> str:
    """The text with spaces inside every word of `RESERVED`: `<image>` becomes `< image >`."""
    for word in RESERVED:
        text = text.replace(word, f"{word[0]} {word[1:-1]} {word[-1]}")
    return text


class TrainingFrame(BaseModel):
    """One frame that is shown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    file: Annotated[str, Field(min_length=1)]
    """Path of the picture, relative to the root of the data set, with forward slashes."""
    at_s: Seconds | None = None
    """Its moment in the video, if it is known."""


class CarriedTurn(BaseModel):
    """A turn of an earlier part of the same conversation, told as text; no loss falls on it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: SampleText
    answer: SampleText


class TrainingTurn(BaseModel):
    """Frames that are new, then a question, then the answer that is learnt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frames: tuple[TrainingFrame, ...] = ()
    """Shown after the turn before and before this question, in the order of time."""
    question: SampleText
    answer: SampleText
    asked_at_s: Seconds | None = None
    """The moment of the question, if it is known; no frame up to here is later."""


class TrainingMessage(BaseModel):
    """One message of a sample as a chat template takes it: texts and frames in their order."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Name
    """`user` or `assistant`."""
    parts: tuple[str | TrainingFrame, ...]

    @property
    def text(self) -> str:
        """The message as one text, a frame as `<image>` and a line feed."""
        return "".join(part if isinstance(part, str) else f"{PLACEHOLDER}\n" for part in self.parts)


class TrainingSample(Record):
    """One sequence that is trained on."""

    id: Name
    video_id: VideoKey | None = None
    carried: tuple[CarriedTurn, ...] = ()
    """Turns before this part of a conversation, told as text at its beginning."""
    turns: Annotated[tuple[TrainingTurn, ...], Field(min_length=1)]

    @property
    def frames(self) -> tuple[TrainingFrame, ...]:
        """All frames in the order in which they are shown; placeholders stand for them from left to right."""
        return tuple(frame for turn in self.turns for frame in turn.frames)

    @model_validator(mode="after")
    def _trains_no_placeholder_and_sees_no_future(self) -> Self:
        texts = [(f"carried[{index}]", told.question, told.answer) for index, told in enumerate(self.carried)]
        texts += [(f"turns[{index}]", turn.question, turn.answer) for index, turn in enumerate(self.turns)]
        for where, question, answer in texts:
            for name, text in (("question", question), ("answer", answer)):
                word = reserved_in(text)
                if word is not None:
                    raise ValueError(f"{where}.{name} holds {word}, which stands for a frame")
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
        """User and assistant by turns, beginning with the user; carried turns are text of the first message."""
        for index, turn in enumerate(self.turns):
            told = carried_text(self.carried) if index == 0 else ""
            parts = ((told,) if told else ()) + turn.frames + (turn.question,)
            yield TrainingMessage(role="user", parts=parts)
            yield TrainingMessage(role="assistant", parts=(turn.answer,))


def carried_text(turns: tuple[CarriedTurn, ...]) -> str:
    """Carried turns as they are told, with an empty line after them; empty if there are none."""
    if not turns:
        return ""
    lines = [line for turn in turns for line in (f"Question: {turn.question}", f"Answer: {turn.answer}")]
    return "\n".join([CARRIED_TITLE, *lines]) + "\n\n"


class SampleLimits(BaseModel):
    """What a sequence may hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget: Annotated[int, Field(ge=1)] = 32768
    """Tokens of a sequence, frames and text."""
    frame_tokens: Annotated[int, Field(ge=1)] = 256
    """Tokens of one frame; `FRAME_MARKS` come on top."""
    max_frames: Annotated[int, Field(ge=1)] = 100
    reserve: Annotated[int, Field(ge=0)] = 128
    """Tokens kept free for a system message."""

    @property
    def per_frame(self) -> int:
        """Tokens of a frame with what stands around it."""
        return self.frame_tokens + FRAME_MARKS


def text_tokens(turn: TrainingTurn, count: TokenCounter) -> int:
    """Tokens of a turn without its frames."""
    return count(turn.question) + count(turn.answer) + 2 * MESSAGE_MARKS


def sample_tokens(sample: TrainingSample, limits: SampleLimits, count: TokenCounter) -> int:
    """Tokens of a sample: frames, texts, and what a chat template adds.

    Args:
        sample: The sample.
        limits: Say what a frame costs and what is kept free.
        count: Counts the tokens of a text.
    """
    told = carried_text(sample.carried)
    text = sum(text_tokens(turn, count) for turn in sample.turns) + (count(told) if told else 0)
    return limits.reserve + text + len(sample.frames) * limits.per_frame


def most_tokens(text: str) -> int:
    """No tokenizer of bytes or word pieces makes more tokens of a text than it has bytes in UTF-8.

    Several times what a tokenizer counts for English: what holds by this bound holds for certain.
    """
    return len(text.encode())


class LoraSettings(BaseModel):
    """How an adapter is trained; defaults follow SVBench's StreamingChat where that is published."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    rank: Annotated[int, Field(ge=1, le=4096)] = 16
    """Of the adapters; alpha is twice that."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Before each adapter."""
    train_projector: bool = True
    """Train the way from vision encoder to language model, too."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 4e-5
    """At its highest, after the warm-up."""
    warmup: Annotated[float, Field(ge=0, lt=1)] = 0.03
    """Share of all steps in which the learning rate rises; then it falls as half a cosine, to zero."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Of AdamW."""
    clip: Annotated[float, Field(gt=0)] = 1.0
    """Longest gradient."""
    epochs: Annotated[float, Field(gt=0, le=10_000)] = 1.0
    """Passes over the samples."""
    max_steps: Annotated[int, Field(ge=0)] | None = None
    """Steps in place of passes; 0 writes an adapter that changes nothing, to measure what was before."""
    accumulate: Annotated[int, Field(ge=1)] = 16
    """Samples a process adds up before a step."""
    system: str | None = None
    """System message before every sample; give the one that the model will be asked with."""
    frame_tokens: Annotated[int, Field(ge=1)] = 256
    """Most image tokens of a frame."""
    max_tokens: Annotated[int, Field(ge=16)] = 32_768
    """Most tokens of a sample."""
    over_budget: Literal["refuse", "skip"] = "refuse"
    """What becomes of a longer sample: an error before anything is trained, or it is left out and counted."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Of computing and of frozen weights; what is trained stays float32."""
    gradient_checkpointing: bool = False
    """Compute activations anew in place of keeping them: less memory, a third more time."""
    save_every: Annotated[int, Field(ge=1)] = 100
    """Steps between checkpoints."""
    seed: Annotated[int, Field(ge=0)] = 17
    """Decides the adapters' first weights, the order of samples and what dropout drops."""
