"""Find rows by name in memory that hardly grows, wherever they are."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Final, Generic, TypeVar

from reeltalk.schema.record import Record
from reeltalk.store.stored_rows import KeyedNumbers, StoredRows

R = TypeVar("R", bound=Record)
KEPT_ROWS: Final = 64
"""Rows that are kept after they were found, since the next question is often about the same one."""


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


def field_values(rows: Sequence[R], field: str) -> Iterator[str | None]:
    """A text field of every row. Rows of a file are not parsed further.

    Args:
        rows: Rows of a file, or in memory.
        field: The field.
    """
    if isinstance(rows, StoredRows):
        return (raw.get(field) for raw in rows.raw())
    return map(getattr, rows, repeat(field))
