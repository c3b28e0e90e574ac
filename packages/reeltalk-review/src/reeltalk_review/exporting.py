"""Exports a whole project as JSON Lines and restores it: the work of people with authors and times, on any database.

Passwords, invitations, sessions, tokens and request keys are never exported. People in a restored project can sign in
after an operator has given them a new password (`reeltalk review invite --reset`).
"""

import contextlib
import hashlib
import json
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Boolean, Column, Float, Integer, Table, collate, func, insert, select, type_coerce
from sqlalchemy import Text as AnyText
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.orm import Session

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.record import Json
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, writing, writing_directory
from reeltalk.store.documents import parse, read_json, write_json
from reeltalk.store.manifest import MANIFEST
from reeltalk_review.database import Database, in_batches
from reeltalk_review.describing import describe_units
from reeltalk_review.events import broken_links
from reeltalk_review.tables import Base, JsonText

FORMAT: Final = "reeltalk.review"
VERSION: Final = 1
"""Grows when the meaning of the files changes."""
LEFT_OUT: Final = frozenset({"invitations", "sessions", "tokens", "resets", "requests", "unit_words"})
"""Tables that would give access, that only guard requests in progress, or that follow from others."""
ZIP: Final = ".zip"
"""Ending of an export in one file."""
SECRET: Final[Mapping[str, Mapping[str, str]]] = {"people": {"password": ""}}
"""Columns that are not exported, with the value that a restore puts in their place."""
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

    Args:
        database: The project's database.
        folder: Target folder; it must be empty or not exist.
        progress: Called with the progress.

    Raises:
        BenchmarkError: The folder is not empty or cannot be written, or the database cannot be read or holds no
        project.
    """
    with database.reading() as session, writing_directory(folder) as partial:
        if not database.is_sqlite:
            # One snapshot for all tables. SQLite gives that by itself.
            session.connection(execution_options={"isolation_level": "REPEATABLE READ"})
        project = session.execute(select(Base.metadata.tables["project"])).mappings().one_or_none()
        if project is None:
            raise BenchmarkError("there is nothing to export: no benchmark was loaded for review")
        files = {}
        for table in exported_tables():
            with (partial / f"{table.name}.jsonl").open("wb") as stream:
                files[f"{table.name}.jsonl"] = _write(session, table, stream, database.is_sqlite, progress)
        manifest = ExportManifest(
            reeltalk=__version__, project=project["name"], content_hash=project["content_hash"], files=files
        )
        (partial / MANIFEST).write_text(write_json(manifest.model_dump(mode="json")), encoding="utf-8")
    return manifest


def _write(session: Session, table: Table, stream: IO[bytes], is_sqlite: bool, progress: TableProgress) -> ExportedFile:
    columns = _columns(table)
    total = session.scalar(select(func.count()).select_from(table)) or 0
    # JSON is stored as canonical text already, so it is copied, not parsed.
    query = select(
        *(type_coerce(column, AnyText) if isinstance(column.type, JsonText) else column for column in columns)
    ).order_by(*(_ordered(column, is_sqlite) for column in table.primary_key.columns))
    keys = [f'"{column.name}":' for column in columns]
    documents = [isinstance(column.type, JsonText) for column in columns]
    digest, size_bytes, rows = hashlib.sha256(), 0, 0
    result = session.execute(query.execution_options(yield_per=BATCH))
    for some in result.partitions():
        lines = []
        for row in some:
            values = (
                key + (("null" if value is None else value) if is_document else _scalar(value))
                for key, value, is_document in zip(keys, row, documents, strict=True)
            )
            lines.append("{" + ",".join(values) + "}\n")
        block = "".join(lines).encode("ascii")
        digest.update(block)
        stream.write(block)
        size_bytes, rows = size_bytes + len(block), rows + len(lines)
        progress(table.name, rows, total)
    return ExportedFile(sha256=digest.hexdigest(), size_bytes=size_bytes, rows=rows)


def _columns(table: Table) -> list[Column[Any]]:
    """The exported columns of a table, by name."""
    secret = SECRET.get(table.name, {})
    return sorted((column for column in table.columns if column.name not in secret), key=lambda column: column.name)


def _ordered(column: Column[Any], is_sqlite: bool) -> Any:
    # By code point on every database: the order of a locale differs between machines.
    return column if is_sqlite or not isinstance(column.type, AnyText) else collate(column, "C")


_scalar: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False).encode


def read_export_manifest(folder: Path) -> ExportManifest:
    """The manifest of an export, after checking the hashes of its files.

    Raises:
        BenchmarkError: There is none, or another version of reeltalk wrote it.
        InputError: It or a file is damaged.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise BenchmarkError(f"{folder} is not an export of a review: it has no {MANIFEST}")
    value = read_json(path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BenchmarkError(f"{folder} is not an export of a review; 'reeltalk review export' writes one")
    if isinstance(version := value.get("format_version"), int) and version != VERSION:
        raise BenchmarkError(
            f"{folder} was written by another version of reeltalk ({value.get('reeltalk')}); restore it with that one"
        )
    manifest = parse(ExportManifest, value, file=path)
    expected = {f"{table.name}.jsonl" for table in exported_tables()}
    if unknown := sorted(manifest.files.keys() ^ expected):
        raise InputError(
            f"the export does not hold the tables of this reeltalk: {unknown[0]}", file=path,
            hint=f"it was written by reeltalk {manifest.reeltalk}: restore it with that version",
        )  # fmt: skip
    for name, entry in manifest.files.items():
        file = folder / name
        if not file.is_file():
            raise InputError("listed in the manifest but missing", file=file, hint="copy the export again")
        with file.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != entry.sha256:
            raise InputError("damaged: its hash differs from the manifest", file=file, hint="copy the export again")
    return manifest


def restore_project(database: Database, folder: Path, *, progress: TableProgress = lambda *_: None) -> ExportManifest:
    """Bring an export into a database that holds no project, whole or not at all. The chain of events is verified.

    Args:
        database: Without a project, with all tables.
        folder: The export.
        progress: Called with the progress.

    Raises:
        BenchmarkError: The database holds a project or cannot be written.
        InputError: The export is damaged; names file and line.
    """
    manifest = read_export_manifest(folder)
    with database.writing() as session:
        for table in Base.metadata.sorted_tables:
            if session.execute(select(table).limit(1)).first() is not None:
                raise BenchmarkError(
                    "the database holds a project already; restore into another one (--into, --database)"
                )
        for table in exported_tables():
            _read(session, table, folder / f"{table.name}.jsonl", manifest, progress)
        session.expire_all()
        describe_units(session)
        progress("chain of events", 0, manifest.files["events.jsonl"].rows)
        broken = next(broken_links(session), None)
        if broken is not None:
            raise InputError(f"the chain of events is broken: {broken}", file=folder / "events.jsonl", hint=_AGAIN)
    return manifest


def export_to_zip(database: Database, file: Path, *, progress: TableProgress = lambda *_: None) -> ExportManifest:
    """Write a project into one file, which appears whole or not at all. People may keep working meanwhile.

    Args:
        database: The project's database.
        file: Target file, which must not exist.
        progress: Called with the progress.

    Raises:
        BenchmarkError: The file is there or cannot be written, or the database cannot be read or holds no project.
    """
    if file.exists():
        raise BenchmarkError(f"{file} is there already; choose another name")
    with storage_errors(file), tempfile.TemporaryDirectory(dir=file.parent, prefix=PARTIAL_PREFIX) as place:
        folder = Path(place) / "export"
        manifest = export_project(database, folder, progress=progress)
        with writing(file) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return manifest


@contextlib.contextmanager
def opened_export(path: Path) -> Iterator[Path]:
    """The folder of an export, while the block lasts; of a file, a copy that is unpacked beside it.

    Raises:
        InputError: The file is damaged, or holds something else than an export.
        BenchmarkError: It cannot be unpacked.
    """
    if path.is_dir() or path.suffix != ZIP:
        yield path
        return
    names = {MANIFEST, *(f"{table.name}.jsonl" for table in exported_tables())}
    with storage_errors(path), tempfile.TemporaryDirectory(dir=path.parent, prefix=PARTIAL_PREFIX) as place:
        try:
            with zipfile.ZipFile(path) as archive:
                found = archive.namelist()
                if strange := next((name for name in found if name not in names or found.count(name) > 1), None):
                    raise InputError("not an export of a review", file=path, place=strange, hint=_AGAIN)
                archive.extractall(place)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error):
            raise InputError("not a zip file, or damaged", file=path, hint="copy the export again") from None
        yield Path(place)


_AGAIN: Final = "nothing was restored; export the original project again"


def _read(session: Session, table: Table, file: Path, manifest: ExportManifest, progress: TableProgress) -> None:
    columns, total, done = _columns(table), manifest.files[file.name].rows, 0
    with file.open("rb") as stream:
        for some in in_batches(_rows(stream, file, columns, SECRET.get(table.name, {})), BATCH):
            try:
                session.execute(insert(table), some)
            except IntegrityError as error:
                problem = " ".join(str(error.orig).split())
                raise InputError(f"rows {done + 1:,} to {done + len(some):,} contradict others: {problem}", file=file,
                    hint=_AGAIN) from None  # fmt: skip
            except DBAPIError as error:
                if getattr(error, "connection_invalidated", False) or type(error).__name__ == "OperationalError":
                    raise
                problem = " ".join(str(error.orig).split())
                raise InputError(f"cannot be stored: {problem}", file=file, hint=_AGAIN) from None
            done += len(some)
            progress(table.name, done, total)


def _rows(
    stream: Iterable[bytes], file: Path, columns: Sequence[Column[Any]], more: Mapping[str, Json]
) -> Iterator[dict[str, Json]]:
    names = {column.name for column in columns}
    kinds = {column.name: _kinds(column) for column in columns if not isinstance(column.type, JsonText)}
    for number, line in enumerate(stream, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError("not a JSON line", file=file, line=number, hint=_AGAIN) from None
        if not isinstance(row, dict) or row.keys() != names:
            wrong = sorted(row.keys() ^ names)[0] if isinstance(row, dict) else None
            raise InputError("not a row of this table", file=file, line=number, place=wrong, hint=_AGAIN)
        for name, kind in kinds.items():
            if type(row[name]) not in kind:
                raise InputError(
                    "has a value of another kind", file=file, line=number, place=name, value=row[name], hint=_AGAIN
                )
        yield {**row, **more}


def _kinds(column: Column[Any]) -> tuple[type, ...]:
    empty: tuple[type, ...] = (type(None),) if column.nullable else ()
    if isinstance(column.type, Boolean):
        return (bool, *empty)
    if isinstance(column.type, Integer):
        return (int, *empty)
    if isinstance(column.type, Float):
        return (float, int, *empty)
    return (str, *empty)
