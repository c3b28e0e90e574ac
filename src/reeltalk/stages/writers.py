"""Writers side by side: a copy of a benchmark for each writer, with the same videos on disk."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reeltalk.construct.costs import COSTS
from reeltalk.construct.step import WRITER
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.texts import fold_name
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.foreign import open_file
from reeltalk.store.manifest import LINK_ROT, MANIFEST, MEDIA, REMOTE
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, GATES, LINKAGES, PATHS, REWRITES, SCENES, VIDEOS, Table

WRITTEN: Final[tuple[Table[Any], ...]] = (CHAINS, LINKAGES, REWRITES, PATHS, SCENES, DIALOGUES)
"""Tables with rows of a writer."""
_LEFT: Final = re.compile(r"[^\w.-]+")


def benchmarks_for_writers(benchmark: Benchmark, writers: Sequence[str], out: Path | str) -> dict[str, Benchmark]:
    """Copy a benchmark once for each writer, without what other writers wrote. Existing copies are opened.

    Videos take no space again: where the file system can, the copies share them as hard links.

    Args:
        benchmark: The benchmark, with clips.
        writers: Names of writers, two or more.
        out: Folder of the copies, each named after its writer.

    Returns:
        The copies by writer.

    Raises:
        SettingError: A writer is named twice, or two names give one folder.
        BenchmarkError: A folder holds something else, or a copy with other videos or clips.
        FrozenError: The benchmark is a release.
    """
    benchmark.check_changeable()
    folders: dict[str, str] = {}
    for writer in writers:
        name = _LEFT.sub("-", writer).strip("-.") or "writer"
        other = next((taken for taken in folders if fold_name(folders[taken]) == fold_name(name)), None)
        if other is not None:
            again = "it" if other == writer else f"{other!r}"
            raise SettingError(f"--writer {writer!r} gives the same folder {name!r} as {again}; name each writer once")
        folders[writer] = name
    return {writer: _copy_or_open(benchmark, Path(out) / folder) for writer, folder in folders.items()}


def _copy_or_open(benchmark: Benchmark, folder: Path) -> Benchmark:
    if (folder / MANIFEST).is_file():
        found = Benchmark.open(folder)
        for table in (VIDEOS, CLIPS):
            one, two = (b.manifest.files.get(table.file_name) for b in (benchmark, found))
            if (one and one.sha256) != (two and two.sha256):
                raise BenchmarkError(
                    f"{folder} has other {table.name} than {benchmark.path}; choose another --out, or delete {folder}"
                )
        return found
    with writing_directory(folder) as partial:
        _copy(benchmark.path / MANIFEST, partial / MANIFEST)
        for listed in benchmark.manifest.files:
            for stored, path in benchmark.stored_files(listed).items():
                _copy(path, partial / stored)
        for name in (REMOTE, LINK_ROT):
            if (benchmark.path / name).is_file():
                _copy(benchmark.path / name, partial / name)
        for sha256 in benchmark.media.names():
            _link(benchmark.media.whole(sha256), partial / MEDIA / sha256)
    found = Benchmark.open(folder)
    if found.rows(GATES) or any(WRITER in row.extra for table in WRITTEN for row in found.read(table)):
        _remove_written(found)
    return found


def _remove_written(benchmark: Benchmark) -> None:
    """Remove what a writer wrote, with the results of its checks; imported rows stay."""
    rows = {table: [row for row in benchmark.read(table) if WRITER not in row.extra] for table in WRITTEN}
    with benchmark.writing(stage="construct writers") as writer:
        writer.remove(benchmark.manifest, GATES.file_name, COSTS, *(table.file_name for table in WRITTEN))
        for table, own in rows.items():
            if own:
                writer.add(table, own)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with open_file(source) as stream, target.open("wb") as copy:
        shutil.copyfileobj(stream, copy)


def _link(source: Path, target: Path) -> None:
    """A second name for a file whose content never changes; a copy where the file system has no such names."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        _copy(source, target)
