"""The page of all numbers of a report on runs: every metric, what was counted, and all signatures."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import FLOOR, metric_title
from reeltalk.analysis.estimates import FEW_TURNS, by_metric, by_model
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.analysis.turn_scores import credit_metric
from reeltalk.analysis.values import display_factor, metric_heading
from reeltalk.analysis.verdicts import unscored_reasons
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages import charts
from reeltalk.pages.along import turn_curves
from reeltalk.pages.breakdowns import answer_settings_table, judge_name
from reeltalk.pages.charts import Mark, estimate_of
from reeltalk.pages.site import Page, Site

PAGE: Final = "numbers.html"


def write_numbers(site: Site) -> None:
    """Write `numbers.html`."""
    board = site.board
    settings, answered = answer_settings_table(board)
    leading = credit_metric(metric for metric in board.plotted if turn_curves(board, metric))
    site.render(
        PAGE,
        PAGE,
        few_turns=FEW_TURNS,
        most_bands=charts.MOST_BANDS,
        few_videos=few_videos_warning([board.clusters]),
        mixed=[(_families(metrics), board.why_mixed(metrics[0])) for metrics, _ in board.mixed_together],
        whisker_figures={metric: _whiskers(site, metric) for metric in board.plotted},
        leading=leading,
        leading_figure=Markup(turn_curves(board, leading)) if leading else None,
        settings=settings,
        answered=answered,
        judges=judge_name,
        reasons=unscored_reasons(board),
        not_scored=_not_scored(board),
        tables=_tables(site),
    )


def _not_scored(board: Leaderboard) -> list[tuple[list[str], str, str]]:
    """Metrics without a value: titles, models and reason; metrics with the same reason are grouped."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in board.unscored:
        found.setdefault((board.naming(line.models), line.reason), []).append(metric_title(line.metric))
    return [(titles, models, reason) for (models, reason), titles in found.items()]


def _tables(site: Site) -> dict[str, object]:
    """Links to the page's tables as files, by section."""
    board = site.board
    found: dict[str, object] = {}
    for name, title, columns in (
        ("judged", "Judged measures", board.judged),
        ("texts", "Text overlap", board.texts),
    ):
        metrics = [column.metric for column in columns]
        found[name] = Markup()
        if metrics:
            header, rows = by_model(board, metrics)
            found[name] = site.table(
                PAGE, name, header, rows, title, site.signatures_of(*metrics), notes=_notes(board, metrics)
            )
    detail: dict[str, Markup] = {}
    for family, metrics in board.details:
        header, rows = by_metric(board, metrics)
        title = f"{metric_title(family)} in detail"
        detail[family] = site.table(PAGE, f"detail-{family}", header, rows, title, site.signatures_of(*metrics))
    found["detail"] = detail
    names, answered = answer_settings_table(board)
    header = ["Model", *(name.capitalize() for name in names), "Judge"]
    lines = [[model.name, *values, judge_name(model) or "–"] for model, values in answered]
    found["how"] = site.table(PAGE, "answered", header, lines, "How the answers came about") if names else Markup()
    return found


def _notes(board: Leaderboard, metrics: Sequence[str]) -> list[str]:
    notes = [
        f"Not comparable between models: {', '.join(_families(found))}. {board.why_mixed(mixed[0])}"
        for mixed, _ in board.mixed_together
        if (found := [metric for metric in mixed if metric in metrics])
    ]
    return notes + [
        f"{model.name} {model.floor}: a model that is not above it has shown no ability." for model in board.floors
    ]


def _whiskers(site: Site, metric: str) -> Markup:
    board = site.board
    marks, best = [], None
    for index, model in enumerate(board.models):
        cell = model.cells[metric]
        estimate = estimate_of(cell.row, metric) if cell is not None else None
        marks.append(Mark(index, model.name, estimate))
        if cell is not None and cell.is_best:
            best = estimate
    title = f"{metric_title(metric)} of each model with its 95 % interval"
    floors = {
        index: floor
        for index, model in enumerate(board.models)
        if marks[index].value is not None and (floor := _floor(board, model, metric)) is not None
    }
    svg = charts.interval_chart(marks, title=title, axis=metric_heading(metric), band=best, floors=floors)
    return site.figure(PAGE, f"values-{metric}", svg, title, site.signatures_of(metric))


def _floor(board: Leaderboard, model: ModelRow, metric: str) -> float | None:
    """The score without any knowledge: the protocol's own number for the model's turns if it has one."""
    own = model.cells.get(f"{metric}.{FLOOR}")
    floor = own.row.value if own is not None else board.floor(metric, model.run)
    return None if floor is None else floor * display_factor(metric)


def _families(metrics: Sequence[str]) -> list[str]:
    """Titles of metrics, all numbers of a judged measure as one."""
    return list(dict.fromkeys(metric_title(metric.split(".")[0]) for metric in metrics))


REPORT_PAGES: Final = (Page("All numbers", PAGE, lambda site: True, write_numbers, place=15, more=True),)
