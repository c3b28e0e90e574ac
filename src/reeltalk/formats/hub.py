"""A data set repository: a Parquet file a table, the videos, a data set card, and Croissant 1.1.

The part `turns` has every turn as a row of its own, by split, for those who load one table and go; it and
`videos/metadata.jsonl` are written for readers and not read back. All tables come back as they were.
"""

import json
import re
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from reeltalk.errors import InputError
from reeltalk.formats.arrow_rows import read_arrow_rows, refuse_pointer
from reeltalk.formats.croissant import croissant
from reeltalk.formats.hub_card import FULL, card, licences_of, title_of
from reeltalk.formats.hub_columns import flat_schema, flat_turns, from_columns, schema_of, to_columns
from reeltalk.formats.parquet import pyarrow_modules, write_parquet
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content
from reeltalk.store.documents import read_text
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import TABLES

FORMAT: Final = "hub"
TURNS: Final = "turns"
UNASSIGNED: Final = "unassigned"
"""Part of the turns whose video is in no split, where others are in one."""
MEDIA_METADATA: Final = "metadata.jsonl"
LONGEST_FILE_NAME_BYTES: Final = 255
PLAIN_IN_NAMES: Final = " !#$&'()+,-.;=@[]^_`{}~"
"""Besides letters and digits of any script, what stands for itself in the file name of a graph."""


def read(source: Path) -> Content:
    """Read what `write` wrote.

    Raises:
        InputError: A file is damaged or a row does not fit its table; names file, row and column.
    """
    data = source / "data"
    if not any((source / part).is_dir() for part in ("data", "graphs", "videos")):
        raise InputError("no data folder here", file=source, hint="expected data/<table>.parquet")
    content = Content()
    for path in sorted(data.glob("*.parquet")):
        if path.stem in TABLES:
            setattr(content, path.stem, list(_records(path)))
        elif path.stem != TURNS and not path.stem.startswith(f"{TURNS}-"):
            content.warnings.append(f"data/{path.name} is no table of a benchmark and was not read")
    for path in _files(source / "graphs"):
        if path.suffix != ".nq":
            raise InputError("not a graph", file=path, hint="expected graphs/<name>.nq")
        content.graphs[unquote(path.stem)] = read_text(path)
    for path in _files(source / "videos"):
        if path.name == MEDIA_METADATA:
            continue
        refuse_pointer(path)
        sha256 = hash_file(path)[0]
        if path.stem != sha256:
            raise InputError("the file does not have the hash that it is named by", file=path, value=sha256)
        content.media[sha256] = path
    if not content.graphs and not content.media and not any(rows for _, rows in content.rows()):
        raise InputError("no table of a benchmark here", file=data, hint="expected data/<table>.parquet")
    return content


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.glob("*")):
        if path.name.startswith("."):
            continue
        if not path.is_file():
            raise InputError("not a file", file=path)
        yield path


def _records(path: Path) -> Iterator[Record]:
    table = TABLES[path.stem]
    rows, _ = read_arrow_rows(path)
    for number, row in enumerate(rows):
        yield from_columns(row, table.record, path, number)


def write(content: Content, folder: Path) -> list[str]:
    """Write a data set repository into an empty folder; what cannot be a file there is returned, a line each.

    Raises:
        InputError: A value has no form in Parquet or JSON.
        MissingExtraError: The `hub` extra is not installed.
    """
    if not content.graphs and not content.media and not any(rows for _, rows in content.rows()):
        return ["the benchmark holds nothing that could be written"]
    configs: dict[str, list[tuple[str, str]]] = {}
    turns = _by_split(flat_turns(content))
    for split, part in turns.items():
        path = f"data/{TURNS}-{split}.parquet" if len(turns) > 1 else f"data/{TURNS}.parquet"
        _write_table(folder / path, part, flat_schema())
        configs.setdefault(TURNS, []).append((split, path))
    for name, records in content.rows():
        if records:
            kind, path = TABLES[name].record, f"data/{name}.parquet"
            columns = [to_columns(row, kind, f"{name} row {number}") for number, row in enumerate(records)]
            _write_table(folder / path, columns, schema_of(kind))
            configs[name] = [(FULL, path)]
    lost = _write_graphs(content, folder)
    if content.media:
        _write_media(content, folder)
        configs["media"] = [(FULL, "videos/*")]
    (folder / "README.md").write_text(card(content, configs), encoding="utf-8", newline="\n")
    document = croissant(folder, name=title_of(content), licences=licences_of(content))
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    (folder / "croissant.json").write_text(text, encoding="utf-8", newline="\n")
    return lost


def _by_split(turns: Iterable[dict[str, Json]]) -> dict[str, list[dict[str, Json]]]:
    """Turns by the name of their split; such a name has letters, digits and `_` only, and `all` is taken."""
    parts: dict[str, list[dict[str, Json]]] = defaultdict(list)
    for turn in turns:
        name = re.sub(r"\W+", "_", turn["split"] or FULL, flags=re.ASCII)[:60]
        parts["all_" if name == "all" else name].append(turn)
    if len(parts) > 1 and FULL in parts:
        parts[UNASSIGNED] += parts.pop(FULL)
    return dict(sorted(parts.items()))


def _write_table(path: Path, rows: list[dict[str, Json]], schema: Any) -> None:
    pyarrow, _ = pyarrow_modules()
    path.parent.mkdir(exist_ok=True)
    try:
        write_parquet(path, rows, schema)
    except (pyarrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise InputError(f"a value does not fit a Parquet column: {str(error).splitlines()[0]}", file=path) from None


def _write_graphs(content: Content, folder: Path) -> list[str]:
    lost = []
    for name, quads in content.graphs.items():
        file_name = f"{_file_name(name)}.nq"
        if not name or len(file_name.encode()) > LONGEST_FILE_NAME_BYTES:
            lost.append(f"the graph {name[:40]!r} is left out: no file can have its name")
            continue
        (folder / "graphs").mkdir(exist_ok=True)
        (folder / "graphs" / file_name).write_bytes(quads.encode())
    return lost


def _file_name(name: str) -> str:
    """A name as a file name: what a file name cannot hold stands as `%2F` and the like."""
    plain = "".join(
        character if character.isalnum() or character in PLAIN_IN_NAMES else quote(character, safe="", errors="replace")
        for character in name
    )
    return f"%2E{plain[1:]}" if plain.startswith(".") else plain


def _write_media(content: Content, folder: Path) -> None:
    (folder / "videos").mkdir()
    of_media: dict[str | None, list[Video]] = defaultdict(list)
    for video in content.videos:
        of_media[video.sha256].append(video)
    rows: list[dict[str, Json]] = []
    for sha256, path in content.media.items():
        videos = of_media[sha256]
        ending = next((Path(video.file).suffix for video in videos if video.file), "")
        name = f"{sha256}{ending if re.fullmatch(r'[.][A-Za-z0-9]{1,5}', ending) else ''}"
        shutil.copyfile(path, folder / "videos" / name)
        rows.append(
            {
                "file_name": name,
                "video_ids": [video.id for video in videos],
                "licences": sorted({video.licence for video in videos if video.licence}),
                "sources": sorted({video.source for video in videos if video.source}),
            }
        )
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in sorted(rows, key=lambda row: row["file_name"])]
    (folder / "videos" / MEDIA_METADATA).write_bytes("".join(lines).encode())
