"""Files and folders that come from strangers: regular files alone are opened, no link leads out, walks are bounded.

A link is followed to a file inside the folder. In the cache of a hub, whose `snapshots/REVISION` is made of links, the
content lies in `blobs` beside `snapshots`, and belongs to the folder.
"""

import errno
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from reeltalk.errors import InputError
from reeltalk.schema.texts import DEEPEST_PATH, name_problem

MOST_ENTRIES: Final = 1_000_000
"""Files and folders below a folder that is read."""
SPARSE_FROM_BYTES: Final = 1 << 30
"""From this size on, a file must be written for the most part."""
LEAST_WRITTEN: Final = 0.01
"""Share of such a file that must be written: the rest are holes, which cost a writer nothing and a reader hours."""
MOST_EXTENTS: Final = 100_000

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO, not a file",
    stat.S_IFSOCK: "a socket, not a file",
    stat.S_IFCHR: "a device, not a file",
    stat.S_IFBLK: "a device, not a file",
    stat.S_IFDIR: "a folder, not a file",
}


def open_file(path: Path) -> BinaryIO:
    """Open a regular file to read its bytes. What is none is never opened, so that nobody waits for a FIFO's writer.

    Raises:
        OSError: There is none, it cannot be read, it is no regular file, or hardly any of it is written; says which.
    """
    _refuse_kind(path, os.stat(path))
    stream = open(path, "rb", opener=_without_waiting)
    try:
        # Looked at again, as another may have taken its place.
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
                return  # A file system that cannot tell.
            break
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        written += end - start
        if written >= size_bytes * LEAST_WRITTEN:
            break
    os.lseek(descriptor, 0, os.SEEK_SET)
    if written < size_bytes * LEAST_WRITTEN:
        problem = f"{written:,} of its {size_bytes:,} bytes are written, and the rest are holes"
        raise OSError(errno.EINVAL, problem, str(path))


def visible_files(folder: Path) -> list[Path]:
    """The files of a folder and of those below it, in order, without what is hidden (`.cache`, `.DS_Store`).

    Raises:
        InputError: As `walk`, and at the first that is refused; names which.
    """
    found = []
    for path, problem in walk(folder):
        if problem is not None:
            raise InputError(problem, file=shown(path), hint="rename it, put a copy in its place, or take it away")
        found.append(path)
    return sorted(found)


def walk(folder: Path) -> Iterator[tuple[Path, str | None]]:
    """The files of a folder and of those below it, in no order, without what is hidden, and why one is refused.

    A link to a file inside the folder is a file; a link to nothing, or to a folder inside the folder, is passed over.
    Refused are links that lead out of the folder, what is neither file nor folder, and names that hold characters that
    no name may hold; nothing of them is read.

    Raises:
        InputError: A folder cannot be read, there are too many or too deep, or it is a hub's cache of all revisions.
    """
    if (folder / "blobs").is_dir() and (folder / "snapshots").is_dir():
        raise InputError("a hub's cache of all revisions", file=shown(folder), hint="give a folder below its snapshots")
    inside, waiting, entries = _inside(folder), [(folder, 0)], 0
    while waiting:
        current, depth = waiting.pop()
        try:
            with os.scandir(current) as below:
                # No more than are needed to see that they are too many.
                listed = sorted(itertools.islice(below, MOST_ENTRIES - entries + 1), key=lambda entry: entry.name)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=shown(current)) from None
        entries += len(listed)
        if entries > MOST_ENTRIES:
            raise InputError(f"more than {MOST_ENTRIES:,} files and folders", file=shown(folder), hint="give a part")
        for entry in listed:
            path = current / entry.name
            if entry.name.startswith("."):
                continue
            if problem := name_problem(entry.name):
                yield path, problem
            elif entry.is_dir(follow_symlinks=False):
                if depth == DEEPEST_PATH:
                    raise InputError(f"more than {DEEPEST_PATH} folders deep", file=shown(path), hint="give a part")
                waiting.append((path, depth + 1))
            else:
                is_file, problem = _look(path, inside)
                if is_file or problem:
                    yield path, problem


def file_inside(folder: Path, name: str) -> Path | None:
    """The file that a path from a stranger names below a folder; None where there is none.

    Raises:
        InputError: A link on the way leads out of the folder, or it is neither file nor folder.
    """
    path = folder / name
    is_file, problem = _look(path, _inside(folder))
    if problem is not None:
        raise InputError(problem, file=shown(path), hint="put a copy of the file in its place")
    return path if is_file else None


def _look(path: Path, inside: tuple[Path, ...]) -> tuple[bool, str | None]:
    """Whether a path is a file, and why it is refused, when all links are followed."""
    try:
        real = Path(os.path.realpath(path))
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False, None  # Nothing there, a circle of links, or a name that no file can have.
    if not any(real.is_relative_to(root) for root in inside):
        return False, f"a link that leads out of the folder, to {shown(real)}"
    if stat.S_ISREG(mode):
        return True, None
    return False, None if stat.S_ISDIR(mode) else _KINDS.get(stat.S_IFMT(mode), "not a file")


def _inside(folder: Path) -> tuple[Path, ...]:
    """Where the files of a folder may lie: in it or, of a snapshot in the cache of a hub, in the blobs beside it."""
    real = folder.resolve()
    blobs = real.parent.parent / "blobs"
    if real.parent.name == "snapshots" and blobs.is_dir() and not blobs.is_symlink():
        return real, blobs
    return (real,)


def shown(path: Path) -> str:
    """A path for people: what cannot be printed stands as its number."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(path))
