"""The first page of a report on runs: the leaderboard, its figures, groups, times, counts and signatures."""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from reeltalk.report import figures
from reeltalk.report.breakdowns import FEW_TIMES, breakdowns, how_answered, judges, timing_figures
from reeltalk.report.columns import FLOOR, title_of
from reeltalk.report.figures import Estimate, Series
from reeltalk.report.leaderboard import Leaderboard, ModelRow
from reeltalk.report.site import Site
from reeltalk.report.verdicts import reasons
from reeltalk.schema.runs import CurvePoint

FEW_VIDEOS: Final = 30
"""With fewer source videos the page says that the intervals are rough: a bootstrap is then known to be too narrow."""


def write_leaderboard(site: Site) -> None:
    """Write `index.html`.

    Args:
        site: The report.
    """
    board = site.board
    settings, answered = how_answered(board)
    site.render(
        "index.html",
        "index.html",
        few_turns=figures.FEW,
        few_videos=FEW_VIDEOS,
        dialogues=site.dialogues,
        turns=sum(len(dialogue.turns) for dialogue in site.dialogues),
        videos=len({dialogue.video_id for dialogue in site.dialogues}),
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
        reasons=reasons(board, site.verdicts),
    )


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
