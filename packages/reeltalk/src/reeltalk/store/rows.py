"""Rows in JSON Lines files that look like a list. A row is read when you ask for it.

Their keys are in a temporary database of SQLite, so memory hardly grows with them.
"""

import json
import os
import sqlite3
import tempfile
import weakref
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, lru_cache, reduce
from operator import attrgetter, itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, Generic, Self, TypeVar, overload

from pydantic import ValidationError
from pydantic_core import from_json

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.record import Record
from reeltalk.store.atomic import storage_errors
from reeltalk.store.documents import input_error
from reeltalk.store.foreign import open_file

R = TypeVar("R", bound=Record)
S = TypeVar("S")
T = TypeVar("T")

RowKey = Callable[[dict[str, Any]], "str | Iterable[str] | None"]
"""Takes a row as a JSON object, and gives its key, several keys, or None for a row that is left out."""
BLOCK_BYTES: Final = 1 << 18
"""Bytes that are read at a time when all rows are."""
ROWS_AT_ONCE: Final = 64
"""Rows beside each other that are read at once."""
CACHED_ROWS: Final = 64
"""Rows that are kept after they were found by name, since the next question is often about the same one."""

DATABASE_SETTINGS: Final = "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
"""Of temporary databases, which need not survive anything."""


class _Lines:
    """The lines of files, one file behind the other. The files are opened here."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(paths)
        self.descriptors: list[int] = []
        for path in self.paths:
            with open_file(path) as file:
                self.add_file(file)

    def add_file(self, file: BinaryIO) -> None:
        self.descriptors.append(os.dup(file.fileno()))
        weakref.finalize(self, os.close, self.descriptors[-1])

    @cached_property
    def starts(self) -> "array[int]":
        """Place of the first byte of each file."""
        sizes = [os.fstat(descriptor).st_size for descriptor in self.descriptors]
        return array("Q", [sum(sizes[:number]) for number in range(len(sizes))])

    @cached_property
    def ends(self) -> "array[int]":
        """Place of the byte after each line."""
        # A fifth of the time in which a command starts.
        import numpy as np

        ends = array("Q")
        for descriptor, begin in zip(self.descriptors, self.starts, strict=True):
            size = 0
            while block := os.pread(descriptor, BLOCK_BYTES, size):
                found = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
                ends.frombytes((found + (begin + size + 1)).astype(np.uint64).tobytes())
                size += len(block)
            if size and (not ends or ends[-1] != begin + size):
                ends.append(begin + size)
        return ends

    def all(self) -> Iterator[bytes]:
        for descriptor in self.descriptors:
            rest, size = b"", 0
            while block := os.pread(descriptor, BLOCK_BYTES, size):
                *whole, rest = (rest + block).split(b"\n")
                yield from whole
                size += len(block)
            if rest:
                yield rest

    def at(self, number: int) -> bytes:
        return self._between(self.ends[number - 1] if number else 0, self.ends[number])

    def some(self, numbers: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        """Some lines with their numbers. Neighbours are read together, since each read costs as much as a short row."""
        place = 0
        while place < len(numbers):
            last = place
            while last + 1 < min(len(numbers), place + ROWS_AT_ONCE) and numbers[last + 1] == numbers[last] + 1:
                last += 1
            begin = self.ends[numbers[place] - 1] if numbers[place] else 0
            block, start = self._between(begin, self.ends[numbers[last]]), begin
            for number in numbers[place : last + 1]:
                yield number, block[start - begin : self.ends[number] - begin]
                start = self.ends[number]
            place = last + 1

    def _between(self, start: int, end: int) -> bytes:
        found = b""
        while start < end:
            file = bisect_right(self.starts, start) - 1
            # More bytes than the file has left are those of the next one.
            part = os.pread(self.descriptors[file], end - start, start - self.starts[file])
            if not part:
                break
            found, start = found + part, start + len(part)
        return found

    def named(self, number: int) -> tuple[Path, int]:
        """The file of a line, and its number there."""
        start = self.ends[number - 1] if number else 0
        file = bisect_right(self.starts, start) - 1
        return self.paths[file], number - bisect_right(self.ends, self.starts[file]) + 1


class Rows(Sequence[R]):
    """Rows of JSON Lines files, one file behind the other: all of them, or some in any order.

    A row takes 8 bytes of memory. The files are opened here, so rows still come from them if others take their places.
    Safe to share among threads.

    Raises:
        OSError: A file cannot be read.
    """

    def __init__(self, paths: Iterable[Path], record: type[R]) -> None:
        self._setup(_Lines(paths), record, None)

    def _setup(self, lines: _Lines, record: type[R], places: Sequence[int] | None) -> None:
        self.record, self._lines, self._chosen = record, lines, places
        self._indexes: dict[tuple[str, ...], KeyIndex[int]] = {}

    def __len__(self) -> int:
        return len(self._lines.ends) if self._chosen is None else len(self._chosen)

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> "Rows[R]": ...
    def __getitem__(self, place: int | slice) -> "R | Rows[R]":
        if isinstance(place, slice):
            return self._some((range(len(self)) if self._chosen is None else self._chosen)[place])
        number = self._number(range(len(self))[place])
        return self._parsed(self._lines.at(number), number)

    def __iter__(self) -> Iterator[R]:
        return (self._parsed(line, number) for number, line in self._numbered())

    def raw(self) -> Iterator[dict[str, Any]]:
        """The rows as JSON objects, not checked: several times faster than records.

        Raises:
            InputError: A line is not JSON; names file and line.
        """
        for number, line in self._numbered():
            try:
                row = from_json(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise self._damaged(number)
            yield row

    def at(self, places: Sequence[int]) -> "Rows[R]":
        """Some of these rows."""
        return self._some(places if self._chosen is None else array("Q", map(self._chosen.__getitem__, places)))

    def where(self, predicate: Callable[[dict[str, Any]], bool]) -> "Rows[R]":
        """The rows whose JSON object fulfils a condition, in their order.

        Args:
            predicate: Takes a row as `raw` gives it.
        """
        return self.at(array("Q", (place for place, row in enumerate(self.raw()) if predicate(row))))

    def grouped(self, key: RowKey = itemgetter("video_id")) -> "GroupedRows[R]":
        """The rows by a key, by default their video, in the order of first rows. Rows whose key is None are left out.

        Args:
            key: Takes a row as `raw` gives it. It may give several keys.
        """
        return GroupedRows(self, self._index(key))

    def by_fields(self, fields: tuple[str, ...]) -> "GroupedRows[R]":
        """As `rows_by`. The places of rows are found once."""
        if fields not in self._indexes:
            paths = [field.split(".") for field in fields]
            self._indexes[fields] = self._index(lambda row: _values(row, paths, dict.get))
        return GroupedRows(self, self._indexes[fields])

    def _index(self, key: RowKey) -> "KeyIndex[int]":
        keys = ((place, key(row)) for place, row in enumerate(self.raw()))
        return KeyIndex(
            (name, place) for place, found in keys for name in ((found,) if isinstance(found, str) else found or ())
        )

    def _some(self, places: Sequence[int]) -> "Rows[R]":
        some = Rows.__new__(Rows)
        some._setup(self._lines, self.record, places)
        return some

    def _number(self, place: int) -> int:
        return place if self._chosen is None else self._chosen[place]

    def _numbered(self) -> Iterator[tuple[int, bytes]]:
        if self._chosen is None:
            return enumerate(self._lines.all())
        return self._lines.some(self._chosen)

    def _parsed(self, line: bytes, number: int) -> R:
        try:
            return self.record.model_validate_json(line)
        except ValidationError as error:
            path, line_number = self._lines.named(number)
            raise input_error(error, file=path, line=line_number, place="") from None
        except (UnicodeDecodeError, RecursionError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> InputError:
        path, line_number = self._lines.named(number)
        return InputError("not a JSON line", file=path, line=line_number)


def open_rows(path: Path, record: type[R]) -> Rows[R]:
    """The rows of a JSON Lines file. They stay those of this file, even if another one replaces it.

    Raises:
        BenchmarkError: The file is absent.
        InputError: It cannot be read.
    """
    try:
        return Rows([path], record)
    except FileNotFoundError:
        raise BenchmarkError(f"{path} is missing; run 'reeltalk validate' to see what else is") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


class SpooledRows(Rows[R]):
    """Rows that are written to a temporary file as they come, and read from it.

    Args:
        record: Type of the rows.
        folder: Folder of the file, which has no name there and is gone when the process ends; by default that of the
            system's temporary files.
        rows: The first rows.
    """

    def __init__(self, record: type[R], folder: Path | None = None, rows: Iterable[R] = ()) -> None:
        lines = _SpooledLines(folder or Path(tempfile.gettempdir()))
        self._setup(lines, record, None)
        self._spool = lines
        self.extend(rows)

    def append(self, row: R) -> None:
        """Add a row.

        Raises:
            BenchmarkError: The disk is full.
        """
        self._indexes.clear()
        self._spool.add(row.to_json().encode() + b"\n")

    def extend(self, rows: Iterable[R]) -> None:
        """Add rows in their order."""
        for row in rows:
            self.append(row)

    def take(self, path: Path) -> None:
        """Add all rows of a JSON Lines file of the same record, as they are written there.

        Raises:
            InputError: It cannot be read.
            BenchmarkError: The disk is full.
        """
        self._indexes.clear()
        try:
            with open_file(path) as file:
                for line in file:
                    self._spool.add(line)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None

    def __iadd__(self, rows: Iterable[R]) -> Self:
        self.extend(rows)
        return self


class _SpooledLines(_Lines):
    def __init__(self, folder: Path) -> None:
        super().__init__(())
        self.paths, self._lock, self._unwritten = [folder], Lock(), bytearray()
        with storage_errors(folder), tempfile.TemporaryFile(dir=folder) as file:
            self.add_file(file)
        self.ends, self._size = array("Q"), 0

    def add(self, line: bytes) -> None:
        with self._lock, storage_errors(self.paths[0]):
            self._unwritten += line
            if len(self._unwritten) >= BLOCK_BYTES:
                self._flush()
            self._size += len(line)
            self.ends.append(self._size)

    def all(self) -> Iterator[bytes]:
        self._written()
        return super().all()

    def _between(self, start: int, end: int) -> bytes:
        self._written()
        return super()._between(start, end)

    def _written(self) -> None:
        if self._unwritten:
            with self._lock, storage_errors(self.paths[0]):
                self._flush()

    def _flush(self) -> None:
        while self._unwritten:
            del self._unwritten[: os.write(self.descriptors[0], self._unwritten)]


@contextmanager
def database_errors() -> Iterator[None]:
    """Turn an error of a temporary database into one that says what to do.

    Raises:
        BenchmarkError: There is no room for it.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
            raise
        raise BenchmarkError(
            f"cannot write a temporary database in {tempfile.gettempdir()}: {error}; free some space there, or name "
            "another folder in TMPDIR"
        ) from None


def temporary_database(schema: str) -> sqlite3.Connection:
    """A database in a temporary file, which is gone when it is closed or forgotten."""
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    database.executescript(f"{DATABASE_SETTINGS} {schema}")
    return database


class KeyIndex(Generic[T]):
    """Values by key in a temporary database, the values of a key in their order. Safe to share among threads."""

    def __init__(self, entries: Iterable[tuple[str | int, T]]) -> None:
        self._lock = Lock()
        self._database = temporary_database("CREATE TABLE entries (key, value); BEGIN")
        weakref.finalize(self, self._database.close)
        with database_errors():
            self._database.executemany("INSERT INTO entries VALUES (?, ?)", entries)
            self._database.execute("CREATE INDEX by_key ON entries (key)")
            self._database.execute("COMMIT")

    def values(self, key: object) -> list[T]:
        """The values of a key; none if it is unknown."""
        return self._column("SELECT value FROM entries WHERE key = ? ORDER BY rowid", key)

    def last(self, key: object) -> T | None:
        """The last value of a key; None if it is unknown."""
        found = self._column("SELECT value FROM entries WHERE key = ? ORDER BY rowid DESC LIMIT 1", key)
        return found[0] if found else None

    def keys(self) -> list[str]:
        """The keys in the order in which they came first."""
        return self._column("SELECT key FROM entries GROUP BY key ORDER BY min(rowid)")

    def _column(self, query: str, *keys: object) -> list[Any]:
        if any(not isinstance(key, str | int) for key in keys):
            return []
        with self._lock, database_errors():
            return [value for (value,) in self._database.execute(query, keys)]


def sort_texts(texts: Iterable[tuple[bytes, bytes | None]]) -> Iterator[bytes]:
    """Texts in the order of their keys, sorted in little memory.

    Args:
        texts: Key and text of each; None for a text that is its own key.
    """
    with closing(temporary_database("CREATE TABLE texts (key, text); BEGIN")) as database, database_errors():
        database.executemany("INSERT INTO texts VALUES (?, ?)", texts)
        for (text,) in database.execute("SELECT coalesce(text, key) FROM texts ORDER BY key, text"):
            yield text


class GroupedRows(Mapping[str, Rows[R]]):
    """Rows by a key, in their order; keys come in the order of their first rows."""

    def __init__(self, rows: Rows[R], index: KeyIndex[int]) -> None:
        self._rows, self._index = rows, index

    def __getitem__(self, name: str) -> Rows[R]:
        if not (places := self._index.values(name)):
            raise KeyError(name)
        return self._rows.at(places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @cached_property
    def _names(self) -> list[str]:
        return self._index.keys()


def rows_by(rows: Sequence[R], *fields: str) -> Mapping[str, Sequence[R]]:
    """Rows by a field, wherever they are; rows in which it is None are left out.

    Args:
        rows: The rows, in memory or in a file.
        fields: Name of the field, such as `video_id`, or `source.unit_id` for a field of a record in the row. With
            several, a row is found by the values of each.
    """
    if isinstance(rows, Rows):
        return rows.by_fields(fields)
    paths = [field.split(".") for field in fields]
    found: dict[str, list[R]] = {}
    for row in rows:
        for name in _values(row, paths, getattr):
            found.setdefault(name, []).append(row)
    return found


def groups_of(rows: Sequence[R], *fields: str) -> Sequence[Sequence[R]]:
    """Rows with the same values of all fields, together, in the order of their first rows."""
    if isinstance(rows, Rows):
        defaults = {name: _default(rows.record, name) for name in fields}
        found = rows.grouped(lambda row: json.dumps([row.get(name, value) for name, value in defaults.items()]))
        return MappedRows(list(found), found.__getitem__)
    groups: dict[tuple[object, ...], list[R]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in fields), []).append(row)
    return list(groups.values())


def _default(record: type[Record], name: str) -> Any:
    """The value of a field that is not stored because it equals its default; None for a field without one."""
    field = record.model_fields[name]
    return None if field.is_required() else field.get_default(call_default_factory=True)


def _values(row: Any, paths: Iterable[Sequence[str]], get: Callable[[Any, str], Any]) -> dict[str, None]:
    values = (reduce(get, path, row) for path in paths)
    return dict.fromkeys(value for value in values if value is not None)


class NamedRows(Mapping[Any, R]):
    """Rows by the name in a field, the last of several with one name."""

    def __init__(self, rows: Sequence[R], field: str = "id") -> None:
        self._groups = rows_by(rows, field)
        self._row = lru_cache(CACHED_ROWS)(lambda name: self._groups[name][-1])

    def __getitem__(self, name: str) -> R:
        return self._row(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


class MappedRows(Sequence[T], Generic[S, T]):
    """What a function gives for each item of a sequence. It is called when you ask for the item."""

    def __init__(self, items: Sequence[S], make: Callable[[S], T]) -> None:
        self._items, self._make = items, make

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> "MappedRows[S, T]": ...
    def __getitem__(self, place: int | slice) -> "T | MappedRows[S, T]":
        return (
            MappedRows(self._items[place], self._make) if isinstance(place, slice) else self._make(self._items[place])
        )

    def __iter__(self) -> Iterator[T]:
        return map(self._make, self._items)

    def at(self, places: Sequence[int]) -> "MappedRows[S, T]":
        """Some of them."""
        return MappedRows([self._items[place] for place in places], self._make)


class FieldValues(MappedRows[R, Any]):
    """A field of rows, which are in a file or in memory."""

    def __init__(self, rows: Sequence[R], name: str) -> None:
        super().__init__(rows, attrgetter(name))
        self._name = name

    def __iter__(self) -> Iterator[Any]:
        if not isinstance(self._items, Rows):
            return super().__iter__()
        default = _default(self._items.record, self._name)
        return (row.get(self._name, default) for row in self._items.raw())
