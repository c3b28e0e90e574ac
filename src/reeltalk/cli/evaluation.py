"""Commands that score answers and report runs."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from reeltalk.cli.app import OVERWRITE, app, hash_source, refuse_existing, say, settings_of
from reeltalk.errors import BenchmarkError, SettingError

if TYPE_CHECKING:
    from reeltalk.store.benchmark import Benchmark


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
    resamples: int = 1000,
    seed: int = 17,
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
    resamples
        Bootstrap resamples behind each interval.
    seed
        Seed of the resampling.
    overwrite
        Replace the run that is there.
    """
    from reeltalk.evaluate.answers import AnswerSet, answer_sets, expected_items, with_distinct_names
    from reeltalk.evaluate.score import score as compute
    from reeltalk.evaluate.settings import ScoreSettings
    from reeltalk.formats.registry import load_format
    from reeltalk.inference.embedding import SentenceEmbedder
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import INFO, write_run

    if not answers:
        raise SettingError("score needs at least one file or folder of answers")
    if out.exists() and not overwrite and (not out.is_dir() or any(out.iterdir())):
        raise BenchmarkError(f"{out} exists and is not empty; choose another folder or pass --overwrite")
    names = tuple(name.strip() for name in metrics.split(",") if name.strip())
    settings = settings_of(ScoreSettings, metrics=names, language=language, resamples=resamples, seed=seed)
    benchmark = Benchmark.open(bench).content() if bench else None
    sets: list[AnswerSet] = []
    warnings: list[str] = []
    for path in answers:
        if (path / "manifest.json").is_file():
            content, sha256 = Benchmark.open(path).content(), Benchmark.open(path).manifest.content_hash
        elif format is None:
            raise SettingError(f"{path} is no benchmark, so --format must name its layout, as '--format vdact'")
        else:
            content, sha256 = load_format(format).read(path), hash_source(path)
        warnings += content.warnings
        sets += answer_sets(content, source=str(path), sha256=sha256, benchmark=benchmark, model=model)
    expected = expected_items(benchmark, sets) if benchmark else frozenset()
    scored = _with_meteor(
        "meteor" in names,
        meteor_jar,
        lambda process: compute(
            with_distinct_names(sets),
            settings,
            subject=f"{format or 'benchmark'}.answers",
            meteor=process,
            embedder=SentenceEmbedder() if "similarity" in names else None,
            expected=expected,
            progress=say,
        ),
    )
    write_run(
        out,
        scored.info,
        answers=scored.answers,
        items=scored.items,
        summary=scored.summary,
        curves=scored.curves,
        overwrite=overwrite,
    )
    _print_scores(scored, warnings)
    print(f"run: {out / INFO}")
    return 0


def _with_meteor(wanted: bool, jar: Path | None, compute: Callable[[Any], Any]) -> Any:
    """Run `compute` with a warm METEOR, or with the reason why there is none."""
    if not wanted:
        return compute(None)
    from reeltalk.errors import MissingToolError
    from reeltalk.metrics.meteor import MeteorProcess

    try:
        process = MeteorProcess(jar=jar)
    except MissingToolError as missing:
        if jar is not None:
            raise
        say(f"meteor is not scored: {missing}")
        return compute(missing)
    with process:
        return compute(process)


def _print_scores(scored: Any, warnings: Iterable[str]) -> None:
    rows = {(row.model, row.metric): row for row in scored.summary}
    models = [info.model for info in scored.info.models]
    width = max(len(name) for name in models)
    widths = [max(12, len(metric) + 2) for metric in scored.info.metrics]
    print(" " * width + "".join(f"{metric:>{wide}}" for metric, wide in zip(scored.info.metrics, widths, strict=True)))
    for model in models:
        values = [rows[model, metric].value for metric in scored.info.metrics]
        told = ("not scored" if value is None else f"{value:.4f}" for value in values)
        cells = "".join(f"{text:>{wide}}" for text, wide in zip(told, widths, strict=True))
        print(f"{model:<{width}}{cells}")
    for info in scored.info.models:
        notes = [
            f"{len(info.duplicates):,} duplicate ids (first row kept)" if info.duplicates else "",
            f"{len(info.missing):,} missing" if info.missing else "",
            f"{len(info.mismatched):,} with other wording than the first model's" if info.mismatched else "",
            *(f"{count:,} not scored: {reason}" for reason, count in info.not_scored.items()),
        ]
        if any(notes):
            print(f"{info.model}: {'; '.join(note for note in notes if note)}")
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)


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
    overwrite
        Replace what is there.
    """
    from reeltalk.report.about import read_about
    from reeltalk.report.figure_files import FIGURE_FORMATS
    from reeltalk.report.published.records import published as published_numbers
    from reeltalk.report.settings import ReportSettings
    from reeltalk.report.stage import render_table, write_report
    from reeltalk.report.table_files import TABLE_FORMATS
    from reeltalk.store.atomic import write_bytes, writing_directory
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.runs import read_run

    if not runs:
        raise SettingError("report needs at least one run; 'reeltalk score' writes them")
    benchmarks = [path for path in runs if (path / "manifest.json").is_file()]
    if benchmarks and (len(runs) > 1 or format != "html"):
        raise SettingError(f"{benchmarks[0]} is a benchmark: its report is a site of its own, from it alone")
    beside = tuple(dict.fromkeys(name.strip() for name in published.split(",") if name.strip()))
    for name in beside:
        published_numbers(name)
    settings = settings_of(
        ReportSettings,
        figures=_formats("--figures", figures, FIGURE_FORMATS),
        tables=_formats("--tables", tables, TABLE_FORMATS),
        about=read_about(about) if about is not None else {},
        published=beside,
        human=human,
        credit=credit,
        media=media,
        frames=frames,
        most_frames=most_frames,
    )
    if human is not None and (benchmarks or format != "html"):
        raise SettingError("--human compares judges of runs with people, on a site: give runs, and --format html")
    if (settings.figures or settings.tables or settings.about) and (benchmarks or format != "html"):
        raise SettingError("--figures, --tables and --about are for a site about runs, in the format html")
    if beside and (benchmarks or format != "html"):
        raise SettingError("--published lays numbers beside those of runs, on a site: give runs, and --format html")
    if media != "none" and bench is None:
        raise SettingError(f"--media {media} needs --bench, the benchmark that holds the videos")
    opened = [] if benchmarks else [read_run(path) for path in runs]
    if format == "html":
        if out is None:
            raise SettingError("report needs --out DIR, the folder of the site")
        if overwrite and out.exists() and not (out / "index.html").is_file() and (out.is_file() or any(out.iterdir())):
            raise BenchmarkError(f"{out} holds something that is no report, so --overwrite does not replace it")
        with writing_directory(out, overwrite=overwrite, lasting=False) as folder:
            if benchmarks:
                _write_benchmark_report(Benchmark.open(benchmarks[0]), folder)
            else:
                write_report(opened, folder, settings=settings, benchmark=Benchmark.open(bench) if bench else None)
        print(f"report: {out / 'index.html'}")
        return 0
    table = render_table(opened, format)
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


def _write_benchmark_report(benchmark: "Benchmark", folder: Path) -> None:
    """What there is to show of a benchmark: its curation, scenarios, what was constructed, objects, or its numbers."""
    from reeltalk.report.construction import is_constructed
    from reeltalk.report.curation import is_curated
    from reeltalk.report.objects import has_objects
    from reeltalk.report.scenarios import has_scenarios, scenarios_of
    from reeltalk.report.stage import (
        write_construction_report,
        write_curation_report,
        write_dataset_report,
        write_object_report,
        write_scenario_report,
    )

    if not is_curated(benchmark) and has_scenarios(benchmark):
        write_scenario_report(benchmark.manifest.name, scenarios_of(benchmark), folder, benchmark=benchmark)
    elif not is_curated(benchmark) and is_constructed(benchmark):
        write_construction_report(benchmark, folder)
    elif not is_curated(benchmark) and has_objects(benchmark):
        write_object_report(benchmark, folder)
    elif is_curated(benchmark):
        write_curation_report(benchmark, folder)
    else:
        write_dataset_report(benchmark, folder)
