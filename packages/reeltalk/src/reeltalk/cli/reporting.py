"""The command that reports runs, benchmarks and graphs, and lists published numbers."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Group, Parameter

from reeltalk.cli.options import BENCH, FLAG, IN_OUTPUT, IN_RUN, IN_START, OVERWRITE, ExecutorName
from reeltalk.cli.terminal import refuse_existing, whole_runs
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.plugins import load
from reeltalk.schema.settings import settings_of

LIST_FORMATS: Final[dict[str, Literal["text", "json", "csv", "markdown"]]] = {
    "html": "text",
    "text": "text",
    "json": "json",
    "csv": "csv",
    "markdown": "markdown",
}
"""The format of a list of published numbers, by the option --format."""
FRAMES_SHOWN = Parameter(group=Group("Videos and frames", sort_key=30))
IN_GRAPHS = Parameter(group=Group("Activity graphs", sort_key=32))


def report(
    *runs: Path,
    out: Annotated[Path | None, IN_START] = None,
    format: Annotated[Literal["html", "text", "json", "csv", "latex", "markdown"], IN_START] = "html",
    bench: Annotated[Path | None, IN_START, BENCH] = None,
    figures: Annotated[str, IN_OUTPUT] = "",
    tables: Annotated[str, IN_OUTPUT] = "",
    about: Path | None = None,
    published: str = "",
    human: Path | None = None,
    judged: Path | None = None,
    credit: str | None = None,
    media: Annotated[Literal["none", "link", "copy", "cut"], IN_START] = "none",
    frames: Annotated[int, FRAMES_SHOWN] = 8,
    most_frames: Annotated[int, FRAMES_SHOWN] = 5000,
    scenarios: Annotated[Path | None, IN_GRAPHS] = None,
    workers: Annotated[int | None, IN_RUN] = None,
    executor: ExecutorName = "local",
    strict: Annotated[bool, FLAG] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
) -> int:
    """Write runs or a benchmark as a static site. Runs can also be a table on standard output.

    For a benchmark or graphs, `--format text` prints counts: tables 3 and 4 and figure 2a of the VDAct paper.
    Without runs, --published lists published numbers with their sources. Exit code 1 if a run of several is damaged: it
    is named, and the others are shown.

    Example: `reeltalk report runs/first runs/second --out site`, `reeltalk report benchmarks/kitchen --out site`, or
    `reeltalk report --published svbench`.

    Parameters
    ----------
    runs
        Folders that `score`, `evaluate` or `judge` wrote; or runs of `proactive run`, with --bench; or one benchmark;
        or, for counts, a folder, zip archive or file of activity graphs.
    out
        Folder of the site to create; for the other formats the file, standard output by default.
    format
        html writes a site that opens from disk; json, csv, latex and markdown write the leaderboard; text is for
        counts and for published numbers.
    bench
        Benchmark that the runs were played on; the site then shows its videos, evidence and tags.
    figures
        Comma-separated: svg, pdf, png. Writes every figure of the site in these formats, in figures/; `all` is
        svg,pdf, and `none` writes none. By default only the figures that a paper uses.
    tables
        Comma-separated: latex, markdown, csv. Writes every table of the site in these formats, in tables/; `all` is
        latex,csv, and `none` writes none. By default only the tables that a paper uses.
    about
        TOML file with parameters, kind, frames, context and link of models. The site then shows scores by size.
    published
        Comma-separated benchmarks whose published numbers are shown with the runs, such as svbench,mt-video-bench.
        Without runs they are listed; `all` lists all tables.
    human
        People's ratings, as for `calibrate`; the site then shows how well judges agree with people.
    judged
        Scores of runs of `proactive run`, as `proactive score --judge --out` wrote them. The site then shows what the
        judge said about their replies.
    credit
        Measure by which profiles rate an answer, such as match; by default the most exact one that all models have.
    media
        Videos on the pages of dialogues: linked to the files of the benchmark, copied into the site, or cut to the
        parts that dialogues are about. All values except none need --bench, and also show the frames that the models
        saw.
    frames
        Most frames shown at a turn.
    most_frames
        Most frames in the whole site.
    scenarios
        JSON object of lists of activities by scenario. Without it a benchmark's videos, or each activity alone.
    workers
        Videos that are decoded or cut at a time; by default one for each core.
    strict
        Stop at the first run that is damaged.
    overwrite
        Replace existing output.
    """
    if not runs and published:
        return _list_published(published, format, out)
    if format == "text":
        return _count(runs, scenarios, out)
    if scenarios is not None:
        raise SettingError("--scenarios is for counts of activity graphs; give --format text")
    from reeltalk.analysis.table_files import PAPER_TABLES, TABLE_FORMATS
    from reeltalk.pages.figure_files import FIGURE_FORMATS, PAPER_FIGURES
    from reeltalk.pages.settings import ReportSettings, read_about
    from reeltalk.parallel import open_executor
    from reeltalk.stages.reporting import opened_subjects, runs_table
    from reeltalk.stages.reporting import report as run_stage
    from reeltalk.store.atomic import write_bytes
    from reeltalk.store.benchmark import Benchmark

    settings = settings_of(
        ReportSettings,
        figures=_formats("--figures", figures, FIGURE_FORMATS, PAPER_FIGURES),
        tables=_formats("--tables", tables, TABLE_FORMATS, PAPER_TABLES),
        about=read_about(about) if about is not None else {},
        published=tuple(dict.fromkeys(name.strip() for name in published.split(",") if name.strip())),
        human=human,
        credit=credit,
        media=media,
        frames=frames,
        most_frames=most_frames,
    )
    whole, code = whole_runs(runs, strict=strict)
    if format == "html":
        if out is None:
            opened_subjects(runs)  # a source that is not a run is reported first
            raise SettingError("report needs --out DIR, the folder of the site")
        index = run_stage(
            *whole,
            out=out,
            settings=settings,
            benchmark=Benchmark.open(bench) if bench else None,
            executor=open_executor(executor, workers, shared=[out.parent, bench]) if bench else None,
            overwrite=overwrite,
            judged=judged,
        )
        print(f"report: {index}")
        return code
    if judged is not None:
        raise SettingError("--judged is for a site about runs of `proactive run`: give --format html")
    table = runs_table(*whole, format=format, settings=settings)
    if out is None:
        print(table, end="" if table.endswith("\n") else "\n")
        return code
    if out.is_dir():
        out = out / f"leaderboard.{ {'latex': 'tex', 'markdown': 'md'}.get(format, format) }"
    else:
        refuse_existing(out, overwrite=overwrite)
    write_bytes(out, table.encode())
    print(f"report: {out}")
    return code


def _formats(option: str, given: str, known: tuple[str, ...], usual: tuple[str, ...]) -> tuple[str, ...] | None:
    """Comma-separated formats, each once, in their usual order; None if nothing is given."""
    names = [name.strip().lower() for name in given.split(",") if name.strip()]
    if names in ([], ["none"], ["all"]):
        return {"": None, "none": (), "all": usual}["".join(names)]
    for name in names:
        if name not in known:
            raise SettingError(
                f"{option} has no {name!r}; it takes {', '.join(known)}, with commas between them, all, or none"
            )
    return tuple(name for name in known if name in names)


def _list_published(names: str, format: str, out: Path | None) -> int:
    from reeltalk.analysis.published.records import render_published

    if out is not None:
        raise SettingError("published numbers are printed; leave out --out, or name runs to show them with")
    if format not in LIST_FORMATS:
        raise SettingError("published numbers are listed as text, json, csv or markdown")
    chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    print(render_published(() if chosen == ("all",) else chosen, LIST_FORMATS[format]), end="")
    return 0


def _count(sources: Sequence[Path], scenarios: Path | None, out: Path | None) -> int:
    if len(sources) != 1 or out is not None:
        raise SettingError("--format text counts one benchmark, or one folder, archive or file of graphs; no --out")
    source = sources[0]
    if (source / "run.json").is_file():
        raise SettingError(f"{source} is a run; its leaderboard is written as json, csv, latex or markdown")
    from reeltalk.analysis.dataset import TABLE_3_COLUMNS, TABLE_3_IN_PAPER, count_dataset
    from reeltalk.metrics.counting import format_speech
    from reeltalk.store.benchmark import Benchmark, has_graphs
    from reeltalk.store.tables import DIALOGUES, SPEECH

    opened = Benchmark.open(source) if (source / "manifest.json").is_file() else None
    spoken = Counter[str](row.video_id for row in (opened.read(SPEECH) if opened is not None else ()))
    if spoken:
        print(format_speech(spoken) + "\n")
    if opened is not None and (counts := count_dataset(opened, with_graphs=False).table_3) is not None:
        print(f"{'Table 3':<16}{'here':>12}{'VDAct':>12}")
        for name, value, paper in zip(TABLE_3_COLUMNS, counts.values, TABLE_3_IN_PAPER, strict=True):
            print(f"{name:<16}{format_count(value):>12}{paper:>12}")
        print()
    if opened is not None and not has_graphs(opened):
        if not opened.rows(DIALOGUES) and not spoken:
            raise BenchmarkError(f"{source} has neither dialogues nor graphs to count")
        return 0
    load("reeltalk.reports", "graphs").print_counts(source, opened, scenarios)
    return 0


def format_count(value: float | None) -> str:
    """A count or mean as text; *not known* for None."""
    return "not known" if value is None else f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
