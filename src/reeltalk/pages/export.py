"""The leaderboard as JSON, CSV, LaTeX or Markdown."""

import csv
import io
from collections.abc import Callable, Sequence
from typing import Final, Literal

from reeltalk.analysis.columns import kind_of, title_of
from reeltalk.analysis.leaderboard import Cell, Leaderboard, ModelRow, build, reasons_told, shown
from reeltalk.analysis.table_files import code, escape_latex, escape_markdown, latex_footnote
from reeltalk.analysis.visible import visible
from reeltalk.metrics.uncertainty import few_videos_warning
from reeltalk.pages.looking import without_controls
from reeltalk.store.documents import write_json
from reeltalk.store.runs import SUMMARY_FIELDS, Run

WARNING: Final = "warning"
"""Field of JSON and CSV that says why an interval is rough; empty for others."""
TableFormat = Literal["json", "csv", "latex", "markdown"]


def render_table(runs: Sequence[Run], format: TableFormat) -> str:
    """The leaderboard of runs as text.

    Args:
        runs: Runs side by side; controls are left out.
        format: `json` and `csv` have a row a number with its signature, whatever it is; `latex`, which needs booktabs,
            and `markdown` have judged headlines with what stands beside them, and text metrics.

    Raises:
        BenchmarkError: The runs hold no scores.
    """
    return _RENDERERS[format](build(without_controls(runs)[0]))


def _rows(board: Leaderboard) -> list[dict[str, object]]:
    return [
        {field: model.name if field == "model" else getattr(cell.row, field) for field in SUMMARY_FIELDS}
        | {WARNING: few_videos_warning([cell.row.videos]) if cell.row.value is not None else None}
        for model in board.models
        for cell in model.cells.values()
        if cell is not None
    ]


def _cells(board: Leaderboard) -> list[Cell]:
    return [cell for model in board.models for cell in model.cells.values() if cell is not None]


def _json(board: Leaderboard) -> str:
    return write_json(_rows(board))


def _csv(board: Leaderboard) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, (*SUMMARY_FIELDS, WARNING), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        row | {"reasons": reasons_told(cell.row)} for row, cell in zip(_rows(board), _cells(board), strict=True)
    )
    return stream.getvalue()


def _markdown(board: Leaderboard) -> str:
    def cell(model: ModelRow, metric: str) -> str:
        found = model.cells[metric]
        if found is None:
            return ""
        if found.row.value is None:
            return _not_scored(found)
        value = (
            f"**{shown(found.row.value, found.row.metric)}**"
            if found.is_best
            else shown(found.row.value, found.row.metric)
        )
        return " ".join(filter(None, ["≈" if found.may_equal_best else "", value, _interval(found), _n(model, found)]))

    metrics = _shown_metrics(board)
    titles = [escape_markdown(title_of(metric)) + (" †" if metric in board.mixed else "") for metric in metrics]
    lines = [
        "| Model | " + " | ".join(titles) + " | n |",
        "| --- | " + " | ".join("---:" for _ in metrics) + " | ---: |",
    ]
    for model in board.models:
        cells = " | ".join(cell(model, metric) for metric in metrics)
        lines.append(f"| {escape_markdown(model.name)} | {cells} | {model.info.items:,} |")
    lines += ["", *(escape_markdown(note) + "  " for note in _notes(board, best="bold", dagger="†")), ""]
    lines += [f"- {code(signature)}" for signature in board.signatures]
    return "\n".join(lines) + "\n"


def _latex(board: Leaderboard) -> str:
    def cell(model: ModelRow, metric: str) -> str:
        found = model.cells[metric]
        if found is None:
            return ""
        if found.row.value is None:
            return rf"\textit{{{_not_scored(found)}}}"
        value = (
            rf"\textbf{{{shown(found.row.value, found.row.metric)}}}"
            if found.is_best
            else shown(found.row.value, found.row.metric)
        )
        tie = r"$\approx$\," if found.may_equal_best else ""
        beside = " ".join(filter(None, [_interval(found), _n(model, found)]))
        return tie + value + (rf" {{\scriptsize {beside}}}" if beside else "")

    metrics = _shown_metrics(board)
    titles = [escape_latex(title_of(metric)) + (r"$^\dagger$" if metric in board.mixed else "") for metric in metrics]
    lines = [
        "% Needs \\usepackage{booktabs}.",
        *(f"% {visible(note)}" for note in _notes(board, best="bold", dagger="dagger")),
        *(f"% {visible(signature)}" for signature in board.signatures),
        rf"\begin{{tabular}}{{l{'r' * len(metrics)}r}}",
        r"\toprule",
        "Model & " + " & ".join(titles) + r" & $n$ \\",
        r"\midrule",
    ]
    for model in board.models:
        cells = " & ".join(cell(model, metric) for metric in metrics)
        lines.append(rf"{escape_latex(model.name)} & {cells} & {model.info.items} \\")
    lines += [r"\bottomrule", *latex_footnote(_few_videos(board), len(metrics) + 2), r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _shown_metrics(board: Leaderboard) -> list[str]:
    return [column.metric for column in (*board.judged, *board.texts)] or board.metrics


def _few_videos(board: Leaderboard) -> str | None:
    shown_here = _shown_metrics(board)
    cells = [model.cells[metric] for model in board.models for metric in shown_here]
    return few_videos_warning(cell.row.videos for cell in cells if cell and cell.row.value is not None)


def _not_scored(cell: Cell) -> str:
    return "withheld" if cell.withheld else "not scored"


def _interval(cell: Cell) -> str:
    low, high = cell.row.low, cell.row.high
    return "" if low is None or high is None else f"[{shown(low, cell.row.metric)}, {shown(high, cell.row.metric)}]"


def _n(model: ModelRow, cell: Cell) -> str:
    """How many turns a number rests on, where that is not the model's count."""
    return "" if cell.row.n == model.info.items else f"(n = {cell.row.n})"


def _notes(board: Leaderboard, *, best: str, dagger: str) -> list[str]:
    notes = ["95 % intervals in brackets, clustered by source video."]
    if warning := _few_videos(board):
        notes.append(warning)
    shown_here = set(_shown_metrics(board))
    cells = [cell for model in board.models for metric, cell in model.cells.items() if cell and metric in shown_here]
    if any(cell.is_best for cell in cells):
        notes.append(f"Highest value of a column in {best}.")
    if any(cell.may_equal_best for cell in cells):
        notes.append("≈: the intervals do not tell this value from the highest.")
    for mixed, parts in board.mixed_together:
        if not (metrics := [metric for metric in mixed if metric in shown_here]):
            continue
        named, differ = ", ".join(map(title_of, metrics)), ", ".join(parts)
        notes.append(f"{dagger} Not comparable between models, as signatures differ in {differ}: {named}.")
    for line in board.unscored:
        if line.metric not in shown_here:
            continue
        notes.append(f"{title_of(line.metric)} of {board.naming(line.models)} is not scored: {line.reason}")
    if any(kind_of(metric) == "compat" for metric in shown_here):
        notes.append("Official script: its way of reading the same judge's replies, reproduced for comparison only.")
    for model in board.floors:
        notes.append(f"{model.name} {model.floor}: what is not above it shows nothing.")
    return [" ".join(note.split()) for note in notes]


_RENDERERS: Final[dict[TableFormat, Callable[[Leaderboard], str]]] = {
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
