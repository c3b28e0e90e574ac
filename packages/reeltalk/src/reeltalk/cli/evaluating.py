"""Commands that run a model on a benchmark, and forecast its requests."""

from pathlib import Path
from typing import Annotated

from reeltalk.cli.evaluation_options import (
    ANSWERING,
    CONTROLS_OPTION,
    JUDGE_MODEL,
    JUDGING,
    LIMITS,
    PLAYING,
    FirstAnswering,
    JudgeModel,
    JudgingOptions,
    Limits,
    Playing,
    PresetName,
    Seconds,
    judge_settings,
    play_settings,
    split_names,
)
from reeltalk.cli.options import DELETE_REPLIES, IN_RUN, IN_START, OVERWRITE, PLAN, VERBOSE
from reeltalk.cli.terminal import ProgressBar, print_run, say
from reeltalk.errors import SettingError
from reeltalk.evaluation.settings import RunConfig
from reeltalk.schema.settings import settings_of


def evaluate(
    benchmark: Path,
    /,
    *,
    model: Annotated[str, IN_START],
    out: Annotated[Path | None, IN_START] = None,
    preset: Annotated[PresetName | None, IN_START] = None,
    limit: Annotated[int | None, IN_START] = None,
    train: Path | None = None,
    answers_format: str | None = None,
    skip_missing: bool = False,
    workers: Annotated[int, IN_RUN] = 2,
    controls: Annotated[tuple[str, ...], CONTROLS_OPTION] = (),
    plan: Annotated[bool, PLAN] = False,
    latency_s: Annotated[Seconds | None, IN_RUN] = None,
    judge_latency_s: Annotated[Seconds | None, IN_RUN] = None,
    playing: Playing = PLAYING,
    judging: JudgingOptions = JUDGING,
    answering: FirstAnswering = ANSWERING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
    delete_replies: Annotated[bool, DELETE_REPLIES] = False,
    verbose: Annotated[bool, VERBOSE] = False,
) -> int:
    """Ask a model a benchmark's dialogues, judge the answers, and write a run.

    Run it again to continue after an interruption, or to repeat failed requests: replies are kept. Exit code 1 if turns
    have no answer or no score, 2 if there is no run.

    Example: `reeltalk evaluate benchmarks/kitchen --model qwen3-vl --base-url http://localhost:8000/v1 --mode streaming
    --out runs/qwen`.

    Parameters
    ----------
    benchmark
        A benchmark with dialogues, chains or paths.
    model
        The model that answers: a model at the address, inspect:PROVIDER/MODEL, transformers:FOLDER, mini for
        reeltalk-mini, or mini:FOLDER for weights of your own, python:MODULE:CLASS, answers:PATH, human:PATH for
        people's answers, baseline:blind, history, constant, ngrams, frames, empty, yes, copied-question or
        reference, oracle, or summary:MODEL.
    out
        Folder of the run. Not needed with --plan.
    preset
        A published design, which fixes frames, history, prompt, metrics and judging.
    limit
        Play the first dialogues or paths only.
    train
        A benchmark that baselines learn from; this one's train split by default.
    answers_format
        Layout of answers:PATH or human:PATH, if PATH is neither a benchmark nor a table (CSV, JSONL) of answers.
    skip_missing
        Leave out dialogues whose video is not available.
    workers
        Videos that are decoded at a time.
    controls
        Also play with other pictures: none, black, shuffled, other-video, separated by commas. The report then shows
        how much the pictures contribute.
    plan
        Forecast the requests, tokens, cost and time; send, decode and write nothing.
    latency_s
        With --plan: seconds per answer. Without it no time is forecast.
    judge_latency_s
        With --plan: seconds per reply of the judge; the same as for an answer by default.
    overwrite
        Replace an existing run. Its stored replies are kept and used again.
    delete_replies
        With --overwrite: also delete the stored replies, so that every request is sent again.
    verbose
        Also print every number, count and reason, and not only the table of the leading metric.
    """
    from reeltalk.evaluation.presets import find_preset
    from reeltalk.stages.evaluating import evaluate as run_stage
    from reeltalk.store.benchmark import Benchmark

    design = find_preset(preset) if preset is not None else None
    config = settings_of(
        RunConfig,
        model=model,
        preset=design,
        play=play_settings(playing, design.play if design else None),
        judging=judge_settings(judging, design.judging if design else None, seed=playing.model_dump()["seed"]),
        asking=answering,
        judge_model=judge_model,
        limits=limits,
        limit=limit,
        answers_format=answers_format,
        skip_missing=skip_missing,
        workers=workers,
        controls=split_names(controls),
    )
    if plan:
        return _plan(benchmark, config, latency_s=latency_s, judge_latency_s=judge_latency_s)
    if latency_s is not None or judge_latency_s is not None:
        raise SettingError("--latency-s and --judge-latency-s are for --plan")
    if out is None:
        raise SettingError("evaluate needs --out, the folder of the run")
    opened = Benchmark.open(benchmark)
    with ProgressBar() as bar:
        done = run_stage(
            opened,
            config,
            out=out,
            train=Benchmark.open(train) if train else None,
            overwrite=overwrite,
            delete_replies=delete_replies,
            progress=bar.show,
            tell=say,
        )
    return print_run(done, verbose=verbose)


def _plan(benchmark: Path, config: RunConfig, *, latency_s: float | None, judge_latency_s: float | None) -> int:
    from reeltalk.evaluation.dry_run import forecast_lines, tokens_of_frame
    from reeltalk.llm.budget import prices_of
    from reeltalk.stages.planning import plan_evaluation
    from reeltalk.store.benchmark import Benchmark

    asking, judge_model = config.asking, config.judge_model
    prices = prices_of(asking.price_in, asking.price_out, "--price")
    judge_prices = prices_of(judge_model.judge_price_in, judge_model.judge_price_out, "--judge-price")
    found = plan_evaluation(Benchmark.open(benchmark), config, tell=say)
    for line in forecast_lines(
        found,
        prices=prices,
        judge_prices=judge_prices,
        connections=config.limits.connections,
        latency_s=latency_s,
        judge_latency_s=judge_latency_s,
        image_tokens=tokens_of_frame(config),
    ):
        print(line)
    return 0
