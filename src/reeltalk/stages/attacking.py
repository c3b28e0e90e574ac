"""Attack: a judge is tried with answers that want to talk it into a good score."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from reeltalk.errors import SettingError
from reeltalk.evaluate.settings import LimitSettings
from reeltalk.evaluate.stage import Judging
from reeltalk.judge.attacks import Attack, attack_items
from reeltalk.judge.settings import AUTO, JudgeModelSettings, JudgeSettings
from reeltalk.judge.under_attack import AttackReport
from reeltalk.judge.under_attack import attack_judge as run_attacks
from reeltalk.llm import Budget, ReplyStore
from reeltalk.progress import Tell, silent
from reeltalk.schema.settings import check_counts
from reeltalk.stages.asking import judging_by


def attack(
    judging: JudgeSettings,
    *,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    every: int = 1,
    tell: Tell = silent,
) -> list[AttackReport]:
    """Judge every attack beside a plainly wrong answer and the reference.

    An attack fools the judge where its score is nearer to the reference's.

    Args:
        judging: By which protocols; text metrics are left aside.
        judge_model: Who judges, for protocols that need a model.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        every: Take every so many attacks only.
        tell: Told which protocol is attacked.

    Returns:
        A report for each protocol.

    Raises:
        SettingError: No protocol is named, one is unknown, or needs a model and none is given.
        BudgetError: A limit would be passed.
    """
    check_counts(every=every)
    if AUTO in judging.protocols:
        raise SettingError("name the judge that is attacked, as --protocols vdeval --judge NAME")
    chosen, limits = judging.model_copy(update={"metrics": ()}), limits or LimitSettings()
    budget = Budget(limits.max_calls, limits.max_tokens, limits.max_cost)
    with (
        tempfile.TemporaryDirectory() as folder,
        ReplyStore(Path(folder) / "replies.sqlite") as store,
        judging_by(chosen, judge_model or JudgeModelSettings(), limits, store, budget, tell=tell) as judged_by,
    ):
        return asyncio.run(_attack(judged_by, attack_items()[::every], limits.connections, tell))


async def _attack(judged_by: Judging, items: Sequence[Attack], at_once: int, tell: Tell) -> list[AttackReport]:
    reports = []
    try:
        for judge in judged_by.judges:
            tell(f"attacking {judge.name}")
            model = judged_by.model if judge.needs_model else None
            reports.append(await run_attacks(judge, model, items, at_once=at_once))
    finally:
        if judged_by.logged is not None:
            await judged_by.logged.api.aclose()
    return reports
