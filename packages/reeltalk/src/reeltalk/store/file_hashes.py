"""Cache hashes of files, so that an unchanged file is hashed only once.

The hashes are stored in your own cache folder, by the absolute path of the folder of the files. Hashes that are stored
next to the files could come from a stranger who edited both.
"""

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.store.atomic import write_bytes
from reeltalk.store.manifest import hash_file

RECENT_NS: Final = 100_000_000
"""File systems record times in ticks of up to 10 ms, so a file that changed within this time may change unnoticed."""
OPENINGS: Final = 5
"""Attempts to open a file or a run that another process replaces each time."""
SPARE_LINES: Final = 1000
"""Outdated lines after which the record is written again."""

Mark = tuple[int, int, int, int]
"""Size, times of the last change of content and of entry, in ns, and inode."""


def cache_folder() -> Path:
    """The folder for files that can be made again: `$XDG_CACHE_HOME/reeltalk`, or `~/.cache/reeltalk`.

    Raises:
        RuntimeError: You have no home folder.
    """
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reeltalk"


class FileHashes:
    """Hashes of the files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, tuple[Mark, str]] | None = None
        self._record: Path | None = None

    def sha256(self, name: str) -> str:
        """Hash of a file's content. The file is read again only if it may have changed.

        Raises:
            OSError: It cannot be read.
        """
        path = self._folder / name
        known, mark = self._load(), mark_of(path)
        if mark is not None and name in known and known[name][0] == mark:
            return known[name][1]
        sha256, _ = hash_file(path)
        if mark is not None and mark == mark_of(path) and time.time_ns() - max(mark[1], mark[2]) > RECENT_NS:
            known[name] = mark, sha256
            self._keep(name)
        return sha256

    def _load(self) -> dict[str, tuple[Mark, str]]:
        if self._known is not None:
            return self._known
        self._known, lines = {}, []
        # Without a readable home folder, everything is hashed each time.
        with contextlib.suppress(OSError, RuntimeError):
            folder = os.fspath(self._folder.resolve())
            digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]
            self._record = cache_folder() / "checked" / f"{digest}.jsonl"
            lines = self._record.read_bytes().splitlines()
        for line in lines:
            # A process that was killed leaves half a line.
            with contextlib.suppress(ValueError, TypeError):
                name, size_bytes, changed_ns, entered_ns, inode, sha256 = json.loads(line)
                # The manifest has the same names.
                self._known[sys.intern(name)] = (size_bytes, changed_ns, entered_ns, inode), sha256
        if self._record is not None and len(lines) > len(self._known) + SPARE_LINES:
            with contextlib.suppress(Exception):
                write_bytes(self._record, b"".join(_line(name, known) for name, known in self._known.items()))
        return self._known

    def _keep(self, name: str) -> None:
        if self._record is None or self._known is None:
            return
        try:
            self._record.parent.mkdir(parents=True, exist_ok=True)
            with self._record.open("ab") as stream:
                stream.write(_line(name, self._known[name]))
        except OSError:
            self._record = None


def mark_of(path: Path) -> Mark | None:
    """A mark that changes when a file changes or is replaced; None if there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


class ReplacedError(BenchmarkError):
    """Another process wrote a folder while it was read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"another process wrote {folder} while it was read; run the command again")


@contextlib.contextmanager
def refuse_replaced(last: Path, mark: Mark | None, *, begun: Path) -> Iterator[None]:
    """Refuse the result or error of the block if another process replaced the folder's files during it.

    Args:
        last: The file that is replaced last.
        mark: Its `mark_of` from before the block; None if nobody replaces files.
        begun: A path that exists while files are being replaced.

    Raises:
        ReplacedError: `begun` exists, or `last` is another file.
    """
    try:
        yield
    finally:
        # Check `begun` first, since it is removed after `last` is in place.
        if mark is not None and (begun.exists() or mark_of(last) != mark):
            raise ReplacedError(last.parent)


def _line(name: str, known: tuple[Mark, str]) -> bytes:
    mark, sha256 = known
    return json.dumps([name, *mark, sha256]).encode() + b"\n"
