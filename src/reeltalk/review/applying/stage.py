"""Apply: settled work becomes the next revision of a benchmark, in one write, or not at all.

Applying again changes nothing: each settled place adds a review, which shows that it was applied.
"""

import shutil
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, BrokenInvariantError, FrozenError
from reeltalk.review.applied import APPLY, HEAD, PROJECT
from reeltalk.review.applying.collected import add_collected
from reeltalk.review.applying.links import apply_links, remap, settle_paths, word_paths
from reeltalk.review.applying.next_revision import (
    DoneUnit,
    NextRevision,
    SetAside,
    done_ids,
    done_units,
    undecided_counts,
)
from reeltalk.review.applying.sound_units import sound_units
from reeltalk.review.applying.turns import VERIFIED, apply_labels, apply_turns
from reeltalk.review.database import ReviewProject
from reeltalk.review.events import OPERATOR, Transaction, transaction
from reeltalk.review.importing import APPLIED, import_content, is_of_project, read_checked, table_hashes
from reeltalk.review.settling import DONE, OPEN
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
    aside: tuple[SetAside, ...] = ()
    """Settled work that was left out, and why. It stays in review, so that it can be returned."""

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
        for found in self.aside[:SHOWN]:
            yield f"  set aside: {found}"
        if len(self.aside) > SHOWN:
            yield f"  set aside: {len(self.aside) - SHOWN:,} more"
        if self.aside:
            count = len({found.unit_id for found in self.aside})
            tasks = "1 task was" if count == 1 else f"{count:,} tasks were"
            yield f"  {tasks} left out; return the work, so that it is corrected, and apply again"
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
        BrokenInvariantError: What would be added contradicts the benchmark, and no unit can be set aside for it.
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
        made = consistent_revision(content, session)
        left = undecided_counts(session)
        chain = session.scalars(select(ChainRow)).one_or_none()
        head = (chain.seq, chain.hash) if chain is not None else (0, "")
    changed = [name for name, rows in made.content.rows() if rows != getattr(made.before, name)]
    applied = Applied(
        revision=made.number if changed else made.number - 1,
        is_changed=bool(changed),
        counts={name: count for name, count in sorted(made.counts.items()) if count},
        undecided=left,
        aside=tuple(found for some in made.aside.values() for found in some),
    )
    is_own = target is source and not is_copied
    if dry_run or (not changed and not is_copied):
        if is_own and not dry_run:
            with transaction(project.database, OPERATOR) as change:
                _note_aside(change, made)
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
    if is_own:
        _go_on(project, source, made, applied, head[0])
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


def next_revision(content: Content, session: Session, *, without: Container[str] = ()) -> NextRevision:
    """A benchmark's rows with all settled work, without units that were left out. Nothing is written.

    Args:
        content: The benchmark.
        session: The database.
        without: Ids of units that are left out.
    """
    made = NextRevision.after(content)
    durations_s: dict[str, float | None] = {video.id: video.duration_s for video in content.videos}

    def units(kind: str) -> Iterator[DoneUnit]:
        return sound_units(made, done_units(session, kind, without=without), durations_s)

    apply_turns(made, units("turns"))
    paths = remap(made)
    apply_links(made, units("links"))
    for kind in VERIFIED:
        apply_labels(made, units(kind))
    settle_paths(made, paths)
    word_paths(made)
    add_collected(made, session)
    return made


def consistent_revision(content: Content, session: Session) -> NextRevision:
    """The next revision without the units that would make the benchmark invalid.

    Raises:
        BrokenInvariantError: It is invalid even without any unit.
    """
    without: dict[str, str] = {}
    known = _errors(content)

    def problems(left_out: Container[str]) -> tuple[NextRevision, list[Finding]]:
        made = next_revision(content, session, without=left_out)
        return made, [finding for text, finding in _errors(made.content).items() if text not in known]

    while True:
        made, new = problems(without)
        if not new:
            break
        without[_culprit(session, without, lambda some: bool(problems(some)[1]), new)] = str(new[0])
    for unit_id, problem in without.items():
        title = session.get_one(UnitRow, unit_id).title
        made.aside.setdefault(unit_id, []).append(SetAside(unit_id, title, None, None, problem))
    return made


def _errors(content: Content) -> dict[str, Finding]:
    return {str(finding): finding for finding in check_content(content) if finding.severity == "error"}


def _culprit(
    session: Session,
    without: Collection[str],
    is_broken: Callable[[Collection[str]], bool],
    problems: Sequence[Finding],
) -> str:
    """Id of a unit whose results make the benchmark invalid: the last of the shortest beginning that does.

    Args:
        session: The database.
        without: Ids of units that are left out already.
        is_broken: Whether the benchmark is invalid if some units are left out.
        problems: What is wrong.
    """
    kinds = ("turns", "links", *VERIFIED)
    units = [unit_id for kind in kinds for unit_id in done_ids(session, kind) if unit_id not in without]
    if is_broken({*without, *units}):
        shown = "; ".join(f"{finding.where}: {finding.problem}" for finding in problems[:SHOWN])
        more = f"; and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
        raise BrokenInvariantError(
            f"what people collected contradicts the benchmark: {shown}{more}; nothing was applied"
        )
    sound, broken = 0, len(units)
    while broken - sound > 1:
        middle = (sound + broken) // 2
        if is_broken({*without, *units[middle:]}):
            broken = middle
        else:
            sound = middle
    return units[broken - 1]


def _note_aside(change: Transaction, made: NextRevision) -> None:
    """Keep at each unit why it was left out, for those who can return it."""
    session = change.session
    for unit in session.scalars(select(UnitRow).where(UnitRow.set_aside.is_not(None))).all():
        if unit.id not in made.aside:
            change.record("set_aside", unit.id, before={"problems": unit.set_aside}, after={"problems": None})
            unit.set_aside = None
    for unit_id, found in made.aside.items():
        unit = session.get_one(UnitRow, unit_id)
        problems = [{"place": one.place, "field": one.field, "problem": one.problem} for one in found]
        if unit.state == DONE and unit.set_aside != problems:
            change.record("set_aside", unit_id, before={"problems": unit.set_aside}, after={"problems": problems})
            unit.set_aside = problems


def _copy(source: Benchmark, folder: Path) -> None:
    """A benchmark's files as a benchmark that can change, without a release card."""
    manifest = source.manifest
    files = {name: entry for name, entry in manifest.files.items() if name != CARD}
    found = [
        (name, source.stored_files(entry)[name], file.sha256)
        for entry in files
        for name, file in files[entry].stored(entry).items()
    ]
    found += [(f"{MEDIA}/{sha256}", source.media.whole(sha256), sha256) for sha256 in source.media.names()]
    for name, path, expected in found:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        if hash_file(target)[0] != expected:
            raise BenchmarkError(f"{path} changed while it was copied; run the command again")
    copied = manifest.model_copy(update={"files": files, "release": None, "canary": None})
    (folder / MANIFEST).write_text(copied.to_json(), encoding="utf-8")


def _go_on(project: ReviewProject, benchmark: Benchmark, made: NextRevision, applied: Applied, read: int) -> None:
    """Update the project to the written revision: units that nobody has begun show it."""
    fresh = Benchmark.open(benchmark.path)
    with transaction(project.database, OPERATOR) as change:
        after = {"revision": made.number, "content_hash": fresh.manifest.content_hash, "counts": applied.counts}
        change.record(APPLY, PROJECT, after={**after, HEAD: read})
        _note_aside(change, made)
        known = set(change.session.scalars(select(QueueRow.id)))
        import_content(change, project, fresh, made.content, None, wanted=[name for name in TASKS if name in known])
