"""LLM-Acc and LLM-Rel: is an answer right, yes or no, and how well does it match, from 0 to 5.

Reference: Maaz et al., "Video-ChatGPT" (ACL 2024, arXiv 2306.05424).
"""

import ast
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from reeltalk.judge.asking import Judgement, ask_verdict, judge_prompts
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.protocol import COMPAT, REFERENCE, Protocol, ProtocolCriterion
from reeltalk.judge.rating import OfficialScriptStopsError
from reeltalk.judge.turns import PromptedJudge, read_as_official
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore, ScoreState

ACCURACY: Final = "llm_acc"
RELEVANCE: Final = "llm_rel"
HIGHEST: Final = 5.0
LONGEST_READ: Final = 20_000
"""Longest reply, in characters, that is read as a Python literal; no verdict is that long."""


PROTOCOL: Final = Protocol(
    name="llm-acc",
    title="LLM-Acc",
    help="Each answer by itself: right or wrong, and how well it matches, 0 to 5.",
    create=lambda settings: LlmAcc(compat=settings.compat, prompts=judge_prompts(settings.prompts)),
    criteria=(
        ProtocolCriterion(
            ACCURACY, "LLM-Acc", pass_mark=0.5, asked="Right or wrong", levels={"1": "right", "0": "wrong"}
        ),
        ProtocolCriterion(
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


class LlmAccVerdict(BaseModel):
    """What the judge answers."""

    model_config = ConfigDict(title="Verdict")

    pred: Annotated[Literal["yes", "no"], BeforeValidator(_in_lower_case)]
    """Whether the answer is right."""
    # Not an integer: the published prompt demands integers, but its example is 4.8.
    score: Annotated[float, Field(ge=0, le=HIGHEST, allow_inf_nan=False)]
    """From 0 to 5."""


@dataclass(frozen=True)
class LlmAcc(PromptedJudge[LlmAccVerdict]):
    """LLM-Acc, the share of right answers, and LLM-Rel, the mean score."""

    protocol = PROTOCOL

    @property
    def name(self) -> str:
        """`llm_acc`, the name in score files."""
        return ACCURACY

    def messages(self, turn: AnsweredTurn) -> list[Message]:
        """The messages about a turn.

        Args:
            turn: A turn that has an answer and references.
        """
        right = turn.references[0]
        if len(turn.references) > 1:
            right = ", ".join(f"'{reference}'" for reference in turn.references)
        item = f"Question: {turn.question}\nCorrect answer: {right}\nPredicted answer: {fence(turn.text)}"
        return [Message("system", self.prompts["llm_acc"].text), Message("user", item)]

    async def ask(self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel) -> Judgement[LlmAccVerdict]:
        """Ask whether the answer is right, and how well it matches."""
        return await ask_verdict(judge, self.messages(turn), LlmAccVerdict, prompts=self.prompts)

    def values(self, verdict: LlmAccVerdict) -> Mapping[str, float]:
        """`llm_acc` is 0 or 1, `llm_rel` from 0 to 5."""
        return {ACCURACY: float(verdict.pred == "yes"), RELEVANCE: verdict.score}

    async def as_official(
        self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel, first: str
    ) -> list[JudgedScore]:
        """Both rows. The script leaves an answer out of the share if the judge says neither yes nor no."""

        def read_accuracy() -> float:
            right, _ = compat_verdict(first)
            return float(right or False)

        def read_relevance() -> float:
            return compat_verdict(first)[1]

        rows = [
            read_as_official(unit, turn, f"{name}.{COMPAT}", judge.name, (first,), read)
            for name, read in ((ACCURACY, read_accuracy), (RELEVANCE, read_relevance))
        ]
        if rows[0].state is ScoreState.SCORED and compat_verdict(first)[0] is None:
            why = "the judge says neither yes nor no; the official script leaves the answer out of the share"
            left_out = {"value": None, "state": ScoreState.NOT_APPLICABLE, "reason": why}
            rows[0] = rows[0].model_copy(update=left_out)
        return rows


def compat_verdict(text: str) -> tuple[bool | None, int]:
    """The verdict that the official script reads from a reply, and the score cut to an integer.

    Returns:
        True for right, False for wrong, None if the reply says neither; and the score.

    Raises:
        OfficialScriptStopsError: The script ends with an exception here, or asks again without end.
    """
    try:
        if len(text) > LONGEST_READ:
            raise ValueError("too long")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            literal = ast.literal_eval(text)
        # The script writes the verdict to a file, and reads that file.
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
