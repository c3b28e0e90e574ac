"""The tables of a report as files for papers: LaTeX, Markdown and CSV, with intervals and signatures."""

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from reeltalk.analysis.columns import digits_of
from reeltalk.analysis.visible import visible
from reeltalk.metrics.uncertainty import few_videos_warning

TablesFormat = Literal["latex", "markdown", "csv"]
TABLE_FORMATS: Final[tuple[TablesFormat, ...]] = ("latex", "markdown", "csv")
TABLE_ENDINGS: Final[dict[TablesFormat, str]] = {"latex": "tex", "markdown": "md", "csv": "csv"}
TABLE_NAMES: Final[dict[TablesFormat, str]] = {"latex": "LaTeX", "markdown": "Markdown", "csv": "CSV"}


@dataclass(frozen=True)
class Quantity:
    """A number in a table for papers, with what is needed to quote it."""

    value: float | None
    """None where there is none; `missing` says why in a word or two."""
    low: float | None = None
    """Lower end of the 95 % interval."""
    high: float | None = None
    n: int | None = None
    """Items that it rests on; None where that says nothing."""
    metric: str | None = None
    """Decides the number of digits; four after the point without one, two from 10 on."""
    is_best: bool = False
    may_equal_best: bool = False
    missing: str = "not scored"
    signed: bool = False
    """True for a difference, which is written with its sign."""
    videos: int | None = None
    """Source videos that it rests on; None where that is unknown."""

    def __str__(self) -> str:
        """The value alone, as pages write it."""
        return self.missing if self.value is None else self.write(self.value)

    def write(self, value: float) -> str:
        """A value with as many digits as pages give it."""
        return f"{value:{'+' if self.signed else ''},.{digits_of(self.metric, value)}f}"

    @property
    def interval(self) -> str:
        """The interval in brackets; empty where there is none."""
        if self.value is None or self.low is None or self.high is None:
            return ""
        return f"[{self.write(self.low)}, {self.write(self.high)}]"


TableCell = str | int | float | Quantity | None


@dataclass(frozen=True)
class TableFile:
    """A table that is written beside its page."""

    file: str
    """Name without ending."""
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    signatures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def render_rows(table: TableFile, format: TablesFormat) -> str:
    """A table as text.

    Args:
        table: Its rows are as long as its header.
        format: `latex` needs booktabs, and has the signatures as comments; `markdown` has them below; `csv` has one
            header row, numbers as they are, their interval and n in columns of their own, and a column of signatures.
    """
    return _RENDERERS[format](table)


def write_tables(folder: Path, tables: Sequence[TableFile], formats: Sequence[TablesFormat]) -> None:
    """Write tables, and `index.md`, which lists them.

    Args:
        folder: Is made.
        tables: Which.
        formats: As which files each.
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
            *(f"- {code(_on_one_line(signature))}" for signature in table.signatures),
            *([""] if table.signatures else []),
        ]
    (folder / "index.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8", newline="\n")


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in a table's cell too."""
    escaped = re.sub(r"([\\|`*_~$\[\]])", r"\\\1", " ".join(visible(text).split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code(text: str) -> str:
    """Markdown code that holds any text, backticks too."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{visible(text)}{space}{fence}"


_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "·": r"\textperiodcentered{}",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≈": r"$\approx$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": r"$-$",
    "→": r"$\rightarrow$",
    "–": "--",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is."""
    # pdfLaTeX has no glyph for U+FFFD, and a table's name loses nothing without what nobody can see.
    told = " ".join(visible(text).replace("\ufffd", "").split())
    return "".join(_LATEX.get(character, character) for character in told)


def latex_footnote(text: str | None, columns: int) -> list[str]:
    """A row below a table that says something of all of it; none where there is nothing to say.

    Args:
        text: What it says.
        columns: Of the table.
    """
    return [rf"\multicolumn{{{columns}}}{{@{{}}l@{{}}}}{{\footnotesize {escape_latex(text)}}} \\"] if text else []


def _columns(table: TableFile) -> list[bool]:
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


def _told(notes: Sequence[str], table: TableFile) -> list[str]:
    """Notes below a table."""
    cells = [cell for row in table.rows for cell in row if isinstance(cell, Quantity)]
    told = [table.title + "."] if not table.title.endswith(".") else [table.title]
    if any(cell.interval for cell in cells):
        told.append("95 % intervals in brackets, clustered by source video.")
    if warning := few_videos_warning(cell.videos for cell in cells if cell.value is not None):
        told.append(warning)
    if any(cell.is_best for cell in cells):
        told.append("Highest value of a column in bold.")
    if any(cell.may_equal_best for cell in cells):
        told.append("≈: the intervals do not tell this value from the highest.")
    return [" ".join(note.split()) for note in (*told, *notes)]


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

    numbers = _columns(table)
    quantities = [found for row in table.rows for found in row if isinstance(found, Quantity)]
    warning = few_videos_warning(found.videos for found in quantities if found.value is not None)
    lines = [
        "% Needs \\usepackage{booktabs}.",
        *(f"% {_on_one_line(note)}" for note in _told(table.notes, table)),
        *(f"% {_on_one_line(signature)}" for signature in table.signatures),
        rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
        r"\toprule",
        " & ".join(escape_latex(" ".join(name.split())) for name in table.header) + r" \\",
        r"\midrule",
        *(" & ".join(cell(found) for found in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        *latex_footnote(warning, len(table.header)),
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _markdown(table: TableFile) -> str:
    def cell(found: TableCell) -> str:
        if not isinstance(found, Quantity):
            return escape_markdown(_plain(found))
        if found.value is None:
            return f"*{escape_markdown(found.missing)}*"
        value = f"**{found}**" if found.is_best else str(found)
        return " ".join(filter(None, ["≈" if found.may_equal_best else "", value, found.interval, _n(found)]))

    lines = [
        "| " + " | ".join(escape_markdown(name) for name in table.header) + " |",
        "| " + " | ".join("---:" if number else "---" for number in _columns(table)) + " |",
        *("| " + " | ".join(cell(found) for found in row) + " |" for row in table.rows),
        "",
        *(escape_markdown(note) + "  " for note in _told(table.notes, table)),
        "",
        *(f"- {code(_on_one_line(signature))}" for signature in table.signatures),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _csv(table: TableFile) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    columns = list(zip(*table.rows, strict=True)) or [() for _ in table.header]
    wide = [any(isinstance(cell, Quantity) for cell in column) for column in columns]
    header = []
    for name, is_wide in zip(table.header, wide, strict=True):
        more = [f"{name}: {what}" for what in ("low", "high", "n", "videos")] if is_wide else []
        header += [name, *more]
    writer.writerow([*header, "warning", "signatures"])
    for row in table.rows:
        cells: list[object] = []
        for found, is_wide in zip(row, wide, strict=True):
            if isinstance(found, Quantity):
                cells += [found.value, found.low, found.high, found.n, found.videos]
            else:
                cells += [found, None, None, None, None] if is_wide else [found]
        known = [found.videos for found in row if isinstance(found, Quantity) and found.value is not None]
        writer.writerow([*cells, few_videos_warning(known), "; ".join(table.signatures)])
    return stream.getvalue()


def _on_one_line(text: str) -> str:
    """Text that cannot leave a comment or an item of a list."""
    return " ".join(visible(text).split())


def _n(cell: Quantity) -> str:
    return "" if cell.n is None else f"(n = {cell.n:,})"


_RENDERERS: Final[dict[TablesFormat, Callable[[TableFile], str]]] = {
    "latex": _latex,
    "markdown": _markdown,
    "csv": _csv,
}
