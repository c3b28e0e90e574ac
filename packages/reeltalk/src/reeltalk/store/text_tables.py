"""Tables as text: Markdown, CSV, LaTeX.

These functions write lines and escape untrusted text. They do not interpret the numbers. JSON is written by
`write_json` of `documents`, columns for a terminal by `aligned_table` of `reeltalk.schema.overview`.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Final

from reeltalk.schema.texts import printable

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
    "†": r"$^\dagger$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "−": r"$-$",
    "→": r"$\rightarrow$",
    "–": "--",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def write_csv(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A table as CSV: one header row, lines that end with a line feed, an empty cell for None. Texts are guarded.

    Args:
        header: Names of the columns.
        rows: Their cells, as `csv` writes them.
    """
    return "".join(map(csv_line, (header, *rows)))


def csv_line(cells: Iterable[object], delimiter: str = ",") -> str:
    """A line of CSV that ends with a line feed; its texts are guarded."""
    # With this end of lines, cells with a carriage return are quoted, which else begins a line of its own.
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator="\r\n").writerow(map(guard_cell, cells))
    return f"{stream.getvalue()[:-2]}\n"


FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Beginnings of a cell that a spreadsheet runs as a formula; the last four are the wide forms of the first four."""
_NUMBER: Final = re.compile(r"[+-]?[0-9][0-9,.]*(?:[eE][+-]?[0-9]+)?%?")


def is_formula(cell: object) -> bool:
    """Whether a spreadsheet would run a cell. A text of others may begin like a formula; a number is none."""
    return isinstance(cell, str) and cell.startswith(FORMULA) and _NUMBER.fullmatch(cell) is None


def guard_cell(cell: object) -> object:
    """A cell that no spreadsheet runs: an apostrophe is put before a text that begins like a formula."""
    return f"'{cell}" if is_formula(cell) else cell


def markdown_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[bool],
    marks: tuple[str, str] = ("---", "---:"),
) -> list[str]:
    """A table's lines of Markdown.

    Args:
        header: Names of the columns, escaped.
        rows: Their cells, escaped.
        numbers: For each column, whether it is aligned right, as for numbers.
        marks: Cells of the line below the header, for columns aligned left and right.
    """
    ruled = [marks[number] for number in numbers]
    return [f"| {' | '.join(cells)} |" for cells in (header, ruled, *rows)]


def latex_table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[bool],
    comments: Iterable[str] = (),
    footnote: str | None = None,
) -> str:
    """A table as LaTeX, which needs booktabs.

    Args:
        header: Names of the columns, escaped.
        rows: Their cells, escaped.
        numbers: For each column, whether it is aligned right, as for numbers.
        comments: Lines above the table, each on one line.
        footnote: A sentence for a last row over all columns, not escaped; no row if it is None or empty.
    """
    lines = [
        "% Needs \\usepackage{booktabs}.",
        *(f"% {comment}" for comment in comments),
        rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numbers)}}}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
        *(" & ".join(cells) + r" \\" for cells in rows),
        r"\bottomrule",
    ]
    if footnote:
        told = rf"{{\footnotesize {escape_latex(footnote)}}}"
        lines.append(rf"\multicolumn{{{len(header)}}}{{@{{}}l@{{}}}}{told} \\")
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, also in a table's cell."""
    escaped = re.sub(r"([\\|`*_~$\[\]])", r"\\\1", on_one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_card(text: str) -> str:
    """Escape text for a benchmark's card, also in a table's cell. Existing releases have cards in this form."""
    return re.sub(r"([|<>`*_\[\]\\])", r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX."""
    # pdfLaTeX has no glyph for U+FFFD, and invisible characters can be removed from a table's name.
    plain = " ".join(printable(text).replace("\ufffd", "").split())
    return "".join(_LATEX.get(character, character) for character in plain)


def markdown_code(text: str) -> str:
    """Markdown code that can contain any text, including backticks."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{printable(text)}{space}{fence}"


def markdown_block(text: str) -> list[str]:
    """A text as the lines of a block of code in Markdown, whatever it contains."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [fence, *text.strip().splitlines(), fence]


def on_one_line(text: str) -> str:
    """Text on one line, so that it cannot leave a comment, a cell, or a list item."""
    return " ".join(printable(text).split())
