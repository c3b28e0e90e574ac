"""Judges what a model says while it follows a stream: by the keys of a task, by words, or by a language model.

A moment with a key is always judged by the type of the key (`judge.typed`). A language model reads
a reply, the request and what may be said to it, and neither the time of the reply nor the video. Equal replies to
equal requests are judged once.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, model_validator

from reeltalk.errors import InputError
from reeltalk.judge.asking import our_judge_prompts
from reeltalk.judge.checklist import ask_items
from reeltalk.language.answer_reading import read_answer, rules_signature
from reeltalk.llm.fencing import fence
from reeltalk.llm.model import AsyncModel
from reeltalk.llm.prompts import Prompts
from reeltalk.metrics.proactive import RIGHT
from reeltalk.progress import CountProgress
from reeltalk.schema.record import Json
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.documents import parse, read_json
from reeltalk.store.event_log import SessionLog
from reeltalk_streaming.proactive.scores import (
    BY_WORDS,
    Correctness,
    UnjudgedError,
    all_moments,
    answered,
    repeats,
    replies_to_judge,
)

PROMPT: Final = "stream-reply"
VERSION_SEPARATOR: Final = " / "
"""Between the versions of a statement."""


class ReplyToJudge(NamedTuple):
    """A reply to one request, with the references of the request."""

    text: str
    request: str
    """What the user said."""
    statements: tuple[tuple[str, ...], ...]
    """References of the request's moments without a key, each once."""


class JudgedReply(BaseModel):
    """A reply that a language model has judged."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    request: str
    statements: tuple[tuple[str, ...], ...]
    says: tuple[bool, ...] = ()
    """For each statement whether the reply says it; empty if the judgement failed."""
    reason: str | None = None
    """Why the judgement failed."""
    replies: tuple[str, ...] = ()
    """What the judge replied."""

    @model_validator(mode="after")
    def _is_whole(self) -> "JudgedReply":
        if (self.reason is None) != (len(self.says) == len(self.statements)):
            raise ValueError("a reply has a verdict for each statement, or the reason why it has none")
        return self

    @property
    def key(self) -> ReplyToJudge:
        """What was judged."""
        return ReplyToJudge(self.text, self.request, self.statements)


class JudgedReplies(BaseModel):
    """The part of the scores of streams that says how a language model judged the replies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    """Name of the model."""
    signature: str
    """The model, its prompts and its sampling, for signatures."""
    replies: tuple[JudgedReply, ...]


def correctness_of(tasks: Iterable[ProactiveTask], judged: JudgedReplies | None = None) -> Correctness:
    """How it is decided whether replies in some tasks are right.

    Args:
        tasks: The tasks. Their moments with keys are judged by these.
        judged: What a language model said about the others; without it, words decide.
    """
    moments = [moment for task in tasks for request in task.requests for moment in all_moments(request)]
    otherwise = BY_WORDS if judged is None else _by_model(judged)
    if all(moment.key is None for moment in moments):
        return otherwise

    def judge(text: str, moment: Moment, request: UserRequest) -> int:
        return otherwise.judge(text, moment, request) if moment.key is None else _judge_by_key(text, moment, request)

    typed = f"typed-{rules_signature()}"
    keyed = all(moment.key is not None for moment in moments)
    return Correctness(judge, typed if keyed else f"{typed}+{otherwise.signature}")


def _judge_by_key(text: str, moment: Moment, request: UserRequest) -> int:
    assert moment.key is not None
    if repeats(text, request):
        return 0
    return RIGHT if read_answer(request.text, moment.key, text).right else 0


def refused_references(tasks: Iterable[ProactiveTask]) -> Iterator[str]:
    """Sentences on references that are not right by the key of their moment, so that a right reply would be wrong."""
    for task in tasks:
        for place, request in enumerate(task.requests):
            for moment in all_moments(request):
                for reference in moment.references if moment.key is not None else ():
                    assert moment.key is not None
                    found = read_answer(request.text, moment.key, reference)
                    if not found.right:
                        yield (
                            f"task {task.id!r}, request {place}: the reference {reference!r} is not right by its key "
                            f"of type {moment.key.type} ({found.why}); correct the key, or leave it out"
                        )


def _by_model(judged: JudgedReplies) -> Correctness:
    known = {one.key: one for one in judged.replies}

    def judge(text: str, moment: Moment, request: UserRequest) -> int:
        due = _to_judge(text, request)
        if due is None:
            return 0
        found = known.get(due)
        if found is None:
            raise UnjudgedError({text: "no judge was asked about it; score its run with --judge"})
        if found.reason is not None:
            raise UnjudgedError({text: found.reason})
        return RIGHT if found.says[due.statements.index(moment.references)] else 0

    return Correctness(judge, judged.signature)


def _to_judge(text: str, request: UserRequest) -> ReplyToJudge | None:
    """What a judge is asked about a reply to a request; None if nothing is to be asked, because the reply is wrong."""
    statements = dict.fromkeys(moment.references for moment in all_moments(request) if moment.key is None)
    if not statements or repeats(text, request):
        return None
    return ReplyToJudge(text, request.text, tuple(statements))


def replies_due(sessions: Iterable[SessionLog], tasks: Sequence[ProactiveTask]) -> list[ReplyToJudge]:
    """Everything that a language model is asked about some sessions, each once, in the order of the sessions."""
    known = {task.id: task for task in tasks}
    found: dict[ReplyToJudge, None] = {}
    for session in sessions:
        if (task := known.get(session.session)) is None:
            continue
        unasked = [request for request in task.requests if request.act != "ask"]
        said = [(event.text, request) for event in replies_to_judge(session, task) for request in unasked]
        said += [(answer.text, request) for request, answer in answered(session, task) if answer is not None]
        found |= dict.fromkeys(due for text, request in said if (due := _to_judge(text, request)) is not None)
    return list(found)


async def judge_replies(
    due: Sequence[ReplyToJudge],
    model: AsyncModel,
    *,
    prompts: Prompts | None = None,
    at_once: int = 20,
    progress: CountProgress | None = None,
) -> list[JudgedReply]:
    """Ask a language model which statements each reply says.

    Args:
        due: From `replies_due`.
        model: The judge.
        prompts: The judges' prompts; ours by default.
        at_once: Number of replies that are judged at the same time.
        progress: Called with the number of replies judged and of all.

    Returns:
        One for each of `due`, in the same order. A judgement that failed has a reason.

    Raises:
        BudgetError: A limit would be passed; what the judge replied until then is kept.
        OutageError: The judge's server fails for every request.
    """
    chosen, gate, done = prompts or our_judge_prompts(), asyncio.Semaphore(at_once), 0

    async def judged(one: ReplyToJudge) -> JudgedReply:
        nonlocal done
        async with gate:
            found = await ask_items(model, lambda numbers: _words(one, numbers, chosen), len(one.statements), chosen)
        done += 1
        if progress is not None:
            progress(done, len(due))
        said = found.verdict
        says = () if said is None else tuple(said[f"A{number}"] == "Yes" for number in _numbers(one))
        reason = (found.reason or "the judge gave no verdict") if said is None else None
        return JudgedReply(**one._asdict(), says=says, reason=reason, replies=found.replies)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(judged(one)) for one in due]
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return [task.result() for task in tasks]


def _numbers(one: ReplyToJudge) -> range:
    return range(1, len(one.statements) + 1)


def _words(one: ReplyToJudge, numbers: Sequence[int], prompts: Prompts) -> str:
    return prompts[PROMPT].fill(
        request=one.request,
        reply=fence(one.text),
        statements="\n".join(f"{number}. {VERSION_SEPARATOR.join(one.statements[number - 1])}" for number in numbers),
        keys=", ".join(f"A{number}" for number in numbers),
    )


def judge_signature(model: str, prompts: Prompts, sampling: Mapping[str, object] | None = None) -> str:
    """The part of a signature that names a judge and its prompts."""
    sent = (
        ",".join(f"{key}={value}" for key, value in sorted(sampling.items())) or "none" if sampling is not None else ""
    )
    told = f"|judge-sampling:{sent}" if sampling is not None else ""
    return f"{model}|judge-prompt:{prompts[PROMPT].signature}|judge-repair:{prompts['repair'].signature}{told}"


JUDGED_KEY: Final = "judged"
"""Where the scores of streams hold what a language model judged."""


def read_judged(path: Path) -> JudgedReplies:
    """What a language model judged, from the scores that `reeltalk proactive score --judge` wrote.

    Raises:
        InputError: It is not such a file, or no model judged these scores.
    """
    scores = parse(dict[str, Json], read_json(path), file=path)
    if JUDGED_KEY not in scores:
        raise InputError("no model judged these scores", file=path, hint="score the runs with --judge and --out")
    return parse(JudgedReplies, scores[JUDGED_KEY], file=path, place=f"$.{JUDGED_KEY}")
