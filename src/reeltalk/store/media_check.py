"""Whether a benchmark's media are all here and whole, and what no table names."""

from collections.abc import Iterator, Sequence
from typing import Final

from reeltalk.schema.checks import Check
from reeltalk.store.atomic import PARTIAL_PREFIX
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.media_remote import named_media, recorded_remote
from reeltalk.store.remote import shown
from reeltalk.store.sources import Progress
from reeltalk.store.validate import damage_of

NAMED: Final = 3
"""Files that a line names before it counts the rest."""


def check_media(
    benchmark: Benchmark, *, quick: bool = False, progress: Progress = lambda what, done, total, share: None
) -> Iterator[Check]:
    """Look for every media file that tables name, and at every one that is here.

    Args:
        benchmark: Whose media.
        quick: Only whether they are here and hold something; else each is read once and hashed.
        progress: Told how far the hashing is.
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
    # Annotations alone are a benchmark, too; a part of the media is what nobody wants.
    status = "warning" if len(missing) == len(named) else "problem"
    return Check(area="media", subject="presence", status=status, found=found, advice=_how(benchmark))


def _how(benchmark: Benchmark) -> str:
    address = recorded_remote(benchmark.path)
    if address is not None:
        return f"bring them from {shown(address)}: reeltalk media pull {benchmark.path}"
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
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
