"""Writes runs or a benchmark as a static site that opens from disk."""

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from jinja2 import Environment

from reeltalk import pages
from reeltalk.analysis.dialogues import BenchmarkContext, RunDialogues, read_context
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.verdicts import RunVerdicts
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.pages.calibration import run_calibration
from reeltalk.pages.construction import PAGE as CONSTRUCTION_PAGE
from reeltalk.pages.construction import is_constructed, write_construction
from reeltalk.pages.curation import is_curated, write_curation
from reeltalk.pages.dataset import PAGE as DATASET_PAGE
from reeltalk.pages.dataset import has_dataset, write_dataset_page
from reeltalk.pages.looking import separate_controls
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.site import BenchmarkSite, Page, Site, make_environment, write_static
from reeltalk.parallel import Executor
from reeltalk.plugins import loaded
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run


class BenchmarkPage(NamedTuple):
    """A page of the site of a benchmark."""

    title: str
    file: str
    applies: Callable[[Benchmark], bool]
    write: Callable[[BenchmarkSite, str], None]


BENCHMARK_PAGES: Final = (
    BenchmarkPage("Construction", CONSTRUCTION_PAGE, is_constructed, write_construction),
    BenchmarkPage("Dataset", DATASET_PAGE, has_dataset, write_dataset_page),
)


@cache
def report_pages() -> tuple[Page, ...]:
    """The pages of a report on runs, in the order of its navigation.

    Every module of this package with `REPORT_PAGES` is found automatically. Other packages name their pages in the
    entry points `reeltalk.pages`.
    """
    names = (module.name for module in pkgutil.iter_modules(pages.__path__, f"{pages.__name__}."))
    found = [page for name in names for page in getattr(import_module(name), "REPORT_PAGES", ())]
    found += loaded("reeltalk.pages", Page).values()
    return tuple(sorted(found, key=lambda page: page.place))


def write_report(
    runs: Sequence[Run],
    folder: Path,
    *,
    settings: ReportSettings | None = None,
    benchmark: Benchmark | None = None,
    executor: Executor | None = None,
) -> Path:
    """Write the site.

    The same runs give the same bytes. Figures, style and script are part of the site; no page uses the network.

    Args:
        runs: The runs, in the order of their models on the pages.
        folder: An existing, empty folder.
        settings: What to show in addition to the runs; by default nothing.
        benchmark: The benchmark of the runs; if given, its videos, evidence and tags are shown.
        executor: Runs the decoding of videos; by default processes of this machine.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: The runs have no scores, one contradicts itself, or none of their videos is in the benchmark.
        InputError: A run's file is damaged.
        SettingError: The facts are about none of the runs' models, or people's ratings match none of the runs.
    """
    settings = settings or ReportSettings()
    runs, controls = separate_controls(runs)
    board = build_leaderboard(runs)
    context = read_context(benchmark) if benchmark is not None else BenchmarkContext()
    dialogues = RunDialogues(board, {id(run): RunVerdicts(run) for run in runs}, context)
    site = Site(folder, board, dialogues, settings, benchmark, context, executor)
    if settings.about and not any(site.about):
        raise SettingError(
            f"there are no facts about any model of these runs ({', '.join(model.name for model in board.models)}), "
            f"only about {', '.join(settings.about)}; name models as the runs do"
        )
    site.controls = controls
    site.calibration = run_calibration(runs, settings.human)
    if benchmark is not None:
        _check_benchmark(benchmark, site)
    site.pages = tuple(page for page in report_pages() if page.applies(site))
    write_static(folder)
    for page in site.pages:
        page.write(site)
    site.write_files()
    return folder / "index.html"


def _check_benchmark(benchmark: Benchmark, site: Site) -> None:
    """Reject a benchmark that is not the benchmark of the runs."""
    known, asked = site.context.videos, site.dialogues.videos
    if asked and next(iter(known), None) is not None and not any(name in known for name in asked):
        raise BenchmarkError(
            f"none of the {len(asked):,} videos that the runs are about, as {min(asked)!r}, is in {benchmark.path}; "
            "give the benchmark that they were played on"
        )


def write_benchmark_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write a benchmark as a site: its curation, construction and data, as far as it has them.

    The first of these is `index.html`. The same benchmark gives the same bytes.

    Args:
        benchmark: Any benchmark with videos or questions.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: It has neither.
        InputError: A table or graph is damaged.
    """
    write_static(folder)
    first = None
    if not is_curated(benchmark):
        # Without any of them, the page about data says what is missing.
        first = next((page for page in BENCHMARK_PAGES if page.applies(benchmark)), BENCHMARK_PAGES[-1]).file
    site = BenchmarkSite(benchmark, folder, environment_of(benchmark, first))
    if first is None:
        write_curation(site)
    write_more(site, first)
    return folder / "index.html"


def environment_of(benchmark: Benchmark, first: str | None = None) -> Environment:
    """The templates, with the navigation of a benchmark's site on all pages.

    Args:
        benchmark: The benchmark of the site.
        first: The page that is its `index.html`, if that is not an overview.
    """
    others = [page for page in BENCHMARK_PAGES if page.applies(benchmark) and page.file != first]
    environment = make_environment()
    if others:
        named = [("Overview", "index.html"), *((page.title, page.file) for page in others)]
        environment.globals["pages"] = [{"title": title, "file": file, "more": False} for title, file in named]
    return environment


def write_more(site: BenchmarkSite, first: str | None = None) -> None:
    """Write the pages that the navigation names; `first` is `index.html`."""
    for page in BENCHMARK_PAGES:
        if page.applies(site.benchmark) or page.file == first:
            page.write(site, "index.html" if page.file == first else page.file)
