"""Turns, and the three ways in which they belong together: a chain, a path, a dialogue."""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.ids import ChainKey, ClipKey, DialogueKey, PathKey, VideoKey
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Name, Record, Seconds


class ChecklistItem(Record):
    """One yes/no question that a judge answers about a model's answer (MT-Video-Bench)."""

    question: str
    expected: bool
    """True if a good answer gets *Yes*."""


class Checklist(Record):
    """The yes/no questions by which one turn is judged."""

    items: tuple[ChecklistItem, ...]


class RubricItem(Record):
    """One thing that a right answer says."""

    says: Annotated[str, Field(min_length=1)]
    """In words, as `the living room`."""
    tags: tuple[Name, ...] = ()
    """CogME's targets and contents that it shows; none if it shows all that the question has."""
    points: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class TurnRubric(Record):
    """What an open answer earns, part by part, where right or wrong would be too coarse."""

    items: Annotated[tuple[RubricItem, ...], Field(min_length=1)]


KeyType = Literal[
    "room", "object", "place", "colour", "state", "count", "seconds", "comparison", "yes_no", "order", "action",
    "person", "refusal",
]  # fmt: skip
"""What kind of answer a question asks for."""


class AnswerKey(Record):
    """The answer that a question has by its graph, as values that a judge can compare without a model.

    A thing or a room is its class in the graph, without the number at the end (`mug`, `livingroom`). An act is its
    event: action, object and targets, joined by `|` (`put|mug|coffeetable`).
    """

    type: KeyType
    values: Annotated[tuple[Name, ...], Field(min_length=1)]
    """What a right answer says, all of it: classes, acts, a number in digits, or one of a type's own words.

    `room`, `object`, `place`: classes, of several an answer names all. `colour`: a word. `state`: `on`, `off`, `open`,
    `closed`, `sitting`, `lying`, `standing`. `count`, `seconds`: a number. `comparison`: `more`, `fewer`, `as many`.
    `yes_no`: `yes` or `no`. `order`, `action`: an act. `person`: a word, as `man`. `refusal`: `absent` for what the
    video does not hold, `unknown` for what it cannot tell."""
    also: tuple[Name, ...] = ()
    """Values of the same type, each of which is right in place of `values`."""
    among: tuple[Name, ...] = ()
    """Wrong values with which the right one can be confused: the rest of the choices, or what else the video holds."""
    about: tuple[Name, ...] = ()
    """Classes or acts that the question takes for granted, the one that a pronoun in the answer means first. For
    `yes_no` the act that `yes` affirms; for `refusal` the thing that is not there."""
    relation: Literal["in", "on"] | None = None
    """For `place`: how the thing lies there."""
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """For `seconds`: how far an answer may be off."""


class Turn(Record):
    """One question asked at a moment of a video."""

    question: str
    references: tuple[str, ...] = ()
    """Reference answers, the preferred one first; empty if the source withholds them."""
    position: Annotated[int, Field(ge=0)] | None = None
    """Place in the whole dialogue, from 0, if it is not the turn's index because turns before it are unknown."""
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
    key: AnswerKey | None = None
    """The answer as values; None if no graph has it."""

    @model_validator(mode="after")
    def _correct_option_exists(self) -> Self:
        if self.correct_option is not None and self.correct_option >= len(self.options or ()):
            raise ValueError(f"correct_option is {self.correct_option} but there are {len(self.options or ())} options")
        return self


REWORDING: Final = ("question", "references", "options", "correct_option")
"""Fields of a turn whose change makes another question of it, as opposed to when and if it is asked."""
MADE_FOR_WORDING: Final = ("checklist", "rubric", "key")
"""Fields that were made for one question and reference of a turn, and say nothing about others."""
KNOWN_ANSWER: Final = "answer_key"
REFERS_TO: Final = "refers_to"
"""In a turn's `extra`: the thing or event that its *it* or *that* means; None if it names all that it asks about."""
SPEAKS_OF: Final = "speaks_of"
"""In a turn's `extra`: the things and events that *it* or *that* may mean in the turn after."""
GRAPH_FACTS: Final = (
    "kind", "form", "answer_type", KNOWN_ANSWER, "params", "shows", "rests_on", REFERS_TO, SPEAKS_OF,
)  # fmt: skip
"""What a turn that a graph wrote says in `extra` about the fact that it asks for."""


def without_facts(turn: Turn) -> Turn:
    """A turn without what was made for its old wording: for one whose question, references or options were changed."""
    extra = turn.extra
    if KNOWN_ANSWER in extra:
        extra = {name: fact for name, fact in extra.items() if name not in GRAPH_FACTS}
    return turn.model_copy(update={"extra": extra, **dict.fromkeys(MADE_FOR_WORDING)})


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
    """One of `Relation`, or the source's own word if it is none of the six."""


class PathStep(Record):
    """One turn of a dialogue path."""

    ref: TurnRef
    turn: Turn | None = None
    """The turn as it is worded on this path, if that differs from the chain's own wording."""


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
