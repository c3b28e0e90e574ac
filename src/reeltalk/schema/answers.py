"""What a model answered."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from reeltalk.schema.ids import VideoKey
from reeltalk.schema.record import Name, Record


class AnswerState(StrEnum):
    """Whether there is an answer to judge."""

    ANSWERED = "answered"
    NOT_ASKED = "not_asked"
    """The protocol skips this turn; MT-Video-Bench writes a placeholder sentence there."""
    FAILED = "failed"
    """The model or its server failed. Scored 0 where the published protocol says so, never shown to a judge."""


class Answer(Record):
    """One model's answer to one turn."""

    model: Name
    unit: Literal["chain", "path", "dialogue"] = "dialogue"
    unit_id: Name
    turn_index: Annotated[int, Field(ge=0)]
    """From 0."""
    text: str
    state: AnswerState = AnswerState.ANSWERED
    asked_as: str | None = None
    """The question as this model's source has it, where that differs from the benchmark's wording."""
    referred_to: tuple[str, ...] | None = None
    """The references as this model's source has them, where they differ from the benchmark's."""


class AnsweredTurn(Record):
    """An answer beside its question and references: one line of a run, and all that a text metric needs."""

    model: Name
    item_id: Name
    """Unique within a model: the identifier by which models' answers to the same turn are set side by side."""
    video_id: VideoKey
    unit_id: Name
    """The chain, path or dialogue."""
    turn_index: Annotated[int, Field(ge=0)]
    question: str
    references: tuple[str, ...]
    text: str
    state: AnswerState = AnswerState.ANSWERED
    labels: dict[str, tuple[str, ...]] = Field(default_factory=dict)
