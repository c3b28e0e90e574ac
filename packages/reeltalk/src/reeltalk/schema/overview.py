"""Results for people who read them in Python: one screen of text, and a small table in a notebook.

A class that a verb of `reeltalk.stages` returns inherits from `HasOverview` and gives its main numbers in `overview`.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.schema.texts import escape_html, printable

WIDTH: Final = 100
"""Most columns of a line."""
MOST_LINES: Final = 25
MOST_ROWS: Final = 15
"""Most rows of a table, without its header."""
LONGEST_CELL: Final = 48
LINES_A_CELL: Final = 2
"""Most lines of text of a cell in the last column."""
MOST_NOTES: Final = 8
LINES_A_NOTE: Final = 4
_NUMBER: Final = re.compile(r"[–+−\-\d.,%\[\] ]*")


@dataclass(frozen=True)
class Overview:
    """What a person reads first of a result. All texts may come from others; they are made harmless when shown."""

    title: str
    """One line."""
    header: tuple[str, ...] = ()
    """Names of the table's columns; empty without a table."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Cells, the most important rows first. Only the first `MOST_ROWS` are shown."""
    notes: tuple[str, ...] = ()
    """Sentences below the table."""

    def text(self) -> str:
        """At most 25 lines of at most 100 columns."""
        lines = _wrap(self.title, "")
        if self.header:
            lines += [_cut(line, WIDTH) for line in self._table_lines()]
        for note in self._all_notes():
            lines += _wrap(note, "  ")
        if len(lines) > MOST_LINES:
            lines = [*lines[: MOST_LINES - 1], "…"]
        return "\n".join(lines)

    def html(self) -> str:
        """The same as HTML, with all texts escaped."""
        parts = [f"<p><strong>{escape_html(self.title)}</strong></p>"]
        if self.header:
            head = "".join(f"<th>{escape_html(cell)}</th>" for cell in self.header)
            body = "".join(f"<tr>{''.join(map(_table_cell, row))}</tr>" for row in self.rows[:MOST_ROWS])
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        parts += [f"<p>{escape_html(_cut(note, 4 * WIDTH))}</p>" for note in self._all_notes()]
        return f"<div>{''.join(parts)}</div>"

    def _table_lines(self) -> list[str]:
        """The table's lines of text. Words of the last column that are too long for a line go on below."""
        firsts = [tuple(map(_cell, row[:-1])) for row in (self.header, *self.rows[:MOST_ROWS])]
        room = max(20, WIDTH - sum(2 + max(map(len, column)) for column in zip(*firsts, strict=True)))
        lines: list[tuple[str, ...]] = []
        for first, row in zip(firsts, (self.header, *self.rows[:MOST_ROWS]), strict=True):
            words = textwrap.wrap(_one_line(row[-1]), room, max_lines=LINES_A_CELL, placeholder=" …") or [""]
            lines += [(*(first if place == 0 else ("",) * len(first)), part) for place, part in enumerate(words)]
        are_words = any(_NUMBER.fullmatch(row[-1]) is None for row in self.rows)
        return aligned_table(lines, words_last=are_words).splitlines()

    def _all_notes(self) -> Sequence[str]:
        more = len(self.rows) - MOST_ROWS
        left_out = (f"… and {more:,} more rows",) if more > 0 else ()
        kept = self.notes[:MOST_NOTES]
        hidden = len(self.notes) - len(kept)
        return (*left_out, *kept, *((f"… and {hidden:,} more",) if hidden else ()))


class HasOverview:
    """A result that prints as one screen and is a small table in a notebook."""

    def overview(self) -> Overview:
        """The title, main numbers and notes of this result."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.overview().text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_cut(_one_line(self.overview().title), WIDTH)}>"

    def _repr_html_(self) -> str:
        """The overview as HTML, which Jupyter shows."""
        return self.overview().html()


def aligned_table(rows: Sequence[Sequence[str]], *, words_last: bool = False) -> str:
    """A table for a terminal. The first column is aligned left, the others right.

    Args:
        rows: Cells, one line each; the header is a row too.
        words_last: Whether the last column holds words, which are aligned left.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        if len(row) > 1:
            cells.append(row[-1] if words_last else row[-1].rjust(widths[-1]))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _table_cell(cell: str) -> str:
    # Notebooks align cells right, as numbers are.
    align = "" if _NUMBER.fullmatch(cell) else ' style="text-align:left"'
    return f"<td{align}>{escape_html(_cut(cell, 4 * LONGEST_CELL))}</td>"


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        _one_line(text), WIDTH, subsequent_indent=indent, max_lines=LINES_A_NOTE, placeholder=" …"
    ) or [""]


def _cell(text: str) -> str:
    return _cut(_one_line(text), LONGEST_CELL)


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
