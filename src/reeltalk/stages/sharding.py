"""An evaluation in several processes: scripts, requests at a time and budgets are divided, results joined.

`play_shard` runs in each process: it plays and judges its scripts, and writes the results into a folder of its own.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import BenchmarkError, BudgetError, ProcessError, SettingError
from reeltalk.evaluate.evaluation import Collected
from reeltalk.evaluate.playing.modes import scripts
from reeltalk.evaluate.playing.script import Script
from reeltalk.evaluate.run_folder import RunFolder
from reeltalk.evaluate.shards import shards_of, turns_of
from reeltalk.judge import reference_checks
from reeltalk.llm import Budget, ReplyStore, Spent
from reeltalk.parallel.side_by_side import side_by_side
from reeltalk.progress import Progress, Tell, silent
from reeltalk.schema.answers import UnitKind
from reeltalk.schema.record import Json
from reeltalk.stages.asking import judging_by
from reeltalk.stages.playing import PlayingSettings, choice_of, frame_server, opened, play_scripts
from reeltalk.store.atomic import write_bytes
from reeltalk.store.benchmark import Benchmark


class ShardTask(BaseModel):
    """What a process is told."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    benchmark: Path
    content_hash: str
    """Of the benchmark, as the process that divides the work has read it."""
    train: Path | None
    settings: PlayingSettings
    scripts: tuple[str, ...]
    """What is played, by name."""
    nulled: tuple[tuple[UnitKind, str], ...]
    """Units of the whole run whose empty answers a model judges."""
    max_calls: int | None
    max_tokens: int | None
    max_cost: float | None
    replies: Path
    """File of kept replies; all processes of a run share it."""
    frames: Path
    logs: Path
    result: Path
    """File that appears."""


class ShardResult(BaseModel):
    """What a process hands back."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants", use_attribute_docstrings=True)

    collected: Collected | None
    """None where the process has spent its share of the budget before the end."""
    spent: Spent
    asked: int
    """Questions, those answered from kept replies too."""
    kept: int
    """Questions answered from kept replies."""


def play_shard(argument: Any, told: Callable[[int], None]) -> None:
    """Play and judge some scripts of a run, and write a `ShardResult`.

    Args:
        argument: A `ShardTask` as JSON.
        told: Receives how many turns are done, after each.

    Raises:
        ReeltalkError: As `evaluate`, but where a share of a budget is spent: the result says that.
        KeyboardInterrupt: Ctrl-C; replies are kept.
    """
    task = ShardTask.model_validate(argument)
    settings, benchmark = task.settings, Benchmark.open(task.benchmark)
    if benchmark.manifest.content_hash != task.content_hash:
        raise BenchmarkError(f"{task.benchmark} was changed while it was being played; run the same command again")
    content, own = benchmark.content(), set(task.scripts)
    chosen = [script for script in scripts(content, choice_of(settings.play, None)) if script.id in own]
    budget = Budget(task.max_calls, task.max_tokens, task.max_cost)
    with ReplyStore(task.replies) as store:
        frames = frame_server(settings, benchmark, content, chosen, task.frames)
        train = Benchmark.open(task.train) if task.train else None
        player = opened(settings, benchmark, content, store=store, budget=budget, frames=frames, train=train)
        with judging_by(
            settings.judging, settings.judge_model, settings.limits, store, budget, tell=silent
        ) as judged_by:
            collected: Collected | None = None
            try:
                collected = play_scripts(
                    chosen,
                    settings,
                    content,
                    player,
                    judged_by,
                    frames=frames,
                    logs=task.logs,
                    nulled=frozenset(task.nulled),
                    progress=lambda what, done, due, share: told(done),
                )
            except BudgetError:
                # What is left of the shares of others may do.
                pass
            models: list[Any] = [model for model in (player.model, judged_by.model) if model is not None]
            result = ShardResult(
                collected=collected,
                spent=budget.spent,
                asked=sum(model.asked for model in models),
                kept=sum(model.kept for model in models),
            )
    write_bytes(task.result, result.model_dump_json().encode())


WORK: Final = "reeltalk.stages.sharding:play_shard"


@dataclass(frozen=True)
class Joined:
    """What came of all processes."""

    collected: Collected
    kept: int
    """Questions answered from replies that were kept before the run went on."""


def check_processes(processes: int, model: str) -> None:
    """Refuse several processes where each would load a model of its own onto one device.

    Raises:
        SettingError: The model is one that runs in our own process.
    """
    if processes > 1 and model.startswith("transformers:"):
        raise SettingError(
            f"--processes {processes}: each process would load {model} anew; leave it out, or serve the model and "
            "give --base-url"
        )


def play_in_processes(
    scripts: Sequence[Script],
    processes: int,
    settings: PlayingSettings,
    benchmark: Benchmark,
    *,
    folder: RunFolder,
    budget: Budget,
    nulled: frozenset[reference_checks.UnitKey],
    train: Benchmark | None,
    progress: Progress,
    tell: Tell,
) -> Joined:
    """Play and judge scripts in several processes; the same comes of it as in one.

    Each process has its share of requests at a time and of the budget, in proportion to its turns. What is left of the
    shares when all have ended is divided anew among those whose share was too small.

    Args:
        scripts: What is played.
        processes: How many, at most; no more than videos and than requests at a time.
        settings: Who answers and who judges.
        benchmark: What is played.
        folder: The run.
        budget: What is left of it is divided; what was spent is counted in it.
        nulled: Units whose empty answers a model judges.
        train: A benchmark that baselines learn from.
        progress: Told after each turn, for all processes together.
        tell: Told where there are fewer processes than asked for.

    Raises:
        BudgetError: What is left is not enough for any of those that have not ended; replies are kept.
        ProcessError: A process died; replies are kept.
        ReeltalkError: What went wrong in one of them, as it would in one process.
        KeyboardInterrupt: Ctrl-C; all have ended, and replies are kept.
    """
    shards = shards_of(scripts, min(processes, settings.limits.connections))
    count = len(shards)
    if count < processes:
        tell(f"{count} processes in place of {processes}: there are no more videos, or requests at a time")
    shutil.rmtree(folder.shards, ignore_errors=True)
    due, done = turns_of(scripts), [0] * count
    asked, parts = [0] * count, [Collected()] * count
    kept = 0

    def task(number: int, share: Budget) -> Json:
        scripts, limits = shards[number], settings.limits
        # Text metrics are computed once, over all answers.
        judging = settings.judging.model_copy(update={"metrics": ()})
        # The first ones have one more where it does not come out even.
        limits = limits.model_copy(update={"connections": (limits.connections + count - 1 - number) // count})
        own = settings.model_copy(
            update={"judging": judging, "limits": limits, "workers": max(1, settings.workers // count)}
        )
        return ShardTask(
            benchmark=benchmark.path,
            content_hash=benchmark.manifest.content_hash,
            train=train.path if train else None,
            settings=own,
            scripts=tuple(script.id for script in scripts),
            nulled=tuple(sorted(nulled)),
            max_calls=share.max_calls,
            max_tokens=share.max_tokens,
            max_cost=share.max_cost,
            replies=settings.limits.replies or folder.replies,
            frames=folder.frames,
            logs=folder.logs,
            result=folder.shards / f"{number}.json",
        ).model_dump(mode="json")

    waiting = list(range(count))
    while waiting:
        before = budget.spent
        shares = budget.shares([max(1, turns_of(shards[number])) for number in waiting])

        def told(place: int, turns: int, waiting: list[int] = waiting) -> None:
            done[waiting[place]] = turns
            progress("playing", sum(done), due, sum(done) / max(due, 1))

        tasks = [task(number, share) for number, share in zip(waiting, shares, strict=True)]
        try:
            side_by_side(WORK, tasks, told)
        except ProcessError as error:
            raise ProcessError(f"{error}; every reply is kept, run the same command to go on") from None
        ended: list[int] = []
        for number in waiting:
            result = ShardResult.model_validate_json((folder.shards / f"{number}.json").read_bytes())
            budget.count(result.spent)
            asked_anew = result.asked - result.kept
            # Replies of the rounds before are kept, too, but not from before.
            kept += max(0, result.kept - asked[number]) if result.collected is not None else 0
            asked[number] += asked_anew
            if result.collected is not None:
                parts[number] = result.collected
                ended.append(number)
        waiting = [number for number in waiting if number not in ended]
        if waiting and (budget.is_spent or budget.spent == before):
            raise budget.error()
    shutil.rmtree(folder.shards, ignore_errors=True)
    return Joined(Collected.joined(parts), kept)
