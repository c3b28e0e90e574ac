"""Base classes of judges that score single turns: the turns that are due, rows without a score, means over turns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Generic, TypeVar

from reeltalk.judge import turns
from reeltalk.judge.asking import Judging, our_judge_prompts
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Entry, Measure, mean_of
from reeltalk.judge.protocol import COMPAT, Protocol
from reeltalk.judge.rows import scored
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.prompt_folder import Prompts
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore, ScoreState

OFFICIAL: Final = (("mode", "compat"),)

V = TypeVar("V")


class TurnJudge:
    """Scores turns, and gives a mean of each criterion over them.

    Its `protocol` names criteria and measures in the same order, one measure for each criterion.
    """

    protocol: Protocol
    compat: bool = False
    """Also score each turn as the official script does, under `CRITERION.compat`."""
    by: ClassVar[tuple[str, ...]] = turns.GROUPED_BY
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
        return turns.is_due(turn)

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
                found.append(mean_of(f"{info.name}{suffix}", entries, scale=scale, by=self.by, signature=signature))
        return found

    def entries(
        self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore], criterion: str, *, by_unit: bool = False
    ) -> list[Entry]:
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
            Entry(
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
        judging: Judging[Any],
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
            return turns.without_score(unit, turn, own, judge, judging.reason, replies=judging.replies)
        return [
            scored(unit, name, judge, value, turn=turn, explanation=explanation, replies=judging.replies)
            for name, value in values.items()
        ]


class SingleTurnJudge(TurnJudge, ABC):
    """Judges a unit's turns one after the other. A subclass says what becomes of one turn, in `judge_turn`."""

    def obstacle(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why a turn that is due is not judged, if it is not: it has no answer, or no reference."""
        return turns.obstacle(turn)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for every turn that is due and every criterion.

        Args:
            unit: A chain, path or dialogue; its turns are judged one by one.
            model: Who judges; a protocol that needs no model does not ask it.

        Raises:
            BudgetError: A limit would be passed.
        """
        judge = turns.who(self.name, model) if self.needs_model else None
        rows: list[JudgedScore] = []
        for index, turn in enumerate(unit.turns):
            if not self.is_due(turn):
                continue
            if (why := self.obstacle(unit, turn)) is not None:
                by = judge.name if judge is not None else turns.NOBODY
                rows += turns.without_score(unit, turn, self.criteria, by, why)
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
        turn, judge = unit.turns[index], turns.who(self.name, model)
        judging = await self.ask(unit, turn, judge)
        values = {} if judging.verdict is None else self.values(judging.verdict)
        why = None if judging.verdict is None else self.reasons(judging.verdict) or None
        rows = self.rows_of(unit, turn, judging, values, judge.name, explanation=why)
        if not self.compat:
            return rows
        if not judging.replies:
            official = self.criteria[len(self.protocol.criteria) :]
            return rows + turns.without_score(unit, turn, official, judge.name, judging.reason)
        return rows + await self.as_official(unit, turn, judge, judging.replies[0])

    @abstractmethod
    async def ask(self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel) -> Judging[V]:
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


def turns_before(unit: JudgeUnit, index: int) -> list[tuple[str, str]]:
    """Questions and reference answers of the turns before one.

    Args:
        unit: Where it stands.
        index: Its place among the unit's turns.
    """
    return [(turn.question, turn.references[0] if turn.references else "") for turn in unit.turns[:index]]
