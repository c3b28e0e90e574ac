"""Rows of a table in a file: CSV, TSV, JSON (a list of objects), JSON Lines and Parquet, in and out.

A row is a JSON object by column. Every cell of CSV and TSV is text.
"""

import csv
import difflib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats.parquet import FilesInside, read_arrow_rows, write_arrow_rows
from reeltalk.schema.record import LONGEST_NAME, LONGEST_S, Json
from reeltalk.schema.texts import name_problem
from reeltalk.store.documents import (
    check_text,
    read_json_lines,
    read_json_list,
    read_text,
    refuse_characters,
    write_json,
)
from reeltalk.store.text_tables import is_formula

LEAST_SIMILARITY: Final = 0.35
"""Least similarity, 0 to 1, of two names that may be one misspelt."""
TABLE_SUFFIXES: Final = (".csv", ".tsv", ".json", ".jsonl", ".parquet")
"""Endings of the files that can be read and written."""

_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:\.\d+)?)")


@dataclass(frozen=True)
class TableRow:
    """A row of a table, and its place for errors."""

    path: Path
    line: int | None
    place: str
    """The place in a document without lines; `$` for a whole line."""
    cells: dict[str, Json]

    @property
    def where(self) -> str:
        """The place for people, as `questions.csv:4`."""
        return f"{self.path.name}:{self.line}" if self.line is not None else f"{self.path.name} at {self.place}"

    def cell(self, column: str) -> "SourceCell":
        """The cell of a column; null if the row has no such column."""
        return SourceCell(self, column, self.cells.get(column))

    def error(self, problem: str, column: str, value: object, hint: str | None = None) -> InputError:
        """An error at a column: behind the place of a row that has no line."""
        place = column if self.place == "$" else f"{self.place}.{column}"
        return InputError(problem, file=self.path, line=self.line, place=place, value=value, hint=hint)


@dataclass(frozen=True)
class SourceTable:
    """A table that was read."""

    header: list[str]
    """Its columns in order; a repeated column of CSV or TSV repeats."""
    rows: list[TableRow]


def is_text_table(path: Path) -> bool:
    """True for CSV and TSV, whose cells are all text."""
    return path.suffix.lower() in (".csv", ".tsv")


def read_table(
    path: Path, *, repeated: bool = False, files: FilesInside | None = None, faults: list[InputError] | None = None
) -> SourceTable:
    """Read a table.

    Args:
        path: A file with one of `TABLE_SUFFIXES`.
        repeated: A column of CSV or TSV may appear several times; its cells become a list. Otherwise that is an error.
        files: Receives the files that Parquet holds. Otherwise they are an error.
        faults: Receives what is wrong with rows that cannot be read, which are left out. By default the first is
            raised.

    Raises:
        InputError: It is damaged, or a row is not an object.
        MissingExtraError: Parquet needs the `hub` extra.
    """
    if is_text_table(path):
        return _read_csv(path, repeated=repeated, faults=faults)
    suffix = path.suffix.lower()
    found: Iterable[tuple[int | None, str, Json]]
    if suffix == ".jsonl":
        found = [(line, "$", value) for line, value in read_json_lines(path, faults)]
    elif suffix == ".json":
        found = [(None, place, value) for place, value in read_json_list(path, faults)]
    else:
        found = [(None, f"row {number}", cells) for number, cells in enumerate(read_arrow_rows(path, files))]
    rows = []
    for line, place, value in found:
        if isinstance(value, dict):
            rows.append(TableRow(path, line, place, value))
            continue
        fault = InputError("not an object", file=path, line=line, place=place, value=value)
        if faults is None:
            raise fault
        faults.append(fault)
    return SourceTable(list(dict.fromkeys(key for row in rows for key in row.cells)), rows)


def _read_csv(path: Path, *, repeated: bool, faults: list[InputError] | None) -> SourceTable:
    text = read_text(path, checked=faults is None)
    first = text.partition("\n")[0]
    check_text(first, file=path)
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    if delimiter == "," and "," not in first and (other := next((one for one in ";\t" if one in first), None)):
        # Spreadsheets of many languages write semicolons, since their numbers have a comma.
        delimiter = other
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    rows: list[TableRow] = []
    line = 1
    try:
        header = next(reader, [])
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=line) from None
    columns = guarded_columns(header)
    header = without_guards(header, columns)
    doubled = sorted(name for name, times in Counter(header).items() if times > 1)
    if doubled and not repeated:
        raise InputError("a column appears twice", file=path, line=1, value=doubled[0])
    if not header:
        raise InputError("no line of column names", file=path, line=1)
    while True:
        # A quoted cell may hold line ends; people look for the line on which a row begins.
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
            if cells is None:
                return SourceTable(header, rows)
            if cells:
                rows.append(_csv_row(path, line, header, without_guards(cells, columns), doubled))
        except (csv.Error, InputError) as error:
            fault = error if isinstance(error, InputError) else InputError(f"not CSV: {error}", file=path, line=line)
            if faults is None:
                raise fault from None
            faults.append(fault)


def _csv_row(path: Path, line: int, header: list[str], cells: list[str], doubled: list[str]) -> TableRow:
    for cell in cells:
        check_text(cell, file=path, line=line)
    if len(cells) != len(header):
        problem = f"{len(cells)} cells under {len(header)} columns"
        hint = "put a cell that holds a delimiter or a quote into double quotes"
        raise InputError(problem, file=path, line=line, hint=hint)
    pairs = list(zip(header, cells, strict=True))
    for column, cell in pairs:
        refuse_characters(cell, column, file=path, line=line)
    lists = {name: [cell for column, cell in pairs if column == name] for name in doubled}
    return TableRow(path, line, "$", {**dict(pairs), **lists})


def write_table_rows(path: Path, rows: Iterable[dict[str, Json]]) -> list[str]:
    """Write rows in the format of the path's ending; return a line for each thing that it cannot express.

    Args:
        path: A file with one of `TABLE_SUFFIXES`. Its folder is made.
        rows: The rows, which are read several times. In CSV a list becomes several columns of one name.

    Raises:
        InputError: A value cannot be written as text.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    suffix = path.suffix.lower()
    try:
        if suffix == ".parquet":
            return write_arrow_rows(path, list(rows))
        if is_text_table(path):
            _write_csv(path, rows)
        elif suffix == ".json":
            path.write_text(write_json(list(rows)), encoding="utf-8")
        else:
            with path.open("wb") as stream:
                for row in rows:
                    stream.write(json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    except (UnicodeEncodeError, ValueError, TypeError) as error:
        raise InputError(f"a value cannot be written: {error}", file=path) from None
    return []


def _write_csv(path: Path, rows: Iterable[dict[str, Json]]) -> None:
    most: dict[str, int] = {}
    for row in rows:
        for name, value in row.items():
            most[name] = max(most.get(name, 0), len(value) if isinstance(value, list) else 1)
    with path.open("w", encoding="utf-8", newline="") as stream:
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        header = [name for name, count in most.items() for _ in range(count)]
        has_formulas = any(is_formula(cell) for cells in (header, *_csv_cells(rows, most)) for cell in cells)
        for place, cells in enumerate(chain([header], _csv_cells(rows, most))):
            numbers = [str(number) for number, cell in enumerate(cells, start=1) if is_formula(cell)]
            guards = [" ".join([GUARDED_COLUMN] * (place == 0) + numbers)] if has_formulas else []
            stream.write(_csv_line([f"'{cell}" if is_formula(cell) else cell for cell in cells] + guards, delimiter))


def _csv_line(cells: list[str], delimiter: str) -> str:
    # With this end of lines, cells with a carriage return are quoted, which else begins a line of its own.
    line = io.StringIO(newline="")
    csv.writer(line, delimiter=delimiter, lineterminator="\r\n").writerow(cells)
    return f"{line.getvalue()[:-2]}\n"


def _csv_cells(rows: Iterable[dict[str, Json]], most: Mapping[str, int]) -> Iterator[list[str]]:
    for row in rows:
        cells: list[str] = []
        for name, count in most.items():
            value = row.get(name)
            texts = [csv_cell(one) for one in (value if isinstance(value, list) else [value])]
            cells += texts + [""] * (count - len(texts))
        yield cells


GUARDED_COLUMN: Final = "guarded_cells"
"""Last column of CSV that holds texts like formulas: it numbers the guarded cells of a row from 1; its name those of
the header."""


def guarded_columns(header: Sequence[object]) -> int | None:
    """The number of cells of a row whose last one is of `GUARDED_COLUMN`; None if the table has no such column."""
    found = re.fullmatch(rf"{GUARDED_COLUMN}( \d+)*", str(header[-1])) if header else None
    return len(header) if found else None


def without_guards(cells: Sequence[Any], columns: int | None) -> list[Any]:
    """The cells of a row as they were before guards, if they are as many as `guarded_columns` gave for the header."""
    if len(cells) != columns:
        return list(cells)
    numbers = {int(word) for word in str(cells[-1]).split() if word.isdecimal()}
    return [cell.removeprefix("'") if number in numbers else cell for number, cell in enumerate(cells[:-1], start=1)]


def csv_cell(value: Json) -> str:
    """A value as text: a text or number as it is, any other value as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)


def plain_column(name: str) -> str:
    """A name of a column without case, with `_` for spaces and hyphens."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that says which known name is nearest to a wrong one; empty if none is near."""
    by_plain = {plain_column(other): other for other in known}
    found = difflib.get_close_matches(plain_column(name), list(by_plain), 1, LEAST_SIMILARITY)
    return f"; the nearest is {by_plain[found[0]]!r}" if found else ""


@dataclass(frozen=True)
class SourceCell:
    """A cell of a row."""

    row: TableRow
    column: str
    value: Json

    @property
    def is_text(self) -> bool:
        """True in CSV and TSV."""
        return is_text_table(self.row.path)

    def error(self, problem: str, *value: object, hint: str | None = None) -> InputError:
        """An error at the cell, with the value of the cell unless another is given."""
        return self.row.error(problem, self.column, value[0] if value else self.value, hint)

    def text(self) -> str | None:
        """The text of the cell; None if it is empty."""
        found = self.texts()
        if len(found) > 1:
            raise self.error("several values, where one is expected")
        return found[0] if found else None

    def texts(self) -> tuple[str, ...]:
        """All texts of the cell: several of a repeated column or of a list."""
        value = self.value
        if self.is_text and isinstance(value, str) and value.startswith("["):
            value = self._list_in_text(value)
        members = value if isinstance(value, list) else [value]
        return tuple(text for member in members if (text := self._one(member)) is not None)

    def _list_in_text(self, text: str) -> Json:
        try:
            found = json.loads(text)
        except ValueError:
            return text
        return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else text

    def _one(self, member: Json) -> str | None:
        if isinstance(member, dict) and isinstance(member.get("path"), str) and not member.get("bytes"):
            return str(member["path"])  # a video of the Hub's data sets
        if member is None or (isinstance(member, str) and not member.strip()):
            return None
        if isinstance(member, str):
            return member
        if isinstance(member, bool) or not isinstance(member, int | float):
            raise self.error("not a text")
        return str(int(member)) if float(member).is_integer() else str(member)

    def name(self) -> str | None:
        """The cell as a name; None if it is empty."""
        text = self.text()
        return None if text is None else self._checked(text.strip())

    def names(self) -> tuple[str, ...]:
        """The cell as names."""
        return tuple(dict.fromkeys(self._checked(text.strip()) for text in self.texts()))

    def _checked(self, name: str) -> str:
        if "\n" in name or len(name) > LONGEST_NAME:
            raise self.error(f"not one line of at most {LONGEST_NAME} characters")
        if (problem := name_problem(name)) is not None:
            raise self.error(f"not a name: {problem}")
        return name

    def seconds(self) -> float | None:
        """The cell as seconds, 0 or more; None if it is empty."""
        text = self.text()
        if text is None:
            return None
        if (clock := _CLOCK.fullmatch(text.strip())) is not None:
            seconds = int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
            raise self.error("not a number of seconds", hint=f"write {seconds:g} for {text.strip()}")
        number = self._number(text)
        if number is None or not 0 <= number <= LONGEST_S:
            raise self.error(f"not a number of seconds, 0 to {LONGEST_S:g}", hint="write it as 12.5")
        return number

    def whole(self) -> int | None:
        """The cell as a whole number, 0 or more; None if it is empty."""
        text = self.text()
        if text is None:
            return None
        number = self._number(text)
        if number is None or number < 0 or not number.is_integer():
            raise self.error("not a whole number, 0 or more", hint="number the turns of a dialogue 1, 2, 3")
        return int(number)

    def _number(self, text: str) -> float | None:
        try:
            number = float(text) if text.isascii() and "_" not in text else None
        except ValueError:
            return None
        return number if number is None or number == number else None
