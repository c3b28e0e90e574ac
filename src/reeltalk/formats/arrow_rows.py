"""Parquet rows as JSON values and back, with nothing lost without a word.

A column that stands twice, a value without a JSON form (bytes, NaN, a map) and a Git LFS pointer in place of the file
are refused with their place. Dates and decimals become text, and dates and decimals again on the way out.
"""

import base64
import json
import math
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError
from reeltalk.formats.parquet import pyarrow_modules
from reeltalk.schema.record import Json
from reeltalk.store.documents import DEEPEST

LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"


def refuse_pointer(path: Path) -> None:
    """Check that a file is itself and not a Git LFS pointer to it.

    Raises:
        InputError: It is a pointer, or cannot be read.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(len(LFS_POINTER))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if start == LFS_POINTER:
        raise InputError("a Git LFS pointer, not the file itself", file=path, hint="run 'git lfs pull' there")


def read_arrow_rows(path: Path) -> tuple[list[dict[str, Json]], str]:
    """The rows of a Parquet file, and its Arrow schema as text.

    Raises:
        InputError: It is damaged, or holds what has no JSON form; names row and column.
        MissingExtraError: The `hub` extra is not installed.
    """
    refuse_pointer(path)
    pyarrow, parquet = pyarrow_modules()
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            doubled = sorted({name for name in schema.names if schema.names.count(name) > 1})
            if doubled:
                raise InputError("a column stands twice", file=path, place=doubled[0])
            table = file.read()
        for index, column in enumerate(schema):
            if _is_text_in_json(column.type):
                table = table.set_column(index, column.name, table.column(index).cast(pyarrow.string()))
        rows: list[dict[str, Json]] = table.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"not a readable Parquet file: {reason}", file=path, hint="get the file again") from None
    for number, row in enumerate(rows):
        for name, value in row.items():
            _refuse_what_is_not_json(value, path, f"row {number}.{name}", 0)
    return rows, base64.b64encode(schema.serialize().to_pybytes()).decode()


def _is_text_in_json(kind: Any) -> bool:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    return bool(types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind) or types.is_decimal(kind))


def _refuse_what_is_not_json(value: object, path: Path, place: str, depth: int) -> None:
    if depth > DEEPEST:
        raise InputError(f"nested deeper than {DEEPEST} levels", file=path, place=place[:120])
    if isinstance(value, dict):
        for key, member in value.items():
            _refuse_what_is_not_json(member, path, f"{place}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _refuse_what_is_not_json(member, path, f"{place}[{index}]", depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError("must be a finite number", file=path, place=place, value=value, hint="write null for no value")
    elif not isinstance(value, str | int | float | None):
        raise InputError(
            f"a value of type {type(value).__name__} has no JSON form", file=path, place=place, hint="write it as text"
        )


def write_arrow_rows(path: Path, rows: list[dict[str, Json]], schema_text: str | None = None) -> list[str]:
    """Write rows with the column types of a schema that `read_arrow_rows` gave, as far as the values still fit.

    Returns:
        A line for each column whose values had to become JSON text.
    """
    pyarrow, parquet = pyarrow_modules()
    schema = _schema(schema_text)
    typed = {} if schema is None else {column.name: column for column in schema}
    columns, fields, lost = [], [], []
    for name in dict.fromkeys([*typed, *(key for row in rows for key in row)]):
        values = [row.get(name) for row in rows]
        array = None if name not in typed else _array(values, typed[name].type)
        if array is not None and (typed[name].nullable or not array.null_count):
            columns.append(array)
            fields.append(typed[name])
            continue
        if len({type(value) for value in values if value is not None} - {str}) == 1:
            array = _array(values, None)
        elif any(value is not None and not isinstance(value, str) for value in values):
            array = None
        else:
            array = _array(values, pyarrow.string())
        if array is None or pyarrow.types.is_nested(array.type):
            lost.append(f"column '{name}' of {path.name} fits no column type and is written as JSON text")
            texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
            array = pyarrow.array(texts, pyarrow.string())
        columns.append(array)
        fields.append(pyarrow.field(name, array.type))
    found = pyarrow.schema(fields, metadata=None if schema is None else schema.metadata)
    parquet.write_table(pyarrow.Table.from_arrays(columns, schema=found), path, compression="zstd")
    return lost


def _schema(text: str | None) -> Any:
    if not isinstance(text, str):
        return None
    pyarrow, _ = pyarrow_modules()
    try:
        return pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(text, validate=True)))
    except (pyarrow.ArrowException, OSError, ValueError):
        return None


def _array(values: list[Json], kind: Any) -> Any:
    """An Arrow array, or None where the values are not of that type."""
    pyarrow, _ = pyarrow_modules()
    try:
        if kind is not None and _is_text_in_json(kind):
            return pyarrow.array(values, pyarrow.string()).cast(kind)
        if kind is not None and pyarrow.types.is_dictionary(kind):
            return pyarrow.array(values, kind.value_type).dictionary_encode().cast(kind)
        return pyarrow.array(values, kind)
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
        return None
