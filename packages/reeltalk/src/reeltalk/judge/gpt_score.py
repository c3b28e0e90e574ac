"""SVBench's GPT4-Score: the accuracy of a single answer, 0 to 10 (ICLR 2025, arXiv 2502.10810).

The paper's prompt names both 0 to 10 and 1 to 10; ours asks for 0 to 10.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.judge.asking import Judgement, ask_text, ask_verdict, judge_prompts, our_judge_prompts
from reeltalk.judge.judge import JudgeUnit, score_row, unscored_row
from reeltalk.judge.protocol import REFERENCE, OfficialSampling, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.svbench_official import COMPAT, gpt_score_fields, official_single_score, read_headed
from reeltalk.judge.turns import SingleTurnJudge, require_model
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.own_words import own_reply
from reeltalk.llm.prompts import Prompts
from reeltalk.llm.structured import MalformedReplyError
from reeltalk.llm.wire import first_problem
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.model_texts import plain_characters
from reeltalk.schema.scoring import JudgedScore

NAME: Final = "gpt-score"
ACCURACY: Final = "accuracy"
PUBLISHED: Final = f"{NAME}-published"
"""The prompt of the official script; reeltalk does not bring its text."""


PROTOCOL: Final = Protocol(
    name=NAME,
    title="GPT-Score",
    help="Each answer by itself: how accurate it is, 0 to 10, shown as 0 to 100.",
    create=lambda settings: GPTScore(
        compat=settings.compat, published=settings.published, prompts=judge_prompts(settings.prompts)
    ),
    criteria=(
        ProtocolCriterion(
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
    # The client that its scripts import is not in their repository.
    official=OfficialSampling(),
)


class AccuracyVerdict(BaseModel):
    """What a judge says of one answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rationale: str
    accuracy: Annotated[int, Field(ge=0, le=10)]


class GPTScore(SingleTurnJudge):
    """Judges the accuracy of single answers: one request per turn, criterion `accuracy`, 0 to 10."""

    protocol = PROTOCOL
    by = ("skill", "turn")

    def __init__(self, *, compat: bool = False, published: bool = False, prompts: Prompts | None = None) -> None:
        """Choose the variant.

        Args:
            compat: Also ask once per turn in the official layout, and take the number after the last *Score*: criterion
                `accuracy.compat`.
            published: Ask as the official script does, and read each reply twice: strictly, and with the official
                pattern.
            prompts: The judges' prompts; ours by default.
        """
        self.compat, self.published, self.prompts = compat or published, published, prompts or our_judge_prompts()

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The signatures of the prompts."""
        if self.published:
            return (("mode", "published"), ("prompt", self.prompts[PUBLISHED].signature))
        parts = (("prompt", self.prompts[NAME].signature), ("repair", self.prompts["repair"].signature))
        return (*parts, ("compat", self.prompts[f"{NAME}-compat"].signature)) if self.compat else parts

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a reference."""
        return bool(turn.references) and super().is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """The skill that a linked turn asks for; broken down by it, this is SVBench's table of skills."""
        return {"skill": turn.labels.get("svbench.skill", ())}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row from 0 to 10; with `compat` a second one.

        Args:
            unit: The unit of the turn; the judge sees no other turn of it.
            index: Index of the turn in the unit.
            model: The judge.

        Raises:
            BudgetError: A limit would be passed.
        """
        turn, judge = unit.turns[index], require_model(NAME, model)
        if self.published:
            said = await ask_text(
                judge, [Message("user", self.prompts[PUBLISHED].fill(**gpt_score_fields(unit, index)))]
            )
            judging = _strictly(said)
        else:
            message = Message("user", self.prompts[NAME].fill(items=_items(turn)))
            judging = await ask_verdict(judge, [message], AccuracyVerdict, prompts=self.prompts)
        found = judging.verdict
        values = {} if found is None else {ACCURACY: float(found.accuracy)}
        why = None if found is None else found.rationale or None
        rows = self.rows_of(unit, turn, judging, values, judge.name, explanation=why)
        if not self.compat:
            return rows
        if not self.published:
            text = self.prompts[f"{NAME}-compat"].fill(items=_items(turn))
            said = await ask_text(judge, [Message("user", text)])
        return [*rows, _read_as_official(unit, turn, judge.name, said)]


def _read_as_official(unit: JudgeUnit, turn: AnsweredTurn, judge: str, said: Judgement[str]) -> JudgedScore:
    name = f"{ACCURACY}{COMPAT}"
    value = official_single_score(said.verdict) if said.verdict is not None else None
    if value is None:
        reason = said.reason or "the official pattern finds no number"
        return unscored_row(unit, name, judge, reason, turn=turn, replies=said.replies)
    return score_row(unit, name, judge, float(value), turn=turn, replies=said.replies)


def _strictly(said: Judgement[str]) -> Judgement[AccuracyVerdict]:
    """Read a verdict in the official layout strictly."""
    if said.verdict is None:
        return Judgement(None, said.replies, said.reason)
    try:
        marks = read_headed(plain_characters(own_reply(said.verdict)), {ACCURACY: "Accuracy"})
        return Judgement(AccuracyVerdict(rationale="", **marks), said.replies)
    except MalformedReplyError as error:
        return Judgement(None, said.replies, error.reason)
    except ValidationError as error:
        return Judgement(None, said.replies, first_problem(error))


def _items(turn: AnsweredTurn) -> str:
    return f"Question: {turn.question}\nReference answer: {turn.references[0]}\nAnswer:\n{fence(turn.text)}"
