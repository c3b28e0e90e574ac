"""Turns, and their three kinds of sequences: chain, path and dialogue."""

from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import ChainKey, ClipKey, DialogueKey, Index, Name, PathKey, Record, Seconds, VideoKey


class ChecklistItem(Record):
    """One yes/no question that a judge answers about a model's answer (MT-Video-Bench)."""

    question: str
    expected: bool
    """True if a good answer gets *Yes*."""


class Checklist(Record):
    """The yes/no questions by which one turn is judged."""

    items: tuple[ChecklistItem, ...]


class RubricItem(Record):
    """One fact of a right answer."""

    says: Annotated[str, Field(min_length=1)]
    """The fact in words, such as `the living room`."""
    tags: tuple[Name, ...] = ()
    """CogME's targets and contents that the fact covers; empty for all of the question."""
    points: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class TurnRubric(Record):
    """Partial credit for an open answer."""

    items: Annotated[tuple[RubricItem, ...], Field(min_length=1)]


KeyType = Literal[
    "room", "object", "place", "colour", "state", "count", "seconds", "comparison", "yes_no", "order", "action",
    "person", "refusal", "feeling", "utterance", "reply", "daytime", "size",
]  # fmt: skip
"""The type of the answer."""


class AnswerKey(Record):
    """The answer of a question by its graph, as values that a judge compares without a model.

    A thing or room is written as its class in the graph, without the number at the end (`mug`, `livingroom`). An act is
    written as its event: action, object and targets, joined by `|` (`put|mug|coffeetable`).
    """

    type: KeyType
    values: Annotated[tuple[Name, ...], Field(min_length=1)]
    """All values of a right answer: classes, acts, a number in digits, or one of a type's own words.

    `room`, `object`, `place`: classes; a right answer names all of them. `colour`: a word. `state`: `on`, `off`,
    `open`, `closed`, `sitting`, `lying`, `standing`. `count`, `seconds`: a number. `comparison`: `more`, `fewer`, `as
    many`. `yes_no`: `yes` or `no`. `order`, `action`: an act. `person`: a name, or a word such as `man`.
    `feeling`: `happy`, `sad`, `angry`, `surprised`, `calm`. `utterance`: the words that are said. `reply`: `accept` or
    `refuse`. `daytime`: `day` or `evening`. `size`: `small` or `large`. `refusal`: `absent` for
    things that are not in the video, `unknown` for facts that it does not show."""
    also: tuple[Name, ...] = ()
    """Values of the same type, each of which is right in place of `values`. For `person`, looks that fit nobody else,
    such as `red shirt`."""
    among: tuple[Name, ...] = ()
    """Wrong values that could be confused with the right one: the other choices, or other things in the video."""
    about: tuple[Name, ...] = ()
    """Classes or acts that the question takes for granted. The first is the one that a pronoun in the answer means. For
    `yes_no` the act that `yes` confirms; for `refusal` the absent thing, or the act that does not happen."""
    agent: tuple[Name, ...] = ()
    """Who does the act of the answer, or whom the question is about: the name, the pronoun (`he`, `she`), and looks
    that fit nobody else. For `refusal` who does not do the act."""
    receiver: tuple[Name, ...] = ()
    """To whom the act is done, given or said, as in `agent`."""
    others: tuple[Name, ...] = ()
    """Names and looks of the other people in the video."""
    looks: tuple[Name, ...] = ()
    """Colour and size of the thing of the answer; for `refusal` those that the thing of the act does not have."""
    instead: tuple[Name, ...] = ()
    """For `refusal`: what is shown in place of the act: another act, then who does it, as in `agent`."""
    relation: Literal["in", "on"] | None = None
    """For `place`: the relation of the thing to the place."""
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """For `seconds`: largest error of a right answer."""


class Turn(Record):
    """One question asked at a moment of a video."""

    question: str
    references: tuple[str, ...] = ()
    """Reference answers, the preferred one first; empty if the source withholds them."""
    position: Annotated[int, Field(ge=0)] | None = None
    """Place in the whole dialogue, from 0, if it differs from the turn's index because earlier turns are unknown."""
    asked_at_s: Seconds | None = None
    """The moment of the question. Models see only frames with a presentation time at or before it."""
    evidence: tuple[Interval, ...] = ()
    """Intervals of the video that show the answer."""
    options: tuple[str, ...] | None = None
    """The choices of a multiple-choice question, in the source's order."""
    correct_option: Index | None = None
    """Index into `options`, from 0."""
    labels: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Labels by vocabulary; `schema.labels.VOCABULARIES` lists the known ones."""
    checklist: Checklist | None = None
    rubric: TurnRubric | None = None
    key: AnswerKey | None = None
    """The answer as values; None without a graph."""

    @model_validator(mode="after")
    def _correct_option_exists(self) -> Self:
        if self.correct_option is not None and self.correct_option >= len(self.options or ()):
            raise ValueError(f"correct_option is {self.correct_option} but there are {len(self.options or ())} options")
        return self


REWORDING: Final = ("question", "references", "options", "correct_option")
"""Fields that make a turn another question if they change. Times and clips do not."""
MADE_FOR_WORDING: Final = ("checklist", "rubric", "key")
"""Fields that are valid for one wording of a question and its reference only."""
KNOWN_ANSWER: Final = "answer_key"
REFERS_TO: Final = "refers_to"
"""Key of a turn's `extra`: the thing or event that its *it* or *that* means; None for a turn without one."""
SPEAKS_OF: Final = "speaks_of"
"""Key of a turn's `extra`: the things and events that *it* or *that* may mean in the next turn."""
GRAPH_FACTS: Final = (
    "kind", "form", "answer_type", KNOWN_ANSWER, "params", "shows", "rests_on", REFERS_TO, SPEAKS_OF,
)  # fmt: skip
"""Keys of `extra` for the fact behind a question that a graph wrote."""


def without_facts(turn: Turn) -> Turn:
    """A turn without the fields made for its old wording, after its question, references or options changed."""
    extra = turn.extra
    if KNOWN_ANSWER in extra:
        extra = {name: fact for name, fact in extra.items() if name not in GRAPH_FACTS}
    return turn.model_copy(update={"extra": extra, **dict.fromkeys(MADE_FOR_WORDING)})


class TurnRef(BaseModel):
    """Points at one turn of a chain or a dialogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    unit: Literal["chain", "dialogue"] = "chain"
    unit_id: Name
    turn_index: Index
    """From 0."""


class QAChain(Record):
    """Questions about one clip; each one builds on the answer before it (SVBench)."""

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
    """The wording of the turn on this path, if it differs from the chain's."""


class DialoguePath(Record):
    """A walk along chains and linkages through one video. It never steps back in time (SVBench)."""

    id: PathKey
    video_id: VideoKey
    steps: tuple[PathStep, ...]


class Dialogue(Record):
    """Turns from anywhere in a video: a VDAct dialogue, a cross-scene dialogue, a single question."""

    id: DialogueKey
    video_id: VideoKey
    clip_ids: tuple[ClipKey, ...] = ()
    task: Name | None = None
    turns: tuple[Turn, ...]
