"""SVBench's GPT4-Score: how accurate a single answer is, 0 to 10 (ICLR 2025, arXiv 2502.10810).

The paper's prompt names both 0 to 10 and 1 to 10; ours asks for 0 to 10.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.evaluate.fencing import fenced
from reeltalk.evaluate.judging.asking import ask_text, ask_verdict, prompt
from reeltalk.evaluate.judging.judge import JudgeUnit, unscored
from reeltalk.evaluate.judging.measures import Entry, Measure, mean_of
from reeltalk.evaluate.judging.rows import scored
from reeltalk.evaluate.judging.svbench_compat import COMPAT, official_single_score
from reeltalk.evaluate.judging.turns import no_answer, who
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.structured import repair_signature
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore

NAME: Final = "gpt-score"
ACCURACY: Final = "accuracy"
PERCENT: Final = 10.0
"""Tables show a scale of 0 to 10 as 0 to 100."""


class AccuracyVerdict(BaseModel):
    """What a judge says of one answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rationale: str
    accuracy: Annotated[int, Field(ge=0, le=10)]


class GPTScore:
    """Single questions by their accuracy: one request per turn, criterion `accuracy`, 0 to 10."""

    def __init__(self, *, compat: bool = False) -> None:
        """Choose the variant.

        Args:
            compat: Asks once more per turn in the official layout, and takes the number after the last *Score*:
                criterion `accuracy.compat`.
        """
        self.compat = compat

    @property
    def name(self) -> str:
        """`gpt-score`."""
        return NAME

    @property
    def needs_model(self) -> bool:
        """True."""
        return True

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts."""
        parts = (("prompt", prompt(NAME).signature), ("repair", repair_signature()))
        return (*parts, ("compat", prompt(f"{NAME}-compat").signature)) if self.compat else parts

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each turn that has a reference and was asked.

        Args:
            unit: What is judged, turn by turn; no turn sees another.
            model: Who judges.

        Raises:
            BudgetError: A limit would be passed.
        """
        judging = who(NAME, model)
        rows: list[JudgedScore] = []
        for turn in _due(unit):
            rows.append(await self._fixed(unit, turn, judging))
            if self.compat:
                rows.append(await self._official(unit, turn, judging))
        return rows

    async def _fixed(self, unit: JudgeUnit, turn: AnsweredTurn, model: AsyncModel) -> JudgedScore:
        if turn.state is not AnswerState.ANSWERED:
            return unscored(unit, ACCURACY, model.name, no_answer(turn), turn=turn)
        verdict = await ask_verdict(model, [Message("user", prompt(NAME).fill(items=_items(turn)))], AccuracyVerdict)
        if verdict.verdict is None:
            return unscored(unit, ACCURACY, model.name, verdict.reason or "", turn=turn, replies=verdict.replies)
        return scored(
            unit,
            ACCURACY,
            model.name,
            float(verdict.verdict.accuracy),
            turn=turn,
            explanation=verdict.verdict.rationale,
            replies=verdict.replies,
        )

    async def _official(self, unit: JudgeUnit, turn: AnsweredTurn, model: AsyncModel) -> JudgedScore:
        name = f"{ACCURACY}{COMPAT}"
        if turn.state is not AnswerState.ANSWERED:
            return unscored(unit, name, model.name, no_answer(turn), turn=turn)
        verdict = await ask_text(model, [Message("user", prompt(f"{NAME}-compat").fill(items=_items(turn)))])
        value = official_single_score(verdict.verdict) if verdict.verdict is not None else None
        if value is None:
            reason = verdict.reason or "the official pattern finds no number"
            return unscored(unit, name, model.name, reason, turn=turn, replies=verdict.replies)
        return scored(unit, name, model.name, float(value), turn=turn, replies=verdict.replies)

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`gpt-score`, 0 to 100, over turns; by skill it is SVBench's table of skills, where linked turns carry one.

        Args:
            units: All units, judged or not.
            scores: What `judge` gave for them.
        """
        rows = {(row.unit_id, row.turn_index, row.criterion): row.value for row in scores if row.unit == "turn"}
        variants = (("", ()), *(((COMPAT, (("mode", "compat"),)),) if self.compat else ()))
        return [
            mean_of(
                f"{NAME}{suffix}",
                [
                    Entry(
                        video_id=unit.video_id,
                        value=rows.get((unit.id, turn.turn_index, f"{ACCURACY}{suffix}")),
                        item_id=turn.item_id,
                        groups={"skill": turn.labels.get("svbench.skill", ()), "turn": (str(turn.turn_index + 1),)},
                    )
                    for unit in units
                    for turn in _due(unit)
                ],
                scale=PERCENT,
                by=("skill", "turn"),
                signature=signature,
            )
            for suffix, signature in variants
        ]


def _due(unit: JudgeUnit) -> list[AnsweredTurn]:
    return [turn for turn in unit.turns if turn.references and turn.state is not AnswerState.NOT_ASKED]


def _items(turn: AnsweredTurn) -> str:
    return f"Question: {turn.question}\nReference answer: {turn.references[0]}\nAnswer:\n{fenced(turn.text)}"
