"""A data set repository: one Parquet file per table, the videos, a data set card, and Croissant 1.1 (MLCommons).

The part `turns` has one row per turn, by split, for users who load only one table; the part `media` has one row per
video file, with its path. They and `videos/metadata.jsonl` are written for other programs and are not imported. An
import restores all tables unchanged: nested records are structs, free-form JSON is a string of JSON.

Every part is a Parquet file, because the `datasets` package reads all parts of a repository as the kind of the first.
"""

import json
import re
import shutil
import types
import typing
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import quote, unquote

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from reeltalk.errors import InputError
from reeltalk.formats import FORMATS
from reeltalk.formats.parquet import pyarrow_modules, read_arrow_rows, refuse_pointer, write_parquet
from reeltalk.metrics.turn_checks import Quality, content_quality, quality_card, quality_sentences
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content
from reeltalk.store.documents import input_error, parse_json, read_text
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import TABLES
from reeltalk.store.text_tables import escape_card, markdown_block, markdown_table

FULL_SPLIT: Final = "full"
"""Name of the split for a whole table, since the Hub has no tables without splits."""
SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
ENGLISH_LAYOUTS: Final = frozenset(
    {"vdact", "mt-video-bench", "dramaqa", "avsd", "video-mme", "mvbench", "ovo-bench", "streamingbench"}
)
"""Layouts whose questions are in English throughout."""


def _title(content: Content) -> str:
    """A title for the data set, from the layout it was imported from."""
    formats = sorted({file.format for file in content.source_files} & set(FORMATS))
    return f"{formats[0]} in reeltalk's tables" if len(formats) == 1 else "a benchmark of dialogue about video"


def _licences(content: Content) -> Counter[str]:
    """Number of videos with each licence."""
    return Counter(video.licence or "not stated" for video in content.videos)


def _languages(content: Content) -> list[str]:
    """Languages of the questions, if the imported files tell them."""
    found: set[str] = set()
    for file in content.source_files:
        if file.format in ENGLISH_LAYOUTS:
            found.add("en")
        elif file.format == "svbench":
            folders = PurePosixPath(file.path).parts[:-1]
            found |= {code for code in ("en", "zh") if any(part.lower().endswith(f"_{code}") for part in folders)}
    return sorted(found)


def _card(content: Content, configs: dict[str, list[tuple[str, str]]], quality: Quality, cite_as: str | None) -> str:
    """The card as Markdown."""
    title = _title(content)
    turns, has_options = 0, False
    for unit in chain[QAChain | Dialogue](content.chains, content.dialogues):
        turns += len(unit.turns)
        has_options = has_options or any(turn.options for turn in unit.turns)
    tasks = ["video-text-to-text", "question-answering"]
    if has_options:
        tasks.append("multiple-choice")
    front: dict[str, Any] = {"pretty_name": title, "license": "other", "license_name": "see-card"}
    if languages := _languages(content):
        front["language"] = languages
    front |= {
        "task_categories": tasks,
        "tags": ["video", "multi-turn-dialogue", "reeltalk"],
        "size_categories": [next((label for size, label in SIZES if turns < size), "n>1M")],
        "configs": [
            {
                "config_name": name,
                **({"default": True} if index == 0 else {}),
                "data_files": [{"split": split, "path": path} for split, path in files],
            }
            for index, (name, files) in enumerate(configs.items())
        ],
    }
    first = next(iter(configs), None)
    counts = [(table, f"{len(rows):,}") for table, rows in content.rows() if rows]
    counts += [
        (name, f"{len(found):,}")
        for name, found in (("graphs", content.graphs), ("media files", content.media))
        if found
    ]
    lines = [
        "---",
        yaml.safe_dump(front, sort_keys=False, allow_unicode=True).strip(),
        "---",
        "",
        f"# {escape_card(title)}",
        "",
        *([f'`datasets.load_dataset("OWNER/NAME", "{first}")` loads the first part.', ""] if first else []),
        *quality_card(quality),
        "## Parts",
        "",
        *markdown_table(
            ("Part", "Splits"),
            [(name, ", ".join(split for split, _ in files)) for name, files in configs.items()],
            numbers=(False, False),
        ),
        "",
        *markdown_table(("Table", "Rows"), counts, numbers=(False, True)),
        "",
        "Columns that hold free-form values (`extra`, `labels` and the like) are strings of JSON.",
        "",
        *(VIDEO_LINES if MEDIA in configs else ()),
        "## Licences",
        "",
        "Each video keeps its own; `data/videos.parquet` has it.",
        "",
        *markdown_table(
            ("Licence", "Videos"),
            [(escape_card(licence), f"{count:,}") for licence, count in _licences(content).most_common()],
            numbers=(False, True),
        ),
        "",
        "Read it back with `reeltalk import hub FOLDER BENCHMARK`.",
        *(["", "## Citation", "", *markdown_block(cite_as)] if cite_as else []),
    ]
    return "\n".join(lines) + "\n"


class FlatTurn(BaseModel):
    """Columns of the part `turns`."""

    unit: str
    unit_id: str
    video_id: str
    split: str | None
    task: str | None
    turn_index: int
    question: str
    references: tuple[str, ...]
    options: tuple[str, ...] | None
    correct_option: int | None
    asked_at_s: float | None
    labels_json: str


class MediaFile(BaseModel):
    """Columns of the part `media`. A path is relative to the repository."""

    path: str
    sha256: str
    size_bytes: int
    video_ids: tuple[str, ...]
    clip_ids: tuple[str, ...]
    licences: tuple[str, ...]
    sources: tuple[str, ...]


def arrow_schema(kind: type[BaseModel]) -> Any:
    """The Arrow schema of a record."""
    pyarrow, _ = pyarrow_modules()
    return pyarrow.schema([(name, _arrow(hint)) for name, hint in _hints(kind).items()])


def _hints(kind: type[BaseModel]) -> dict[str, Any]:
    # A field may name a class that follows its record; it is looked up when the record is first used.
    kind.model_rebuild()
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
        InputError: It holds a value that JSON lacks, such as NaN or half a character.
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
    """The record of a row. Types are exact: `"1"` is not a number, and 1.5 is not a position.

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
    """One row for each turn of the chains and dialogues."""
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


CONFORMS_TO: Final = "http://mlcommons.org/croissant/1.1"
TERMS: Final = (
    "citeAs", "column", "containedIn", "dataBiases", "dataCollection", "equivalentProperty", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "arrayShape", "isLiveDataset", "jsonPath",
    "key", "md5", "parentField", "path", "personalSensitiveInformation", "recordSet", "references", "regex", "repeated",
    "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{term: f"cr:{term}" for term in TERMS},
}
"""Croissant's own vocabulary, as its specification lists it."""
ENCODINGS: Final = {
    ".parquet": "application/x-parquet",
    ".nq": "application/n-quads",
    ".jsonl": "application/jsonlines",
    ".mkv": "video/x-matroska",
    ".webm": "video/webm",
    ".mp4": "video/mp4",
}


def croissant(
    folder: Path,
    *,
    name: str,
    licences: Counter[str],
    checked: str = "",
    version: str = "1.0.0",
    cite_as: str | None = None,
    date_published: date | None = None,
) -> dict[str, Any]:
    """The Croissant description of a repository: its files with their hashes, and its tables with their columns.

    A column of records is described by its plain members, since Croissant cannot describe deeper ones.
    """
    distribution, record_sets = [], []
    paths = [path for part in ("data", "graphs", "videos") for path in sorted((folder / part).glob("*"))]
    for path in paths:
        sha256, size_bytes = hash_file(path)
        relative = path.relative_to(folder).as_posix()
        distribution.append(
            {
                "@type": "cr:FileObject",
                "@id": relative,
                "name": relative,
                "contentUrl": relative,
                "contentSize": f"{size_bytes} B",
                "encodingFormat": ENCODINGS.get(path.suffix.lower(), "application/octet-stream"),
                "sha256": sha256,
            }
        )
        if path.suffix == ".parquet":
            record_sets.append(_record_set(path, relative))
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": name,
        "description": f"Multi-turn dialogue about video, in the tables of reeltalk. {checked}".strip(),
        "license": sorted(licences) or ["not stated"],
        "url": "./",
        "version": version,
        **({"citeAs": cite_as} if cite_as else {}),
        **({"datePublished": date_published.isoformat()} if date_published is not None else {}),
        "distribution": distribution,
        "recordSet": record_sets,
    }


def _record_set(path: Path, file: str) -> dict[str, Any]:
    _, parquet = pyarrow_modules()
    table = path.stem
    fields = []
    for column in parquet.read_schema(path):
        field = _field(f"{table}/{column.name}", column.type, file, column.name)
        if field is not None:
            fields.append(field)
    record_set: dict[str, Any] = {"@type": "cr:RecordSet", "@id": table, "name": table, "field": fields}
    if any(field["@id"] == f"{table}/id" for field in fields):
        record_set["key"] = {"@id": f"{table}/id"}
    return record_set


def _field(identifier: str, kind: Any, file: str, column: str, json_path: str | None = None) -> dict[str, Any] | None:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    field: dict[str, Any] = {"@type": "cr:Field", "@id": identifier, "name": identifier}
    source: dict[str, Any] = {"fileObject": {"@id": file}, "extract": {"column": column}}
    if json_path is not None:
        source["transform"] = {"jsonPath": json_path}
    plain = _plain_type(kind)
    if plain is not None:
        return field | {"dataType": plain, "source": source}
    if json_path is not None:
        return None
    inside = kind.value_type if types.is_list(kind) else kind
    if types.is_list(kind) and _plain_type(inside) is not None:
        return field | {"dataType": _plain_type(inside), "isArray": True, "arrayShape": "-1", "source": source}
    if not types.is_struct(inside):
        return None
    start = "$[*]." if types.is_list(kind) else "$."
    members = [_field(f"{identifier}/{part.name}", part.type, file, column, f"{start}{part.name}") for part in inside]
    members = [member for member in members if member is not None]
    if not members:
        return None
    return field | ({"repeated": True} if types.is_list(kind) else {}) | {"subField": members}


def _plain_type(kind: Any) -> str | None:
    pyarrow, _ = pyarrow_modules()
    types = pyarrow.types
    if types.is_string(kind):
        return "sc:Text"
    if types.is_boolean(kind):
        return "sc:Boolean"
    if types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if types.is_floating(kind) else None


FORMAT: Final = "hub"
TURNS: Final = "turns"
UNASSIGNED: Final = "unassigned"
"""Split of turns whose video has no split, if other videos have one."""
MEDIA: Final = "media"
"""The part with a row for each video file."""
MEDIA_METADATA: Final = "metadata.jsonl"
"""File in `videos/` from which `datasets` makes a column of videos."""
CLIP_SUFFIX: Final = ".mp4"
VIDEO_LINES: Final = (
    "The part `media` has a row for each file in `videos/`, with its path and the identifiers of its videos and clips. "
    '`datasets.load_dataset("videofolder", data_dir="FOLDER/videos")` gives the same files as a column `video`; '
    "decoding it needs torchcodec, torch and FFmpeg.",
    "",
)
LONGEST_FILE_NAME_BYTES: Final = 255
PLAIN_IN_NAMES: Final = " !#$&'()+,-.;=@[]^_`{}~"
"""Characters, besides letters and digits of any script, that stay as they are in the file name of a graph."""


def read(source: Path) -> Content:
    """Read a folder that `write` wrote.

    Raises:
        InputError: A file is damaged or a row does not fit its table; names file, row and column.
    """
    data = source / "data"
    if not any((source / part).is_dir() for part in ("data", "graphs", "videos")):
        raise InputError("no data folder here", file=source, hint="expected data/<table>.parquet")
    content = Content()
    files = visible_files(source)
    for path in files:
        if path.parent != data or path.suffix != ".parquet":
            continue
        if path.stem in TABLES:
            kind, rows = TABLES[path.stem].record, enumerate(read_arrow_rows(path))
            setattr(content, path.stem, [from_columns(row, kind, path, number) for number, row in rows])
        elif path.stem not in (TURNS, MEDIA) and not path.stem.startswith(f"{TURNS}-"):
            content.warnings.append(f"data/{path.name} is no table of a benchmark and was not read")
    for path in _in(source / "graphs", files):
        if path.suffix != ".nq":
            raise InputError("not a graph", file=path, hint="expected graphs/<name>.nq")
        content.graphs[unquote(path.stem)] = read_text(path)
    for path in _in(source / "videos", files):
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


def _in(folder: Path, files: Iterable[Path]) -> Iterator[Path]:
    for path in files:
        if path.parent == folder:
            yield path
        elif path.is_relative_to(folder):
            raise InputError("a folder, not a file", file=path.parent)


def write(
    content: Content,
    folder: Path,
    *,
    version: str | None = None,
    cite_as: str | None = None,
    date_published: date | None = None,
) -> list[str]:
    """Write a data set repository into an empty folder; return a line for each part that cannot be a file there.

    Args:
        content: The benchmark.
        version: Version of the data set; 1.0.0 by default.
        cite_as: How to cite the data set, as BibTeX or in words.
        date_published: Day of its publication.

    Raises:
        InputError: A value has no form in Parquet or JSON.
        MissingExtraError: The `hub` extra is not installed.
    """
    if not content.graphs and not content.media and not any(rows for _, rows in content.rows()):
        return ["the benchmark holds nothing that could be written"]
    configs: dict[str, list[tuple[str, str]]] = {}
    splits = _split_names(content)
    for split in sorted(set(splits.values())):
        path = f"data/{TURNS}-{split}.parquet" if len(set(splits.values())) > 1 else f"data/{TURNS}.parquet"
        part = (turn for turn in flat_turns(content) if splits[turn["split"]] == split)
        _write_table(folder / path, part, arrow_schema(FlatTurn))
        configs.setdefault(TURNS, []).append((split, path))
    for name, records in content.rows():
        if records:
            kind, path = TABLES[name].record, f"data/{name}.parquet"
            columns = (to_columns(row, kind, f"{name} row {number}") for number, row in enumerate(records))
            _write_table(folder / path, columns, arrow_schema(kind))
            configs[name] = [(FULL_SPLIT, path)]
    lost = _write_graphs(content, folder)
    if content.media:
        _write_table(folder / f"data/{MEDIA}.parquet", _write_media(content, folder), arrow_schema(MediaFile))
        configs[MEDIA] = [(FULL_SPLIT, f"data/{MEDIA}.parquet")]
    quality = content_quality(content)
    (folder / "README.md").write_text(_card(content, configs, quality, cite_as), encoding="utf-8", newline="\n")
    checked = " ".join(quality_sentences(quality)) if quality.turns and quality.results else ""
    document = croissant(
        folder,
        name=_title(content),
        licences=_licences(content),
        checked=checked,
        version=version or "1.0.0",
        cite_as=cite_as,
        date_published=date_published,
    )
    with (folder / "croissant.json").open("w", encoding="utf-8", newline="\n") as stream:
        json.dump(document, stream, indent=2, ensure_ascii=False)
        stream.write("\n")
    return lost


def _split_names(content: Content) -> dict[str | None, str]:
    """The names of the splits with turns, by split. Such a name has only letters, digits and `_`, and is not `all`."""
    splits = {str(video.id): video.split for video in content.videos}
    units = chain[QAChain | Dialogue](content.chains, content.dialogues)
    names: dict[str | None, str] = {}
    for split in {splits.get(unit.video_id) for unit in units if unit.turns}:
        name = re.sub(r"\W+", "_", split or FULL_SPLIT, flags=re.ASCII)[:60]
        names[split] = "all_" if name == "all" else name
    if len(set(names.values())) > 1:
        names = {split: UNASSIGNED if name == FULL_SPLIT else name for split, name in names.items()}
    return names


def _write_table(path: Path, rows: Iterable[dict[str, Json]], schema: Any) -> None:
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
    """A name as a file name, with forbidden characters in percent encoding such as `%2F`."""
    plain = "".join(
        character if character.isalnum() or character in PLAIN_IN_NAMES else quote(character, safe="", errors="replace")
        for character in name
    )
    return f"%2E{plain[1:]}" if plain.startswith(".") else plain


def _write_media(content: Content, folder: Path) -> list[dict[str, Json]]:
    """Copy the video files with a list of them for `datasets`; return the rows of the part `media`."""
    (folder / "videos").mkdir()
    of_media: dict[str | None, list[Video]] = defaultdict(list)
    for video in content.videos:
        of_media[video.sha256].append(video)
    clips: dict[str, list[str]] = defaultdict(list)
    for clip in content.clips:
        if clip.file is not None:
            clips[clip.file.sha256].append(clip.id)
    rows: list[dict[str, Json]] = []
    for sha256, path in sorted(content.media.items()):
        videos = of_media[sha256]
        ending = next((Path(video.file).suffix for video in videos if video.file), "")
        ending = CLIP_SUFFIX if sha256 in clips and not videos else ending
        name = f"{sha256}{ending if re.fullmatch(r'[.][A-Za-z0-9]{1,5}', ending) else ''}"
        shutil.copyfile(path, folder / "videos" / name)
        rows.append(
            {
                "path": f"videos/{name}",
                "sha256": sha256,
                "size_bytes": path.stat().st_size,
                "video_ids": [video.id for video in videos],
                "clip_ids": list(clips[sha256]),
                "licences": sorted({video.licence for video in videos if video.licence}),
                "sources": sorted({video.source for video in videos if video.source}),
            }
        )
    listed = ({"file_name": Path(str(row["path"])).name} | {k: row[k] for k in list(row)[3:]} for row in rows)
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in listed]
    (folder / "videos" / MEDIA_METADATA).write_bytes("".join(lines).encode())
    return rows
