"""Apply: settled work becomes the next revision of a benchmark, in one write, or not at all.

Applying again changes nothing: each settled place adds a review, which shows that it was applied.
"""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, BrokenInvariantError, FrozenError
from reeltalk.review.applying.collected import add_collected
from reeltalk.review.applying.links import apply_links, remap, settle_paths, word_paths
from reeltalk.review.applying.next_revision import NextRevision, done_units, undecided_counts
from reeltalk.review.applying.turns import VERIFIED, apply_labels, apply_turns
from reeltalk.review.database import ReviewProject
from reeltalk.review.events import OPERATOR, transaction
from reeltalk.review.importing import APPLIED, import_content, is_of_project, read_checked, table_hashes
from reeltalk.review.settling import OPEN
from reeltalk.review.tables import ChainRow, ProjectRow, QueueRow, UnitRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.team_stats import TeamStatsCache, release_blocks
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import MANIFEST, MEDIA, hash_file
from reeltalk.store.release import CARD
from reeltalk.store.tables import TABLES
from reeltalk.store.validate import Finding, check_content

SHOWN: Final = 5


@dataclass
class Applied:
    """What applying did, or would do."""

    revision: int
    """Revision of the benchmark now, from 1; its current one if nothing changed."""
    is_changed: bool
    counts: dict[str, int] = field(default_factory=dict)
    undecided: dict[str, int] = field(default_factory=dict)
    """Places whose work is not settled yet, by kind of work. They stay as they are."""
    conflicts: tuple[str, ...] = ()
    """Settled work that could not be applied, and why."""

    def lines(self, benchmark: Path, *, dry_run: bool) -> Iterator[str]:
        """Lines for people, with some of the conflicts."""
        if self.is_changed:
            yield f"{benchmark}: revision {self.revision}{' would be written' if dry_run else ''}"
        else:
            yield f"{benchmark}: nothing new was settled; it stays at revision {self.revision}"
        for words, count in self.counts.items():
            yield f"  {words}: {count:,}"
        for kind, count in self.undecided.items():
            yield f"  not settled yet, and left as they are ({kind}): {count:,}"
        for conflict in self.conflicts[:SHOWN]:
            yield f"  not applied: {conflict}"
        if len(self.conflicts) > SHOWN:
            yield f"  not applied: {len(self.conflicts) - SHOWN:,} more"
        if self.counts.get("paths taken out"):
            yield f"  'reeltalk construct {benchmark} --steps paths' draws new paths"


def apply_reviews(
    project: ReviewProject,
    *,
    into: Path | None = None,
    dry_run: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Applied:
    """Write the settled work of a project as the next revision of its benchmark.

    Args:
        project: The project.
        into: A copy of the benchmark to write instead of the benchmark itself; made if it does not exist.
        dry_run: Only report what would be done.
        progress: Called with the current step.

    Raises:
        FrozenError: The benchmark is a release.
        BenchmarkError: People agree too little, something else changed the benchmark, or it cannot be written.
        InputError: The benchmark is damaged.
        BrokenInvariantError: Settled work contradicts the benchmark, such as evidence after the end of its video.
    """
    source = Benchmark.open(project.benchmark)
    is_copied = into is not None and not (into.is_dir() and any(into.iterdir()))
    target = source if into is None or is_copied else Benchmark.open(into)
    if target.manifest.release is not None and not is_copied:
        raise FrozenError(
            f"{target.path} is release {target.manifest.release}, which does not change; pass --into FOLDER, which "
            "becomes a copy of it with the reviews applied"
        )
    progress(f"reading {target.path}")
    content = read_checked(target)
    _refuse_disagreement(project, progress)
    with project.database.reading() as session:
        row = session.get(ProjectRow, 1)
        if row is None:
            raise BenchmarkError(f"{project.benchmark} was never loaded for review; 'reeltalk review' loads it")
        if target is source and row.content_hash != source.manifest.content_hash:
            if not is_of_project(session, row, source.manifest):
                raise BenchmarkError(
                    f"{source.path} was changed by something else since the import; 'reeltalk review {source.path} "
                    "--reload' takes the changes over, or pass --into another copy"
                )
        progress("collecting settled work")
        made = next_revision(content, session)
        left = undecided_counts(session)
        chain = session.scalars(select(ChainRow)).one_or_none()
        head = (chain.seq, chain.hash) if chain is not None else (0, "")
    changed = [name for name, rows in made.content.rows() if rows != getattr(content, name)]
    applied = Applied(
        revision=made.number if changed else made.number - 1,
        is_changed=bool(changed),
        counts={name: count for name, count in sorted(made.counts.items()) if count},
        undecided=left,
        conflicts=tuple(made.conflicts),
    )
    _refuse_contradictions(content, made.content)
    if dry_run or (not changed and not is_copied):
        return applied
    progress(f"writing revision {made.number}")
    settings = {"project": row.name, "revision": made.number, "events": head[0], "head": head[1]}
    parents = table_hashes(target.manifest)

    def write(benchmark: Benchmark) -> None:
        if not changed:
            return
        with benchmark.writing(stage=APPLIED, settings=settings, parents=parents) as writer:
            if table_hashes(benchmark.manifest) != parents:
                raise BenchmarkError(f"{benchmark.path} was changed while reviews were applied; run the command again")
            for name in changed:
                rows = getattr(made.content, name)
                if rows:
                    writer.add(TABLES[name], rows)
                else:
                    writer.remove(benchmark.manifest, TABLES[name].file_name)

    if is_copied and into is not None:
        with writing_directory(into) as partial:
            _copy(source, partial)
            write(Benchmark.open(partial))
    else:
        write(target)
    if target is source and not is_copied:
        _go_on(project, source, made, applied)
    return applied


def _refuse_disagreement(project: ReviewProject, progress: Callable[[str], None]) -> None:
    least = project.settings.least_agreement
    if least is None:
        return
    progress("computing how far people agree")
    stats = TeamStatsCache(project.database).compute()
    with project.database.reading() as session:
        # A queue without any complete unit adds nothing to the benchmark, so it needs no agreement.
        applied = set(session.scalars(select(UnitRow.queue_id).where(UnitRow.state != OPEN).distinct()))
    measured = tuple(task for task in stats.tasks if task.queue_id in applied)
    blocks = release_blocks(replace(stats, tasks=measured), least)
    if blocks:
        raise BenchmarkError(f"{'; '.join(blocks)}; nothing was applied")


def next_revision(content: Content, session: Session) -> NextRevision:
    """A benchmark's rows with all settled work. Nothing is written."""
    made = NextRevision.after(content)
    apply_turns(made, done_units(session, "turns"))
    paths = remap(made)
    apply_links(made, done_units(session, "links"))
    for kind in VERIFIED:
        apply_labels(made, done_units(session, kind))
    settle_paths(made, paths)
    word_paths(made)
    add_collected(made, session)
    return made


def _refuse_contradictions(before: Content, after: Content) -> None:
    """Reject settled work that would make the benchmark invalid. Earlier problems are not caused by review."""

    def problems(content: Content) -> dict[str, Finding]:
        return {str(finding): finding for finding in check_content(content) if finding.severity == "error"}

    known = problems(before)
    new = [finding for text, finding in problems(after).items() if text not in known]
    if new:
        shown = "; ".join(f"{finding.where}: {finding.problem}" for finding in new[:SHOWN])
        more = f"; and {len(new) - SHOWN:,} more" if len(new) > SHOWN else ""
        raise BrokenInvariantError(
            f"the settled work contradicts the benchmark: {shown}{more}; nothing was applied. Return the work, so that "
            "it is corrected"
        )


def _copy(source: Benchmark, folder: Path) -> None:
    """A benchmark's files as a benchmark that can change, without a release card."""
    manifest = source.manifest
    files = {name: entry for name, entry in manifest.files.items() if name != CARD}
    for name in (*files, *(f"{MEDIA}/{sha256}" for sha256 in source.media.names())):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.file(name) if name in files else source.media.whole(Path(name).name), target)
        expected = files[name].sha256 if name in files else Path(name).name
        if hash_file(target)[0] != expected:
            raise BenchmarkError(f"{source.path / name} changed while it was copied; run the command again")
    copied = manifest.model_copy(update={"files": files, "release": None, "canary": None})
    (folder / MANIFEST).write_text(copied.to_json(), encoding="utf-8")


def _go_on(project: ReviewProject, benchmark: Benchmark, made: NextRevision, applied: Applied) -> None:
    """Update the project to the written revision: units that nobody has begun show it."""
    fresh = Benchmark.open(benchmark.path)
    with transaction(project.database, OPERATOR) as change:
        change.record(
            "apply",
            "project",
            after={"revision": made.number, "content_hash": fresh.manifest.content_hash, "counts": applied.counts},
        )
        known = set(change.session.scalars(select(QueueRow.id)))
        import_content(change, project, fresh, made.content, None, wanted=[name for name in TASKS if name in known])
