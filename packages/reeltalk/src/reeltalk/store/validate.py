"""Check the files and records of a benchmark, and accept benchmarks and runs that were edited by hand."""

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, BrokenInvariantError, ReeltalkError
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.record import Record
from reeltalk.schema.runs import CurvePoint, RunInfo, SummaryRow
from reeltalk.store.atomic import PARTIAL_PREFIX
from reeltalk.store.benchmark import COMMIT, HIDDEN, LOCK, WORK, Benchmark
from reeltalk.store.documents import parse, read_document
from reeltalk.store.foreign import escape_path, foreign_entries, open_file, path_inside
from reeltalk.store.invariants import Finding, check_content
from reeltalk.store.manifest import (
    HASH_BLOCK_BYTES,
    MANIFEST,
    MEDIA,
    REMOTE,
    REPORT,
    FileEntry,
    Origin,
    Part,
    hash_file,
    read_manifest,
)
from reeltalk.store.rows import open_rows
from reeltalk.store.runs import (
    CURVES,
    FILES,
    INFO,
    SUMMARY,
    Run,
    check_run_folder,
    lock_run,
    write_summary,
)
from reeltalk.store.tables import TABLES

EDITED: Final = "its content differs from the hash in the manifest: it was edited or damaged"


class Findings(HasOverview, list[Finding]):
    """All findings of a check."""

    def overview(self) -> Overview:
        """The errors, then the warnings."""
        errors = sum(finding.severity == "error" for finding in self)
        title = f"{errors:,} errors, {len(self) - errors:,} warnings" if self else "nothing found"
        ordered = sorted(self, key=lambda finding: finding.severity != "error")
        rows = tuple(
            (finding.severity, str(finding).removeprefix(finding.severity).lstrip(": ")) for finding in ordered
        )
        return Overview(title, ("severity", "finding") if rows else (), rows)


def validate(benchmark: Benchmark, *, media: bool = True) -> Findings:
    """All problems of a benchmark, with problems of files first.

    This reads and hashes every file of the benchmark; media only if `media` is true. Tables that a person put into the
    folder are checked too, before `accept` makes them part of it.
    """
    findings = Findings(_files(benchmark))
    listed = benchmark.manifest.files | _new_tables(benchmark)
    benchmark = Benchmark(benchmark.path, benchmark.manifest.model_copy(update={"files": listed}), as_it_is=True)
    if media:
        findings += [damage for sha256 in benchmark.media.names() if (damage := damage_of(benchmark, sha256))]
    try:
        findings += list(check_content(benchmark))
    except (ReeltalkError, UnicodeDecodeError, OSError) as error:
        findings.append(Finding("error", str(benchmark.path), str(error)))
    return findings


def damage_of(benchmark: Benchmark, sha256: str) -> Finding | None:
    """The problem of a media file, if its content does not have the hash in its name."""
    name = f"{MEDIA}/{sha256}"
    try:
        found, _ = hash_file(path_inside(benchmark.path, name))
    except ReeltalkError as error:
        return Finding("error", name, str(error))
    except OSError as error:
        return Finding("error", name, f"it cannot be read: {error.strerror}")
    if found == sha256:
        return None
    return Finding("error", name, "its content does not have the hash that it is named by")


def _files(benchmark: Benchmark) -> Iterator[Finding]:
    foreign = dict(foreign_entries(benchmark.path, HIDDEN))
    for name, problem in foreign.items():
        yield Finding("error", name, f"it {problem}; put a copy in its place if you trust it, or delete it")
    for table, entry in benchmark.manifest.files.items():
        whole, is_whole = hashlib.sha256(), bool(entry.parts)
        for name, file in entry.stored(table).items():
            if name in foreign or name.split("/")[0] in foreign:
                is_whole = False
                continue
            differs = _problem_of(benchmark.path / name, file.sha256, [whole] if entry.parts else [])
            if differs is not None:
                is_whole = False
                yield Finding("error", name, differs)
        if is_whole and whole.hexdigest() != entry.sha256:
            yield Finding("error", table, "its hash in the manifest is not that of its parts together")
    media = (f"{MEDIA}/{sha256}" for sha256 in benchmark.media.names())
    known = {*benchmark.manifest.stored(), MANIFEST, LOCK, REMOTE, REPORT, *media, *foreign}
    for path in sorted(benchmark.path.rglob("*")):
        name = escape_path(path.relative_to(benchmark.path))
        if (path.is_dir() and not path.is_symlink()) or name in known or name.split("/")[0] in (COMMIT, WORK):
            continue
        if not path.name.startswith(PARTIAL_PREFIX) and PARTIAL_PREFIX not in name:
            is_table = name in {table.file_name for table in TABLES.values()}
            way_on = "; 'reeltalk validate --accept' adds it" if is_table else ""
            yield Finding("warning", name, f"not listed in the manifest, so not part of the benchmark{way_on}")


def _problem_of(path: Path, sha256: str, also: Sequence["hashlib._Hash"]) -> str | None:
    """Why a file is not the one that the manifest lists; None if it is. `also` takes in its content."""
    if not path.is_file():
        return "listed in the manifest but missing"
    try:
        return None if _read_part(path, also).sha256 == sha256 else EDITED
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


EDITED_BY_HAND: Final = "edited by hand"
"""Stage in the origin of files that a person edited."""
EDITED_PART: Final = f"|edited:{EDITED_BY_HAND.removeprefix('edited ')}"
"""Last part of the signatures of a run that a person edited."""


def accept(path: Path | str) -> list[str]:
    """Write a new revision of a benchmark, whose manifest lists the current content of edited files and of new tables.

    Returns:
        Names of the edited files and new tables, in order. If there are none, nothing is written.

    Raises:
        FrozenError: It is a release.
        BrokenInvariantError: Its records, as they are now, contradict each other or cannot be read; names the first.
        BenchmarkError: A file is missing or reached through a link, or the benchmark cannot be written.
    """
    benchmark = Benchmark.open(path)
    benchmark.check_changeable()
    with benchmark.revising() as commit:
        benchmark.manifest = read_manifest(benchmark.path)
        edited = _edited(benchmark)
        if edited:
            manifest = benchmark.manifest.model_copy(update={"files": benchmark.manifest.files | edited})
            revised = Benchmark(benchmark.path, manifest)
            _refuse_errors(revised)
            for name in edited:
                if (table := TABLES.get(Path(name).stem)) is not None and table.file_name == name:
                    edited[name] = replace(edited[name], rows=sum(1 for _ in revised.read(table)))
            commit(manifest.model_copy(update={"files": manifest.files | edited}))
    return sorted(edited)


def accept_run(path: Path | str) -> list[str]:
    """Update the hashes of a run's edited tables, and mark the signatures of its numbers as edited.

    Numbers are not computed again.

    Returns:
        Names of the edited tables, in order. If there are none, nothing is written.

    Raises:
        BenchmarkError: It is not a complete run, a table is missing, or it cannot be written.
        InputError: A table cannot be read; names the place.
    """
    path = Path(path)
    check_run_folder(path)
    with lock_run(path):
        files = parse(dict[str, str], read_document(path, FILES), file=path / FILES) if (path / FILES).is_file() else {}
        edited = sorted(name for name, sha256 in files.items() if _hash(path_inside(path, name)) != sha256)
        if edited:
            info = parse(RunInfo, read_document(path, INFO), file=path / INFO)
            summary = parse(list[SummaryRow], read_document(path, SUMMARY), file=path / SUMMARY)
            run = Run(path, info, summary, list(open_rows(path / CURVES, CurvePoint)))
            run.groups()
            tables: tuple[Sequence[Record], ...] = (run.answers(), run.item_scores(), *map(run.judged, run.protocols()))
            for table in tables:
                deque(table, maxlen=0)
            signed = (f"{row.signature.removesuffix(EDITED_PART)}{EDITED_PART}" for row in summary)
            marked = [row.model_copy(update={"signature": mark}) for row, mark in zip(summary, signed, strict=True)]
            write_summary(path, info, marked, set(files) - {INFO, SUMMARY})
    return edited


def _hash(path: Path) -> str:
    try:
        return hash_file(path)[0]
    except OSError as error:
        raise BenchmarkError(f"cannot read {path}: {error.strerror}; copy the run again, or make it again") from None


def _new_tables(benchmark: Benchmark) -> dict[str, FileEntry]:
    """Entries of tables that are in the folder and not in the manifest, because a person wrote them."""
    found = {}
    for table in TABLES.values():
        path = benchmark.path / table.file_name
        if table.file_name not in benchmark.manifest.files and path.is_file() and not path.is_symlink():
            sha256, size_bytes = hash_file(path)
            origin = Origin(stage=EDITED_BY_HAND, version=__version__)
            found[table.file_name] = FileEntry(sha256=sha256, size_bytes=size_bytes, origin=origin)
    return found


def _edited(benchmark: Benchmark) -> dict[str, FileEntry]:
    """New entries of files whose content differs from the manifest, and of new tables."""
    found = _new_tables(benchmark)
    for name, entry in benchmark.manifest.files.items():
        # Keep the settings, since they made the rest of the file.
        parents = {name: entry.sha256}
        origin = Origin(stage=EDITED_BY_HAND, version=__version__, settings=entry.settings, parents=parents)
        whole, parts = hashlib.sha256(), list[Part]()
        for stored, file in entry.stored(name).items():
            path = path_inside(benchmark.path, stored)
            if not path.is_file():
                raise BenchmarkError(f"{path} is missing; copy it again from its source, or make it again")
            part = _read_part(path, [whole])
            # Nobody has said which videos the rows of an edited part are about.
            parts.append(file if isinstance(file, Part) and file.sha256 == part.sha256 else part)
        if whole.hexdigest() != entry.sha256:
            found[name] = FileEntry(
                sha256=whole.hexdigest(),
                size_bytes=sum(part.size_bytes for part in parts),
                rows=sum(part.rows for part in parts) if entry.parts else None,
                parts=tuple(parts) if entry.parts else (),
                origin=origin,
            )
    return found


def _read_part(path: Path, also: Sequence["hashlib._Hash"]) -> Part:
    """Hash, size and number of lines of a file; `also` takes in its content."""
    digest, lines, size_bytes, ended = hashlib.sha256(), 0, 0, True
    with open_file(path) as stream:
        while block := stream.read(HASH_BLOCK_BYTES):
            for one in (digest, *also):
                one.update(block)
            lines, size_bytes, ended = lines + block.count(b"\n"), size_bytes + len(block), block.endswith(b"\n")
    return Part(sha256=digest.hexdigest(), size_bytes=size_bytes, rows=lines + (not ended))


def _refuse_errors(benchmark: Benchmark) -> None:
    errors = [finding for finding in validate(benchmark) if finding.severity == "error"]
    if errors:
        more = f" and {len(errors) - 1:,} more" if len(errors) > 1 else ""
        raise BrokenInvariantError(
            f"{benchmark.path} has errors, so it is not accepted: {errors[0].where}: {errors[0].problem}"
            f"{more}; 'reeltalk validate {benchmark.path}' lists them"
        )
