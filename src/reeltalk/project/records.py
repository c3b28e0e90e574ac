"""What a project remembers of its steps: one small JSON file beside it, written whole after each step."""

from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import InputError
from reeltalk.store.atomic import write_bytes
from reeltalk.store.documents import parse, read_json, write_json

HIDDEN: Final = ".reeltalk"
"""Folder beside the project for what people need not look at."""
RECORDS: Final = f"{HIDDEN}/steps.json"
Ended = Literal["begun", "done", "failed", "interrupted"]


class Record(BaseModel):
    """How a step ended when it was last run, and what it rested on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ended: Ended
    """`begun` where it never came to an end, as after a power cut."""
    code: int = 0
    """Exit code: 0, or 1 where there are findings, of what is done."""
    decides: tuple[str, ...]
    """The parts of its command line that decide the result."""
    reads: dict[str, str]
    """Content hashes of what it read, by path."""
    version: str
    """The reeltalk that ran it."""
    at: datetime
    """When it began."""
    took_s: Annotated[float, Field(ge=0)] = 0.0
    result: str
    """What it writes."""


class KnownFile(BaseModel):
    """A file that was hashed, and by what one sees that it has not changed since."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size_bytes: int
    changed_ns: int
    sha256: str


class Records(BaseModel):
    """All that is remembered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    steps: dict[str, Record] = Field(default_factory=dict)
    files: dict[str, KnownFile] = Field(default_factory=dict)
    """Source files by path, so that a folder of videos is not read again and again."""


def read_records(folder: Path) -> Records:
    """What is remembered of the project in `folder`; nothing where it never ran.

    Raises:
        InputError: The file is damaged.
    """
    path = folder / RECORDS
    if not path.is_file():
        return Records()
    try:
        return parse(Records, read_json(path), file=path)
    except InputError as error:
        raise InputError(
            f"the project's memory cannot be read: {error.problem}",
            file=path,
            hint="delete it; 'reeltalk run --force STEP' makes anew what it no longer knows",
        ) from None


def write_records(folder: Path, records: Records) -> None:
    """Remember, whole or not at all.

    Raises:
        BenchmarkError: It cannot be written.
    """
    write_bytes(folder / RECORDS, write_json(records.model_dump(mode="json")).encode())
