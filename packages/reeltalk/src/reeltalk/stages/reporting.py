"""Report and compare: runs or a benchmark as a static site, runs as one table, and differences between models."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from reeltalk.analysis.comparison import CompareSettings, Comparisons
from reeltalk.analysis.comparison import compare_models as compute
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.published.records import read_published as published_numbers
from reeltalk.analysis.score_matrix import score_column
from reeltalk.errors import BenchmarkError, InputError, ReeltalkError, SettingError
from reeltalk.pages.leaderboard import TableFormat, render_table
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.stage import write_benchmark_report, write_report
from reeltalk.parallel import Executor
from reeltalk.plugins import load
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import MANIFEST
from reeltalk.store.runs import Run, holds_plays, read_run

ONE_BENCHMARK: Final = "{} is a benchmark: its report is a site of its own, without runs and other benchmarks"
NO_RUNS: Final = "report needs at least one run; 'reeltalk score' writes them"


def report(
    *subjects: Run | Benchmark | Path | str,
    out: Path | str,
    settings: ReportSettings | None = None,
    benchmark: Benchmark | None = None,
    executor: Executor | None = None,
    overwrite: bool = False,
    judged: Path | None = None,
) -> Path:
    """Write runs or one benchmark as a static site that you can open from disk.

    Runs of `reeltalk proactive` have a page of their own, and need the benchmark with their tasks.

    The same runs give the same bytes. No page loads anything from a network.

    Args:
        subjects: Runs; or one benchmark; or their folders.
        out: Folder of the site that appears.
        settings: Additional content to show.
        benchmark: The benchmark of the runs. The site then shows its videos, evidence and tags.
        executor: Decodes and cuts its videos; by default processes of this machine.
        overwrite: Replace an existing report.
        judged: Scores of the runs of `reeltalk proactive` that a language model judged. The site shows its judgements.

    Returns:
        Path of `index.html`.

    Raises:
        SettingError: There is nothing to report, a setting is for runs and a benchmark is given, or runs of `reeltalk
            proactive` come without their benchmark.
        BenchmarkError: The runs hold no scores, or `out` holds something else.
        InputError: A run's file is damaged.
    """
    out, settings = Path(out), settings or ReportSettings()
    if settings.media != "none" and benchmark is None:
        raise SettingError(f"--media {settings.media} needs --bench, the benchmark that holds the videos")
    if subjects and all(_holds_plays(subject) for subject in subjects):
        _refuse_settings_of_sites(settings)
        with writing_directory(out, overwrite=overwrite, lasting=False) as folder:
            streams = load("reeltalk.reports", "streams")
            streams.write_session_report([Path(str(subject)) for subject in subjects], benchmark, folder, judged)
        return out / "index.html"
    if judged is not None:
        raise SettingError("--judged is for runs of 'reeltalk proactive', whose page shows what the judge said")
    opened = opened_subjects(subjects)
    runs = [subject for subject in opened if isinstance(subject, Run)]
    for name in settings.published:
        published_numbers(name)
    if not runs:
        _refuse_settings_of_sites(settings)
    if overwrite and out.exists() and not (out / "index.html").is_file() and (out.is_file() or any(out.iterdir())):
        raise BenchmarkError(f"{out} holds something that is no report, so --overwrite does not replace it")
    with writing_directory(out, overwrite=overwrite, lasting=False) as folder:
        if isinstance(opened[0], Benchmark):
            write_benchmark_report(opened[0], folder)
        else:
            write_report(runs, folder, settings=settings, benchmark=benchmark, executor=executor)
    return out / "index.html"


def runs_table(*runs: Run | Path | str, format: TableFormat, settings: ReportSettings | None = None) -> str:
    """The leaderboard of runs as text.

    Args:
        runs: Runs, or their folders.
        format: json, csv, latex or markdown.
        settings: Settings of the table. Settings for a site are refused.

    Raises:
        SettingError: No run is given, one is a benchmark, or a setting is for a site.
        BenchmarkError: The runs hold no scores.
        InputError: A run's file is damaged.
    """
    opened = opened_subjects(runs)
    if isinstance(opened[0], Benchmark):
        raise SettingError(ONE_BENCHMARK.format(opened[0].path))
    if settings is not None:
        _refuse_settings_of_sites(settings)
    return render_table([run for run in opened if isinstance(run, Run)], format)


def _refuse_settings_of_sites(settings: ReportSettings) -> None:
    if settings.human is not None:
        raise SettingError("--human compares judges of runs with people, on a site: give runs, and --format html")
    if settings.figures is not None or settings.tables is not None or settings.about:
        raise SettingError("--figures, --tables and --about are for a site about runs, in the format html")
    if settings.published:
        raise SettingError("--published lays numbers beside those of runs, on a site: give runs, and --format html")


def opened_subjects(subjects: Sequence[Run | Benchmark | Path | str]) -> list[Run | Benchmark]:
    """Open the subjects of a report: runs, or one benchmark.

    Raises:
        SettingError: No subject is given, or a benchmark is given together with something else.
        BenchmarkError: A folder is neither.
    """
    if not subjects:
        raise SettingError(NO_RUNS)
    benchmarks = [subject for subject in subjects if _is_benchmark(subject)]
    if benchmarks and len(subjects) > 1:
        one = benchmarks[0]
        raise SettingError(ONE_BENCHMARK.format(one.path if isinstance(one, Run | Benchmark) else one))
    if benchmarks:
        return [one if isinstance(one, Benchmark) else Benchmark.open(Path(str(one))) for one in benchmarks]
    return [subject if isinstance(subject, Run) else read_run(Path(str(subject))) for subject in subjects]


def readable_runs(folders: Sequence[Path]) -> tuple[list[Run | Path], list[str]]:
    """The runs among several that can be opened, and why the others cannot; one folder, or benchmarks, as they are.

    Raises:
        ReeltalkError: None can be opened, or one does not exist.
    """
    if len(folders) < 2 or any(_is_benchmark(folder) or holds_plays(folder) for folder in folders):
        return list(folders), []
    kept: list[Run | Path] = []
    faults: list[ReeltalkError] = []
    for folder in folders:
        try:
            kept.append(read_run(folder))
        except (BenchmarkError, InputError) as error:
            faults.append(error)
            if not folder.is_dir():
                raise faults[0] from None
    if not kept:
        raise faults[0]
    return kept, [str(fault) for fault in faults]


def _is_benchmark(subject: Run | Benchmark | Path | str) -> bool:
    if isinstance(subject, Run | Benchmark):
        return isinstance(subject, Benchmark)
    return (Path(subject) / MANIFEST).is_file()


def _holds_plays(subject: Run | Benchmark | Path | str) -> bool:
    return not isinstance(subject, Run | Benchmark) and holds_plays(Path(subject))


def compare(
    *runs: Run | Path | str, models: Sequence[str] = (), settings: CompareSettings | None = None
) -> Comparisons:
    """Compare all pairs of models on the turns that both answered, clustered by source video.

    Args:
        runs: A run of several models, or several runs, or their folders.
        models: Names of models to compare. The default is all models except baselines that know nothing.
        settings: Metrics, groups, correction and resampling.

    Raises:
        SettingError: No run is given, or there is no model or metric of a name.
        BenchmarkError: A run is given twice, or the runs were scored in different ways.
        InputError: A run's file is damaged.
    """
    if not runs:
        raise SettingError("compare needs a run of several models, or two runs; 'evaluate' and 'score' write them")
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    twice = [path for place, path in enumerate(paths) if path.resolve() in {other.resolve() for other in paths[:place]}]
    if twice:
        raise BenchmarkError(f"{twice[0]} is given twice; a run equals itself, so give another")
    board = build_leaderboard([run if isinstance(run, Run) else read_run(Path(run)) for run in runs])
    chosen = [score_column(board, name) for name in models] if models else None
    return compute(board, settings or CompareSettings(), models=chosen)
