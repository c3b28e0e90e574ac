"""Commands that judge and score answers, and repeat failed requests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from reeltalk.cli.evaluation_options import (
    JUDGE_MODEL,
    JUDGING,
    LIMITS,
    TEXT_METRICS_OPTION,
    FirstJudging,
    JudgeModel,
    JudgingOptions,
    Limits,
    RetryOptions,
    judge_settings,
)
from reeltalk.cli.options import (
    BENCH,
    DELETE_REPLIES,
    FLAG,
    IN_OUTPUT,
    IN_RUN,
    IN_SELECTION,
    IN_START,
    OVERWRITE,
    VERBOSE,
    TrustOption,
)
from reeltalk.cli.terminal import ProgressBar, ask_consent, print_run, refuse_existing, say, whole_runs
from reeltalk.errors import SettingError
from reeltalk.schema.settings import check_counts, settings_of

RETRY_DEFAULTS: Final = RetryOptions()


def judge(
    *sources: Path,
    out: Annotated[Path | None, IN_START] = None,
    bench: Annotated[Path | None, IN_START, BENCH] = None,
    format: Annotated[str | None, IN_START] = None,
    limit: Annotated[int | None, IN_SELECTION] = None,
    beside: str = "",
    attack: Annotated[Literal["manipulation", "style"] | None, IN_RUN] = None,
    every: int = 1,
    judging: FirstJudging = JUDGING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
    delete_replies: Annotated[bool, DELETE_REPLIES] = False,
    strict: Annotated[bool, FLAG] = False,
    verbose: Annotated[bool, VERBOSE] = False,
) -> int:
    """Judge existing answers: of a run, without playing it again, or of a published file.

    Run it again to continue after an interruption, or to repeat failed requests. Exit code 1 if turns have no score,
    or a run of several is damaged: it is named, and the others are judged. Exit code 2 if there is no run.

    With --attack manipulation, test the judge with adversarial answers that try to manipulate it: constants, fake
    verdicts, orders, and more. The judge also rates a plainly wrong answer and the reference. An attack fools the judge
    if its score is nearer to the score of the reference. Exit code 1 if an attack fooled the judge or escaped its place
    in a request.

    With --attack style, play the references of a run or benchmark, and wrong answers of its own, in the styles in which
    models write ("In the video, …", steps and "Final answer: …", lists, thoughts), and tell what each costs: references
    lost, wrong answers gained. Exit code 1 if the styles together cost more than 2 points or give more than 1.

    Example: `reeltalk judge runs/qwen --protocols vdeval --judge gpt-4o-mini --out runs/qwen-judged`, `reeltalk judge
    results/model.json --format vdact --bench benchmarks/vdact --protocols vdeval --judge NAME --out runs/model`,
    `reeltalk judge --attack manipulation --protocols vdeval --judge gpt-4o-mini --out attacks.json`, or `reeltalk judge
    runs/qwen --attack style`.

    Parameters
    ----------
    sources
        Runs, or files and folders of answers in a published layout.
    out
        Folder of the run to create. With --attack: an optional JSON file for the outcome of every attack.
    bench
        Benchmark that the answers are about; it supplies questions, references, summaries and graphs. A run names its
        own benchmark.
    format
        Layout of the answers; not needed for runs.
    limit
        Judge only the first chains, paths or dialogues of each model.
    beside
        Comma-separated kinds of answers to judge as well, to test the judge: reference, yes, copied-question.
    attack
        Attack the judge, with answers that try to manipulate it or with the benchmark's own in other styles.
    every
        With --attack: use only every Nth attack, or every Nth chain, path and dialogue.
    overwrite
        Replace an existing run or file. Stored replies of a run are kept and used again.
    delete_replies
        With --overwrite: also delete the stored replies, so that every request is sent again.
    strict
        Stop at the first run that is damaged.
    verbose
        Also print every number, count and reason, and not only the table of the leading metric.
    """
    if attack is not None:
        told = "--protocols, the judge, --every and --out only"
        if format is not None or limit is not None or beside or delete_replies:
            raise SettingError(f"--attack judges no model's answers; give {told}, and a run or --bench for its style")
        if attack == "manipulation" and (sources or bench is not None):
            raise SettingError(f"--attack manipulation takes no answers; give {told}")
        for name in ("metrics", "language", "null_units"):
            if getattr(judging, name) is not None:
                raise SettingError(f"--{name.replace('_', '-')} has no effect with --attack; leave it out")
        if verbose:
            raise SettingError("--verbose has no effect with --attack, which prints all numbers; leave it out")
        return _attack(attack, sources, bench, out, every, judging, judge_model, limits, overwrite=overwrite)
    if every != 1:
        raise SettingError("--every is for --attack")
    if out is None:
        raise SettingError("judge needs --out, the folder of the run that appears")
    from reeltalk.stages.judging import judge as run_stage
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import INFO, Run

    runs = [source for source in sources if (source / INFO).is_file()]
    whole, code = whole_runs(runs, strict=strict)
    damaged = {*runs} - {run.path if isinstance(run, Run) else run for run in whole}
    with ProgressBar() as bar:
        done = run_stage(
            *(source for source in sources if source not in damaged),
            out=out,
            judging=judge_settings(judging, None),
            judge_model=judge_model,
            limits=limits,
            benchmark=Benchmark.open(bench) if bench else None,
            format=format,
            limit=limit,
            beside=[name.strip() for name in beside.split(",") if name.strip()],
            overwrite=overwrite,
            delete_replies=delete_replies,
            progress=bar.show,
            tell=say,
        )
    return max(code, print_run(done, verbose=verbose))


def _attack(
    attack: Literal["manipulation", "style"],
    sources: Sequence[Path],
    bench: Path | None,
    out: Path | None,
    every: int,
    judging: JudgingOptions,
    judge_model: JudgeModel,
    limits: Limits,
    *,
    overwrite: bool,
) -> int:
    from reeltalk.stages import calibrating
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.documents import write_json

    check_counts(every=every)
    refuse_existing(out, overwrite=overwrite)
    settings = judge_settings(judging, None)
    if attack == "style":
        benchmark = Benchmark.open(bench) if bench is not None else None
        reports = calibrating.attack_style(
            *sources,
            judging=settings,
            judge_model=judge_model,
            limits=limits,
            benchmark=benchmark,
            every=every,
            tell=say,
        )
    else:
        reports = calibrating.attack(settings, judge_model=judge_model, limits=limits, every=every, tell=say)
    for report in reports:
        print(report)
    if out is not None:
        write_bytes(out, write_json([report.to_json() for report in reports]).encode())
        print(f"attacks: {out}")
    return 1 if any(report.is_fooled for report in reports) else 0


def retry(
    run: Path,
    /,
    *,
    bench: Annotated[Path | None, BENCH] = None,
    settings: Annotated[RetryOptions, Parameter(name="*")] = RETRY_DEFAULTS,
    trust: TrustOption = False,
    verbose: Annotated[bool, VERBOSE] = False,
) -> int:
    """Repeat only the failed requests of a run of `evaluate` or `judge`; an unfinished run continues.

    The folder stores the command that made the run; options that you do not give stay the same. The old run stays until
    the new one is complete. Exit code 1 if turns still have no answer or no score.

    Example: `reeltalk retry runs/qwen`, or `reeltalk retry runs/qwen --base-url http://localhost:8001/v1`.

    Parameters
    ----------
    run
        Folder of the run. Its controls are retried too.
    bench
        Folder of the benchmark, if it was moved.
    verbose
        Also print every number, count and reason, and not only the table of the leading metric.
    """
    from reeltalk.evaluation.presets import PRESETS
    from reeltalk.stages.retrying import retry as run_stage

    with ProgressBar() as bar:
        how: Any = {"presets": PRESETS, "trust": trust or ask_consent, "progress": bar.show, "tell": say}
        done = run_stage(run, benchmark=bench, **how, **dict(settings))
    return print_run(done, verbose=verbose)


def score(
    *answers: Path,
    out: Annotated[Path, IN_OUTPUT],
    format: str | None = None,
    metrics: Annotated[str, TEXT_METRICS_OPTION] = "bleu,meteor,rouge_l,cider",
    bench: Annotated[Path | None, BENCH] = None,
    model: str | None = None,
    language: Literal["auto", "en", "zh"] = "auto",
    meteor_jar: Annotated[Path | None, Parameter(env_var="REELTALK_METEOR_JAR")] = None,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Score models' answers with text metrics, with intervals clustered by source video.

    Exit code 1 if no metric could be scored.

    Example: `reeltalk score results/*.json --format vdact --metrics bleu,rouge_l,cider --out runs/first`.

    Parameters
    ----------
    answers
        Answer files or folders in a published layout, or benchmarks that hold answers.
    out
        Folder of the run to create.
    format
        Layout of the answers; not needed for a benchmark.
    metrics
        Comma-separated text metrics, as listed below, or python:FILE.py:FUNCTION.
    bench
        Benchmark that supplies questions and references, in place of those in the answer files.
    model
        Name of the model; the file's stem by default.
    language
        Language of the answers; it selects the tokeniser.
    meteor_jar
        Path of meteor-1.5.jar; by default that of an installed pycocoevalcap.
    overwrite
        Replace an existing run.
    """
    from reeltalk.evaluation.settings import ScoreSettings
    from reeltalk.stages.scoring import score as run_stage
    from reeltalk.store.benchmark import Benchmark

    names = tuple(name.strip() for name in metrics.split(",") if name.strip())
    done = run_stage(
        *answers,
        out=out,
        settings=settings_of(ScoreSettings, metrics=names, language=language),
        format=format,
        benchmark=Benchmark.open(bench) if bench else None,
        model=model,
        meteor_jar=meteor_jar,
        overwrite=overwrite,
        tell=say,
    )
    return print_run(done, verbose=True)
