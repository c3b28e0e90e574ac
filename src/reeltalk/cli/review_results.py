"""`reeltalk review apply|export|restore`: what comes of a review, and the whole of it on another machine."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from reeltalk.cli.app import Bar, say
from reeltalk.cli.reviewing import BENCHMARK, DATABASE, FLAG, opened_project, review


@review.command(sort_key=5)
def apply(
    benchmark: BENCHMARK,
    /,
    *,
    into: Path | None = None,
    dry_run: Annotated[bool, FLAG] = False,
    database: DATABASE = None,
) -> int:
    """Write what people settled as the next revision of the benchmark, in one write. Applying again changes nothing.

    Example: `reeltalk review apply benchmarks/kitchen --dry-run`, then without. Exit code 1 where something that was
    settled could not be applied.

    Parameters
    ----------
    into
        A copy that gets the work in place of the benchmark itself, as for a release, which does not change; it is made
        where it is not there.
    dry_run
        Say what would change, and write nothing.
    """
    from reeltalk.review.applying.stage import apply_reviews

    with opened_project(benchmark, database) as project:
        applied = apply_reviews(project, into=into, dry_run=dry_run, progress=say)
    for line in applied.lines(into if into is not None else benchmark, dry_run=dry_run):
        print(line)
    return 1 if applied.conflicts else 0


@review.command(sort_key=6)
def export(benchmark: BENCHMARK, out: Path, /, *, database: DATABASE = None) -> int:
    """Write the whole project as JSON Lines: people, queues, units, all work and its history. No password leaves.

    Example: `reeltalk review export benchmarks/kitchen kitchen-review`

    Parameters
    ----------
    out
        Folder that appears, whole or not at all.
    """
    from reeltalk.review.exporting import export_project

    with opened_project(benchmark, database) as project, Bar() as bar:
        manifest = export_project(project.database, out, progress=_shown_by(bar))
    rows = {name.removesuffix(".jsonl"): entry.rows for name, entry in manifest.files.items()}
    print(f"{out}: {', '.join(f'{count:,} {name}' for name, count in rows.items() if count)}")
    return 0


@review.command(sort_key=7)
def restore(export: Path, /, *, into: Path, database: DATABASE = None) -> int:
    """Bring an exported project back, here or on another machine or database. Its chain of events is verified.

    Example: `reeltalk review restore kitchen-review --into benchmarks/kitchen`, then `reeltalk review reset-password
    benchmarks/kitchen --name Ada` for everybody who shall sign in again.

    Parameters
    ----------
    export
        Folder that `reeltalk review export` wrote.
    into
        Folder of the benchmark that the project is about; its review must be empty.
    """
    from reeltalk.review.exporting import restore_project
    from reeltalk.review.project import Project
    from reeltalk.store.benchmark import Benchmark

    opened = Benchmark.open(into)
    project = Project.open(into, url=database)
    with contextlib.closing(project.database), Bar() as bar:
        manifest = restore_project(project.database, export, progress=_shown_by(bar))
    rows = manifest.files["events.jsonl"].rows
    print(
        f"{manifest.project}: {rows:,} events, chain whole; nobody has a password yet: 'reeltalk review reset-password'"
    )
    if manifest.content_hash != opened.manifest.content_hash:
        say(f"{into} is not the revision that the project was about: 'reeltalk review {into}' says what differs")
    return 0


def _shown_by(bar: Bar) -> Callable[[str, int, int], None]:
    def show(what: str, done: int, total: int) -> None:
        bar.show(what, done, total, done / total if total else 1.0)

    return show
