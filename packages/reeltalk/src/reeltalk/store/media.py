"""Media files by content hash, as `media/<sha256>`. Each is stored once, and complete or absent."""

import errno
import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.store.atomic import PARTIAL_PREFIX, make_directory, sync_directory, writing
from reeltalk.store.file_hashes import FileHashes
from reeltalk.store.foreign import open_file, path_inside
from reeltalk.store.manifest import HASH_BLOCK_BYTES, MEDIA, hash_file

NAME: Final = re.compile("[0-9a-f]{64}")


def hash_video(path: Path) -> str:
    """SHA-256 of a video file. A file of a media store is checked once against its name.

    Raises:
        BenchmarkError: It cannot be read, or changed since it was stored.
    """
    if path.parent.name == MEDIA and NAME.fullmatch(path.name):
        return MediaStore(path.parent.parent).whole(path.name).name
    try:
        return hash_file(path)[0]
    except OSError as error:
        raise BenchmarkError(f"cannot read {path}: {error.strerror}; check the permissions of the file") from None


class MediaStore:
    """The media folder of one benchmark."""

    def __init__(self, benchmark_folder: Path, checked: FileHashes | None = None) -> None:
        self.folder = benchmark_folder / MEDIA
        self._benchmark_folder, self._checked = benchmark_folder, checked or FileHashes(benchmark_folder)

    def path(self, sha256: str) -> Path:
        """The path of the file with that content; it need not exist."""
        if not NAME.fullmatch(sha256):
            raise ValueError(f"not a SHA-256: {sha256!r}")
        return self.folder / sha256

    def whole(self, sha256: str) -> Path:
        """The path of a file, after a check of its content. Use it before a file is decoded, copied or served.

        Raises:
            BenchmarkError: It cannot be read, is reached through a link, or has another content than its name says.
        """
        path = path_inside(self._benchmark_folder, f"{MEDIA}/{self.path(sha256).name}")
        try:
            found = self._checked.sha256(f"{MEDIA}/{sha256}")
        except OSError as error:
            raise BenchmarkError(f"cannot read {path}: {error.strerror}; check the permissions of the file") from None
        if found != sha256:
            raise BenchmarkError(
                f"{path} was edited or damaged: its content does not have the hash that it is named by; delete it and "
                f"bring it again, with 'reeltalk media pull {self._benchmark_folder}' or 'reeltalk attach'"
            )
        return path

    def has(self, sha256: str) -> bool:
        """True if the file is here."""
        return self.path(sha256).is_file()

    def add(self, source: Path) -> str:
        """Copy a file into the store and return its hash. A file that it has already is not copied again.

        Raises:
            BenchmarkError: It cannot be read or written.
        """
        try:
            sha256, _ = hash_file(source)
        except OSError as error:
            raise BenchmarkError(f"cannot read {source}: {error.strerror}") from None
        if self.has(sha256):
            return sha256
        digest = hashlib.sha256()
        with writing(self.path(sha256)) as stream, open_file(source) as original:
            while block := original.read(HASH_BLOCK_BYTES):
                digest.update(block)
                stream.write(block)
            if digest.hexdigest() != sha256:
                raise BenchmarkError(f"{source} changed while it was copied; run the command again")
        return sha256

    def link(self, source: Path) -> str:
        """Hard-link a file into the store, so that it takes no more space, and return its hash.

        Edits of the file then damage the media, which `whole` finds. A copy that the store has already gives way.

        Raises:
            BenchmarkError: It cannot be read, or not be linked, as from another file system.
        """
        try:
            sha256, _ = hash_file(source)
        except OSError as error:
            raise BenchmarkError(f"cannot read {source}: {error.strerror}") from None
        path = self.path(sha256)
        if not (path.is_file() and path.samefile(source)):
            partial = self._linked(source)
            try:
                partial.replace(path)
                sync_directory(self.folder)
            finally:
                partial.unlink(missing_ok=True)
        return sha256

    def check_link(self, source: Path) -> None:
        """Refuse a file that cannot be linked into the store, before work is put into it.

        Raises:
            BenchmarkError: It is on another file system, or links to it are not allowed.
        """
        self._linked(source).unlink()

    def _linked(self, source: Path) -> Path:
        """A new link to a file, under a name of its own."""
        partial = self.folder / f"{PARTIAL_PREFIX}{secrets.token_hex(6)}"
        try:
            make_directory(self.folder)
            os.link(source, partial, follow_symlinks=False)
        except OSError as error:
            why = "it is on another file system" if error.errno == errno.EXDEV else error.strerror or str(error)
            raise BenchmarkError(
                f"cannot link {source} into {self.folder}: {why}; choose --media copy, or a benchmark and videos on "
                f"one file system that allows hard links"
            ) from None
        return partial

    def names(self) -> list[str]:
        """Hashes of all files, in order. Files with other names are ignored."""
        if not self.folder.is_dir():
            return []
        with os.scandir(self.folder) as entries:
            return sorted(
                entry.name for entry in entries if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            )
