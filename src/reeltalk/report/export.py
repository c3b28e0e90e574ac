"""The leaderboard as JSON, CSV, LaTeX or Markdown."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from reeltalk.report.leaderboard import Cell, Leaderboard, build, shown, title_of
from reeltalk.store.documents import write_json
from reeltalk.store.runs import SUMMARY_FIELDS, Run

TableFormat = Literal["json", "csv", "latex", "markdown"]


def render_table(runs: Sequence[Run], format: TableFormat) -> str:
    """The leaderboard of runs as text.

    Args:
        runs: Runs side by side.
        format: `json` and `csv` have a row a number with its signature; `latex` needs booktabs.

    Raises:
        BenchmarkError: The runs hold no scores.
    """
    return _RENDERERS[format](build(runs))


def _rows(board: Leaderboard) -> list[dict[str, object]]:
    return [
        {field: model.name if field == "model" else getattr(cell.row, field) for field in SUMMARY_FIELDS}
        for model in board.models
        for cell in model.cells.values()
        if cell is not None
    ]


def _json(board: Leaderboard) -> str:
    return write_json(_rows(board))


def _csv(board: Leaderboard) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, SUMMARY_FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_rows(board))
    return stream.getvalue()


def _markdown(board: Leaderboard) -> str:
    def cell(found: Cell | None) -> str:
        if found is None:
            return ""
        if found.row.value is None:
            return "not scored"
        text = f"**{shown(found.row.value)}**" if found.is_best else shown(found.row.value)
        return f"{text} {interval}" if (interval := _interval(found)) else text

    lines = [
        "| Model | " + " | ".join(title_of(metric) for metric in board.metrics) + " | n |",
        "| --- | " + " | ".join("---:" for _ in board.metrics) + " | ---: |",
    ]
    for model in board.models:
        cells = " | ".join(cell(model.cells[metric]) for metric in board.metrics)
        lines.append(f"| {_escape_markdown(model.name)} | {cells} | {model.info.items:,} |")
    lines += ["", "95 % intervals in brackets, clustered by source video.", *_mixed_notes(board), ""]
    lines += [f"- `{signature.replace('`', '')}`" for signature, _, _ in board.signatures()]
    return "\n".join(lines) + "\n"


def _latex(board: Leaderboard) -> str:
    def cell(found: Cell | None) -> str:
        if found is None or found.row.value is None:
            return "--"
        value = shown(found.row.value)
        text = rf"\textbf{{{value}}}" if found.is_best else value
        return rf"{text} {{\scriptsize {interval}}}" if (interval := _interval(found)) else text

    lines = [
        "% 95 % intervals in brackets, clustered by source video. Needs \\usepackage{booktabs}.",
        *(f"% {note}" for note in _mixed_notes(board)),
        *(f"% {signature}" for signature, _, _ in board.signatures()),
        rf"\begin{{tabular}}{{l{'r' * len(board.metrics)}r}}",
        r"\toprule",
        "Model & " + " & ".join(title_of(metric) for metric in board.metrics) + r" & $n$ \\",
        r"\midrule",
    ]
    for model in board.models:
        cells = " & ".join(cell(model.cells[metric]) for metric in board.metrics)
        lines.append(rf"{_escape_latex(model.name)} & {cells} & {model.info.items} \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _interval(cell: Cell) -> str:
    low, high = cell.row.low, cell.row.high
    return "" if low is None or high is None else f"[{shown(low)}, {shown(high)}]"


def _mixed_notes(board: Leaderboard) -> list[str]:
    return [
        f"{title_of(metric)} does not compare between all models: they differ in {', '.join(parts)}."
        for metric, parts in board.mixed.items()
    ]


def _escape_markdown(text: str) -> str:
    return re.sub(r"([|<>`*_\[\]\\])", r"\\\1", text)


_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def _escape_latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in text)


_RENDERERS: Final[dict[TableFormat, Callable[[Leaderboard], str]]] = {
    "json": _json,
    "csv": _csv,
    "markdown": _markdown,
    "latex": _latex,
}
