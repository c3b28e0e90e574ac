"""The page that follows dialogues: every metric by turn, and what a wrong answer does to the turns after it."""

from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import title_of
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.table_files import TableCell
from reeltalk.pages import charts
from reeltalk.pages.cascade import Cascade, cascades, measures
from reeltalk.pages.charts import Estimate, Pair, Series
from reeltalk.pages.contrasts import DIFFERENCES
from reeltalk.pages.quantities import quantity
from reeltalk.pages.site import Site
from reeltalk.schema.runs import CurvePoint

PAGE: Final = "along.html"
CASCADE_NOTE: Final = f"{DIFFERENCES}."


def has_curves(site: Site) -> bool:
    """True where some metric has values by turn, or tells right answers from wrong ones."""
    return bool(measures(site.board)) or any(turn_curves(site.board, metric) for metric in site.board.plotted)


def write_along(site: Site) -> None:
    """Write `along.html`.

    Args:
        site: The report.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    board = site.board
    curves = []
    for metric in board.plotted:
        if not (svg := turn_curves(board, metric)):
            continue
        title, signatures = f"{title_of(metric)} by turn", site.signatures_of(metric)
        rows = _rows(board, metric)
        links = site.table(PAGE, metric, ["Turn", *_names(board)], _cells(rows, metric), title, signatures)
        curves.append((metric, site.figure(PAGE, metric, svg, title, signatures), rows, links))
    found = [(one, *_cascade(site, one)) for one in cascades(board)]
    site.render(
        PAGE,
        PAGE,
        curves=curves,
        cascades=found,
        few_turns=charts.FEW,
        most_bands=charts.MOST_BANDS,
    )


def turn_curves(board: Leaderboard, metric: str) -> str:
    """A metric by turn position, a line for each model; empty where no run has it by turn."""
    series = [
        Series(index, model.name, [(point.turn_index + 1, _estimate(point)) for point in points])
        for index, model in enumerate(board.models)
        if (points := model.quoted_curve(metric))
    ]
    return charts.curves(series, title=f"{title_of(metric)} by turn position, a line for each model")


def _cascade(site: Site, one: Cascade) -> tuple[Markup, Markup, Markup]:
    """Both figures of a measure, and the links to its table."""
    board, name = site.board, title_of(one.metric)
    signatures = site.signatures_of(one.metric, f"{one.metric}.recovery", f"{one.metric}.after_right")
    rows = [
        Pair(found.index, board.models[found.index].name, found.after_right, found.after_wrong) for found in one.models
    ]
    title = f"{name}: right answers after a right (filled) and after a wrong answer (hollow), per cent"
    svg = charts.pairs(rows, title=title, labels=("after a right answer", "after a wrong answer"))
    pairs = site.figure(PAGE, f"after-{one.metric}", svg, title, signatures)
    lines = [
        Series(found.index, board.models[found.index].name, found.since_error)
        for found in one.models
        if found.since_error
    ]
    title = f"{name}: right answers by turns since the dialogue's first wrong one, per cent"
    svg = charts.curves(lines, title=title, axis="since")
    since = site.figure(PAGE, f"since-{one.metric}", svg, title, signatures)
    distances = sorted({distance for found in one.models for distance, _ in found.since_error})
    header = ["Model", "After right", "After wrong", "Difference", "No error yet", *(f"Since {at}" for at in distances)]
    cells: list[list[TableCell]] = [
        [
            board.models[found.index].name,
            quantity(found.after_right, one.metric),
            quantity(found.after_wrong, one.metric),
            quantity(found.difference, one.metric, signed=True),
            quantity(found.no_error_yet, one.metric),
            *(quantity(dict(found.since_error).get(at), one.metric) for at in distances),
        ]
        for found in one.models
    ]
    title = f"{name}: right answers after right and wrong ones, per cent"
    return pairs, since, site.table(PAGE, f"after-{one.metric}", header, cells, title, signatures, notes=[CASCADE_NOTE])


def _estimate(point: CurvePoint) -> Estimate:
    assert point.value is not None  # Others are not drawn.
    return Estimate(point.value, point.low, point.high, point.n, point.videos)


def _names(board: Leaderboard) -> list[str]:
    return [model.name for model in board.models]


def _rows(board: Leaderboard, metric: str) -> list[tuple[int, list[CurvePoint | None]]]:
    """The numbers of a figure: turn positions from 1 with each model's point."""
    found = [{point.turn_index: point for point in model.curves.get(metric, ())} for model in board.models]
    positions = sorted({position for points in found for position in points})
    return [(position + 1, [points.get(position) for points in found]) for position in positions]


def _cells(rows: list[tuple[int, list[CurvePoint | None]]], metric: str) -> list[list[TableCell]]:
    return [[position, *(quantity(point, metric) for point in points)] for position, points in rows]
