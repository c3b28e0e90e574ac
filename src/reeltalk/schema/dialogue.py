"""Turns, and the three ways in which they belong together: a chain, a path, a dialogue."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.ids import ChainKey, ClipKey, DialogueKey, PathKey, VideoKey
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Name, Record, Seconds


class ChecklistItem(Record):
    """One yes/no question that a judge answers about a model's answer (MT-Video-Bench)."""

    question: str
    expected: bool
    """True where a good answer gets *Yes*."""


class Checklist(Record):
    """The yes/no questions by which one turn is judged."""

    items: tuple[ChecklistItem, ...]


class RubricItem(Record):
    """One thing that a right answer says."""

    says: Annotated[str, Field(min_length=1)]
    """In words, as `the living room`."""
    tags: tuple[Name, ...] = ()
    """CogME's targets and contents that it shows; none where it shows all that the question has."""
    points: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class TurnRubric(Record):
    """What an open answer earns, part by part, where right or wrong would be too coarse."""

    items: Annotated[tuple[RubricItem, ...], Field(min_length=1)]


class Turn(Record):
    """One question asked at a moment of a video."""

    question: str
    references: tuple[str, ...] = ()
    """Reference answers, the preferred one first; empty where the source withholds them."""
    position: Annotated[int, Field(ge=0)] | None = None
    """Place in the whole dialogue, from 0, where it is not the turn's index because turns before it are unknown."""
    asked_at_s: Seconds | None = None
    """The moment of the question. Whatever a model sees has a presentation time at or before it."""
    evidence: tuple[Interval, ...] = ()
    """Where in the video the answer can be seen."""
    options: tuple[str, ...] | None = None
    """The choices of a multiple-choice question, in the source's order."""
    correct_option: Annotated[int, Field(ge=0)] | None = None
    """Index into `options`, from 0."""
    labels: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Labels by vocabulary; `schema.labels.VOCABULARIES` lists the known ones."""
    checklist: Checklist | None = None
    rubric: TurnRubric | None = None

    @model_validator(mode="after")
    def _correct_option_exists(self) -> Self:
        if self.correct_option is not None and self.correct_option >= len(self.options or ()):
            raise ValueError(f"correct_option is {self.correct_option} but there are {len(self.options or ())} options")
        return self


class TurnRef(BaseModel):
    """Points at one turn of a chain or a dialogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: Literal["chain", "dialogue"] = "chain"
    unit_id: Name
    turn_index: Annotated[int, Field(ge=0)]
    """From 0."""


class QAChain(Record):
    """Questions about one clip, each after the first resting on the answer before it (SVBench)."""

    id: ChainKey
    video_id: VideoKey
    clip_id: ClipKey | None = None
    turns: tuple[Turn, ...]


class Linkage(Record):
    """A relation from a turn to a turn of a later chain of the same video (SVBench)."""

    source: TurnRef
    target: TurnRef
    relation: Name
    """One of `Relation`, or the source's own word where it is none of the six."""


class PathStep(Record):
    """One turn of a dialogue path."""

    ref: TurnRef
    turn: Turn | None = None
    """The turn as it is worded on this path, where that differs from the chain's own wording."""


class DialoguePath(Record):
    """A walk along chains and linkages through one video. It never steps back in time (SVBench)."""

    id: PathKey
    video_id: VideoKey
    steps: tuple[PathStep, ...]


class Dialogue(Record):
    """Turns that belong together wherever they happen: a VDAct dialogue, a cross-scene dialogue, a lone question."""

    id: DialogueKey
    video_id: VideoKey
    clip_ids: tuple[ClipKey, ...] = ()
    task: Name | None = None
    turns: tuple[Turn, ...]
