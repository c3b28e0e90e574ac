"""Records as Parquet columns and back: nested records are structs, free-form JSON is a string of JSON."""

import json
import types
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from reeltalk.errors import InputError
from reeltalk.formats.parquet import pyarrow_modules
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content
from reeltalk.store.documents import input_error, parse_json

FLAT_TURN: Final = {
    "unit": "string",
    "unit_id": "string",
    "video_id": "string",
    "split": "string",
    "task": "string",
    "turn_index": "int64",
    "question": "string",
    "references": "list",
    "options": "list",
    "correct_option": "int64",
    "asked_at_s": "float64",
    "labels_json": "string",
}
"""Columns of the flat table of turns."""


def schema_of(kind: type[BaseModel]) -> Any:
    """The Arrow schema of a record."""
    pyarrow, _ = pyarrow_modules()
    return pyarrow.schema([(name, _arrow(hint)) for name, hint in _hints(kind).items()])


def _hints(kind: type[BaseModel]) -> dict[str, Any]:
    return {name: field.annotation for name, field in kind.model_fields.items()}


def _plain(hint: Any) -> Any:
    """An annotation without `Annotated`, `NewType` and `None`."""
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            hint = typing.get_args(hint)[0]
        elif origin in (typing.Union, types.UnionType):
            hint = next(option for option in typing.get_args(hint) if option is not type(None))
        elif origin is typing.Literal:
            hint = type(typing.get_args(hint)[0])
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        else:
            return hint


def _is_free(hint: Any) -> bool:
    return hint is Any or typing.get_origin(hint) is dict


def _arrow(hint: Any) -> Any:
    pyarrow, _ = pyarrow_modules()
    plain = _plain(hint)
    if _is_free(plain):
        return pyarrow.string()
    if typing.get_origin(plain) is tuple:
        return pyarrow.list_(_arrow(typing.get_args(plain)[0]))
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return pyarrow.struct([(name, _arrow(inner)) for name, inner in _hints(plain).items()])
    return {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}.get(plain, pyarrow.string())


def to_columns(row: BaseModel, kind: type[BaseModel], place: str) -> dict[str, Json]:
    """A record as Parquet columns.

    Raises:
        InputError: It holds what is no JSON value, as NaN or half a character.
    """
    try:
        dumped = row.model_dump(mode="json")
        columns = {name: _to_column(dumped[name], hint) for name, hint in _hints(kind).items()}
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"a record cannot be written: {reason}", file="data", place=place) from None
    return columns


def _to_column(value: Json, hint: Any) -> Json:
    plain = _plain(hint)
    if value is None:
        return None
    if _is_free(plain):
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
        return text
    if typing.get_origin(plain) is tuple:
        return [_to_column(item, typing.get_args(plain)[0]) for item in value]
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return {name: _to_column(value[name], inner) for name, inner in _hints(plain).items()}
    return value


def from_columns(row: dict[str, Json], kind: type[Record], path: Path, number: int) -> Record:
    """The record of a row. Types are exact: `"1"` is no number, and 1.5 no position.

    Raises:
        InputError: The row does not fit; names row and column.
    """
    place = f"row {number}"
    value = _object(row, kind, path, place)
    try:
        return kind.model_validate_json(json.dumps(value, ensure_ascii=False), strict=True)
    except ValidationError as error:
        raise input_error(error, file=path, place=place) from None


def _object(row: dict[str, Json], kind: type[BaseModel], path: Path, place: str) -> dict[str, Json]:
    hints = _hints(kind)
    return {
        name: _from_column(value, hints[name], path, f"{place}.{name}") if name in hints else value
        for name, value in row.items()
    }


def _from_column(value: Json, hint: Any, path: Path, place: str) -> Json:
    plain = _plain(hint)
    if value is None:
        return None
    if _is_free(plain):
        if not isinstance(value, str):
            raise InputError("must be a string of JSON", file=path, place=place, value=value)
        try:
            return parse_json(value, file=path)
        except InputError as error:
            problem = "not JSON" if error.problem.startswith("not JSON") else error.problem
            raise InputError(problem, file=path, place=place, value=value) from None
    if typing.get_origin(plain) is tuple and isinstance(value, list):
        inner = typing.get_args(plain)[0]
        return [_from_column(item, inner, path, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(plain, type) and issubclass(plain, BaseModel) and isinstance(value, dict):
        return _object(value, plain, path, place)
    return value


def flat_turns(content: Content) -> Iterable[dict[str, Json]]:
    """Every turn of the chains and dialogues as a row of its own."""
    split = {video.id: video.split for video in content.videos}
    task: dict[str, str | None] = {dialogue.id: dialogue.task for dialogue in content.dialogues}
    for unit, rows in (("chain", content.chains), ("dialogue", content.dialogues)):
        for row in rows:
            for index, turn in enumerate(row.turns):
                yield {
                    "unit": unit,
                    "unit_id": row.id,
                    "video_id": row.video_id,
                    "split": split.get(row.video_id),
                    "task": task.get(row.id) if unit == "dialogue" else None,
                    "turn_index": index,
                    "question": turn.question,
                    "references": list(turn.references),
                    "options": None if turn.options is None else list(turn.options),
                    "correct_option": turn.correct_option,
                    "asked_at_s": turn.asked_at_s,
                    "labels_json": json.dumps(turn.labels, ensure_ascii=False, allow_nan=False),
                }


def flat_schema() -> Any:
    """The Arrow schema of `flat_turns`."""
    pyarrow, _ = pyarrow_modules()
    kinds = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "float64": pyarrow.float64(),
        "list": pyarrow.list_(pyarrow.string()),
    }
    return pyarrow.schema([(name, kinds[kind]) for name, kind in FLAT_TURN.items()])
