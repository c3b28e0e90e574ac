"""Rows in a file that look like a list. A row is read when you ask for it, so memory does not grow with them."""

import os
import tempfile
import weakref
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO, Final, Generic, Protocol, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError
from pydantic_core import from_json

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.record import Record, name_key
from reeltalk.store.atomic import storage_errors
from reeltalk.store.documents import input_error
from reeltalk.store.foreign import open_file

R = TypeVar("R", bound=Record)

RowKey = Callable[[dict[str, Any]], "str | Iterable[str] | None"]
"""Takes a row as a JSON object, and gives its key, several keys, or None for a row that is left out."""
BLOCK_BYTES: Final = 1 << 20
"""Bytes that are read at a time when all rows are."""
INDEXED_BYTES: Final = 1 << 16
"""Bytes that are read at a time to find where rows end."""
LOW: Final = (1 << 32) - 1
SORTED_ROWS: Final = 1 << 18
"""Rows that are sorted by their keys at a time."""
MOST_BYTES: Final = 1 << 62
"""More bytes than any file has."""


class RowEnds(Sequence[int]):
    """Ascending places in files, from 0. A place takes 4 bytes."""

    def __init__(self) -> None:
        self._low = array("I")
        """The last 32 bits of each."""
        self._steps: list[int] = []
        """Indices of the places from which on the bits before them are one more."""

    def __len__(self) -> int:
        return len(self._low)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        if not self._steps:
            return self._low[index].tolist() if isinstance(index, slice) else self._low[index]
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        return self._low[index] + (bisect_right(self._steps, index % len(self._low)) << 32)

    def append(self, place: int) -> None:
        """Add a place."""
        while place >> 32 > len(self._steps):
            self._steps.append(len(self._low))
        self._low.append(place & LOW)

    def extend(self, places: NDArray[np.int64]) -> None:
        """Add places.

        Args:
            places: (N,) the places.
        """
        if len(places):
            high = places >> 32
            for more in range(len(self._steps) + 1, int(high[-1]) + 1):
                self._steps.append(len(self._low) + int(np.searchsorted(high, more)))
        self._low.frombytes((places & LOW).astype(np.uint32).tobytes())


class StoredRows(Sequence[R]):
    """Rows of JSON Lines files, one behind the other. A row takes 4 bytes of memory. Safe to share among threads.

    The files are opened here, so rows still come from them if others take their places.

    Args:
        paths: The files.
        record: Type of the rows.

    Raises:
        OSError: One cannot be read.
    """

    def __init__(self, paths: Iterable[Path], record: type[R]) -> None:
        self._record, self._paths = record, list(paths)
        self._descriptors: list[int] = []
        for path in self._paths:
            with open_file(path) as file:
                self._add_file(file)

    def _add_file(self, file: BinaryIO) -> None:
        self._descriptors.append(os.dup(file.fileno()))
        weakref.finalize(self, os.close, self._descriptors[-1])

    @cached_property
    def _starts(self) -> "array[int]":
        """Place of the first byte of each file, and of the byte after the last file."""
        starts = array("Q", [0])
        for descriptor in self._descriptors:
            starts.append(starts[-1] + os.fstat(descriptor).st_size)
        return starts

    @cached_property
    def _ends(self) -> "RowEnds":
        """Place of the byte after each row; found when the first row is asked for."""
        ends = RowEnds()
        for descriptor, begin in zip(self._descriptors, self._starts, strict=False):
            start = 0
            while block := os.pread(descriptor, INDEXED_BYTES, start):
                found = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
                ends.extend(found + (begin + start + 1))
                start += len(block)
            if start and (not ends or ends[-1] != begin + start):
                ends.append(begin + start)
        return ends

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
        return self._parsed(self._line(number), number)

    def __iter__(self) -> Iterator[R]:
        for number, line in enumerate(self._lines()):
            yield self._parsed(line, number)

    def raw(self) -> Iterator[dict[str, Any]]:
        """The rows as JSON objects, not checked: several times faster than records.

        Raises:
            InputError: A line is not JSON; names file and line.
        """
        for number, line in enumerate(self._lines()):
            yield self._raw(line, number)

    def raw_at(self, number: int) -> dict[str, Any]:
        """One row as `raw` gives it."""
        return self._raw(self._line(number), number)

    def where(self, wanted: Callable[[dict[str, Any]], bool]) -> "ChosenRows[R]":
        """The rows whose JSON object fulfils a condition, in their order.

        Args:
            wanted: Takes a row as `raw` gives it.
        """
        places = array("q", (number for number, row in enumerate(self.raw()) if wanted(row)))
        return ChosenRows(self, np.array(places, dtype=np.int64))

    def grouped(self, key: RowKey = itemgetter("video_id")) -> "GroupedRows[R]":
        """The rows by a key, by default their video; rows whose key is None are left out.

        Args:
            key: Takes a row as `raw` gives it. It may give several keys.
        """
        return GroupedRows(self, key)

    def _lines(self) -> Iterator[bytes]:
        done, start = 0, 0
        while done < len(self._ends):
            last = min(bisect_left(self._ends, start + BLOCK_BYTES, lo=done), len(self._ends) - 1)
            block, begin = self._bytes(start, self._ends[last]), start
            for end in self._ends[done : last + 1]:
                yield block[start - begin : end - begin]
                start = end
            done = last + 1

    def _line(self, number: int) -> bytes:
        return self._bytes(self._ends[number - 1] if number else 0, self._ends[number])

    def _bytes(self, start: int, end: int) -> bytes:
        parts: list[bytes] = []
        number = bisect_right(self._starts, start) - 1
        while start < end:
            begin, stop = self._starts[number : number + 2]
            if not (part := os.pread(self._descriptors[number], min(end, stop) - start, start - begin)):
                break
            parts.append(part)
            start += len(part)
            number += start == stop
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _place(self, number: int) -> tuple[Path, int]:
        """The file of a row, and its line there, for errors."""
        start = self._ends[number - 1] if number else 0
        file = bisect_right(self._starts, start) - 1
        return self._paths[file], number - bisect_right(self._ends, self._starts[file]) + 1

    def _raw(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = from_json(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise self._damaged(number)
        return row

    def _parsed(self, line: bytes, number: int) -> R:
        try:
            return self._record.model_validate_json(line)
        except ValidationError as error:
            path, line_number = self._place(number)
            raise input_error(error, file=path, line=line_number, place="") from None
        except (UnicodeDecodeError, RecursionError):
            raise self._damaged(number) from None

    def _damaged(self, number: int) -> InputError:
        path, line_number = self._place(number)
        return InputError("not a JSON line", file=path, line=line_number)


def open_stored_rows(path: Path, record: type[R]) -> StoredRows[R]:
    """The rows of a JSON Lines file, which come from it even if another file takes its place.

    Args:
        path: The file.
        record: Type of the rows.

    Raises:
        BenchmarkError: The file is absent.
        InputError: It cannot be read.
    """
    try:
        return StoredRows([path], record)
    except FileNotFoundError:
        raise BenchmarkError(f"{path} is missing; run 'reeltalk validate' to see what else is") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


class Spool(Protocol):
    """Puts rows away, in memory (`in_memory`) or in a file (`Benchmark.spool`)."""

    def __call__(self, record: type[R], rows: Iterable[R], /) -> Sequence[R]:
        """The rows as a sequence."""
        ...


def in_memory(record: type[R], rows: Iterable[R], /) -> list[R]:
    """The rows as a list."""
    return list(rows)


class SpooledRows(StoredRows[R]):
    """Rows that are written to a temporary file as they come, and read from it.

    Args:
        record: Type of the rows.
        folder: Folder of the file, which has no name there and is gone when the process ends.
    """

    def __init__(self, record: type[R], folder: Path, rows: Iterable[R] = ()) -> None:
        super().__init__((), record)
        with tempfile.TemporaryFile(dir=folder) as file:
            self._add_file(file)
        self._paths.append(folder)
        self._starts = array("Q", [0, MOST_BYTES])
        self._unwritten, self._size, self._lock = bytearray(), 0, Lock()
        self._ends = RowEnds()
        self.extend(rows)

    def append(self, row: R) -> None:
        """Add a row.

        Raises:
            BenchmarkError: The disk is full.
        """
        self._add(row.to_json().encode() + b"\n")

    def _add(self, line: bytes) -> None:
        with self._lock, storage_errors(self._paths[0]):
            self._unwritten += line
            if len(self._unwritten) >= BLOCK_BYTES:
                self._flush()
            self._size += len(line)
            self._ends.append(self._size)

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
        try:
            with open_file(path) as file:
                for line in file:
                    self._add(line)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=path) from None

    def __iadd__(self, rows: Iterable[R]) -> Self:
        self.extend(rows)
        return self

    def _bytes(self, start: int, end: int) -> bytes:
        with self._lock, storage_errors(self._paths[0]):
            self._flush()
        return super()._bytes(start, end)

    def _flush(self) -> None:
        while self._unwritten:
            del self._unwritten[: os.write(self._descriptors[0], self._unwritten)]


class ChosenRows(Sequence[R]):
    """Some rows of a sequence, in a given order.

    Args:
        rows: All of them.
        places: (N,) indices of those.
    """

    def __init__(self, rows: StoredRows[R], places: NDArray[np.integer[Any]]) -> None:
        # A run has many such lists. 4 bytes are enough for a place.
        self._rows, self._places = rows, places.astype(np.uint32, copy=False)

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
        """The rows as JSON objects, as `StoredRows.raw`."""
        for place in self._places:
            yield self._rows.raw_at(int(place))

    def grouped(self, key: RowKey = itemgetter("video_id")) -> "GroupedRows[R]":
        """These rows by a key, as `StoredRows.grouped`."""
        return GroupedRows(self._rows, key, self._places)

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


class RowField(Sequence[Any]):
    """A field that every row has, read when it is asked for.

    Args:
        rows: Rows that stay in a file, or in memory.
        name: Name of the field.
    """

    def __init__(self, rows: Sequence[R], name: str) -> None:
        self._rows, self._name = rows, name

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return RowField(self._rows[place], self._name)
        return getattr(self._rows[place], self._name)

    def __iter__(self) -> Iterator[Any]:
        if isinstance(self._rows, ChosenRows):
            return map(itemgetter(self._name), self._rows.raw())
        return map(attrgetter(self._name), self._rows)


class JoinedRows(Sequence[R]):
    """Sequences of rows one behind the other, as one.

    Args:
        *parts: The sequences.
    """

    def __init__(self, *parts: Sequence[R]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> list[R]: ...
    def __getitem__(self, place: int | slice) -> R | list[R]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        left = range(len(self))[place]
        for part in self._parts:
            if left < len(part):
                return part[left]
            left -= len(part)
        raise IndexError(place)

    def __iter__(self) -> Iterator[R]:
        return chain.from_iterable(self._parts)


class NumberedPlaces:
    """Places by a number, in their order. A place takes 4 bytes.

    Args:
        numbers: (N,) int32 of each place, from 0.
        places: (N,) uint32 the places, ascending.
        count: The numbers are below it.
    """

    def __init__(self, numbers: "array[int]", places: "array[int]", count: int) -> None:
        known = np.frombuffer(numbers, np.int32) if numbers else np.zeros(0, np.int32)
        taken = np.frombuffer(places, np.uint32) if places else np.zeros(0, np.uint32)
        # Some at a time, as numpy counts and sorts with integers of 8 bytes.
        some = [slice(begin, begin + SORTED_ROWS) for begin in range(0, len(known), SORTED_ROWS)]
        sizes = sum((np.bincount(known[part], minlength=count) for part in some), np.zeros(count, np.int64))
        free = np.concatenate([[0], np.cumsum(sizes)])
        self._starts = free.astype(np.uint32)
        self._places = np.empty(len(known), np.uint32)
        for part in some:
            order = np.argsort(known[part], kind="stable")
            there = known[part][order]
            firsts = np.flatnonzero(np.diff(there, prepend=-1))
            lengths = np.diff(firsts, append=len(there))
            # A place comes after those with the same number, from this part and earlier ones.
            target = np.repeat(free[there[firsts]] - firsts, lengths) + np.arange(len(there))
            self._places[target] = taken[part][order]
            free[there[firsts]] += lengths

    def __getitem__(self, number: int) -> NDArray[np.int64]:
        return self._places[self._starts[number] : self._starts[number + 1]].astype(np.int64)


class KeyedNumbers:
    """Numbers by name, 16 bytes each. Of several numbers of one name the last counts.

    Args:
        pairs: Names and numbers.
    """

    def __init__(self, pairs: Iterable[tuple[str, int]]) -> None:
        keys, numbers = array("Q"), array("q")
        for name, number in pairs:
            keys.append(name_key(name))
            numbers.append(number)
        found = np.array(keys, dtype=np.uint64)
        order = np.argsort(found, kind="stable")
        self._keys, self._numbers = found[order], np.array(numbers, dtype=np.int64)[order]

    def get(self, name: object) -> int | None:
        """The number of a name; None if there is no such name."""
        # A field may hold None, as the clip of a chain that has none.
        if not isinstance(name, str):
            return None
        key = np.uint64(name_key(name))
        place = int(np.searchsorted(self._keys, key, side="right")) - 1
        return int(self._numbers[place]) if place >= 0 and self._keys[place] == key else None


class GroupedRows(Mapping[str, Sequence[R]], Generic[R]):
    """Rows by a key, in their order; keys come in the order of their first rows. A key takes 20 bytes of memory.

    Args:
        rows: All rows.
        key: Takes a row as a JSON object and gives its key, or several; a row whose key is None is left out. It is
            called again when you go through all keys.
        among: (N,) indices of the rows to take; all by default.
    """

    def __init__(self, rows: StoredRows[R], key: RowKey, among: NDArray[np.integer[Any]] | None = None) -> None:
        self._rows, self._key = rows, key
        known: dict[str, int] = {}
        numbers, places = array("i"), array("I")
        taken = enumerate(rows.raw()) if among is None else ((int(place), rows.raw_at(int(place))) for place in among)
        for place, row in taken:
            for name in self._names(row):
                numbers.append(known.setdefault(name, len(known)))
                places.append(place)
        self._count = len(known)
        self._places = NumberedPlaces(numbers, places, self._count)
        self._numbers = KeyedNumbers(known.items())

    def __getitem__(self, name: str) -> ChosenRows[R]:
        if (number := self._numbers.get(name)) is None:
            raise KeyError(name)
        return ChosenRows(self._rows, self._places[number])

    def __contains__(self, name: object) -> bool:
        return self._numbers.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        for number in range(self._count):
            names = self._names(self._rows.raw_at(int(self._places[number][0])))
            yield next(name for name in names if self._numbers.get(name) == number)

    def __len__(self) -> int:
        return self._count

    def _names(self, row: dict[str, Any]) -> Iterable[str]:
        found = self._key(row)
        return (found,) if isinstance(found, str) else found or ()


def rows_by(rows: Sequence[R], *fields: str) -> Mapping[str, Sequence[R]]:
    """Rows by a field, wherever they are; rows in which it is None are left out.

    Args:
        rows: The rows, in memory or in a file.
        fields: Name of the field, such as `video_id`, or `source.unit_id` for a field of a record in the row. With
            several, a row is found by the values of each.
    """
    paths = [field.split(".") for field in fields]

    def named(row: Any, get: Callable[[Any, str], Any]) -> dict[str, None]:
        values = (reduce(get, path, row) for path in paths)
        return dict.fromkeys(value for value in values if value is not None)

    if isinstance(rows, StoredRows):
        return rows.grouped(lambda row: named(row, dict.get))
    found: dict[str, list[R]] = {}
    for row in rows:
        for name in named(row, getattr):
            found.setdefault(name, []).append(row)
    return found
