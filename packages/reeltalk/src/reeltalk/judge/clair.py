"""CLAIR: the likelihood, from 0 to 100, that candidate and references say the same.

Reference: Chan et al., "CLAIR: Evaluating Image Captions with Large Language Models" (EMNLP 2023, arXiv 2310.12971).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, Field

from reeltalk.errors import ModelError
from reeltalk.judge.asking import Judgement, ask_verdict, judge_prompts
from reeltalk.judge.judge import JudgeUnit, unscored_row
from reeltalk.judge.protocol import REFERENCE, Protocol, ProtocolCriterion
from reeltalk.judge.rating import OfficialScriptStopsError
from reeltalk.judge.turns import PromptedJudge, read_as_official
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.structured import json_schema
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

CRITERION: Final = "clair"
COMPAT: Final = "clair.compat"
TRIES: Final = 3
"""Requests of the official script before it gives 0."""

_NUMBER = re.compile(r"\d*\.?\d+")


PROTOCOL: Final = Protocol(
    name=CRITERION,
    title="CLAIR",
    help="Each answer by itself: how likely it says the same as the references, 0 to 1.",
    create=lambda settings: Clair(compat=settings.compat, prompts=judge_prompts(settings.prompts)),
    criteria=(ProtocolCriterion(CRITERION, "CLAIR", pass_mark=0.5),),
    needs=REFERENCE,
    measures=(MetricInfo(CRITERION, "CLAIR"),),
    credit_rank=90,
    source="CLAIR (EMNLP 2023)",
)


class Likelihood(BaseModel):
    """What the judge answers."""

    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
    """From 0 to 100."""
    reason: str


@dataclass(frozen=True)
class Clair(PromptedJudge[Likelihood]):
    """CLAIR on answers. The question is not shown, as the published prompt has none."""

    protocol = PROTOCOL

    def messages(self, turn: AnsweredTurn) -> list[Message]:
        """The messages about a turn.

        Args:
            turn: A turn that has an answer and references.
        """
        references = "\n".join(f"- {reference}" for reference in turn.references)
        item = f"Candidate set:\n{fence(turn.text)}\nReference set:\n{references}"
        return [Message("system", self.prompts["clair"].text), Message("user", item)]

    async def ask(self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel) -> Judgement[Likelihood]:
        """Ask how likely it is that answer and references say the same."""
        return await ask_verdict(judge, self.messages(turn), Likelihood, check=_on_scale, prompts=self.prompts)

    def values(self, verdict: Likelihood) -> Mapping[str, float]:
        """The score, 0 to 1."""
        return {CRITERION: verdict.score / 100}

    def reasons(self, verdict: Likelihood) -> str:
        """The reason that the judge gave."""
        return verdict.reason

    async def as_official(
        self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel, first: str
    ) -> list[JudgedScore]:
        """The script asks again if it finds no number."""
        tried = [first]
        while len(tried) < TRIES and _asks_again(tried[-1]):
            try:
                reply = await judge.ask(self.messages(turn), schema=json_schema(Likelihood), sample=len(tried))
            except ModelError as error:
                return [unscored_row(unit, COMPAT, judge.name, str(error), turn=turn, replies=tuple(tried))]
            tried.append(reply.text.encode("utf-8", "replace").decode())

        def read() -> float:
            return (compat_score(tried[-1]) or 0.0) / 100

        return [read_as_official(unit, turn, COMPAT, judge.name, tuple(tried), read)]


def compat_score(text: str) -> float | None:
    """The score that the official script reads from a reply, as a rule 0 to 100; None if it asks again.

    The script reads the text from the first `{` to the next `}` as JSON. If that fails it takes the first number, times
    100 if it is below 1.

    Raises:
        OfficialScriptStopsError: The score in the JSON is not a number.
    """
    try:
        found = json.loads("{" + text.split("{")[1].split("}")[0] + "}")["score"]
    except RecursionError:
        raise OfficialScriptStopsError("the JSON is nested too deeply") from None
    except (ValueError, KeyError, IndexError):
        number = _NUMBER.search(text)
        if number is None:
            return None
        score = float(number[0])
        return score * 100 if score < 1 else score
    try:
        return float(found)
    except (TypeError, ValueError):
        raise OfficialScriptStopsError(f"the score is {str(found)[:80]!r}") from None


def _asks_again(text: str) -> bool:
    try:
        return compat_score(text) is None
    except (OfficialScriptStopsError, OverflowError):
        return False


def _on_scale(found: Likelihood) -> str | None:
    if 0 < found.score < 1:
        return f"the score is {found.score}; the scale goes from 0 to 100, not from 0 to 1"
    return None
