"""The page of scores along the dialogue: every metric by turn, and the effect of a wrong answer on later turns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from markupsafe import Markup

from reeltalk.analysis.columns import metric_title, share_of_scale
from reeltalk.analysis.estimates import (
    DIFFERENCES,
    FEW_TURNS,
    Estimate,
    VideoValues,
    difference_estimate,
    mean_estimate,
    quantity,
)
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.table_files import TableCell
from reeltalk.analysis.turn_scores import RIGHT
from reeltalk.analysis.values import metric_heading
from reeltalk.metrics.uncertainty import numbered_clusters
from reeltalk.pages import charts
from reeltalk.pages.charts import Mark, estimate_of
from reeltalk.pages.site import Page, Site
from reeltalk.schema.runs import CurvePoint
from reeltalk.store.score_frame import SCORE

if TYPE_CHECKING:
    import polars as pl

RECOVERY: Final = "recovery"
PER_CENT: Final = 100.0
SHARES: Final = (0.0, PER_CENT)


@dataclass(frozen=True)
class ModelCascade:
    """Shares of right answers of one model after right and wrong answers, in per cent."""

    index: int
    """The model's place in the leaderboard."""
    after_right: Estimate | None
    after_wrong: Estimate | None
    difference: Estimate | None
    """The share after a right answer minus the share after a wrong one."""
    no_error_yet: Estimate | None
    """Turns after the first turn, with no wrong answer before them."""
    since_error: tuple[tuple[int, Estimate], ...]
    """By number of turns since the dialogue's first wrong answer, from 1."""


@dataclass(frozen=True)
class Cascade:
    """The effect of errors by one measure."""

    metric: str
    models: tuple[ModelCascade, ...]


def right_wrong_metrics(board: Leaderboard) -> list[str]:
    """Measures that separate right answers from wrong ones."""
    return [metric for metric in board.metrics if f"{metric}.{RECOVERY}" in board.metrics]


def find_cascades(board: Leaderboard) -> list[Cascade]:
    """The effect of errors, for each of the `right_wrong_metrics`.

    A turn without a score is neither right nor wrong, so the turn after it does not count as a turn after an answer.
    Inserted wrong answers and the turns after them are left out, because no model gave these answers.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    found = []
    for metric in right_wrong_metrics(board):
        places = [
            place
            for place, model in enumerate(board.models)
            if model.floor is None and ((cell := model.cells[metric]) is None or not cell.withheld)
        ]
        models = [one for place in places if (one := _of_model(board, place, metric)) is not None]
        if models:
            found.append(Cascade(metric, tuple(models)))
    return found


def _of_model(board: Leaderboard, place: int, metric: str) -> ModelCascade | None:
    import polars as pl

    column = SCORE + metric
    own = board.answers.filter(column=place).sort("unit_id", "turn_index", maintain_order=True)
    if column not in own.columns:
        return None
    credits = [None if value is None else share_of_scale(metric, value) for value in own[column]]
    right, index, unit = pl.col("right"), pl.col("turn_index"), "unit_id"
    turns = own.select(
        unit,
        "turn_index",
        "planted",
        video=pl.Series(numbered_clusters(own["video_id"])),
        right=pl.Series([None if credit is None else credit > RIGHT for credit in credits], dtype=pl.Boolean),
    )
    after = turns.with_columns(
        before=right.shift().over(unit),
        follows=(index == index.shift().over(unit) + 1) & ~pl.col("planted").shift().over(unit),
    ).filter("follows", right.is_not_null(), pl.col("before").is_not_null())
    if after.is_empty():
        return None
    played = turns.filter(~pl.col("planted").any().over(unit))
    error = index.filter(~right).min().over(unit)
    scored = played.with_columns(since=pl.when(index > error).then(index - error)).filter(
        right.is_not_null(), index > 0
    )
    after_right, after_wrong = (_shares(after.filter(before=before)) for before in (True, False))
    return ModelCascade(
        place,
        mean_estimate(after_right, SHARES),
        mean_estimate(after_wrong, SHARES),
        difference_estimate(after_wrong, after_right, SHARES),
        mean_estimate(_shares(scored.filter(pl.col("since").is_null())), SHARES),
        tuple(
            (since, mean)
            for (since,), rows in scored.drop_nulls("since").sort("since").group_by("since", maintain_order=True)
            if (mean := mean_estimate(_shares(rows), SHARES)) is not None
        ),
    )


def _shares(turns: "pl.DataFrame") -> VideoValues:
    """Whether turns are right, in per cent."""
    return VideoValues(turns["video"].to_numpy(), PER_CENT * turns["right"].cast(float).to_numpy())


PAGE: Final = "along.html"
CASCADE_NOTE: Final = f"{DIFFERENCES}."


def has_curves(site: Site) -> bool:
    """True if some metric has values by turn, or separates right answers from wrong ones."""
    return bool(right_wrong_metrics(site.board)) or any(
        turn_curves(site.board, metric) for metric in site.board.plotted
    )


def write_along(site: Site) -> None:
    """Write `along.html`.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    board = site.board
    curves = []
    for metric in board.plotted:
        if not (svg := turn_curves(board, metric)):
            continue
        title, signatures = f"{metric_title(metric)} by turn", site.signatures_of(metric)
        rows = _rows(board, metric)
        links = site.table(PAGE, metric, ["Turn", *_names(board)], _cells(rows, metric), title, signatures)
        curves.append((metric, site.figure(PAGE, metric, svg, title, signatures), rows, links))
    found = [(one, *_cascade(site, one)) for one in find_cascades(board)]
    site.render(PAGE, PAGE, curves=curves, cascades=found, few_turns=FEW_TURNS, most_bands=charts.MOST_BANDS)


def turn_curves(board: Leaderboard, metric: str) -> str:
    """The chart of a metric by turn position, with a line for each model; empty if no run has values by turn."""
    marks = [
        Mark(index, model.name, estimate_of(point, metric), at=point.turn_index + 1)
        for index, model in enumerate(board.models)
        for point in model.quoted_curve(metric)
    ]
    title = f"{metric_title(metric)} by turn position, a line for each model"
    return charts.line_chart(marks, title=title, axis="turn", values=metric_heading(metric), names={})


def _cascade(site: Site, one: Cascade) -> tuple[Markup, Markup, Markup]:
    """Both figures of a measure, and the links to its table."""
    board, name = site.board, metric_title(one.metric)
    # The part's values are percentages, whatever the scale of its measure.
    shares = f"{one.metric}.recovery"
    signatures = site.signatures_of(one.metric, f"{one.metric}.recovery", f"{one.metric}.after_right")
    marks = [
        Mark(
            found.index, board.models[found.index].name, share, hollow=hollow,
            tooltip=f"{share}, n = {share.n}, after a {'wrong' if hollow else 'right'} answer",
        )
        for found in one.models
        for share, hollow in ((found.after_right, False), (found.after_wrong, True))
        if share is not None
    ]  # fmt: skip
    title = f"{name}: right answers after a right (filled) and after a wrong answer (hollow), per cent"
    svg = charts.interval_chart(marks, title=title, axis="right answers, %")
    pairs = site.figure(PAGE, f"after-{one.metric}", svg, title, signatures)
    marks = [
        Mark(found.index, board.models[found.index].name, share, at=distance)
        for found in one.models
        for distance, share in found.since_error
    ]
    title = f"{name}: right answers by turns since the dialogue's first wrong one, per cent"
    svg = charts.line_chart(marks, title=title, axis="turns since", values="right answers, %", names={})
    since = site.figure(PAGE, f"since-{one.metric}", svg, title, signatures)
    distances = sorted({distance for found in one.models for distance, _ in found.since_error})
    header = ["Model", "After right", "After wrong", "Difference", "No error yet", *(f"Since {at}" for at in distances)]
    cells: list[list[TableCell]] = [
        [
            board.models[found.index].name,
            quantity(found.after_right, shares),
            quantity(found.after_wrong, shares),
            quantity(found.difference, shares, signed=True),
            quantity(found.no_error_yet, shares),
            *(quantity(dict(found.since_error).get(at), shares) for at in distances),
        ]
        for found in one.models
    ]
    title = f"{name}: right answers after right and wrong ones, per cent"
    return pairs, since, site.table(PAGE, f"after-{one.metric}", header, cells, title, signatures, notes=[CASCADE_NOTE])


def _names(board: Leaderboard) -> list[str]:
    return [model.name for model in board.models]


def _rows(board: Leaderboard, metric: str) -> list[tuple[int, list[CurvePoint | None]]]:
    """The numbers of a figure: each model's point by turn position, from 1."""
    found = [{point.turn_index: point for point in model.curves.get(metric, ())} for model in board.models]
    positions = sorted({position for points in found for position in points})
    return [(position + 1, [points.get(position) for points in found]) for position in positions]


def _cells(rows: list[tuple[int, list[CurvePoint | None]]], metric: str) -> list[list[TableCell]]:
    return [[position, *(quantity(point, metric) for point in points)] for position, points in rows]


REPORT_PAGES: Final = (Page("Along the dialogue", PAGE, has_curves, write_along, place=60, more=True),)
