"""Rows in a file that look like a list. A row is read when you ask for it, so memory does not grow with them."""

import os
import tempfile
import weakref
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import from_json

from reeltalk.errors import InputError
from reeltalk.schema.record import Record
from reeltalk.store.atomic import storage_errors
from reeltalk.store.documents import input_error

R = TypeVar("R", bound=Record)

BLOCK_BYTES: Final = 1 << 20
"""Bytes that are read at a time when all rows are."""


class StoredRows(Sequence[R]):
    """Rows of a JSON Lines file. A row takes 8 bytes of memory. Safe to share among threads.

    Args:
        file: The file, open for reading. It is closed here, and rows still come from it if another takes its place.
        record: Type of the rows.
        path: Its name for errors.
    """

    def __init__(self, file: BinaryIO, record: type[R], path: Path) -> None:
        self._record, self._path = record, path
        self._ends = array("Q")
        """Place of the byte after each row."""
        with file:
            end = 0
            for line in file:
                end += len(line)
                self._ends.append(end)
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> "ChosenRows[R]": ...
    def __getitem__(self, place: int | slice) -> "R | ChosenRows[R]":
        if isinstance(place, slice):
            return ChosenRows(self, np.arange(len(self), dtype=np.int64)[place])
        number = range(len(self))[place]
        start = self._ends[number - 1] if number else 0
        return self._parsed(self._bytes(start, self._ends[number]), number)

    def __iter__(self) -> Iterator[R]:
        for number, line in enumerate(self._lines()):
            yield self._parsed(line, number)

    def raw(self) -> Iterator[dict[str, Any]]:
        """The rows as JSON objects, not checked: several times faster than records.

        Raises:
            InputError: A line is not JSON; names file and line.
        """
        for number, line in enumerate(self._lines()):
            try:
                row = from_json(line)
            except ValueError:
                row = None
            if not isinstance(row, dict):
                raise InputError("not a JSON line", file=self._path, line=number + 1)
            yield row

    def raw_at(self, place: int) -> dict[str, Any]:
        """A row as a JSON object, not checked.

        Args:
            place: Its index.
        """
        row: dict[str, Any] = from_json(self._bytes(self._ends[place - 1] if place else 0, self._ends[place]))
        return row

    def where(self, wanted: Callable[[dict[str, Any]], bool]) -> "ChosenRows[R]":
        """The rows whose JSON object fulfils a condition, in their order.

        Args:
            wanted: Takes a row as `raw` gives it.
        """
        places = array("q", (number for number, row in enumerate(self.raw()) if wanted(row)))
        return ChosenRows(self, np.array(places, dtype=np.int64))

    def grouped(self, key: Callable[[dict[str, Any]], str | None] = itemgetter("video_id")) -> "GroupedRows[R]":
        """The rows by a key, by default their video; rows whose key is None are left out.

        Args:
            key: Takes a row as `raw` gives it.
        """
        return GroupedRows(self, key)

    def _lines(self) -> Iterator[bytes]:
        done, start = 0, 0
        while done < len(self._ends):
            last = min(bisect_left(self._ends, start + BLOCK_BYTES, lo=done), len(self._ends) - 1)
            block, begin = self._bytes(start, self._ends[last]), start
            for number in range(done, last + 1):
                end = self._ends[number]
                yield block[start - begin : end - begin]
                start = end
            done = last + 1

    def _bytes(self, start: int, end: int) -> bytes:
        parts: list[bytes] = []
        while start < end and (part := os.pread(self._descriptor, end - start, start)):
            parts.append(part)
            start += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _parsed(self, line: bytes, number: int) -> R:
        try:
            return self._record.model_validate_json(line)
        except ValidationError as error:
            raise input_error(error, file=self._path, line=number + 1, place="") from None
        except (UnicodeDecodeError, RecursionError):
            raise InputError("not a JSON line", file=self._path, line=number + 1) from None


class SpooledRows(StoredRows[R]):
    """Rows that are written to a temporary file as they come, and read from it.

    Args:
        record: Type of the rows.
        folder: Folder of the file, which has no name there and is gone when the process ends.
    """

    def __init__(self, record: type[R], folder: Path, rows: Iterable[R] = ()) -> None:
        super().__init__(tempfile.TemporaryFile(dir=folder), record, folder)
        self._unwritten, self._size, self._lock = bytearray(), 0, Lock()
        self.extend(rows)

    def append(self, row: R) -> None:
        """Add a row.

        Raises:
            BenchmarkError: The disk is full.
        """
        line = row.to_json().encode() + b"\n"
        with self._lock, storage_errors(self._path):
            self._unwritten += line
            if len(self._unwritten) >= BLOCK_BYTES:
                self._flush()
            self._size += len(line)
            self._ends.append(self._size)

    def extend(self, rows: Iterable[R]) -> None:
        """Add rows in their order."""
        for row in rows:
            self.append(row)

    def __iadd__(self, rows: Iterable[R]) -> Self:
        self.extend(rows)
        return self

    def _bytes(self, start: int, end: int) -> bytes:
        with self._lock, storage_errors(self._path):
            self._flush()
        return super()._bytes(start, end)

    def _flush(self) -> None:
        while self._unwritten:
            del self._unwritten[: os.write(self._descriptor, self._unwritten)]


class ChosenRows(Sequence[R]):
    """Some rows of a sequence, in a given order.

    Args:
        rows: All of them.
        places: (N,) int64 indices of those.
    """

    def __init__(self, rows: StoredRows[R], places: NDArray[np.int64]) -> None:
        self._rows, self._places = rows, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> "ChosenRows[R]": ...
    def __getitem__(self, place: int | slice) -> "R | ChosenRows[R]":
        if isinstance(place, slice):
            return ChosenRows(self._rows, self._places[place])
        return self._rows[int(self._places[place])]

    def __iter__(self) -> Iterator[R]:
        for place in self._places:
            yield self._rows[int(place)]

    def raw(self) -> Iterator[dict[str, Any]]:
        """The rows as JSON objects, not checked: several times faster than records, and without fields at a default."""
        return map(self._rows.raw_at, map(int, self._places))

    def with_places(self, places: Sequence[int]) -> "ChosenRows[R]":
        """These rows and then more of the same sequence.

        Args:
            places: Their indices in the sequence.
        """
        return ChosenRows(self._rows, np.concatenate([self._places, np.asarray(places, np.int64)]))

    def at(self, places: Sequence[int] | NDArray[np.int64]) -> "ChosenRows[R]":
        """Some of these rows.

        Args:
            places: Their indices among these.
        """
        return ChosenRows(self._rows, self._places[np.asarray(places, np.int64)])


class GroupedRows(Mapping[str, Sequence[R]], Generic[R]):
    """Rows by a key, in their order; keys come in the order of their first rows.

    Args:
        rows: All rows.
        key: Takes a row as a JSON object; rows whose key is None are left out.
    """

    def __init__(self, rows: StoredRows[R], key: Callable[[dict[str, Any]], str | None]) -> None:
        self._rows = rows
        self._numbers: dict[str, int] = {}
        numbers, places = array("q"), array("q")
        for place, row in enumerate(rows.raw()):
            if (name := key(row)) is not None:
                numbers.append(self._numbers.setdefault(name, len(self._numbers)))
                places.append(place)
        found = np.array(numbers, dtype=np.int64)
        self._places = np.array(places, dtype=np.int64)[np.argsort(found, kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(found, minlength=len(self._numbers)))])

    def __getitem__(self, name: str) -> ChosenRows[R]:
        number = self._numbers[name]
        return ChosenRows(self._rows, self._places[self._starts[number] : self._starts[number + 1]])

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)
