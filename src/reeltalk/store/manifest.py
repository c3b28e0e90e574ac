"""The manifest of a benchmark: hashes, settings and parents of each of its files.

Files of one write share one origin. It is stored once, and each file refers to it by number. Otherwise a stage that
writes a file for every video would list all its inputs for each of these files.
"""

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.record import Json
from reeltalk.store.documents import parse, read_document, write_json
from reeltalk.store.foreign import names_problems, open_file, visible_files

MANIFEST: Final = "manifest.json"
SCHEMA_VERSION: Final = 2
"""Raised when a stored field changes its meaning. `store` reads this version and the one before it."""

MEDIA: Final = "media"
REMOTE: Final = "remote.json"
"""File next to the manifest with the address of the media."""
LINK_ROT: Final = "link-rot.json"
"""File next to the manifest with the report on videos' sources."""
REMOVED: Final = "removed.txt"
"""File of a write in progress that lists removed files, a line each."""
RESERVED: Final = (MANIFEST, MEDIA, REMOTE, LINK_ROT, REMOVED)

HASH_BLOCK_BYTES: Final = 1 << 20


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


class FileEntry(BaseModel):
    """One table or graph file of a benchmark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    size_bytes: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=0)] | None = None
    """Records, for a table."""
    origin: Origin
    """Its origin; one object for all files of a write."""

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
    files: dict[str, FileEntry] = Field(default_factory=dict)
    """Files by path relative to the benchmark, with forward slashes."""

    @model_validator(mode="before")
    @classmethod
    def _share_origins(cls, value: Any) -> Any:
        """Files in their stored form, with the number of their origin; in version 1 each file repeats its origin."""
        if not isinstance(value, dict) or not isinstance(value.get("files"), dict):
            return value
        stored = value.get("origins", [])
        if not isinstance(stored, list):
            raise ValueError("origins is not a list")
        origins = [Origin.model_validate(origin) for origin in stored]
        repeated: dict[str, Origin] = {}

        def shared(entry: Any) -> Any:
            if not isinstance(entry, dict) or isinstance(entry.get("origin"), Origin):
                return entry
            if "origin" in entry:
                number = entry["origin"]
                if type(number) is not int or not 0 <= number < len(origins):
                    raise ValueError(f"a file is of origin {number!r}, and there are {len(origins)}")
                return entry | {"origin": origins[number]}
            own = {name: entry[name] for name in Origin.model_fields if name in entry}
            key = json.dumps(own, sort_keys=True)
            if key not in repeated:
                repeated[key] = Origin.model_validate(own)
            return {name: part for name, part in entry.items() if name not in own} | {"origin": repeated[key]}

        files = {name: shared(entry) for name, entry in value["files"].items()}
        return {name: part for name, part in value.items() if name != "origins"} | {
            "files": files,
            "schema_version": SCHEMA_VERSION,
        }

    def to_json(self) -> str:
        """The manifest as JSON text."""
        keys = {id(entry.origin): entry.origin for entry in self.files.values()}
        told = {key: json.dumps(origin.model_dump(mode="json"), sort_keys=True) for key, origin in keys.items()}
        # Equal origins are merged. They are in the order of their files, so that the same files give the same bytes.
        numbers = {text: number for number, text in enumerate(dict.fromkeys(told.values()))}
        document = self.model_dump(mode="json", exclude={"files"})
        document["origins"] = [json.loads(text) for text in numbers]
        document["files"] = {
            name: {**entry.model_dump(mode="json", exclude={"origin"}), "origin": numbers[told[id(entry.origin)]]}
            for name, entry in self.files.items()
        }
        return write_json(document)

    @property
    def content_hash(self) -> str:
        """One hash of all files. Equal content gives the same hash on every machine."""
        lines = "".join(f"{entry.sha256}  {name}\n" for name, entry in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the benchmark in `folder`.

    Raises:
        BenchmarkError: It does not exist, or a newer reeltalk wrote it.
        InputError: It is damaged, or names a file outside the folder.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BenchmarkError(f"{folder} is not a benchmark: it has no {MANIFEST}; 'reeltalk import' makes one")
    value = read_document(folder, MANIFEST)
    if isinstance(value, dict) and isinstance(version := value.get("schema_version"), int) and version > SCHEMA_VERSION:
        raise BenchmarkError(
            f"{folder} has schema version {version} but this reeltalk reads up to {SCHEMA_VERSION}; update reeltalk"
        )
    if isinstance(value, dict) and isinstance(files := value.get("files"), dict):
        wrong = list(names_problems(files, reserved=RESERVED))
        if wrong:
            more = f"; {len(wrong) - 1:,} more names are wrong" if len(wrong) > 1 else ""
            name, problem = wrong[0]
            raise InputError(
                f"not a file of a benchmark: {problem}", file=path, place="$.files", value=name,
                hint=f"reeltalk does not write such a name: copy the benchmark again from its source{more}",
            )  # fmt: skip
    return parse(Manifest, value, file=path)


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
        for path in visible_files(source):
            digest.update(f"{hash_file(path)[0]}  {path.relative_to(source).as_posix()}\n".encode())
        return digest.hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=error.filename or source) from None
