"""Files of tables as other programs write them, read into rows: spreadsheets, any delimiter or encoding, nested JSON.

Whatever is not as `table_rows.read_table` expects it is recorded as a `Guess`. What the columns mean is found by
`table_guesses`.
"""

import csv
import datetime
import io
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.errors import InputError, MissingExtraError
from reeltalk.formats.table_rows import SourceTable, TableRow, guarded_columns, plain_column, without_guards
from reeltalk.schema.record import Json
from reeltalk.store.documents import check_text, decode_text, parse_json
from reeltalk.store.foreign import VIDEO_SUFFIXES, open_file

NAMES: Final = Path(__file__).with_name("table_names.toml")
SPREADSHEETS: Final = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_MOST_BYTES: Final = 1 << 28
_LOOKED_AT: Final = 50
"""Lines that say which delimiter a table has."""


@cache
def usual_names() -> Mapping[str, Any]:
    """What others call columns and fields, by our name: `table_names.toml`."""
    return tomllib.loads(NAMES.read_text(encoding="utf-8"))


class Guess(NamedTuple):
    """One thing that was taken to mean another."""

    why: str
    """The kind, such as `a time as minutes and seconds`."""
    where: str
    """The row or file, as `questions.csv:4`."""
    column: str
    before: Json
    after: Json


@dataclass
class GuessedTable:
    """A table as it was understood."""

    path: Path
    form: str
    """How the file was read, in words."""
    header: list[str] = field(default_factory=list)
    rows: list[TableRow] = field(default_factory=list)
    meanings: dict[str, str] = field(default_factory=dict)
    """Our name of each column that has a meaning, by the table's own name."""
    guesses: list[Guess] = field(default_factory=list)

    @property
    def table(self) -> SourceTable:
        """The rows, with the guesses in them."""
        return SourceTable(self.header, self.rows)

    def note(self, why: str, where: str, column: str = "", before: Json = None, after: Json = None) -> None:
        """Record a guess."""
        self.guesses.append(Guess(why, where, column, before, after))

    def line(self) -> str:
        """What was understood, in one line."""
        ours = ", ".join(o if o == t else f"{t} as {o}" for t, o in self.meanings.items())
        return f"{self.path.name}: {self.form}, {len(self.rows):,} questions; columns: {ours or 'none that is known'}"


def read_spreadsheet(path: Path) -> GuessedTable:
    """The first sheet that holds a table. Times are text, as a person reads them in the cell.

    Raises:
        InputError: It is damaged, or no sheet has rows.
        MissingExtraError: The `xlsx` extra is not installed.
    """
    try:
        import python_calamine as calamine
    except ImportError:
        raise MissingExtraError("reading a spreadsheet", extra="xlsx") from None
    try:
        book = calamine.load_workbook(io.BytesIO(_bytes_of(path)))
        sheets = [(name, book.get_sheet_by_name(name).to_python()) for name in book.sheet_names]
    except (calamine.CalamineError, ValueError) as error:
        raise InputError(f"not a spreadsheet: {error}", file=path, hint="save it as CSV") from None
    filled = [(name, grid) for name, grid in sheets if sum(is_filled(row) for row in grid) > 1]
    if not filled:
        raise InputError("no sheet has a line of column names and a row", file=path)
    name, grid = filled[0]
    found = GuessedTable(path, f"sheet {name!r} of a spreadsheet")
    if len(filled) > 1:
        found.note("only the first sheet is read", path.name, "", [name for name, _ in filled], name)
    _take_grid(found, list(enumerate(([_plain_cell(cell) for cell in row] for row in grid), start=1)))
    return found


def _bytes_of(path: Path) -> bytes:
    try:
        with open_file(path) as stream:
            content = stream.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if len(content) > _MOST_BYTES:
        raise InputError("over 256 MiB", file=path, hint="divide it into several tables of one folder")
    return content


def is_filled(row: Iterable[object]) -> bool:
    """True if a cell of a row is not empty."""
    return any(str("" if cell is None else cell).strip() for cell in row)


def _plain_cell(cell: object) -> Json:
    if isinstance(cell, datetime.timedelta):
        seconds = cell.total_seconds()
        return f"{int(seconds // 3600)}:{int(seconds // 60 % 60):02}:{seconds % 60:02g}"
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, bool):
        return str(cell).upper()  # as a spreadsheet shows it
    return cell if isinstance(cell, str | int | float) else None


def read_text_table(path: Path, faults: list[InputError]) -> GuessedTable:
    """Rows of text between any delimiter; `faults` receives what is wrong with rows that cannot be read.

    Raises:
        InputError: It is empty, or its encoding cannot be told.
    """
    content = _bytes_of(path)
    text, encoding = _decoded(content, path)
    lines = [line for line in text.splitlines() if not line.startswith("#")][:_LOOKED_AT] or text.splitlines()

    def agreeing(delimiter: str) -> tuple[int, bool]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        usual = max(set(widths), key=widths.count) if widths else 0
        return (widths.count(usual) if usual > 1 else 0, delimiter == "," or delimiter == "\t")

    try:
        delimiter = max(DELIMITERS, key=agreeing)
    except csv.Error:
        delimiter = ","
    found = GuessedTable(path, f"columns between {DELIMITERS[delimiter]}, {encoding}")
    if encoding != "UTF-8":
        found.note("another encoding than UTF-8", path.name, "", encoding, "UTF-8")
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    if delimiter not in (usual, ";", "\t"):
        found.note("another delimiter", path.name, "", usual, delimiter)
    text = _without_comments(found, text, delimiter)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    grid: list[tuple[int, list[Json]]] = []
    if delimiter == "|" and (marked := _markdown(text)):
        found.form = f"a table of Markdown, {encoding}"
        _take_grid(found, marked)
        return found
    if delimiter == "\t" and not _is_quoted(text):
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=csv.QUOTE_NONE)
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
            if cells is None:
                break
            for cell in cells:
                check_text(cell, file=path, line=line)
            grid.append((line, list(cells)))
        except csv.Error as error:
            faults.append(InputError(f"not CSV: {error}", file=path, line=line))
        except InputError as fault:
            faults.append(fault)
    columns = guarded_columns(grid[0][1]) if grid else None
    _take_grid(found, [(line, without_guards(cells, columns)) for line, cells in grid])
    return found


def _without_comments(found: GuessedTable, text: str, delimiter: str) -> str:
    """A text whose first lines, if they begin with `#`, are empty, but for a last one with the names of columns."""
    lines = text.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    comments = [number for number in range(first) if lines[number].strip()]
    if comments:
        last, below = (re.sub(r'"[^"]*"', "", lines[n]).split(delimiter) for n in (comments[-1], first))
        named = {plain_column(cell.strip("# \r")) for cell in last} & {"video", *usual_names()["columns"]["video"]}
        comments = comments[:-1] if len(last) == len(below) > 1 or (len(last) > 1 and named) else comments
    for number in comments:
        found.note("a line of comment", f"{found.path.name}:{number + 1}", "", lines[number].strip(), "")
        lines[number] = ""
    return "\n".join(lines)


def _is_quoted(text: str) -> bool:
    """False if a quotation mark in a table of tabs is part of a text, as inches are."""
    try:
        return all(
            True for _ in csv.reader(io.StringIO(text, newline=""), strict=True, delimiter="\t")
        ) and not re.search(r'[^\t\n"]"[^\t\n"]', text)
    except csv.Error:
        return False


def _markdown(text: str) -> list[tuple[int, list[Json]]]:
    """The cells of a table of Markdown without its marks; none if the text holds no such table."""
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    barred = [(number, line) for number, line in lines if line.startswith("|")]
    if not any(set(line) <= set("|:- ") for _, line in barred):
        return []
    grid: list[tuple[int, list[Json]]] = []
    for number, line in barred:
        if not set(line) <= set("|:- "):
            cells = re.split(r"(?<!\\)\|", line.strip("|"))
            plain = (re.sub(r"^\[([^\]]*)\]\(([^)]*)\)$", r"\2", cell.strip()) for cell in cells)
            grid.append((number, [re.sub(r"^[`*]+|[`*]+$", "", cell).replace("\\|", "|") for cell in plain]))
    return grid


def _decoded(content: bytes, path: Path) -> tuple[str, str]:
    """A text and its encoding. Without a usual name of a column in it, a file of another script is not guessed."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return content.decode("utf-16"), "UTF-16"
        except ValueError:
            pass
    try:
        return content.decode("utf-8-sig"), "UTF-8"
    except ValueError:
        usual = [name for names in usual_names()["columns"].values() for name in names if not name.isascii()]
        for codec, encoding in usual_names()["encodings"].items():
            text = content.decode(codec, "replace")
            head = "".join(text.splitlines()[:2]).casefold()
            if "\ufffd" not in text and any(name in head for name in usual if len(name) > 1):
                return text, encoding
        high = re.findall(rb"[\x80-\xff]+", content)
        single = sum(len(run) == 1 for run in high)
        if 2 * single > len(high):
            try:
                return content.decode("cp1252"), "Windows-1252"
            except ValueError:
                pass
        return decode_text(content, file=path), "UTF-8"


def _take_grid(found: GuessedTable, grid: list[tuple[int, list[Json]]]) -> None:
    """Rows of cells as rows by column; the first row with several cells has the names."""
    filled = [(line, cells) for line, cells in grid if is_filled(cells)]
    at = next((n for n, (_, cells) in enumerate(filled[:10]) if sum(bool(str(c or "").strip()) for c in cells) > 1), 0)
    if not filled:
        raise InputError("no line of column names", file=found.path, line=1)
    for line, cells in filled[:at]:
        found.note("a line above the names of columns", f"{found.path.name}:{line}", "", " ".join(map(str, cells)), "")
    header = [str(cell if cell is not None else "").strip().lstrip("#").strip() for cell in filled[at][1]]
    header, more = _names_below(found, header, [cells for _, cells in filled[at + 1 : at + 3]])
    at += more
    while header and not header[-1]:
        header.pop()
    found.header = header
    for line, cells in filled[at + 1 :]:
        given = list(cells)
        while len(given) > len(header) and not str(given[-1] or "").strip():
            given.pop()
        if len(given) != len(cells):
            found.note("empty cells behind the last column", f"{found.path.name}:{line}", "", len(cells), len(given))
        if len(given) < len(header):
            found.note("cells that are missing are empty", f"{found.path.name}:{line}", "", len(given), len(header))
            given += [""] * (len(header) - len(given))
        row: dict[str, Json] = {}
        for column, cell in zip(header, given, strict=False):
            if column in row:
                before = row[column]
                row[column] = [*(before if isinstance(before, list) else [before]), cell]
            elif column:
                row[column] = cell
        if len(given) > len(header):
            extra = "; ".join(map(str, given[len(header) :]))
            found.note("cells behind the last column are left out", f"{found.path.name}:{line}", "", extra, "")
        found.rows.append(TableRow(found.path, line, "$", row))
    found.header = [name for name in dict.fromkeys(header) if name]


def _names_below(found: GuessedTable, header: list[str], below: list[list[Json]]) -> tuple[list[str], int]:
    """Names of columns of which further lines hold a part, and the number of these lines."""
    texts = [[str("" if cell is None else cell).strip() for cell in cells] for cells in below]
    if len(texts) == 2 and all(not cell or cell.startswith('{"ImportId"') for cell in texts[1]):
        found.note(
            "the second of three lines of names, as Qualtrics writes them", found.path.name, "", header, texts[0]
        )
        return texts[0], 2
    above, groups = "", []
    for name, after in zip(header, [*header[1:], *("" for _ in header[:1])], strict=True):
        groups.append(above if not name else name if not after else "")
        above = name or above
    inner = [*(texts[0] if texts else ()), *("" for _ in header)][: len(header)]
    under = [n for n, name in enumerate(inner) if name]
    if len(under) < 2 or not all(groups[n] for n in under) or all(header[n] for n in under):
        return header, 0
    joined = [f"{groups[n]}/{inner[n]}" if inner[n] else name for n, name in enumerate(header)]
    found.note("two lines of names of columns", found.path.name, "", header, joined)
    return joined, 1


def read_json_rows(path: Path, faults: list[InputError]) -> GuessedTable:
    """JSON, or JSON Lines, whatever the ending; an object of objects or of one list is a list of them.

    Raises:
        InputError: Nothing in it is an object.
    """
    text = decode_text(_bytes_of(path), file=path)
    try:
        value = parse_json(text, file=path) if path.suffix.lower() == ".json" or text.lstrip()[:1] == "[" else None
    except InputError:
        value = None
    if value is None:
        found = GuessedTable(path, "JSON Lines")
        for line, part in enumerate(text.split("\n"), start=1):
            try:
                one = parse_json(part, file=path, line=line) if part.strip() else None
            except InputError as fault:
                faults.append(fault)
                continue
            if isinstance(one, dict):
                found.rows.append(TableRow(path, line, "$", one))
            elif part.strip():
                faults.append(InputError("not an object", file=path, line=line, value=one))
        if not found.rows:
            raise faults[0] if faults else InputError("the table has no rows", file=path)
        if path.suffix.lower() == ".json":
            found.note("JSON Lines in a file that ends in .json", path.name)
        return found
    found = GuessedTable(path, "JSON")
    for place, record in _records(value, found):
        if isinstance(record, dict):
            found.rows.append(TableRow(path, None, place, record))
        else:
            faults.append(InputError("not an object", file=path, place=place, value=record))
    return found


def _records(value: Json, found: GuessedTable) -> Iterator[tuple[str, Json]]:
    name = found.path.name
    if isinstance(value, list):
        yield from ((f"$[{number}]", one) for number, one in enumerate(value))
        return
    members = dict(value) if isinstance(value, dict) else {}
    lists = {key: one for key, one in members.items() if isinstance(one, list) and all_objects(one)}
    columns, data = members.get("columns"), members.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        found.note("rows apart from the names of columns, as pandas splits them", name)
        for number, row in enumerate(data):
            if isinstance(row, list) and len(row) == len(columns):
                yield f"$.data[{number}]", dict(zip(map(str, columns), row, strict=True))
            else:
                yield f"$.data[{number}]", row
    elif len(lists) == 1 and len(members) > 1 and not _names_videos(lists):
        [(key, rows)] = lists.items()
        found.note(f"the rows are the list {key!r}", name)
        film, ids = ({ours, *usual_names()["columns"][ours]} for ours in ("video", "id"))
        around = {k: cell for k, cell in members.items() if isinstance(cell, str | int | float) and k not in ids}
        if not film & around.keys() or any(film & one.keys() for one in rows if isinstance(one, dict)):
            around = {}  # not the document of one video
        for number, one in enumerate(rows):
            yield f"$.{key}[{number}]", {**around, **one} if isinstance(one, dict) else one
    elif (
        members
        and all(isinstance(one, dict) and one.keys() == _first(members).keys() for one in members.values())
        and (not any(isinstance(cell, dict | list) for cell in _first(members).values()) and "question" in members)
    ):
        found.note("an object for each column", name)
        for key in _first(members):
            yield f"$.*.{key}", {column: one[key] for column, one in members.items() if isinstance(one, dict)}
    elif members and all(isinstance(one, dict) or all_objects(one) for one in members.values()):
        nested = any(all_objects(cell) for one in members.values() if isinstance(one, dict) for cell in one.values())
        key_is = "video" if _names_videos(members) or lists or nested else "id"
        found.note(f"the key of each record is its {key_is}", name, "", next(iter(members)), "")
        for key, one in members.items():
            for number, row in enumerate(one if isinstance(one, list) else [one]):
                place = f"$.{key}[{number}]" if isinstance(one, list) else f"$.{key}"
                yield place, {key_is: key, **row} if isinstance(row, dict) else row
    elif columns_of := _columns(members):
        found.note("a list for each column", name)
        yield from (
            (f"row {number}", dict(zip(members, cells, strict=True)))
            for number, cells in enumerate(zip(*columns_of, strict=True))
        )
    else:
        raise InputError("not a list of objects", file=found.path, hint="write [{…}, {…}], a row each")


def _columns(members: dict[str, Json]) -> list[list[Json]]:
    """The lists of a document that has one of the same length for each column; none of another document."""
    lists = [one for one in members.values() if isinstance(one, list)]
    return lists if len(lists) == len(members) and len({len(one) for one in lists}) == 1 else []


def _first(members: dict[str, Json]) -> dict[str, Json]:
    one = next(iter(members.values()))
    return one if isinstance(one, dict) else {}


def all_objects(value: Json) -> bool:
    """True for a list of objects that is not empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _names_videos(names: Iterable[str]) -> bool:
    return all(Path(name).suffix.lower() in VIDEO_SUFFIXES for name in names)
