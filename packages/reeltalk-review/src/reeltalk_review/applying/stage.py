"""Apply: settled work becomes the next revision of a benchmark, in one write, or not at all.

Applying again changes nothing: each settled place adds a review, which shows that it was applied.
"""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, BrokenInvariantError, FrozenError
from reeltalk.schema.record import VideoId
from reeltalk.schema.review import Decision
from reeltalk.schema.turn_sense import Film
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.invariants import Finding, check_content
from reeltalk.store.manifest import MANIFEST, MEDIA, hash_file
from reeltalk.store.release import CARD
from reeltalk.store.tables import SOURCE_FILES, TABLES, Table
from reeltalk_review.applied import APPLY, HEAD, PROJECT
from reeltalk_review.applying.batches import LEFT_OUT, TableChanges, VideoBatch, VideoBatches
from reeltalk_review.applying.collected import add_collected
from reeltalk_review.applying.links import apply_links, remap, settle_paths, without_records, word_paths
from reeltalk_review.applying.next_revision import DoneUnit, NextRevision, SetAside, done_units, undecided_counts
from reeltalk_review.applying.turns import VERIFIED, apply_labels, apply_turns
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import InvalidValue
from reeltalk_review.events import OPERATOR, Transaction, transaction
from reeltalk_review.importing import (
    APPLIED,
    import_content,
    is_of_project,
    latest_revision,
    read_checked,
    table_hashes,
)
from reeltalk_review.settling import DONE, OPEN
from reeltalk_review.tables import ChainRow, ProjectRow, QueueRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.team_stats import TeamStatsCache, release_blocks

UNWRITTEN: Final = frozenset({Decision.REJECT, Decision.SKIP, "delete"})
"""Decisions whose other values do not reach the benchmark."""
SHOWN: Final = 5
TELL_EVERY_S: Final = 10.0


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
        made = revise(content, session, progress)
        left = undecided_counts(session)
        last = session.scalars(select(ChainRow)).one_or_none()
        head = (last.seq, last.hash) if last is not None else (0, "")
    changed = made.changed(content)
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
            for table, rows in changed.items():
                if (first := next(rows, None)) is not None:
                    writer.add(table, chain([first], rows))
                else:
                    writer.remove(benchmark.manifest, table.file_name)

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


@dataclass
class Revised:
    """All settled work, as changes to the tables of a benchmark."""

    number: int
    """Number of the revision, from 1."""
    changes: Mapping[str, TableChanges[Any]]
    """By table."""
    counts: Counter[str] = field(default_factory=Counter)
    aside: dict[str, list[SetAside]] = field(default_factory=dict)
    """What is left out, and why, by unit."""
    gone: set[str] = field(default_factory=set)
    """Ids of chains and dialogues without any turn left."""

    def changed(self, content: Content) -> dict[Table[Any], Iterator[Any]]:
        """The rows of each table that changed, to be read once.

        Args:
            content: The benchmark's rows before.
        """
        found = {
            TABLES[name]: changes.rows(getattr(content, name)) for name, changes in self.changes.items() if changes
        }
        if any(not self.gone.isdisjoint(file.records) for file in content.source_files):
            found[SOURCE_FILES] = without_records(content.source_files, self.gone)
        return found


def revise(content: Content, session: Session, progress: Callable[[str], None] = lambda _: None) -> Revised:
    """All settled work that keeps the benchmark valid, as changes to its tables. Nothing is written.

    Args:
        content: The benchmark's rows, which stay in their files. Some videos are in memory at once.
        session: The database.
        progress: Called with the current step.

    Raises:
        BrokenInvariantError: The benchmark would be invalid even without any unit.
    """
    folder = Path(gettempdir())
    changes = {name: TableChanges(table, folder) for name, table in TABLES.items() if name not in LEFT_OUT}
    made = Revised(latest_revision(content.reviews) + 1, changes)
    told = time.monotonic()
    for batch in VideoBatches(content, session):
        some = consistent_revision(batch, session, made.number)
        for name, table_changes in changes.items():
            table_changes.add(getattr(some.before, name), getattr(some.content, name), batch.places[name])
        made.counts.update(some.counts)
        made.aside |= some.aside
        made.gone |= {name for _, name in some.gone}
        session.expunge_all()
        if time.monotonic() - told >= TELL_EVERY_S:
            told = time.monotonic()
            progress(f"collecting settled work: {batch.videos:,} of {len(content.videos):,} videos")
    names = {unit_id: session.get_one(UnitRow, unit_id).title for unit_id in made.aside}
    made.aside = {
        unit_id: [replace(one, title=names[unit_id]) for one in found] for unit_id, found in made.aside.items()
    }
    return made


def next_revision(batch: VideoBatch, session: Session, number: int, *, without: Container[str] = ()) -> NextRevision:
    """Some videos' rows with all settled work, without units that were left out. Nothing is written.

    Args:
        batch: The videos.
        session: The database.
        number: Number of the revision.
        without: Ids of units that are left out.
    """
    made = NextRevision.after(batch.content, number)

    def units(kind: str) -> Iterator[DoneUnit]:
        wanted = [unit_id for unit_id in batch.units.get(kind, ()) if unit_id not in without]
        return _sound_units(made, done_units(session, kind, wanted))

    apply_turns(made, units("turns"))
    paths = remap(made)
    apply_links(made, units("links"))
    for kind in VERIFIED:
        apply_labels(made, units(kind))
    settle_paths(made, paths)
    word_paths(made)
    add_collected(made, session, batch.units, batch.dialogues)
    return made


def _sound_units(made: NextRevision, units: Iterable[DoneUnit]) -> Iterator[DoneUnit]:
    """The units whose results can be written; others are set aside. Results that were applied before stay."""
    films = {video.id: asdict(Film.of(video)) for video in made.content.videos}
    for unit in units:
        is_sound = True
        # The video may have become known since the unit was loaded.
        content = {**unit.content, "film": films.get(VideoId(unit.video_id or ""), unit.content.get("film", {}))}
        for place, settled in unit.results.items():
            if settled.value is None or settled.value.get("decision") in UNWRITTEN or not made.is_new(unit, place):
                continue
            try:
                TASKS[unit.kind].check(content, place, settled.value)
            except InvalidValue as error:
                is_sound = False
                found = error.more.get("findings")
                made.set_aside(unit, found[0]["text"] if found else str(error), place=place, field=error.field)
        if is_sound:
            yield unit


def consistent_revision(batch: VideoBatch, session: Session, number: int) -> NextRevision:
    """The next revision without the units that would make the benchmark invalid.

    Args:
        batch: Some videos.
        session: The database.
        number: Number of the revision.

    Raises:
        BrokenInvariantError: It is invalid even without any unit.
    """
    without: dict[str, str] = {}

    def problems(left_out: Container[str]) -> tuple[NextRevision, list[Finding]]:
        made = next_revision(batch, session, number, without=left_out)
        found = _errors(made.content)
        known = _errors(batch.content) if found else {}
        return made, [finding for text, finding in found.items() if text not in known]

    while True:
        made, new = problems(without)
        if not new:
            break
        without[_culprit(batch, without, lambda some: bool(problems(some)[1]), new)] = str(new[0])
    for unit_id, problem in without.items():
        title = session.get_one(UnitRow, unit_id).title
        made.aside.setdefault(unit_id, []).append(SetAside(unit_id, title, None, None, problem))
    return made


def _errors(content: Content) -> dict[str, Finding]:
    # The results of turns were checked by themselves.
    found = (finding for finding in check_content(content) if not finding.is_about_turn)
    return {str(finding): finding for finding in found if finding.severity == "error"}


def _culprit(
    batch: VideoBatch,
    without: Collection[str],
    is_broken: Callable[[Collection[str]], bool],
    problems: Sequence[Finding],
) -> str:
    """Id of a unit whose results make the benchmark invalid: the last of the shortest beginning that does.

    Args:
        batch: The videos.
        without: Ids of units that are left out already.
        is_broken: Whether the benchmark is invalid if some units are left out.
        problems: What is wrong.
    """
    kinds = ("turns", "links", *VERIFIED)
    units = [unit_id for kind in kinds for unit_id in batch.units.get(kind, ()) if unit_id not in without]
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


def _note_aside(change: Transaction, made: Revised) -> None:
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


def _go_on(project: ReviewProject, benchmark: Benchmark, made: Revised, applied: Applied, read: int) -> None:
    """Update the project to the written revision: units that nobody has begun show it."""
    fresh = Benchmark.open(benchmark.path)
    with transaction(project.database, OPERATOR) as change:
        after = {"revision": made.number, "content_hash": fresh.manifest.content_hash, "counts": applied.counts}
        change.record(APPLY, PROJECT, after={**after, HEAD: read})
        _note_aside(change, made)
        known = set(change.session.scalars(select(QueueRow.id)))
        wanted = [name for name in TASKS if name in known]
        import_content(change, project, fresh, fresh.stored_content(), None, wanted=wanted)
