"""Import and export: read a benchmark from a published layout, or write it in one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError
from reeltalk.formats import load_format
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.store.archives import is_archive_name
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import Manifest, hash_source
from reeltalk.store.validate import check_characters

NAMED: Final = 10
"""Maximum number of texts that an import lists one by one."""


def import_layout(format: str, source: Path | str, into: Path | str, *, overwrite: bool = False) -> StageReport:
    """Read a published layout into a benchmark.

    Args:
        format: Name of the layout, for example `vdact`. `reeltalk.formats.FORMATS` lists all layouts.
        source: The release's folder, a part of it, or one of its files.
        into: Folder of the new benchmark. If it already holds the same content, nothing is done.
        overwrite: Replace the content of the benchmark.

    Raises:
        SettingError: There is no such layout.
        InputError: The source is missing or damaged. The message names the file and the place.
        BenchmarkError: The benchmark holds something else, or cannot be written.
    """
    source, into = Path(source), Path(into)
    layout = load_format(format)
    stage, parents = f"import {format}", {"source": hash_source(source)}
    if (into / "manifest.json").is_file() or (into / ".commit").is_dir():
        existing = Benchmark.open(into)
        entries = list(existing.manifest.files.values())
        if entries and all((e.stage, e.parents, e.version) == (stage, parents, __version__) for e in entries):
            return StageReport(stage=stage, counts={}, warnings=(f"{into} is up to date with {source}",))
        if entries and not overwrite:
            raise BenchmarkError(f"{into} holds {describe_counts(existing.manifest)}; pass --overwrite to replace that")
    if source.is_file() and is_archive_name(source.name) and source.suffix.lower() != ".zip":
        raise InputError("an archive of a kind that is not read", file=source, hint="unpack it, and give the folder")
    content = layout.read(source)
    _check_characters(content, source)
    content.warnings += _left_packed(content, source)
    counts = Benchmark.create(into).write_content(content, stage=stage, parents=parents)
    if content.graphs:
        counts["graphs"] = len(content.graphs)
    return StageReport(stage=stage, counts=counts, rejected=tuple(content.rejected), warnings=tuple(content.warnings))


def _check_characters(content: Content, source: Path) -> None:
    """Refuse invalid content before the benchmark is created, and report content that a person should check."""
    found = list(check_characters(content))
    for finding in found:
        if finding.severity == "error":
            raise InputError(
                finding.problem, file=source, place=finding.where, hint="correct it there and import again"
            )
    content.warnings += [f"{finding.where} {finding.problem}" for finding in found[:NAMED]]
    if len(found) > NAMED:
        content.warnings.append(f"{len(found) - NAMED:,} more texts like that; 'reeltalk validate' names all")


def _left_packed(content: Content, source: Path) -> list[str]:
    read = {file.path for file in content.source_files}
    files = visible_files(source) if source.is_dir() else []
    names = [path.relative_to(source).as_posix() for path in files if is_archive_name(path.name)]
    left = [name for name in names if name not in read]
    return [f"{len(left):,} archives were not read, {left[0]} first: unpack them and import again"] if left else []


@dataclass(frozen=True, repr=False)
class ExportReport(HasOverview):
    """Result of an export: the written files, and the data that the layout cannot hold."""

    folder: Path
    """Folder that was written."""
    files: int
    """Number of its files."""
    lost: tuple[str, ...]
    """Data that the layout cannot hold, one line each."""

    def overview(self) -> Overview:
        """The files written, and the data that is lost."""
        lost = f"; the layout cannot hold {len(self.lost):,} kinds of data" if self.lost else "; nothing is lost"
        return Overview(f"export: {self.files:,} files in {self.folder}{lost}", notes=self.lost)


def export_layout(
    benchmark: Benchmark,
    format: str,
    out: Path | str,
    *,
    write: Callable[[Content, Path], list[str]] | None = None,
    overwrite: bool = False,
) -> ExportReport:
    """Write a benchmark in a published layout.

    Args:
        benchmark: The benchmark.
        format: Name of the layout. `reeltalk.formats.FORMATS` lists all layouts.
        out: Folder to write. It is written completely or not at all.
        write: Function that replaces the layout's own writer, for example to pass other options.
        overwrite: Replace existing files.

    Raises:
        SettingError: There is no such layout.
        BenchmarkError: `out` exists, or the layout needs data that the benchmark does not hold.
    """
    out, layout = Path(out), load_format(format)
    content = benchmark.content()
    for sha256 in content.media:
        benchmark.media.whole(sha256)
    pictures = sum("/" in name and not name.startswith("graphs/") for name in benchmark.manifest.files)
    with writing_directory(out, overwrite=overwrite) as folder:
        lost = (write or layout.write)(content, folder)
        lost += [f"contact sheets and saved key frames are left out: {pictures:,}"] if pictures else []
        files = sum(path.is_file() for path in folder.rglob("*"))
    return ExportReport(out, files, tuple(lost))


def describe_counts(manifest: Manifest) -> str:
    """The rows of each table of a benchmark, in words."""
    counts = [f"{entry.rows:,} {Path(name).stem}" for name, entry in manifest.files.items() if entry.rows]
    return ", ".join(counts) or "files"
