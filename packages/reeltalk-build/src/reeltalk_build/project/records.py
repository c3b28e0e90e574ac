"""The state of a project's steps, in one small JSON file next to the project, and the hashes of the steps' inputs.

The file is written whole after each step.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import InputError
from reeltalk.store.atomic import write_bytes
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import MANIFEST, hash_file, read_manifest
from reeltalk.store.runs import ANSWERS, INFO, SUMMARY
from reeltalk_build.project.steps import StepInput

HIDDEN: Final = ".reeltalk"
"""Folder next to the project for internal files."""
RECORDS: Final = f"{HIDDEN}/steps.json"
Ended = Literal["begun", "done", "failed", "interrupted"]


class StepRecord(BaseModel):
    """The last run of a step: its end and its inputs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ended: Ended
    """`begun` if it did not finish, for example after a power cut."""
    code: int = 0
    """Exit code; of a finished step 0, or 1 if there are findings."""
    decides: tuple[str, ...]
    """The parts of its command line that decide the result."""
    reads: dict[str, str]
    """Content hashes of its inputs, by path."""
    version: str
    """The reeltalk that ran it."""
    at: datetime
    """When it began."""
    took_s: Annotated[float, Field(ge=0)] = 0.0
    result: str
    """Path of its result."""


class KnownFile(BaseModel):
    """A hashed file, with the values that show whether it changed since."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size_bytes: int
    changed_ns: int
    sha256: str


class ProjectRecords(BaseModel):
    """The stored state of a project."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    steps: dict[str, StepRecord] = Field(default_factory=dict)
    files: dict[str, KnownFile] = Field(default_factory=dict)
    """Source files by path, so that a folder of videos is read only once."""


def read_records(folder: Path) -> ProjectRecords:
    """Read the state of the project in `folder`; it is empty if the project never ran.

    Raises:
        InputError: The file is damaged.
    """
    path = folder / RECORDS
    if not path.is_file():
        return ProjectRecords()
    try:
        return parse(ProjectRecords, read_json(path), file=path)
    except InputError as error:
        raise InputError(
            f"the stored state of the project cannot be read: {error.problem}",
            file=path,
            hint="delete it; 'reeltalk run --force STEP' repeats a step whose state is lost",
        ) from None


def write_records(folder: Path, records: ProjectRecords) -> None:
    """Write the state of a project, whole or not at all.

    Raises:
        BenchmarkError: It cannot be written.
    """
    write_bytes(folder / RECORDS, write_json(records.model_dump(mode="json")).encode())


MISSING: Final = "missing"
LATER_STAGES: Final = ("construct", "graph", "proactive", "review", "tag", "rubric")
"""First words of the stages that add to a benchmark after its videos and clips are there."""


class Fingerprints:
    """Hashes inputs. A file with the same size and time is not read again."""

    def __init__(self, folder: Path, files: dict[str, KnownFile]) -> None:
        """Create the hashes' cache.

        Args:
            folder: The project's folder; paths are relative to it.
            files: Files that were hashed before; those hashed now are added.
        """
        self._folder, self.files = folder, files

    def of(self, read: StepInput) -> str:
        """The hash of one input of a step.

        Raises:
            InputError: It cannot be read.
            BenchmarkError: It is a benchmark of a newer reeltalk.
        """
        path = self._folder / read.path
        if (path / MANIFEST).is_file():
            manifest = read_manifest(path)
            if read.drafts:
                return manifest.content_hash
            return _of_lines(
                f"{entry.sha256}  {name}"
                for name, entry in sorted(manifest.files.items())
                if entry.stage.split(" ")[0] not in LATER_STAGES
            )
        try:
            if (path / INFO).is_file():
                scores = sorted((path / "scores").glob("*.jsonl"))
                files = [found for name in (INFO, ANSWERS, SUMMARY) if (found := path / name).is_file()]
                return _of_lines(f"{hash_file(f)[0]}  {f.relative_to(path).as_posix()}" for f in (*files, *scores))
            if path.is_file():
                return self._file(path)
            if path.is_dir():
                return _of_lines(f"{self._file(f)}  {f.relative_to(path).as_posix()}" for f in visible_files(path))
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=error.filename or path) from None
        return MISSING

    def _file(self, path: Path) -> str:
        stands = path.stat()
        known = self.files.get(str(path))
        if known is not None and (known.size_bytes, known.changed_ns) == (stands.st_size, stands.st_mtime_ns):
            return known.sha256
        sha256, _ = hash_file(path)
        self.files[str(path)] = KnownFile(size_bytes=stands.st_size, changed_ns=stands.st_mtime_ns, sha256=sha256)
        return sha256


def _of_lines(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
