"""A benchmark on disk: create, open, read a table, write tables together.

Several files change in one step. A writer prepares them in a folder of its own, whose rename to `.commit` is the
moment at which they count; then each file moves to its place. Whoever opens a benchmark that has a `.commit` first
finishes those moves. So a process may die at any instant and the benchmark holds either all of a write or none.
"""

import contextlib
import os
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from filelock import FileLock, Timeout

from reeltalk import __version__
from reeltalk.errors import BenchmarkError, FrozenError
from reeltalk.schema.record import Json, Record
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, sync_directory
from reeltalk.store.content import Content
from reeltalk.store.manifest import MANIFEST, FileEntry, Manifest, Origin, hash_file, read_manifest
from reeltalk.store.media import MediaStore
from reeltalk.store.tables import TABLES, Table, read_rows, write_rows

R = TypeVar("R", bound=Record)

COMMIT: Final = ".commit"
LOCK: Final = ".lock"
GRAPHS: Final = "graphs"
WORK: Final = ".work"
"""Folder in which stages keep what they have done so far; no part of the benchmark, safe to delete."""
LOCK_WAIT_S: Final = 30.0


class Benchmark:
    """A directory of typed tables.

    Open with `Benchmark.open`, make with `Benchmark.create`. Reading needs no lock: a file that is replaced while it
    is read stays whole for its reader.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path, self.manifest = path, manifest
        self.media = MediaStore(path)

    @classmethod
    def create(cls, path: Path | str, *, name: str | None = None) -> "Benchmark":
        """Make an empty benchmark; one that exists and is empty of tables is opened.

        Raises:
            BenchmarkError: `path` holds something else, or cannot be written.
        """
        path = Path(path)
        if path.is_dir() and any(
            entry.name not in (LOCK,) and not entry.name.startswith(PARTIAL_PREFIX) for entry in path.iterdir()
        ):
            if not (path / MANIFEST).is_file() and not (path / COMMIT).is_dir():
                raise BenchmarkError(f"{path} exists and is not a benchmark; choose another folder")
            return cls.open(path)
        if path.exists() and not path.is_dir():
            raise BenchmarkError(f"{path} is a file; choose a folder")
        with storage_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        benchmark = cls(path, Manifest(name=name or path.resolve().name))
        with benchmark._locked():
            benchmark._finish_commit()
            if not (path / MANIFEST).is_file():
                benchmark._commit({}, benchmark.manifest)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str) -> "Benchmark":
        """Open a benchmark, finishing a write that was interrupted after it counted.

        Raises:
            BenchmarkError: `path` is no benchmark.
            InputError: Its manifest is damaged.
        """
        path = Path(path)
        if (path / COMMIT).is_dir():
            unfinished = cls(path, Manifest(name="unfinished"))
            with unfinished._locked():
                unfinished._finish_commit()
        return cls(path, read_manifest(path))

    def read(self, table: Table[R]) -> Iterator[R]:
        """The rows of a table, one at a time; none where the benchmark has no such table.

        Raises:
            InputError: A line is damaged; names file, line and field.
        """
        if table.file_name not in self.manifest.files:
            return iter(())
        return read_rows(self.path / table.file_name, table.record)

    def rows(self, table: Table[Any]) -> int:
        """How many rows the manifest counts in a table."""
        entry = self.manifest.files.get(table.file_name)
        return entry.rows or 0 if entry else 0

    def content(self) -> Content:
        """All of the benchmark in memory.

        Raises:
            InputError: A line is damaged.
        """
        content = Content()
        for name, table in TABLES.items():
            setattr(content, name, list(self.read(table)))
        graphs = {
            Path(name).stem: (self.path / name).read_text(encoding="utf-8")
            for name in self.manifest.files
            if name.startswith(f"{GRAPHS}/")
        }
        media = {sha256: self.media.path(sha256) for sha256 in self.media.names()}
        return replace(content, graphs=graphs, media=media)

    def check_changeable(self) -> None:
        """Refuse a release, before work that could not be written.

        Raises:
            FrozenError: The benchmark is a release.
        """
        if self.manifest.release is not None:
            raise FrozenError(
                f"{self.path} is release {self.manifest.release}, which does not change; copy it, or freeze a new one"
            )

    @contextlib.contextmanager
    def writing(
        self,
        *,
        stage: str,
        settings: dict[str, Json] | None = None,
        parents: dict[str, str] | None = None,
    ) -> Iterator["BenchmarkWriter"]:
        """Tables and files that change together when the block ends, or not at all where it raises.

        Raises:
            FrozenError: The benchmark is a release.
            BenchmarkError: Another process writes it, or it cannot be written.
        """
        self.check_changeable()
        with self._locked(), storage_errors(self.path):
            self._finish_commit()
            self._remove_partials()
            self.manifest = read_manifest(self.path)
            prepared = self.path / f"{PARTIAL_PREFIX}{os.getpid()}"
            prepared.mkdir()
            try:
                writer = BenchmarkWriter(prepared, stage=stage, settings=settings or {}, parents=parents or {})
                yield writer
                files = {name: entry for name, entry in self.manifest.files.items() if name not in writer.removed}
                manifest = self.manifest.model_copy(update={"files": dict(sorted((files | writer.entries).items()))})
                self._commit(writer.entries, manifest, prepared, removed=writer.removed)
                self.manifest = manifest
            finally:
                shutil.rmtree(prepared, ignore_errors=True)

    def write_content(
        self,
        content: Content,
        *,
        stage: str,
        settings: dict[str, Json] | None = None,
        parents: dict[str, str] | None = None,
    ) -> dict[str, int]:
        """Replace the whole benchmark by `content`, in one step.

        Returns:
            Rows written by table, empty tables left out.

        Raises:
            FrozenError: The benchmark is a release.
            BenchmarkError: It cannot be written.
        """
        for path in content.media.values():
            self.media.add(path)
        with self.writing(stage=stage, settings=settings, parents=parents) as writer:
            writer.remove_all(self.manifest)
            for name, rows in content.rows():
                if rows:
                    writer.add(TABLES[name], rows)
            for name, quads in content.graphs.items():
                writer.add_graph(name, quads)
        return {name: len(rows) for name, rows in content.rows() if rows}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FileLock(self.path / LOCK, timeout=LOCK_WAIT_S)
        with storage_errors(self.path):
            try:
                lock.acquire()
            except Timeout:
                raise BenchmarkError(
                    f"another process has been writing {self.path} for {LOCK_WAIT_S:.0f} s; wait for it to end"
                ) from None
        try:
            yield
        finally:
            lock.release()

    def _commit(
        self,
        entries: dict[str, FileEntry],
        manifest: Manifest,
        prepared: Path | None = None,
        *,
        removed: frozenset[str] = frozenset(),
    ) -> None:
        if prepared is None:
            prepared = self.path / f"{PARTIAL_PREFIX}{os.getpid()}"
            prepared.mkdir()
        _write_synced(prepared / MANIFEST, manifest.to_json().encode())
        # What is removed is listed beside the manifest, since finishing must not need the old manifest.
        gone = sorted(removed - set(entries))
        _write_synced(prepared / "removed.txt", "".join(f"{name}\n" for name in gone).encode())
        for folder, _, _ in os.walk(prepared):
            sync_directory(Path(folder))
        prepared.rename(self.path / COMMIT)
        sync_directory(self.path)
        self._finish_commit()

    def _finish_commit(self) -> None:
        commit = self.path / COMMIT
        if not commit.is_dir():
            return
        removed = commit / "removed.txt"
        if removed.is_file():
            for name in removed.read_text(encoding="utf-8").splitlines():
                (self.path / name).unlink(missing_ok=True)
        for folder, _, names in os.walk(commit):
            for name in sorted(names):
                path = Path(folder, name)
                relative = path.relative_to(commit)
                if relative.name in ("removed.txt", MANIFEST):
                    continue
                target = self.path / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                path.replace(target)
        # The manifest moves last: it describes the files only once all are in place.
        if (commit / MANIFEST).is_file():
            (commit / MANIFEST).replace(self.path / MANIFEST)
        sync_directory(self.path)
        shutil.rmtree(commit)

    def _remove_partials(self) -> None:
        for path in self.path.glob(f"{PARTIAL_PREFIX}*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class BenchmarkWriter:
    """Collects the files of one write. Made by `Benchmark.writing`."""

    def __init__(self, folder: Path, *, stage: str, settings: dict[str, Json], parents: dict[str, str]) -> None:
        self._folder = folder
        self._origin = Origin(stage=stage, version=__version__, settings=settings, parents=parents)
        self.entries: dict[str, FileEntry] = {}
        self.removed: frozenset[str] = frozenset()

    def add(self, table: Table[R], rows: Iterable[R], *, work_of: FileEntry | None = None) -> int:
        """Write a table in place of the one there is; how many rows it has.

        Args:
            table: Which.
            rows: All of its rows.
            work_of: The table's entry, where what is added to its rows leaves it the work of the stage that wrote it.
        """
        with self._file(table.file_name) as stream:
            count = write_rows(stream, rows)
        self._enter(table.file_name, rows=count, work_of=work_of)
        return count

    def add_graph(self, name: str, quads: str) -> None:
        """Write a graph as N-Quads.

        Args:
            name: The clip or activity that it describes; becomes the file's name.
            quads: The text.
        """
        if not name or name.startswith(".") or "/" in name or "\\" in name or "\0" in name:
            raise BenchmarkError(f"a graph cannot be named {name!r}: the name becomes a file's name")
        file_name = f"{GRAPHS}/{name}.nq"
        with self._file(file_name) as stream:
            stream.write(quads.encode())
        self._enter(file_name)

    def add_file(self, name: str, content: bytes) -> None:
        """Write a file that is no table, as a contact sheet.

        Args:
            name: Path in the benchmark, one folder deep at most.
            content: Its bytes.
        """
        if len(parts := name.split("/")) > 2 or any(part in ("", ".", "..") or part.startswith(".") for part in parts):
            raise BenchmarkError(f"a file cannot be named {name!r} in a benchmark")
        with self._file(name) as stream:
            stream.write(content)
        self._enter(name)

    def remove(self, manifest: Manifest, *names: str) -> None:
        """Leave out tables, files, or all files of folders (names that end in `/`), unless this write adds them."""
        self.removed |= {entry for entry in manifest.files if entry in names or f"{entry.split('/')[0]}/" in names}

    def remove_all(self, manifest: Manifest) -> None:
        """Leave out all that the benchmark holds and this write does not add."""
        self.removed = frozenset(manifest.files)

    @contextlib.contextmanager
    def _file(self, name: str) -> Iterator[IO[bytes]]:
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

    def _enter(self, name: str, *, rows: int | None = None, work_of: FileEntry | None = None) -> None:
        sha256, size_bytes = hash_file(self._folder / name)
        if work_of is not None:
            self.entries[name] = work_of.model_copy(update={"sha256": sha256, "size_bytes": size_bytes, "rows": rows})
            return
        self.entries[name] = FileEntry(
            sha256=sha256,
            size_bytes=size_bytes,
            rows=rows,
            origin=self._origin,
        )


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
