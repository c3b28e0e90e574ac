"""The answers of models."""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.dialogue import AnswerKey, Checklist, Turn, TurnRubric
from reeltalk.schema.record import Index, Name, Record, Seconds, VideoKey

UnitKind = Literal["chain", "path", "dialogue"]
"""The unit of playing and judging."""
NOT_IN_SOURCE: Final = "the source holds no answer to this turn"
"""The reason of a turn whose answer a file lacks."""
SAYS_NONE: Final = "the file says that there is no answer"
NO_ANSWER_IN_SOURCE: Final = (NOT_IN_SOURCE, SAYS_NONE)
"""Reasons of turns that are missing, and did not fail."""
NO_REFERENCE: Final = "the benchmark holds no reference to this turn"


def item_id(unit_id: str, position: int) -> str:
    """The name of a turn in a run: its dialogue, chain or path, and its position from 1, as `d-1/03`."""
    return f"{unit_id}/{position + 1:02d}"


class AnswerState(StrEnum):
    """Whether there is an answer to judge."""

    ANSWERED = "answered"
    NOT_ASKED = "not_asked"
    """The protocol skips this turn; MT-Video-Bench writes a placeholder sentence there."""
    NOT_SCORED = "not_scored"
    """The protocol skips this turn too, but the model was asked, so that its own answer is in the history. A `reason`
    says that it gave none."""
    FAILED = "failed"
    """The model or its server failed. Scored 0 if the published protocol says so; never shown to a judge."""

    @property
    def is_due(self) -> bool:
        """True if the protocol requires a scored answer, whether there is one or not."""
        return self not in (AnswerState.NOT_ASKED, AnswerState.NOT_SCORED)


Outcome = Literal["answered", "empty", "failed", "missing", "not_due"]
"""What became of a turn. Empty: the model answered without a word. Missing: the source holds no answer. Not due: the
protocol asks for no answer that is scored."""


class Answer(Record):
    """One model's answer to one turn."""

    model: Name
    unit: UnitKind = "dialogue"
    unit_id: Name
    turn_index: Index
    """From 0."""
    text: str
    state: AnswerState = AnswerState.ANSWERED
    asked_as: str | None = None
    """The question in this model's source, if it differs from the benchmark's."""
    referred_to: tuple[str, ...] | None = None
    """The references in this model's source, if they differ from the benchmark's."""


class PlayDetails(BaseModel):
    """Frames, times and tokens of an answer, if reeltalk played the dialogue."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    frames_s: tuple[Seconds, ...] = ()
    """Presentation times of all frames that the model could see at this turn, in order; none after the question."""
    film: str | None = None
    """The first digits of the SHA-256 of the file that the frames are of."""
    new_frames: Annotated[int, Field(ge=0)] = 0
    """Number of frames that it had not seen at the turn before."""
    took_s: Seconds | None = None
    """Seconds from the request that succeeded to the end of its reply."""
    first_token_s: Seconds | None = None
    """Seconds to the first token, if replies are streamed."""
    prompt_tokens: Annotated[int, Field(ge=0)] | None = None
    completion_tokens: Annotated[int, Field(ge=0)] | None = None
    memory_bytes: Annotated[int, Field(ge=0)] | None = None
    """Size of the model's cache of keys and values when it answered, if it is known."""
    cut_off: bool = False
    """True if the answer ended at the longest reply that was allowed."""
    cached: bool = False
    """True if the reply was kept from an earlier run."""
    served_model: str | None = None
    """Name of the model that the server reported with the reply; None if no server was asked."""
    served_host: str | None = None
    """Host of the server's address."""
    served_dialect: str | None = None
    """Differences of what was sent to the server from the full request, in words; None if there are none."""
    cut_at: Annotated[int, Field(ge=0)] | None = None
    """Characters after which the answer was cut, since the server sent far more than was asked for; None if it was
    not."""
    corrupted: bool = False
    """True if later turns saw a wrong answer in place of this one."""
    option_order: tuple[int, ...] | None = None
    """Order in which the options were shown, by their index in the benchmark; None without options."""


class AnsweredTurn(Record):
    """An answer with its question and references: one line of a run, sufficient for every text metric."""

    model: Name
    item_id: Name
    """Identifier of the turn, unique within a play of a model and the same for all models."""
    video_id: VideoKey
    unit_id: Name
    """The chain, path or dialogue."""
    turn_index: Index
    epoch: Index = 0
    """Number of the play, from 0, if the dialogues were played several times."""
    question: str
    references: tuple[str, ...]
    text: str
    state: AnswerState = AnswerState.ANSWERED
    labels: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    unit: UnitKind = "dialogue"
    task: Name | None = None
    reason: str | None = None
    """Why there is no answer."""
    repeats: tuple[str, ...] = ()
    """Answers of other rows of the source with the same identifier, in order. `text` is the first; an official script
    may take the last."""
    asked_at_s: Seconds | None = None
    """The moment of the question; None if it is asked after the video."""
    options: tuple[str, ...] | None = None
    correct_option: Index | None = None
    checklist: Checklist | None = None
    rubric: TurnRubric | None = None
    key: AnswerKey | None = None
    played: PlayDetails | None = None

    @property
    def outcome(self) -> Outcome:
        """What became of the turn, for every count of a run."""
        if not self.state.is_due:
            return "not_due"
        if self.state is AnswerState.FAILED:
            return "missing" if self.reason in NO_ANSWER_IN_SOURCE else "failed"
        return "answered" if self.text.strip() else "empty"

    @property
    def has_failed(self) -> bool:
        """True if the model was asked and gave no answer, whether or not the answer would be scored."""
        return self.state is AnswerState.FAILED or (self.state is AnswerState.NOT_SCORED and self.reason is not None)


def turn_counts(turns: Iterable[AnsweredTurn]) -> dict[Outcome, int]:
    """The ledger of one model: number of turns by what became of them."""
    return dict(Counter(turn.outcome for turn in turns))


def right_answer(turn: Turn | AnsweredTurn) -> str | None:
    """The right option if there are options, else the first reference; None if the benchmark withholds it."""
    if turn.options and turn.correct_option is not None:
        return turn.options[turn.correct_option]
    return turn.references[0] if turn.references else None
