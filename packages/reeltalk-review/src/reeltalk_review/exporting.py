"""Exports a whole project as JSON Lines and restores it: the work of people with authors and times, on any database.

Passwords, invitations, sessions and request keys are never exported. People in a restored project can sign in
after an operator has given them a new password (`reeltalk review invite --reset`).
"""

import contextlib
import hashlib
import json
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import IO, Annotated, Any, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model
from sqlalchemy import Boolean, Float, Integer, Table, func, insert, select
from sqlalchemy import Text as AnyText
from sqlalchemy.exc import OperationalError, StatementError
from sqlalchemy.orm import Session

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError
from reeltalk.store.atomic import partial_beside, storage_errors, writing, writing_directory
from reeltalk.store.documents import decode_text, input_error, parse, parse_json, write_json
from reeltalk.store.manifest import MANIFEST
from reeltalk_review.credentials import keyed_hash
from reeltalk_review.database import Database, ProjectSettings, in_batches
from reeltalk_review.events import broken_links
from reeltalk_review.rows import NEVER_EXPORTED, UNRECORDED, key_text, line_hash, row_lines
from reeltalk_review.tables import Base, JsonText, ProjectRow

FORMAT: Final = "reeltalk.review"
VERSION: Final = 1
"""Grows when the meaning of the files changes."""
LEFT_OUT: Final = NEVER_EXPORTED | {"requests"}
"""Tables that would give access, or that only guard requests in progress."""
ZIP: Final = ".zip"
"""Ending of an export in one file."""
SECRET: Final = {"events": "signature"}
"""Columns that are not exported. A restore signs events with the key of its own project."""
LARGEST_MANIFEST: Final = 1 << 20
LARGEST_ROW: Final = 16 << 20
"""Bytes of a row. A unit with its draft has some tens of KiB."""
LONGEST_TEXT: Final = 10_000
"""Characters of a text that is not JSON: a name, a title, an identifier, a note."""
LARGEST_NUMBER: Final = 2**31 - 1
"""Of a whole number: PostgreSQL holds no larger one."""
BATCH_BYTES: Final = 4 << 20
"""Bytes of rows that are held in memory."""
BATCH: Final = 2000
TableProgress = Callable[[str, int, int], None]
"""Called with a table, how many of its rows are done, and how many there are."""


class ExportedFile(BaseModel):
    """One table of an export."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    size_bytes: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=0)]


class ExportManifest(BaseModel):
    """Manifest of an export."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str = FORMAT
    format_version: int = VERSION
    reeltalk: str
    """The version of reeltalk that wrote it."""
    project: str
    """Name of the benchmark."""
    content_hash: str
    """Of the benchmark when it was imported, or when reviews were applied last."""
    files: dict[str, ExportedFile]


def exported_tables() -> Sequence[Table]:
    """The exported tables, each after those that it refers to."""
    return [table for table in Base.metadata.sorted_tables if table.name not in LEFT_OUT]


def export_project(database: Database, folder: Path, *, progress: TableProgress = lambda *_: None) -> ExportManifest:
    """Write a project into a folder that appears whole or not at all. People may keep working meanwhile.

    Raises:
        BenchmarkError: The folder is not empty or cannot be written, or the database cannot be read or has no project.
    """
    with database.reading() as session, writing_directory(folder) as partial:
        project = session.execute(select(Base.metadata.tables["project"])).mappings().one_or_none()
        if project is None:
            raise BenchmarkError("there is nothing to export: no benchmark was loaded for review")
        files = {}
        for table in exported_tables():
            with (partial / f"{table.name}.jsonl").open("wb") as stream:
                files[f"{table.name}.jsonl"] = _write(session, table, stream, progress)
        manifest = ExportManifest(
            reeltalk=__version__, project=project["name"], content_hash=project["content_hash"], files=files
        )
        (partial / MANIFEST).write_text(write_json(manifest.model_dump(mode="json")), encoding="utf-8")
    return manifest


def _write(session: Session, table: Table, stream: IO[bytes], progress: TableProgress) -> ExportedFile:
    total = session.scalar(select(func.count()).select_from(table)) or 0
    digest, size_bytes, rows = hashlib.sha256(), 0, 0
    lines = (f"{line}\n" for _, line in row_lines(session, table, without=SECRET.get(table.name)))
    for some in in_batches(lines, BATCH):
        block = "".join(some).encode("ascii")
        digest.update(block)
        stream.write(block)
        size_bytes, rows = size_bytes + len(block), rows + len(some)
        progress(table.name, rows, total)
    return ExportedFile(sha256=digest.hexdigest(), size_bytes=size_bytes, rows=rows)


def read_export_manifest(export: Traversable) -> ExportManifest:
    """The manifest of an export.

    Raises:
        BenchmarkError: There is none, or another version of reeltalk wrote it.
        InputError: It is damaged.
    """
    path = export.joinpath(MANIFEST)
    where = str(path)
    if not path.is_file():
        raise BenchmarkError(f"{export} is not an export of a review: it has no {MANIFEST}")
    with path.open("rb") as stream:
        content = stream.read(LARGEST_MANIFEST + 1)
    if len(content) > LARGEST_MANIFEST:
        raise InputError(f"more than {LARGEST_MANIFEST:,} bytes are too many for this file", file=where, hint=_AGAIN)
    value = parse_json(decode_text(content, file=where), file=where, own=True)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BenchmarkError(f"{export} is not an export of a review; 'reeltalk review export' writes one")
    if isinstance(version := value.get("format_version"), int) and version != VERSION:
        raise BenchmarkError(
            f"{export} was written by another version of reeltalk ({value.get('reeltalk')}); restore it with that one"
        )
    manifest = parse(ExportManifest, value, file=where)
    expected = {f"{table.name}.jsonl" for table in exported_tables()}
    if unknown := sorted(manifest.files.keys() ^ expected):
        raise InputError(
            f"the export does not hold the tables of this reeltalk: {unknown[0]}", file=where,
            hint=f"it was written by reeltalk {manifest.reeltalk}: restore it with that version",
        )  # fmt: skip
    return manifest


def restore_project(
    database: Database, export: Traversable, *, progress: TableProgress = lambda *_: None
) -> ExportManifest:
    """Bring an export into a database that holds no project, whole or not at all.

    The chain of events is verified, each row is checked against the schema, and each table against the history.

    Args:
        database: Without a project, with all tables.
        export: The folder of the export, or what `opened_export` yields.
        progress: Called with the progress.

    Raises:
        BenchmarkError: The database holds a project or cannot be written.
        InputError: The export is damaged; names file and line.
    """
    manifest = read_export_manifest(export)
    with database.writing() as session:
        for table in Base.metadata.sorted_tables:
            if session.execute(select(table).limit(1)).first() is not None:
                raise BenchmarkError(
                    "the database holds a project already; restore into another one (--into, --database)"
                )
        # The history first: it says which rows there are.
        tables = sorted(exported_tables(), key=lambda table: table.name not in ("events", "chain"))
        recorded: dict[str, dict[str, str]] = {}
        for table in tables:
            name = f"{table.name}.jsonl"
            expected = None if table.name in UNRECORDED else recorded.setdefault(table.name, {})
            reader = _TableReader(table, export.joinpath(name), manifest.files[name], database.key, expected)
            reader.read_into(session, progress)
            if table.name == tables[1].name:
                progress("chain of events", 0, manifest.files["events.jsonl"].rows)
                broken = next(broken_links(session, recorded), None)
                if broken is not None:
                    raise InputError(f"the chain of events is broken: {broken}", file=reader.where, hint=_AGAIN)
        _check_project(session, export)
        session.expire_all()
    return manifest


def _check_project(session: Session, export: Traversable) -> None:
    where = str(export.joinpath("project.jsonl"))
    row = session.scalars(select(ProjectRow)).one_or_none()
    if row is None:
        raise InputError("there is no project", file=where, hint=_AGAIN)
    try:
        ProjectSettings.model_validate(row.settings)
    except ValidationError as error:
        raise input_error(error, file=where, line=1, place="$.settings") from None


def export_to_zip(database: Database, file: Path, *, progress: TableProgress = lambda *_: None) -> ExportManifest:
    """Write a project into one file, which appears whole or not at all. People may keep working meanwhile.

    Raises:
        BenchmarkError: The file is there or cannot be written, or the database cannot be read or holds no project.
    """
    if file.exists():
        raise BenchmarkError(f"{file} is there already; choose another name")
    with storage_errors(file), partial_beside(file.with_suffix(".tables"), folder=True) as place:
        folder = place / "export"
        manifest = export_project(database, folder, progress=progress)
        with writing(file) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return manifest


@contextlib.contextmanager
def opened_export(path: Path) -> Iterator[Traversable]:
    """The folder of an export, while the block lasts, or a zip file as if it were one. Nothing is unpacked.

    Raises:
        InputError: The file is damaged, or holds something else than an export.
        BenchmarkError: It cannot be read.
    """
    names = {MANIFEST, *(f"{table.name}.jsonl" for table in exported_tables())}
    try:
        if path.is_dir() or path.suffix != ZIP:
            yield path
            return
        with zipfile.ZipFile(path) as archive:
            found = archive.namelist()
            if strange := next((name for name in found if name not in names or found.count(name) > 1), None):
                raise InputError("not an export of a review", file=path, place=strange, hint=_AGAIN)
            yield zipfile.Path(archive)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error):
        raise InputError("not a zip file, or damaged", file=path, hint="copy the export again") from None
    except OSError as error:
        raise BenchmarkError(f"cannot read {path}: {error.strerror or error}") from error


_AGAIN: Final = "nothing was restored; export the original project again"


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a character that text cannot have")
    return text


_TIME: Final = Annotated[str, Field(pattern=r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\z")]
_KINDS: Final = (
    (Boolean, bool),
    (Integer, Annotated[int, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]),
    (Float, Annotated[float, Field(allow_inf_nan=False)]),
    (AnyText, Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(_without_nul)]),
)
"""What a column's values can be, by its type."""


@cache
def _row_model(table: Table) -> type[BaseModel]:
    """The model of a table's exported rows."""
    fields: dict[str, Any] = {}
    for column in table.columns:
        if column.name == SECRET.get(table.name):
            continue
        kind: Any
        if isinstance(column.type, JsonText):
            kind = column.type.kind or Any
        elif column.name == "at" or column.name.endswith(("_at", "_until")):
            kind = _TIME
        else:
            kind = next(kind for of, kind in _KINDS if isinstance(column.type, of))
        fields[column.name] = (kind | None if column.nullable and kind is not Any else kind, ...)
    return create_model(table.name, __config__=ConfigDict(strict=True, extra="forbid"), **fields)


@dataclass(frozen=True)
class _TableReader:
    """Reads one table of an export into the database: no more than one batch of rows is in memory."""

    table: Table
    file: Traversable
    entry: ExportedFile
    key: bytes = field(repr=False)
    """Signs events."""
    expected: dict[str, str] | None
    """The hash of each row that there should be, by key; None if none has any. Rows that were read are taken out."""

    @property
    def where(self) -> str:
        """The file, for messages."""
        return str(self.file)

    def read_into(self, session: Session, progress: TableProgress) -> None:
        """Insert all rows."""
        if not self.file.is_file():
            raise InputError("listed in the manifest but missing", file=self.where, hint="copy the export again")
        rows: list[dict[str, Any]] = []
        done = held = 0
        digest = hashlib.sha256()
        with self.file.open("rb") as stream:
            while line := stream.readline(LARGEST_ROW + 1):
                digest.update(line)
                rows.append(self._row(line, done + len(rows) + 1))
                held += len(line)
                if len(rows) == BATCH or held > BATCH_BYTES:
                    self._insert(session, rows, done)
                    done, rows, held = done + len(rows), [], 0
                    progress(self.table.name, done, self.entry.rows)
        if rows:
            self._insert(session, rows, done)
        progress(self.table.name, done + len(rows), self.entry.rows)
        if digest.hexdigest() != self.entry.sha256:
            raise self._refusal("damaged: its hash differs from the manifest")
        if self.expected:
            raise self._refusal(f"the row {next(iter(self.expected))} of the history is missing")

    def _insert(self, session: Session, rows: list[dict[str, Any]], done: int) -> None:
        try:
            session.execute(insert(self.table), rows)
        except StatementError as error:
            if getattr(error, "connection_invalidated", False) or isinstance(error, OperationalError):
                raise
            problem = " ".join(str(error.orig).split())
            raise self._refusal(f"rows {done + 1:,} to {done + len(rows):,} contradict others: {problem}") from None

    def _row(self, line: bytes, number: int) -> dict[str, Any]:
        if len(line) > LARGEST_ROW:
            raise self._refusal(f"a row has more than {LARGEST_ROW:,} bytes", number)
        try:
            row = json.loads(line)
            _row_model(self.table).model_validate(row)
        except ValidationError as error:
            raise input_error(error, file=self.where, line=number, place="") from None
        except (ValueError, RecursionError):
            raise self._refusal("not a JSON line", number) from None
        if self.expected is not None:
            key = key_text(self.table, [row[column.name] for column in self.table.primary_key.columns])
            if self.expected.pop(key, None) != line_hash(line.removesuffix(b"\n")):
                raise self._refusal("not what the history leads to, or there twice", number)
        if self.table.name == "events":
            row["signature"] = keyed_hash(self.key, row["hash"])
        found: dict[str, Any] = row
        return found

    def _refusal(self, problem: str, line: int | None = None) -> InputError:
        return InputError(problem, file=self.where, line=line, hint=_AGAIN)
