"""Find numbers and rows by name in memory that hardly grows: names are kept as 64 bits of their hash, with a number."""

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Final, Generic, TypeVar

import numpy as np

from reeltalk.schema.record import Record
from reeltalk.store.stored_rows import StoredRows

R = TypeVar("R", bound=Record)
KEPT_ROWS: Final = 256
"""Rows that are kept after they were found, since the next question is often about the same one."""


def name_key(name: str) -> int:
    """64 bits of a hash of a name. Of a million names, two agree with a probability of 3 in 100 million."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


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

    def get(self, name: str) -> int | None:
        """The number of a name; None if there is no such name."""
        key = np.uint64(name_key(name))
        place = int(np.searchsorted(self._keys, key, side="right")) - 1
        return int(self._numbers[place]) if place >= 0 and self._keys[place] == key else None


class KeyedRows(Mapping[str, R], Generic[R]):
    """Rows of a file by the name in a field. Of several rows of one name the last counts.

    Args:
        rows: All rows.
        field: The field, which is text.
    """

    def __init__(self, rows: StoredRows[R], field: str) -> None:
        self._rows, self._field = rows, field
        self._places = KeyedNumbers((raw[field], place) for place, raw in enumerate(rows.raw()))
        self._found = lru_cache(KEPT_ROWS)(rows.__getitem__)

    def __getitem__(self, name: str) -> R:
        if (place := self._places.get(name)) is None:
            raise KeyError(name)
        return self._found(place)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(raw[self._field] for raw in self._rows.raw()))

    def __len__(self) -> int:
        return len(self._rows)


def rows_by_name(rows: Sequence[R], field: str = "id") -> Mapping[str, R]:
    """Rows by the name in a field, the last of several with one name. Rows of a file stay there.

    Args:
        rows: Rows of a file, or in memory.
        field: A text field.
    """
    if isinstance(rows, StoredRows):
        return KeyedRows(rows, field)
    return {getattr(row, field): row for row in rows}


def group_rows(rows: Sequence[R], field: str = "video_id") -> Mapping[str, Sequence[R]]:
    """Rows by a field, in their order; keys come in the order of their first rows. Rows of a file stay there.

    Args:
        rows: Rows of a file, or in memory.
        field: A text field; rows without a value are left out.
    """
    if isinstance(rows, StoredRows):
        return rows.grouped(lambda raw: raw.get(field))
    found: dict[str, list[R]] = {}
    for row in rows:
        if (name := getattr(row, field)) is not None:
            found.setdefault(name, []).append(row)
    return found


def field_values(rows: Sequence[R], field: str) -> Iterator[str | None]:
    """A text field of every row. Rows of a file are not parsed further.

    Args:
        rows: Rows of a file, or in memory.
        field: The field.
    """
    if isinstance(rows, StoredRows):
        return (raw.get(field) for raw in rows.raw())
    return map(getattr, rows, repeat(field))
