"""Commands that score answers and report runs."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from reeltalk.cli.app import OVERWRITE, ExecutorName, app, print_run, refuse_existing, say, settings_of
from reeltalk.errors import SettingError


@app.command(sort_key=6)
def score(
    *answers: Path,
    out: Path,
    format: str | None = None,
    metrics: str = "bleu,meteor,rouge_l,cider",
    bench: Path | None = None,
    model: str | None = None,
    language: Literal["auto", "en", "zh"] = "auto",
    meteor_jar: Annotated[Path | None, Parameter(env_var="REELTALK_METEOR_JAR")] = None,
    workers: int | None = None,
    executor: ExecutorName = "local",
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Score models' answers with text metrics, with intervals clustered by source video.

    Example: `reeltalk score results/*.json --format vdact --metrics bleu,rouge_l,cider --out runs/first`

    Parameters
    ----------
    answers
        Answer files or folders in a published layout, or benchmarks that hold answers.
    out
        Folder of the run that appears.
    format
        Layout of the answers; not needed for a benchmark.
    metrics
        Comma-separated: bleu, meteor, rouge_l, cider, token_f1, exact_match, similarity.
    bench
        Benchmark that supplies questions and references, in place of those in the answer files.
    model
        Name of the model; the file's stem by default.
    language
        Language of the answers, which decides the tokeniser.
    meteor_jar
        Path of meteor-1.5.jar; by default that of an installed pycocoevalcap.
    workers
        Models that are scored at a time; by default one after the other, and on a cluster one for each core.
    overwrite
        Replace the run that is there.
    """
    from reeltalk.evaluate.settings import ScoreSettings
    from reeltalk.parallel import open_executor
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
        executor=None if (executor, workers) == ("local", None) else open_executor(executor, workers),
        overwrite=overwrite,
        tell=say,
    )
    return print_run(done)


@app.command(sort_key=7)
def report(
    *runs: Path,
    out: Path | None = None,
    format: Literal["html", "json", "csv", "latex", "markdown"] = "html",
    bench: Path | None = None,
    figures: str = "",
    tables: str = "",
    about: Path | None = None,
    published: str = "",
    human: Path | None = None,
    credit: str | None = None,
    media: Literal["none", "link", "copy", "cut"] = "none",
    frames: int = 8,
    most_frames: int = 5000,
    workers: int | None = None,
    executor: ExecutorName = "local",
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write runs or a benchmark as a static site; runs also as a table on standard output.

    Example: `reeltalk report runs/first runs/second --out site`, or `reeltalk report benchmarks/kitchen --out site`

    Parameters
    ----------
    runs
        Folders that `score`, `evaluate` or `judge` wrote, or one benchmark.
    out
        Folder of the site that appears; for the other formats the file, or standard output where it is not given.
    format
        html writes a site that opens from disk; the others write the leaderboard.
    bench
        Benchmark that the runs were played on; the site then shows its videos, evidence and tags.
    figures
        Comma-separated: svg, pdf, png. Writes every figure of the site as such files too, below figures/.
    tables
        Comma-separated: latex, markdown, csv. Writes every table of the site as such files too, below tables/.
    about
        TOML file that says parameters, kind, frames, context and link of models; the site then shows scores by size.
    published
        Comma-separated benchmarks whose published numbers stand beside the runs', as svbench,mt-video-bench;
        `reeltalk published` lists them.
    human
        People's ratings, as for `calibrate`; the site then shows how far judges can be trusted.
    credit
        Measure that says in profiles how right an answer is, as agree; by default the most exact that all models have.
    media
        Videos on the pages of dialogues: linked to where the benchmark has them, copied into the site, or cut to the
        parts that dialogues are about. All but none need --bench, and show frames that the models saw, too.
    frames
        Most frames shown at a turn.
    most_frames
        Most frames in the whole site.
    workers
        Videos that are decoded or cut at a time; by default one for each core.
    overwrite
        Replace what is there.
    """
    from reeltalk.analysis.about import read_about
    from reeltalk.analysis.table_files import TABLE_FORMATS
    from reeltalk.pages.figure_files import FIGURE_FORMATS
    from reeltalk.pages.settings import ReportSettings
    from reeltalk.parallel import open_executor
    from reeltalk.stages.reporting import opened_subjects, runs_table
    from reeltalk.stages.reporting import report as run_stage
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.benchmark import Benchmark

    settings = settings_of(
        ReportSettings,
        figures=_formats("--figures", figures, FIGURE_FORMATS),
        tables=_formats("--tables", tables, TABLE_FORMATS),
        about=read_about(about) if about is not None else {},
        published=tuple(dict.fromkeys(name.strip() for name in published.split(",") if name.strip())),
        human=human,
        credit=credit,
        media=media,
        frames=frames,
        most_frames=most_frames,
    )
    if format == "html":
        if out is None:
            opened_subjects(runs)  # what is no run is told first
            raise SettingError("report needs --out DIR, the folder of the site")
        index = run_stage(
            *runs,
            out=out,
            settings=settings,
            benchmark=Benchmark.open(bench) if bench else None,
            executor=open_executor(executor, workers, shared=[out.parent, bench]) if bench else None,
            overwrite=overwrite,
        )
        print(f"report: {index}")
        return 0
    table = runs_table(*runs, format=format, settings=settings)
    if out is None:
        print(table, end="" if table.endswith("\n") else "\n")
        return 0
    if out.is_dir():
        out = out / f"leaderboard.{ {'latex': 'tex', 'markdown': 'md'}.get(format, format) }"
    else:
        refuse_existing(out, overwrite=overwrite)
    write_bytes(out, table.encode())
    print(f"report: {out}")
    return 0


def _formats(option: str, given: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Comma-separated formats, each once, in their usual order."""
    names = [name.strip().lower() for name in given.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise SettingError(f"{option} has no {name!r}; it takes {', '.join(known)}, with commas between them")
    return tuple(name for name in known if name in names)
