"""What reading and writing a folder of videos share: the row of a metadata file and which paths are allowed."""

import json
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from reeltalk.schema.media import FrameRate, Video
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel

FORMAT: Final = "folder"
VIDEO_SUFFIXES: Final = frozenset(
    {".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi", ".mpg", ".mpeg", ".ts", ".flv", ".wmv", ".ogv", ".3gp"}
)
METADATA: Final = ("metadata.jsonl", "metadata.csv", "metadata.parquet")
KNOWN: Final = ("sha256", "duration_s", "frame_rate", "width_px", "height_px", "licence", "source", "split")
"""Columns that are fields of `Video`, besides `file_name`, `id`, and `license` for `licence`."""
SPLITS: Final = frozenset({"train", "validation", "val", "dev", "test"})
LONGEST_PART_BYTES: Final = 255
"""Of a file's name; file systems take no more."""

COLUMNS_KEY: Final = "columns"
SCHEMA_KEY: Final = "arrow_schema"


def _whole(value: object) -> object:
    # A table that once had an empty cell comes with 640.0 for 640.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text_of_integer(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Whole = Annotated[int | None, BeforeValidator(_whole)]


class Row(SourceModel):
    """One row; everything but `file_name` may be missing. `license` is read as `licence`."""

    file_name: Annotated[str, Field(min_length=1)]
    id: Annotated[str | None, BeforeValidator(_text_of_integer)] = None
    """The path of the file in the folder where it is missing."""
    sha256: str | None = None
    duration_s: float | None = None
    frame_rate: Annotated[FrameRate | None, BeforeValidator(_whole)] = None
    width_px: Whole = None
    height_px: Whole = None
    licence: str | None = None
    license: str | None = None
    source: str | None = None
    split: str | None = None


def stays_inside(name: str) -> bool:
    """True if a name is a path below a folder that any system can write."""
    path = PurePosixPath(name)
    return not (
        path.is_absolute()
        or not path.parts
        or ".." in path.parts
        or "\\" in name
        or "\0" in name
        or ":" in path.parts[0]
        or any(len(part.encode(errors="replace")) > LONGEST_PART_BYTES for part in path.parts)
    )


def split_of(name: str) -> str | None:
    """The split that the outermost folder names, as VideoFolder reads it."""
    first, *rest = PurePosixPath(name).parts
    return first if first in SPLITS and rest else None


def row_of(video: Video, name: str, folder: str, suffix: str) -> dict[str, Json]:
    """The row of a video whose file is `name`, in the metadata file of `folder`.

    Args:
        video: The video.
        name: Path of its file in the folder of videos.
        folder: That of the metadata file, `.` for the outermost.
        suffix: That of the metadata file; a CSV row is text throughout.
    """
    row: dict[str, Any] = {"file_name": name if folder == "." else name.removeprefix(f"{folder}/")}
    if video.id != name:
        row["id"] = video.id
    for column in KNOWN:
        value = getattr(video, column)
        if value is not None and not (column == "split" and value == split_of(name)):
            row[column] = str(value) if isinstance(value, Fraction) else value
    row |= {key: value for key, value in video.extra.items() if key not in Row.model_fields}
    return {key: csv_cell(value) for key, value in row.items()} if suffix == ".csv" else row


def csv_cell(value: Json) -> str:
    """A value as text; what is neither text nor number as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else json_text(value)


def json_text(value: Json) -> str:
    """A value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)
