"""Judges answers by checklists of yes/no questions, as MT-Video-Bench does (arXiv 2510.17722).

Replies and items are matched by key, and the denominator is always the number of items. The requests of the official
script and its way to read replies are here too, including its defects.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, create_model

from reeltalk.errors import SettingError
from reeltalk.judge.asking import Judgement, ask_text, ask_verdict, judge_prompts, our_judge_prompts
from reeltalk.judge.checklist_measures import COMPAT, MTV, checklist_measures, has_items
from reeltalk.judge.judge import JudgeUnit, not_applicable_row, score_row, unscored_row
from reeltalk.judge.measures import Measure
from reeltalk.judge.protocol import PER_CENT, MeasurePart, Need, OfficialSampling, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import no_answer_reason, require_model
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.own_words import own_reply
from reeltalk.llm.prompts import Prompts
from reeltalk.llm.structured import MalformedReplyError, read_amid_prose, read_record
from reeltalk.metrics.info import AMOUNT_DECIMALS
from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import ChecklistItem
from reeltalk.schema.scoring import JudgedScore

ERROR: Final = "[ERROR] "
"""The official inference scripts store this and the error in place of an answer that failed."""

PLACEHOLDER_ANSWER: Final = "No need for this ability to answer."
"""What MT-Video-Bench's scripts store as the answer to a round that is not asked."""

_FENCE: Final = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)

NAME: Final = "checklist"
ACCURACY: Final = "accuracy"
EVAL_ROUNDS: Final = 3
REFERENCE: Final = "reference"
"""Name of the model in a unit whose references are judged."""

OFFICIAL_ITEMS: Final = 5
"""Replies that the official prompt always asks for."""
OFFICIAL_TRIES: Final = 5
"""How often the official script asks until a reply is JSON."""
PUBLISHED: Final = "checklist-published"
"""The prompt of the official script; reeltalk does not bring its text."""
PROMPT_OF: Final = {"v1": "checklist-with-reference", "v2": "checklist"}


class ChecklistJudge:
    """MT-Video-Bench's checklists: criterion `accuracy`, 0 to 1, a row per turn and eval round."""

    needs_model = True
    name = NAME

    def __init__(
        self,
        *,
        eval_rounds: int = EVAL_ROUNDS,
        compat: bool = False,
        version: Literal["v1", "v2"] = "v2",
        published: bool = False,
        prompts: Prompts | None = None,
    ) -> None:
        """Choose the variant.

        Args:
            eval_rounds: Number of judgings of each answer, at least 1.
            compat: Also judge in the official layout, which always asks for five replies, and average as the official
                script does: criterion `accuracy.compat`. The text that replaces a failed answer is judged as an answer,
                as it is there.
            version: `v1` also shows question and reference to the judge. Scores of the two are not comparable.
            published: Ask as the official script does, and read each reply twice: by key, and as the script reads it.
            prompts: The judges' prompts; ours by default.

        Raises:
            SettingError: `eval_rounds` is below 1.
        """
        if eval_rounds < 1:
            raise SettingError(
                f"eval_rounds is {eval_rounds}, but an answer must be judged at least once; give 1 or more"
            )
        self.eval_rounds, self.version = eval_rounds, version
        self.compat, self.published, self.prompts = compat or published, published, prompts or our_judge_prompts()

    @property
    def reads(self) -> frozenset[str]:
        """Checklists, and references if the judge is shown any; numbers are broken down by scenes and lengths."""
        fields = self.prompts[PUBLISHED].fields if PUBLISHED in self.prompts and self.published else {"reference"}
        shown = {"references"} if self.version == "v1" and "reference" in fields else set[str]()
        return frozenset({"checklist", "clips", "duration_s"} | shown)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The prompts and the variant."""
        how = (("version", self.version), ("eval_rounds", str(self.eval_rounds)))
        if self.published:
            return (("mode", "published"), ("prompt", self.prompts[PUBLISHED].signature), *how)
        parts = (
            ("prompt", self.prompts[PROMPT_OF[self.version]].signature),
            ("repair", self.prompts["repair"].signature),
            *how,
        )
        return (*parts, ("compat", self.prompts["checklist-compat"].signature)) if self.compat else parts

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each turn with a checklist and each eval round; two with `compat`."""
        judging = require_model(NAME, model)
        rows: list[JudgedScore] = []
        for turn in unit.turns:
            if turn.checklist is None or not has_items(turn):
                continue
            items = turn.checklist.items
            for sample in range(self.eval_rounds):
                if turn.state is not AnswerState.ANSWERED:
                    why = no_answer_reason(turn)
                    row = unscored_row if turn.state.is_due else not_applicable_row
                    rows.append(row(unit, ACCURACY, judging.name, why, turn=turn, sample=sample))
                elif not self.published:
                    rows.append(await self._fixed(unit, turn, items, judging, sample))
                if not self.compat:
                    continue
                said = await self._ask_official(turn, items, judging, sample)
                if self.published and said is not None and turn.state is AnswerState.ANSWERED:
                    read = _by_key(said, len(items), turn.text)
                    rows.append(_counted_or_not(unit, turn, items, read, judging.name, sample))
                rows.append(_official(unit, turn, items, said, judging.name, sample))
        return rows

    async def _fixed(
        self, unit: JudgeUnit, turn: AnsweredTurn, items: Sequence[ChecklistItem], model: AsyncModel, sample: int
    ) -> JudgedScore:
        """The share of items that are as expected."""
        judged = await ask_items(
            model, lambda due: self._prompt(turn, items, due), len(items), self.prompts, sample=sample
        )
        return _counted_or_not(unit, turn, items, judged, model.name, sample)

    def _prompt(self, turn: AnsweredTurn, items: Sequence[ChecklistItem], due: Sequence[int]) -> str:
        context: Mapping[str, str] = {}
        if self.version == "v1":
            context = {"asked": turn.question, "reference": turn.references[0] if turn.references else "(none)"}
        return self.prompts[PROMPT_OF[self.version]].fill(
            answer=fence(turn.text),
            questions=_numbered(items, due),
            keys=", ".join(f"A{number}" for number in due),
            **context,
        )

    async def _ask_official(
        self, turn: AnsweredTurn, items: Sequence[ChecklistItem], model: AsyncModel, sample: int
    ) -> Judgement[str] | None:
        """The judge's replies in the official layout; None if the official script leaves the round out."""
        answer = official_answer(turn)
        if answer is None:
            return None
        if self.published:
            text = self.prompts[PUBLISHED].fill(**checklist_fields(turn, answer, items))
        else:
            context = ""
            if self.version == "v1":
                reference = turn.references[0] if turn.references else "(none)"
                context = f"What was asked: {turn.question}\n\nThe reference answer: {reference}\n\n"
            text = self.prompts["checklist-compat"].fill(
                context=context, answer=fence(answer), questions=_numbered(items, range(1, len(items) + 1))
            )
        replies: tuple[str, ...] = ()
        said = Judgement[str](None, ())
        while len(replies) < OFFICIAL_TRIES and (said.verdict is None or official_replies(said.verdict) is None):
            # Judgings are numbered below; the same request again is another sample.
            number = sample + self.eval_rounds * len(replies)
            said = await ask_text(model, [Message("user", text)], sample=number)
            if said.verdict is None:
                break
            replies += said.replies
        return dataclasses.replace(said, replies=replies)

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`mtv` first: the mean of the tasks; then each task, the floor, what exceeds it, and the rounds' spread."""
        official = self.version if self.compat else None
        return checklist_measures(
            units, scores, eval_rounds=self.eval_rounds, compat=official, published=self.published
        )


def _official(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    items: Sequence[ChecklistItem],
    said: Judgement[str] | None,
    judge: str,
    sample: int,
) -> JudgedScore:
    """A reply as the official script reads it."""
    name = f"{ACCURACY}{COMPAT}"
    if said is None:
        reason = "the official script leaves out a round whose answer is not in the file"
        return unscored_row(unit, name, judge, reason, turn=turn, sample=sample)
    returned = official_replies(said.verdict) if said.verdict is not None else None
    if returned is None:
        reason = said.reason or "the official script takes no replies from it"
        return unscored_row(unit, name, judge, reason, turn=turn, replies=said.replies, sample=sample)
    value = official_run_accuracy(returned, [_word(item) for item in items])
    return score_row(unit, name, judge, value, turn=turn, replies=said.replies, sample=sample)


def _by_key(said: Judgement[str], count: int, answer: str) -> Judgement[dict[str, str]]:
    """The first of the replies in the official layout that can be read by key. The script always asks for five."""
    reason = said.reason
    for reply in said.replies:
        try:
            found, lenient = _read_keys(reply, max(OFFICIAL_ITEMS, count), answer)
        except MalformedReplyError as error:
            reason = error.reason
            continue
        missing = [f"A{number}" for number in range(1, count + 1) if f"A{number}" not in found]
        if not missing:
            return Judgement(found, said.replies, lenient=lenient)
        reason = f"the judge leaves out {', '.join(missing)}"
    return Judgement(None, said.replies, reason)


def _read_keys(text: str, count: int, answer: str) -> tuple[dict[str, str], bool]:
    """The verdicts of a reply by key, and whether the reply had to be read leniently."""
    keys = tuple(f"A{number}" for number in range(1, count + 1))
    lenient = False
    try:
        record = read_record(text, replies_to(keys), shown=[answer])
    except MalformedReplyError:
        record, lenient = read_amid_prose(text, replies_to(keys, lenient=True), shown=[answer]), True
    found = record.model_dump(exclude_unset=True)
    prose = own_reply(text, [answer])
    for number, key in enumerate(keys, start=1):
        if key in found and any(told != found[key] for told in _find_verdicts(prose, number)):
            raise MalformedReplyError(f"its words about item {number} contradict its verdict", text)
    return found, lenient


def _find_verdicts(prose: str, number: int) -> Iterator[str]:
    """Yes or No for each line about an item on which one of the two stands as a verdict."""
    lines = rf"^(?:.*\b(?:[AQ]|Question|question|Item|item)\s*|[\W_]*){number}\b(.*)"
    for found in re.finditer(lines, prose, re.MULTILINE):
        about = re.split(r"\b[AQ]\d", found[1])[0]
        told = {word.capitalize() for word in re.findall(r"\b(Yes|No|YES|NO)\b(?=\s*(?:[^\w\s/]|$))", about)}
        if len(told) == 1:
            yield told.pop()


async def ask_items(
    model: AsyncModel,
    words: Callable[[Sequence[int]], str],
    count: int,
    prompts: Prompts | None = None,
    *,
    sample: int = 0,
) -> Judgement[dict[str, str]]:
    """Ask yes or no about numbered items, then once more about those that were left out.

    Args:
        model: The judge.
        words: Returns the prompt for the items with these numbers, from 1.
        count: Number of items.
        prompts: The judges' prompts; ours by default.
        sample: Number of the judging.

    Returns:
        `Yes` or `No` by key, as `A1`; no verdict if an item has no reply.

    Raises:
        BudgetError: A limit would be passed.
    """
    said: dict[str, str] = {}
    replies: tuple[str, ...] = ()
    due = tuple(range(1, count + 1))
    reason: str | None = None
    for _ in range(2):
        kind = replies_to(tuple(f"A{number}" for number in due))
        verdict = await ask_verdict(
            model, [Message("user", words(due))], kind, check=_some_reply, sample=sample, prompts=prompts
        )
        replies += verdict.replies
        if verdict.verdict is None:
            reason = verdict.reason
            break
        said |= verdict.verdict.model_dump(exclude_unset=True)
        due = tuple(number for number in due if f"A{number}" not in said)
        if not due:
            return Judgement(said, replies)
    left_out = ", ".join(f"A{number}" for number in due)
    return Judgement(
        None, replies, f"no reply to {left_out}: {reason}" if reason is not None else f"the judge leaves out {left_out}"
    )


@cache
def replies_to(keys: tuple[str, ...], *, lenient: bool = False) -> type[BaseModel]:
    """The record of a judge's replies. A key may be left out, but none may be added.

    The schema demands them all, so that a server that follows it leaves none out.

    Args:
        keys: As `("A1", "A2")`.
        lenient: Read `true` and `Yes, it does` too.
    """
    fields: dict[str, Any] = {key: (_YesNoOrLike if lenient else _YesNo, None) for key in keys}
    config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"required": list(keys)})
    return create_model("ChecklistReplies", __config__=config, **fields)


def _in_any_case(value: Any) -> Any:
    return value.strip().rstrip(".!").capitalize() if isinstance(value, str) else value


def _first_word(value: Any) -> Any:
    if isinstance(value, bool):
        return "Yes" if value else "No"
    found = _WITH_REASON.fullmatch(value.strip()) if isinstance(value, str) else None
    return found[1] if found is not None else value


_WITH_REASON: Final = re.compile(
    r"(yes|no)\s*[-–—:,;(.]\s*(?!.*\b(?:yes|no|but|however|partly|partially|unclear|not sure)\b).*", re.I | re.DOTALL
)
_YesNo = Annotated[Literal["Yes", "No"], BeforeValidator(_in_any_case)]
_YesNoOrLike = Annotated[_YesNo, BeforeValidator(_first_word)]


def _some_reply(record: BaseModel) -> str | None:
    return None if record.model_fields_set else "it replies to no question"


def _counted_or_not(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    items: Sequence[ChecklistItem],
    judged: Judgement[dict[str, str]],
    judge: str,
    sample: int,
) -> JudgedScore:
    if judged.verdict is None:
        reason = judged.reason or ""
        return unscored_row(unit, ACCURACY, judge, reason, turn=turn, replies=judged.replies, sample=sample)
    row = _counted(unit, turn, items, judged.verdict, judge, judged.replies, sample)
    return row.model_copy(update={"lenient": judged.lenient})


def _counted(
    unit: JudgeUnit,
    turn: AnsweredTurn,
    items: Sequence[ChecklistItem],
    said: Mapping[str, str],
    judge: str,
    replies: tuple[str, ...],
    sample: int,
) -> JudgedScore:
    wrong = [f"A{n} {said[f'A{n}']}" for n, item in enumerate(items, start=1) if said[f"A{n}"] != _word(item)]
    return score_row(
        unit,
        ACCURACY,
        judge,
        (len(items) - len(wrong)) / len(items),
        turn=turn,
        explanation=f"not as expected: {', '.join(wrong)}" if wrong else None,
        replies=replies,
        sample=sample,
    )


def _numbered(items: Sequence[ChecklistItem], numbers: Sequence[int]) -> str:
    return "\n".join(f"{number}. {items[number - 1].question}" for number in numbers)


def _word(item: ChecklistItem) -> str:
    return "Yes" if item.expected else "No"


PROTOCOL: Final = Protocol(
    name=NAME,
    title="Checklist",
    help="Each turn with a checklist, several times: the share of its yes or no questions that are met.",
    create=lambda settings: ChecklistJudge(
        eval_rounds=settings.eval_rounds,
        compat=settings.compat,
        version=settings.checklist_version,
        published=settings.published,
        prompts=judge_prompts(settings.prompts),
    ),
    criteria=(ProtocolCriterion(ACCURACY, "Checklist, accuracy", pass_mark=0.5),),
    needs=Need(
        "a checklist",
        lambda turn: turn.checklist is not None and bool(turn.checklist.items),
        "write checklists with 'reeltalk construct BENCH'",
    ),
    measures=(dataclasses.replace(per_cent(MTV, "MT-Video-Bench"), mean_of="tasks"),),
    credit_rank=120,
    parts=(
        MeasurePart("floor", "without content", direction="neither", decimals=AMOUNT_DECIMALS),
        MeasurePart("chance_adjusted", "above the floor", (None, PER_CENT), decimals=AMOUNT_DECIMALS, mean_of="file"),
        MeasurePart(
            "rounds_sd", "deviation between judgings", (None, None), "neither", AMOUNT_DECIMALS, mean_of="file"
        ),
    ),
    open_parts="task",
    source="MT-Video-Bench (arXiv 2510.17722)",
    official=OfficialSampling(),
)


def checklist_fields(turn: AnsweredTurn, answer: str, items: Sequence[ChecklistItem]) -> dict[str, str]:
    """The fields of MT-Video-Bench's official prompt.

    Args:
        answer: Answer of the model.
        items: Items of the checklist; the script numbers them from `Q1`.
    """
    return {
        "model_answer": answer,
        "checklist": "\n".join(f"Q{number}: {item.question}" for number, item in enumerate(items, start=1)),
        "asked": turn.question,
        "reference": turn.references[0] if turn.references else "",
    }


def official_answer(turn: AnsweredTurn) -> str | None:
    """The answer of a turn as the official judging script reads it; None if the script leaves the round out.

    The script treats the texts that mark an error, or a round that was not asked, as answers.
    """
    if turn.text.strip() or turn.state is AnswerState.ANSWERED:
        return turn.text
    if turn.state is AnswerState.NOT_ASKED:
        return PLACEHOLDER_ANSWER
    return None if turn.reason == NOT_IN_SOURCE else f"{ERROR}{turn.reason or 'no answer'}"


def official_replies(text: str) -> list[str] | None:
    """A judge's replies in order, as the official script reads them; None if it reads none.

    The values of the object are the replies; its keys are ignored. JSON that is no object stops the script.

    Args:
        text: The judge's reply, a JSON object, fenced or not.
    """
    fence = _FENCE.search(text)
    try:
        found = json.loads(fence[1] if fence is not None else text)
    except (ValueError, RecursionError):
        return None
    return list(map(str, found.values())) if isinstance(found, dict) else None


def official_run_accuracy(returned: Sequence[str], expected: Sequence[str]) -> float:
    """Accuracy of one judging, 0 to 1 with two decimals; 0 for an empty object.

    Replies and items are paired by their order, not by their keys, and the number of replies is the denominator: a
    judge that also replies to items that are not there lowers the accuracy, one that leaves items out raises it.
    """
    correct = sum(said.lower() == due.lower() for said, due in zip(returned, expected, strict=False))
    return round(correct / len(returned), 2) if returned else 0.0
