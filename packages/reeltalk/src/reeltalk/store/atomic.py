"""Writes of whole files and folders, safe against SIGKILL, power cuts and full disks."""

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from reeltalk.errors import BenchmarkError

PARTIAL_PREFIX = ".partial-"
"""Prefix of partial files. A leftover file with this prefix can be deleted."""

REPLIES = "replies.sqlite"
"""Name of files with the replies of models. Replies cost money, so no folder with such a file is replaced."""


def sync_directory(directory: Path) -> None:
    """Sync `directory` to disk, so that renames inside it survive a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Make a folder and missing folders above it, so that they survive a power cut."""
    lacking = [folder for folder in (directory, *directory.parents) if not folder.exists()]
    directory.mkdir(parents=True, exist_ok=True)
    for folder in reversed(lacking):
        sync_directory(folder.parent)


def storage_advice(error: OSError) -> str:
    """Advice for an error on writing."""
    return {
        errno.ENOSPC: "free some space and run the command again; nothing was changed",
        errno.EDQUOT: "your quota is used up: free some space and run the command again; nothing was changed",
        errno.EFBIG: "the file system takes no larger file; nothing was changed",
        errno.EACCES: "check the permissions of the folder",
        errno.EPERM: "check the permissions of the folder",
        errno.EROFS: "choose a folder that can be written",
        errno.EIO: "the disk fails: check it, or choose another folder",
        errno.EMFILE: "allow more open files (ulimit -n) and run the command again",
        errno.ENAMETOOLONG: "choose a shorter name",
    }.get(error.errno or 0, "nothing was changed")


@contextlib.contextmanager
def storage_errors(target: Path) -> Iterator[None]:
    """Turn an `OSError` on writing into an error that names `target`.

    Raises:
        BenchmarkError: The disk is full, read-only, or permission is missing.
    """
    try:
        yield
    except OSError as error:
        raise BenchmarkError(f"cannot write {target}: {error.strerror or error}; {storage_advice(error)}") from error


def _partial_name(path: Path) -> str:
    """The same for each write of `path`, so that the next one finds what a killed process left."""
    return f"{PARTIAL_PREFIX}{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}"


@contextlib.contextmanager
def partial_beside(path: Path, *, folder: bool) -> Iterator[Path]:
    """An empty partial file or folder beside `path`, locked, and gone at the end if it was not moved.

    It takes the place of the one for the same `path` that a killed process left.
    """
    partial = path.parent / _partial_name(path)
    with contextlib.ExitStack() as stack:
        if not _locked(partial, folder, stack):
            # Another process writes `path`, or the file system has no locks.
            partial = path.parent / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
            partial.mkdir() if folder else partial.touch(exist_ok=False)
        ours = partial.stat()
        try:
            yield partial
        finally:
            # Once it has moved, another process may have a file of this name.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(ours, partial.stat()):
                    _remove(partial)


def _locked(partial: Path, folder: bool, stack: contextlib.ExitStack) -> bool:
    """Make `partial`, in place of that of a process that was killed; False if it is in use."""
    for _ in range(2):
        made = True
        try:
            partial.mkdir() if folder else partial.touch(exist_ok=False)
        except FileExistsError:
            made = False
        try:
            # A folder of a stranger may have links or pipes of this name.
            descriptor = os.open(partial, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Until it was locked, another process may have moved it to its place.
            if not os.path.samestat(os.fstat(descriptor), partial.lstat()):
                return False
        except OSError:
            return False
        if made:
            return True
        _remove(partial)
    return False


def _remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path`, whole, when the block ends without an exception.

    Raises:
        BenchmarkError: It cannot be written.
    """
    with storage_errors(path):
        make_directory(path.parent)
        with partial_beside(path, folder=False) as partial:
            with partial.open("wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(path)
            sync_directory(path.parent)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file, or nothing.

    Raises:
        BenchmarkError: It cannot be written.
    """
    with writing(path) as stream:
        stream.write(content)


@contextlib.contextmanager
def writing_directory(path: Path, *, overwrite: bool = False, lasting: bool = True) -> Iterator[Path]:
    """An empty folder that appears at `path`, whole, when the block ends without an exception.

    Args:
        path: Path of the folder.
        overwrite: Replace an existing folder. Without it, an existing folder that is not empty is refused.
        lasting: Wait until everything is on the disk, so that a power cut cannot undo it. A folder that can be made
            again need not wait.

    Raises:
        BenchmarkError: `path` exists, holds replies of models, or cannot be written.
    """
    if overwrite and path.is_dir() and (kept := sorted(path.rglob(REPLIES))):
        raise BenchmarkError(
            f"{path} holds replies of models, which were paid for ({kept[0].relative_to(path)}); choose another folder"
        )
    aside = path.parent / f"{_partial_name(path)}-old"
    if aside.exists() and not path.exists():
        # A process was killed while it replaced the folder.
        with storage_errors(path):
            aside.rename(path)
    if path.exists() and not overwrite and (not path.is_dir() or any(path.iterdir())):
        raise BenchmarkError(f"{path} exists and is not empty; choose another folder or pass --overwrite")
    with storage_errors(path):
        make_directory(path.parent)
        with partial_beside(path, folder=True) as partial:
            yield partial
            for folder, _, files in os.walk(partial) if lasting else ():
                for name in files:
                    descriptor = os.open(Path(folder, name), os.O_RDONLY)
                    try:
                        os.fsync(descriptor)
                    finally:
                        os.close(descriptor)
                sync_directory(Path(folder))
            _remove(aside)
            try:
                # A folder cannot replace a non-empty one in one step, so the old one is renamed first.
                if path.exists():
                    path.rename(aside)
                partial.rename(path)
            finally:
                if aside.exists() and not path.exists():
                    aside.rename(path)
            sync_directory(path.parent)
            _remove(aside)
