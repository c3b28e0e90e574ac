"""Import and export: a benchmark from a published layout, and into one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reeltalk import __version__
from reeltalk.errors import BenchmarkError
from reeltalk.formats.registry import load_format
from reeltalk.schema.outcomes import StageReport
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import Manifest, hash_source


def import_layout(format: str, source: Path | str, into: Path | str, *, overwrite: bool = False) -> StageReport:
    """Read a published layout into a benchmark.

    Args:
        format: Name of the layout, as `vdact`; `reeltalk.formats.FORMATS` lists them.
        source: The release's folder, a part of it, or one of its files.
        into: Folder of the benchmark that appears. Where it holds the same already, nothing is done.
        overwrite: Replace what the benchmark holds.

    Raises:
        SettingError: There is no such layout.
        InputError: The source is missing or damaged; names file and place.
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
            raise BenchmarkError(f"{into} holds {told_counts(existing.manifest)}; pass --overwrite to replace that")
    content = layout.read(source)
    counts = Benchmark.create(into).write_content(content, stage=stage, parents=parents)
    if content.graphs:
        counts["graphs"] = len(content.graphs)
    return StageReport(stage=stage, counts=counts, rejected=tuple(content.rejected), warnings=tuple(content.warnings))


@dataclass(frozen=True)
class ExportReport:
    """What was written in a layout, and what that cannot hold."""

    folder: Path
    files: int
    lost: tuple[str, ...]
    """What the layout has no place for, a line each."""


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
        format: Name of the layout; `reeltalk.formats.FORMATS` lists them.
        out: Folder that appears, whole or not at all.
        write: Writes it in place of the layout's own function, as with other options.
        overwrite: Replace what is there.

    Raises:
        SettingError: There is no such layout.
        BenchmarkError: `out` is taken, or the layout needs what the benchmark does not hold.
    """
    out, layout = Path(out), load_format(format)
    content = benchmark.content()
    pictures = sum("/" in name and not name.startswith("graphs/") for name in benchmark.manifest.files)
    with writing_directory(out, overwrite=overwrite) as folder:
        lost = (write or layout.write)(content, folder)
        lost += [f"contact sheets and saved key frames are left out: {pictures:,}"] if pictures else []
        files = sum(path.is_file() for path in folder.rglob("*"))
    return ExportReport(out, files, tuple(lost))


def told_counts(manifest: Manifest) -> str:
    """What a benchmark holds, in words: rows by table."""
    counts = [f"{entry.rows:,} {Path(name).stem}" for name, entry in manifest.files.items() if entry.rows]
    return ", ".join(counts) or "files"
