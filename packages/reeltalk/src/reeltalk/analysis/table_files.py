"""The tables of a report as files for papers: LaTeX, Markdown and CSV, with intervals and signatures."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal
from unicodedata import east_asian_width

from reeltalk.analysis.columns import n_items
from reeltalk.analysis.values import format_range, format_signed, format_value, metric_unit
from reeltalk.metrics.uncertainty import FEWEST_VIDEOS, few_videos_warning
from reeltalk.store.text_tables import (
    ZWSP,
    beyond_pdflatex,
    breakable,
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
PAPER_TABLES: Final[tuple[TablesFormat, ...]] = ("latex", "csv")
"""Formats unless others are asked for."""
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
    groups: tuple[str, ...] = ()
    """The title above each row, such as a model's role; empty without any."""
    columns_printed: tuple[int, ...] = ()
    """Places of the columns that LaTeX has, of a table too large for a paper; all by default."""
    rows_printed: tuple[int, ...] = ()
    """Places of its rows."""


def render_rows(table: TableFile, format: TablesFormat) -> str:
    """A table as text.

    Args:
        table: The table; its rows are as long as its header.
        format: `latex` is as wide as the line, and has what the signatures share below it, all of them as comments;
            `markdown` has them below; `csv` has one header row, full numbers, their interval and n in separate columns,
            and a column of signatures.
    """
    return _RENDERERS[format](table)


def write_table_files(folder: Path, tables: Sequence[TableFile], formats: Sequence[TablesFormat]) -> None:
    """Write tables, and `index.md`, which lists them."""
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


def _notes(table: TableFile, intervals: bool = True) -> list[str]:
    """Notes below a table: the meaning of marks, and its own notes."""
    cells = [cell for row in table.rows for cell in row if isinstance(cell, Quantity)]
    found = []
    if any(cell.interval for cell in cells):
        where = "in brackets, clustered by source video" if intervals else "are in the CSV file"
        found.append(f"95 % intervals {where}.")
    if warning := _warning(cells):
        found.append(warning)
    if any(metric_unit(cell.metric) == "%" for cell in cells if cell.metric):
        found.append(f"Shares are in percent{', differences in points' if any(cell.signed for cell in cells) else ''}.")
    if any(cell.is_best for cell in cells):
        found.append("Highest value of a column in bold.")
    if any(cell.may_equal_best for cell in cells):
        found.append("≈: the intervals do not tell this value from the highest.")
    return [" ".join(note.split()) for note in (*found, *table.notes)]


COLUMN_PT: Final = 219.0
"""Width of a column of the narrowest two-column papers, those of ACL; CVPR and IEEE have more."""
PAGE_PT: Final = 397.0
"""Width of the text of the narrowest papers, those of NeurIPS."""
LONG_PT: Final = 52.0
"""Least width of a column of long texts, whose lines are broken."""
MANY_ROWS: Final = 10
"""A table of pairs with more rows is set over both columns."""
HEADING_CHARS: Final = 10
"""Most characters in a line of a column's name."""

_Intervals = Literal["beside", "below", "alone"]
INTERVALS: Final[tuple[_Intervals, ...]] = ("beside", "below", "alone")


@dataclass(frozen=True)
class _Printed:
    """A cell of a printed table."""

    text: str
    small: str = ""
    """Interval and n, beside or below the text."""
    looks: str = "{}"
    """LaTeX around the text, in place of `{}`."""
    is_number: bool = False

    def latex(self, intervals: _Intervals) -> str:
        told, small = self.looks.replace("{}", escape_latex(breakable(self.text))), escape_latex(self.small)
        if not small or intervals == "alone":
            return told
        if intervals == "beside":
            return rf"{told} {{\scriptsize {small}}}"
        return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{told}\\[-2pt]{{\scriptsize {small}}}\end{{tabular}}"


@dataclass(frozen=True)
class _Layout:
    """A way to print a table: with intervals beside values, below them, or with values alone."""

    header: Sequence[str]
    rows: Sequence[Sequence[_Printed]]
    intervals: _Intervals

    def columns(self) -> list[Sequence[_Printed]]:
        return list(zip(*self.rows, strict=True)) or [() for _ in self.header]

    def numbers(self) -> list[bool]:
        return [any(cell.is_number for cell in column) for column in self.columns()]

    def width_pt(self) -> float:
        """The least width, estimated."""
        total = 0.0
        for name, column, is_number in zip(self.header, self.columns(), self.numbers(), strict=True):
            longest = max(map(_width_pt, _lines(name)))
            for cell in column:
                main = _width_pt(cell.text) if is_number else min(_width_pt(cell.text), LONG_PT)
                small = 0.75 * _width_pt(cell.small) if self.intervals != "alone" else 0.0
                longest = max(longest, main + small if self.intervals == "beside" else max(main, small))
            total += longest + 6
        return total - 6

    def kinds(self) -> str:
        """For each column `l`, `r` or `X`; some text has the rest of the line."""
        widths = [max(map(_width_pt, (cell.text for cell in column)), default=0.0) for column in self.columns()]
        texts = [0.0 if number else width for number, width in zip(self.numbers(), widths, strict=True)]
        return "".join(
            "r" if number else "X" if width > LONG_PT or width == max(texts) else "l"
            for number, width in zip(self.numbers(), texts, strict=True)
        )

    def lines(self, groups: Sequence[str]) -> Iterator[list[str] | str]:
        for place, row in enumerate(self.rows):
            if groups and (not place or groups[place] != groups[place - 1]):
                yield escape_latex(groups[place])
            yield [cell.latex(self.intervals) for cell in row]

    def heads(self) -> list[str]:
        """Names of columns, on several lines if one would be wider than its cells."""
        found = []
        for name, kind in zip(self.header, self.kinds(), strict=True):
            lines = [escape_latex(line) for line in ([breakable(name)] if kind == "X" else _lines(name))]
            found.append(rf"\shortstack[{kind}]{{" + r"\\".join(lines) + "}" if len(lines) > 1 else lines[0])
        return found


def _lines(name: str) -> list[str]:
    """A column's name on lines of at most `HEADING_CHARS` characters, as far as it can be broken."""
    lines = [""]
    for piece in re.split(f"(?<=[ {ZWSP}-])", breakable(name)):
        if len(lines[-1] + piece.rstrip()) > HEADING_CHARS:
            lines.append("")
        lines[-1] += piece
    return [line.replace(ZWSP, "").strip() for line in lines if line] or [""]


def _width_pt(text: str) -> float:
    """The width of small letters of a paper, estimated."""
    return 4.5 * sum(1 + (east_asian_width(letter) in "WF") for letter in text)


def _shared_n(cells: Sequence[TableCell]) -> str:
    """The n of all of several numbers; empty if they differ."""
    counts = [_n(cell) for cell in cells if isinstance(cell, Quantity) and cell.value is not None]
    return counts[0] if len(counts) > 1 and len(set(counts)) == 1 else ""


def _printed_row(row: Sequence[TableCell], shared: str) -> list[_Printed]:
    found = []
    if not shared and (shared := _shared_n(row)) and isinstance(row[0], str):
        found.append(_Printed(f"{row[0]} {shared}"))
    for cell in row[len(found) :]:
        if not isinstance(cell, Quantity):
            found.append(_Printed(_plain(cell), is_number=isinstance(cell, int | float)))
        elif cell.value is None:
            found.append(_Printed(cell.missing, looks=r"\textit{{}}", is_number=True))
        else:
            small = " ".join(filter(None, [cell.interval, "" if shared else _n(cell)]))
            looks = (r"$\approx$\," if cell.may_equal_best else "") + (r"\textbf{{}}" if cell.is_best else "{}")
            found.append(_Printed(str(cell), small, looks, is_number=True))
    return found


def _as_printed(table: TableFile) -> TableFile:
    """A table with the columns and rows that are printed; a column without any value is none of them."""
    rows = [table.rows[place] for place in table.rows_printed] if table.rows_printed else list(table.rows)
    chosen = table.columns_printed or range(len(table.header))
    columns = [place for place in chosen if not rows or any(row[place] is not None for row in rows)]
    return replace(
        table,
        header=tuple(table.header[place] for place in columns),
        rows=tuple(tuple(row[place] for place in columns) for row in rows),
    )


def _latex(table: TableFile) -> str:
    everything = len(table.rows)
    table = _as_printed(table)
    # An n that all numbers share is told once.
    n = _shared_n([cell for row in table.rows for cell in row])
    rows = [_printed_row(row, n) for row in table.rows]
    ways: list[tuple[Sequence[str], Sequence[Sequence[_Printed]]]] = [(table.header, rows)]
    if not table.groups and all(cell.is_number for row in rows for cell in row[1:] if cell.text):
        turned = [[_Printed(name), *(row[at] for row in rows)] for at, name in enumerate(table.header) if at]
        names = (f"{table.header[0]} {row[0].text}" if row[0].is_number else row[0].text for row in rows)
        ways.append((["", *names], turned))
    # No number without its interval, as long as a page has room.
    tried = [(limit, kind) for kind in INTERVALS[:2] for limit in (COLUMN_PT, PAGE_PT)]
    tried = sorted(tried, key=lambda pair: pair[0]) + [(limit, INTERVALS[2]) for limit in (COLUMN_PT, PAGE_PT)]
    found = [(limit, _Layout(*way, kind)) for limit, kind in tried for way in ways]
    # In a column, many rows with two broken names each are longer than a page.
    found = [pair for pair in found if pair[0] > COLUMN_PT or len(rows) <= MANY_ROWS or pair[1].kinds().count("X") < 2]
    limit, layout = next((pair for pair in found if pair[1].width_pt() <= pair[0]), (0.0, found[-1][1]))
    notes = [*_notes(table, layout.intervals != "alone"), *([f"{n[1:-1]}."] if n else [])]
    notes += ["The other rows are in the CSV file."] if len(table.rows) < everything else []
    packages = "booktabs,tabularx" if limit else "booktabs,graphicx"
    told = [
        rf"{table.title.removesuffix('.')}. Needs \usepackage{{{packages}}}.",
        rf"Write \input{{{table.file}}} between \begin{{table}} and \end{{table}}."
        if limit == COLUMN_PT
        else rf"Too wide for a column: write \input{{{table.file}}} between \begin{{table*}} and \end{{table*}}.",
    ]
    words = " ".join([*table.header, *(cell.text for row in rows for cell in row), *table.groups, *notes])
    if lacking := beyond_pdflatex(words):
        told.append(f"pdfLaTeX prints code points for {lacking}; XeLaTeX and LuaLaTeX need a font that has them.")
    return latex_table(
        layout.heads(),
        layout.lines(table.groups),
        columns=layout.kinds() if limit else layout.kinds().replace("X", "l"),
        comments=map(on_one_line, (*told, *table.signatures)),
        footnote=escape_latex(" ".join([*notes, _signature(table.signatures)])),
        shrunk=not limit,
    )


def _signature(signatures: Sequence[str]) -> str:
    """What most signatures share, and the names of the parts that differ; empty without any."""
    parts = [signature.split("|") for signature in signatures]
    # Floors that were not played say little.
    parts = [found for found in parts if len(found) > max(map(len, parts)) / 2]
    counts = Counter(part for found in parts for part in found)
    names = Counter(part.partition(":")[0] for part in counts)
    shared = [part for part in counts if counts[part] > len(parts) / 2 and names[part.partition(":")[0]] == 1]
    differing = sorted({name for part in counts if part not in shared for name in [part.partition(":")[0]]})
    told = f" ({', '.join(differing)}: by row, in the CSV file)" if differing else ""
    return f"Signature: {f'|{ZWSP}'.join(shared)}{told}." if signatures else ""


def _markdown(table: TableFile) -> str:
    def cell(found: TableCell) -> str:
        if not isinstance(found, Quantity):
            return escape_markdown(_plain(found))
        if found.value is None:
            return f"*{escape_markdown(found.missing)}*"
        value = f"**{found}**" if found.is_best else str(found)
        return " ".join(filter(None, ["≈" if found.may_equal_best else "", value, found.interval, _n(found)]))

    rows: list[list[str]] = []
    for place, row in enumerate(table.rows):
        if table.groups and table.groups[place] not in table.groups[:place]:
            rows.append([f"*{escape_markdown(table.groups[place])}*", *[""] * (len(row) - 1)])
        rows.append([cell(found) for found in row])
    lines = [
        *markdown_table([escape_markdown(name) for name in table.header], rows, numbers=_number_columns(table)),
        "",
        *(escape_markdown(note) + "  " for note in (table.title.removesuffix(".") + ".", *_notes(table))),
        "",
        *(f"- {markdown_code(on_one_line(signature))}" for signature in table.signatures),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _csv(table: TableFile) -> str:
    columns = list(zip(*table.rows, strict=True)) or [() for _ in table.header]
    wide = [any(isinstance(cell, Quantity) for cell in column) for column in columns]
    header = ["Group"] if table.groups else []
    for name, is_wide in zip(table.header, wide, strict=True):
        more = [f"{name}: {what}" for what in ("low", "high", "n", "videos")] if is_wide else []
        header += [name, *more]
    rows = []
    for place, row in enumerate(table.rows):
        cells: list[object] = [*table.groups[place : place + 1]]
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
