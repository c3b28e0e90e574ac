"""Parquet in and out as JSON values, through pyarrow of the `hub` extra.

A repeated column, a value without a JSON form (bytes, NaN, a map) and a Git LFS pointer in place of the file are
refused with their place. Dates and decimals become text, and an export converts them back. Data sets on the Hub hold
videos as structs of `bytes` and `path`: `FilesInside` names them, and writes them out as files.
"""

import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

from reeltalk.errors import InputError, MissingExtraError
from reeltalk.schema.record import Json
from reeltalk.schema.texts import fold_name, path_problem
from reeltalk.store.atomic import storage_errors
from reeltalk.store.documents import DEEPEST, refuse_characters
from reeltalk.store.foreign import open_file

MOST_ROWS: Final = 2_000_000
MOST_BYTES: Final = 1 << 30
"""Largest size of all values of a file, unpacked."""
BATCH_ROWS: Final = 256
BATCH_BYTES: Final = 256 << 20
MOST_FILE_BYTES: Final = 64 << 30
"""Largest size of all videos in a file."""
LONGEST_STEM_BYTES: Final = 200
"""A file with a longer name is named by its hash."""


def pyarrow_modules() -> tuple[Any, Any]:
    """`pyarrow` and `pyarrow.parquet`.

    Raises:
        MissingExtraError: The `hub` extra is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading and writing Parquet", extra="hub") from None
    return pyarrow, pyarrow.parquet


@dataclass
class FilesInside:
    """Files in the rows of Parquet tables, in columns of `bytes` and `path`."""

    ending: str
    """Ending of a file whose path has none of `endings`."""
    endings: Collection[str]
    rows: dict[tuple[Path, str], dict[str, int]] = field(default_factory=dict)
    """The first row of each file by its name, by table and column."""
    without_name: dict[Path, dict[str, None]] = field(default_factory=dict)
    """Columns of each table that hold bytes in another form, and are read as null."""
    _names: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)

    def take(self, table: Path, batch: Any, schema: Any, first: int) -> Any:
        """A batch of rows with names in place of files. `first` is the number of its first row."""
        pyarrow, _ = pyarrow_modules()
        columns = list(batch.columns)
        for index, column in enumerate(columns):
            name, kind = batch.schema.names[index], schema.field(index).type
            if _is_file(kind):
                columns[index] = pyarrow.array(self._named(table, name, column, first), kind)
            elif _holds_bytes(kind) and (
                column.null_count < len(column) if _is_packed(column) else _has_bytes(column.to_pylist())
            ):
                self.without_name.setdefault(table, {})[name] = None
                columns[index] = pyarrow.nulls(len(column), kind)
        return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _named(self, table: Path, column: str, values: Any, first: int) -> Iterator[dict[str, Any] | None]:
        parts = dict(zip([part.name for part in values.type], values.flatten(), strict=True))
        for number, given in enumerate(values.is_valid().to_pylist()):
            if not given:
                yield None
                continue
            row = {name: None if name == "bytes" else part[number].as_py() for name, part in parts.items()}
            content = parts["bytes"][number]
            if content.is_valid:
                sha256 = hashlib.sha256(content.as_buffer()).hexdigest()
                row["path"] = name = self._name(column, row["path"], sha256)
                self.rows.setdefault((table, column), {}).setdefault(name, first + number)
            yield row

    def _name(self, column: str, path: str | None, sha256: str) -> str:
        """The name of a file: its path, or what can be used of it. Files of different content have different names."""
        given = PurePosixPath((path or "").replace("\\", "/"))
        parts = given.parts if path_problem(given.as_posix()) is None else given.parts[-1:]
        name = "/".join(parts)
        if (
            path_problem(name or "/") is not None
            or name != name.strip()
            or any(part.startswith(".") or len(part.encode()) > LONGEST_STEM_BYTES for part in parts)
        ):
            name = sha256[:16]
        suffix = PurePosixPath(name).suffix
        stem, suffix = (name, self.ending) if suffix.lower() not in self.endings else (name[: -len(suffix)], suffix)
        for attempt in (stem, f"{stem}-{sha256[:12]}"):
            known, taken = self._names.setdefault((column, fold_name(attempt)), (sha256, f"{attempt}{suffix}"))
            if known == sha256:
                break
        return taken

    def write(self, table: Path, column: str, names: Collection[str], folder: Path) -> None:
        """Write files of a table's column into a folder.

        Raises:
            InputError: The table cannot be read any more.
            BenchmarkError: They cannot be written.
        """
        _, parquet = pyarrow_modules()
        wanted = {row: name for name, row in self.rows[table, column].items() if name in names}
        first = 0
        with storage_errors(folder), open_file(table) as stream:
            file = parquet.ParquetFile(stream)
            for group in range(file.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                if any(first <= row < first + count for row in wanted):
                    start = first
                    for batch in file.iter_batches(_batch_rows(file), row_groups=[group], columns=[column]):
                        for row in range(start, start + batch.num_rows):
                            if row in wanted:
                                target = folder / wanted[row]
                                target.parent.mkdir(parents=True, exist_ok=True)
                                target.write_bytes(batch.column(0)[row - start]["bytes"].as_buffer())
                        start += batch.num_rows
                first += count


def _batch_rows(file: Any) -> int:
    """How many rows to read at once. A row of a column with a dictionary may have the size of the whole dictionary."""
    largest = 1
    for number in range(file.num_row_groups):
        group = file.metadata.row_group(number)
        for index in range(group.num_columns):
            column = group.column(index)
            if column.path_in_schema.endswith(".bytes"):
                rows = 1 if column.has_dictionary_page else max(group.num_rows, 1)
                largest = max(largest, column.total_uncompressed_size // rows)
    return int(min(BATCH_ROWS, max(1, BATCH_BYTES // largest)))


def _is_bytes(kind: Any) -> bool:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _is_file(kind: Any) -> bool:
    pyarrow, _ = pyarrow_modules()
    if not pyarrow.types.is_struct(kind):
        return False
    parts = {part.name: part.type for part in kind}
    return "path" in parts and "bytes" in parts and _is_bytes(parts["bytes"])


def _holds_bytes(kind: Any) -> bool:
    return _is_bytes(kind) or any(_holds_bytes(kind.field(n).type) for n in range(kind.num_fields))


def _has_bytes(value: object) -> bool:
    if isinstance(value, list | dict):
        return any(_has_bytes(member) for member in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, bytes)


def read_arrow_rows(path: Path, files: FilesInside | None = None) -> list[dict[str, Json]]:
    """The rows of a Parquet file.

    Args:
        path: The file.
        files: Receives the files that it holds, which have no JSON form. By default they are values as all others.

    Raises:
        InputError: It is damaged, not a regular file, holds a value without a JSON form, or unpacks to more than
            `MOST_ROWS` rows or `MOST_BYTES`: a column that repeats a value takes next to nothing in the file. Names row
            and column.
        MissingExtraError: The `hub` extra is not installed.
    """
    refuse_pointer(path)
    pyarrow, parquet = pyarrow_modules()
    types = pyarrow.types
    try:
        with open_file(path) as stream:
            schema = parquet.read_schema(stream)
            if doubled := sorted(name for name, times in Counter(schema.names).items() if times > 1):
                raise InputError("a column appears twice", file=path, place=doubled[0])
            # Read texts as dictionaries, so that repeated texts are not copied before the total size is known.
            texts = [column.name for column in schema if _is_text(column.type)]
            batches = list(_read_batches(path, parquet.ParquetFile(stream, read_dictionary=texts), schema, files))
        table = pyarrow.Table.from_batches(batches) if batches else schema.empty_table()
        for index, column in enumerate(schema):
            kind = column.type
            if types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind) or types.is_decimal(kind):
                table = table.set_column(index, column.name, table.column(index).cast(pyarrow.string()))
        rows: list[dict[str, Json]] = table.to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, OverflowError, MemoryError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"not a readable Parquet file: {reason}", file=path, hint="get the file again") from None
    for number, row in enumerate(rows):
        for name, value in row.items():
            _refuse_what_is_not_json(value, path, f"row {number}.{name}", 0)
    return rows


def _read_batches(path: Path, file: Any, schema: Any, files: FilesInside | None) -> Iterator[Any]:
    """The batches of rows of a file, as far as they are not too large in total."""
    pyarrow, _ = pyarrow_modules()
    if file.metadata.num_rows > MOST_ROWS:
        raise InputError(f"more than {MOST_ROWS:,} rows", file=path, hint="split the file")
    size_bytes = file_bytes = count = 0
    for read in file.iter_batches(batch_size=_batch_rows(file)):
        batch = read if files is None else files.take(path, read, schema, count)
        count += read.num_rows
        file_bytes += read.nbytes
        if file_bytes > MOST_FILE_BYTES:
            raise InputError(f"holds more than {MOST_FILE_BYTES:,} bytes", file=path, hint="split the file")
        size_bytes += sum(_unpacked_bytes(column) for column in batch.columns)
        if size_bytes > MOST_BYTES:
            raise InputError(f"unpacks to more than {MOST_BYTES:,} bytes", file=path, hint="split the file")
        columns = [column.dictionary_decode() if _is_packed(column) else column for column in batch.columns]
        yield pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_text(kind: Any) -> bool:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _is_packed(column: Any) -> bool:
    pyarrow, _ = pyarrow_modules()
    return bool(pyarrow.types.is_dictionary(column.type) and _is_text(column.type.value_type))


def _unpacked_bytes(column: Any) -> int:
    if not _is_packed(column):
        return int(column.nbytes)
    from pyarrow import compute

    return int(compute.sum(compute.take(compute.binary_length(column.dictionary), column.indices)).as_py() or 0)


ROWS_AT_ONCE: Final = 1 << 8
GROUP_BYTES: Final = 4 << 20
"""Size in memory from which rows are written, as a row group of the file."""


def write_parquet(path: Path, rows: Iterable[dict[str, Json]], schema: Any) -> None:
    """Write rows to a Parquet file as they come.

    Raises:
        pyarrow.ArrowException: A value does not fit its column.
    """
    pyarrow, parquet = pyarrow_modules()
    batches: list[Any] = []
    remaining = iter(rows)
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while some := list(itertools.islice(remaining, ROWS_AT_ONCE)):
            batches.append(pyarrow.RecordBatch.from_pylist(some, schema=schema))
            if len(some) < ROWS_AT_ONCE or sum(batch.nbytes for batch in batches) >= GROUP_BYTES:
                writer.write_table(pyarrow.Table.from_batches(batches).combine_chunks())
                batches = []
        if batches:
            writer.write_table(pyarrow.Table.from_batches(batches).combine_chunks())


LFS_POINTER: Final = b"version https://git-lfs.github.com/spec/"


def refuse_pointer(path: Path) -> None:
    """Check that a file is not a Git LFS pointer.

    Raises:
        InputError: It is a pointer, or cannot be read.
    """
    try:
        with open_file(path) as stream:
            start = stream.read(len(LFS_POINTER))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if start == LFS_POINTER:
        raise InputError("a Git LFS pointer, not the file itself", file=path, hint="run 'git lfs pull' there")


def _refuse_what_is_not_json(value: object, path: Path, place: str, depth: int) -> None:
    if depth > DEEPEST:
        raise InputError(f"nested deeper than {DEEPEST} levels", file=path, place=place[:120])
    if isinstance(value, dict):
        for key, member in value.items():
            _refuse_what_is_not_json(member, path, f"{place}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, member in enumerate(value):
            _refuse_what_is_not_json(member, path, f"{place}[{index}]", depth + 1)
    elif isinstance(value, str):
        refuse_characters(value, place, file=path)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InputError("must be a finite number", file=path, place=place, value=value, hint="write null for no value")
    elif not isinstance(value, int | float | None):
        raise InputError(
            f"a value of type {type(value).__name__} has no JSON form", file=path, place=place, hint="write it as text"
        )


def write_arrow_rows(path: Path, rows: list[dict[str, Json]]) -> list[str]:
    """Write rows, each column with the type of its values.

    Returns:
        A line for each column whose values have several types, and are written as JSON text instead.
    """
    pyarrow, parquet = pyarrow_modules()
    columns, lost = {}, []
    for name in dict.fromkeys(key for row in rows for key in row):
        values = [row.get(name) for row in rows]
        try:
            array = pyarrow.array(values)
            nested = pyarrow.types.is_nested(array.type)
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError):
            nested = True
        if nested:
            lost.append(f"column '{name}' of {path.name} fits no column type and is written as JSON text")
            texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
            array = pyarrow.array(texts, pyarrow.string())
        columns[name] = array if array.type != pyarrow.null() else array.cast(pyarrow.string())
    parquet.write_table(pyarrow.table(columns), path, compression="zstd")
    return lost
