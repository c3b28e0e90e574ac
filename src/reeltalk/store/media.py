"""Media files by content hash: `media/<sha256>`, each once, whole or absent."""

import hashlib
import os
import re
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.store.atomic import writing
from reeltalk.store.manifest import HASH_BLOCK_BYTES, hash_file

MEDIA: Final = "media"
REMOTE: Final = "remote.json"
"""Beside the manifest: where the media lie that are not here."""
LINK_ROT: Final = "link-rot.json"
"""Beside the manifest: which of the videos' sources still answer."""
NAME: Final = re.compile("[0-9a-f]{64}")


class MediaStore:
    """The media folder of one benchmark."""

    def __init__(self, benchmark_folder: Path) -> None:
        self.folder = benchmark_folder / MEDIA

    def path(self, sha256: str) -> Path:
        """Where the file with that content lies, or would lie."""
        if not NAME.fullmatch(sha256):
            raise ValueError(f"not a SHA-256: {sha256!r}")
        return self.folder / sha256

    def has(self, sha256: str) -> bool:
        """True if the file is here."""
        return self.path(sha256).is_file()

    def add(self, source: Path) -> str:
        """Copy a file in and return its hash. A file that is here already is not copied again.

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
        with writing(self.path(sha256)) as stream, source.open("rb") as original:
            while block := original.read(HASH_BLOCK_BYTES):
                digest.update(block)
                stream.write(block)
            if digest.hexdigest() != sha256:
                raise BenchmarkError(f"{source} changed while it was copied; run the command again")
        return sha256

    def names(self) -> list[str]:
        """Hashes of the files that are here, in order. What has another name is no medium."""
        if not self.folder.is_dir():
            return []
        with os.scandir(self.folder) as entries:
            return sorted(entry.name for entry in entries if NAME.fullmatch(entry.name) and entry.is_file())
