"""Judge what models said in streams with a language model. The same call continues from kept replies."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from reeltalk.errors import SettingError
from reeltalk.evaluation.models import ModelConfig, create_model
from reeltalk.evaluation.settings import LimitSettings
from reeltalk.judge.asking import our_judge_prompts
from reeltalk.judge.settings import JudgeModelSettings
from reeltalk.llm import Budget, ReplyStore
from reeltalk.llm.served import ServedModel
from reeltalk.progress import CountProgress, Tell, ignore_sentences
from reeltalk.schema.server_address import check_server
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.event_log import SessionLog
from reeltalk_streaming.proactive.stream_replies import (
    JudgedReplies,
    JudgedReply,
    judge_replies,
    judge_signature,
    replies_due,
)


def judge_streams(
    sessions: Sequence[SessionLog],
    tasks: Sequence[ProactiveTask],
    judge_model: JudgeModelSettings,
    *,
    replies: Path,
    limits: LimitSettings | None = None,
    progress: CountProgress | None = None,
    tell: Tell = ignore_sentences,
) -> JudgedReplies:
    """Ask a language model whether replies say what is due, for the moments that have no key.

    Args:
        sessions: What was said.
        tasks: The tasks that were played.
        replies: File of the judge's replies. What it holds is not asked again.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        progress: Called with the number of judged replies and of all.
        tell: Receives a sentence about what the server does not take.

    Raises:
        SettingError: No judge is named, or it has no address.
        BudgetError: A limit would be passed. The same call continues.
        OutageError: The judge's server fails for every request.
    """
    if judge_model.judge is None:
        raise SettingError("name the model that judges, as --judge NAME")
    limits, due, prompts = limits or LimitSettings(), replies_due(sessions, tasks), our_judge_prompts()
    if not due:
        tell("no reply is left for the judge: each is decided by keys, or repeats the user's words")
        return JudgedReplies(judge=judge_model.judge, signature=judge_signature(judge_model.judge, prompts), replies=())
    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    with ReplyStore(replies) as store:
        key_variable = None if len(store) else judge_model.judge_api_key_env
        check_server(
            judge_model.judge, judge_model.judge_base_url, key_variable, name="--judge", option="--judge-base-url"
        )
        asking = ModelConfig.for_judging(judge_model, limits, (), published=False, tell=tell)
        model = create_model(judge_model.judge, asking, store, budget)

        async def judged() -> list[JudgedReply]:
            try:
                return await judge_replies(due, model, prompts=prompts, at_once=limits.connections, progress=progress)
            finally:
                await model.close()

        found = asyncio.run(judged())
        return JudgedReplies(judge=model.name, signature=_signature(model), replies=tuple(found))


def _signature(model: ServedModel) -> str:
    # The name alone stands for the sampling that was asked for; what a server does not take is told.
    taken = model.sampling if model.sampling != model.requested_sampling else None
    return judge_signature(model.name, our_judge_prompts(), taken)
