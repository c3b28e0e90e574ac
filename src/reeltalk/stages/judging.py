"""Judge: answers that exist already, of runs or of published files, are judged without being played again."""

from collections.abc import Sequence
from pathlib import Path

from reeltalk.errors import SettingError
from reeltalk.evaluate.run_folder import RunFolder
from reeltalk.evaluate.settings import JUDGED_BY_DEFAULT, JudgeModelSettings, JudgeSettings, LimitSettings
from reeltalk.evaluate.stage import Played, Progress
from reeltalk.schema.settings import check_counts
from reeltalk.stages.asking import Tell, asking_within, background_of, judging_by, silent, unseen
from reeltalk.stages.finishing import RunReport, Took, finish
from reeltalk.stages.given_answers import GivenAnswers
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run


def judge(
    *sources: Run | Path | str,
    out: Path | str,
    judging: JudgeSettings | None = None,
    judge_model: JudgeModelSettings | None = None,
    limits: LimitSettings | None = None,
    benchmark: Benchmark | None = None,
    format: str | None = None,
    limit: int | None = None,
    beside: Sequence[str] = (),
    overwrite: bool = False,
    progress: Progress = unseen,
    tell: Tell = silent,
) -> RunReport:
    """Judge answers that exist already, and write them as a run.

    Call it again with the same settings to go on after an interruption or a spent budget: replies are kept.

    Args:
        sources: Runs, or files and folders of answers in a published layout.
        out: Folder of the run that appears.
        judging: By which protocols and metrics; by default whether answers agree with a reference, and text metrics.
        judge_model: Who judges, for protocols that need a model.
        limits: Requests at a time, and hard limits of requests, tokens and money.
        benchmark: What the answers are about: it supplies questions, references, summaries and graphs. A run names
            its own.
        format: Layout of the answers; not needed for runs.
        limit: Judge the first chains, paths or dialogues of each model only.
        beside: Answers to judge too, which try the judge: `reference`, `yes`, `copied-question`.
        overwrite: Replace the run that is there.
        progress: Told after each turn.
        tell: Told in a sentence what cannot be had here.

    Raises:
        SettingError: A setting, protocol or metric cannot be used, or two sources hold the same answers.
        BenchmarkError: There is nothing to judge, or `out` holds something else.
        InputError: A source is damaged.
        BudgetError: A limit would be passed; the same call with a higher one goes on.
    """
    check_counts(limit=limit)
    if not sources:
        raise SettingError("judge needs at least one run, or file or folder of answers")
    judging, judge_model = judging or JUDGED_BY_DEFAULT, judge_model or JudgeModelSettings()
    limits = limits or LimitSettings()
    paths = [source.path if isinstance(source, Run) else Path(source) for source in sources]
    read = GivenAnswers(paths, format, benchmark)
    also = list(dict.fromkeys(beside))
    for name in also:
        read.add_beside(name)
    content = read.content
    request = {
        "sources": read.hashes,
        "benchmark": read.benchmark.manifest.content_hash if read.benchmark else None,
        "judging": judging.model_dump(mode="json"),
        "judge": judge_model.model_dump(mode="json", include={"judge", "judge_max_reply_tokens"}),
        "limit": limit,
        **({"beside": ",".join(also)} if also else {}),
    }
    with (
        RunFolder(Path(out), request, overwrite=overwrite) as folder,
        asking_within(folder, limits) as (store, budget),
        judging_by(judging, judge_model, limits, read.benchmark, store, budget, tell=tell) as judged_by,
    ):
        folder.clear_logs()
        stage = Played(
            folder.logs,
            judged_by,
            background_of(content, judging) if content is not None else None,
            at_a_time=limits.connections,
            progress=progress,
        )
        evaluation = stage.judge(read.units(limit), metadata={"sources": [str(path) for path in paths]})
        return finish(
            folder,
            evaluation,
            judged_by,
            subject=read.subject,
            signed=read.signed,
            sources=read.sources,
            content=content,
            settings=request | {"benchmark_path": str(read.benchmark.path) if read.benchmark else None},
            kind="judge",
            took=Took.of(budget, None, judged_by.model),
            tell=tell,
        )
