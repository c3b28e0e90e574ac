"""Numbers of the leaderboard as cells of tables for papers."""

from collections.abc import Iterable, Sequence

from reeltalk.analysis.columns import scale_of, title_of
from reeltalk.analysis.leaderboard import Cell, Leaderboard, ModelRow
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.pages.charts import Estimate
from reeltalk.schema.runs import CurvePoint, GroupRow


def quantity_of(model: ModelRow, cell: Cell | None) -> TableCell:
    """A number of the leaderboard; its n stands beside it where it is not the model's number of turns."""
    if cell is None:
        return None
    row = cell.row
    return Quantity(
        row.value,
        row.low,
        row.high,
        None if row.n == model.info.items else row.n,
        row.metric,
        cell.is_best,
        cell.may_equal_best,
        "withheld" if cell.withheld else "not scored",
        videos=row.videos,
    )


def quantity(found: Estimate | GroupRow | CurvePoint | None, metric: str | None, *, signed: bool = False) -> TableCell:
    """A value with its interval and n, of a group, a position or a comparison."""
    if found is None:
        return None
    withheld = isinstance(found, GroupRow | CurvePoint) and found.over_scored is not None
    missing = "withheld" if withheld else "not scored"
    return Quantity(
        found.value, found.low, found.high, found.n, metric, missing=missing, signed=signed, videos=found.videos
    )


def by_model(board: Leaderboard, metrics: Sequence[str]) -> tuple[list[str], list[list[TableCell]]]:
    """Header and rows of a table with a row a model and a column a metric."""
    header = ["Model", *(title_of(metric) for metric in metrics), "n"]
    rows: list[list[TableCell]] = [
        [model.name, *(quantity_of(model, model.cells[metric]) for metric in metrics), model.info.items]
        for model in board.models
    ]
    return header, rows


def by_metric(board: Leaderboard, metrics: Iterable[str]) -> tuple[list[str], list[list[TableCell]]]:
    """Header and rows of a table with a row a metric and a column a model."""
    header = ["Number", "Scale", *(model.name for model in board.models)]
    rows: list[list[TableCell]] = [
        [title_of(metric), scale_of(metric), *(quantity_of(model, model.cells[metric]) for model in board.models)]
        for metric in metrics
    ]
    return header, rows
