"""A folder of videos with `metadata.jsonl`, `metadata.csv` or `metadata.parquet`, as Hugging Face's VideoFolder has it.

Each row names a file by `file_name`, relative to its metadata file. Files are hashed and copied, never decoded here.
"""

import csv
import io
import json
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import Field

from reeltalk.errors import InputError
from reeltalk.formats.parquet import read_parquet, write_parquet
from reeltalk.formats.source_form import in_its_form, with_form
from reeltalk.schema.ids import VideoId
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, placed, read_json_lines, read_text, visible_files
from reeltalk.store.manifest import hash_file

FORMAT: Final = "folder"
VIDEO_SUFFIXES: Final = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".ogv", ".3gp"}
)
METADATA: Final = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
NUMBERS: Final = {"duration_s": float, "width_px": int, "height_px": int}
KNOWN: Final = ("sha256", "duration_s", "frame_rate", "width_px", "height_px", "licence", "source", "split")
SPLITS: Final = frozenset({"train", "validation", "val", "dev", "test"})


class Row(SourceModel):
    """One row; everything but `file_name` may be missing. `license` is read as `licence`."""

    file_name: Annotated[str, Field(min_length=1)]
    sha256: str | None = None
    duration_s: float | None = None
    frame_rate: str | int | None = None
    width_px: int | None = None
    height_px: int | None = None
    licence: str | None = None
    license: str | None = None
    source: str | None = None
    split: str | None = None


def read(source: Path) -> Content:
    """Read a folder of videos.

    Raises:
        InputError: A row is damaged, leaves the folder or stands twice, or a file does not have its stated hash.
    """
    if not source.is_dir():
        raise InputError("not a folder", file=source, hint="a folder of videos, with or without metadata")
    content = Content()
    present = {
        path.relative_to(source).as_posix(): path
        for path in visible_files(source)
        if path.suffix.lower() in VIDEO_SUFFIXES
    }
    metadata = [path for path in visible_files(source) if path.name in METADATA]
    if not present and not metadata:
        raise InputError("no videos here", file=source, hint=f"expected {', '.join(METADATA)} or video files")
    videos: dict[str, Video] = {}
    for path in metadata:
        rows = list(_read_rows(path))
        ids = [_add(content, videos, source, path, line, row, present) for line, row in rows]
        file = SourceFile(format=FORMAT, path=path.relative_to(source).as_posix(), kind="metadata", records=tuple(ids))
        ours = [_row(videos[name], path.relative_to(source).parent.as_posix()) for name in ids]
        content.source_files.append(with_form(file, [row for _, row in rows], ours))
    for name, path in present.items():
        if name not in videos:
            if metadata:
                content.warnings.append(f"{name} has no row of metadata")
            sha256, _ = hash_file(path)
            with placed(path, "$"):
                videos[name] = Video(id=VideoId(name), file=name, sha256=sha256, split=_split_of(name))
            content.media[sha256] = path
    content.videos = list(videos.values())
    return content


def _read_rows(path: Path) -> Iterable[tuple[int, dict[str, Json]]]:
    if path.suffix == ".jsonl":
        for line, value in read_json_lines(path):
            if not isinstance(value, dict):
                raise InputError("not an object", file=path, line=line, value=value)
            yield line, value
    elif path.suffix == ".csv":
        yield from _read_csv(path)
    else:
        yield from enumerate(read_parquet(path), start=1)


def _read_csv(path: Path) -> Iterable[tuple[int, dict[str, Json]]]:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        header = next(reader, [])
        if len(set(header)) != len(header):
            raise InputError("a column stands twice", file=path, line=1, value=header)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise InputError(f"{len(cells)} cells under {len(header)} columns", file=path, line=reader.line_num)
            yield reader.line_num, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=reader.line_num) from None


def _add(
    content: Content,
    videos: dict[str, Video],
    root: Path,
    path: Path,
    line: int,
    cells: dict[str, Json],
    present: dict[str, Path],
) -> str:
    row = parse(Row, _typed(cells, path, line) if path.suffix == ".csv" else cells, file=path, line=line, place="")
    relative = PurePosixPath(path.relative_to(root).parent.as_posix()) / row.file_name
    if relative.is_absolute() or ".." in relative.parts or "\\" in row.file_name:
        raise InputError("leads out of the folder", file=path, line=line, place="file_name", value=row.file_name)
    name = relative.as_posix()
    if name in videos:
        raise InputError("this file has two rows", file=path, line=line, place="file_name", value=row.file_name)
    stated, found = row.sha256, present.get(name)
    if found is None and (root / name).is_file():
        found = root / name
    sha256 = hash_file(found)[0] if found else None
    if found is None:
        content.warnings.append(f"{name} is missing ({path.name}:{line})")
    elif stated and stated.lower() != sha256:
        raise InputError(f"the file has hash {sha256}", file=path, line=line, place="sha256", value=stated)
    with placed(path, "", line=line):
        videos[name] = Video(
            id=VideoId(name),
            file=name,
            sha256=sha256 or stated,
            duration_s=row.duration_s,
            frame_rate=row.frame_rate,
            width_px=row.width_px,
            height_px=row.height_px,
            licence=row.licence or row.license,
            source=row.source,
            split=row.split or _split_of(name),
            extra=row.unknown,
        )
    if found and sha256:
        content.media[sha256] = found
    return name


def _typed(cells: dict[str, Json], path: Path, line: int) -> dict[str, Json]:
    """A CSV row with numbers where numbers belong; an empty cell is no value."""
    typed: dict[str, Json] = {}
    for column, text in cells.items():
        if column in KNOWN and text == "":
            continue
        typed[column] = text
        if column in NUMBERS:
            try:
                typed[column] = NUMBERS[column](text)
            except ValueError:
                raise InputError("not a number", file=path, line=line, place=column, value=text) from None
    return typed


def _split_of(name: str) -> str | None:
    """The split that the outermost folder names, as VideoFolder reads it."""
    first = PurePosixPath(name).parts[0]
    return first if first in SPLITS and "/" in name else None


def _row(video: Video, folder: str) -> dict[str, Json]:
    name = video.file or video.id
    row: dict[str, Any] = {"file_name": name if folder == "." else name.removeprefix(f"{folder}/")}
    for column in KNOWN:
        value = getattr(video, column)
        if value is not None:
            row[column] = str(value) if column == "frame_rate" else value
    return row | {key: value for key, value in video.extra.items() if key not in row}


def write(content: Content, folder: Path) -> list[str]:
    """Write videos and metadata into an empty folder; what the layout cannot express is returned, a line each."""
    videos = {video.id: video for video in content.videos}
    files = content.source_files_of(FORMAT)
    lost: list[str] = []
    if not files and content.videos and not _came_without_metadata(content):
        counts = {name: len(rows) for name, rows in content.rows() if rows and name not in ("videos", "source_files")}
        lost = [f"{name} are left out: {count:,}" for name, count in counts.items()]
        videos = {video.id: _with_file(video) for video in content.videos}
        files = [
            SourceFile(format=FORMAT, path="metadata.jsonl", kind="metadata", records=tuple(video for video in videos))
        ]
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        parent = PurePosixPath(file.path).parent.as_posix()
        _write_rows(path, in_its_form(file, [_row(videos[VideoId(name)], parent) for name in file.records]))
    for video in videos.values():
        if video.sha256 in content.media and video.file:
            target = folder / video.file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(content.media[video.sha256], target)
    return lost


def _came_without_metadata(content: Content) -> bool:
    return all(video.file == video.id and video.sha256 in content.media for video in content.videos) and not any(
        rows for name, rows in content.rows() if name != "videos"
    )


def _with_file(video: Video) -> Video:
    """The video with a file name that is safe to write."""
    plain = video.file or f"{video.id}.mp4"
    parts = [
        part for part in PurePosixPath(plain.replace("\\", "/").replace(":", "_")).parts if part not in ("/", "..")
    ]
    return video.model_copy(update={"file": "/".join(parts) or "video.mp4"})


def _write_rows(path: Path, rows: list[dict[str, Json]]) -> None:
    if path.suffix == ".parquet":
        write_parquet(path, rows)
        return
    if path.suffix == ".csv":
        columns = list(dict.fromkeys(key for row in rows for key in row)) or ["file_name"]
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        return
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
