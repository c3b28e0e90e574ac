"""A folder of videos with `metadata.jsonl`, `metadata.csv` or `metadata.parquet`, as in Hugging Face's VideoFolder.

Each row names a file by `file_name`, relative to its metadata file. Files are hashed and copied, and not decoded. An
export returns a line for each thing that a folder cannot hold. Files that are neither are listed as not read.
"""

import hashlib
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from reeltalk.errors import InputError
from reeltalk.formats.layout import keep_form, restore_form
from reeltalk.formats.table_rows import COLUMNS_KEY, TABLE_SUFFIXES, csv_cell, read_table_rows, write_table_rows
from reeltalk.schema.media import FrameRate, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json, VideoId
from reeltalk.schema.texts import path_problem
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, record_errors
from reeltalk.store.foreign import file_inside, visible_files
from reeltalk.store.manifest import hash_file

FORMAT: Final = "folder"
VIDEO_SUFFIXES: Final = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".ogv", ".3gp"}
)
METADATA: Final = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
KNOWN: Final = ("sha256", "duration_s", "frame_rate", "width_px", "height_px", "licence", "source", "split")
"""Columns that are fields of `Video`, besides `file_name`, `id`, and `license` for `licence`."""
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


def _make_row(video: Video, name: str, folder: str, suffix: str) -> dict[str, Json]:
    """The row of a video whose file is `name`, in the metadata file of `folder`.

    Args:
        video: The video.
        name: Path of its file in the folder of videos.
        folder: Folder of the metadata file, `.` for the outermost.
        suffix: Ending of the metadata file. All values of a CSV row are text.
    """
    row: dict[str, Any] = {"file_name": name if folder == "." else name.removeprefix(f"{folder}/")}
    if video.id != name:
        row["id"] = video.id
    for column in KNOWN:
        value = getattr(video, column)
        if value is not None and not (column == "split" and value == _split_in_path(name)):
            row[column] = str(value) if isinstance(value, Fraction) else value
    row |= {key: value for key, value in video.extra.items() if key not in FolderRow.model_fields}
    return {key: csv_cell(value) for key, value in row.items()} if suffix == ".csv" else row


NUMBER_PATTERN: Final = re.compile(r"[+-]?(\d+([.]\d*)?|[.]\d+)([eE][+-]?\d+)?", re.ASCII)
INTEGER_PATTERN: Final = re.compile(r"[+-]?\d+", re.ASCII)


def read(source: Path) -> Content:
    """Read a folder of videos.

    Raises:
        InputError: A row is damaged, leads out of the folder or occurs twice, or a file does not have its stated hash.
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
            reader.add(FolderRow(file_name=name), name, present[name], "$", None)
    for name, path in present.items():
        if path.stat().st_size == 0:
            reader.content.warnings.append(f"{name} is empty: the download may have been cut off")
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

    def __init__(self, root: Path, present: dict[str, Path]) -> None:
        self.root, self.present, self.content = root, present, Content()
        names = Counter(unicodedata.normalize("NFC", name) for name in present)
        self.spelt = {plain: name for name in present if names[plain := unicodedata.normalize("NFC", name)] == 1}
        """Files by their names in one Unicode form, if only one file has it."""
        self.videos: dict[str, Video] = {}
        self.rows_of_files: dict[str, str] = {}
        """Identifier by the path of the file."""

    def read_metadata(self, path: Path) -> None:
        rows: list[dict[str, Json]] = []
        extra: dict[str, Json] = {}
        ids = []
        folder = path.relative_to(self.root).parent.as_posix()
        for line, place, cells in read_table_rows(path, extra):
            typed = _typed(cells, path, line) if path.suffix == ".csv" else cells
            row = parse(FolderRow, _with_main_column(typed, path, line, place), file=path, line=line, place=place)
            name = _inside(folder, row.file_name, path, line, place)
            name = self.spelt.get(unicodedata.normalize("NFC", name)) or name
            if cells in rows:
                ids.append(self.rows_of_files[name])
                rows.append(cells)
                continue
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
        ours = [_make_row(self.videos[name], self.videos[name].file or name, folder, path.suffix) for name in ids]
        self.content.source_files.append(keep_form(file, rows, ours))

    def add(self, row: FolderRow, name: str, path: Path, place: str, line: int | None) -> str:
        """Add the video of a row, or of a file without a row; return its identifier."""
        if row.licence and row.license and row.licence != row.license:
            raise InputError(
                "licence and license differ",
                file=path, line=line, place=f"{place}.license", value=row.license,
            )  # fmt: skip
        found = self.present.get(name) or file_inside(self.root, name)
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
                "this identifier appears twice", file=path, line=line, place=f"{place}.id", value=identifier
            )
        with record_errors(path, place, line=line):
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
                split=row.split or _split_in_path(name),
                extra=row.unknown,
            )
        self.rows_of_files[name] = identifier
        if found and sha256:
            self.content.media[sha256] = found
        return identifier


def _typed(cells: dict[str, Json], path: Path, line: int | None) -> dict[str, Json]:
    """A CSV row with numbers in its number columns. An empty cell has no value."""
    typed: dict[str, Json] = {}
    for column, text in cells.items():
        if text == "" and column in FolderRow.model_fields and column != "file_name":
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
            "several files in a row, and no column that names the video",
            file=path, line=line, place=place, value=list(cells),
            hint="name the video in a column 'file_name' or 'video_file_name'",
        )  # fmt: skip
    return {"file_name" if column == main else column: value for column, value in cells.items()}


def _inside(folder: str, file_name: str, path: Path, line: int | None, place: str) -> str:
    """The path of a file, relative to the folder that is read."""
    name = (PurePosixPath(folder) / file_name).as_posix()
    if not _stays_inside(file_name) or not _stays_inside(name):
        raise InputError(
            "not a path of a file inside the folder", file=path, line=line, place=f"{place}.file_name", value=file_name
        )
    return name


def _hash(path: Path) -> str:
    try:
        return hash_file(path)[0]
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None


LONGEST_SAFE_PART: Final = 120
"""Most characters of a file name that we make, so that there is room for a suffix."""


def write(content: Content, folder: Path) -> list[str]:
    """Write videos and metadata into an empty folder; return a line for each thing that the layout cannot express.

    Raises:
        InputError: A value cannot be written as text.
    """
    files = [file for file in content.source_files_of(FORMAT) if PurePosixPath(file.path).name in METADATA]
    videos = {video.id: video for video in content.videos}
    paths = _paths(list(videos.values()))
    # A row cannot name a file outside its metadata file's folder. A video that was imported without a row needs none.
    placed: set[str] = set()
    tables: dict[str, tuple[SourceFile, list[str]]] = {}
    lost = _left_out(content)
    for file in files:
        parent = PurePosixPath(file.path).parent
        known = [name for name in file.records if name in videos and name not in placed]
        ids = [name for name in known if PurePosixPath(paths[name]).is_relative_to(parent)]
        gone = sum(name not in videos for name in file.records)
        if gone:
            lost.append(f"rows of {file.path} whose video is gone are left out: {gone:,}")
        placed |= set(ids)
        tables[file.path] = (file, ids)
    rest = [name for name, video in videos.items() if name not in placed and _needs_a_row(video, paths[name], content)]
    if rest:
        path = "metadata.jsonl"
        file, ids = tables.get(path, (SourceFile(format=FORMAT, path=path, kind="metadata"), []))
        tables[path] = (file, [*ids, *rest])
    for path, (file, ids) in tables.items():
        above, suffix = PurePosixPath(path).parent.as_posix(), PurePosixPath(path).suffix
        kept = set(ids)
        # The form of a row is found by its place in the imported file, so deleted rows keep their places.
        rows: list[Json] = [
            _make_row(videos[VideoId(name)], paths[name], above, suffix) if name in kept else None
            for name in file.records
        ]
        rows = restore_form(file, rows)
        added = [name for name in ids if name not in file.records]
        rows += [_make_row(videos[VideoId(name)], paths[name], above, suffix) for name in added]
        rows = [row for row in rows if isinstance(row, dict)]
        lost += write_table_rows(folder / path, rows, {COLUMNS_KEY: ["file_name"], **file.extra})
    for video in videos.values():
        if video.sha256 in content.media:
            target = folder / paths[video.id]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(content.media[video.sha256], target)
    return lost


def _left_out(content: Content) -> list[str]:
    counts: dict[str, int] = {
        name: len(rows) for name, rows in content.rows() if name not in ("videos", "source_files")
    }
    counts["graphs"] = len(content.graphs)
    counts["summaries of videos"] = sum(bool(video.summaries) for video in content.videos)
    counts["media files of no video"] = len(set(content.media) - {video.sha256 for video in content.videos})
    reserved = Counter(key for video in content.videos for key in video.extra if key in FolderRow.model_fields)
    counts |= {f"extra fields '{key}', which are columns of ours,": count for key, count in reserved.items()}
    doubled = len(content.videos) - len({video.id for video in content.videos})
    counts["videos whose identifier appears twice"] = doubled
    return [f"{name} are left out: {count:,}" for name, count in counts.items() if count]


def _paths(videos: list[Video]) -> dict[str, str]:
    """The path of each video's file: the path in its source, if that is safe and free."""
    taken: set[str] = set()
    folders: set[str] = set()
    paths: dict[str, str] = {}
    for video in videos:
        wanted = _safe(video.file or f"{video.id}.mp4")
        flat = PurePosixPath(wanted.replace("/", "_"))
        for attempt in range(len(videos) + 2):
            candidate = (wanted, str(flat))[attempt] if attempt < 2 else f"{flat.stem}-{attempt}{flat.suffix}"
            parents = {parent.as_posix() for parent in PurePosixPath(candidate).parents}
            if candidate not in taken and candidate not in folders and not parents & taken:
                break
        taken.add(candidate)
        folders |= parents
        paths[video.id] = candidate
    return paths


def _safe(name: str) -> str:
    """The name if it is a path below the folder; otherwise a safe path made from it."""
    path = PurePosixPath(name)
    if (
        _stays_inside(name)
        and name == path.as_posix()
        and path.name not in METADATA
        and not any(character < " " for character in name)
    ):
        return name
    parts = []
    for part in name.replace("\\", "/").replace(":", "_").split("/"):
        part = "".join(character if character >= " " else "_" for character in part).strip()
        if part in ("", ".", ".."):
            continue
        if len(part) > LONGEST_SAFE_PART or len(part.encode(errors="replace")) > LONGEST_SAFE_PART:
            digest = hashlib.sha256(part.encode(errors="replace")).hexdigest()[:16]
            suffix = PurePosixPath(part).suffix
            part = digest + (suffix if len(suffix) < 8 and suffix.isascii() else "")
        parts.append(f"video-{part}" if part in METADATA else part)
    return "/".join(parts) or "video.mp4"


def _needs_a_row(video: Video, path: str, content: Content) -> bool:
    bare = (
        Video(id=VideoId(path), file=path, sha256=video.sha256, split=_split_in_path(path))
        if path == video.id
        else None
    )
    seen = PurePosixPath(path).suffix.lower() in VIDEO_SUFFIXES and not any(
        part.startswith(".") for part in PurePosixPath(path).parts
    )
    return video != bare or video.sha256 not in content.media or not seen
