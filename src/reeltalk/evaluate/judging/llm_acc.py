"""LLM-Acc and LLM-Rel: whether an answer is right, yes or no, and how well it matches, from 0 to 5.

Reference: Maaz et al., "Video-ChatGPT" (ACL 2024, arXiv 2306.05424).
"""

import ast
import json
import warnings
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, Field

from reeltalk.evaluate.fencing import fenced
from reeltalk.evaluate.judging import turns
from reeltalk.evaluate.judging.asking import ask_verdict, judge_prompts, our_judge_prompts
from reeltalk.evaluate.judging.judge import JudgeUnit
from reeltalk.evaluate.judging.protocol import REFERENCE, Criterion, Protocol
from reeltalk.evaluate.judging.rating import OfficialScriptStopsError
from reeltalk.evaluate.judging.single_turn import SingleTurnJudge
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.prompt_folder import Prompts
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore, ScoreState

ACCURACY: Final = "llm_acc"
RELEVANCE: Final = "llm_rel"
COMPAT: Final = "compat"
HIGHEST: Final = 5.0
LONGEST_READ: Final = 20_000
"""Characters of a reply that are read as a Python literal; no verdict is that long."""


PROTOCOL: Final = Protocol(
    name="llm-acc",
    title="LLM-Acc",
    help="Each answer by itself: right or wrong, and how well it matches, 0 to 5.",
    create=lambda settings: LlmAcc(compat=settings.compat, prompts=judge_prompts(settings.prompts)),
    criteria=(
        Criterion(ACCURACY, "LLM-Acc", pass_mark=0.5, asked="Right or wrong", levels={"1": "right", "0": "wrong"}),
        Criterion(
            RELEVANCE,
            "LLM-Rel",
            0.0,
            HIGHEST,
            asked="Match with the reference",
            levels={
                "5": "says the same as the reference",
                "4": "nearly the same; a detail is missing or different",
                "3": "about half of it is right",
                "2": "a little of it is right",
                "1": "touches the subject only",
                "0": "nothing of it is right",
            },
        ),
    ),
    needs=REFERENCE,
    measures=(MetricInfo(ACCURACY, "LLM-Acc"), MetricInfo(RELEVANCE, "LLM-Rel", 0.0, HIGHEST)),
    credit_rank=100,
    rating="1",
    source="Video-ChatGPT (ACL 2024)",
)


def _in_lower_case(value: object) -> object:
    return value.strip().rstrip(".!").lower() if isinstance(value, str) else value


class Verdict(BaseModel):
    """What the judge answers."""

    pred: Annotated[Literal["yes", "no"], BeforeValidator(_in_lower_case)]
    """Whether the answer is right."""
    # No integer: the published example is a 4.8 where integers are demanded.
    score: Annotated[float, Field(ge=0, le=HIGHEST, allow_inf_nan=False)]
    """From 0 to 5."""


@dataclass(frozen=True)
class LlmAcc(SingleTurnJudge):
    """LLM-Acc, the share of answers that are right, and beside it LLM-Rel, the mean score."""

    compat: bool = False
    """Also read the first replies as the official script does."""
    prompts: Prompts = field(default_factory=our_judge_prompts)
    """The judges' prompts."""
    protocol = PROTOCOL

    @property
    def name(self) -> str:
        """`llm_acc`: rows lie under this name."""
        return ACCURACY

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts."""
        return (("prompt", self.prompts["llm_acc"].signature), ("repair", self.prompts["repair"].signature))

    def messages(self, turn: AnsweredTurn) -> list[Message]:
        """What the judge is sent about a turn.

        Args:
            turn: A turn that has an answer and references.
        """
        right = turn.references[0]
        if len(turn.references) > 1:
            right = ", ".join(f"'{reference}'" for reference in turn.references)
        item = f"Question: {turn.question}\nCorrect answer: {right}\nPredicted answer: {fenced(turn.text)}"
        return [Message("system", self.prompts["llm_acc"].text), Message("user", item)]

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """Two rows, `llm_acc` 0 or 1 and `llm_rel` 0 to 5; with `compat` two more.

        Args:
            unit: Where the turn stands.
            index: Its place among the unit's turns.
            model: The judge.

        Raises:
            BudgetError: A limit would be passed.
        """
        turn, judge = unit.turns[index], turns.who(self.name, model)
        judging = await ask_verdict(judge, self.messages(turn), Verdict, prompts=self.prompts)
        found, replies = judging.verdict, judging.replies
        values = {} if found is None else {ACCURACY: float(found.pred == "yes"), RELEVANCE: found.score}
        rows = self.rows_of(unit, turn, judging, values, judge.name)
        if not self.compat:
            return rows
        if not replies:
            return rows + turns.without_score(unit, turn, self.criteria[2:], judge.name, judging.reason)
        return [*rows, *_as_official(unit, turn, judge.name, replies[:1])]


def compat_verdict(text: str) -> tuple[bool | None, int]:
    """A reply as the official script reads it: right or wrong, None where it says neither, and the score cut to an int.

    Raises:
        OfficialScriptStopsError: It ends with an exception here, or asks again without end.
    """
    try:
        if len(text) > LONGEST_READ:
            raise ValueError("too long")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            literal = ast.literal_eval(text)
        # The script writes what it read to a file, and reads that.
        found: Any = json.loads(json.dumps(literal))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise OfficialScriptStopsError("it is no Python dictionary, and the script asks again without end") from None
    try:
        score, said = int(found["score"]), found["pred"].lower()
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise OfficialScriptStopsError(
            f"it lacks a 'pred' or 'score' that the script can use: {error!r:.200}"
        ) from None
    return (True if "yes" in said else False if "no" in said else None), score


def _as_official(unit: JudgeUnit, turn: AnsweredTurn, judge: str, replies: tuple[str, ...]) -> list[JudgedScore]:
    def read_accuracy() -> float:
        right, _ = compat_verdict(replies[0])
        return float(right or False)

    def read_relevance() -> float:
        return compat_verdict(replies[0])[1]

    rows = [
        turns.read_as_official(unit, turn, f"{name}.{COMPAT}", judge, replies, read)
        for name, read in ((ACCURACY, read_accuracy), (RELEVANCE, read_relevance))
    ]
    if rows[0].state is ScoreState.SCORED and compat_verdict(replies[0])[0] is None:
        why = "the judge says neither yes nor no; the official script leaves the answer out of the share"
        left_out = {"value": None, "state": ScoreState.NOT_APPLICABLE, "reason": why}
        rows[0] = rows[0].model_copy(update=left_out)
    return rows
