"""A folder of videos with `metadata.jsonl`, `metadata.csv` or `metadata.parquet`, as in Hugging Face's VideoFolder.

Each row names a file by `file_name`, relative to its metadata file. Files are hashed and copied, and not decoded. Files
that are neither are listed as not read. The layout is only read: `hub` writes a repository with the videos.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from reeltalk.errors import InputError
from reeltalk.formats.table_rows import TABLE_SUFFIXES, TableRow, is_text_table, read_table
from reeltalk.schema.media import FrameRate, Video
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import Json, VideoId
from reeltalk.schema.texts import path_problem
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, record_errors
from reeltalk.store.foreign import VIDEO_SUFFIXES, file_inside, visible_files
from reeltalk.store.manifest import hash_file

FORMAT: Final = "folder"
METADATA: Final = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
QUESTIONS: Final = frozenset({"question", "questions", "answer", "answers"})
"""Columns that speak for questions, which this layout does not have."""
SPLITS: Final = frozenset({"train", "validation", "val", "dev", "test"})


def _whole(value: object) -> object:
    # A column that had an empty cell contains 640.0 instead of 640.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text_of_integer(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Whole = Annotated[int | None, BeforeValidator(_whole)]


class FolderRow(SourceModel):
    """One row; everything but `file_name` may be missing. `license` is read as `licence`."""

    file_name: Annotated[str, Field(min_length=1)]
    id: Annotated[str | None, BeforeValidator(_text_of_integer)] = None
    """Path of the file, below the folder from which it is missing."""
    sha256: str | None = None
    duration_s: float | None = None
    frame_rate: Annotated[FrameRate | None, BeforeValidator(_whole)] = None
    width_px: Whole = None
    height_px: Whole = None
    licence: str | None = None
    license: str | None = None
    source: str | None = None
    split: str | None = None


def _stays_inside(name: str) -> bool:
    """True if a name is a path below a folder that any system can write. Empty parts and `.` are ignored."""
    return not name.startswith("/") and path_problem(PurePosixPath(name).as_posix()) is None


def _split_in_path(name: str) -> str | None:
    """The split that the outermost folder names, as in VideoFolder."""
    first, *rest = PurePosixPath(name).parts
    return first if first in SPLITS and rest else None


_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?(\d+([.]\d*)?|[.]\d+)([eE][+-]?\d+)?", re.ASCII)
NUMBERS: Final[dict[str, tuple[Callable[[str], float], re.Pattern[str]]]] = {
    "duration_s": (float, _DECIMAL),
    "width_px": (int, _INTEGER),
    "height_px": (int, _INTEGER),
}
"""The columns of numbers in CSV, and how they are written."""


def read(source: Path) -> Content:
    """Read a folder of videos.

    Raises:
        InputError: A row is damaged, leads out of the folder or occurs twice, or a file does not have its stated hash.
    """
    if not source.is_dir():
        raise InputError("not a folder", file=source, hint="a folder of videos, with or without metadata")
    faults: list[InputError] = []
    files = visible_files(source, faults)
    present = {path.relative_to(source).as_posix(): path for path in files if path.suffix.lower() in VIDEO_SUFFIXES}
    metadata = [path for path in files if path.name in METADATA]
    if not present and not metadata:
        if faults:
            raise faults[0]
        raise InputError("no videos here", file=source, hint=f"expected {', '.join(METADATA)} or video files")
    reader = _Reader(source, present, faults)
    for path in metadata:
        reader.read_metadata(path)
    for name in present:
        if name not in reader.rows_of_files:
            if metadata:
                reader.content.warnings.append(f"{name} has no row of metadata")
            try:
                reader.add(FolderRow(file_name=name), name, TableRow(present[name], None, "$", {}))
            except InputError as fault:
                faults.append(fault)
    for name, path in present.items():
        if path.stat().st_size == 0:
            reader.content.warnings.append(f"{name} is empty: the download may have been cut off")
    if faults and not reader.videos:
        raise faults[0]
    reader.content.rejected = [Rejected.of("videos", fault) for fault in faults]
    reader.content.videos = list(reader.videos.values())
    reader.content.warnings += _left_unread(reader, files)
    return reader.content


def _left_unread(reader: "_Reader", files: list[Path]) -> Iterable[str]:
    """A line for each file that is neither a video nor metadata, and for questions in the metadata."""
    known = {*reader.present, *(video.file for video in reader.videos.values())}
    for path in files:
        name = path.relative_to(reader.root).as_posix()
        if name in known or path.name in METADATA:
            continue
        hint = "; 'reeltalk import qa' reads questions" if path.suffix.lower() in TABLE_SUFFIXES else ""
        yield f"{name} was not read{hint}"
    asked = {column for video in reader.videos.values() for column in video.extra if column.lower() in QUESTIONS}
    if asked:
        yield (
            f"{', '.join(sorted(asked))} of the metadata are kept with the videos; 'reeltalk import qa' reads them as "
            "questions"
        )


class _Reader:
    """A folder while it is read."""

    def __init__(self, root: Path, present: dict[str, Path], faults: list[InputError]) -> None:
        self.root, self.present, self.content, self.faults = root, present, Content(), faults
        names = Counter(unicodedata.normalize("NFC", name) for name in present)
        self.spelt = {plain: name for name in present if names[plain := unicodedata.normalize("NFC", name)] == 1}
        """Files by their names in one Unicode form, if only one file has it."""
        self.videos: dict[str, Video] = {}
        self.rows_of_files: dict[str, str] = {}
        """Identifier by the path of the file."""

    def read_metadata(self, path: Path) -> None:
        same: list[dict[str, Json]] = []
        ids: list[str] = []
        folder = path.relative_to(self.root).parent.as_posix()
        try:
            rows = read_table(path, faults=self.faults).rows
        except InputError as fault:
            self.faults.append(fault)
            return
        for row in rows:
            try:
                ids.append(ids[same.index(row.cells)] if row.cells in same else self._add_row(row, folder))
                same.append(row.cells)
            except InputError as fault:
                self.faults.append(fault)
        name = path.relative_to(self.root).as_posix()
        self.content.source_files.append(SourceFile(format=FORMAT, path=name, kind="metadata", records=tuple(ids)))

    def _add_row(self, row: TableRow, folder: str) -> str:
        typed = _typed(row) if is_text_table(row.path) else row.cells
        found = parse(FolderRow, _with_main_column(row, typed), file=row.path, line=row.line, place=row.place)
        name = (PurePosixPath(folder) / found.file_name).as_posix()
        if not _stays_inside(found.file_name) or not _stays_inside(name):
            raise row.error("not a path of a file inside the folder", "file_name", found.file_name)
        name = self.spelt.get(unicodedata.normalize("NFC", name)) or name
        if name in self.rows_of_files:
            raise row.error("this file has two rows", "file_name", found.file_name)
        return self.add(found, name, row)

    def add(self, row: FolderRow, name: str, at: TableRow) -> str:
        """Add the video of a row, or of a file without a row; return its identifier."""
        if row.licence and row.license and row.licence != row.license:
            raise at.error("licence and license differ", "license", row.license)
        found = self.present.get(name) or file_inside(self.root, name)
        try:
            sha256 = hash_file(found)[0] if found else None
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=str(found)) from None
        stated = row.sha256.lower() if row.sha256 else None
        if found is None:
            self.content.warnings.append(f"{name} is missing ({at.path.name}:{at.line or at.place})")
        elif stated and stated != sha256:
            raise at.error(f"the file has hash {sha256}", "sha256", row.sha256)
        identifier = row.id or name
        if identifier in self.videos:
            raise at.error("this identifier appears twice", "id", identifier)
        with record_errors(at.path, at.place, line=at.line):
            self.videos[identifier] = Video(
                id=VideoId(identifier),
                file=name,
                sha256=sha256 or stated,
                licence=row.licence or row.license,
                source=row.source,
                split=row.split or _split_in_path(name),
                extra=row.unknown,
                **{key: getattr(row, key) for key in ("duration_s", "frame_rate", "width_px", "height_px")},
            )
        self.rows_of_files[name] = identifier
        if found and sha256:
            self.content.media[sha256] = found
        return identifier


def _typed(row: TableRow) -> dict[str, Json]:
    """A CSV row with numbers in its number columns. An empty cell has no value."""
    typed: dict[str, Json] = {}
    for column, text in row.cells.items():
        if text == "" and column in FolderRow.model_fields and column != "file_name":
            continue
        typed[column] = text
        if column in NUMBERS:
            number, pattern = NUMBERS[column]
            try:
                typed[column] = number(text) if pattern.fullmatch(text) else None
            except ValueError:
                typed[column] = None  # more digits than Python converts
            if typed[column] is None:
                raise row.error("not a number", column, text)
    return typed


def _with_main_column(row: TableRow, cells: dict[str, Json]) -> dict[str, Json]:
    """The row with its video under `file_name`; VideoFolder takes any column `*_file_name`, and several of them."""
    if "file_name" in cells:
        return cells
    named = [column for column in cells if column.endswith("_file_name")]
    main = "video_file_name" if "video_file_name" in named else named[0] if len(named) == 1 else None
    if main is None and (named or any(column.endswith("file_names") for column in cells)):
        raise InputError(
            "several files in a row, and no column that names the video",
            file=row.path,
            line=row.line,
            place=row.place,
            value=list(cells),
            hint="name the video in a column 'file_name' or 'video_file_name'",
        )
    return {"file_name" if column == main else column: value for column, value in cells.items()}
