"""The manifest of a benchmark: hashes, settings and parents of each of its files.

Files of one write share one origin. It is stored once, and each file refers to it by number. Otherwise a stage that
writes a file for every video would list all its inputs for each of these files.
"""

import hashlib
import json
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.record import Json
from reeltalk.store.documents import parse, read_document, write_json
from reeltalk.store.foreign import names_problems, open_file, visible_files

MANIFEST: Final = "manifest.json"
SCHEMA_VERSION: Final = 2
"""Raised when a stored field changes its meaning. `store` reads this version only."""

MEDIA: Final = "media"
REMOTE: Final = "remote.json"
REPORT: Final = "report.txt"
"""What the last command with a long report said about a benchmark, whole. It is no part of the benchmark."""
"""File next to the manifest with the address of the media."""
REMOVED: Final = "removed.txt"
"""File of a write in progress that lists removed files, a line each."""
RESERVED: Final = (MANIFEST, MEDIA, REMOTE, REMOVED)

HASH_BLOCK_BYTES: Final = 1 << 20
PART_BYTES: Final = 256 << 20
"""Size from which a table is stored in several files."""


class Origin(BaseModel):
    """The origin of files: a stage, its settings and the files that it read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: str
    """The stage that wrote them, such as `import vdact`."""
    version: str
    """The reeltalk version that wrote them."""
    settings: dict[str, Json] = Field(default_factory=dict)
    parents: dict[str, str] = Field(default_factory=dict)
    """Hash of every file that the stage read, by its name in the benchmark or outside it."""


class Part(BaseModel):
    """One file of a table that is stored in several."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    size_bytes: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=0)]
    videos: tuple[str, str] | None = None
    """The first and the last video of its rows, in the order of their identifiers; None if a row belongs to none."""

    def may_hold(self, videos: Collection[str]) -> bool:
        """False if no row belongs to one of these videos."""
        return self.videos is None or any(self.videos[0] <= video <= self.videos[1] for video in videos)


# A benchmark has one for each graph, and a dataclass with slots takes a sixth of a model's memory.
@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class FileEntry:
    """One table or graph file of a benchmark."""

    sha256: str
    size_bytes: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=0)] | None = None
    """Records, for a table."""
    parts: tuple[Part, ...] = ()
    """The files of a large table, in order; empty for one file. `sha256` is the hash of all together."""
    origin: Origin
    """Its origin; one object for all files of a write."""

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        rows, size_bytes = (sum(getattr(part, field) for part in self.parts) for field in ("rows", "size_bytes"))
        if self.parts and (rows, size_bytes) != (self.rows, self.size_bytes):
            raise ValueError(f"the parts have {rows:,} rows and {size_bytes:,} bytes, and the table others")
        return self

    def stored(self, name: str) -> "dict[str, FileEntry | Part]":
        """The files in which it is stored, by their names in the benchmark.

        Args:
            name: Its own name, such as `chains.jsonl`; parts of it are `chains/part-00000.jsonl` and so on.
        """
        return {part_name(name, number): part for number, part in enumerate(self.parts)} or {name: self}

    @property
    def stage(self) -> str:
        """The stage that wrote it, such as `import vdact`."""
        return self.origin.stage

    @property
    def version(self) -> str:
        """The reeltalk version that wrote it."""
        return self.origin.version

    @property
    def settings(self) -> dict[str, Json]:
        """The stage's settings."""
        return self.origin.settings

    @property
    def parents(self) -> dict[str, str]:
        """Hash of every file that the stage read, by its name in the benchmark or outside it."""
        return self.origin.parents


class Manifest(BaseModel):
    """The files of a benchmark. A file that the manifest does not list is not a part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = "reeltalk.benchmark"
    schema_version: int = SCHEMA_VERSION
    name: str
    release: str | None = None
    """Version of a frozen release; None while the benchmark can still change."""
    canary: str | None = None
    """A unique string by which the release can be found in training data."""
    part_bytes: Annotated[int, Field(ge=1)] | None = None
    """Size from which a table is stored in several files; `PART_BYTES` by default."""
    files: dict[str, FileEntry] = Field(default_factory=dict)
    """Files by path relative to the benchmark, with forward slashes."""

    @model_validator(mode="before")
    @classmethod
    def _share_origins(cls, value: Any) -> Any:
        """Files in their stored form, with the number of their origin."""
        if not isinstance(value, dict) or not isinstance(value.get("files"), dict):
            return value
        stored = value.get("origins", [])
        if not isinstance(stored, list):
            raise ValueError("origins is not a list")
        origins = [Origin.model_validate(origin) for origin in stored]

        def shared(entry: Any) -> Any:
            if not isinstance(entry, dict) or isinstance(entry.get("origin"), Origin):
                return entry
            number = entry.get("origin")
            if type(number) is not int or not 0 <= number < len(origins):
                raise ValueError(f"a file is of origin {number!r}, and there are {len(origins)}")
            return entry | {"origin": origins[number]}

        # Whatever else lists the files has their names once with it.
        files = {sys.intern(name): shared(entry) for name, entry in value["files"].items()}
        return {name: part for name, part in value.items() if name != "origins"} | {"files": files}

    def to_json(self) -> str:
        """The manifest as JSON text."""
        keys = {id(entry.origin): entry.origin for entry in self.files.values()}
        told = {key: json.dumps(origin.model_dump(mode="json"), sort_keys=True) for key, origin in keys.items()}
        # Equal origins are merged. They are in the order of their files, so that the same files give the same bytes.
        numbers = {text: number for number, text in enumerate(dict.fromkeys(told.values()))}
        document = self.model_dump(mode="json", exclude={"files"})
        if self.part_bytes is None:
            del document["part_bytes"]
        document["origins"] = [json.loads(text) for text in numbers]
        document["files"] = {
            name: {
                "sha256": entry.sha256,
                "size_bytes": entry.size_bytes,
                "rows": entry.rows,
                **({"parts": [part.model_dump(mode="json") for part in entry.parts]} if entry.parts else {}),
                "origin": numbers[told[id(entry.origin)]],
            }
            for name, entry in self.files.items()
        }
        return write_json(document)

    def stored(self) -> dict[str, FileEntry | Part]:
        """All files by path relative to the benchmark; a table in several files is several here."""
        return {name: file for table, entry in self.files.items() for name, file in entry.stored(table).items()}

    @property
    def content_hash(self) -> str:
        """One hash of all files. Equal content gives the same hash on every machine."""
        lines = "".join(f"{entry.sha256}  {name}\n" for name, entry in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the benchmark in `folder`.

    Raises:
        BenchmarkError: It does not exist, or is of another version.
        InputError: It is damaged, or names a file outside the folder.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BenchmarkError(f"{folder} is not a benchmark: it has no {MANIFEST}; 'reeltalk import' makes one")
    value = read_document(folder, MANIFEST)
    version = value.get("schema_version", SCHEMA_VERSION) if isinstance(value, dict) else SCHEMA_VERSION
    if isinstance(version, int) and version != SCHEMA_VERSION:
        raise BenchmarkError(f"{folder} has schema version {version}, and this reeltalk reads version {SCHEMA_VERSION}")
    if isinstance(value, dict) and isinstance(files := value.get("files"), dict):
        _check_names(files, path)
    manifest = parse(Manifest, value, file=path)
    if any(entry.parts for entry in manifest.files.values()):
        _check_names(manifest.stored(), path)
    return manifest


def _check_names(names: Iterable[str], path: Path) -> None:
    if wrong := list(names_problems(names, reserved=RESERVED)):
        more = f"; {len(wrong) - 1:,} more names are wrong" if len(wrong) > 1 else ""
        name, problem = wrong[0]
        raise InputError(
            f"not a file of a benchmark: {problem}", file=path, place="$.files", value=name,
            hint=f"reeltalk does not write such a name: copy the benchmark again from its source{more}",
        )  # fmt: skip


def part_name(name: str, number: int) -> str:
    """The name of a part of a table: `part_name("chains.jsonl", 3)` is `chains/part-00003.jsonl`."""
    return f"{name.removesuffix('.jsonl')}/part-{number:05d}.jsonl"


def hash_file(path: Path) -> tuple[str, int]:
    """SHA-256 in hexadecimal, and size in bytes.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    digest, size_bytes = hashlib.sha256(), 0
    with open_file(path) as stream:
        while block := stream.read(HASH_BLOCK_BYTES):
            digest.update(block)
            size_bytes += len(block)
    return digest.hexdigest(), size_bytes


def hash_source(source: Path) -> str:
    """One hash of a file, or of a folder's file names and contents, SHA-256 in hexadecimal.

    Raises:
        InputError: There is no such file or folder, or it cannot be read.
    """
    if not source.exists():
        raise InputError("no such file or folder", file=source, hint="check the path")
    try:
        if not source.is_dir():
            return hash_file(source)[0]
        digest = hashlib.sha256()
        refused: list[InputError] = []
        for path in visible_files(source, refused):
            digest.update(f"{hash_file(path)[0]}  {path.relative_to(source).as_posix()}\n".encode())
        for fault in refused:
            digest.update(f"{fault.problem}  {fault.file.name}\n".encode())
        return digest.hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=error.filename or source) from None
