"""Files that arrive from an address: in parts, whole or not at all, several at a time, and on if they stopped."""

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
"""Failures in a row, with little in between, after which a file is given up."""
MUCH_BYTES: Final = 64 << 20
FIRST_WAIT_S: Final = 0.25
"""Before the second attempt; each further one waits twice as long."""
AT_ONCE: Final = 8
STOP_EVERY_S: Final = 0.05
LOCK_EVERY_S: Final = 0.5
"""How often a thread that waits for another process looks whether it shall stop."""


class StoppedError(Exception):
    """Other work failed or was interrupted, so this one ends; never reaches a user."""


@dataclass
class Traffic:
    """What has moved so far, told by several threads."""

    told: Callable[[int], None] = lambda size_bytes: None
    """Called with bytes as they arrive."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set if all shall end."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def moved(self, size_bytes: int) -> None:
        """Note bytes.

        Raises:
            StoppedError: All shall end.
        """
        if self.stop.is_set():
            raise StoppedError
        with self._lock:
            self.told(size_bytes)


def download_file(
    remote: Remote, file: RemoteFile, folder: Path, name_of: Callable[[str], str], traffic: Traffic, *,
    sha256: str | None = None, most_bytes: int,
) -> str:  # fmt: skip
    """Bring a file here. What was fetched of it before is not asked for again.

    Args:
        remote: Where it lies.
        file: Which, as it was looked at.
        folder: Where it goes; what is not yet whole lies there, too, hidden.
        name_of: Its name in `folder`, by its SHA-256.
        traffic: Told of bytes, also of those that were here before.
        sha256: What its content must be; None if nobody knows.
        most_bytes: What it may hold at most, whatever the store says of it.

    Returns:
        The SHA-256 of what is here.

    Raises:
        RemoteError: It cannot be read, changed meanwhile, holds too much, or is not what it should be.
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
                "nothing was kept of it"
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
    """Keep out another process, or another worker of this node, that brings the same file."""
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
        # Before it is let go: whoever waits for it then sees that it has no name any more, and takes another.
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _persistently(remote: Remote, file: RemoteFile, partial: Path, traffic: Traffic, most_bytes: int) -> str:
    """Fetch the rest of a file, trying again if that may help; its SHA-256."""
    told = failures = 0
    while True:
        digest, here = _so_far(partial, file.size_bytes)
        began = here
        traffic.moved(max(0, here - told))
        told = max(told, here)
        try:
            # Of what is all here, stopped before it was looked at once more, a web server has no rest to give.
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
            # A request that is given up ends like a file that is read.
            traffic.moved(0)
            if file.size_bytes is not None and here < file.size_bytes:
                raise RemoteError(
                    f"{redact(file.path)} ended after {here:,} of {file.size_bytes:,} bytes; run the command again",
                    passing=True,
                )
            break
        except RemoteError as error:
            # A connection that breaks after hours has not failed for the same reason as one that never opens.
            failures = failures + 1 if here - began < MUCH_BYTES else 1
            if not error.passing or failures == ATTEMPTS:
                raise
        if traffic.stop.wait(FIRST_WAIT_S * 2 ** (failures - 1)):
            raise StoppedError
    with storage_errors(partial), partial.open("ab") as out:
        os.fsync(out.fileno())
    return digest.hexdigest()


def _so_far(partial: Path, size_bytes: int | None) -> "tuple[hashlib._Hash, int]":
    """Hash and length of what is here of a file; what cannot be a part of it is removed."""
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
    """Do `work` for every item in threads, and hand out results, and errors that a user can mend, as they come.

    Where whoever asks stops, or is interrupted, no further item is begun and those at work end at their next bytes.
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
        # Again and again: a thread may ask for more before it looks whether it shall stop.
        while wait([future for future in futures if not future.cancelled()], timeout=STOP_EVERY_S).not_done:
            give_up()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
