"""Write any benchmark's videos as a folder with metadata; what a folder cannot hold is said."""

import csv
import hashlib
import json
import shutil
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Final

from reeltalk.errors import InputError
from reeltalk.formats.arrow_rows import write_arrow_rows
from reeltalk.formats.folder_layout import (
    COLUMNS_KEY,
    FORMAT,
    METADATA,
    SCHEMA_KEY,
    VIDEO_SUFFIXES,
    Row,
    csv_cell,
    row_of,
    split_of,
    stays_inside,
)
from reeltalk.formats.source_form import in_its_form
from reeltalk.schema.ids import VideoId
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.content import Content

LONGEST_SAFE_PART: Final = 120
"""Characters of a file's name that we make; leaves room for what a system appends."""


def write(content: Content, folder: Path) -> list[str]:
    """Write videos and metadata into an empty folder; what the layout cannot express is returned, a line each.

    Raises:
        InputError: A value cannot be written as text.
    """
    files = [file for file in content.source_files_of(FORMAT) if PurePosixPath(file.path).name in METADATA]
    videos = {video.id: video for video in content.videos}
    paths = _paths(list(videos.values()))
    # A row cannot reach out of its metadata file's folder, and a video that came without a row needs none.
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
        # The form of a row is known by its place in the file that was read, so rows that are gone keep theirs.
        rows: list[Json] = [
            row_of(videos[VideoId(name)], paths[name], above, suffix) if name in kept else None for name in file.records
        ]
        rows = in_its_form(file, rows)
        added = [name for name in ids if name not in file.records]
        rows += [row_of(videos[VideoId(name)], paths[name], above, suffix) for name in added]
        rows = [row for row in rows if isinstance(row, dict)]
        lost += _write_rows(folder / path, file, rows)
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
    reserved = Counter(key for video in content.videos for key in video.extra if key in Row.model_fields)
    counts |= {f"extra fields '{key}', which are columns of ours,": count for key, count in reserved.items()}
    doubled = len(content.videos) - len({video.id for video in content.videos})
    counts["videos whose identifier stands twice"] = doubled
    return [f"{name} are left out: {count:,}" for name, count in counts.items() if count]


def _paths(videos: list[Video]) -> dict[str, str]:
    """Where each video's file goes: where its source had it, as far as that is safe and free."""
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
    """The name itself where it is a path below the folder; otherwise one made of it that is."""
    path = PurePosixPath(name)
    if (
        stays_inside(name)
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
    bare = Video(id=VideoId(path), file=path, sha256=video.sha256, split=split_of(path)) if path == video.id else None
    seen = PurePosixPath(path).suffix.lower() in VIDEO_SUFFIXES and not any(
        part.startswith(".") for part in PurePosixPath(path).parts
    )
    return video != bare or video.sha256 not in content.media or not seen


def _write_rows(path: Path, file: SourceFile, rows: list[dict[str, Json]]) -> list[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        if path.suffix == ".parquet":
            return write_arrow_rows(path, rows, file.extra.get(SCHEMA_KEY))
        if path.suffix == ".csv":
            header = file.extra.get(COLUMNS_KEY)
            known = [name for name in header if isinstance(name, str)] if isinstance(header, list) else ["file_name"]
            columns = list(dict.fromkeys([*known, *(key for row in rows for key in row)]))
            with path.open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows([csv_cell(row.get(name)) for name in columns] for row in rows)
        else:
            lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows]
            path.write_bytes("".join(lines).encode())
    except (UnicodeEncodeError, ValueError, TypeError) as error:
        raise InputError(f"a value cannot be written: {error}", file=path) from None
    return []
