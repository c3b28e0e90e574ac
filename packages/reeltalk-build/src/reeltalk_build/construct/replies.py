"""Types of a model's replies, one for each prompt.

Field names are those in the prompts, SVBench's own where it has some. An extra field is ignored; a missing field or a
value out of range makes the reply unusable.

The docstrings of the classes are descriptions in the JSON schema that the model receives, and so part of the key under
which a reply is cached: change one only if replies should be asked for again.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from reeltalk.schema.labels import Content, QuestionType, Target, Task, Thinking
from reeltalk.schema.texts import refusal


def _readable(text: str) -> str:
    if found := refusal(text):
        # A control character is usually a broken escape, as `\f` from `\frac`; the meaning is lost.
        raise ValueError(found)
    return text


ReadableText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_readable)]
"""Text that is not empty, has no control characters and nowhere reverses the direction of writing."""
Percent = Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
YesNo = Literal["Yes", "No"]
About = Literal["video", "topic", "chat"]

CHAIN_TURNS = (5, 6)
"""Fewest and most questions of a chain (SVBench)."""
ROUNDS = (5, 8)
"""Fewest and most rounds of a dialogue (MT-Video-Bench)."""
CHECKLIST_ITEMS = 5
"""Items of a checklist (MT-Video-Bench, second version)."""


class Ability(StrEnum):
    """What a round of a dialogue tests, in the words of MT-Video-Bench's files: six tasks, two basic capabilities."""

    OBJECT_REFERENCE = "Object Reference"
    MEMORY_RECALL = "Memory Recall"
    CONTENT_SUMMARY = "Summary"
    ANSWER_REFUSAL = "Answer Refusal"
    TOPIC_SHIFTING = "Topic Shifting"
    PROACTIVE_INTERACTION = "Proactive Interaction"
    SCENE_UNDERSTANDING = "Scene Understanding"
    SCENE_REASONING = "Scene Reasoning"

    @property
    def task(self) -> Task | None:
        """The task of that name, or None for a basic capability."""
        return Task.__members__.get(self.name)


class ReplyType(BaseModel):
    """The root of all reply types."""

    # Some servers enforce a schema only if it forbids other fields; an extra field is no reason to ask again.
    model_config = ConfigDict(frozen=True, extra="ignore", json_schema_extra={"additionalProperties": False})


Verdict = Literal["supported", "contradicted", "cannot tell"]


class TurnCheck(ReplyType):
    """What a judge finds about one turn, draft or caption. The verdict comes last."""

    number: Annotated[int, Field(ge=1)]
    seen: ReadableText
    """What the video shows about it."""
    at_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    """The moment that shows it, in seconds of the video; null if no moment does."""
    faults: tuple[ReadableText, ...]
    """Everything else that is wrong with it."""
    verdict: Verdict


class ChainTurnReply(ReplyType):
    """One question of a chain with its answer, and the seconds of the video that show the answer."""

    question: ReadableText
    answer: ReadableText
    start_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    end_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ChainReply(ReplyType):
    """A chain of questions with answers and evidence."""

    turns: Annotated[tuple[ChainTurnReply, ...], Field(min_length=CHAIN_TURNS[0], max_length=CHAIN_TURNS[1])]


class QualityReply(ReplyType):
    """A check of every turn of a chain; then how good the chain is, by SVBench's seven dimensions and as a whole."""

    turns: tuple[TurnCheck, ...]
    reasons: tuple[ReadableText, ...]
    accuracy: Percent
    completeness: Percent
    relevance: Percent
    fluency: Percent
    contextual_comprehension: Percent
    logical_consistency: Percent
    temporal_understanding: Percent
    overall: Percent
    """A separate judgement, not a mean."""

    @property
    def dimensions(self) -> dict[str, float]:
        """The seven dimensions by name."""
        return self.model_dump(exclude={"turns", "reasons", "overall"})


class PairReply(ReplyType):
    """Two related questions, by their numbers in their chains."""

    before: int
    after: int
    shared: ReadableText
    """What both are about, in the words of the turns; SVBench's own prompt does not ask for it."""
    reason: ReadableText
    relation: ReadableText


class LinkageReply(ReplyType):
    """Pairs of related questions of two chains."""

    pairs: tuple[PairReply, ...]


class DraftReply(ReplyType):
    """One way to reword the later turn of a linkage."""

    linkage: int
    """Number of the linkage in the prompt."""
    method: ReadableText
    question: ReadableText
    answer: ReadableText


class RewriteReply(ReplyType):
    """Drafts for some linkages."""

    drafts: Annotated[tuple[DraftReply, ...], Field(min_length=1)]


class RewriteCheckReply(ReplyType):
    """What a judge finds about drafts, one entry for each."""

    checks: tuple[TurnCheck, ...]


class LandingReply(ReplyType):
    """Whether questions stand where a path skips the turns before them."""

    number: Annotated[int, Field(ge=1)]
    reason: ReadableText
    stands: YesNo


class StandingReply(ReplyType):
    """The decisions on all landings, in their order."""

    landings: tuple[LandingReply, ...]


class CaptionReply(ReplyType):
    """A description of a clip or an object."""

    caption: ReadableText


class MergeReply(ReplyType):
    """Whether two neighbouring parts are one scene."""

    reason: str
    same_scene: bool


class TaskRating(ReplyType):
    """How well a scene suits one task, 1 to 6."""

    task: Task
    reason: str
    score: Annotated[int, Field(ge=1, le=6)]


class SuitabilityReply(ReplyType):
    """How well a scene suits each task."""

    tasks: Annotated[tuple[TaskRating, ...], Field(min_length=len(Task), max_length=len(Task))]

    @model_validator(mode="after")
    def _rates_each_task_once(self) -> Self:
        if missing := [task.value for task in Task if task not in {rating.task for rating in self.tasks}]:
            raise ValueError(f"each task is rated once; {', '.join(missing)} is missing")
        return self


class RoundReply(ReplyType):
    """One round of a dialogue."""

    user: ReadableText
    assistant: ReadableText
    start_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Where the part of the video begins that shows the answer, in seconds; null if no part does."""
    end_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Where it ends."""
    ability: Ability
    about: About
    """`topic`: a subject outside the video; `chat`: a remark without a request."""

    @model_validator(mode="after")
    def _part_has_two_ends(self) -> Self:
        if (self.start_s is None) != (self.end_s is None):
            raise ValueError("give both start_s and end_s, or null for both")
        if self.start_s is not None and self.end_s is not None and self.end_s < self.start_s:
            raise ValueError(f"end_s {self.end_s:g} is before start_s {self.start_s:g}")
        return self


class DialogueReply(ReplyType):
    """A dialogue."""

    rounds: Annotated[tuple[RoundReply, ...], Field(min_length=ROUNDS[0], max_length=ROUNDS[1])]


class DialogueCheckReply(ReplyType):
    """What a judge finds about a dialogue, round by round and as a whole."""

    checks: tuple[TurnCheck, ...]
    task_reasons: tuple[ReadableText, ...]
    """What the dialogue does for its task, and what it lacks."""
    does_task: YesNo


class ItemReply(ReplyType):
    """One item of a checklist."""

    question: ReadableText
    expected: YesNo


class ChecklistReply(ReplyType):
    """Five items, of which one expects No."""

    items: Annotated[tuple[ItemReply, ...], Field(min_length=CHECKLIST_ITEMS, max_length=CHECKLIST_ITEMS)]

    @model_validator(mode="after")
    def _one_is_turned_round(self) -> Self:
        no = sum(item.expected == "No" for item in self.items)
        if no != 1:
            raise ValueError(f"exactly one item must expect No, not {no}")
        return self


WRONG_ANSWERS = 3
"""Wrong answers that a checklist is tried on."""


class WrongForRound(ReplyType):
    """Wrong answers to the question of one round, each of another kind."""

    number: Annotated[int, Field(ge=1)]
    answers: Annotated[tuple[ReadableText, ...], Field(min_length=WRONG_ANSWERS, max_length=WRONG_ANSWERS)]


class WrongAnswersReply(ReplyType):
    """Wrong answers to some rounds of a dialogue."""

    rounds: tuple[WrongForRound, ...]


class TriedAnswer(ReplyType):
    """The items of a checklist, applied to one answer."""

    letter: Literal["A", "B", "C", "D"]
    says: ReadableText
    """What the answer says."""
    items: Annotated[tuple[YesNo, ...], Field(min_length=CHECKLIST_ITEMS, max_length=CHECKLIST_ITEMS)]


class TrialReply(ReplyType):
    """The items of a checklist, applied to the right answer and to the wrong ones."""

    answers: Annotated[tuple[TriedAnswer, ...], Field(min_length=1 + WRONG_ANSWERS, max_length=1 + WRONG_ANSWERS)]

    @model_validator(mode="after")
    def _each_answer_once(self) -> Self:
        if (letters := [answer.letter for answer in self.answers]) != ["A", "B", "C", "D"]:
            raise ValueError(f"the answers A, B, C and D stand once each in this order, not {', '.join(letters)}")
        return self


class TagReply(ReplyType):
    """CogME's tags and VDAct's question types of one turn."""

    target: Annotated[tuple[Target, ...], Field(min_length=1, max_length=3)]
    content: Annotated[tuple[Content, ...], Field(min_length=1, max_length=3)]
    thinking: Thinking
    types: Annotated[tuple[QuestionType, ...], Field(min_length=1)]


class TagsReply(ReplyType):
    """Tags of some turns, in their order."""

    tags: tuple[TagReply, ...]


class RubricPart(ReplyType):
    """One thing that an answer says."""

    says: ReadableText
    tags: tuple[str, ...] = ()
    points: Annotated[int, Field(ge=1, le=3)] = 1


class RubricReply(ReplyType):
    """An answer taken apart."""

    items: Annotated[tuple[RubricPart, ...], Field(min_length=1, max_length=8)]


class PairVerdict(ReplyType):
    """Whether the answer of one pair says the same as its reference."""

    number: Annotated[int, Field(ge=1)]
    reason: ReadableText
    same: bool


class EquivalenceReply(ReplyType):
    """Verdicts on pairs of answers, one for each."""

    pairs: tuple[PairVerdict, ...]
