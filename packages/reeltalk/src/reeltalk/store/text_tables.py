"""Tables as text: Markdown, CSV, LaTeX.

These functions write lines and escape untrusted text. They do not interpret the numbers. JSON is written by
`write_json` of `documents`, columns for a terminal by `aligned_table` of `reeltalk.schema.overview`.
"""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from reeltalk.schema.texts import code_point, printable

ZWSP: Final = "\u200b"
"""Invisible; a line may end here."""
_LATEX: Final = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\char34{}",
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
    ZWSP: r"\allowbreak{}",
    **{character: "\\" + character for character in "&%$#_{}"},
    **{
        letter: f"$\\{name}$"
        for letter, name in zip(
            "αβγδκλμρστχΔΣ", "alpha beta gamma delta kappa lambda mu rho sigma tau chi Delta Sigma".split(), strict=True
        )
    },
}
_FORMULA: Final = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""Beginnings of a formula, also in wide characters."""
_NUMBER: Final = re.compile(r"[+-]?[\d,]+(\.\d+)?(e[+-]?\d+)?")
_NOT_IN_PDFLATEX: Final = re.compile("[^ -~¡-ž‐–—‘’“”†•…™←€Ș-ț]+|[«»ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲų]+")
"""Letters for which pdfLaTeX has no definition without further packages. None of these is in `_LATEX`."""


def write_csv(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """A table as CSV: one header row, lines that end with a line feed, an empty cell for None, no formulas.

    Args:
        header: Names of the columns.
        rows: Their cells, as `csv` writes them.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows(map(inert_cell, row) for row in (header, *rows))
    return stream.getvalue()


def inert_cell(cell: object) -> object:
    """A cell that no spreadsheet runs: a text of others that begins like a formula gets an apostrophe in front."""
    if not isinstance(cell, str):
        return cell
    # `csv` does not quote a carriage return, so what follows it would begin a cell.
    text = re.sub("\r\n?", "\n", cell)
    return f"'{text}" if is_formula(text) else text


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would run a text; a number is none."""
    return bool(_FORMULA.match(text)) and not _NUMBER.fullmatch(text)


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
    rows: Iterable[Sequence[str] | str],
    *,
    columns: str,
    comments: Iterable[str] = (),
    footnote: str = "",
    shrunk: bool = False,
) -> str:
    """A table as LaTeX that is as wide as the line, which needs booktabs and tabularx.

    Args:
        header: Names of the columns, escaped.
        rows: Their cells, escaped; a text is the title of the rows below it.
        columns: For each column `l`, `r`, or `X` for one whose lines are broken.
        comments: Lines above the table, each on one line.
        footnote: Text below it, escaped.
        shrunk: True for a table without `X` that is too wide: it is scaled down, which also needs graphicx.
    """
    kind, width = ("tabularx", r"{\linewidth}") if "X" in columns else ("tabular", "")
    spec = "@{}" + columns.replace("X", r">{\raggedright\arraybackslash}X") + "@{}"
    opened, closed = (r"\resizebox{\linewidth}{!}{", "}") if shrunk else ("", "")
    body: list[str] = []
    for row in rows:
        if isinstance(row, str):
            body += [r"\addlinespace"] if body else []
            body.append(rf"\multicolumn{{{len(header)}}}{{@{{}}l@{{}}}}{{\textit{{{row}}}}} \\")
        else:
            body.append(" & ".join(row) + r" \\")
    lines = [
        *(f"% {comment}" for comment in comments),
        r"\begin{minipage}{\linewidth}\small\setlength{\tabcolsep}{3pt}%",
        rf"{opened}\begin{{{kind}}}{width}{{{spec}}}",
        r"\toprule",
        " & ".join(header) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        rf"\end{{{kind}}}{closed}",
        *([r"\par\smallskip\raggedright\scriptsize", footnote] if footnote else []),
        r"\end{minipage}",
    ]
    return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    """Escape text for Markdown, also in a table's cell."""
    escaped = re.sub(r"([\\|`*_~$\[\]])", r"\\\1", on_one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_card(text: str) -> str:
    """Escape text for a benchmark's card, also in a table's cell. Existing releases have cards in this form."""
    return re.sub(r"([|<>`*_\[\]\\])", r"\\\1", " ".join(text.split()))


def escape_latex(text: str) -> str:
    """Escape text for LaTeX. pdfLaTeX prints the code points of letters that it lacks; other engines print these."""
    # Invisible characters can be removed from a table's name. Two hyphens would become a dash.
    plain = unicodedata.normalize("NFC", " ".join(printable(text).replace("\ufffd", "").split()))
    parts = re.split(f"([{re.escape(''.join(_LATEX))}])", plain.replace("--", f"-{ZWSP}-"))
    return "".join(_LATEX.get(part) or _NOT_IN_PDFLATEX.sub(_by_engine, part) for part in parts)


def _by_engine(letters: re.Match[str]) -> str:
    codes = " ".join(map(code_point, letters[0]))
    return rf"\ifdefined\Umathchar {letters[0]}\else [{codes}]\fi{{}}"


def beyond_pdflatex(text: str) -> str:
    """The characters, each once, that pdfLaTeX cannot print without further packages."""
    return "".join(dict.fromkeys("".join(re.findall(r"\\Umathchar (.*?)\\else", escape_latex(text)))))


def breakable(text: str) -> str:
    """Text whose lines may end in a long name, for `escape_latex`."""
    parted = re.sub(r"(?<=\S[_/|:=@+,])(?=[^\s\d_])", ZWSP, text)
    return re.sub(rf"[^\s{ZWSP}-]{{14,}}", lambda found: re.sub("(.{7})(?=..)", rf"\1{ZWSP}", found[0]), parted)


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
