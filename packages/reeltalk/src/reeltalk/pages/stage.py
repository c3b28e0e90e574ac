"""Writes runs or a benchmark as a static site that opens from disk."""

import pkgutil
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from jinja2 import Environment

from reeltalk import pages
from reeltalk.analysis.dialogues import BenchmarkContext, RunDialogues, read_context
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.verdicts import verdicts_of
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.pages.calibration import run_calibration
from reeltalk.pages.construction import PAGE as CONSTRUCTION_PAGE
from reeltalk.pages.construction import is_constructed, write_construction
from reeltalk.pages.curation import write_curation
from reeltalk.pages.dataset import PAGE as DATASET_PAGE
from reeltalk.pages.dataset import has_dataset, write_dataset_page
from reeltalk.pages.leaderboard import TableFormat, render_table
from reeltalk.pages.looking import separate_controls
from reeltalk.pages.objects import PAGE as OBJECTS_PAGE
from reeltalk.pages.objects import has_objects, write_objects
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.site import Page, Site, make_environment, write_static
from reeltalk.parallel import Executor
from reeltalk.plugins import loaded
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run

__all__ = [
    "TableFormat",
    "render_table",
    "write_construction_report",
    "write_curation_report",
    "write_dataset_report",
    "write_object_report",
    "write_report",
]


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
    dialogues = RunDialogues(board, {id(run): verdicts_of(run) for run in runs}, context)
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


def write_curation_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the pages about a curation, and pages about objects if there are sightings.

    The same benchmark gives the same bytes.

    Args:
        benchmark: What `reeltalk curate` wrote.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: The benchmark was not curated.
        InputError: A table is damaged.
    """
    write_static(folder)
    environment = environment_of(benchmark)
    page = write_curation(benchmark, folder, environment, links=site_links(benchmark))
    write_more(benchmark, folder, environment)
    return page


def write_object_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the pages about objects as a site.

    The same benchmark gives the same bytes.

    Args:
        benchmark: In whose videos objects were sighted.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: No objects were sighted.
        InputError: A table is damaged.
    """
    write_static(folder)
    environment = environment_of(benchmark, OBJECTS_PAGE)
    page = write_objects(benchmark, folder, environment, page="index.html")
    if has_dataset(benchmark):
        write_dataset_page(benchmark, folder, environment)
    return page


def write_dataset_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the page about a benchmark's data as a site, for example for an imported benchmark.

    The same benchmark gives the same bytes.

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
    return write_dataset_page(benchmark, folder, make_environment(), page="index.html")


def write_construction_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the pages about construction as a site, with pages about objects if there are sightings.

    Args:
        benchmark: What `reeltalk construct` wrote.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        InputError: A table is damaged.
    """
    write_static(folder)
    environment = environment_of(benchmark, CONSTRUCTION_PAGE)
    links = site_links(benchmark)[1:]
    page = write_construction(benchmark, folder, environment, page="index.html", links=links)
    if has_objects(benchmark):
        write_objects(benchmark, folder, environment)
    if has_dataset(benchmark):
        write_dataset_page(benchmark, folder, environment)
    return page


def site_links(benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """Other pages of the site: texts and file names."""
    links = []
    if is_constructed(benchmark):
        links.append(("Chains, dialogues and what the checks found", CONSTRUCTION_PAGE))
    if has_objects(benchmark):
        links.append(("Objects along the time line", OBJECTS_PAGE))
    return tuple(links)


def environment_of(benchmark: Benchmark, first: str | None = None, packages: Sequence[str] = ()) -> Environment:
    """The templates, with the navigation of a benchmark's site on all pages.

    Args:
        benchmark: The benchmark of the site.
        first: The page that is its `index.html`, if that is not an overview.
        packages: Other packages with templates.
    """
    pages = [("Overview", "index.html")]
    if is_constructed(benchmark):
        pages.append(("Construction", CONSTRUCTION_PAGE))
    if has_objects(benchmark):
        pages.append(("Objects", OBJECTS_PAGE))
    if has_dataset(benchmark):
        pages.append(("Dataset", DATASET_PAGE))
    environment = make_environment(*packages)
    environment.globals["pages"] = [
        {"title": title, "file": file, "more": False} for title, file in pages if file != first
    ]
    return environment


def write_more(benchmark: Benchmark, folder: Path, environment: Environment) -> None:
    """The pages that `site_links` names."""
    if is_constructed(benchmark):
        write_construction(benchmark, folder, environment)
    if has_objects(benchmark):
        write_objects(benchmark, folder, environment)
    if has_dataset(benchmark):
        write_dataset_page(benchmark, folder, environment)
