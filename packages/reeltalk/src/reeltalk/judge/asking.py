"""Asks a judge model and reads its reply. A reply that cannot be read is asked for once more.

All replies are kept. Nothing here scores: a judgement that failed has a reason and the replies that led to it.
"""

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Generic, TypeVar

from pydantic import BaseModel

from reeltalk.errors import ModelError
from reeltalk.judge.rating import JudgeRating, read_rating
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.llm.own_words import is_echo
from reeltalk.llm.prompts import PromptGroup, Prompts, our_prompts, prompts_in
from reeltalk.llm.replies import RecordingModel
from reeltalk.llm.structured import REPAIR, REPEATED_CHARS, MalformedReplyError, ask_for_async

PROMPTS: Final = Path(__file__).parent / "prompts"
FORMS: Final = PROMPTS / "forms.toml"
UNUSABLE_REPLIES: Final = "neither reply could be used"
"""Begins the reason of a verdict that could not be read twice."""

T = TypeVar("T")
RecordT = TypeVar("RecordT", bound=BaseModel)


@dataclass(frozen=True)
class Judgement(Generic[T]):
    """The result of asking a judge about one item."""

    verdict: T | None
    """None if no reply could be read."""
    replies: tuple[str, ...]
    """The raw replies: one, two if the first could not be used, none if the judge was not reached."""
    reason: str | None = None
    """Why there is no verdict, if there is none."""
    lenient: bool = False
    """True if the reply did not keep to the form that was asked for."""


@cache
def judge_prompt_group() -> PromptGroup:
    """The judges' prompts, and the requirements on a user's own."""
    forms = tomllib.loads(FORMS.read_text(encoding="utf-8"))
    return PromptGroup(
        "judge",
        {path.stem: path for path in sorted(PROMPTS.glob("*.md"))} | {"repair": REPAIR},
        optional={name: frozenset(form.get("optional", ())) for name, form in forms.items()},
        replies={name: tuple(form["reply"]) for name, form in forms.items()},
        without={
            name: f"make it with 'reeltalk prompts --from {form['from']} --clone PATH --out DIR'"
            for name, form in forms.items()
            if "from" in form
        },
        needed={name: frozenset(form["needs"]) for name, form in forms.items() if "needs" in form},
    )


@cache
def our_judge_prompts() -> Prompts:
    """The judges' prompts that reeltalk brings."""
    return our_prompts(judge_prompt_group())


def judge_prompts(folder: Path | None) -> Prompts:
    """The judges' prompts from a folder, completed by ours.

    Args:
        folder: A user's folder of prompts; None: all prompts are ours.

    Raises:
        SettingError: The folder does not exist.
        InputError: A file cannot replace our prompt.
    """
    return our_judge_prompts() if folder is None else prompts_in(folder, judge_prompt_group())


async def ask_rating(model: AsyncModel, messages: Sequence[Message], prompts: Prompts) -> Judgement[JudgeRating]:
    """Ask for reasons that end in `So rating=` and a number from 1 to 3.

    Args:
        model: The judge.
        messages: The conversation. A reply without a rating is added to it once, with the reason.
        prompts: The judges' prompts; one of them asks again.

    Raises:
        BudgetError: A limit would be passed.
    """
    heard = RecordingModel(model)
    conversation = list(messages)
    reasons: list[str] = []
    while len(reasons) < 2:
        try:
            reply = await heard.ask(conversation)
        except ModelError as error:
            return Judgement(None, heard.replies, str(error))
        try:
            if reply.cut_off:
                raise MalformedReplyError(
                    "it was cut off at the longest length that is allowed; write less", reply.text
                )
            return Judgement(read_rating(reply.text, [message.text for message in messages]), heard.replies)
        except MalformedReplyError as error:
            reasons.append(error.reason)
        again = prompts["rating_repair"].fill(reason=reasons[-1])
        conversation += [Message("assistant", reply.text[:REPEATED_CHARS]), Message("user", again)]
    return Judgement(None, heard.replies, _both(reasons))


async def ask_verdict(
    model: AsyncModel,
    messages: Sequence[Message],
    kind: type[RecordT],
    *,
    check: Callable[[RecordT], str | None] | None = None,
    sample: int = 0,
    prompts: Prompts | None = None,
) -> Judgement[RecordT]:
    """Ask for a verdict as JSON.

    A reply with two different verdicts cannot be used, since one may be a quotation. Nor can a verdict with reasons
    that the judge was shown word for word, as in the example of the format.

    Args:
        model: The judge.
        messages: The conversation.
        kind: A pydantic model; its schema is sent too.
        check: Returns what is wrong with a record of the right type; None if nothing is.
        sample: Number of the judging, if the same is judged several times.
        prompts: The judges' prompts, of which one asks again; ours by default.

    Raises:
        BudgetError: A limit would be passed.
    """
    repair = (prompts or our_judge_prompts())["repair"]

    def own(record: RecordT) -> str | None:
        if is_echo(record.model_dump(mode="json", exclude_unset=True), [message.text for message in messages]):
            return "it stands word for word in what was shown to you; give a verdict of your own"
        return check(record) if check is not None else None

    heard = RecordingModel(model)
    try:
        asked = await ask_for_async(heard, messages, kind, check=own, sample=sample, repair=repair)
    except ModelError as error:
        return Judgement(None, heard.replies, str(error))
    if asked.record is None:
        return Judgement(None, heard.replies, _both(asked.reasons))
    return Judgement(asked.record, heard.replies)


async def ask_text(model: AsyncModel, messages: Sequence[Message], *, sample: int = 0) -> Judgement[str]:
    """Ask for a text once and without a schema, as the official scripts do.

    Raises:
        BudgetError: A limit would be passed.
    """
    heard = RecordingModel(model)
    try:
        await heard.ask(messages, sample=sample)
    except ModelError as error:
        return Judgement(None, (), str(error))
    return Judgement(heard.replies[0], heard.replies)


def _both(reasons: Sequence[str]) -> str:
    return f"{UNUSABLE_REPLIES}: {reasons[0]}; then {reasons[-1]}"
