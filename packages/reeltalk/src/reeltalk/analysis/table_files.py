"""The tables of a report as files for papers: LaTeX, Markdown and CSV, with intervals and signatures."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from reeltalk.analysis.columns import n_items
from reeltalk.analysis.values import format_range, format_signed, format_value, metric_unit
from reeltalk.metrics.uncertainty import FEWEST_VIDEOS, few_videos_warning
from reeltalk.store.text_tables import (
    escape_latex,
    escape_markdown,
    latex_table,
    markdown_code,
    markdown_table,
    on_one_line,
    write_csv,
)

TablesFormat = Literal["latex", "markdown", "csv"]
TABLE_FORMATS: Final[tuple[TablesFormat, ...]] = ("latex", "markdown", "csv")
TABLE_ENDINGS: Final[dict[TablesFormat, str]] = {"latex": "tex", "markdown": "md", "csv": "csv"}
TABLE_NAMES: Final[dict[TablesFormat, str]] = {"latex": "LaTeX", "markdown": "Markdown", "csv": "CSV"}


@dataclass(frozen=True)
class Quantity:
    """A number in a table for papers, with its interval and n."""

    value: float | None
    """None if there is none; `missing` gives a short reason."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    n: int | None = None
    """Number of items; None if it is not shown."""
    metric: str | None = None
    """Determines how it is written: see `reeltalk.analysis.values`."""
    is_best: bool = False
    may_equal_best: bool = False
    missing: str = "not scored"
    signed: bool = False
    """True for a difference, written with its sign."""
    videos: int | None = None
    """Number of source videos; None if unknown."""

    def __str__(self) -> str:
        """The value alone, as on pages."""
        return self.missing if self.value is None else self.write(self.value)

    def write(self, value: float) -> str:
        """A value as on pages."""
        return format_signed(self.metric, value) if self.signed else format_value(value, self.metric)

    @property
    def interval(self) -> str:
        """The interval in brackets; empty if there is none."""
        videos = self.videos if self.signed else None
        return (
            ""
            if self.value is None
            else format_range(self.low, self.high, self.metric, signed=self.signed, videos=videos)
        )


TableCell = str | int | float | Quantity | None


@dataclass(frozen=True)
class TableFile:
    """A table that is also written as a file."""

    file: str
    """Name without extension."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    signatures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def render_rows(table: TableFile, format: TablesFormat) -> str:
    """A table as text.

    Args:
        table: The table; its rows are as long as its header.
        format: `latex` needs booktabs, and has the signatures as comments; `markdown` has them below; `csv` has one
            header row, full numbers, their interval and n in separate columns, and a column of signatures.
    """
    return _RENDERERS[format](table)


def write_table_files(folder: Path, tables: Sequence[TableFile], formats: Sequence[TablesFormat]) -> None:
    """Write tables, and `index.md`, which lists them.

    Args:
        folder: The folder; it is created.
        tables: The tables.
        formats: File formats of each table.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Tables", ""]
    for table in tables:
        links = []
        for format in formats:
            name = f"{table.file}.{TABLE_ENDINGS[format]}"
            (folder / name).write_text(render_rows(table, format), encoding="utf-8", newline="\n")
            links.append(f"[{TABLE_NAMES[format]}]({name})")
        lines += [f"## {escape_markdown(table.title)}", "", " · ".join(links), ""]
        lines += [
            *(f"- {markdown_code(on_one_line(signature))}" for signature in table.signatures),
            *([""] if table.signatures else []),
        ]
    (folder / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def _number_columns(table: TableFile) -> list[bool]:
    """For each column whether it holds numbers."""
    return [
        any(isinstance(cell, int | float | Quantity) for cell in column) for column in zip(*table.rows, strict=True)
    ] or [False] * len(table.header)


def _plain(cell: TableCell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    return str(Quantity(cell)) if isinstance(cell, float) else str(cell)


def _notes(table: TableFile) -> list[str]:
    """Notes below a table: its title, the meaning of marks, and its own notes."""
    cells = [cell for row in table.rows for cell in row if isinstance(cell, Quantity)]
    found = [table.title + "."] if not table.title.endswith(".") else [table.title]
    if any(cell.interval for cell in cells):
        found.append("95 % intervals in brackets, clustered by source video.")
    if warning := _warning(cells):
        found.append(warning)
    if any(metric_unit(cell.metric) == "%" for cell in cells if cell.metric):
        found.append(f"Shares are in percent{', differences in points' if any(cell.signed for cell in cells) else ''}.")
    if any(cell.is_best for cell in cells):
        found.append("Highest value of a column in bold.")
    if any(cell.may_equal_best for cell in cells):
        found.append("≈: the intervals do not tell this value from the highest.")
    return [" ".join(note.split()) for note in (*found, *table.notes)]


def _latex(table: TableFile) -> str:
    def cell(found: TableCell) -> str:
        if not isinstance(found, Quantity):
            return escape_latex(_plain(found))
        if found.value is None:
            return rf"\textit{{{escape_latex(found.missing)}}}"
        value = escape_latex(str(found))
        value = rf"\textbf{{{value}}}" if found.is_best else value
        tie = r"$\approx$\," if found.may_equal_best else ""
        beside = " ".join(filter(None, [found.interval, _n(found)]))
        return tie + value + (rf" {{\scriptsize {beside}}}" if beside else "")

    return latex_table(
        [escape_latex(name) for name in table.header],
        [[cell(found) for found in row] for row in table.rows],
        numbers=_number_columns(table),
        comments=map(on_one_line, (*_notes(table), *table.signatures)),
        footnote=_warning([found for row in table.rows for found in row]),
    )


def _markdown(table: TableFile) -> str:
    def cell(found: TableCell) -> str:
        if not isinstance(found, Quantity):
            return escape_markdown(_plain(found))
        if found.value is None:
            return f"*{escape_markdown(found.missing)}*"
        value = f"**{found}**" if found.is_best else str(found)
        return " ".join(filter(None, ["≈" if found.may_equal_best else "", value, found.interval, _n(found)]))

    rows = [[cell(found) for found in row] for row in table.rows]
    lines = [
        *markdown_table([escape_markdown(name) for name in table.header], rows, numbers=_number_columns(table)),
        "",
        *(escape_markdown(note) + "  " for note in _notes(table)),
        "",
        *(f"- {markdown_code(on_one_line(signature))}" for signature in table.signatures),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _csv(table: TableFile) -> str:
    columns = list(zip(*table.rows, strict=True)) or [() for _ in table.header]
    wide = [any(isinstance(cell, Quantity) for cell in column) for column in columns]
    header = []
    for name, is_wide in zip(table.header, wide, strict=True):
        more = [f"{name}: {what}" for what in ("low", "high", "n", "videos")] if is_wide else []
        header += [name, *more]
    rows = []
    for row in table.rows:
        cells: list[object] = []
        for found, is_wide in zip(row, wide, strict=True):
            if isinstance(found, Quantity):
                cells += [found.value, found.low, found.high, found.n, found.videos]
            else:
                cells += [found, None, None, None, None] if is_wide else [found]
        rows.append([*cells, _warning(row), "; ".join(table.signatures)])
    return write_csv([*header, "warning", "signatures"], rows)


def _warning(cells: Iterable[TableCell]) -> str | None:
    """A warning if numbers rest on few videos."""
    numbers = [cell for cell in cells if isinstance(cell, Quantity) and cell.value is not None]
    # A paired difference of two videos has an interval, a value has none.
    fewest = 2 if any(cell.signed and cell.interval for cell in numbers) else FEWEST_VIDEOS
    return few_videos_warning((cell.videos for cell in numbers), fewest=fewest)


def _n(cell: Quantity) -> str:
    return "" if cell.n is None else f"(n = {cell.n:,}{n_items(cell.metric) if cell.metric else ''})"


_RENDERERS: Final[dict[TablesFormat, Callable[[TableFile], str]]] = {
    "latex": _latex,
    "markdown": _markdown,
    "csv": _csv,
}
