"""Commands for media that lie on object stores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import Bar, app
from reeltalk.errors import SettingError

if TYPE_CHECKING:
    from reeltalk.store.media_remote import Moved

media = App(name="media", help="Keep a benchmark's media on an object store, or bring them from one.", sort_key=4)
app.command(media)

DRY_RUN = Parameter(name="--dry-run", negative="")
VERIFY = Parameter(name="--verify", negative="")


@media.command
def pull(
    benchmark: Path,
    address: str | None = None,
    /,
    *,
    dry_run: Annotated[bool, DRY_RUN] = False,
    at_once: int = 8,
) -> int:
    """Bring the media that a benchmark's tables name and that are not here; each is checked by its hash.

    Example: `reeltalk media pull benchmarks/kitchen s3://bucket/kitchen`. Run it again to go on after an interruption.
    Exit code 1 where some are neither here nor there.

    Parameters
    ----------
    benchmark
        Folder of the benchmark or release.
    address
        Where they lie; by default where they were pushed to.
    dry_run
        Only say how many bytes would come.
    at_once
        Files at a time.
    """
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.media_remote import pull as bring

    opened = Benchmark.open(benchmark)
    with Bar() as bar:
        moved = bring(opened, address, dry_run=dry_run, at_once=_checked(at_once), progress=bar.show)
    print(_line(moved, "would be brought from" if dry_run else "brought from", "here"))
    for sha256 in moved.absent[:10]:
        print(f"  neither here nor there: {sha256}")
    if len(moved.absent) > 10:
        print(f"  … and {len(moved.absent) - 10:,} more")
    return 1 if moved.absent else 0


@media.command
def push(
    benchmark: Path,
    address: str | None = None,
    /,
    *,
    dry_run: Annotated[bool, DRY_RUN] = False,
    verify: Annotated[bool, VERIFY] = False,
    at_once: int = 8,
) -> int:
    """Write a benchmark's media to an object store, and note where they lie for `pull` and other machines.

    Example: `reeltalk media push benchmarks/kitchen s3://bucket/kitchen`. Run it again to go on after an interruption.

    Parameters
    ----------
    benchmark
        Folder of the benchmark or release.
    address
        Where to; by default where they were pushed before.
    dry_run
        Only say how many bytes would go.
    verify
        Read every file back and compare its hash.
    at_once
        Files at a time.
    """
    from reeltalk.store.benchmark import Benchmark
    from reeltalk.store.media_remote import push as write

    opened = Benchmark.open(benchmark)
    with Bar() as bar:
        moved = write(opened, address, dry_run=dry_run, verify=verify, at_once=_checked(at_once), progress=bar.show)
    print(_line(moved, "would be written to" if dry_run else "written to", "there"))
    return 0


def _checked(at_once: int) -> int:
    if not 1 <= at_once <= 64:
        raise SettingError(f"--at-once {at_once}: give 1 to 64")
    return at_once


def _line(moved: "Moved", did: str, where: str) -> str:
    return (
        f"{moved.files:,} files of {moved.size_bytes / 1e6:,.1f} MB {did} {moved.address}; "
        f"{moved.there:,} were {where} already"
    )
