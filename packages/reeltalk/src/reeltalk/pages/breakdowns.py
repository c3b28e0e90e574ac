"""The page of scores over groups of turns, and the page of times, tokens, frames and memory."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import answer_settings, metric_kind, metric_title
from reeltalk.analysis.estimates import FEW_TURNS, Estimate, by_model, quantity
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.analysis.standings import group_title
from reeltalk.analysis.table_files import TableCell
from reeltalk.analysis.values import metric_heading
from reeltalk.pages import charts
from reeltalk.pages.charts import Mark, estimate_of
from reeltalk.pages.site import Page, Site
from reeltalk.schema.runs import CurvePoint, GroupRow

BY_TITLES: Final = {
    "question_type": "By question type",
    "answer_type": "By type of answer",
    "task": "By task",
    "skill": "By skill",
    "scene": "By scene",
    "turns": "By number of turns",
    "video_length": "By length of the video",
    "asked_at": "By the moment of the question",
    "kind": "By kind",
    "relation": "By relation",
}
LENGTH: Final = "video_length"
MOMENT: Final = "asked_at"
PLOTTED_TIMINGS: Final = ("took_s", "first_token_s", "prompt_tokens", "new_frames", "memory_mib")
FEW_TIMES: Final = 5
"""Times vary far less than scores, so a mean over this many is already useful."""
SETTINGS: Final = ("mode", "history", "policy", "frames", "fps", "size", "prompt", "rounds", "options", "subtitles")
"""Parts of a signature about how answers were made, in the order of the table."""


@dataclass(frozen=True)
class GroupTable:
    """One metric over the groups of one kind: one row for each group, one column for each model."""

    metric: str
    rows: tuple[tuple[str, tuple[GroupRow | None, ...]], ...]


@dataclass(frozen=True)
class Breakdown:
    """All tables of one kind of group."""

    by: str
    title: str
    tables: tuple[GroupTable, ...]


@dataclass(frozen=True)
class TimingFigure:
    """A time or an amount of data, by turn, length of the video, or time of the question."""

    metric: str
    title: str
    svg: str
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]
    """Its numbers: names of positions, with the value of each model in the leaderboard's order."""


def group_breakdowns(board: Leaderboard) -> list[Breakdown]:
    """Tables of judged headlines by kind of group, in the order of the runs' tables.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    found: dict[str, dict[str, dict[str, dict[int, GroupRow]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(dict))
    )
    for index, row in _groups(board):
        if _is_shown(row):
            found[row.by][row.metric][row.group][index] = row
    return [
        Breakdown(
            by,
            BY_TITLES.get(by, f"By {by.replace('_', ' ')}"),
            tuple(
                GroupTable(
                    metric,
                    tuple(
                        (group, tuple(rows[group].get(index) for index in range(len(board.models))))
                        for group in sort_groups(rows)
                    ),
                )
                for metric, rows in metrics.items()
            ),
        )
        for by, metrics in found.items()
    ]


def has_groups(board: Leaderboard) -> bool:
    """True if some run has numbers of groups to show.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    return any(_is_shown(row) for _, row in _groups(board))


def timings_by_turn(board: Leaderboard) -> list[TimingFigure]:
    """Seconds, tokens, frames and memory of an answer by turn."""
    return [figure for metric in PLOTTED_TIMINGS if (figure := _by_turn(board, metric)) is not None]


def timings_by_length(board: Leaderboard) -> list[TimingFigure]:
    """Seconds, tokens, frames and memory of an answer by the length of the video (SVBench's figures 8 and 9).

    Raises:
        InputError: A run's table of groups is damaged.
    """
    return _by_seconds(board, LENGTH, "length of the video", "length of the video")


def timings_by_moment(board: Leaderboard) -> list[TimingFigure]:
    """Seconds, tokens, frames and memory of an answer by the time of its question in the video.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    return _by_seconds(board, MOMENT, "moment of the question", "asked at")


def answer_settings_table(board: Leaderboard) -> tuple[list[str], list[tuple[ModelRow, list[str]]]]:
    """How each model's answers were made: names of settings that some run states, and their values by model."""
    stated = [answer_settings(model.run, model.info.model) for model in board.models]
    names = [name for name in SETTINGS if any(name in found for found in stated)]
    rows = [
        (model, [found.get(name, "–") for name in names]) for model, found in zip(board.models, stated, strict=True)
    ]
    return names, rows


def judge_name(model: ModelRow) -> str | None:
    """Name of the model that judged a run; None if none did."""
    judge = model.run.info.settings.get("judge")
    name = judge.get("judge") if isinstance(judge, dict) else None
    return str(name) if name else None


def sort_groups(groups: Iterable[str]) -> list[str]:
    """Sort groups: numbers by size, as `<60 s`, `60-180 s`, `>=300 s`, `unknown`; words by the alphabet.

    Args:
        groups: Names of groups.
    """
    return sorted(groups, key=_place)


def _place(group: str) -> tuple[int, float, int, str]:
    number = re.search(r"[0-9]+(?:\.[0-9]+)?", group)
    if group == "unknown":
        return (2, 0.0, 0, "")
    if number is None or not re.match(r"[<>=≥≤]*\s*[0-9]", group):
        return (1, 0.0, 0, group)
    return (0, float(number[0]), 0 if group.startswith("<") else 1, group)


def _is_shown(row: GroupRow) -> bool:
    return metric_kind(row.metric) in ("headline", "text")


def _groups(board: Leaderboard) -> list[tuple[int, GroupRow]]:
    return [(places[row.model], row) for run, places in board.runs for row in run.groups() if row.model in places]


def _by_turn(board: Leaderboard, metric: str) -> TimingFigure | None:
    points = {
        index: {point.turn_index + 1: _known_estimate(point) for point in points}
        for index, model in enumerate(board.models)
        if (points := model.quoted_curve(metric))
    }
    if not _says_something(points):
        return None
    turns = sorted({turn for found in points.values() for turn in found})
    title = f"{metric_title(metric)} by turn"
    marks = [
        Mark(index, board.models[index].name, value, at=turn)
        for index, found in points.items()
        for turn, value in found.items()
    ]
    svg = charts.line_chart(
        marks,
        title=f"{title}, a line for each model",
        axis="turn",
        values=metric_title(metric),
        names={},
        few=FEW_TIMES,
    )
    return TimingFigure(metric, title, svg, _timing_rows(board, points, [(turn, str(turn)) for turn in turns]))


def _by_seconds(board: Leaderboard, by: str, words: str, axis: str) -> list[TimingFigure]:
    rows = [(index, row) for index, row in _groups(board) if row.by == by and row.value is not None]
    drawn = []
    for metric in PLOTTED_TIMINGS:
        labels = sort_groups({row.group for _, row in rows if row.metric == metric})
        places = {label: place for place, label in enumerate(labels)}
        points: dict[int, dict[int, Estimate]] = defaultdict(dict)
        for index, row in rows:
            if row.metric == metric:
                points[index][places[row.group]] = _known_estimate(row)
        stops = {place: at for place, label in enumerate(labels) if (at := _middle_s(label)) is not None}
        if len(stops) < 2 or not _says_something(points):
            continue
        minutes = max(stops.values()) > 180
        marks = [
            Mark(index, board.models[index].name, value, at=stops[place] / (60 if minutes else 1),
                 tooltip=f"{axis} {labels[place]}: {value}, n = {value.n}")
            for index, found in points.items()
            for place, value in sorted(found.items())
            if place in stops
        ]  # fmt: skip
        title = f"{metric_title(metric)} by {words}"
        svg = charts.line_chart(
            marks, title=f"{title}, a line for each model", axis=f"{axis} ({'min' if minutes else 's'})",
            values=metric_title(metric), few=FEW_TIMES,
        )  # fmt: skip
        drawn.append(TimingFigure(metric, title, svg, _timing_rows(board, points, list(enumerate(labels)))))
    return drawn


def _middle_s(group: str) -> float | None:
    """Position of a group of seconds: its middle, or its bound if it has only one; None for `unknown`."""
    bounds = [float(number) for number in re.findall(r"[0-9]+(?:\.[0-9]+)?", group)]
    if group.startswith("<"):
        bounds.insert(0, 0.0)
    return sum(bounds) / len(bounds) if bounds else None


def _says_something(points: Mapping[int, Mapping[int, Estimate]]) -> bool:
    """False if all values are zero, such as the frames of baselines that see none."""
    return any(estimate.value for found in points.values() for estimate in found.values())


def _timing_rows(
    board: Leaderboard, points: Mapping[int, Mapping[int, Estimate]], positions: Sequence[tuple[int, str]]
) -> tuple[tuple[str, tuple[Estimate | None, ...]], ...]:
    models = range(len(board.models))
    return tuple((name, tuple(points.get(index, {}).get(position) for index in models)) for position, name in positions)


def _known_estimate(point: CurvePoint | GroupRow) -> Estimate:
    assert point.value is not None
    return Estimate(point.value, point.low, point.high, point.n, point.videos)


PAGE: Final = "breakdowns.html"
ALONG_AN_AXIS: Final = frozenset({"turns", "video_length"})
"""Groups with an order, so that lines may join their points."""
MOST_MODELS: Final = 10
"""With more models, the figures of groups are not drawn, because they would not be readable."""


def has_breakdowns(site: Site) -> bool:
    """True if some run has numbers of groups."""
    return has_groups(site.board)


def write_breakdowns(site: Site) -> None:
    """Write `breakdowns.html`.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    found = group_breakdowns(site.board)
    shown = [model for model in site.board.models if model.floor is None]
    too_many = len(shown) > MOST_MODELS
    tables = {
        (breakdown.by, table.metric): _group_table(site, breakdown, table)
        for breakdown in found
        for table in breakdown.tables
    }
    drawn = {breakdown.by: {} if too_many else _group_figures(site, breakdown) for breakdown in found}
    site.render(PAGE, PAGE, groups=found, tables=tables, drawn=drawn, too_many=too_many)


def _group_table(site: Site, breakdown: Breakdown, table: GroupTable) -> Markup:
    header = [breakdown.title.removeprefix("By ").capitalize(), *(model.name for model in site.board.models)]
    rows: list[list[TableCell]] = [
        [group_title(breakdown.by, group), *(quantity(row, table.metric) for row in rows)] for group, rows in table.rows
    ]
    title = f"{metric_title(table.metric)}, {breakdown.title.lower()}"
    return site.table(PAGE, f"{breakdown.by}-{table.metric}", header, rows, title, site.signatures_of(table.metric))


def _group_figures(site: Site, breakdown: Breakdown) -> dict[str, Markup]:
    """Figures of judged headlines with several groups; if there are none, of text metrics."""
    judged = [table for table in breakdown.tables if metric_kind(table.metric) == "headline"]
    drawn = {}
    for table in judged or breakdown.tables:
        if len(table.rows) < 2:
            continue
        title = f"{metric_title(table.metric)}, {breakdown.title.lower()}"
        draw = _group_line if breakdown.by in ALONG_AN_AXIS else _grouped_rows
        if svg := draw(site, breakdown, table, title):
            name = f"{breakdown.by}-{table.metric}"
            drawn[table.metric] = site.figure(PAGE, name, svg, title, site.signatures_of(table.metric))
    return drawn


def _grouped_rows(site: Site, breakdown: Breakdown, table: GroupTable, title: str) -> str:
    marks = [
        Mark(index, model.name, estimate, row=group_title(breakdown.by, group), tooltip=f"{estimate}, n = {estimate.n}")
        for group, cells in table.rows
        for index, (model, cell) in enumerate(zip(site.board.models, cells, strict=True))
        if model.floor is None and (estimate := estimate_of(cell, table.metric)) is not None
    ]
    rows = breakdown.title.removeprefix("By ")
    return charts.interval_chart(marks, title=title, axis=metric_heading(table.metric), few=FEW_TURNS, rows=rows)


def _group_line(site: Site, breakdown: Breakdown, table: GroupTable, title: str) -> str:
    marks = [
        Mark(index, model.name, estimate, at=place)
        for index, model in enumerate(site.board.models)
        if model.floor is None
        for place, (_, cells) in enumerate(table.rows)
        if (estimate := estimate_of(cells[index], table.metric)) is not None
    ]
    names = {place: group for place, (group, _) in enumerate(table.rows)}
    axis = breakdown.title.removeprefix("By ")
    return charts.line_chart(marks, title=title, axis=axis, values=metric_heading(table.metric), names=names)


TIMES_PAGE: Final = "times.html"
MEMORY: Final = "memory_mib"


def has_times(site: Site) -> bool:
    """True if some run has times or numbers of tokens, or if frames were seen."""
    cells = [model.cells[column.metric] for model in site.board.models for column in site.board.timings]
    return any(cell is not None and cell.row.value for cell in cells)


def write_times(site: Site) -> None:
    """Write `times.html`.

    Raises:
        InputError: A run's table of groups is damaged.
    """
    board = site.board
    metrics = [column.metric for column in board.timings]
    header, rows = by_model(board, metrics)
    told, silent = _split_by_memory(board)
    site.render(
        TIMES_PAGE,
        TIMES_PAGE,
        table=site.table(
            TIMES_PAGE, "means", header, rows, "Times and tokens of an answer", site.signatures_of(*metrics)
        ),
        kinds=[
            ("by-moment", "By the moment of the question", "Asked", _drawn(site, "moment", timings_by_moment(board))),
            ("by-length", "By length of the video", "Video", _drawn(site, "length", timings_by_length(board))),
            ("by-turn", "By turn", "Turn", _drawn(site, "turn", timings_by_turn(board))),
        ],
        few_times=FEW_TIMES,
        told=[model.name for model in told],
        silent=[model.name for model in silent],
    )


def _split_by_memory(board: Leaderboard) -> tuple[list[ModelRow], list[ModelRow]]:
    """Models that report their memory, and models that have times but do not report it."""
    told, silent = [], []
    for model in board.models:
        if model.cells.get(MEMORY) is not None:
            told.append(model)
        elif model.cells.get("took_s") is not None:
            silent.append(model)
    return told, silent


def _drawn(site: Site, by: str, found: list[TimingFigure]) -> list[tuple[TimingFigure, Markup, Markup]]:
    header = [by.capitalize(), *(model.name for model in site.board.models)]
    drawn = []
    for one in found:
        name, signatures = f"{one.metric}-by-{by}", site.signatures_of(one.metric)
        figure = site.figure(TIMES_PAGE, name, one.svg, one.title, signatures)
        cells = [[group, *(quantity(value, one.metric) for value in values)] for group, values in one.rows]
        drawn.append((one, figure, site.table(TIMES_PAGE, name, header, cells, one.title, signatures)))
    return drawn


REPORT_PAGES: Final = (
    Page("Breakdowns", PAGE, has_breakdowns, write_breakdowns, place=70, more=True),
    Page("Times", TIMES_PAGE, has_times, write_times, place=100, more=True),
)
