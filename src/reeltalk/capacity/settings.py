"""What only the user knows of a capacity plan: videos, servers, people and prices."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.capacity.figures import NonNegative, Positive, Share


class CapacitySettings(BaseModel):
    """What only you know. The defaults are round numbers to replace, save where they name a source."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    videos: Annotated[int, Field(ge=1)] = 1_000_000
    """Videos that are looked at."""
    minutes: Positive = 2.0
    """Mean length of a video."""
    height: Literal[720, 1080] = 720
    """Lines of a picture."""
    mbit_s: Positive = 2.5
    """Mean bit rate of the files."""
    kept: Share = 0.25
    """Share of the videos that pass the filters."""
    turns: Positive = 37.0
    """Turns of a kept video; SVBench has 49,979 about 1,353 videos."""
    turns_a_dialogue: Positive = 4.3
    """Turns that are played one after the other; of SVBench's test set 7,374 in 1,719 chains."""
    frames: Annotated[int, Field(ge=0)] = 120
    """Frames that a model sees of a video."""
    frame_tokens: Positive = 256.0
    """Tokens of a frame."""
    system_tokens: NonNegative = 50.0
    """Tokens of instructions."""
    question_tokens: NonNegative = 20.0
    """Tokens of a question."""
    answer_tokens: NonNegative = 20.0
    """Tokens of an answer."""
    models: Annotated[int, Field(ge=0)] = 1
    """Models that are evaluated."""
    judge_tokens_in: NonNegative = 600.0
    """Tokens that a judge reads for a turn."""
    judge_tokens_out: NonNegative = 100.0
    """Tokens that a judge writes for a turn."""
    writer_tokens_in: NonNegative = 60_000.0
    """Tokens that a writer reads for a kept video; `reeltalk plan construct` says it for yours."""
    writer_tokens_out: NonNegative = 8_000.0
    """Tokens that a writer writes for a kept video."""
    prefill_tokens_s: Positive = 10_000.0
    """Tokens that one of your graphics processors reads in a second."""
    decode_tokens_s: Positive = 1_500.0
    """Tokens that one writes in a second, all requests together."""
    gpus: Annotated[int, Field(ge=1)] = 8
    """Graphics processors."""
    nodes: Annotated[int, Field(ge=1)] = 4
    """Nodes of a Ray cluster."""
    cores: Annotated[int, Field(ge=1)] = 64
    """Cores of a node."""
    node_gib: Positive = 128.0
    """Memory of a node."""
    turns_a_person_hour: Positive = 60.0
    """Turns that a person reviews in an hour."""
    double: Share = 0.1
    """Share of turns that two people review."""
    core_hour: NonNegative = 0.04
    """Price of an hour of a core."""
    gpu_hour: NonNegative = 2.0
    """Price of an hour of a graphics processor."""
    tb_month: NonNegative = 20.0
    """Price of a month of a terabyte."""
    person_hour: NonNegative = 25.0
    """Price of an hour of a person."""
