"""A benchmark's media on an object store, `ADDRESS/<sha256>`: pull, push and check.

Their address is in `remote.json` next to the manifest. It is not a part of the benchmark, so the hash of
the benchmark does not depend on the location of its media.
"""

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import BenchmarkError, InputError, ReeltalkError, RemoteError, SettingError
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.outcomes import Check
from reeltalk.store.atomic import PARTIAL_PREFIX, write_bytes
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.consent import NamedPath, Trust, check_consent, mark_made
from reeltalk.store.documents import parse, read_document, write_json
from reeltalk.store.download import AT_ONCE, Traffic, download_file, run_in_threads
from reeltalk.store.manifest import REMOTE, hash_file
from reeltalk.store.remote import Remote, RemoteFile, check_remote_address, redact
from reeltalk.store.tables import CLIPS, VIDEOS
from reeltalk.store.validate import damage_of

T = TypeVar("T")


class Recorded(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["reeltalk.remote"] = "reeltalk.remote"
    media: Annotated[str, Field(min_length=1)]
    """Address of the folder that holds the media."""


@dataclass(frozen=True)
class TransferredFiles:
    """The files that were transferred, or would be with `dry_run`."""

    address: str
    files: int
    size_bytes: int
    there: int
    """Files that needed no transfer."""
    absent: tuple[str, ...] = ()
    """Hashes in tables whose files are neither here nor at the address."""


def read_remote(benchmark: Path) -> str | None:
    """The address of a benchmark's media; None if none is recorded.

    Raises:
        InputError: `remote.json` is damaged.
        SettingError: It names an address that cannot be used.
    """
    path = benchmark / REMOTE
    return (
        check_remote_address(parse(Recorded, read_document(benchmark, REMOTE), file=path).media)
        if path.is_file()
        else None
    )


def record_remote(benchmark: Path, address: str) -> None:
    """Record the address of a benchmark's media, which the user gave.

    Raises:
        SettingError: The address cannot be used, or holds credentials.
        BenchmarkError: `remote.json` cannot be written.
    """
    note = Recorded(media=check_remote_address(address))
    write_bytes(benchmark / REMOTE, write_json(note.model_dump(mode="json")).encode())
    mark_made(benchmark, [_named(address)])


def _place(benchmark: Path, address: str | None, trust: Trust) -> str | None:
    """The given address, or the recorded one if this user gave it or agrees to it."""
    if address is None and (address := read_remote(benchmark)) is not None:
        check_consent(benchmark, [_named(address)], trust)
    return address


def _named(address: str) -> NamedPath:
    return NamedPath("contact", f"{redact(address)} for media, with your credentials of such a store")


def named_media(benchmark: Benchmark) -> dict[str, str]:
    """The table row that names each media file, such as `videos:kitchen-17` or `clips:…`, by the hash of the file."""
    named = {video.sha256: f"videos:{video.id}" for video in benchmark.read(VIDEOS) if video.sha256 is not None}
    for clip in benchmark.read(CLIPS):
        if clip.file is not None:
            named.setdefault(clip.file.sha256, f"clips:{clip.id}")
    return named


def pull(
    benchmark: Benchmark,
    address: str | None = None,
    *,
    dry_run: bool = False,
    at_once: int = AT_ONCE,
    trust: Trust = False,
    progress: Progress = ignore_progress,
) -> TransferredFiles:
    """Download the missing media of the tables; each file is checked by its hash.

    Args:
        benchmark: Receives the files; it may be a release.
        address: Address of the media; by default the recorded one. It is recorded if none was.
        dry_run: Only list what would be downloaded.
        at_once: Files at a time.
        trust: As for `reeltalk.stages.retry`, for a recorded address that somebody else gave.
        progress: Receives how far the work is.

    Raises:
        SettingError: No address is known, it cannot be used, or you did not agree to it.
        RemoteError: A file could not be fetched; the others are kept.
        BenchmarkError: The disk is full or cannot be written.
    """
    where = _place(benchmark.path, address, trust)
    if where is None:
        raise SettingError(
            f"{benchmark.path} records no address of its media; name it, as in media pull BENCH s3://bucket/folder"
        )
    remote, known = Remote(where), set(benchmark.media.names())
    missing = [sha256 for sha256 in named_media(benchmark) if sha256 not in known]
    found, absent = _looked(remote, missing, at_once, progress)
    size_bytes = sum(file.size_bytes or 0 for file in found)
    moved = TransferredFiles(redact(where), len(found), size_bytes, len(known), tuple(absent))
    if not dry_run:
        counter = _Counter("bringing media", len(found), size_bytes, progress)
        traffic = Traffic(counter.add_bytes)
        work = functools.partial(_fetch_named, remote, benchmark.media.folder, traffic)
        _move(work, found, traffic, at_once, counter, f"from {redact(where)}")
        if found and read_remote(benchmark.path) is None:
            record_remote(benchmark.path, where)
    return moved


def push(
    benchmark: Benchmark,
    address: str | None = None,
    *,
    dry_run: bool = False,
    verify: bool = False,
    at_once: int = AT_ONCE,
    trust: Trust = False,
    progress: Progress = ignore_progress,
) -> TransferredFiles:
    """Upload the media that are not yet at the address, and record the address.

    A file whose content does not have the hash in its name is not uploaded. A file of the right size at the address
    counts as uploaded; `verify` reads it back.

    Args:
        address: Address of the media; by default the recorded one.
        dry_run: Only list what would be uploaded.
        verify: Read every file back, also those that were there before, and compare hashes.
        at_once: Files at a time.
        trust: As for `reeltalk.stages.retry`, for a recorded address that somebody else gave.
        progress: Receives how far the work is.

    Raises:
        SettingError: No address is known, it cannot be used, or you did not agree to it.
        RemoteError: A file could not be written, or has other content when it is read back.
        BenchmarkError: A file here is damaged.
    """
    where = _place(benchmark.path, address, trust)
    if where is None:
        raise SettingError(
            f"{benchmark.path} records no address for its media; name it, as in media push BENCH s3://bucket/folder"
        )
    remote, names = Remote(where), benchmark.media.names()
    sizes = {sha256: benchmark.media.path(sha256).stat().st_size for sha256 in names}
    there, _ = _looked(remote, names, at_once, progress)
    right = {file.name for file in there if file.size_bytes == sizes[file.name]}
    waiting = [sha256 for sha256 in names if sha256 not in right]
    size_bytes = sum(sizes[sha256] for sha256 in waiting)
    moved = TransferredFiles(redact(where), len(waiting), size_bytes, len(right))
    if dry_run:
        return moved
    counter = _Counter("writing media", len(waiting), size_bytes, progress)
    traffic = Traffic(counter.add_bytes)
    work = functools.partial(_put_named, remote, benchmark, traffic)
    _move(work, waiting, traffic, at_once, counter, f"to {redact(where)}")
    if verify:
        written, absent = _looked(remote, names, at_once, progress)
        if absent:
            raise RemoteError(f"{len(absent):,} files are not at {redact(where)} although they were written there")
        counter = _Counter("reading back", len(names), sum(sizes.values()), progress)
        traffic = Traffic(counter.add_bytes)
        _move(
            functools.partial(_read_back, remote, traffic),
            written,
            traffic,
            at_once,
            counter,
            f"at {redact(where)}",
        )
    record_remote(benchmark.path, where)
    return moved


class _Counter:
    """Reports the progress of several threads."""

    def __init__(self, what: str, files: int, size_bytes: int, progress: Progress) -> None:
        self.what, self.files, self.size_bytes, self.progress = what, files, size_bytes, progress
        self.done = self.done_bytes = 0

    def add_bytes(self, size_bytes: int) -> None:
        self.done_bytes += size_bytes
        self.show()

    def add_file(self) -> None:
        self.done += 1
        self.show()

    def show(self) -> None:
        self.progress(self.what, self.done, self.files, min(1.0, self.done_bytes / max(1, self.size_bytes)))


def _looked(
    remote: Remote, hashes: Iterable[str], at_once: int, progress: Progress
) -> tuple[list[RemoteFile], list[str]]:
    """The files with these hashes that exist at the address, and the hashes of missing ones, both in order."""
    wanted = list(hashes)
    found: list[RemoteFile] = []
    absent: list[str] = []
    for done, (sha256, file) in enumerate(run_in_threads(remote.look, wanted, Traffic(), at_once=at_once), start=1):
        if isinstance(file, ReeltalkError):
            raise file
        if file is None:
            absent.append(sha256)
        else:
            found.append(file)
        progress(f"looking at {redact(remote.address)}", done, len(wanted), done / len(wanted))
    return sorted(found, key=lambda file: file.name), sorted(absent)


def _move(
    work: Callable[[T], object], items: list[T], traffic: Traffic, at_once: int, counter: _Counter, where: str
) -> None:
    failed: list[ReeltalkError] = []
    for _, outcome in run_in_threads(work, items, traffic, at_once=at_once):
        if isinstance(outcome, BenchmarkError | InputError):
            traffic.stop.set()
            raise outcome
        if isinstance(outcome, ReeltalkError):
            failed.append(outcome)
        else:
            counter.add_file()
    if failed:
        raise RemoteError(
            f"{len(failed):,} of {len(items):,} files did not get {where}: {failed[0]}; the others did, run the "
            "command again to go on"
        )


def _fetch_named(remote: Remote, folder: Path, traffic: Traffic, file: RemoteFile) -> None:
    most_bytes = file.size_bytes if file.size_bytes is not None else LARGEST_BYTES
    download_file(remote, file, folder, str, traffic, sha256=file.name, most_bytes=most_bytes)


LARGEST_BYTES: Final = 1 << 40
"""Largest file if the server does not give its size."""


def _put_named(remote: Remote, benchmark: Benchmark, traffic: Traffic, sha256: str) -> None:
    path = benchmark.media.path(sha256)
    traffic.moved(0)
    found, size_bytes = hash_file(path)
    if found != sha256:
        raise BenchmarkError(
            f"{path} does not have the hash that it is named by, so it is not written anywhere; remove it, and "
            "curate or import it again"
        )
    remote.put(path, sha256)
    arrived = remote.look(sha256)
    if arrived is None or arrived.size_bytes != size_bytes:
        raise RemoteError(f"{redact(remote.address)}/{sha256} did not arrive whole; run the command again")
    traffic.moved(size_bytes)


def _read_back(remote: Remote, traffic: Traffic, file: RemoteFile) -> None:
    digest = hashlib.sha256()
    for block in remote.blocks(file, 0):
        digest.update(block)
        traffic.moved(len(block))
    if digest.hexdigest() != file.name:
        raise RemoteError(
            f"{redact(file.path)} came back with another content than was written; delete it there, and push again"
        )


MOST_NAMED: Final = 3
"""Most files that a line names; it counts the others."""


def check_media(benchmark: Benchmark, *, quick: bool = False, progress: Progress = ignore_progress) -> Iterator[Check]:
    """Check that every media file of the tables exists, and that every existing file is whole.

    Args:
        quick: Only check that files exist and are not empty; otherwise each is read once and hashed.
        progress: Receives the progress of hashing.
    """
    named, here = named_media(benchmark), benchmark.media.names()
    yield _present(benchmark, named, set(here))
    sizes = {sha256: (benchmark.media.folder / sha256).stat().st_size for sha256 in here}
    total_bytes = sum(sizes.values())
    bad, read_bytes = [], 0
    for number, sha256 in enumerate(here, start=1):
        if sizes[sha256] == 0 or (not quick and damage_of(benchmark, sha256) is not None):
            bad.append(sha256)
        read_bytes += sizes[sha256]
        if not quick:
            progress("hashing media", number, len(here), read_bytes / max(1, total_bytes))
    if bad:
        advice = (
            f"delete {benchmark.media.folder}/{bad[0]}{' and the others' if bad[1:] else ''}, then {_how(benchmark)}"
        )
        found = f"{len(bad):,} of {len(here):,} files are damaged: {_listed([named.get(name, name) for name in bad])}"
        yield Check(area="media", subject="content", status="problem", found=found, advice=advice)
    elif here:
        how = "hold something; without --quick they are hashed" if quick else "have the hash that they are named by"
        found = f"{len(here):,} files of {total_bytes / 1e6:,.1f} MB {how}"
        yield Check(area="media", subject="content", status="ok", found=found)
    yield from _left_over(benchmark, [sha256 for sha256 in here if sha256 not in named], sizes)


def _present(benchmark: Benchmark, named: dict[str, str], here: set[str]) -> Check:
    missing = [where for sha256, where in named.items() if sha256 not in here]
    if not named:
        return Check(area="media", subject="presence", status="ok", found="the tables name no media files")
    if not missing:
        found = f"all {len(named):,} files that the tables name are here"
        return Check(area="media", subject="presence", status="ok", found=found)
    found = f"{len(missing):,} of {len(named):,} files that the tables name are not here: {_listed(missing)}"
    # A benchmark without media is valid. Only a part of the media is a problem.
    status = "warning" if len(missing) == len(named) else "problem"
    return Check(area="media", subject="presence", status=status, found=found, advice=_how(benchmark))


def _how(benchmark: Benchmark) -> str:
    address = read_remote(benchmark.path)
    if address is not None:
        return f"bring them from {redact(address)}: reeltalk media pull {benchmark.path}"
    return (
        f"curate the videos again, attach their files (reeltalk attach), or bring them: reeltalk media pull "
        f"{benchmark.path} s3://bucket/folder"
    )


def _left_over(benchmark: Benchmark, orphans: Sequence[str], sizes: dict[str, int]) -> Iterator[Check]:
    if orphans:
        size = sum(sizes[sha256] for sha256 in orphans)
        found = f"{len(orphans):,} files of {size / 1e6:,.1f} MB are named by no table: {_listed(orphans)}"
        advice = f"delete them from {benchmark.media.folder} where nobody wants them"
        yield Check(area="media", subject="orphans", status="warning", found=found, advice=advice)
    folder = benchmark.media.folder
    partials = [p for p in folder.glob(f"{PARTIAL_PREFIX}*") if p.suffix != ".lock"] if folder.is_dir() else []
    if partials:
        found = f"{len(partials):,} files arrived only in part"
        advice = f"go on with reeltalk media pull {benchmark.path}, or delete {folder}/{PARTIAL_PREFIX}*"
        yield Check(area="media", subject="parts", status="warning", found=found, advice=advice)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
