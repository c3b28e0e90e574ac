"""Untrusted files and folders: only regular files are opened, and links out of a folder are refused.

A benchmark or run holds only its own files and folders, without links: `check_folder` and `path_inside` refuse a link,
a pipe or a device in one of them. The folder itself may be reached through a link, since you name it. In a folder that
is imported, `walk` follows a link to a file inside that folder. The cache of a hub is such a folder: its
`snapshots/REVISION` is made of links to `blobs` next to `snapshots`.
"""

import errno
import itertools
import os
import stat
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.schema.texts import DEEPEST_PATH, fold_name, name_problem, path_problem
from reeltalk.store.atomic import PARTIAL_PREFIX

MOST_ENTRIES: Final = 1_000_000
"""Most files and folders below a folder that is read."""
SPARSE_FROM_BYTES: Final = 1 << 30
"""From this size on, files with holes are refused."""
LEAST_WRITTEN: Final = 0.01
"""Least written share of such a file. A file with holes is cheap to write and takes hours to read."""
MOST_EXTENTS: Final = 100_000

SELECTION_FILE: Final = "reeltalk-selection.json"
"""File of an export that says which turns were left out. It is ours, so no layout reads it."""
UNREADABLE: Final = "cannot be read"
VIDEO_SUFFIXES: Final = frozenset(
    ".3g2 .3gp .asf .avi .divx .dv .f4v .flv .gif .insv .ivf .m1v .m2p .m2t .m2ts .m2v .m4v "
    ".mkv .mov .mp4 .mpeg .mpg .mpv .mts .mxf .nut .obu .ogg .ogv .qt .rm .rmvb .tod .tp .trp .ts .vob .vro .webm "
    ".wmv".split()
)
"""Endings of the files that may be videos."""

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
    stat.S_IFDIR: "a folder, not a file",
}


def open_file(path: Path) -> BinaryIO:
    """Open a regular file to read its bytes. Other files are never opened: opening a FIFO waits for its writer.

    Raises:
        OSError: It does not exist, cannot be read, is not a regular file, or consists of holes; says which.
    """
    _refuse_kind(path, os.stat(path))
    stream = open(path, "rb", opener=_without_waiting)
    try:
        # Checked again, since another file may have taken its place.
        status = os.fstat(stream.fileno())
        _refuse_kind(path, status)
        if status.st_size >= SPARSE_FROM_BYTES:
            _refuse_holes(path, stream.fileno(), status.st_size)
    except BaseException:
        stream.close()
        raise
    return stream


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _refuse_kind(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, _KINDS.get(stat.S_IFMT(status.st_mode), "not a file"), str(path))


def _refuse_holes(path: Path, descriptor: int, size_bytes: int) -> None:
    written = end = 0
    for _ in range(MOST_EXTENTS):
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                return  # The file system does not report holes.
            break
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        written += end - start
        if written >= size_bytes * LEAST_WRITTEN:
            break
    os.lseek(descriptor, 0, os.SEEK_SET)
    if written < size_bytes * LEAST_WRITTEN:
        problem = f"{written:,} of its {size_bytes:,} bytes are written, and the rest are holes"
        raise OSError(errno.EINVAL, problem, str(path))


DANGLING_LINK: Final = "a link to nothing"
"""Why a link is refused whose target is missing, as in a data set of git-annex whose files were not brought yet."""


def visible_files(folder: Path, faults: list[InputError] | None = None) -> list[Path]:
    """All files in and below a folder, in order, without hidden ones (`.cache`, `.DS_Store`).

    Args:
        faults: Receives what is wrong with files and folders that are refused. By default the first is raised.

    Raises:
        InputError: As `walk`, and for the first refused file, which it names.
    """
    found = []
    for path, problem in walk(folder):
        if problem == DANGLING_LINK or path.name == SELECTION_FILE:
            continue
        if problem is None:
            found.append(path)
            continue
        hint = None if problem.startswith(UNREADABLE) else "rename it, put a copy in its place, or take it away"
        fault = InputError(problem, file=escape_path(path), hint=hint)
        if faults is None:
            raise fault
        faults.append(fault)
    return sorted(found)


def walk(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """All files in and below a folder without hidden ones, in no order, each with the reason if it is refused.

    A link to a file inside the folder is a file. A link to a folder inside the folder is skipped. Links to nothing or
    out of the folder, pipes, devices and names with forbidden characters are refused and never read. A folder in it
    that cannot be read is refused as a whole.

    Raises:
        InputError: The folder cannot be read, there are too many or too deep, or it is a hub's cache of all revisions.
    """
    if (folder / "blobs").is_dir() and (folder / "snapshots").is_dir():
        raise InputError(
            "a hub's cache of all revisions", file=escape_path(folder), hint="give a folder below its snapshots"
        )
    roots, waiting, entries = _roots_of(folder), [(folder, 0)], 0
    while waiting:
        current, depth = waiting.pop()
        try:
            with os.scandir(current) as below:
                # List only enough entries to detect that there are too many.
                listed = sorted(itertools.islice(below, MOST_ENTRIES - entries + 1), key=lambda entry: entry.name)
        except OSError as error:
            if depth == 0:
                raise InputError(f"{UNREADABLE}: {error.strerror}", file=escape_path(current)) from None
            yield current, f"{UNREADABLE}: {error.strerror}"
            continue
        entries += len(listed)
        if entries > MOST_ENTRIES:
            raise InputError(
                f"more than {MOST_ENTRIES:,} files and folders", file=escape_path(folder), hint="give a part"
            )
        for entry in listed:
            path = current / entry.name
            if entry.name.startswith("."):
                continue
            if problem := name_problem(entry.name):
                yield path, problem
            elif entry.is_dir(follow_symlinks=False):
                if depth == DEEPEST_PATH:
                    raise InputError(
                        f"more than {DEEPEST_PATH} folders deep", file=escape_path(path), hint="give a part"
                    )
                waiting.append((path, depth + 1))
            else:
                is_file, problem = _look(path, roots)
                if not is_file and problem is None and not path.exists():
                    problem = DANGLING_LINK
                if is_file or problem:
                    yield path, problem


def file_inside(folder: Path, name: str) -> Path | None:
    """The file at an untrusted path below a folder; None if the file does not exist.

    Raises:
        InputError: A link on the way leads out of the folder, or it is neither file nor folder.
    """
    path = folder / name
    is_file, problem = _look(path, _roots_of(folder))
    if problem is not None:
        raise InputError(problem, file=escape_path(path), hint="put a copy of the file in its place")
    return path if is_file else None


def _look(path: Path, roots: tuple[Path, ...]) -> tuple[bool, str | None]:
    """Whether a path is a file, after following links, and the reason if it is refused."""
    try:
        real = Path(os.path.realpath(path))
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False, None  # It does not exist, is a circle of links, or has an impossible name.
    if not any(real.is_relative_to(root) for root in roots):
        return False, f"a link that leads out of the folder, to {escape_path(real)}"
    if stat.S_ISREG(mode):
        return True, None
    return False, None if stat.S_ISDIR(mode) else _KINDS.get(stat.S_IFMT(mode), "not a file")


def _roots_of(folder: Path) -> tuple[Path, ...]:
    """Folders that may hold the files of a folder: itself and, in a hub's cache, the blobs next to a snapshot."""
    real = folder.resolve()
    blobs = real.parent.parent / "blobs"
    if real.parent.name == "snapshots" and blobs.is_dir() and not blobs.is_symlink():
        return real, blobs
    return (real,)


def escape_path(path: Path) -> str:
    """A path for people, with unprintable characters as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))


MOST_PARTS: Final = 2
"""Most parts of a path: a table has one, a file in a folder two."""
MOST_DOCUMENT_BYTES: Final = 256 << 20
"""Largest JSON document of a benchmark or run, such as its manifest. A larger one would fill the memory."""


def file_name_problem(name: str) -> str | None:
    """The reason why a path cannot name a file of a benchmark; None if it can."""
    if (problem := path_problem(name)) is not None:
        return problem
    parts = name.split("/")
    if any(part.startswith(".") for part in parts):
        return "a hidden name"
    return "more than one folder deep" if len(parts) > MOST_PARTS else None


def names_problems(names: Iterable[str], *, reserved: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each name that cannot be a file in one folder together with the others, with its problem."""
    kept = {fold_name(name) for name in reserved}
    files: dict[str, str] = {}
    folders: dict[str, str] = {}
    for name in names:
        problem = file_name_problem(name)
        if problem is None:
            key = fold_name(name)
            top = key.split("/")[0]
            if top in kept:
                problem = "the name of a file or folder that is no table or picture"
            elif key in files:
                problem = f"a name that is hard to tell from {files[key]!r}"
            elif key in folders or ("/" in name and top in files):
                problem = "the name of both a file and a folder"
            elif "/" in name and folders.setdefault(top, name.split("/")[0]) != name.split("/")[0]:
                problem = f"a folder that is hard to tell from {folders[top]!r}"
            else:
                files[key] = name
        if problem is not None:
            yield name, problem


def foreign_entries(folder: Path, hidden: Container[str] = ()) -> Iterator[tuple[str, str]]:
    """Each entry of a benchmark or run, at any depth, that is neither a folder nor a regular file.

    Args:
        folder: The benchmark or run.
        hidden: Hidden names that are ours. Other hidden entries, such as `.git`, are skipped.

    Yields:
        Its path relative to `folder`, and its kind in words.
    """
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except FileNotFoundError:
            continue  # another process has removed it
        except OSError as error:
            yield escape_path(Path(below)), f"cannot be read: {error.strerror}"
            continue
        for entry in found:
            own = entry.name in hidden or entry.name.startswith(PARTIAL_PREFIX)
            if not below and entry.name.startswith(".") and not own:
                continue
            name = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{name}/")
            elif not entry.is_file(follow_symlinks=False) and (problem := _what(folder / name)) is not None:
                yield escape_path(Path(name)), problem


def check_folder(folder: Path, hidden: Container[str] = ()) -> None:
    """Refuse a benchmark or run that holds a link, a pipe or a device.

    Args:
        folder: The benchmark or run.
        hidden: As for `foreign_entries`.

    Raises:
        BenchmarkError: It holds one; names the first and counts the others.
    """
    found = list(foreign_entries(folder, hidden))
    if found:
        name, problem = found[0]
        more = f", and {len(found) - 1:,} more like it" if len(found) > 1 else ""
        raise BenchmarkError(
            f"{folder / name} {problem}{more}; a benchmark or run holds only folders and files of its own: put a copy "
            "in its place if you trust it, or delete it"
        )


def path_inside(folder: Path, name: str) -> Path:
    """The path of a file in a folder. It need not exist. If it does, it is a regular file, and no link leads to it.

    Raises:
        BenchmarkError: The name leads out of the folder, or leads to a link, pipe or device.
    """
    at = os.fspath(folder)
    if name.startswith("/") or any(part in ("", ".", "..") for part in name.split("/")) or "\0" in name:
        raise BenchmarkError(f"{name!r} is not a valid name of a file in {folder}")
    for part in (parts := name.split("/")):
        at = os.path.join(at, part)
        try:
            mode = os.lstat(at).st_mode
        except (FileNotFoundError, NotADirectoryError):
            break
        except OSError as error:
            raise BenchmarkError(f"cannot read {at}: {error.strerror}") from None
        if stat.S_ISLNK(mode) or (part == parts[-1] and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)):
            raise BenchmarkError(f"{at} {_what(Path(at))}; put a copy in its place if you trust it, or delete it")
    return folder / name


def _what(path: Path) -> str | None:
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"is a link to {escape_path(Path(os.readlink(path)))}"
    except FileNotFoundError:
        return None  # another process has removed it
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    return f"is {_kind(mode)}"


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder", stat.S_IFREG: "a file"}
    return kinds.get(stat.S_IFMT(mode), "a device")
