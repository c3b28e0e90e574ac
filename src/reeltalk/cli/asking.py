"""What commands that play and judge have in common: whom they ask, by what they judge, how a run is finished."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from reeltalk.cli.app import say, settings_of
from reeltalk.cli.evaluation_options import JudgeModelOptions, LimitOptions, ModelOptions
from reeltalk.errors import SettingError
from reeltalk.evaluate.settings import JudgeSettings

if TYPE_CHECKING:
    from reeltalk.evaluate.judging.judge import Judge
    from reeltalk.evaluate.opening import Asking
    from reeltalk.evaluate.run_folder import RunFolder
    from reeltalk.evaluate.stage import Evaluation, Judging
    from reeltalk.llm import Budget, Prices, ReplyStore
    from reeltalk.schema.runs import SummaryRow
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.content import Content


def check_counts(**options: int | None) -> None:
    """Refuse options that count something and are below 1."""
    for name, value in options.items():
        if value is not None and value < 1:
            raise SettingError(f"--{name} {value}: it must be at least 1")


def prices_of(price_in: float | None, price_out: float | None, option: str) -> "Prices | None":
    """Both prices of a model, or none; one without the other is refused."""
    from reeltalk.llm import Prices

    if (price_in is None) != (price_out is None):
        raise SettingError(f"give both {option}-in and {option}-out, or neither")
    return None if price_in is None or price_out is None else Prices(input=price_in, output=price_out)


@contextlib.contextmanager
def asking_within(folder: "RunFolder", limits: LimitOptions) -> Iterator[tuple["ReplyStore", "Budget"]]:
    """What a run asks within: kept replies, and a budget."""
    from reeltalk.llm import Budget, ReplyStore

    with ReplyStore(limits.replies or folder.replies) as store:
        yield store, Budget(limits.max_calls, limits.max_tokens, limits.max_cost)


def endpoint_of(answering: ModelOptions, limits: LimitOptions) -> "Asking":
    """How the model that answers is asked."""
    from reeltalk.evaluate.opening import Asking
    from reeltalk.llm import Endpoint

    endpoint = settings_of(
        Endpoint,
        model="model",
        base_url=answering.base_url,
        temperature=answering.temperature,
        max_tokens=answering.max_reply_tokens,
        timeout_s=limits.timeout_s,
        max_retries=limits.max_retries,
        backoff_s=limits.backoff_s,
        image_tokens=answering.image_tokens,
        price_in=answering.price_in,
        price_out=answering.price_out,
    )
    return Asking(
        endpoint,
        api_key=os.environ.get(answering.api_key_env),
        connections=limits.connections,
        stream=answering.first_token,
        batch=answering.batch,
        sees_images=answering.sees == "images",
        memory=answering.memory,
    )


@contextlib.contextmanager
def judging_by(
    settings: JudgeSettings,
    options: JudgeModelOptions,
    limits: LimitOptions,
    benchmark: "Benchmark | None",
    store: "ReplyStore",
    budget: "Budget",
) -> Iterator["Judging"]:
    """Judges, their model, and what text metrics need."""
    from reeltalk.errors import MissingToolError
    from reeltalk.evaluate.opening import Asking, opened_judges, served
    from reeltalk.evaluate.stage import Judging
    from reeltalk.inference.embedding import SentenceEmbedder
    from reeltalk.llm import Endpoint
    from reeltalk.metrics.meteor import MeteorProcess
    from reeltalk.metrics.scoring import metric_names

    if settings.metrics:
        metric_names(settings.metrics)  # an unknown name is refused before any work
    judges = opened_judges(settings, benchmark)
    needing = needing_model(judges, options)
    model = None
    if options.judge is not None and needing:
        endpoint = settings_of(
            Endpoint,
            model="judge",
            base_url=options.judge_base_url,
            max_tokens=options.judge_max_reply_tokens,
            timeout_s=limits.timeout_s,
            max_retries=limits.max_retries,
            backoff_s=limits.backoff_s,
            price_in=options.judge_price_in,
            price_out=options.judge_price_out,
        )
        key = os.environ.get(options.judge_api_key_env)
        asking = Asking(endpoint, api_key=key, connections=limits.connections, sees_images=False)
        model = served(options.judge, asking, store, budget)
    with contextlib.ExitStack() as stack:
        meteor: MeteorProcess | MissingToolError | None = None
        if "meteor" in settings.metrics:
            try:
                meteor = stack.enter_context(MeteorProcess(jar=None))
            except MissingToolError as missing:
                say(f"meteor is not scored: {missing}")
                meteor = missing
        yield Judging(
            settings,
            judges,
            model,
            model.model if model is not None else None,
            meteor,
            SentenceEmbedder() if "similarity" in settings.metrics else None,
        )


def needing_model(judges: "tuple[Judge, ...]", options: JudgeModelOptions) -> list[str]:
    """Protocols that need a model; one must be given then."""
    needing = [judge.name for judge in judges if judge.needs_model]
    if needing and options.judge is None:
        raise SettingError(f"{', '.join(needing)} needs a model that judges; give --judge NAME")
    return needing


def background_of(content: "Content", judging: JudgeSettings) -> Any:
    """What a benchmark knows beside the turns, for judges."""
    from reeltalk.evaluate.judging.svbench_compat import streaming_slots
    from reeltalk.evaluate.judging.units import Background, JoinedChains

    if not (judging.compat and "svbench" in judging.protocols and content.chains):
        return Background.of(content)
    from reeltalk.formats.svbench_joins import join_inputs

    joined = [
        JoinedChains(
            f"{read.video_id}/{read.language}/joined",
            read.video_id,
            tuple(read.chain_ids),
            tuple(map(tuple, streaming_slots(read.chains, read.links))),
        )
        for read in join_inputs(content)
    ]
    return Background.of(content, joined)


def finish(
    folder: "RunFolder",
    evaluation: "Evaluation",
    judging: "Judging",
    *,
    subject: str,
    signed: Mapping[str, tuple[tuple[str, str], ...]],
    sources: Mapping[str, tuple[str, str]],
    content: "Content | None",
    settings: dict[str, Any],
    kind: str,
    spent: tuple["Budget", Any, Any],
) -> int:
    """Write the run and print what it says."""
    from reeltalk.evaluate.tables import item_rows, tables_of
    from reeltalk.store.runs import INFO

    budget, player, judge = spent
    if player is not None and player.peak_memory is not None:
        settings = settings | {"peak_memory_bytes": dict(player.peak_memory())}

    info, scored, tables = tables_of(
        evaluation,
        judging,
        subject=subject,
        signed=signed,
        sources=sources,
        background=background_of(content, judging.settings) if content is not None else None,
        settings=settings | {"signed": {model: [list(part) for part in parts] for model, parts in signed.items()}},
        kind=kind,
        progress=say,
    )
    summary = [*tables.summary, *scored.summary]
    folder.finish(
        info,
        answers=evaluation.turns,
        items=item_rows(evaluation, scored, tables),
        summary=summary,
        curves=[*tables.curves, *scored.curves],
        groups=tables.groups,
        judged=evaluation.scores,
    )
    counts = ", ".join(f"{count:,} {state.replace('_', ' ')}" for state, count in sorted(evaluation.counts.items()))
    print(f"turns: {len(evaluation.turns):,} ({counts})")
    _print_summary(summary)
    took = budget.spent
    kept = sum(model.kept for model in (player, judge) if model is not None)
    if took.calls or kept:
        print(f"asked: {took.calls:,} requests, {took.tokens:,} tokens, {kept:,} replies were kept from before")
    print(f"run: {folder.path / INFO}")
    unscored = sum(row.unscored for row in summary)
    return 1 if unscored or evaluation.counts["failed"] else 0


def _print_summary(rows: list["SummaryRow"]) -> None:
    if not rows:
        return
    width = max(len(row.metric) for row in rows)
    wide = max(len(row.model) for row in rows)
    for row in rows:
        value = "not scored" if row.value is None else f"{row.value:.4f}"
        interval = f"[{row.low:.4f}, {row.high:.4f}]" if row.low is not None and row.high is not None else ""
        notes = [
            f"{row.unscored:,} unscored" if row.unscored else "",
            f"{row.not_applicable:,} not applicable" if row.not_applicable else "",
            f"withheld, {row.over_scored:.4f} over what was scored" if row.over_scored is not None else "",
        ]
        ending = "; ".join(note for note in notes if note)
        print(f"{row.model:<{wide}}  {row.metric:<{width}} {value:>12} {interval:<20} n={row.n:,} {ending}".rstrip())
