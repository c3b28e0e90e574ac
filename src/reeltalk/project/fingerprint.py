"""One hash of whatever a step reads: a benchmark, a run, a file, or a folder of files."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from reeltalk.errors import InputError
from reeltalk.project.records import KnownFile
from reeltalk.project.steps import Read
from reeltalk.store.documents import visible_files
from reeltalk.store.manifest import MANIFEST, hash_file, read_manifest
from reeltalk.store.runs import ANSWERS, INFO, SUMMARY

MISSING: Final = "missing"
LATER: Final = ("construct", "graph", "proactive", "review", "tag", "rubric")
"""First words of the stages that add to a benchmark after its videos and clips are there."""


class Fingerprints:
    """Hashes what is read; a file whose size and time did not change is not read again."""

    def __init__(self, folder: Path, files: dict[str, KnownFile]) -> None:
        """Begin.

        Args:
            folder: The project's folder, from which paths start.
            files: Files that were hashed before; those hashed now are added.
        """
        self._folder, self.files = folder, files

    def of(self, read: Read) -> str:
        """The hash of what a step reads.

        Raises:
            InputError: It cannot be read.
            BenchmarkError: It is a benchmark of a newer reeltalk.
        """
        path = self._folder / read.path
        if (path / MANIFEST).is_file():
            manifest = read_manifest(path)
            if read.drafts:
                return manifest.content_hash
            return _of_lines(
                f"{entry.sha256}  {name}"
                for name, entry in sorted(manifest.files.items())
                if entry.stage.split(" ")[0] not in LATER
            )
        try:
            if (path / INFO).is_file():
                scores = sorted((path / "scores").glob("*.jsonl"))
                files = [found for name in (INFO, ANSWERS, SUMMARY) if (found := path / name).is_file()]
                return _of_lines(f"{hash_file(f)[0]}  {f.relative_to(path).as_posix()}" for f in (*files, *scores))
            if path.is_file():
                return self._file(path)
            if path.is_dir():
                return _of_lines(f"{self._file(f)}  {f.relative_to(path).as_posix()}" for f in visible_files(path))
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=error.filename or path) from None
        return MISSING

    def _file(self, path: Path) -> str:
        stands = path.stat()
        known = self.files.get(str(path))
        if known is not None and (known.size_bytes, known.changed_ns) == (stands.st_size, stands.st_mtime_ns):
            return known.sha256
        sha256, _ = hash_file(path)
        self.files[str(path)] = KnownFile(size_bytes=stands.st_size, changed_ns=stands.st_mtime_ns, sha256=sha256)
        return sha256


def _of_lines(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
