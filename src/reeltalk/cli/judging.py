"""Commands that judge answers, and that try judges with attacks."""

from pathlib import Path
from typing import Annotated

from reeltalk.cli.app import DELETE_REPLIES, OVERWRITE, Bar, app, print_run, refuse_existing, say
from reeltalk.cli.evaluation_options import JUDGE_MODEL, JUDGING, LIMITS, JudgeModel, JudgingOptions, Limits
from reeltalk.schema.settings import check_counts


@app.command(sort_key=6)
def judge(
    *sources: Path,
    out: Path,
    bench: Path | None = None,
    format: str | None = None,
    limit: int | None = None,
    beside: str = "",
    judging: JudgingOptions = JUDGING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
    delete_replies: Annotated[bool, DELETE_REPLIES] = False,
) -> int:
    """Judge answers that exist already: those of a run, without playing again, or of a published file.

    Example: `reeltalk judge runs/qwen --protocols vdeval --judge gpt-4o-mini --out runs/qwen-judged`, or `reeltalk
    judge results/model.json --format vdact --bench benchmarks/vdact --protocols vdeval --judge NAME --out runs/model`.
    Run it again to go on after an interruption, or to ask again what failed. Exit code 1 where turns have no score, 2
    where there is no run.

    Parameters
    ----------
    sources
        Runs, or files and folders of answers in a published layout.
    out
        Folder of the run that appears.
    bench
        Benchmark that the answers are about; it supplies questions, references, summaries and graphs. A run names its
        own.
    format
        Layout of the answers; not needed for runs.
    limit
        Judge the first chains, paths or dialogues of each model only.
    beside
        Comma-separated, answers to judge too, which try the judge: reference, yes, copied-question.
    overwrite
        Replace the run that is there. The replies that it keeps stay, and are used again.
    delete_replies
        With --overwrite, delete these replies, so that all is asked anew.
    """
    from reeltalk.stages.judging import judge as run_stage
    from reeltalk.store.benchmark import Benchmark

    with Bar() as bar:
        done = run_stage(
            *sources,
            out=out,
            judging=judging.settings(None),
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
    return print_run(done)


@app.command(sort_key=6)
def attack(
    *,
    out: Path | None = None,
    every: int = 1,
    judging: JudgingOptions = JUDGING,
    judge_model: JudgeModel = JUDGE_MODEL,
    limits: Limits = LIMITS,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Try a judge with answers that want to talk it into a good score: constants, fake verdicts, orders, and more.

    Example: `reeltalk attack --protocols vdeval --judge gpt-4o-mini --out attacks.json`. Every attack is judged beside
    a plainly wrong answer and the reference; it fools the judge where its score is nearer to the reference's. Exit
    code 1 where an attack fooled the judge or got out of its place in a request.

    Parameters
    ----------
    out
        File for every attack's outcome, as JSON.
    every
        Take every so many attacks only.
    overwrite
        Replace the file that is there.
    """
    from reeltalk.stages.attacking import attack as run_stage
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.documents import write_json

    check_counts(every=every)
    refuse_existing(out, overwrite=overwrite)
    reports = run_stage(judging.settings(None), judge_model=judge_model, limits=limits, every=every, tell=say)
    for report in reports:
        for line in report.lines():
            print(line)
    if out is not None:
        write_bytes(out, write_json([report.to_json() for report in reports]).encode())
        print(f"attacks: {out}")
    return 1 if any(report.total.fooled or report.broken for report in reports) else 0
