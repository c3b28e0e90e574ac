"""Source files at an address, downloaded into a cache, so that a stage reads them as local files.

Each file is downloaded once: the cache records the object and version of its content. You may delete the cache at any
time.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from reeltalk.errors import BenchmarkError, ReeltalkError, RemoteError, SettingError
from reeltalk.progress import Progress, ignore_progress
from reeltalk.store.atomic import write_bytes
from reeltalk.store.download import AT_ONCE, Traffic, download_file, run_in_threads
from reeltalk.store.remote import WEB, Remote, RemoteFile, check_remote_address, redact

OBJECTS: Final = "objects"
KNOWN: Final = "known"
SUFFIX: Final = re.compile(r"\.[a-z0-9]{1,8}")


@dataclass(frozen=True)
class FetchedFile:
    """A file that was fetched."""

    name: str
    """Relative to the folder at the address, with forward slashes."""
    path: Path
    """Its path in the cache, named by its content, with its own ending."""
    address: str
    """Its address."""


@dataclass(frozen=True)
class FetchedSources:
    """The files that were fetched from one address."""

    address: str
    files: tuple[FetchedFile, ...]
    """In sorted order of their names."""
    refused: dict[str, str]
    """Reasons for refused files, by name: no local file can have these names."""


def fetch_sources(
    address: str,
    cache: Path,
    *,
    choose: Callable[[Iterable[str]], Sequence[str]],
    beside: Callable[[str], Iterable[str]],
    most_bytes: int,
    at_once: int = AT_ONCE,
    progress: Progress = ignore_progress,
) -> FetchedSources:
    """Fetch the files of a folder at an address, or one file with its companions.

    A stopped download resumes. One file that fails does not stop the others.

    Args:
        address: An address such as `s3://bucket/raw/` or `https://example.org/film.mp4`.
        cache: Folder that receives them.
        choose: Chooses names among all in a folder.
        beside: Returns names of companions of a single file, such as subtitles.
        most_bytes: Most bytes to download in all.
        at_once: Files that are fetched at a time.
        progress: Receives how far the work is.

    Raises:
        SettingError: The address cannot be used, or holds more than `most_bytes`.
        MissingExtraError: The package for its scheme is not installed.
        RemoteError: A file could not be fetched; a second run resumes.
        BenchmarkError: The disk is full, or cannot be written.
    """
    remote, wanted, refused = _wanted(address, choose, beside)
    cached = _Cache(cache, remote)
    ready = {file.name: path for file in wanted if (path := cached.find(file)) is not None}
    missing = [file for file in wanted if file.name not in ready]
    total_bytes = sum(file.size_bytes or 0 for file in missing)
    _check_room(address, cache, total_bytes, most_bytes)
    done_bytes = 0

    def told(size_bytes: int) -> None:
        nonlocal done_bytes
        done_bytes += size_bytes
        # Limit servers that do not report the sizes of files.
        if done_bytes > most_bytes + total_bytes:
            raise RemoteError(f"{redact(address)} sends more than it may: {most_bytes / 2**30:g} GiB in all")
        progress("bringing files", len(ready), len(wanted), min(1.0, done_bytes / max(1, total_bytes)))

    traffic = Traffic(told)
    failed: list[ReeltalkError] = []

    def work(file: RemoteFile) -> Path:
        return cached.fetch(file, traffic, most_bytes)

    for file, outcome in run_in_threads(work, missing, traffic, at_once=at_once):
        if isinstance(outcome, BenchmarkError):
            traffic.stop.set()
            raise outcome
        if isinstance(outcome, ReeltalkError):
            failed.append(outcome)
        else:
            ready[file.name] = outcome
        progress("bringing files", len(ready), len(wanted), min(1.0, done_bytes / max(1, total_bytes)))
    if failed:
        raise RemoteError(
            f"{len(failed):,} of {len(wanted):,} files could not be fetched from {redact(address)}: {failed[0]}; what "
            "arrived is kept, run the command again to go on"
        )
    files = tuple(
        FetchedFile(file.name, ready[file.name], file.path if remote.scheme in WEB else f"{remote.address}{file.name}")
        for file in wanted
    )
    return FetchedSources(redact(address), files, refused)


def _wanted(
    address: str, choose: Callable[[Iterable[str]], Sequence[str]], beside: Callable[[str], Iterable[str]]
) -> tuple[Remote, list[RemoteFile], dict[str, str]]:
    single = None if address.endswith("/") else Remote(address).look()
    if single is None:
        remote = Remote(f"{address.rstrip('/')}/")
        found, refused = remote.files()
        names = set(choose(file.name for file in found))
        wanted = [file for file in found if file.name in names]
        # Web servers list only names.
        return remote, [_looked_at(remote, file) for file in wanted], refused
    folder, _, name = check_remote_address(address).rpartition("/")
    remote = Remote(f"{folder}/")
    plain = unquote(name.partition("?")[0]) if remote.scheme in WEB else name
    files = [replace(single, name=plain)]
    for other in beside(plain):
        try:
            at_hand = remote.look(other)
        except RemoteError as error:
            # Without permission to list a folder, a missing file is often refused, not reported as missing.
            if error.passing:
                raise
            continue
        files += [at_hand] if at_hand is not None else []
    return remote, files, {}


def _looked_at(remote: Remote, file: RemoteFile) -> RemoteFile:
    if file.size_bytes is not None and file.version is not None:
        return file
    found = remote.again(file)
    if found is None:
        raise RemoteError(f"{redact(file.path)} is gone; run the command again")
    return found


def _check_room(address: str, cache: Path, total_bytes: int, most_bytes: int) -> None:
    if total_bytes > most_bytes:
        raise SettingError(
            f"{redact(address)} holds {total_bytes / 1e6:,.1f} MB that are not here yet, and --max-download-gib allows "
            f"{most_bytes / 1e6:,.1f} MB; raise it, or name a part of the folder"
        )
    above = next(folder for folder in (cache.absolute(), *cache.absolute().parents) if folder.exists())
    free_bytes = shutil.disk_usage(above).free
    if total_bytes > free_bytes:
        raise BenchmarkError(
            f"{redact(address)} holds {total_bytes / 1e6:,.1f} MB that are not here yet, and {above} has room for "
            f"{free_bytes / 1e6:,.1f} MB; free some space, or name a folder on another disk"
        )


class _Cache:
    """Content by its hash, and the hash of each object of an address."""

    def __init__(self, folder: Path, remote: Remote) -> None:
        self.folder, self.remote = folder, remote

    def find(self, file: RemoteFile) -> Path | None:
        """The path of the content of a file; None if it is not cached or the file has changed."""
        if file.version is None:
            return None
        try:
            sha256 = str(json.loads(self._note(file).read_bytes())["sha256"])
            path = self.folder / OBJECTS / self._name(file, sha256)
            return path if path.stat().st_size == file.size_bytes else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def fetch(self, file: RemoteFile, traffic: Traffic, most_bytes: int) -> Path:
        """Download a file and record its origin."""
        sha256 = download_file(
            self.remote,
            file,
            self.folder / OBJECTS,
            lambda sha256: self._name(file, sha256),
            traffic,
            most_bytes=most_bytes,
        )
        if file.version is not None:
            write_bytes(self._note(file), json.dumps({"sha256": sha256}).encode())
        return self.folder / OBJECTS / self._name(file, sha256)

    def _name(self, file: RemoteFile, sha256: str) -> str:
        # Some containers differ only in their ending.
        suffix = Path(file.name).suffix.lower()
        return f"{sha256}{suffix if SUFFIX.fullmatch(suffix) else ''}"

    def _note(self, file: RemoteFile) -> Path:
        parts = [self.remote.address, file.path, file.size_bytes, file.version]
        return self.folder / KNOWN / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()}.json"
