"""Parquet in and out, through pyarrow of the `hub` extra."""

from pathlib import Path
from typing import Any

from reeltalk.errors import InputError, MissingExtraError
from reeltalk.schema.record import Json


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


def read_parquet(path: Path) -> list[dict[str, Json]]:
    """The rows of a Parquet file.

    Raises:
        InputError: It is damaged.
        MissingExtraError: The `hub` extra is not installed.
    """
    pyarrow, parquet = pyarrow_modules()
    try:
        rows: list[dict[str, Json]] = parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = (str(error).splitlines() or ["unknown"])[0]
        raise InputError(f"not a readable Parquet file: {reason}", file=path, hint="get the file again") from None
    return rows


def write_parquet(path: Path, rows: list[dict[str, Json]], schema: Any = None) -> None:
    """Write rows; column types follow from `schema`, or from the values."""
    pyarrow, parquet = pyarrow_modules()
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), path, compression="zstd")
