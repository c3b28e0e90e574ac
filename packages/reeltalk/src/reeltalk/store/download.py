"""Download files from an address, several at a time. Downloads resume, and each file is complete or absent."""

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from filelock import FileLock, Timeout

from reeltalk.errors import ReeltalkError, RemoteError
from reeltalk.store.atomic import PARTIAL_PREFIX, storage_errors, sync_directory
from reeltalk.store.manifest import HASH_BLOCK_BYTES
from reeltalk.store.remote import Remote, RemoteFile, give_up, redact

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS: Final = 4
"""Failures in a row, with less than `MUCH_BYTES` in between, after which a download fails."""
MUCH_BYTES: Final = 64 << 20
FIRST_WAIT_S: Final = 0.25
"""Wait before the second attempt; each later one waits twice as long."""
AT_ONCE: Final = 8
STOP_EVERY_S: Final = 0.05
LOCK_EVERY_S: Final = 0.5
"""Interval at which a thread that waits for another process checks whether to stop."""


class StoppedError(Exception):
    """Other work failed or was interrupted, so this work ends. Users never see it."""


@dataclass
class Traffic:
    """Counts transferred bytes of several threads."""

    on_bytes: Callable[[int], None] = lambda size_bytes: None
    """Receives the number of bytes as they arrive."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when all threads must end."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def moved(self, size_bytes: int) -> None:
        """Count bytes.

        Raises:
            StoppedError: All threads must end.
        """
        if self.stop.is_set():
            raise StoppedError
        with self._lock:
            self.on_bytes(size_bytes)


def download_file(
    remote: Remote, file: RemoteFile, folder: Path, name_of: Callable[[str], str], traffic: Traffic, *,
    sha256: str | None = None, most_bytes: int,
) -> str:  # fmt: skip
    """Download a file. Parts that were downloaded before are not requested again.

    Args:
        remote: The store.
        file: The file, as the store listed it.
        folder: Receives the file; hidden partial files are in it too.
        name_of: Gives its name in `folder` from its SHA-256.
        traffic: Counts its bytes, also those that were downloaded before.
        sha256: Expected hash of its content; None if it is unknown.
        most_bytes: Largest size, whatever the store claims.

    Returns:
        The SHA-256 of the file.

    Raises:
        RemoteError: It cannot be read, changed during the download, is too large, or has another hash.
        BenchmarkError: The disk is full or cannot be written.
    """
    mark = hashlib.sha256(f"{remote.address}\n{file.path}\n{file.size_bytes}\n{file.version}".encode()).hexdigest()
    partial = folder / f"{PARTIAL_PREFIX}{sha256 or mark[:40]}"
    with storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _alone(partial, traffic):
        if sha256 is not None and (folder / name_of(sha256)).is_file():
            return sha256
        if sha256 is None and file.version is None:
            partial.unlink(missing_ok=True)
        found = _persistently(remote, file, partial, traffic, most_bytes)
        if sha256 is not None and found != sha256:
            partial.unlink(missing_ok=True)
            raise RemoteError(
                f"{redact(file.path)} has the hash {found[:12]}…, not {sha256[:12]}…: it was damaged or replaced; "
                "it was deleted"
            )
        now = remote.again(file) if sha256 is None and file.version is not None else file
        if now is None or (now.size_bytes, now.version) != (file.size_bytes, file.version):
            partial.unlink(missing_ok=True)
            raise RemoteError(f"{redact(file.path)} changed while it was read; run the command again")
        with storage_errors(folder):
            partial.replace(folder / name_of(found))
            sync_directory(folder)
    return found


@contextlib.contextmanager
def _alone(partial: Path, traffic: Traffic) -> Iterator[None]:
    """Lock a file against other processes and workers of this node that download it."""
    lock = FileLock(f"{partial}.lock")
    with storage_errors(partial.parent):
        while not lock.is_locked:
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=LOCK_EVERY_S)
            if traffic.stop.is_set():
                lock.release()
                raise StoppedError
    try:
        yield
    finally:
        # Remove the file before the release: a waiting process then sees that it is gone, and makes another lock.
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _persistently(remote: Remote, file: RemoteFile, partial: Path, traffic: Traffic, most_bytes: int) -> str:
    """Download the rest of a file, with retries, and return its SHA-256."""
    told = failures = 0
    while True:
        digest, here = _so_far(partial, file.size_bytes)
        began = here
        traffic.moved(max(0, here - told))
        told = max(told, here)
        try:
            # A complete file may not be checked yet. A web server would refuse a request for its rest.
            for block in remote.blocks(file, here) if here == 0 or here != file.size_bytes else ():
                here += len(block)
                if here > most_bytes or (file.size_bytes is not None and here > file.size_bytes):
                    partial.unlink(missing_ok=True)
                    most = most_bytes if file.size_bytes is None else min(file.size_bytes, most_bytes)
                    raise RemoteError(f"{redact(file.path)} holds more than the {most:,} bytes that were expected")
                with storage_errors(partial), partial.open("ab") as out:
                    out.write(block)
                digest.update(block)
                traffic.moved(max(0, here - told))
                told = max(told, here)
            # A cancelled request ends like a complete file, so check whether all threads must end.
            traffic.moved(0)
            if file.size_bytes is not None and here < file.size_bytes:
                raise RemoteError(
                    f"{redact(file.path)} ended after {here:,} of {file.size_bytes:,} bytes; run the command again",
                    passing=True,
                )
            break
        except RemoteError as error:
            # A connection that breaks after much data is not counted with earlier failures.
            failures = failures + 1 if here - began < MUCH_BYTES else 1
            if not error.passing or failures == ATTEMPTS:
                raise
        if traffic.stop.wait(FIRST_WAIT_S * 2 ** (failures - 1)):
            raise StoppedError
    with storage_errors(partial), partial.open("ab") as out:
        os.fsync(out.fileno())
    return digest.hexdigest()


def _so_far(partial: Path, size_bytes: int | None) -> "tuple[hashlib._Hash, int]":
    """Hash and length of a partial file; a partial file that is too long is removed."""
    digest, here = hashlib.sha256(), 0
    if not partial.exists():
        return digest, here
    with storage_errors(partial):
        if size_bytes is not None and partial.stat().st_size > size_bytes:
            partial.unlink()
            return digest, here
        with partial.open("rb") as stream:
            while block := stream.read(HASH_BLOCK_BYTES):
                digest.update(block)
                here += len(block)
    return digest, here


def run_in_threads(
    work: Callable[[T], R], items: Iterable[T], traffic: Traffic, *, at_once: int = AT_ONCE
) -> Iterator[tuple[T, R | ReeltalkError]]:
    """Do `work` for every item in threads; yield results, and errors that users can fix, as they come.

    If the caller stops or is interrupted, no other item begins, and running ones end at their next bytes.
    """
    pool = ThreadPoolExecutor(at_once)
    futures: dict[Future[R], T] = {}
    try:
        futures |= {pool.submit(work, item): item for item in items}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except ReeltalkError as error:
                yield futures[future], error
    except BaseException:
        traffic.stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        # Repeatedly: a thread may send another request before it checks whether to stop.
        while wait([future for future in futures if not future.cancelled()], timeout=STOP_EVERY_S).not_done:
            give_up()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
