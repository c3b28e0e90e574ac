"""The first page of a report on runs: the standings. Also the leaderboard as JSON, CSV, LaTeX or Markdown."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from markupsafe import Markup

from reeltalk.analysis.columns import BLIND_BASELINES, items_of, metric_info, metric_kind, metric_title
from reeltalk.analysis.estimates import quantity_of
from reeltalk.analysis.finder import TurnPlaces
from reeltalk.analysis.leaderboard import Leaderboard, build_leaderboard, format_reasons
from reeltalk.analysis.next_steps import next_steps
from reeltalk.analysis.reader_error import reader_errors
from reeltalk.analysis.standings import (
    ROLES,
    Standing,
    Standings,
    WeakType,
    find_standings,
    type_vocabulary,
    worst_types,
)
from reeltalk.analysis.table_files import Quantity, TableCell, TableFile, render_rows
from reeltalk.analysis.turn_scores import RIGHT as RIGHT_ABOVE
from reeltalk.analysis.values import metric_heading
from reeltalk.judge.protocol import measure_note, needs_model
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.breakdowns import judge_name
from reeltalk.pages.comparisons import compare_all
from reeltalk.pages.example_turns import choose_example_turns
from reeltalk.pages.looking import separate_controls
from reeltalk.pages.plots import draw_leaderboard
from reeltalk.pages.site import Page, Site, write_static
from reeltalk.store.documents import write_json
from reeltalk.store.runs import SUMMARY_FIELDS, Run
from reeltalk.store.text_tables import write_csv

PAGE: Final = "index.html"


STYLE: Final = "leaderboard.css"
FAILS_SHOWN: Final = 3
"""Models whose wrong turns are counted."""
RIGHT: Final = "right-wrong"
"""What the turn finder is told to show: turns that one model gets right and another one wrong."""


@dataclass(frozen=True)
class IntervalBar:
    """Positions on a bar from 0 to 100."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class StandingRow:
    """A model in the drawn standings."""

    standing: Standing
    bar: IntervalBar | None
    """Its value and interval on the scale of the metric; None without a value."""


@dataclass(frozen=True)
class DrawnStandings:
    """Standings with what a page draws of them."""

    standings: Standings
    groups: tuple[tuple[str, tuple[StandingRow, ...]], ...]
    """Titles of roles, with the rows of each."""
    blind: float | None
    """Position of the best baseline or floor that does not see the video; None if there is none."""
    unscored: bool
    """True if a row has items without a score."""


def draw_standings(standings: Standings) -> DrawnStandings:
    """Compute the positions of values and intervals on bars.

    Args:
        standings: The standings; their headline is not None if they have rows.
    """
    metric = standings.headline.metric if standings.headline is not None else ""
    known = [row.cell.row for row in standings.rows if row.cell is not None and row.value is not None]
    ends = [end for row in known for end in (row.value, row.low, row.high) if end is not None]
    info = metric_info(metric)
    low, high = info.bounds if info is not None else (None, None)
    low, high = (min([0.0, *ends]), max([0.0, *ends])) if low is None or high is None else (low, high)

    def place(value: float) -> float:
        return 100 * min(max((value - low) / ((high - low) or 1.0), 0.0), 1.0)

    def row_of(row: Standing) -> StandingRow:
        if row.value is None or row.cell is None:
            return StandingRow(row, None)
        ends = (None if end is None else place(end) for end in (row.cell.row.low, row.cell.row.high))
        return StandingRow(row, IntervalBar(place(row.value), *ends))

    blind = [row.value for row in standings.rows if row.value is not None and row.model.info.source in BLIND_BASELINES]
    return DrawnStandings(
        standings,
        tuple((title, tuple(map(row_of, rows))) for title, rows in standings.by_role()),
        place(max(blind)) if blind else None,
        any(row.unscored for row in standings.rows),
    )


@dataclass(frozen=True)
class WeakLink:
    """A type of question with a low value, and the page that shows its turns."""

    weak: WeakType
    href: str


def write_leaderboard(site: Site) -> None:
    """Write `index.html`: verdict, ranked models, what limits the numbers, and where the leading model fails."""
    board = site.board
    standings = find_standings(board, compared=compare_all(site))
    leading = next((row for row in standings.models if row.value is not None), standings.leading)
    weak: list[WeakLink] = []
    fails = _wrong_turns(site, standings.models or ([leading] if leading is not None else []))
    if fails and standings.headline is not None:
        # A model that fails nowhere has no weak types.
        leading = next((row for row, wrong, _ in fails if wrong), fails[0][0])
        found = worst_types(board, leading.index, standings.headline.metric)
        weak = [WeakLink(one, _turns_of(site, leading.index, one)) for one in found]
    write_static(site.folder, [STYLE])
    site.render(
        PAGE,
        PAGE,
        for_papers=_for_papers(site, standings) if standings.headline is not None else None,
        drawn=draw_standings(standings),
        standings=standings,
        leading=leading,
        weak=weak,
        judged=_judge_lines(site, standings),
        ledger=_ledger_lines(board, standings),
        steps=next_steps(
            standings,
            bench=None if site.benchmark is None else site.benchmark.path,
            judge=next(filter(None, map(judge_name, board.models)), None),
            rated=site.calibration is not None,
            turns=len(site.turns.videos),
        ),
        examples=choose_example_turns(site, standings),
        fails=fails,
        turns=len(site.turns.videos),
        dialogues=len(site.dialogues),
        videos=len(site.dialogues.videos),
        calibrated=site.calibration is not None,
    )


def _wrong_turns(site: Site, rows: Sequence[Standing]) -> list[tuple[Standing, int, int]]:
    """The first models, each with its number of wrong turns and of all with a score."""
    credit = site.turns.credit
    counts = [(row, int((credit[:, row.index] <= RIGHT_ABOVE).sum())) for row in rows[:FAILS_SHOWN]]
    known = np.isfinite(credit).sum(axis=0)
    return [(row, wrong, int(known[row.index])) for row, wrong in counts if known[row.index]]


def _for_papers(site: Site, standings: Standings) -> Markup:
    """The standings as a figure, with links to its files and to those of their table."""
    table = standings_table(standings)
    figure = site.figure(PAGE, "leaderboard", draw_leaderboard(standings, table.title), table.title, table.signatures)
    return figure + site.table_file(PAGE, "leaderboard", table)


def _turns_of(site: Site, index: int, weak: WeakType) -> str:
    """The turn finder with the turns of a type, and of these those that a reference gets right and the model wrong."""
    places = TurnPlaces.of(finder := site.finder)
    task = places.tasks.get(weak.row.group) if weak.row.by == "task" else None
    label = places.labels.get((type_vocabulary(weak.row.by), weak.row.group))
    if not site.dialogues or (task is None and label is None):
        return "breakdowns.html"
    chosen = f"task={task}" if task is not None else f"label={label}"
    right = next((place for place, model in enumerate(site.board.models) if model.role == "reference"), None)
    if finder.measures and right is not None:
        chosen = f"show={RIGHT}&a={right}&b={index}&{chosen}"
    return f"turns.html#{chosen}"


def _ledger_lines(board: Leaderboard, standings: Standings) -> list[str]:
    """Whether every due turn has a score, from the ledgers of the models that compete."""
    models = [model for model in board.models if model.competes and model.info.turns]
    lost = [model for model in models if model.info.without_answer]
    rows = [row for row in standings.rows if row.role != "floor"]
    lines = []
    if board.withheld:
        lines.append("Some numbers are withheld, because more than 2 % of their scores are missing.")
    elif lost or any(row.unscored for row in rows):
        lines.append("Some due turns have no score. They count in no mean.")
    elif standings.headline is not None and standings.headline.covers < 1:
        share = 100 * (1 - standings.headline.covers)
        lines.append(f"The number leaves out {share:.0f} % of the due turns, which no measure of this run can judge.")
    elif standings.headline is not None:
        lines.append("Every due turn has a score.")
    for model in lost:
        counts = model.info.turns
        parts = [f"{counts[name]:,} {name}" for name in ("failed", "missing") if counts.get(name)]
        lines.append(f"{model.title}: {' and '.join(parts)} of {model.info.due:,} due turns.")
    if empty := {model.title: model.info.turns["empty"] for model in models if model.info.turns.get("empty")}:
        told = ", ".join(f"{count:,} of {title}" for title, count in empty.items())
        lines.append(f"Empty answers have the lowest score: {told}.")
    return lines


def _judge_lines(site: Site, standings: Standings) -> list[str]:
    """Who judged, and how far people agree with the judge."""
    if standings.headline is None:
        return []
    metric = standings.headline.metric
    judges = list(dict.fromkeys(filter(None, map(judge_name, site.board.models))))
    if needs_model(metric):
        told = f"Judged by {', '.join(judges) or 'a model that the run does not name'}."
    else:
        told = " ".join(filter(None, ("Judged by a rule, not by a model.", measure_note(metric))))
    agreed = [
        f"It agrees with people by ρ = {rho.value:.2f} on {rho.n:,} answers."
        for dimension in (site.calibration.dimensions if site.calibration is not None else ())
        for found in dimension.judges
        if found.protocol == metric.split(".")[0] and (rho := found.levels.answers.spearman).value is not None
    ]
    styles = reader_errors(list({model.run.path: model.run for model in site.board.models}.values()), metric)
    if not styles and not needs_model(metric):
        styles = ["What the style of answers costs was not measured here: reeltalk judge RUN --attack style."]
    return [told, *styles, *(agreed[:1] or ["No person rated these answers, so its agreement with people is unknown."])]


WARNING: Final = "warning"
"""Field of JSON and CSV: why an interval is rough; empty for other intervals."""
TableFormat = Literal["json", "csv", "latex", "markdown"]


def render_table(runs: Sequence[Run], format: TableFormat) -> str:
    """The leaderboard of runs as text.

    Args:
        runs: The runs; controls are left out.
        format: `json` and `csv` have a row for each number, with its signature; `latex`, which needs booktabs, and
            `markdown` have judged headlines with their columns for official scripts and floors, and text metrics.

    Raises:
        BenchmarkError: The runs have no scores.
    """
    return _RENDERERS[format](build_leaderboard(separate_controls(runs)[0]))


def _records(board: Leaderboard) -> list[dict[str, Any]]:
    return [
        {field: model.name if field == "model" else getattr(cell.row, field) for field in SUMMARY_FIELDS}
        | {WARNING: few_videos_warning([cell.row.videos]) if cell.row.value is not None else None}
        for model in board.models
        for cell in model.cells.values()
        if cell is not None
    ]


def _as_json(board: Leaderboard) -> str:
    return write_json(_records(board))


def _as_csv(board: Leaderboard) -> str:
    fields = (*SUMMARY_FIELDS, WARNING)
    told = [record | {"reasons": format_reasons(record["reasons"])} for record in _records(board)]
    return write_csv(fields, [[row[field] for field in fields] for row in told])


def standings_table(found: Standings, file: str = "leaderboard") -> TableFile:
    """Ranked models on one metric as a table for papers, by role as on the page.

    Args:
        found: The standings, with a headline.
        file: The table's name.
    """
    board, metric = found.board, found.headline.metric if found.headline is not None else ""
    due = Counter(row.cell.row.n for row in found.rows if row.cell is not None and row.role == "model")
    usual = next(iter(due.most_common(1)), (0, 0))[0]

    def cells(row: Standing) -> tuple[TableCell, ...]:
        range_ = "" if row.ranks is None or row.ranks[0] == row.ranks[1] else f" ({row.ranks[0]}–{row.ranks[1]})"
        value = quantity_of(usual, row.cell)
        if isinstance(value, Quantity):
            value = replace(value, may_equal_best=False)
        lead = None
        if (above := row.above) is not None and above.difference is not None:
            ends = (above.difference, above.low, above.high)
            lead = Quantity(*ends, metric=metric, signed=True, videos=above.videos)
        turns = row.cell.row.n if row.cell is not None else 0
        return ("–" if row.rank is None else f"{row.rank}{range_}", row.title, value, lead, turns, row.unscored)

    heading = metric_heading(metric) + (" †" if metric in board.mixed else "")
    header = ("Rank", "Model", heading, "Over the best baseline without video", items_of(metric), "unscored")
    groups = tuple(ROLES[row.role] for row in found.rows)
    signatures = dict.fromkeys(row.cell.row.signature for row in found.rows if row.cell is not None)
    notes = (
        f"{usual:,} {items_of(metric)} of {found.videos:,} videos.",
        "Rank: one more than the number of models shown to be better; in brackets, what the paired tests leave open.",
        *_export_notes(board, frozenset([metric])),
    )
    title = f"Models by {metric_title(metric)}"
    rows = tuple(map(cells, found.rows))
    return TableFile(file, title, header, rows, tuple(signatures), notes, groups, columns_printed=(0, 1, 2))


def _table_file(board: Leaderboard) -> TableFile:
    """The standings; of runs without a metric that ranks models, all text metrics."""
    found = find_standings(board)
    if found.headline is not None:
        return standings_table(found)
    metrics = [column.metric for column in (*board.judged, *board.texts)] or board.metrics
    rows = [
        (
            model.name,
            *(quantity_of(model.info.due or model.info.items, model.cells[metric]) for metric in metrics),
            model.info.due or model.info.items,
        )
        for model in board.models
    ]
    titles = [metric_heading(metric) + (" †" if metric in board.mixed else "") for metric in metrics]
    notes = _export_notes(board, frozenset(metrics))
    return TableFile(
        "leaderboard", "Leaderboard", ("Model", *titles, "Turns"), tuple(rows), tuple(board.signatures), notes
    )


def _export_notes(board: Leaderboard, shown: frozenset[str]) -> tuple[str, ...]:
    notes = []
    for mixed, _ in board.mixed_together:
        if named := [metric_title(metric) for metric in mixed if metric in shown]:
            notes.append(f"† Not comparable between models: {', '.join(named)}. {board.why_mixed(mixed[0])}")
    for line in board.unscored:
        if line.metric in shown:
            models = board.naming(line.models)
            notes.append(f"{metric_title(line.metric)} of {models} is not scored: {line.reason}")
    if any(metric_kind(metric) == "compat" for metric in shown):
        notes.append("Official script: its way of reading the same judge's replies, reproduced for comparison only.")
    for model in board.floors:
        notes.append(f"{model.name} {model.floor}: a model that is not above it has shown no ability.")
    return tuple(notes)


_RENDERERS: Final[dict[TableFormat, Callable[[Leaderboard], str]]] = {
    "json": _as_json,
    "csv": _as_csv,
    "markdown": lambda board: render_rows(_table_file(board), "markdown"),
    "latex": lambda board: render_rows(_table_file(board), "latex"),
}


REPORT_PAGES: Final = (Page("Leaderboard", PAGE, lambda site: True, write_leaderboard, place=10),)
