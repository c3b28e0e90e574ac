"""A benchmark on disk: create, open, read a table, write tables together.

Several files change in one step. A writer prepares them in its own folder and renames it to `.commit`. From then on the
changes are valid. Then each file moves to its place. Opening a benchmark with a `.commit` finishes these moves
first. If a process ends at any moment, the benchmark therefore contains either the whole write or nothing of it.
"""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from filelock import FileLock, Timeout

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, FrozenError, InputError, shorten
from reeltalk.schema.media import Video
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import Json, Record
from reeltalk.schema.texts import fold_name
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, storage_errors, sync_directory
from reeltalk.store.content import Content
from reeltalk.store.documents import read_text
from reeltalk.store.file_hashes import OPENINGS, FileHashes, ReplacedError, mark_of
from reeltalk.store.foreign import check_folder, file_name_problem, names_problems, path_inside
from reeltalk.store.manifest import (
    MANIFEST,
    PART_BYTES,
    REMOVED,
    RESERVED,
    FileEntry,
    Manifest,
    Origin,
    Part,
    hash_file,
    part_name,
    read_manifest,
)
from reeltalk.store.media import MediaStore
from reeltalk.store.rows import Rows, SpooledRows
from reeltalk.store.tables import KNOWN_BOXES, SIGHTINGS, TABLES, Table

R = TypeVar("R", bound=Record)
T = TypeVar("T")

COMMIT: Final = ".commit"
LOCK: Final = ".lock"
GRAPHS: Final = "graphs"
WORK: Final = ".work"
"""Folder in which stages keep their finished work; not a part of the benchmark, and safe to delete."""
HIDDEN: Final = frozenset({COMMIT, LOCK, WORK})
"""Hidden names that are ours in a benchmark."""
LOCK_WAIT_S: Final = 30.0


class Benchmark(HasOverview):
    """A directory of typed tables.

    Open with `Benchmark.open`, make with `Benchmark.create`. Reading needs no lock: a file that is replaced while it
    is read stays whole for its reader. A file is read only if it is the one that the manifest lists.
    """

    def __init__(self, path: Path, manifest: Manifest, *, as_it_is: bool = False) -> None:
        self.path, self.manifest, self.as_it_is = path, manifest, as_it_is
        self.checked = FileHashes(path)
        self.media = MediaStore(path, self.checked)
        self._seen: dict[str, str] = {}
        """Hash of every file that was read, by its name."""

    @classmethod
    def create(cls, path: Path | str, *, name: str | None = None, part_bytes: int | None = None) -> "Benchmark":
        """Make an empty benchmark; open it if it exists and has no tables.

        Args:
            path: Its folder.
            name: Its name; that of the folder by default.
            part_bytes: Size from which a table is stored in several files, in all stages; 256 MiB by default.

        Raises:
            BenchmarkError: `path` holds something else, or a link, or cannot be written.
        """
        path = Path(path)
        if path.is_dir():
            check_folder(path, HIDDEN)
        if path.is_dir() and any(
            entry.name not in (LOCK,) and not entry.name.startswith(PARTIAL_PREFIX) for entry in path.iterdir()
        ):
            if not (path / MANIFEST).is_file() and not (path / COMMIT).is_dir():
                raise BenchmarkError(f"{path} exists and is not a benchmark; choose another folder")
            return cls.open(path)
        if path.exists() and not path.is_dir():
            raise BenchmarkError(f"{path} is a file; choose a folder")
        with storage_errors(path):
            make_directory(path)
        benchmark = cls(path, Manifest(name=name or path.resolve().name, part_bytes=part_bytes))
        with benchmark._locked(), storage_errors(path):
            benchmark._finish_commit()
            if not (path / MANIFEST).is_file():
                benchmark._commit(benchmark.manifest)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path | str, *, as_it_is: bool = False) -> "Benchmark":
        """Open a benchmark. First finish an interrupted write if its changes are already valid.

        Args:
            path: Its folder.
            as_it_is: Open it even if its folder holds links, and read files that differ from the manifest, to look for
                damage. Nothing is read through a link.

        Raises:
            BenchmarkError: `path` is no benchmark, or holds a link, a pipe or a device.
            InputError: Its manifest is damaged, or names files outside the folder.
        """
        path = Path(path)
        if path.is_dir() and (not as_it_is or os.path.lexists(path / COMMIT)):
            check_folder(path, HIDDEN)
        if (path / COMMIT).is_dir():
            unfinished = cls(path, Manifest(name="unfinished"))
            with unfinished._locked(), storage_errors(path):
                unfinished._finish_commit()
        return cls(path, read_manifest(path), as_it_is=as_it_is)

    def overview(self) -> Overview:
        """The rows of every table."""
        rows = tuple((name, f"{entry.rows:,}") for name, entry in sorted(self.manifest.files.items()) if entry.rows)
        return Overview(f"benchmark {self.manifest.name} in {self.path}", ("table", "rows"), rows)

    def file(self, name: str) -> Path:
        """The path of a file of the manifest, after a check that the file has not changed.

        Args:
            name: Name in the manifest, of a file that is not stored in parts.

        Raises:
            KeyError: The manifest does not list it.
            BenchmarkError: It is missing, was edited by hand, or is reached through a link.
        """
        return next(iter(self.stored_files(name).values()))

    def stored_files(self, name: str, among: Collection[str] | None = None) -> dict[str, Path]:
        """The files of a table in order, or one other file, by name, after a check that none has changed.

        Args:
            name: Name in the manifest, such as `chains.jsonl`.
            among: Leave out the parts of a table without rows of these videos.

        Raises:
            KeyError: The manifest does not list it.
            BenchmarkError: One is missing, was edited by hand, or is reached through a link.
        """
        if not self._is_listed(name, self.manifest, among):
            fresh = Benchmark.open(self.path, as_it_is=self.as_it_is).manifest
            if fresh.files == self.manifest.files:
                raise self._edited(name)
            # Another process wrote it. If no file that was read before changed, go on with the new manifest.
            now = {seen: fresh.files[seen].sha256 for seen in (*self._seen, name) if seen in fresh.files}
            if name not in now or any(now.get(seen) != sha256 for seen, sha256 in self._seen.items()):
                raise ReplacedError(self.path)
            if not self._is_listed(name, fresh, among):
                raise self._edited(name)
            self.manifest = fresh
        self._seen[name] = self.manifest.files[name].sha256
        return {stored: self.path / stored for stored in _stored(self.manifest, name, among)}

    def _is_listed(self, name: str, manifest: Manifest, among: Collection[str] | None = None) -> bool:
        return all(self._is_same(stored, file.sha256) for stored, file in _stored(manifest, name, among).items())

    def _is_same(self, stored: str, sha256: str) -> bool:
        path = path_inside(self.path, stored)
        try:
            return path.is_file() if self.as_it_is else self.checked.sha256(stored) == sha256
        except FileNotFoundError:
            return False
        except OSError as error:
            raise BenchmarkError(f"cannot read {path}: {error.strerror}; check the permissions of the file") from None

    def _edited(self, name: str) -> BenchmarkError:
        files = self.manifest.files[name].stored(name)
        stored = next((part for part, file in files.items() if not self._is_same(part, file.sha256)), name)
        path, way_on = self.path / stored, "copy it again from its source"
        if not path.is_file():
            return BenchmarkError(f"{path} is missing; {way_on}, or run 'reeltalk validate' to see what else is")
        if self.manifest.release is not None:
            way_on += f": release {self.manifest.release} does not change"
        else:
            way_on = f"to take it as it is now, run 'reeltalk validate --accept {self.path}'; else {way_on}"
        return BenchmarkError(f"{path} was edited or damaged: its content differs from the manifest; {way_on}")

    def graphs(self) -> list[str]:
        """Names of the graphs: the clips or activities that they describe."""
        return [Path(name).stem for name in self.manifest.files if name.startswith(f"{GRAPHS}/")]

    def graph(self, name: str) -> str:
        """The text of a graph, as N-Quads.

        Args:
            name: One of `graphs`.

        Raises:
            BenchmarkError: As `file`.
        """
        return self._open(f"{GRAPHS}/{name}.nq", lambda paths: read_text(paths[0]))

    def graph_texts(self) -> Iterator[tuple[str, str]]:
        """Each graph's name with its N-Quads text, one at a time.

        Raises:
            BenchmarkError: As `file`.
        """
        for name in self.graphs():
            yield name, self.graph(name)

    def read(self, table: Table[R]) -> Iterator[R]:
        """The rows of a table, one at a time; none if the benchmark has no such table.

        Raises:
            BenchmarkError: The table is missing or was edited by hand.
            InputError: A line is damaged; names file, line and field.
        """
        return iter(self.table(table))

    def table(self, table: Table[R], *, among: Collection[str] | None = None) -> Rows[R]:
        """The rows of a table as a sequence that stays in its files; empty if the benchmark has no such table.

        Args:
            among: Do not read the parts of a large table without rows of these videos. Rows of other
                videos in the parts that are read are returned too.

        Raises:
            BenchmarkError: The table is missing or was edited by hand.
        """
        if table.file_name not in self.manifest.files:
            return Rows((), table.record)
        return self._open(table.file_name, lambda paths: Rows(paths, table.record), among)

    def spool(self, record: type[R], rows: Iterable[R] = ()) -> SpooledRows[R]:
        """Rows that are put into a temporary file as they come, beside the benchmark's tables.

        Args:
            record: Type of the rows.
            rows: The first ones.

        Raises:
            BenchmarkError: The folder cannot be written.
        """
        with storage_errors(self.path):
            make_directory(self.path / WORK)
            return SpooledRows(record, self.path / WORK, rows)

    def _open(self, name: str, opened: Callable[[list[Path]], T], among: Collection[str] | None = None) -> T:
        """Open the files of an entry with a function, and make sure that these are the files that were checked."""
        for _ in range(OPENINGS):
            before = {stored: mark_of(self.path / stored) for stored in _stored(self.manifest, name, among)}
            files = self.stored_files(name, among)
            try:
                found = opened(list(files.values()))
            except OSError as error:
                where = error.filename or self.path
                raise BenchmarkError(
                    f"cannot read {where}: {error.strerror}; check its permissions and 'ulimit -n'"
                ) from None
            if {stored: mark_of(path) for stored, path in files.items()} == before:
                return found
        raise ReplacedError(self.path)

    def rows(self, table: Table[Any]) -> int:
        """Number of rows of a table, from the manifest."""
        entry = self.manifest.files.get(table.file_name)
        return entry.rows or 0 if entry else 0

    def content(self, *, boxes: bool = True) -> Content:
        """Read the whole benchmark into memory.

        Args:
            boxes: False to leave out known boxes and sightings: no model is shown them, and they have the most rows.

        Raises:
            BenchmarkError: A file is missing or was edited by hand.
            InputError: A line is damaged.
        """
        content = Content()
        for name, table in TABLES.items():
            if boxes or table not in (KNOWN_BOXES, SIGHTINGS):
                setattr(content, name, list(self.read(table)))
        graphs = dict(self.graph_texts())
        media = {sha256: self.media.path(sha256) for sha256 in self.media.names()}
        return replace(content, graphs=graphs, media=media)

    def check_rows(self, tables: Iterable[Table[Any]] = tuple(TABLES.values())) -> None:
        """Read every row of some tables, before requests are paid for whose use would end at a damaged one.

        Raises:
            BenchmarkError: A file is missing or was edited by hand.
            InputError: A line is damaged; names file, line and field.
        """
        for table in tables:
            for _ in self.read(table):
                pass

    def stored_content(self) -> Content:
        """The benchmark as content that stays in its files: tables, graphs and media are read where you ask for them.

        The tables look like lists that cannot be changed. Memory grows by four bytes a row and a few more.

        Raises:
            BenchmarkError: A file is missing or was edited by hand.
        """
        content = Content()
        for name, table in TABLES.items():
            setattr(content, name, self.table(table))
        stored: Any = StoredGraphs(self)
        media = {sha256: self.media.path(sha256) for sha256 in self.media.names()}
        return replace(content, graphs=stored, media=media)

    def check_changeable(self) -> None:
        """Raise if the benchmark is a release, before work whose result could not be written.

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
        """Write tables and files together when the block ends; write nothing if it raises.

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
                writer = BenchmarkWriter(
                    prepared,
                    stage=stage,
                    settings=settings or {},
                    parents=parents or {},
                    part_bytes=self.manifest.part_bytes or PART_BYTES,
                )
                yield writer
                files = {name: entry for name, entry in self.manifest.files.items() if name not in writer.removed}
                manifest = self.manifest.model_copy(update={"files": dict(sorted((files | writer.entries).items()))})
                self._commit(manifest, prepared)
                self.manifest = manifest
            finally:
                shutil.rmtree(prepared, ignore_errors=True)

    @contextlib.contextmanager
    def revising(self) -> Iterator[Callable[[Manifest], None]]:
        """Lock the benchmark while you check its files; call the yielded function to replace the manifest.

        Raises:
            BenchmarkError: Another process writes it, or it cannot be written.
        """
        with self._locked(), storage_errors(self.path):
            self._finish_commit()
            self._remove_partials()
            yield self._commit

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
        lock = FileLock(path_inside(self.path, LOCK), timeout=LOCK_WAIT_S)
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

    def _commit(self, manifest: Manifest, prepared: Path | None = None) -> None:
        if prepared is None:
            prepared = self.path / f"{PARTIAL_PREFIX}{os.getpid()}"
            prepared.mkdir()
        _write_synced(prepared / MANIFEST, manifest.to_json().encode())
        # Removed files are listed next to the manifest, since finishing must not need the old manifest.
        gone = sorted(self.manifest.stored().keys() - manifest.stored().keys())
        _write_synced(prepared / REMOVED, "".join(f"{name}\n" for name in gone).encode())
        for folder, _, _ in os.walk(prepared):
            sync_directory(Path(folder))
        prepared.rename(self.path / COMMIT)
        sync_directory(self.path)
        self._finish_commit()

    def _finish_commit(self) -> None:
        commit = self.path / COMMIT
        if not commit.is_dir():
            return
        # The manifest moves last, when all files are in place. If it has moved, all have.
        if (commit / MANIFEST).is_file():
            removed, arrived = _moves(commit)
            for name in removed:
                path_inside(self.path, name).unlink(missing_ok=True)
            for folder in {Path(name).parent for name in removed} - {Path()}:
                with contextlib.suppress(OSError):
                    (self.path / folder).rmdir()
            changed = {self.path}
            for name in arrived:
                target = path_inside(self.path, name)
                make_directory(target.parent)
                (commit / name).replace(target)
                changed.add(target.parent)
            # A power cut must not leave a manifest that lists a missing file.
            for folder in sorted(changed):
                sync_directory(folder)
            (commit / MANIFEST).replace(self.path / MANIFEST)
        sync_directory(self.path)
        shutil.rmtree(commit)

    def _remove_partials(self) -> None:
        for path in self.path.glob(f"{PARTIAL_PREFIX}*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


class StoredGraphs(Mapping[str, str]):
    """The graphs of a benchmark by name; each text is read when you ask for it."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._benchmark = benchmark

    def __getitem__(self, name: str) -> str:
        if name not in self:
            raise KeyError(name)
        return self._benchmark.graph(name)

    def __contains__(self, name: object) -> bool:
        return f"{GRAPHS}/{name}.nq" in self._benchmark.manifest.files

    def __iter__(self) -> Iterator[str]:
        return iter(self._benchmark.graphs())

    def __len__(self) -> int:
        return len(self._benchmark.graphs())


class BenchmarkWriter:
    """Collects the files of one write. Made by `Benchmark.writing`."""

    def __init__(
        self, folder: Path, *, stage: str, settings: dict[str, Json], parents: dict[str, str], part_bytes: int
    ) -> None:
        self._folder, self._part_bytes = folder, part_bytes
        self._origin = Origin(stage=stage, version=__version__, settings=settings, parents=parents)
        self.entries: dict[str, FileEntry] = {}
        self.removed: frozenset[str] = frozenset()
        self._names: dict[str, str] = {}
        """Names of the files, in the form of a file system that ignores case."""

    def add(self, table: Table[R], rows: Iterable[R], *, work_of: FileEntry | None = None) -> int:
        """Replace a table, and return its number of rows.

        Args:
            rows: All of its rows.
            work_of: The old entry of the table, to keep its stage as origin although rows are added.
        """
        name, whole, parts = table.file_name, hashlib.sha256(), list[Part]()
        if name in self.entries:
            for stored in self.entries.pop(name).stored(name):
                (self._folder / stored).unlink()
        left = iter(rows)
        first = next(left, None)
        while first is not None or not parts:
            # The first part has the name of a whole table until there is a second one.
            with self._file(part_name(name, len(parts)) if parts else name) as stream:
                found = () if first is None else chain([first], left)
                parts.append(_write_part(stream, found, self._part_bytes, whole))
            first = next(left, None)
        if len(parts) > 1:
            self._check_name(part_name(name, 0))
            (self._folder / name).replace(self._folder / part_name(name, 0))
        count = sum(part.rows for part in parts)
        self.entries[name] = FileEntry(
            sha256=whole.hexdigest(),
            size_bytes=sum(part.size_bytes for part in parts),
            rows=count,
            parts=tuple(parts) if len(parts) > 1 else (),
            origin=work_of.origin if work_of is not None else self._origin,
        )
        return count

    def add_graph(self, name: str, quads: str) -> None:
        """Write a graph as N-Quads.

        Args:
            name: The clip or activity that it describes; becomes the file's name.
            quads: The text.
        """
        file_name = f"{GRAPHS}/{name}.nq"
        if (problem := file_name_problem(file_name) if name else "an empty name") is not None:
            raise BenchmarkError(f"a graph cannot be named {shorten(name)}: {problem}")
        with self._file(file_name) as stream:
            stream.write(quads.encode())
        self._enter(file_name)

    def add_file(self, name: str, content: bytes) -> None:
        """Write a file that is not a table, such as a contact sheet.

        Args:
            name: Path in the benchmark, one folder deep at most.
        """
        if (problem := file_name_problem(name)) is not None:
            raise BenchmarkError(f"a file cannot be named {shorten(name)} in a benchmark: {problem}")
        with self._file(name) as stream:
            stream.write(content)
        self._enter(name)

    def remove(self, manifest: Manifest, *names: str) -> None:
        """Remove tables, files, or all files of folders (names that end in `/`), unless this write adds them."""
        self.removed |= {entry for entry in manifest.files if entry in names or f"{entry.split('/')[0]}/" in names}

    def remove_all(self, manifest: Manifest) -> None:
        """Remove all files that this write does not add."""
        self.removed = frozenset(manifest.files)

    def _check_name(self, name: str) -> None:
        if (other := self._names.setdefault(fold_name(name), name)) != name:
            raise BenchmarkError(
                f"{name} and {other} would be one file on a file system that ignores case; rename one of them"
            )

    @contextlib.contextmanager
    def _file(self, name: str) -> Iterator[IO[bytes]]:
        self._check_name(name)
        path = self._folder / name
        path.parent.mkdir(exist_ok=True)
        with path.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())

    def _enter(self, name: str) -> None:
        sha256, size_bytes = hash_file(self._folder / name)
        self.entries[name] = FileEntry(sha256=sha256, size_bytes=size_bytes, origin=self._origin)


def _write_part(stream: IO[bytes], rows: Iterable[Record], most_bytes: int, whole: "hashlib._Hash") -> Part:
    """Write rows until the file has so many bytes; `whole` takes in what is written."""
    digest, count, size_bytes = hashlib.sha256(), 0, 0
    first: str | None = None
    last, is_known = "", True
    for row in rows:
        line = row.to_json().encode() + b"\n"
        stream.write(line)
        digest.update(line)
        whole.update(line)
        video: str | None = row.id if isinstance(row, Video) else getattr(row, "video_id", None)
        if video is None:
            is_known = False
        else:
            first, last = min(first or video, video), max(last, video)
        count, size_bytes = count + 1, size_bytes + len(line)
        if size_bytes >= most_bytes:
            break
    videos = (first, last) if is_known and first is not None else None
    return Part(sha256=digest.hexdigest(), size_bytes=size_bytes, rows=count, videos=videos)


def _stored(manifest: Manifest, name: str, among: Collection[str] | None) -> Mapping[str, FileEntry | Part]:
    """The files of an entry by name, without the parts of a table that hold no rows of `among`."""
    files = manifest.files[name].stored(name)
    if among is None:
        return files
    return {stored: file for stored, file in files.items() if not isinstance(file, Part) or file.may_hold(among)}


def _moves(commit: Path) -> tuple[list[str], list[str]]:
    """The files that a write removes and those that it adds, each with a name that a manifest accepts."""
    listed = read_manifest(commit).stored()
    removed = read_text(path_inside(commit, REMOVED)).split("\n") if (commit / REMOVED).is_file() else []
    removed = [name for name in removed if name]
    arrived = [path.relative_to(commit).as_posix() for path in sorted(commit.rglob("*")) if not path.is_dir()]
    arrived = [name for name in arrived if name not in (MANIFEST, REMOVED)]
    wrong = [name for name in removed if any(names_problems([name], reserved=RESERVED))]
    wrong += [name for name in removed if name in listed] + [name for name in arrived if name not in listed]
    if wrong:
        raise InputError(
            "an unfinished write would change a file that does not belong to the benchmark", file=commit,
            value=wrong[0], hint=f"reeltalk does not write this: delete {commit} if you do not know its origin",
        )  # fmt: skip
    return removed, arrived


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def has_graphs(benchmark: Benchmark) -> bool:
    """True if the benchmark's clips have activity graphs."""
    return any(name.startswith(f"{GRAPHS}/") for name in benchmark.manifest.files)
