"""Read a folder of videos: rows of metadata, files, and what is there of the one without the other."""

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats.arrow_rows import read_arrow_rows
from reeltalk.formats.folder_layout import (
    COLUMNS_KEY,
    FORMAT,
    METADATA,
    SCHEMA_KEY,
    VIDEO_SUFFIXES,
    Row,
    row_of,
    split_of,
    stays_inside,
)
from reeltalk.formats.source_form import with_form
from reeltalk.schema.ids import VideoId
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, placed, read_json_lines, read_text, visible_files
from reeltalk.store.manifest import hash_file

NUMBER_PATTERN: Final = re.compile(r"[+-]?(\d+([.]\d*)?|[.]\d+)([eE][+-]?\d+)?", re.ASCII)
INTEGER_PATTERN: Final = re.compile(r"[+-]?\d+", re.ASCII)


def read(source: Path) -> Content:
    """Read a folder of videos.

    Raises:
        InputError: A row is damaged, leaves the folder or stands twice, or a file does not have its stated hash.
    """
    if not source.is_dir():
        raise InputError("not a folder", file=source, hint="a folder of videos, with or without metadata")
    files = visible_files(source)
    present = {path.relative_to(source).as_posix(): path for path in files if path.suffix.lower() in VIDEO_SUFFIXES}
    metadata = [path for path in files if path.name in METADATA]
    if not present and not metadata:
        raise InputError("no videos here", file=source, hint=f"expected {', '.join(METADATA)} or video files")
    reader = _Reader(source, present)
    for path in metadata:
        reader.read_metadata(path)
    for name in present:
        if name not in reader.rows_of_files:
            if metadata:
                reader.content.warnings.append(f"{name} has no row of metadata")
            reader.add(Row(file_name=name), name, present[name], "$", None)
    for name, path in present.items():
        if path.stat().st_size == 0:
            reader.content.warnings.append(f"{name} is empty: the download may have been cut off")
    reader.content.videos = list(reader.videos.values())
    return reader.content


class _Reader:
    """A folder while it is read."""

    def __init__(self, root: Path, present: dict[str, Path]) -> None:
        self.root, self.present, self.content = root, present, Content()
        self.videos: dict[str, Video] = {}
        self.rows_of_files: dict[str, str] = {}
        """Identifier by the path of the file."""

    def read_metadata(self, path: Path) -> None:
        rows: list[dict[str, Json]] = []
        extra: dict[str, Json] = {}
        ids = []
        folder = path.relative_to(self.root).parent.as_posix()
        for line, place, cells in _read_rows(path, extra):
            typed = _typed(cells, path, line) if path.suffix == ".csv" else cells
            row = parse(Row, _with_main_column(typed, path, line, place), file=path, line=line, place=place)
            name = _inside(folder, row.file_name, path, line, place)
            if name in self.rows_of_files:
                raise InputError(
                    "this file has two rows", file=path, line=line, place=f"{place}.file_name", value=row.file_name
                )
            ids.append(self.add(row, name, path, place, line))
            rows.append(cells)
        file = SourceFile(
            format=FORMAT,
            path=path.relative_to(self.root).as_posix(),
            kind="metadata",
            records=tuple(ids),
            extra=extra,
        )
        ours = [row_of(self.videos[name], self.videos[name].file or name, folder, path.suffix) for name in ids]
        self.content.source_files.append(with_form(file, rows, ours))

    def add(self, row: Row, name: str, path: Path, place: str, line: int | None) -> str:
        """Make the video of a row, or of a file without one; its identifier."""
        if row.licence and row.license and row.licence != row.license:
            raise InputError(
                "licence and license contradict each other",
                file=path, line=line, place=f"{place}.license", value=row.license,
            )  # fmt: skip
        found = self.present.get(name) or _file(self.root / name)
        sha256 = _hash(found) if found else None
        stated = row.sha256.lower() if row.sha256 else None
        if found is None:
            self.content.warnings.append(f"{name} is missing ({path.name}:{line or place})")
        elif stated and stated != sha256:
            raise InputError(
                f"the file has hash {sha256}", file=path, line=line, place=f"{place}.sha256", value=row.sha256
            )
        identifier = row.id or name
        if identifier in self.videos:
            raise InputError(
                "this identifier stands twice", file=path, line=line, place=f"{place}.id", value=identifier
            )
        with placed(path, place, line=line):
            self.videos[identifier] = Video(
                id=VideoId(identifier),
                file=name,
                sha256=sha256 or stated,
                duration_s=row.duration_s,
                frame_rate=row.frame_rate,
                width_px=row.width_px,
                height_px=row.height_px,
                licence=row.licence or row.license,
                source=row.source,
                split=row.split or split_of(name),
                extra=row.unknown,
            )
        self.rows_of_files[name] = identifier
        if found and sha256:
            self.content.media[sha256] = found
        return identifier


def _read_rows(path: Path, extra: dict[str, Json]) -> Iterable[tuple[int | None, str, dict[str, Json]]]:
    """Line, place and cells of each row; what the writer needs to know of the columns goes into `extra`."""
    if path.suffix == ".jsonl":
        for line, value in read_json_lines(path):
            if not isinstance(value, dict):
                raise InputError("not an object", file=path, line=line, value=value)
            yield line, "$", value
    elif path.suffix == ".csv":
        yield from _read_csv(path, extra)
    else:
        rows, extra[SCHEMA_KEY] = read_arrow_rows(path)
        for number, cells in enumerate(rows):
            yield None, f"row {number}", cells


def _read_csv(path: Path, extra: dict[str, Json]) -> Iterable[tuple[int, str, dict[str, Json]]]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = next(reader, [])
        doubled = sorted({name for name in header if header.count(name) > 1})
        if doubled:
            raise InputError("a column stands twice", file=path, line=1, value=doubled[0])
        if not header:
            raise InputError("no line of column names", file=path, line=1)
        extra[COLUMNS_KEY] = header
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise InputError(f"{len(cells)} cells under {len(header)} columns", file=path, line=reader.line_num)
            yield reader.line_num, "$", dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=reader.line_num) from None


def _typed(cells: dict[str, Json], path: Path, line: int | None) -> dict[str, Json]:
    """A CSV row with numbers where numbers belong; an empty cell is no value."""
    typed: dict[str, Json] = {}
    for column, text in cells.items():
        if text == "" and column in Row.model_fields and column != "file_name":
            continue
        typed[column] = text
        if column in ("duration_s", "width_px", "height_px"):
            number = float if column == "duration_s" else int
            pattern = NUMBER_PATTERN if number is float else INTEGER_PATTERN
            try:
                if not pattern.fullmatch(text):
                    raise ValueError
                typed[column] = number(text)
            except ValueError:
                raise InputError("not a number", file=path, line=line, place=f"$.{column}", value=text) from None
    return typed


def _with_main_column(cells: dict[str, Json], path: Path, line: int | None, place: str) -> dict[str, Json]:
    """The row with its video under `file_name`; VideoFolder takes any column `*_file_name`, and several of them."""
    if "file_name" in cells:
        return cells
    named = [column for column in cells if column.endswith("_file_name")]
    main = "video_file_name" if "video_file_name" in named else named[0] if len(named) == 1 else None
    if main is None and (named or any(column.endswith("file_names") for column in cells)):
        raise InputError(
            "several files in a row and none of them is the video",
            file=path, line=line, place=place, value=list(cells),
            hint="name the video in a column 'file_name' or 'video_file_name'",
        )  # fmt: skip
    return {"file_name" if column == main else column: value for column, value in cells.items()}


def _inside(folder: str, file_name: str, path: Path, line: int | None, place: str) -> str:
    """The path of a file, relative to the folder that is read."""
    name = (PurePosixPath(folder) / file_name).as_posix()
    if not stays_inside(file_name) or not stays_inside(name):
        raise InputError(
            "not a path of a file inside the folder", file=path, line=line, place=f"{place}.file_name", value=file_name
        )
    return name


def _file(path: Path) -> Path | None:
    try:
        return path if path.is_file() else None
    except OSError:
        return None


def _hash(path: Path) -> str:
    try:
        return hash_file(path)[0]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
