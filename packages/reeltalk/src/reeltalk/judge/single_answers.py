"""Judges of single answers whose published design is a prompt, a form of reply and a scale. A new one is a `Design`.

Each turn is judged by itself: one request, and one more if the reply cannot be read. With `compat`, the reply is also
read as the official script reads it, defects included.

References: CLAIR (Chan et al., EMNLP 2023, arXiv 2310.12971); LLM-Acc and LLM-Rel of Video-ChatGPT (Maaz et al., ACL
2024, arXiv 2306.05424); LAVE (Mañas, Krojer and Agrawal, AAAI 2024); GPT4-Score of SVBench (ICLR 2025, arXiv
2502.10810), whose prompt names both 0 to 10 and 1 to 10; ours asks for 0 to 10.
"""

import ast
import json
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from reeltalk.errors import ModelError
from reeltalk.judge.asking import Judgement, ask_rating, ask_text, ask_verdict, judge_prompts, our_judge_prompts
from reeltalk.judge.judge import JudgeUnit, unscored_row
from reeltalk.judge.measures import Measure, mean_measure
from reeltalk.judge.protocol import (
    COMPAT,
    LENIENT,
    PER_CENT,
    REFERENCE,
    OfficialSampling,
    Protocol,
    ProtocolCriterion,
    per_cent,
)
from reeltalk.judge.rating import JudgeRating, OfficialScriptStopsError, lave_compat
from reeltalk.judge.settings import JudgeSettings
from reeltalk.judge.svbench_official import gpt_score_fields, official_single_score, read_headed
from reeltalk.judge.turns import GROUPED_BY, SingleTurnJudge, read_as_official, require_model, unscored_rows
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.own_words import own_reply
from reeltalk.llm.prompts import Prompts
from reeltalk.llm.structured import json_schema
from reeltalk.llm.wire import first_problem
from reeltalk.metrics.info import MetricInfo
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.model_texts import plain_characters
from reeltalk.schema.scoring import JudgedScore, ScoreState

LONGEST_READ: Final = 20_000
"""Longest reply, in characters, that is read as a Python literal; no verdict is that long."""
Signature = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Design:
    """What is asked about an answer, what is read of the reply, and what it is worth."""

    messages: Callable[[Prompts, AnsweredTurn], list[Message]]
    """What the judge is shown about a turn that has an answer and references."""
    signature: Callable[[Prompts], Signature]
    """What of the prompts can move a score."""
    values: Callable[[Any], Mapping[str, float]]
    """The scores of a verdict, by criterion."""
    reply: type[BaseModel] | None = None
    """The form of the reply; None: reasons that end in a rating from 1 to 3, a `JudgeRating`."""
    check: Callable[[Any], str | None] | None = None
    """What is wrong with a reply of the right form; None if nothing is."""
    reasons: Callable[[Any], str] = lambda _: ""
    """The reasons of a verdict; empty if the judge is not asked for reasons."""
    official: Callable[[str], Mapping[str, float | None]] = lambda _: {}
    """What the official script reads of a reply, by criterion, or an `OfficialScriptStopsError`; None if nothing."""
    official_prompt: str | None = None
    """The prompt whose reply the script reads; None: it reads our judge's first reply."""
    official_tries: int = 1
    """How often the script asks until it reads something."""
    official_otherwise: float | None = None
    """What the script gives if it reads nothing in the end."""
    left_out: str | None = None
    """Why the script leaves out an answer of which it reads nothing; None: the answer has no official score."""
    groups: Mapping[str, str] = field(default_factory=lambda: {"question_type": "vdact.question_type"})
    """Vocabulary of labels by the name of the group."""
    by: tuple[str, ...] = GROUPED_BY
    due_without_reference: bool = True
    """Whether a turn without a reference is due, and unscored."""


class SingleAnswerJudge(SingleTurnJudge):
    """Judges single answers by a design.

    Args:
        compat: Also score each turn as the official script does, under `CRITERION.compat`.
        published: Ask with the official script's own prompt, and read each reply twice: strictly, and as the script.
        prompts: The judges' prompts; ours by default.
    """

    def __init__(
        self,
        protocol: Protocol,
        design: Design,
        *,
        compat: bool = False,
        published: bool = False,
        prompts: Prompts | None = None,
    ) -> None:
        self.protocol, self.design, self.published = protocol, design, published
        self.compat = compat or published
        self.prompts = prompts or our_judge_prompts()
        self.by = design.by

    @property
    def name(self) -> str:
        """The name in score files: that of its first measure."""
        return self.protocol.measures[0].name

    @property
    def signature(self) -> Signature:
        """The signatures of the prompts."""
        if self.published:
            return (("mode", "published"), ("prompt", self.prompts[f"{self.name}-published"].signature))
        own = self.design.signature(self.prompts)
        if self.compat and self.design.official_prompt is not None:
            return (*own, ("compat", self.prompts[self.design.official_prompt].signature))
        return own

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked, and has a reference if the design counts no others."""
        return (self.design.due_without_reference or bool(turn.references)) and super().is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """The labels by which the design is broken down."""
        return {name: turn.labels.get(vocabulary, ()) for name, vocabulary in self.design.groups.items()}

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """The means over turns; with `published` also the share of replies that were read leniently."""
        found = super().measures(units, scores)
        if self.published:
            criterion = self.protocol.criteria[0].name
            entries = self.entries(units, scores, criterion, value=_was_lenient)
            found.append(mean_measure(f"{self.name}.{LENIENT}", entries, scale=PER_CENT))
        return found

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each criterion; with `compat` twice as many."""
        turn, judge, design = unit.turns[index], require_model(self.name, model), self.design
        judging: Judgement[Any]
        if self.published:
            text = self.prompts[f"{self.name}-published"].fill(**gpt_score_fields(unit, index))
            said = await ask_text(judge, [Message("user", text)])
            judging = _in_official_layout(said, turn.text)
        elif design.reply is None:
            judging = await ask_rating(judge, design.messages(self.prompts, turn), self.prompts)
        else:
            shown = design.messages(self.prompts, turn)
            judging = await ask_verdict(judge, shown, design.reply, check=design.check, prompts=self.prompts)
        found = judging.verdict
        values = {} if found is None else design.values(found)
        why = None if found is None else design.reasons(found) or None
        rows = self.rows_of(unit, turn, judging, values, judge.name, explanation=why)
        if not self.compat:
            return rows
        replies, reason = judging.replies[:1], judging.reason
        if not self.published and design.official_prompt is not None:
            text = self.prompts[design.official_prompt].fill(items=_question_and_answer(turn))
            said = await ask_text(judge, [Message("user", text)])
            replies, reason = said.replies, said.reason
        if not replies:
            official = self.criteria[len(self.protocol.criteria) :]
            return rows + unscored_rows(unit, turn, official, judge.name, reason)
        return rows + await self._as_official(unit, turn, judge, replies)

    async def _as_official(
        self, unit: JudgeUnit, turn: AnsweredTurn, judge: AsyncModel, replies: tuple[str, ...]
    ) -> list[JudgedScore]:
        design, names = self.design, [criterion.name for criterion in self.protocol.criteria]
        while len(replies) < design.official_tries and _reads_nothing(design, replies[-1]):
            try:
                shown, form = design.messages(self.prompts, turn), design.reply
                schema = None if form is None else json_schema(form)
                reply = await judge.ask(shown, schema=schema, sample=len(replies))
            except ModelError as error:
                compat = [f"{name}.{COMPAT}" for name in names]
                return unscored_rows(unit, turn, compat, judge.name, str(error), replies=replies)
            replies = (*replies, reply.text.encode("utf-8", "replace").decode())
        return [self._official_row(unit, turn, name, judge.name, replies) for name in names]

    def _official_row(
        self, unit: JudgeUnit, turn: AnsweredTurn, name: str, judge: str, replies: tuple[str, ...]
    ) -> JudgedScore:
        def read() -> float:
            value = self.design.official(replies[-1])[name]
            value = self.design.official_otherwise if value is None else value
            if value is None:
                raise _NothingReadError
            return value

        try:
            return read_as_official(unit, turn, f"{name}.{COMPAT}", judge, replies, read)
        except _NothingReadError:
            why = self.design.left_out or "the official pattern finds no number"
            row = unscored_row(unit, f"{name}.{COMPAT}", judge, why, turn=turn, replies=replies)
            return row.model_copy(update={"state": ScoreState.NOT_APPLICABLE}) if self.design.left_out else row


class _NothingReadError(Exception):
    pass


def _reads_nothing(design: Design, text: str) -> bool:
    try:
        return None in design.official(text).values()
    except (OfficialScriptStopsError, OverflowError):
        return False


def prompt_signature(*variant: tuple[str, str], **files: str) -> Callable[[Prompts], Signature]:
    """The signature of a design: its variant, and the signatures of prompts by their part in it."""
    return lambda prompts: (*variant, *((part, prompts[name].signature) for part, name in files.items()))


# The descriptions of these records are in the schema that judges are shown.


class Likelihood(BaseModel):
    """What the judge answers."""

    score: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
    reason: str


def _clair_messages(prompts: Prompts, turn: AnsweredTurn) -> list[Message]:
    # The published prompt has no question.
    references = "\n".join(f"- {reference}" for reference in turn.references)
    item = f"Candidate set:\n{fence(turn.text)}\nReference set:\n{references}"
    return [Message("system", prompts["clair"].text), Message("user", item)]


def _within_hundred(found: Likelihood) -> str | None:
    if 0 < found.score < 1:
        return f"the score is {found.score}; the scale goes from 0 to 100, not from 0 to 1"
    return None


def clair_compat(text: str) -> float | None:
    """The score that CLAIR's script reads from a reply, as a rule 0 to 100; None if it asks again.

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
        number = re.search(r"\d*\.?\d+", text)
        if number is None:
            return None
        score = float(number[0])
        return score * 100 if score < 1 else score
    try:
        return float(found)
    except (TypeError, ValueError):
        raise OfficialScriptStopsError(f"the score is {str(found)[:80]!r}") from None


def _clair_official(text: str) -> dict[str, float | None]:
    score = clair_compat(text)
    return {"clair": None if score is None else score / 100}


def _in_lower_case(value: object) -> object:
    return value.strip().rstrip(".!").lower() if isinstance(value, str) else value


class LlmAccVerdict(BaseModel):
    """What the judge answers."""

    model_config = ConfigDict(title="Verdict")

    pred: Annotated[Literal["yes", "no"], BeforeValidator(_in_lower_case)]
    # Not an integer: the published prompt demands integers, but its example is 4.8.
    score: Annotated[float, Field(ge=0, le=5.0, allow_inf_nan=False)]


def _llm_acc_messages(prompts: Prompts, turn: AnsweredTurn) -> list[Message]:
    right = turn.references[0]
    if len(turn.references) > 1:
        right = ", ".join(f"'{reference}'" for reference in turn.references)
    item = f"Question: {turn.question}\nCorrect answer: {right}\nPredicted answer: {fence(turn.text)}"
    return [Message("system", prompts["llm_acc"].text), Message("user", item)]


def llm_acc_compat(text: str) -> tuple[bool | None, int]:
    """The verdict that Video-ChatGPT's script reads from a reply, and the score cut to an integer.

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


def _llm_acc_official(text: str) -> dict[str, float | None]:
    right, score = llm_acc_compat(text)
    return {"llm_acc": None if right is None else float(right), "llm_rel": score}


def _lave_messages(prompts: Prompts, turn: AnsweredTurn) -> list[Message]:
    """The part that all turns share comes first; questions of yes and no have demonstrations of their own."""
    examples = prompts["lave_binary" if is_binary(turn.references) else "lave_general"].text
    system = prompts["lave"].fill(caption_rule="", demonstrations=examples)
    item = (
        f"Question: {turn.question}\nReference answers: {shown_references(turn.references)}\n"
        f"Candidate answer: {fence(turn.text)}\nOutput: "
    )
    return [Message("system", system), Message("user", item)]


def is_binary(references: Sequence[str]) -> bool:
    """True if the most frequent reference is yes or no, in any case, with or without a full stop."""
    most = Counter(references).most_common(1)[0][0]
    return most.lower().rstrip(".") in ("yes", "no")


def frequent_references(references: Sequence[str]) -> list[str]:
    """References without those that occur at most a quarter as often as the most frequent one, in order."""
    counts = Counter(references)
    most = max(counts.values())
    return [reference for reference in references if counts[reference] / most > 0.25]


def shown_references(references: Sequence[str]) -> str:
    """References as LAVE's judge sees them: without outliers, sorted, quoted and joined by commas."""
    return ", ".join(f"'{reference}'" for reference in sorted(frequent_references(references)))


class AccuracyVerdict(BaseModel):
    """What a judge says of one answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rationale: str
    accuracy: Annotated[int, Field(ge=0, le=10)]


def _question_and_answer(turn: AnsweredTurn) -> str:
    return f"Question: {turn.question}\nReference answer: {turn.references[0]}\nAnswer:\n{fence(turn.text)}"


def _was_lenient(row: JudgedScore) -> float | None:
    return None if row.value is None else float(row.lenient)


def _in_official_layout(said: Judgement[str], answer: str) -> Judgement[AccuracyVerdict]:
    """Read a verdict in SVBench's official layout."""
    if said.verdict is None:
        return Judgement(None, said.replies, said.reason)
    marks, reasons, lenient = read_headed(plain_characters(own_reply(said.verdict)), {"accuracy": "Accuracy"}, [answer])
    if reasons:
        return Judgement(None, said.replies, reasons["accuracy"])
    try:
        return Judgement(AccuracyVerdict(rationale="", **marks), said.replies, lenient=lenient)
    except ValidationError as error:
        return Judgement(None, said.replies, first_problem(error))


def _rating_share(rating: JudgeRating) -> dict[str, float]:
    return {"lave": (rating.value - 1) / 2}


DESIGNS: Final[Mapping[str, Design]] = {
    "clair": Design(
        messages=_clair_messages,
        signature=prompt_signature(prompt="clair", repair="repair"),
        reply=Likelihood,
        check=_within_hundred,
        values=lambda verdict: {"clair": verdict.score / 100},
        reasons=lambda verdict: str(verdict.reason),
        official=_clair_official,
        official_tries=3,
        official_otherwise=0.0,
    ),
    "llm-acc": Design(
        messages=_llm_acc_messages,
        signature=prompt_signature(prompt="llm_acc", repair="repair"),
        reply=LlmAccVerdict,
        values=lambda verdict: {"llm_acc": float(verdict.pred == "yes"), "llm_rel": verdict.score},
        official=_llm_acc_official,
        left_out="the judge says neither yes nor no; the official script leaves the answer out of the share",
    ),
    "lave": Design(
        messages=_lave_messages,
        signature=prompt_signature(
            ("caption", "none"), prompt="lave", general="lave_general", binary="lave_binary", repair="rating_repair"
        ),
        values=_rating_share,
        reasons=lambda rating: str(rating.rationale),
        official=lambda text: {"lave": (lave_compat(text) - 1) / 2},
    ),
    "gpt-score": Design(
        messages=lambda prompts, turn: [
            Message("user", prompts["gpt-score"].fill(items=_question_and_answer(turn)))
        ],
        signature=prompt_signature(prompt="gpt-score", repair="repair"),
        reply=AccuracyVerdict,
        values=lambda verdict: {"accuracy": float(verdict.accuracy)},
        reasons=lambda verdict: str(verdict.rationale),
        official=lambda text: {"accuracy": official_single_score(text)},
        official_prompt="gpt-score-compat",
        # Broken down by the skill that a linked turn asks for, this is SVBench's table of skills.
        groups={"skill": "svbench.skill"},
        by=("skill", "turn"),
        due_without_reference=False,
    ),
}  # fmt: skip


def single_answer_judge(
    name: str, *, compat: bool = False, published: bool = False, prompts: Prompts | None = None
) -> SingleAnswerJudge:
    """The judge of a design of `DESIGNS`; for the arguments see `SingleAnswerJudge`."""
    protocol = next(one for one in PROTOCOLS if one.name == name)
    return SingleAnswerJudge(protocol, DESIGNS[name], compat=compat, published=published, prompts=prompts)


def _create(name: str) -> Callable[[JudgeSettings], SingleAnswerJudge]:
    return lambda settings: single_answer_judge(
        name,
        compat=settings.compat,
        published=settings.published and name == "gpt-score",
        prompts=judge_prompts(settings.prompts),
    )


PROTOCOLS: Final = (
    Protocol(
        name="clair",
        title="CLAIR",
        help="Each answer by itself: how likely it says the same as the references, 0 to 1.",
        create=_create("clair"),
        criteria=(ProtocolCriterion("clair", "CLAIR", pass_mark=0.5),),
        needs=REFERENCE,
        measures=(MetricInfo("clair", "CLAIR"),),
        credit_rank=90,
        source="CLAIR (EMNLP 2023)",
    ),
    Protocol(
        name="llm-acc",
        title="LLM-Acc",
        help="Each answer by itself: right or wrong, and how well it matches, 0 to 5.",
        create=_create("llm-acc"),
        criteria=(
            ProtocolCriterion(
                "llm_acc", "LLM-Acc", pass_mark=0.5, rating_title="Right or wrong", levels={"1": "right", "0": "wrong"}
            ),
            ProtocolCriterion(
                "llm_rel", "LLM-Rel", 0.0, 5.0, rating_title="Match with the reference",
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
        measures=(MetricInfo("llm_acc", "LLM-Acc"), MetricInfo("llm_rel", "LLM-Rel", 0.0, 5.0)),
        credit_rank=100,
        rating="1",
        source="Video-ChatGPT (ACL 2024)",
    ),
    Protocol(
        name="lave",
        title="LAVE",
        help="Each answer by itself, after eight examples: 0, 0.5 or 1.",
        create=_create("lave"),
        criteria=(
            ProtocolCriterion(
                "lave", "LAVE", pass_mark=0.75, rating_title="Correctness beside the reference", step=0.5,
                levels={
                    "1": "correct",
                    "0.5": "ambiguous or incomplete",
                    "0": "incorrect; also an answer to a yes or no question that says neither",
                },
            ),
        ),
        needs=REFERENCE,
        measures=(MetricInfo("lave", "LAVE"),),
        credit_rank=80,
        rating="1",
        source="LAVE (AAAI 2024)",
    ),
    Protocol(
        name="gpt-score",
        title="GPT-Score",
        help="Each answer by itself: how accurate it is, 0 to 10, shown as 0 to 100.",
        create=_create("gpt-score"),
        criteria=(
            ProtocolCriterion(
                "accuracy", "GPT-Score, accuracy", 0.0, 10.0, pass_mark=5.0, rating_title="Accuracy",
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
        measures=(per_cent("gpt-score", "GPT-Score"),),
        credit_rank=110,
        # Version 1 called the criterion `gpt-score`.
        rating="2",
        source="SVBench (ICLR 2025)",
        # The client that its scripts import is not in their repository.
        official=OfficialSampling(),
    ),
)  # fmt: skip
