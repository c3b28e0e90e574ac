"""Write runs or a benchmark as a static site that opens from disk."""

import contextlib
import gc
import pkgutil
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from jinja2 import Environment

from reeltalk import pages
from reeltalk.analysis.dialogues import collect_dialogues
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
from reeltalk.pages.scenarios import ShownScenario, write_scenario_pages
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.site import Page, Site, make_environment, write_static
from reeltalk.parallel import Executor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run
from reeltalk.store.tables import VIDEOS

__all__ = [
    "TableFormat",
    "render_table",
    "write_construction_report",
    "write_curation_report",
    "write_dataset_report",
    "write_object_report",
    "write_report",
    "write_scenario_report",
]


@cache
def report_pages() -> tuple[Page, ...]:
    """The pages of a report on runs, in the order of its navigation.

    A module of this package that holds `REPORT_PAGES` is found by that alone.
    """
    names = (module.name for module in pkgutil.iter_modules(pages.__path__, f"{pages.__name__}."))
    found = [page for name in names for page in getattr(import_module(name), "REPORT_PAGES", ())]
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

    The same runs give the same bytes. Figures, style and script are inside; no page asks for anything from a network.

    Args:
        runs: Runs side by side, in the order of their models on the pages.
        folder: An existing, empty folder.
        settings: What to show beyond the runs; nothing by default.
        benchmark: What the runs were played on; its videos, evidence and tags are shown where it is given.
        executor: Decodes and cuts its videos; by default processes of this machine.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: The runs hold no scores, one contradicts itself, or none of their videos is in the benchmark.
        InputError: A run's file is damaged.
        SettingError: What is said about models is about none of these, or people's ratings match none of the runs.
    """
    settings = settings or ReportSettings()
    runs, controls = separate_controls(runs)
    board = build_leaderboard(runs)
    with _nothing_discarded():
        verdicts = {id(run): verdicts_of(run) for run in runs}
        site = Site(folder, board, collect_dialogues(board, verdicts), verdicts, settings, benchmark, executor)
    if settings.about and not any(site.about):
        raise SettingError(
            f"nothing is said about any model of these runs ({', '.join(model.name for model in board.models)}), only "
            f"about {', '.join(settings.about)}; name models as the runs do"
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
    """Refuse a benchmark that the runs were not played on."""
    known = {video.id for video in benchmark.read(VIDEOS)}
    asked = {dialogue.video_id for dialogue in site.dialogues}
    if known and asked and not known & asked:
        raise BenchmarkError(
            f"none of the {len(asked):,} videos that the runs are about, as {min(asked)!r}, is in {benchmark.path}; "
            "give the benchmark that they were played on"
        )


@contextlib.contextmanager
def _nothing_discarded() -> Iterator[None]:
    """While millions of objects come to stay, looking for those that can be discarded costs more than it frees."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def write_curation_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the pages about a curation, and those about objects where they were sighted.

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
    environment = _environment_of(benchmark)
    page = write_curation(benchmark, folder, environment, links=_links(benchmark))
    _write_more(benchmark, folder, environment)
    return page


def write_scenario_report(
    title: str, scenarios: Sequence[ShownScenario], folder: Path, *, benchmark: Benchmark | None = None
) -> Path:
    """Write the pages about scenarios: time lines, states and relations.

    Args:
        title: What the scenarios belong to.
        scenarios: Which.
        folder: An existing, empty folder.
        benchmark: Where they come from; the pages about its objects are added where they were sighted.

    Returns:
        Path of `index.html`.
    """
    write_static(folder)
    environment = _environment_of(benchmark) if benchmark is not None else make_environment()
    page = write_scenario_pages(title, scenarios, folder, environment, links=_links(benchmark) if benchmark else ())
    if benchmark is not None:
        _write_more(benchmark, folder, environment)
    return page


def write_object_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the pages about objects as a site of their own.

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
    environment = _environment_of(benchmark, OBJECTS_PAGE)
    page = write_objects(benchmark, folder, environment, page="index.html")
    if has_dataset(benchmark):
        write_dataset_page(benchmark, folder, environment)
    return page


def write_dataset_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the page about what a benchmark consists of as a site of its own: of one that was merely imported.

    The same benchmark gives the same bytes.

    Args:
        benchmark: Any that holds videos or questions.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: It holds neither.
        InputError: A table or graph is damaged.
    """
    write_static(folder)
    return write_dataset_page(benchmark, folder, make_environment(), page="index.html")


def write_construction_report(benchmark: Benchmark, folder: Path) -> Path:
    """Write the pages about construction as a site of their own, with those about objects where they were sighted.

    Args:
        benchmark: What `reeltalk construct` wrote.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        InputError: A table is damaged.
    """
    write_static(folder)
    environment = _environment_of(benchmark, CONSTRUCTION_PAGE)
    links = _links(benchmark)[1:]
    page = write_construction(benchmark, folder, environment, page="index.html", links=links)
    if has_objects(benchmark):
        write_objects(benchmark, folder, environment)
    if has_dataset(benchmark):
        write_dataset_page(benchmark, folder, environment)
    return page


def _links(benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """What else the site shows: words and pages."""
    links = []
    if is_constructed(benchmark):
        links.append(("Chains, dialogues and what the checks found", CONSTRUCTION_PAGE))
    if has_objects(benchmark):
        links.append(("Objects along the time line", OBJECTS_PAGE))
    return tuple(links)


def _environment_of(benchmark: Benchmark, first: str | None = None) -> Environment:
    """Templates whose pages all have the navigation of a benchmark's site.

    Args:
        benchmark: What the site is about.
        first: The page that is its `index.html`, where that is none of an overview.
    """
    pages = [("Overview", "index.html")]
    if is_constructed(benchmark):
        pages.append(("Construction", CONSTRUCTION_PAGE))
    if has_objects(benchmark):
        pages.append(("Objects", OBJECTS_PAGE))
    if has_dataset(benchmark):
        pages.append(("Dataset", DATASET_PAGE))
    environment = make_environment()
    environment.globals["pages"] = [{"title": title, "file": file} for title, file in pages if file != first]
    return environment


def _write_more(benchmark: Benchmark, folder: Path, environment: Environment) -> None:
    """The pages that `_links` names."""
    if is_constructed(benchmark):
        write_construction(benchmark, folder, environment)
    if has_objects(benchmark):
        write_objects(benchmark, folder, environment)
    if has_dataset(benchmark):
        write_dataset_page(benchmark, folder, environment)
