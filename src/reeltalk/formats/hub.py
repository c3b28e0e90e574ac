"""A data set repository: a Parquet file a table, the videos, a data set card, and Croissant 1.1.

`data/turns.parquet` has every turn as a row of its own, for those who load one table and go; it is written for readers
and not read back. All other tables come back as they were.
"""

import json
import re
import shutil
import types
import typing
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from reeltalk.errors import InputError
from reeltalk.formats.croissant import croissant
from reeltalk.formats.parquet import pyarrow_modules, read_parquet, write_parquet
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content
from reeltalk.store.documents import input_error, read_text
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import TABLES

FORMAT: Final = "hub"
TURNS: Final = "turns"

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
"""Columns of `turns.parquet`."""


def read(source: Path) -> Content:
    """Read what `write` wrote.

    Raises:
        InputError: A file is damaged or a row does not fit its table; names file, row and column.
    """
    data = source / "data"
    if not data.is_dir():
        raise InputError("no data folder here", file=source, hint="expected data/<table>.parquet")
    content = Content()
    for name, table in TABLES.items():
        path = data / f"{name}.parquet"
        if path.is_file():
            setattr(content, name, list(_records(path, table.record)))
    if not any(rows for _, rows in content.rows()) and not (source / "graphs").is_dir():
        raise InputError("no table of a benchmark here", file=data, hint="expected data/<table>.parquet")
    for path in sorted((source / "graphs").glob("*.nq")):
        content.graphs[path.stem] = read_text(path)
    for path in sorted((source / "videos").glob("*")):
        sha256 = hash_file(path)[0]
        if not path.name.startswith(sha256):
            raise InputError("the file does not have the hash that it is named by", file=path, value=sha256)
        content.media[sha256] = path
    return content


def _records(path: Path, kind: type[Record]) -> Iterable[Record]:
    from pydantic import ValidationError

    for number, row in enumerate(read_parquet(path)):
        try:
            yield kind.model_validate(_from_columns(row, kind, path, number))
        except ValidationError as error:
            raise input_error(error, file=path, place=f"row {number}") from None


def write(content: Content, folder: Path) -> list[str]:
    """Write a data set repository into an empty folder. Nothing is left out."""
    (folder / "data").mkdir()
    for name, rows in content.rows():
        if rows:
            kind = TABLES[name].record
            _write_table(folder / "data" / f"{name}.parquet", [_to_columns(row, kind) for row in rows], _schema(kind))
    turns = list(_flat_turns(content))
    if turns:
        _write_table(folder / "data" / f"{TURNS}.parquet", turns, _flat_schema())
    for name, quads in content.graphs.items():
        (folder / "graphs").mkdir(exist_ok=True)
        (folder / "graphs" / f"{name}.nq").write_bytes(quads.encode())
    suffix = {video.sha256: Path(video.file).suffix for video in content.videos if video.file}
    for sha256, path in content.media.items():
        (folder / "videos").mkdir(exist_ok=True)
        ending = suffix.get(sha256, "")
        safe = ending if re.fullmatch(r"[.]\w{1,5}", ending) else ""
        shutil.copyfile(path, folder / "videos" / f"{sha256}{safe}")
    name = _dataset_name(content)
    (folder / "README.md").write_text(_card(content, name, bool(turns)), encoding="utf-8")
    document = croissant(folder, name=name, licences=_licences(content), columns=_columns(folder))
    (folder / "croissant.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return []


def _write_table(path: Path, rows: list[dict[str, Json]], schema: Any) -> None:
    pyarrow, _ = pyarrow_modules()
    try:
        write_parquet(path, rows, schema)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise InputError(f"a value does not fit a Parquet column: {str(error).splitlines()[0]}", file=path) from None


# Record fields to Parquet columns: nested records become structs; free-form JSON becomes a string of JSON.


def _schema(kind: type[BaseModel]) -> Any:
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


def _to_columns(row: BaseModel, kind: type[BaseModel]) -> dict[str, Json]:
    try:
        dumped = row.model_dump(mode="json")
    except PydanticSerializationError as error:
        raise InputError(f"a record cannot be written: {error}", file="data") from None
    return {name: _to_column(dumped[name], hint) for name, hint in _hints(kind).items()}


def _to_column(value: Json, hint: Any) -> Json:
    plain = _plain(hint)
    if _is_free(plain):
        return None if value is None else json.dumps(value, ensure_ascii=False)
    if value is None:
        return None
    if typing.get_origin(plain) is tuple:
        return [_to_column(item, typing.get_args(plain)[0]) for item in value]
    if isinstance(plain, type) and issubclass(plain, BaseModel):
        return {name: _to_column(value[name], inner) for name, inner in _hints(plain).items()}
    return value


def _from_columns(row: dict[str, Json], kind: type[BaseModel], path: Path, number: int) -> dict[str, Json]:
    hints = _hints(kind)
    return {
        name: _from_column(value, hints[name], path, f"row {number}.{name}") if name in hints else value
        for name, value in row.items()
    }


def _from_column(value: Json, hint: Any, path: Path, place: str) -> Json:
    plain = _plain(hint)
    if value is None:
        return None
    if _is_free(plain):
        try:
            return json.loads(value)
        except (TypeError, ValueError, RecursionError):
            raise InputError("not JSON", file=path, place=place, value=value) from None
    if typing.get_origin(plain) is tuple and isinstance(value, list):
        inner = typing.get_args(plain)[0]
        return [_from_column(item, inner, path, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(plain, type) and issubclass(plain, BaseModel) and isinstance(value, dict):
        hints = _hints(plain)
        return {
            name: _from_column(item, hints[name], path, f"{place}.{name}") if name in hints else item
            for name, item in value.items()
        }
    return value


def _flat_turns(content: Content) -> Iterable[dict[str, Json]]:
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
                    "labels_json": json.dumps(turn.labels, ensure_ascii=False),
                }


def _flat_schema() -> Any:
    pyarrow, _ = pyarrow_modules()
    kinds = {
        "string": pyarrow.string(),
        "int64": pyarrow.int64(),
        "float64": pyarrow.float64(),
        "list": pyarrow.list_(pyarrow.string()),
    }
    return pyarrow.schema([(name, kinds[kind]) for name, kind in FLAT_TURN.items()])


def _columns(folder: Path) -> dict[str, dict[str, str]]:
    """The columns of every table that a reader takes without nesting: name to type, `list` for lists of strings."""
    pyarrow, parquet = pyarrow_modules()
    found: dict[str, dict[str, str]] = {}
    for path in sorted((folder / "data").glob("*.parquet")):
        columns = {}
        for column in parquet.read_schema(path):
            if pyarrow.types.is_list(column.type) and pyarrow.types.is_string(column.type.value_type):
                columns[column.name] = "list"
            elif not pyarrow.types.is_nested(column.type):
                columns[column.name] = str(column.type)
        found[path.stem] = columns
    return found


def _dataset_name(content: Content) -> str:
    formats = sorted({file.format for file in content.source_files})
    return f"{formats[0]} in reeltalk's tables" if len(formats) == 1 else "a benchmark of dialogue about video"


def _licences(content: Content) -> Counter[str]:
    return Counter(video.licence or "not stated" for video in content.videos)


def _card(content: Content, name: str, has_turns: bool) -> str:
    licences = _licences(content)
    tables = [*([TURNS] if has_turns else []), *(table for table, rows in content.rows() if rows)]
    turns = sum(len(unit.turns) for unit in content.chains) + sum(len(unit.turns) for unit in content.dialogues)
    sizes = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    front = {
        "pretty_name": name,
        "license": "other",
        "license_name": "see-card",
        "task_categories": ["video-text-to-text", "question-answering"],
        "tags": ["video", "multi-turn-dialogue", "reeltalk"],
        "size_categories": [next((label for size, label in sizes if turns < size), "n>1M")],
        "configs": [
            {"config_name": table, "data_files": f"data/{table}.parquet", **({"default": True} if index == 0 else {})}
            for index, table in enumerate(tables)
        ],
    }
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).strip(),
        "---",
        "",
        f"# {name}",
        "",
        "| Table | Rows |",
        "| --- | ---: |",
        *(f"| {table} | {len(rows):,} |" for table, rows in content.rows() if rows),
        "",
        "## Licences",
        "",
        "The licence of each video stands in `data/videos.parquet`.",
        "",
        "| Licence | Videos |",
        "| --- | ---: |",
        *(f"| {_cell(licence)} | {count:,} |" for licence, count in licences.most_common()),
        "",
        "Read it back with `reeltalk import hub FOLDER BENCHMARK`.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return re.sub(r"([|<>`*_\[\]\\])", r"\\\1", " ".join(text.split()))
