"""SVBench's GPT4-Score: how accurate a single answer is, 0 to 10 (ICLR 2025, arXiv 2502.10810).

The paper's prompt names both 0 to 10 and 1 to 10; ours asks for 0 to 10.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.evaluate.fencing import fenced
from reeltalk.evaluate.judging.asking import ask_text, ask_verdict, prompt
from reeltalk.evaluate.judging.judge import JudgeUnit, unscored
from reeltalk.evaluate.judging.protocol import REFERENCE, Criterion, Protocol, per_cent
from reeltalk.evaluate.judging.rows import scored
from reeltalk.evaluate.judging.single_turn import SingleTurnJudge
from reeltalk.evaluate.judging.svbench_compat import COMPAT, official_single_score
from reeltalk.evaluate.judging.turns import who
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.structured import repair_signature
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

NAME: Final = "gpt-score"
ACCURACY: Final = "accuracy"


PROTOCOL: Final = Protocol(
    name=NAME,
    title="GPT-Score",
    help="Each answer by itself: how accurate it is, 0 to 10, shown as 0 to 100.",
    create=lambda settings: GPTScore(compat=settings.compat),
    criteria=(
        Criterion(
            ACCURACY,
            "GPT-Score, accuracy",
            0.0,
            10.0,
            pass_mark=5.0,
            asked="Accuracy",
            levels={
                "10": "fully right",
                "7–9": "right but for small things",
                "4–6": "partly right",
                "1–3": "mostly wrong",
                "0": "wrong, or no answer",
            },
        ),
    ),
    needs=REFERENCE,
    measures=(per_cent(NAME, "GPT-Score"),),
    credit_rank=110,
    # Version 1 called the criterion `gpt-score`.
    rating="2",
    source="SVBench (ICLR 2025)",
)


class AccuracyVerdict(BaseModel):
    """What a judge says of one answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rationale: str
    accuracy: Annotated[int, Field(ge=0, le=10)]


class GPTScore(SingleTurnJudge):
    """Single questions by their accuracy: one request per turn, criterion `accuracy`, 0 to 10."""

    protocol = PROTOCOL
    by = ("skill", "turn")

    def __init__(self, *, compat: bool = False) -> None:
        """Choose the variant.

        Args:
            compat: Asks once more per turn in the official layout, and takes the number after the last *Score*:
                criterion `accuracy.compat`.
        """
        self.compat = compat

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts."""
        parts = (("prompt", prompt(NAME).signature), ("repair", repair_signature()))
        return (*parts, ("compat", prompt(f"{NAME}-compat").signature)) if self.compat else parts

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that has a reference and was asked."""
        return bool(turn.references) and super().is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """By skill it is SVBench's table of skills, where linked turns carry one."""
        return {"skill": turn.labels.get("svbench.skill", ())}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row from 0 to 10; with `compat` a second one.

        Args:
            unit: Where the turn stands; no turn sees another.
            index: Its place among the unit's turns.
            model: Who judges.

        Raises:
            BudgetError: A limit would be passed.
        """
        turn, judge = unit.turns[index], who(NAME, model)
        judging = await ask_verdict(judge, [Message("user", prompt(NAME).fill(items=_items(turn)))], AccuracyVerdict)
        found = judging.verdict
        values = {} if found is None else {ACCURACY: float(found.accuracy)}
        why = None if found is None else found.rationale
        rows = self.rows_of(unit, turn, judging, values, judge.name, explanation=why)
        return [*rows, await self._official(unit, turn, judge)] if self.compat else rows

    async def _official(self, unit: JudgeUnit, turn: AnsweredTurn, model: AsyncModel) -> JudgedScore:
        name = f"{ACCURACY}{COMPAT}"
        verdict = await ask_text(model, [Message("user", prompt(f"{NAME}-compat").fill(items=_items(turn)))])
        value = official_single_score(verdict.verdict) if verdict.verdict is not None else None
        if value is None:
            reason = verdict.reason or "the official pattern finds no number"
            return unscored(unit, name, model.name, reason, turn=turn, replies=verdict.replies)
        return scored(unit, name, model.name, float(value), turn=turn, replies=verdict.replies)


def _items(turn: AnsweredTurn) -> str:
    return f"Question: {turn.question}\nReference answer: {turn.references[0]}\nAnswer:\n{fenced(turn.text)}"
