"""Judging turn by turn: base classes of judges, rows of turns, and what an error does to the turns after it."""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar

from reeltalk.judge.asking import Judgement, our_judge_prompts
from reeltalk.judge.judge import JudgeUnit, score_row, unscored_row
from reeltalk.judge.measures import MeanItem, Measure, mean_measure
from reeltalk.judge.protocol import COMPAT, PER_CENT, MeasurePart, Protocol
from reeltalk.judge.rating import OfficialScriptStopsError
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.prompts import Prompts
from reeltalk.metrics.info import SHORT
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import NO_REFERENCE, JudgedScore, ScoreState

NOBODY: Final = "none"
"""Who judges where no model does."""
GROUPED_BY: Final = ("turn", "question_type")
"""What numbers over turns are broken down by."""


def is_due(turn: AnsweredTurn) -> bool:
    """True for a turn whose answer the protocol scores."""
    return turn.state.is_due


def skip_reason(turn: AnsweredTurn) -> str | None:
    """Why a turn that is due is not shown to a judge, if it is not."""
    if turn.state is AnswerState.FAILED:
        return no_answer_reason(turn)
    if not turn.references:
        return NO_REFERENCE
    return None


def no_answer_reason(turn: AnsweredTurn) -> str:
    """Why a turn has no answer, as it stands in a row.

    Args:
        turn: One that has none.
    """
    return f"the model gave no answer: {turn.reason}" if turn.reason else "the model gave no answer"


def take_last_answers(unit: JudgeUnit) -> JudgeUnit:
    """The unit as an official script sees it that takes the last of several rows with one identifier."""
    last = [turn.model_copy(update={"text": turn.repeats[-1]}) if turn.repeats else turn for turn in unit.turns]
    return dataclasses.replace(unit, turns=tuple(last))


def require_model(judge: str, model: AsyncModel | None) -> AsyncModel:
    """The model that judges.

    Args:
        judge: Name of the protocol.
        model: What `Judge.judge` was given.

    Raises:
        ValueError: There is none.
    """
    if model is None:
        raise ValueError(f"{judge} needs a model to judge")
    return model


def unscored_rows(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    criteria: Iterable[str],
    judge: str,
    reason: str | None,
    *,
    replies: tuple[str, ...] = (),
) -> list[JudgedScore]:
    """The rows of a turn that should have scores and has none."""
    return [unscored_row(unit, criterion, judge, reason or "", turn=turn, replies=replies) for criterion in criteria]


def read_as_official(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    criterion: str,
    judge: str,
    replies: tuple[str, ...],
    read: Callable[[], float],
) -> JudgedScore:
    """The row of a turn's score as an official script reads it.

    Args:
        unit: What is judged.
        turn: Its turn.
        criterion: Name of the row.
        judge: Name of the model.
        replies: What the script would have seen.
        read: Gives the value, or raises `OfficialScriptStopsError`.
    """
    try:
        value = float(read())
    except OfficialScriptStopsError as error:
        why = f"the official script stops here: {error}"
        return unscored_row(unit, criterion, judge, why, turn=turn, replies=replies)
    except OverflowError:
        value = float("inf")
    if value - value != 0:
        why = "the official script reads what is no finite number"
        return unscored_row(unit, criterion, judge, why, turn=turn, replies=replies)
    return score_row(unit, criterion, judge, value, turn=turn, replies=replies)


OFFICIAL: Final = (("mode", "compat"),)

V = TypeVar("V")


class TurnJudge:
    """Scores turns, and gives a mean of each criterion over them.

    Its `protocol` names criteria and measures in the same order, one measure for each criterion.
    """

    protocol: Protocol
    compat: bool = False
    """Also score each turn as the official script does, under `CRITERION.compat`."""
    by: ClassVar[tuple[str, ...]] = GROUPED_BY
    """By what its numbers are broken down, of `groups`."""

    @property
    def name(self) -> str:
        """The protocol's."""
        return self.protocol.name

    @property
    def needs_model(self) -> bool:
        """As the protocol says."""
        return self.protocol.needs_model

    @property
    def reads(self) -> frozenset[str]:
        """Nothing beside questions, references, options and labels."""
        return frozenset()

    @property
    def criteria(self) -> tuple[str, ...]:
        """Criteria of its rows, those of the official reading last."""
        own = tuple(criterion.name for criterion in self.protocol.criteria)
        return (*own, *(f"{name}.{COMPAT}" for name in own)) if self.compat else own

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that should have a score: every turn that was asked, unless a subclass knows better."""
        return is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """The groups of a turn beside its place in the unit, by what is grouped."""
        return {"question_type": turn.labels.get("vdact.question_type", ())}

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """The mean of each criterion over turns, on the scale of its measure; after those the official readings'.

        Args:
            units: All units of one model.
            scores: Their rows.
        """
        found = []
        for suffix, signature in (("", ()), (f".{COMPAT}", OFFICIAL))[: 2 if self.compat else 1]:
            for criterion, info in zip(self.protocol.criteria, self.protocol.measures, strict=True):
                assert info.width is not None
                entries = self.entries(units, scores, f"{criterion.name}{suffix}")
                scale = info.width / (criterion.high - criterion.low)
                found.append(
                    mean_measure(f"{info.name}{suffix}", entries, scale=scale, by=self.by, signature=signature)
                )
        return found

    def entries(
        self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore], criterion: str, *, by_unit: bool = False
    ) -> list[MeanItem]:
        """The items of a mean over turns: every turn that is due, with its score or none.

        Args:
            units: All units of one model.
            scores: Their rows, in any order, of any criterion.
            criterion: Of which the mean is.
            by_unit: Average within units first.
        """
        rows = {
            (row.unit_id, row.turn_index): row for row in scores if row.criterion == criterion and row.unit == "turn"
        }
        return [
            MeanItem(
                video_id=turn.video_id,
                value=row.value if row is not None else None,
                item_id=turn.item_id,
                applies=row is None or row.state is not ScoreState.NOT_APPLICABLE,
                groups={"turn": (str(turn.turn_index + 1),), **self.groups(unit, turn)},
                mean_of=unit.id if by_unit else None,
            )
            for unit in units
            for turn in unit.turns
            if self.is_due(turn)
            for row in (rows.get((unit.id, turn.turn_index)),)
        ]

    def rows_of(
        self,
        unit: JudgeUnit,
        turn: AnsweredTurn,
        judging: Judgement[Any],
        values: Mapping[str, float],
        judge: str,
        *,
        explanation: str | None = None,
    ) -> list[JudgedScore]:
        """The rows of our own reading of a judge's replies, one for each criterion.

        Args:
            unit: Where the turn stands.
            turn: The turn.
            judging: What came of asking.
            values: By criterion; not used where no reply could be read.
            judge: Name of the model.
            explanation: What the judge said about it.
        """
        if judging.verdict is None:
            own = [criterion.name for criterion in self.protocol.criteria]
            return unscored_rows(unit, turn, own, judge, judging.reason, replies=judging.replies)
        return [
            score_row(unit, name, judge, value, turn=turn, explanation=explanation, replies=judging.replies)
            for name, value in values.items()
        ]


class SingleTurnJudge(TurnJudge, ABC):
    """Judges a unit's turns one after the other. A subclass says what becomes of one turn, in `judge_turn`."""

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why a turn that is due is not judged, if it is not: it has no answer, or no reference."""
        return skip_reason(turn)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for every turn that is due and every criterion.

        Args:
            unit: A chain, path or dialogue; its turns are judged one by one.
            model: Who judges; a protocol that needs no model does not ask it.

        Raises:
            BudgetError: A limit would be passed.
        """
        judge = require_model(self.name, model) if self.needs_model else None
        rows: list[JudgedScore] = []
        for index, turn in enumerate(unit.turns):
            if not self.is_due(turn):
                continue
            if (why := self.skip_reason(unit, turn)) is not None:
                by = judge.name if judge is not None else NOBODY
                rows += unscored_rows(unit, turn, self.criteria, by, why)
            else:
                rows += await self.judge_turn(unit, index, judge)
        return rows

    @abstractmethod
    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """The rows of one turn that has an answer.

        Args:
            unit: Where it stands.
            index: Its place among the unit's turns.
            model: Who judges; None for a protocol that needs none.

        Raises:
            BudgetError: A limit would be passed.
        """


@dataclass(frozen=True)
class PromptedJudge(SingleTurnJudge, Generic[V]):
    """Asks about each turn by itself, with the prompt of its own name.

    The first reply is what the official script would have read.
    """

    compat: bool = False
    """Also read the replies as the official script does."""
    prompts: Prompts = field(default_factory=our_judge_prompts)
    """The judges' prompts."""

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts."""
        return (
            ("prompt", self.prompts[self.protocol.measures[0].name].signature),
            ("repair", self.prompts["repair"].signature),
        )

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each criterion; with `compat` as many again.

        Args:
            unit: Where the turn stands; it sees nothing of the others.
            index: Its place among the unit's turns.
            model: The judge.

        Raises:
            BudgetError: A limit would be passed.
        """
        turn, judge = unit.turns[index], require_model(self.name, model)
        judging = await self.ask(unit, turn, judge)
        values = {} if judging.verdict is None else self.values(judging.verdict)
        why = None if judging.verdict is None else self.reasons(judging.verdict) or None
        rows = self.rows_of(unit, turn, judging, values, judge.name, explanation=why)
        if not self.compat:
            return rows
        if not judging.replies:
            official = self.criteria[len(self.protocol.criteria) :]
            return rows + unscored_rows(unit, turn, official, judge.name, judging.reason)
        return rows + await self.as_official(unit, turn, judge, judging.replies[0])

    @abstractmethod
    async def ask(self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel) -> Judgement[V]:
        """What comes of asking about a turn that has an answer and references."""

    @abstractmethod
    def values(self, verdict: V) -> Mapping[str, float]:
        """The scores of a verdict, by criterion."""

    def reasons(self, verdict: V) -> str:
        """What the judge says about its verdict; empty if it is not asked for reasons."""
        return ""

    @abstractmethod
    async def as_official(
        self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel, first: str
    ) -> list[JudgedScore]:
        """The rows of a turn as the official script reads the judge's first reply.

        Args:
            unit: Where the turn stands.
            turn: The turn.
            judge: The judge; some scripts ask it again.
            first: Its first reply.
        """


def earlier_turns(unit: JudgeUnit, index: int) -> list[tuple[str, str]]:
    """Questions and reference answers of the turns before one.

    Args:
        unit: Where it stands.
        index: Its place among the unit's turns.
    """
    return [(turn.question, turn.references[0] if turn.references else "") for turn in unit.turns[:index]]


RIGHT: Final = 0.5
"""A value above this is right."""
PARTS: Final = (
    MeasurePart("first_error", "turn of the first error", (None, None), "neither", SHORT),
    MeasurePart("recovery", "right after a wrong answer", (0.0, PER_CENT), decimals=SHORT),
    MeasurePart("after_right", "right after a right answer", (0.0, PER_CENT), decimals=SHORT),
    MeasurePart("after_corrupted", "right after a planted error", (0.0, PER_CENT), decimals=SHORT),
)


def cascade(units: Sequence[JudgeUnit], values: Mapping[str, float], of: str) -> list[Measure]:
    """What errors do to the turns after them.

    Args:
        units: One model's units.
        values: Value of each turn, 0 to 1, by its item; a turn without one breaks the sequence.
        of: Name of the protocol that gave the values.

    Returns:
        `first_error`: turn of the first error, from 1, over units that have one; `recovery`: share of right answers
        after a wrong one, in percent; `after_right`: the same after a right one; `after_corrupted`: share of right
        answers at the turn after a planted wrong answer, where there is one.
    """
    first: list[MeanItem] = []
    after_wrong: list[MeanItem] = []
    after_right: list[MeanItem] = []
    after_planted: list[MeanItem] = []
    for unit in units:
        right = [None if (v := values.get(turn.item_id)) is None else v > RIGHT for turn in unit.turns]
        if False in right:
            first.append(MeanItem(unit.video_id, right.index(False) + 1.0))
        for index in range(1, len(right)):
            before, now = right[index - 1], right[index]
            if now is None:
                continue
            played = unit.turns[index - 1].played
            if played is not None and played.corrupted:
                after_planted.append(MeanItem(unit.video_id, float(now)))
            elif before is not None:
                (after_right if before else after_wrong).append(MeanItem(unit.video_id, float(now)))
    return [
        mean_measure(f"{of}.first_error", first),
        mean_measure(f"{of}.recovery", after_wrong, scale=100),
        mean_measure(f"{of}.after_right", after_right, scale=100),
        mean_measure(f"{of}.after_corrupted", after_planted, scale=100),
    ]
