"""The manifest of a benchmark: hashes, settings and parents of every file it consists of."""

import hashlib
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.record import Json
from reeltalk.store.documents import parse, read_json, visible_files, write_json

MANIFEST: Final = "manifest.json"
SCHEMA_VERSION: Final = 1
"""Grows when a stored field changes its meaning. `store` reads this version and the one before it."""

HASH_BLOCK_BYTES: Final = 1 << 20


class FileEntry(BaseModel):
    """One table or graph file of a benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    size_bytes: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=0)] | None = None
    """Records, for a table."""
    stage: str
    """What wrote it, as `import vdact`."""
    version: str
    """The reeltalk version that wrote it."""
    settings: dict[str, Json] = Field(default_factory=dict)
    parents: dict[str, str] = Field(default_factory=dict)
    """Hash of every file that the stage read, by its name in the benchmark or outside it."""


class Manifest(BaseModel):
    """What a benchmark consists of. Whatever the manifest does not list is not part of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = "reeltalk.benchmark"
    schema_version: int = SCHEMA_VERSION
    name: str
    release: str | None = None
    """Version of a frozen release; None while the benchmark can still change."""
    canary: str | None = None
    """A string that no other text holds, by which the release can be found in training data."""
    files: dict[str, FileEntry] = Field(default_factory=dict)
    """By path relative to the benchmark, with forward slashes."""

    def to_json(self) -> str:
        """The manifest as it is written."""
        return write_json(self.model_dump(mode="json"))

    @property
    def content_hash(self) -> str:
        """One hash of all files, hence of all content: equal content on any machine gives the same."""
        lines = "".join(f"{entry.sha256}  {name}\n" for name, entry in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the benchmark in `folder`.

    Raises:
        BenchmarkError: There is none, or a newer reeltalk wrote it.
        InputError: It is damaged.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BenchmarkError(f"{folder} is not a benchmark: it has no {MANIFEST}; 'reeltalk import' makes one")
    value = read_json(path)
    if isinstance(value, dict) and isinstance(version := value.get("schema_version"), int) and version > SCHEMA_VERSION:
        raise BenchmarkError(
            f"{folder} has schema version {version} but this reeltalk reads up to {SCHEMA_VERSION}; update reeltalk"
        )
    return parse(Manifest, value, file=path)


def hash_file(path: Path) -> tuple[str, int]:
    """SHA-256 in hexadecimal, and size in bytes."""
    digest, size_bytes = hashlib.sha256(), 0
    with path.open("rb") as stream:
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
        if source.is_file():
            return hash_file(source)[0]
        digest = hashlib.sha256()
        for path in visible_files(source):
            digest.update(f"{hash_file(path)[0]}  {path.relative_to(source).as_posix()}\n".encode())
        return digest.hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=error.filename or source) from None
