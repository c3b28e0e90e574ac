"""Label Studio's JSON: tasks to import, and both forms in which a project is exported.

Full JSON has a task with its annotations, JSON-MIN a row an annotation, with the task's data and the controls' values
side by side (`prettify_result` of label-studio-sdk's converter makes one value of a list of one).
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import InputError
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, parse

SOURCE: Final = "reeltalk"
"""Under which key of a task's data we keep what we need to read it back."""
LAYOUT: Final = 1
"""Raised when what we keep there changes its meaning."""
KEPT: Final = "kept"
"""Folder of the rows that no task holds."""
MIN_OWN: Final = {"id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement"}
"""What JSON-MIN writes beside data and controls."""


class Row(BaseModel):
    """A row of a table with its place in it, so that rows of many tasks come back in order."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    table: str
    row: Annotated[int, Field(ge=0, lt=10**9)]
    record: dict[str, Json]


class Source(BaseModel):
    """What we keep in a task's data."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    layout: int
    units: list[Row]
    """The chains and dialogues whose turns the task has, in order."""
    rows: list[Row] = Field(default_factory=list)
    """Their videos, clips and linkages."""
    rate_hz: Annotated[float, Field(gt=0, le=1000)]
    """Ticks per second of the time line."""
    kept: dict[str, int] = Field(default_factory=dict)
    """How many rows of which table stand in the exported folder only."""


class Region(SourceModel):
    """One result of an annotation; a relation between two has no control."""

    from_name: str | None = None
    type: str | None = None
    value: dict[str, Any] = Field(default_factory=dict)


class Annotation(SourceModel):
    """What one person made of a task."""

    id: int | str | None = None
    result: list[Region] = Field(default_factory=list)
    completed_by: int | str | dict[str, Any] | None = None
    was_cancelled: bool | None = None
    ground_truth: bool | None = None
    created_at: str | None = None
    updated_at: str | None = None


class FullTask(SourceModel):
    """A task of full JSON."""

    id: int | str | None = None
    data: dict[str, Any]
    annotations: list[Annotation] = Field(default_factory=list)
    drafts: list[Any] | None = None


@dataclass
class Task:
    """A task as it came back, from whichever form."""

    file: Path
    place: str
    source: Source
    id: int | str | None = None
    annotations: list[tuple[str, Annotation]] = field(default_factory=list)
    """Each with its JSON path."""
    drafts: int = 0
    """How much was begun and not submitted."""


def read_tasks(file: Path, value: Json) -> list[Task]:
    """The tasks of an export, or of a file of tasks.

    Raises:
        InputError: It is none, or a task did not come from reeltalk; names the place.
    """
    if not isinstance(value, list):
        raise InputError("must be a list of tasks", file=file, place="$", value=value, hint="export JSON or JSON-MIN")
    tasks = []
    for number, item in enumerate(value):
        place = f"$[{number}]"
        if isinstance(item, dict) and "data" not in item and SOURCE in item:
            tasks.append(_min_task(file, place, item))
        else:
            tasks.append(_full_task(file, place, item))
    return tasks


def _full_task(file: Path, place: str, item: Json) -> Task:
    full = parse(FullTask, item, file=file, place=place)
    source = _source(file, f"{place}.data", full.data)
    annotations = [(f"{place}.annotations[{number}]", annotation) for number, annotation in enumerate(full.annotations)]
    return Task(file, place, source, full.id, annotations, len(full.drafts or ()))


def _min_task(file: Path, place: str, item: dict[str, Any]) -> Task:
    source = _source(file, place, item)
    regions = [
        {"from_name": name, "value": found}
        for name, value in item.items()
        if name not in MIN_OWN and _is_control(name)
        for found in _min_values(name, value)
    ]
    given = {
        "id": item.get("annotation_id"),
        "result": regions,
        "completed_by": item.get("annotator"),
        **{key: item.get(key) for key in ("created_at", "updated_at")},
    }
    task = Task(file, place, source, item.get("id"))
    # A task without annotations is a row too.
    if item.get("annotation_id") is not None or regions:
        task.annotations.append((place, parse(Annotation, given, file=file, place=place)))
    return task


def _is_control(name: str) -> bool:
    return name == "evidence" or name.rpartition("_")[2].isdecimal()


def _min_values(name: str, value: Json) -> list[dict[str, Any]]:
    """The values that JSON-MIN shortened, as full JSON has them."""
    found = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            found.append(item)
        elif isinstance(item, str):
            # The converter drops the word for what it is; a control of ours reads one of the two only.
            found.append({"text": [item], "choices": [item]})
        else:
            found.append({"": item})
    return found


def _source(file: Path, place: str, data: dict[str, Any]) -> Source:
    if SOURCE not in data:
        raise InputError(
            f"not a task that reeltalk exported: its data has no '{SOURCE}'",
            file=file,
            place=place,
            hint="import the tasks of 'reeltalk export label-studio' into Label Studio, and keep their data",
        )
    source = parse(Source, data[SOURCE], file=file, place=f"{place}.{SOURCE}")
    if source.layout != LAYOUT:
        raise InputError(
            "exported by another version of reeltalk",
            file=file,
            place=f"{place}.{SOURCE}.layout",
            value=source.layout,
            hint=f"this version reads layout {LAYOUT}; import it with the version that exported it",
        )
    return source


def moment_of(text: str | None, file: Path, place: str) -> datetime | None:
    """A time as Label Studio writes it; in UTC where it says no zone.

    Raises:
        InputError: It is no time.
    """
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InputError("not a time", file=file, place=place, value=text, hint="as 2026-01-31T12:00:00Z") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
