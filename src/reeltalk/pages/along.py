"""The page of scores along the dialogue: every metric by turn, and the effect of a wrong answer on later turns."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import metric_title
from reeltalk.analysis.estimates import (
    DIFFERENCES,
    FEW,
    Estimate,
    VideoValue,
    difference_estimate,
    mean_estimate,
    on_display_scale,
    quantity,
)
from reeltalk.analysis.leaderboard import Leaderboard
from reeltalk.analysis.table_files import TableCell
from reeltalk.analysis.turn_scores import RIGHT, ScoredTurn, scored_turns
from reeltalk.pages import charts
from reeltalk.pages.charts import Series, ValuePair
from reeltalk.pages.site import Page, Site
from reeltalk.schema.runs import CurvePoint

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
    metrics = right_wrong_metrics(board)
    if not metrics:
        return []
    places = {(id(model.run), model.info.model): index for index, model in enumerate(board.models)}
    units: dict[tuple[str, int], dict[str, list[ScoredTurn]]] = defaultdict(lambda: defaultdict(list))
    for run in {id(model.run): model.run for model in board.models}.values():
        for turn in scored_turns(run):
            place = places.get((id(run), turn.model))
            if place is None or board.models[place].floor is not None:
                continue
            for metric in metrics:
                cell = board.models[place].cells[metric]
                if cell is None or not cell.withheld:
                    units[metric, place][turn.unit_id].append(turn)
    found = []
    for metric in metrics:
        models = [
            one
            for place in range(len(board.models))
            if (metric, place) in units
            and (one := _of_model(place, metric, list(units[metric, place].values()))) is not None
        ]
        if models:
            found.append(Cascade(metric, tuple(models)))
    return found


def _of_model(place: int, metric: str, units: Sequence[Sequence[ScoredTurn]]) -> ModelCascade | None:
    after: dict[bool, list[VideoValue]] = {True: [], False: []}
    untouched: list[VideoValue] = []
    since: dict[int, list[VideoValue]] = defaultdict(list)
    for unit in units:
        turns = sorted(unit, key=lambda turn: turn.turn_index)
        right = [None if (credit := turn.credit(metric)) is None else credit > RIGHT for turn in turns]
        for (before, was), (turn, now) in pairwise(zip(turns, right, strict=True)):
            follows = turn.turn_index == before.turn_index + 1 and not before.planted
            if was is not None and now is not None and follows:
                after[was].append(VideoValue(turn.video_id, PER_CENT * now))
        if any(turn.planted for turn in turns):
            continue
        first = next((turn.turn_index for turn, is_right in zip(turns, right, strict=True) if is_right is False), None)
        for turn, now in zip(turns, right, strict=True):
            if now is None or turn.turn_index == 0:
                continue
            entry = VideoValue(turn.video_id, PER_CENT * now)
            if first is None or turn.turn_index <= first:
                untouched.append(entry)
            else:
                since[turn.turn_index - first].append(entry)
    if not after[True] and not after[False]:
        return None
    return ModelCascade(
        place,
        mean_estimate(after[True], SHARES),
        mean_estimate(after[False], SHARES),
        difference_estimate(after[False], after[True]),
        mean_estimate(untouched, SHARES),
        tuple(
            (distance, mean)
            for distance in sorted(since)
            if (mean := mean_estimate(since[distance], SHARES)) is not None
        ),
    )


PAGE: Final = "along.html"
CASCADE_NOTE: Final = f"{DIFFERENCES}."


def has_curves(site: Site) -> bool:
    """True if some metric has values by turn, or separates right answers from wrong ones."""
    return bool(right_wrong_metrics(site.board)) or any(
        turn_curves(site.board, metric) for metric in site.board.plotted
    )


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
        title, signatures = f"{metric_title(metric)} by turn", site.signatures_of(metric)
        rows = _rows(board, metric)
        links = site.table(PAGE, metric, ["Turn", *_names(board)], _cells(rows, metric), title, signatures)
        curves.append((metric, site.figure(PAGE, metric, svg, title, signatures), rows, links))
    found = [(one, *_cascade(site, one)) for one in find_cascades(board)]
    site.render(
        PAGE,
        PAGE,
        curves=curves,
        cascades=found,
        few_turns=FEW,
        most_bands=charts.MOST_BANDS,
    )


def turn_curves(board: Leaderboard, metric: str) -> str:
    """The chart of a metric by turn position, with a line for each model; empty if no run has values by turn."""
    series = [
        Series(index, model.name, [(point.turn_index + 1, _estimate(point, metric)) for point in points])
        for index, model in enumerate(board.models)
        if (points := model.quoted_curve(metric))
    ]
    return charts.curve_chart(series, title=f"{metric_title(metric)} by turn position, a line for each model")


def _cascade(site: Site, one: Cascade) -> tuple[Markup, Markup, Markup]:
    """Both figures of a measure, and the links to its table."""
    board, name = site.board, metric_title(one.metric)
    # The part's values are percentages, whatever the scale of its measure.
    shares = f"{one.metric}.recovery"
    signatures = site.signatures_of(one.metric, f"{one.metric}.recovery", f"{one.metric}.after_right")
    rows = [
        ValuePair(found.index, board.models[found.index].name, found.after_right, found.after_wrong)
        for found in one.models
    ]
    title = f"{name}: right answers after a right (filled) and after a wrong answer (hollow), per cent"
    svg = charts.pair_chart(rows, title=title, labels=("after a right answer", "after a wrong answer"))
    pairs = site.figure(PAGE, f"after-{one.metric}", svg, title, signatures)
    lines = [
        Series(found.index, board.models[found.index].name, found.since_error)
        for found in one.models
        if found.since_error
    ]
    title = f"{name}: right answers by turns since the dialogue's first wrong one, per cent"
    svg = charts.curve_chart(lines, title=title, axis="since")
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


def _estimate(point: CurvePoint, metric: str) -> Estimate:
    assert point.value is not None  # Points without a value are not drawn.
    return on_display_scale(Estimate(point.value, point.low, point.high, point.n, point.videos), metric)


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
