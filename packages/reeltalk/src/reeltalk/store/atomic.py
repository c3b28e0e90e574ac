"""Writes of whole files and folders, safe against SIGKILL, power cuts and full disks."""

import contextlib
import errno
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


@contextlib.contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """A binary file that appears at `path`, whole, when the block ends without an exception.

    Raises:
        BenchmarkError: It cannot be written.
    """
    with storage_errors(path):
        make_directory(path.parent)
        partial = path.parent / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
        try:
            with partial.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            partial.replace(path)
            sync_directory(path.parent)
        finally:
            partial.unlink(missing_ok=True)


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
    if path.exists() and not overwrite and (not path.is_dir() or any(path.iterdir())):
        raise BenchmarkError(f"{path} exists and is not empty; choose another folder or pass --overwrite")
    with storage_errors(path):
        make_directory(path.parent)
        partial = path.parent / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
        partial.mkdir()
        try:
            yield partial
            for folder, _, files in os.walk(partial) if lasting else ():
                for name in files:
                    descriptor = os.open(Path(folder, name), os.O_RDONLY)
                    try:
                        os.fsync(descriptor)
                    finally:
                        os.close(descriptor)
                sync_directory(Path(folder))
            # A folder cannot replace a non-empty one in one step, so the old one is renamed first.
            aside = path.parent / f"{PARTIAL_PREFIX}old-{secrets.token_hex(6)}"
            if path.exists():
                path.rename(aside)
            partial.rename(path)
            sync_directory(path.parent)
            shutil.rmtree(aside, ignore_errors=True)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
