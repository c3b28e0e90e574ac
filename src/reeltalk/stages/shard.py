"""One process of an evaluation that several share: it plays and judges its scripts, and writes what came of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from reeltalk.errors import BenchmarkError, BudgetError
from reeltalk.evaluate.evaluation import Collected
from reeltalk.evaluate.playing.modes import scripts
from reeltalk.llm import Budget, ReplyStore, Spent
from reeltalk.schema.answers import UnitKind
from reeltalk.stages.asking import judging_by, silent
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
