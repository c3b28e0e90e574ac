"""The page that compares a model that sees the video with itself under controls: no pictures, black or other ones."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from reeltalk.analysis.columns import answer_settings, metric_kind, metric_title
from reeltalk.analysis.comparison import (
    CompareSettings,
    Comparison,
    PairComparer,
    compared_metrics,
    correct_family,
    format_p,
)
from reeltalk.analysis.estimates import FEW_TURNS, Estimate, on_display_scale
from reeltalk.analysis.leaderboard import Leaderboard, build_leaderboard
from reeltalk.analysis.score_matrix import Turns
from reeltalk.analysis.standings import group_title
from reeltalk.analysis.table_files import Quantity, TableCell
from reeltalk.analysis.values import format_range, format_signed, format_value, metric_unit
from reeltalk.errors import BenchmarkError
from reeltalk.metrics.uncertainty import FEWEST_VIDEOS, few_videos_warning
from reeltalk.pages import charts
from reeltalk.pages.breakdowns import BY_TITLES, sort_groups
from reeltalk.pages.charts import Mark
from reeltalk.pages.site import Page, Site
from reeltalk.schema.runs import CONTROLS, Control
from reeltalk.store.runs import Run
from reeltalk.store.score_frame import ANSWER_TYPE

GROUP_KINDS: Final = ("question_type", ANSWER_TYPE, "task")
"""Groups of turns on the page; labels by the last part of their name, as in `vdact.question_type`."""
DECIDED_BY_CONTROL: Final = frozenset({"control", "shown"})
"""Parts of a signature that a control changes, directly or not."""


@dataclass(frozen=True)
class ControlLine:
    """One metric, over all turns or over a group."""

    name: str
    """The metric's title, or the group."""
    metric: str
    comparisons: tuple[Comparison, ...]
    """The comparison of the video's own pictures with each control."""

    @property
    def own(self) -> float | None:
        """The score with the video's own pictures, over the turns of the first comparison that has turns."""
        return next((one.first_value for one in self.comparisons if one.first_value is not None), None)

    @property
    def items(self) -> int:
        """Number of turns behind `own`."""
        return next((one.items for one in self.comparisons if one.items), 0)


@dataclass(frozen=True)
class ControlTable:
    """The loss under each control, with a line for each metric or group of turns."""

    title: str
    by: str | None
    """Kind of group; None over all turns."""
    lines: tuple[ControlLine, ...]


@dataclass(frozen=True)
class ControlResults:
    """One model's run with its controls."""

    model: str
    run: Run
    board: Leaderboard
    """The run and its controls."""
    controls: tuple[Control, ...]
    tables: tuple[ControlTable, ...]

    @property
    def videos(self) -> int:
        """Smallest number of source videos behind a difference over all turns."""
        found = [one.videos for line in self.tables[0].lines for one in line.comparisons if one.items]
        return min(found, default=0)

    @property
    def few_videos(self) -> str | None:
        """A warning if there are few videos."""
        return few_videos_warning([self.videos], fewest=2)

    @property
    def headlines(self) -> tuple[ControlLine, ...]:
        """Judged measures over all turns; if nothing was judged, text metrics."""
        lines = self.tables[0].lines
        return tuple(line for line in lines if metric_kind(line.metric) == metric_kind(lines[0].metric))

    def line(self, metric: str) -> ControlLine | None:
        """One metric over all turns; None if it has no comparison.

        Args:
            metric: Name of the metric, such as `match`.
        """
        return next((line for line in self.tables[0].lines if line.metric == metric), None)


def control_of(run: Run) -> Control | None:
    """The control of a run; None for a run with the video's own pictures."""
    for info in run.info.models:
        stated = answer_settings(run, info.model).get("control", "")
        for name in CONTROLS:
            if stated == name or stated.startswith(f"{name}-"):
                return name
    return None


def separate_controls(runs: Iterable[Run]) -> tuple[list[Run], list[tuple[Run, dict[Control, Run]]]]:
    """Split runs into runs with the videos' own pictures, and those of them that have controls, with the controls.

    Controls are found below their run, or among the given runs.

    Raises:
        BenchmarkError: A control is given without the run that it belongs to.
        InputError: A control's files are damaged.
    """
    given = list(runs)
    own = [run for run in given if control_of(run) is None]
    found = {id(run): run.controls() for run in own}
    for run in given:
        if (control := control_of(run)) is None:
            continue
        base = next((one for one in own if _fixed(one) == _fixed(run)), None)
        if base is None:
            raise BenchmarkError(
                f"{run.path} is a control, played with {CONTROLS[control]}; give the run with the videos' own pictures "
                "too, because a control is only useful in a comparison"
            )
        found[id(base)].setdefault(control, run)
    return own, [(run, _ordered(found[id(run)])) for run in own if found[id(run)]]


def compare_controls(run: Run, controls: dict[Control, Run]) -> list[ControlResults]:
    """The loss of each model of a run under each control.

    Args:
        run: The run with the videos' own pictures.
        controls: The same run with other pictures, by name of the control.

    Raises:
        BenchmarkError: A table of scores lacks a row.
        InputError: A table is damaged.
    """
    board = build_leaderboard([run, *controls.values()])
    turns = Turns(board)
    found = []
    for place, model in enumerate(board.models):
        if model.run is not run or model.floor is not None:
            continue
        columns = {
            name: other
            for name, own in controls.items()
            for other, row in enumerate(board.models)
            if row.run is own and row.info.model == model.info.model and row.floor is None
        }
        tables = tuple(_tables(board, turns, place, tuple(columns.values())))
        if tables[0].lines:
            found.append(ControlResults(model.info.model, run, board, tuple(columns), tables))
    return found


def format_controls(run: Run) -> Iterator[str]:
    """The value of looking, as lines for a terminal.

    Args:
        run: A run with or without controls.

    Raises:
        BenchmarkError: A table of scores lacks a row.
        InputError: A table is damaged.
    """
    controls = run.controls()
    for looking in compare_controls(run, controls) if controls else ():
        yield f"what looking is worth to {looking.model}: the video's own pictures minus a control"
        if looking.few_videos:
            yield f"  {looking.few_videos}"
        wide = max(len(CONTROLS[name]) for name in looking.controls)
        for line in looking.headlines:
            for name, one in zip(looking.controls, line.comparisons, strict=True):
                yield f"  {line.name}  {CONTROLS[name]:<{wide}}  {format_comparison(one)}"


def controls_sentence(looking: ControlResults, metric: str | None = None) -> str:
    """The value of looking, as a sentence.

    Args:
        looking: The results of a model.
        metric: Name of the measure; the first one by default.
    """
    line = looking.line(metric) if metric is not None else next(iter(looking.headlines), None)
    if line is None or line.own is None:
        return "No number can be compared with the controls."
    parts = [
        f"{format_value(one.second_value, line.metric)} with {CONTROLS[name]} (difference {format_difference(one)})"
        for name, one in zip(looking.controls, line.comparisons, strict=True)
        if one.second_value is not None and one.difference is not None
    ]
    own = format_value(line.own, line.metric)
    return f"{line.name}: {own} with the video's own pictures, and " + ", ".join(parts) + "."


def format_comparison(one: Comparison) -> str:
    """A comparison with a control as text: both scores, the difference, its interval and p."""
    if one.difference is None or one.first_value is None or one.second_value is None:
        return f"not compared: {one.problem}"
    both = f"{format_value(one.first_value, one.metric)} and {format_value(one.second_value, one.metric)}"
    return f"{both}, difference {format_difference(one)}, corrected p {format_p(one.corrected_p)}, n = {one.items:,}"


def format_difference(one: Comparison) -> str:
    """A difference with its interval."""
    assert one.difference is not None
    if one.low is None or one.high is None:
        return f"{format_signed(one.metric, one.difference)} (no interval)"
    interval = format_range(one.low, one.high, one.metric, signed=True, videos=one.videos)
    return f"{format_signed(one.metric, one.difference)} {interval}"


def _tables(board: Leaderboard, turns: Turns, place: int, others: Sequence[int]) -> Iterator[ControlTable]:
    comparer = PairComparer(turns, CompareSettings())
    metrics = sorted(compared_metrics(board, ()), key=lambda metric: metric_kind(metric) != "headline")
    lines = []
    for metric in metrics:
        rows = correct_family(
            [row for other in others for row in comparer.compare(metric, place, other)], comparer.settings
        )
        if any(row.difference is not None for row in rows):
            lines.append(ControlLine(metric_title(metric), metric, tuple(rows)))
    yield ControlTable("Over all turns", None, tuple(lines))
    judged = [line.metric for line in lines if metric_kind(line.metric) == "headline"] or [
        one.metric for one in lines[:1]
    ]
    for by in GROUP_KINDS:
        if by not in {kind.split(".")[-1] for kind in turns.kinds()}:
            continue
        grouped = PairComparer(turns, CompareSettings(by=by))
        for metric in judged:
            rows = correct_family(
                [row for other in others for row in grouped.compare(metric, place, other)], grouped.settings
            )
            groups = sort_groups(dict.fromkeys(row.group for row in rows if row.group is not None))
            of_group = [tuple(row for row in rows if row.group == group) for group in groups]
            shown_rows = tuple(
                ControlLine(group_title(by, group), metric, own)
                for group, own in zip(groups, of_group, strict=True)
                if len(own) == len(others) and any(row.difference is not None for row in own)
            )
            if shown_rows:
                yield ControlTable(f"{metric_title(metric)}, {BY_TITLES[by].lower()}", by, shown_rows)


def _fixed(run: Run) -> tuple[object, ...]:
    """The settings that a run and its controls share."""
    stated = [
        (info.model, {k: v for k, v in answer_settings(run, info.model).items() if k not in DECIDED_BY_CONTROL})
        for info in run.info.models
    ]
    return stated, run.info.settings.get("benchmark"), run.info.subject


def _ordered(controls: dict[Control, Run]) -> dict[Control, Run]:
    return {name: controls[name] for name in CONTROLS if name in controls}


FILE: Final = "looking.html"
NOTE: Final = (
    "Differences: the video's own pictures minus the control, on the same turns; t intervals clustered by source video "
    "(CR2, Imbens-Kolesár degrees of freedom), as in `reeltalk compare`. p: corrected by Holm over the table's "
    "tests of the metric; each interval is at the level at which its difference is tested."
)


def write_looking(site: Site) -> None:
    """Write `looking.html`.

    Raises:
        BenchmarkError: A run's tables do not have one order.
        InputError: A table is damaged.
    """
    sections = []
    for run, controls in site.controls:
        for looking in compare_controls(run, controls):
            shown_name = next(
                (m.name for m in site.board.models if m.run is run and m.info.model == looking.model), looking.model
            )
            tables = [
                (table, _figure(site, shown_name, looking, table), _files(site, shown_name, looking, table))
                for table in looking.tables
                if table.lines
            ]
            sections.append((shown_name, looking, controls_sentence(looking), tables))
    site.render(
        FILE,
        FILE,
        sections=sections,
        fewest_videos=FEWEST_VIDEOS,
        titles=CONTROLS,
        format_signed=format_signed,
        format_p=format_p,
    )


REPORT_PAGES: Final = (Page("Looking", FILE, lambda site: bool(site.controls), write_looking, place=50, more=True),)


def _files(site: Site, name: str, looking: ControlResults, table: ControlTable) -> Markup:
    header = [
        "Metric" if table.by is None else table.by.replace("_", " ").capitalize(),
        "Scale",
        "Own pictures",
    ]
    for control in looking.controls:
        title = CONTROLS[control]
        header += [f"With {title}", f"Own less {title}", f"p, {title}"]
    rows: list[list[TableCell]] = []
    for line in table.lines:
        cells: list[TableCell] = [line.name, metric_unit(line.metric), Quantity(line.own, metric=line.metric)]
        for one in line.comparisons:
            cells += [
                Quantity(one.second_value, metric=line.metric, missing="not compared"),
                Quantity(one.difference, one.low, one.high, one.items, line.metric, signed=True, videos=one.videos),
                format_p(one.corrected_p),
            ]
        rows.append(cells)
    signatures = [
        cell.row.signature
        for metric in dict.fromkeys(line.metric for line in table.lines)
        for model in looking.board.models
        if model.info.model == looking.model and (cell := model.cells[metric]) is not None
    ]
    notes = [NOTE, *([looking.few_videos] if looking.few_videos else [])]
    return site.table(FILE, f"{name}-{table.title}", header, rows, f"{name}: {table.title}", signatures, notes=notes)


def _drawn(one: Comparison) -> Estimate:
    """A difference for the figure, without the interval of two or three videos, which would dwarf all others."""
    assert one.difference is not None
    low, high = (one.low, one.high) if one.videos >= FEWEST_VIDEOS else (None, None)
    return on_display_scale(Estimate(one.difference, low, high, one.items), one.metric)


def _figure(site: Site, name: str, looking: ControlResults, table: ControlTable) -> Markup:
    """The figure of one table: the loss under each control by group."""
    if table.by is None:
        return Markup()
    marks = [
        Mark(place, CONTROLS[control], drawn, row=line.name, tooltip=f"{drawn}, n = {drawn.n}")
        for line in table.lines
        for place, (control, one) in enumerate(zip(looking.controls, line.comparisons, strict=True))
        if one.difference is not None and (drawn := _drawn(one))
    ]
    title = f"{name}, {table.title}: own pictures minus each control"
    axis, rows = "own pictures minus control", BY_TITLES[table.by].removeprefix("By ")
    svg = charts.interval_chart(marks, title=title, axis=axis, line=0.0, few=FEW_TURNS, rows=rows)
    return site.figure(FILE, f"{name}-{table.title}", svg, title)
