"""Write runs as a static site that opens from disk: an index, a list of dialogues, and a page for each dialogue."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reeltalk import __version__
from reeltalk.report import figures
from reeltalk.report.breakdowns import FEW_TIMES, breakdowns, how_answered, judges, timing_figures
from reeltalk.report.columns import FLOOR, kind_of, scale_of, title_of
from reeltalk.report.construction import PAGE as CONSTRUCTION_PAGE
from reeltalk.report.construction import is_constructed, write_construction
from reeltalk.report.curation import write_curation
from reeltalk.report.dialogues import (
    NEAR_ZERO_FOR_ONE_ANSWER,
    ShownDialogue,
    collect,
    heat_levels,
    item_metrics,
    mean_metric,
    scored_metrics,
)
from reeltalk.report.export import TableFormat, render_table
from reeltalk.report.figures import Estimate, Series
from reeltalk.report.leaderboard import Leaderboard, ModelRow, build, key_of, shown
from reeltalk.report.objects import PAGE as OBJECTS_PAGE
from reeltalk.report.objects import has_objects, write_objects
from reeltalk.report.scenarios import ShownScenario, title_of_activity, write_scenarios
from reeltalk.report.verdicts import reasons, verdicts_of
from reeltalk.report.visible import visible
from reeltalk.schema.runs import CurvePoint
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run

__all__ = [
    "TableFormat",
    "render_table",
    "write_construction_report",
    "write_curation_report",
    "write_object_report",
    "write_report",
    "write_scenario_report",
]

STATIC: Final = ("style.css", "page.js")
FEW_VIDEOS: Final = 30
"""With fewer source videos the index says that the intervals are rough: a bootstrap is then known to be too narrow."""


def write_report(runs: Sequence[Run], folder: Path) -> Path:
    """Write the site.

    The same runs give the same bytes. Figures, style and script are inside; no page asks for anything from a network.

    Args:
        runs: Runs side by side, in the order of their models on the pages.
        folder: An existing, empty folder.

    Returns:
        Path of `index.html`.

    Raises:
        BenchmarkError: The runs hold no scores, or one contradicts itself.
        InputError: A run's file is damaged.
    """
    board = build(runs)
    verdicts = {id(run): verdicts_of(run) for run in runs}
    dialogues = collect(board, verdicts)
    metrics = item_metrics(board, dialogues)
    environment = _environment()
    _write_static(folder)
    _write_dialogues(environment, board, dialogues, metrics, folder)
    _write_list(environment, board, dialogues, mean_metric(scored_metrics(board, dialogues)), folder)
    settings, answered = how_answered(board)
    page = environment.get_template("index.html").render(
        root="",
        board=board,
        few_turns=figures.FEW,
        few_videos=FEW_VIDEOS,
        dialogues=dialogues,
        turns=sum(len(dialogue.turns) for dialogue in dialogues),
        videos=len({dialogue.video_id for dialogue in dialogues}),
        mixed=[(_families(metrics), parts) for metrics, parts in board.mixed_together],
        whisker_figures={metric: Markup(_whiskers(board, metric)) for metric in board.plotted},
        curve_figures={metric: Markup(drawn) for metric in board.plotted if (drawn := _curves(board, metric))},
        curve_rows={metric: _curve_rows(board.models, metric) for metric in board.plotted},
        groups=breakdowns(board),
        timing_figures=[(figure.title, Markup(figure.svg)) for figure in timing_figures(board)],
        few_times=FEW_TIMES,
        settings=settings,
        answered=answered,
        judges=judges,
        reasons=reasons(board, verdicts),
    )
    _write(folder / "index.html", page)
    return folder / "index.html"


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
    _write_static(folder)
    environment = _environment()
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
    _write_static(folder)
    environment = _environment()
    page = write_scenarios(title, scenarios, folder, environment, links=_links(benchmark) if benchmark else ())
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
    _write_static(folder)
    return write_objects(benchmark, folder, _environment(), page="index.html")


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
    _write_static(folder)
    environment = _environment()
    links = _links(benchmark)[1:]
    page = write_construction(benchmark, folder, environment, page="index.html", links=links)
    if has_objects(benchmark):
        write_objects(benchmark, folder, environment)
    return page


def _links(benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """What else the site shows: words and pages."""
    links = []
    if is_constructed(benchmark):
        links.append(("Chains, dialogues and what the checks found", CONSTRUCTION_PAGE))
    if has_objects(benchmark):
        links.append(("Objects along the time line", OBJECTS_PAGE))
    return tuple(links)


def _write_more(benchmark: Benchmark, folder: Path, environment: Environment) -> None:
    """The pages that `_links` names."""
    if is_constructed(benchmark):
        write_construction(benchmark, folder, environment)
    if has_objects(benchmark):
        write_objects(benchmark, folder, environment)


def _write_static(folder: Path) -> None:
    for name in STATIC:
        text = (files("reeltalk.report") / "static" / name).read_text(encoding="utf-8")
        _write(folder / name, text)


def _write_dialogues(
    environment: Environment, board: Leaderboard, dialogues: list[ShownDialogue], metrics: list[str], folder: Path
) -> None:
    template = environment.get_template("dialogue.html")
    (folder / "dialogues").mkdir()
    # The floor may be a few judged empty answers, of which no run holds a row.
    silent = {
        index
        for index, model in enumerate(board.models)
        if model.floor is not None
        and all(turn.answers[index].text is None for dialogue in dialogues for turn in dialogue.turns)
    }
    for number, dialogue in enumerate(dialogues):
        html = template.render(
            root="../",
            board=board,
            dialogue=dialogue,
            before=dialogues[number - 1] if number else None,
            after=dialogues[number + 1] if number + 1 < len(dialogues) else None,
            metrics=metrics,
            silent=silent,
            left_out=[m for m in board.metrics if m in NEAR_ZERO_FOR_ONE_ANSWER and m not in metrics],
        )
        _write(folder / "dialogues" / dialogue.file, html)


def _write_list(
    environment: Environment, board: Leaderboard, dialogues: list[ShownDialogue], metric: str | None, folder: Path
) -> None:
    means = [dialogue.means(metric) if metric else [] for dialogue in dialogues]
    levels = heat_levels(means)
    cells = [list(zip(values, heat, strict=True)) for values, heat in zip(means, levels, strict=True)]
    html = environment.get_template("dialogues.html").render(
        root="", board=board, metric=metric, rows=list(zip(dialogues, cells, strict=True))
    )
    _write(folder / "dialogues.html", html)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reeltalk.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
    )
    environment.filters["title_of_activity"] = title_of_activity
    environment.globals.update(
        version=__version__,
        colours=figures.COLOURS,
        key_of=key_of,
        kind_of=kind_of,
        scale_of=scale_of,
        shown=shown,
        swatch=lambda index: Markup(figures.swatch(index)),
        title_of=title_of,
    )
    return environment


def _whiskers(board: Leaderboard, metric: str) -> str:
    rows: list[tuple[str, Estimate | None]] = []
    best = None
    for model in board.models:
        cell = model.cells[metric]
        if cell is None or cell.row.value is None:
            rows.append((model.name, None))
            continue
        estimate = Estimate(cell.row.value, cell.row.low, cell.row.high, cell.row.n)
        rows.append((model.name, estimate))
        best = estimate if cell.is_best else best
    title = f"{title_of(metric)} of each model with its 95 % interval"
    return figures.whiskers(
        rows, title=title, band=best, floors=[_floor(board, model, metric) for model in board.models]
    )


def _floor(board: Leaderboard, model: ModelRow, metric: str) -> float | None:
    """What knows nothing gets: where a protocol tells it for a model's own turns, that."""
    own = model.cells.get(f"{metric}.{FLOOR}")
    return own.row.value if own is not None else board.floor(metric, model.run)


def _curves(board: Leaderboard, metric: str) -> str:
    series = [
        Series(index, model.name, [(point.turn_index + 1, _estimate(point)) for point in model.curves[metric]])
        for index, model in enumerate(board.models)
        if model.curves.get(metric)
    ]
    return figures.curves(series, title=f"{title_of(metric)} by turn position, a line for each model")


def _families(metrics: Sequence[str]) -> list[str]:
    """Titles of metrics, all numbers of a judged measure as one."""
    return list(dict.fromkeys(title_of(metric.split(".")[0]) for metric in metrics))


def _estimate(point: CurvePoint) -> Estimate:
    return Estimate(point.value, point.low, point.high, point.n)


def _curve_rows(models: Sequence[ModelRow], metric: str) -> list[tuple[int, list[CurvePoint | None]]]:
    """The numbers of a figure: turn positions from 1 with each model's point."""
    found = [{point.turn_index: point for point in model.curves.get(metric, ())} for model in models]
    positions = sorted({position for points in found for position in points})
    return [(position + 1, [points.get(position) for points in found]) for position in positions]
