"""The first page of a report on runs, and the leaderboard as JSON, CSV, LaTeX or Markdown."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from markupsafe import Markup

from reeltalk.analysis.columns import FLOOR, metric_kind, metric_title
from reeltalk.analysis.estimates import FEW, Estimate, by_metric, by_model
from reeltalk.analysis.leaderboard import Cell, Leaderboard, ModelRow, build_leaderboard, format_reasons, format_value
from reeltalk.analysis.turn_scores import credit_metric
from reeltalk.analysis.verdicts import unscored_reasons
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages import charts
from reeltalk.pages.along import turn_curves
from reeltalk.pages.breakdowns import answer_settings_table, judge_name
from reeltalk.pages.looking import separate_controls
from reeltalk.pages.site import Page, Site
from reeltalk.schema.texts import printable
from reeltalk.store.documents import write_json
from reeltalk.store.runs import SUMMARY_FIELDS, Run
from reeltalk.store.text_tables import (
    escape_latex,
    escape_markdown,
    latex_table,
    markdown_code,
    markdown_table,
    write_csv,
)

PAGE: Final = "index.html"


def write_leaderboard(site: Site) -> None:
    """Write `index.html`.

    Args:
        site: The report.
    """
    board = site.board
    settings, answered = answer_settings_table(board)
    leading = credit_metric(metric for metric in board.plotted if turn_curves(board, metric))
    site.render(
        PAGE,
        PAGE,
        few_turns=FEW,
        most_bands=charts.MOST_BANDS,
        few_videos=few_videos_warning([board.clusters]),
        dialogues=site.dialogues,
        turns=sum(len(dialogue.turns) for dialogue in site.dialogues),
        videos=len({dialogue.video_id for dialogue in site.dialogues}),
        mixed=[(_families(metrics), parts) for metrics, parts in board.mixed_together],
        whisker_figures={metric: _whiskers(site, metric) for metric in board.plotted},
        leading=leading,
        leading_figure=Markup(turn_curves(board, leading)) if leading else None,
        settings=settings,
        answered=answered,
        judges=judge_name,
        reasons=unscored_reasons(board, site.verdicts),
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
        ("texts", "Text metrics", board.texts),
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
        f"Not comparable between models, as signatures differ in {', '.join(parts)}: {', '.join(_families(found))}."
        for mixed, parts in board.mixed_together
        if (found := [metric for metric in mixed if metric in metrics])
    ]
    return notes + [
        f"{model.name} {model.floor}: a model that is not above it has shown no ability." for model in board.floors
    ]


def _whiskers(site: Site, metric: str) -> Markup:
    board = site.board
    rows: list[tuple[str, Estimate | None]] = []
    best = None
    for model in board.models:
        cell = model.cells[metric]
        if cell is None or cell.row.value is None:
            rows.append((model.name, None))
            continue
        estimate = Estimate(cell.row.value, cell.row.low, cell.row.high, cell.row.n, cell.row.videos)
        rows.append((model.name, estimate))
        best = estimate if cell.is_best else best
    title = f"{metric_title(metric)} of each model with its 95 % interval"
    floors = [_floor(board, model, metric) for model in board.models]
    svg = charts.whisker_chart(rows, title=title, band=best, floors=floors)
    return site.figure(PAGE, f"values-{metric}", svg, title, site.signatures_of(metric))


def _floor(board: Leaderboard, model: ModelRow, metric: str) -> float | None:
    """The score without any knowledge: the protocol's own number for the model's turns if it has one."""
    own = model.cells.get(f"{metric}.{FLOOR}")
    return own.row.value if own is not None else board.floor(metric, model.run)


def _families(metrics: Sequence[str]) -> list[str]:
    """Titles of metrics, all numbers of a judged measure as one."""
    return list(dict.fromkeys(metric_title(metric.split(".")[0]) for metric in metrics))


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


def _records(board: Leaderboard) -> list[dict[str, object]]:
    return [
        {field: model.name if field == "model" else getattr(cell.row, field) for field in SUMMARY_FIELDS}
        | {WARNING: few_videos_warning([cell.row.videos]) if cell.row.value is not None else None}
        for model in board.models
        for cell in model.cells.values()
        if cell is not None
    ]


def _all_cells(board: Leaderboard) -> list[Cell]:
    return [cell for model in board.models for cell in model.cells.values() if cell is not None]


def _as_json(board: Leaderboard) -> str:
    return write_json(_records(board))


def _as_csv(board: Leaderboard) -> str:
    fields = (*SUMMARY_FIELDS, WARNING)
    told = [
        row | {"reasons": format_reasons(cell.row)}
        for row, cell in zip(_records(board), _all_cells(board), strict=True)
    ]
    return write_csv(fields, [[row[field] for field in fields] for row in told])


def _as_markdown(board: Leaderboard) -> str:
    def cell(model: ModelRow, metric: str) -> str:
        found = model.cells[metric]
        if found is None:
            return ""
        if found.row.value is None:
            return _missing_words(found)
        value = (
            f"**{format_value(found.row.value, found.row.metric)}**"
            if found.is_best
            else format_value(found.row.value, found.row.metric)
        )
        return " ".join(filter(None, ["≈" if found.may_equal_best else "", value, _interval(found), _n(model, found)]))

    metrics = _shown_metrics(board)
    titles = [escape_markdown(metric_title(metric)) + (" †" if metric in board.mixed else "") for metric in metrics]
    rows = [
        [escape_markdown(model.name), *(cell(model, metric) for metric in metrics), f"{model.info.items:,}"]
        for model in board.models
    ]
    lines = markdown_table(["Model", *titles, "n"], rows, numbers=[False, *(True for _ in metrics), True])
    lines += ["", *(escape_markdown(note) + "  " for note in _export_notes(board, best="bold", dagger="†")), ""]
    lines += [f"- {markdown_code(signature)}" for signature in board.signatures]
    return "\n".join(lines) + "\n"


def _as_latex(board: Leaderboard) -> str:
    def cell(model: ModelRow, metric: str) -> str:
        found = model.cells[metric]
        if found is None:
            return ""
        if found.row.value is None:
            return rf"\textit{{{_missing_words(found)}}}"
        value = (
            rf"\textbf{{{format_value(found.row.value, found.row.metric)}}}"
            if found.is_best
            else format_value(found.row.value, found.row.metric)
        )
        tie = r"$\approx$\," if found.may_equal_best else ""
        beside = " ".join(filter(None, [_interval(found), _n(model, found)]))
        return tie + value + (rf" {{\scriptsize {beside}}}" if beside else "")

    metrics = _shown_metrics(board)
    titles = [
        escape_latex(metric_title(metric)) + (r"$^\dagger$" if metric in board.mixed else "") for metric in metrics
    ]
    rows = [
        [escape_latex(model.name), *(cell(model, metric) for metric in metrics), str(model.info.items)]
        for model in board.models
    ]
    return latex_table(
        ["Model", *titles, "$n$"],
        rows,
        numbers=[False, *(True for _ in metrics), True],
        comments=map(printable, (*_export_notes(board, best="bold", dagger="dagger"), *board.signatures)),
        footnote=_few_videos(board),
    )


def _shown_metrics(board: Leaderboard) -> list[str]:
    return [column.metric for column in (*board.judged, *board.texts)] or board.metrics


def _few_videos(board: Leaderboard) -> str | None:
    shown_here = _shown_metrics(board)
    cells = [model.cells[metric] for model in board.models for metric in shown_here]
    return few_videos_warning(cell.row.videos for cell in cells if cell and cell.row.value is not None)


def _missing_words(cell: Cell) -> str:
    return "withheld" if cell.withheld else "not scored"


def _interval(cell: Cell) -> str:
    low, high = cell.row.low, cell.row.high
    return (
        ""
        if low is None or high is None
        else f"[{format_value(low, cell.row.metric)}, {format_value(high, cell.row.metric)}]"
    )


def _n(model: ModelRow, cell: Cell) -> str:
    """The number's n, if it is not the model's number of turns."""
    return "" if cell.row.n == model.info.items else f"(n = {cell.row.n})"


def _export_notes(board: Leaderboard, *, best: str, dagger: str) -> list[str]:
    notes = ["95 % intervals in brackets, clustered by source video."]
    if warning := _few_videos(board):
        notes.append(warning)
    shown_here = set(_shown_metrics(board))
    cells = [cell for model in board.models for metric, cell in model.cells.items() if cell and metric in shown_here]
    if any(cell.is_best for cell in cells):
        notes.append(f"Highest value of a column in {best}.")
    if any(cell.may_equal_best for cell in cells):
        notes.append("≈: the interval overlaps the interval of the highest value.")
    for mixed, parts in board.mixed_together:
        if not (metrics := [metric for metric in mixed if metric in shown_here]):
            continue
        named, differ = ", ".join(map(metric_title, metrics)), ", ".join(parts)
        notes.append(f"{dagger} Not comparable between models, as signatures differ in {differ}: {named}.")
    for line in board.unscored:
        if line.metric not in shown_here:
            continue
        notes.append(f"{metric_title(line.metric)} of {board.naming(line.models)} is not scored: {line.reason}")
    if any(metric_kind(metric) == "compat" for metric in shown_here):
        notes.append("Official script: its way of reading the same judge's replies, reproduced for comparison only.")
    for model in board.floors:
        notes.append(f"{model.name} {model.floor}: a model that is not above it has shown no ability.")
    return [" ".join(note.split()) for note in notes]


_RENDERERS: Final[dict[TableFormat, Callable[[Leaderboard], str]]] = {
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
}


REPORT_PAGES: Final = (Page("Leaderboard", PAGE, lambda site: True, write_leaderboard, place=10),)
