"""Settings of training adapters, which a training run records."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


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
