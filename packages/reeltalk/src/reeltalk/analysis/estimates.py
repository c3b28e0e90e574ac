"""Numbers with intervals: means of turns, differences of two means, and cells of tables that show them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import metric_title, n_items
from reeltalk.analysis.leaderboard import Cell, Leaderboard
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.analysis.values import display_factor, format_value, metric_unit
from reeltalk.metrics.uncertainty import (
    Bounds,
    Clusters,
    clustered_contrast,
    clustered_mean,
    difference_bounds,
    mean_interval,
)
from reeltalk.schema.runs import CurvePoint, GroupRow

FEW_TURNS: Final = 30
"""A number on fewer turns is unreliable: charts draw it faded and without a line to it."""
DIFFERENCES: Final = "Differences: t intervals clustered by source video (CR2, Imbens-Kolesár degrees of freedom)"


@dataclass(frozen=True)
class Estimate:
    """A value with its interval."""

    value: float
    low: float | None
    high: float | None
    n: int = 0
    videos: int | None = None
    """Number of source videos; None in runs of older versions."""
    in_percent: bool = False
    """True for a share on the scale on which people read it."""

    def __str__(self) -> str:
        def written(value: float) -> str:
            return f"{value:.1f}" if self.in_percent else format_value(value)

        value = f"{written(self.value)} %" if self.in_percent else written(self.value)
        return (
            value if self.low is None or self.high is None else f"{value} [{written(self.low)}, {written(self.high)}]"
        )


def on_display_scale(found: Estimate, metric: str) -> Estimate:
    """An estimate on the scale on which people read the metric, for a chart: a share in percent."""
    factor = display_factor(metric)
    low, high = (None if end is None else end * factor for end in (found.low, found.high))
    in_percent = metric_unit(metric) == "%"
    return replace(found, value=found.value * factor, low=low, high=high, in_percent=in_percent)


class VideoValues(NamedTuple):
    """Numbers of turns, with their videos."""

    videos: Clusters
    """(N,) the source video of each turn."""
    values: NDArray[np.float64]
    """(N,)"""


def mean_estimate(entries: VideoValues, scale: Bounds) -> Estimate | None:
    """A mean with its 95 % interval, which is None for fewer than two videos; None for no entries.

    Args:
        entries: Numbers of turns.
        scale: Lowest and highest possible value of a turn.
    """
    if not len(entries.values):
        return None
    found = mean_interval(entries.values, entries.videos, scale)
    return Estimate(found.value, found.low, found.high, found.n, found.clusters)


def difference_estimate(
    first: VideoValues, second: VideoValues, scale: Bounds, *, paired: bool = False
) -> Estimate | None:
    """Mean of the second minus mean of the first, with a 95 % interval clustered by video; `n` counts both.

    An effect of a video on both does not widen the interval.

    Args:
        first: Numbers of turns.
        second: Numbers of the same turns, or of others about the same videos.
        scale: Lowest and highest possible value of a turn.
        paired: True if both have the same turns in the same order; the difference is then tested as in `compare`.

    Returns:
        None if one of them is empty; without an interval if one of them is about a single video, or if no video differs
        from another.
    """
    if not len(first.values) or not len(second.values):
        return None
    if paired:
        differences = second.values - first.values
        mean = clustered_mean(differences, second.videos, bounds=difference_bounds(scale))
        return Estimate(mean.value, mean.low, mean.high, mean.items, mean.clusters)
    strata = np.repeat(np.arange(2), [len(second.values), len(first.values)])
    found = clustered_contrast(
        np.concatenate([second.values, first.values]),
        np.concatenate([np.asarray(second.videos), np.asarray(first.videos)]),
        strata,
        np.array([1.0, -1.0]),
        bounds=difference_bounds(scale),
    )
    return Estimate(found.value, found.low, found.high, found.items, found.clusters)


def quantity_of(turns: int, cell: Cell | None) -> TableCell:
    """A number of the leaderboard, with its n if that is not the model's number of turns."""
    if cell is None:
        return None
    row = cell.row
    return Quantity(
        row.value,
        row.low,
        row.high,
        None if row.n == turns and not n_items(row.metric) else row.n,
        row.metric,
        cell.is_best,
        cell.may_equal_best,
        "withheld" if cell.withheld else "not scored",
        videos=row.videos,
    )


def quantity(found: Estimate | GroupRow | CurvePoint | None, metric: str | None, *, signed: bool = False) -> TableCell:
    """A table cell with value, interval and n, of a group, a position or a comparison."""
    if found is None:
        return None
    withheld = isinstance(found, GroupRow | CurvePoint) and found.over_scored is not None
    missing = "withheld" if withheld else "not scored"
    return Quantity(
        found.value, found.low, found.high, found.n, metric, missing=missing, signed=signed, videos=found.videos
    )


def by_model(board: Leaderboard, metrics: Sequence[str]) -> tuple[list[str], list[list[TableCell]]]:
    """Header and rows of a table with a row for each model and a column for each metric."""
    header = ["Model", *(metric_title(metric) for metric in metrics), "n"]
    rows: list[list[TableCell]] = [
        [model.name, *(quantity_of(model.info.items, model.cells[metric]) for metric in metrics), model.info.items]
        for model in board.models
    ]
    return header, rows


def by_metric(board: Leaderboard, metrics: Iterable[str]) -> tuple[list[str], list[list[TableCell]]]:
    """Header and rows of a table with a row for each metric and a column for each model."""
    header = ["Number", "Scale", *(model.name for model in board.models)]
    rows: list[list[TableCell]] = [
        [
            metric_title(metric),
            metric_unit(metric),
            *(quantity_of(model.info.items, model.cells[metric]) for model in board.models),
        ]
        for metric in metrics
    ]
    return header, rows
