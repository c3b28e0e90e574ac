"""Apply: settled work becomes the next revision of a benchmark, in one write, or not at all.

Applying again changes nothing: each settled place adds a review, which shows that it was applied.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, BrokenInvariantError, FrozenError
from reeltalk.schema.review import Decision
from reeltalk.schema.texts import refusal, texts_of
from reeltalk.schema.turn_sense import Film
from reeltalk.store.atomic import writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content, ReadsTables
from reeltalk.store.invariants import check_content
from reeltalk.store.manifest import MANIFEST, MEDIA, hash_file
from reeltalk.store.release import CARD
from reeltalk_review.applied import APPLY, HEAD_KEY, PROJECT
from reeltalk_review.applying.collected import add_collected
from reeltalk_review.applying.decisions import CHANGES
from reeltalk_review.applying.differences import changes_of
from reeltalk_review.applying.following import follow_links, follow_paths, follow_rows
from reeltalk_review.applying.links import apply_links
from reeltalk_review.applying.next_revision import NextRevision, SetAside
from reeltalk_review.applying.settled import DoneUnit, done_units, finished_units, undecided_counts
from reeltalk_review.applying.turns import VERIFIED, apply_labels, apply_turns
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import InvalidValue
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.importing import (
    APPLIED,
    import_content,
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
    show: Callable[[str], None] = lambda _: None,
) -> Applied:
    """Write the settled work of a project as the next revision of its benchmark.

    Args:
        into: A copy of the benchmark to write instead of the benchmark itself; made if it does not exist.
        dry_run: Only report what would be done.
        progress: Called with the current step.
        show: Called in a dry run with each line of what would change, turn by turn.

    Raises:
        FrozenError: The benchmark is a release.
        BenchmarkError: People agree too little, something else changed the benchmark, or it cannot be written.
        InputError: The benchmark is damaged.
        BrokenInvariantError: What would be added contradicts the benchmark, and no unit can be set aside for it.
    """
    source = Benchmark.open(project.benchmark)
    is_absent = into is not None and not (into.is_dir() and any(into.iterdir()))
    target = source if into is None or is_absent else Benchmark.open(into)
    if target.manifest.release is not None and not is_absent:
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
        made = revise(content, session, progress)
        changed = made.changed()
        applied = Applied(
            revision=made.number if changed else made.number - 1,
            is_changed=bool(changed),
            counts={name: count for name, count in sorted(made.counts.items()) if count},
            undecided=undecided_counts(session),
            aside=tuple(found for some in made.aside.values() for found in some),
        )
        if dry_run:
            for line in _differences(made, session) if changed else ():
                show(line)
            return applied
        last = session.scalars(select(ChainRow)).one()
    parents = table_hashes(target.manifest)
    if into is not None and is_absent:
        progress(f"copying {source.path}")
        with writing_directory(into) as partial:
            _copy(source, partial)
        target = Benchmark.open(into)
    if changed:
        progress(f"writing revision {made.number}")
        settings = {"project": row.name, "revision": made.number, "events": last.seq, "head": last.hash}
        with target.writing(stage=APPLIED, settings=settings, parents=parents) as writer:
            if table_hashes(target.manifest) != parents:
                raise BenchmarkError(f"{target.path} was changed while reviews were applied; run the command again")
            for table, rows in changed.items():
                if (first := next(rows, None)) is not None:
                    writer.add(table, chain([first], rows))
                else:
                    writer.remove(target.manifest, table.file_name)
    if into is None:
        _note(project, made, applied, last.seq)
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


def revise(content: Content, session: Session, progress: Callable[[str], None] = lambda _: None) -> NextRevision:
    """The next revision with all settled work that can be written. Nothing is written.

    Args:
        content: The benchmark's rows, which may stay in their files.
        session: The database.
        progress: Called with the current step.

    Raises:
        BrokenInvariantError: People's work contradicts the benchmark in a way that no check of single values finds.
    """
    made = NextRevision(content)
    films = {str(video.id): asdict(Film.of(video)) for video in content.videos}

    def units(kind: str) -> Iterator[DoneUnit]:
        progress(f"collecting settled work: {TASKS[kind].title}")
        done = done_units(session, kind, finished_units(session, kind))
        return (unit for unit in done if _is_sound(made, unit, films))

    apply_turns(made, units("turns"))
    follow_links(made)
    withdrawn = apply_links(made, units("links"))
    follow_paths(made, withdrawn)
    follow_rows(made)
    for kind in VERIFIED:
        apply_labels(made, units(kind))
    add_collected(made, session)
    made.name_aside({unit_id: session.get_one(UnitRow, unit_id).title for unit_id in made.aside})
    progress("checking what would be written")
    _refuse_contradictions(made)
    return made


def _is_sound(made: NextRevision, unit: DoneUnit, films: Mapping[str, Mapping[str, Any]]) -> bool:
    """True if the new results of a unit can be written; otherwise it is set aside."""
    # The video may have become known since the unit was loaded.
    content = {**unit.content, "film": films.get(unit.video_id or "", unit.content.get("film", {}))}
    for place in made.new_places(unit):
        value = unit.results[place].value
        texts = texts_of([value, *(work.values.get(place) for work in unit.works)])
        refused = next((problem for _, text in texts if (problem := refusal(text)) is not None), None)
        if refused is not None:
            made.set_aside(unit, f"it {refused}", place=place)
        if value is None or value.get("decision") in UNWRITTEN:
            continue
        try:
            TASKS[unit.kind].check(content, place, value)
        except InvalidValue as error:
            found = error.more.get("findings")
            made.set_aside(unit, found[0]["text"] if found else str(error), place=place, field=error.field)
    return unit.id not in made.aside


def _refuse_contradictions(made: NextRevision) -> None:
    if not (found := _errors(made)):
        return
    known = _errors(made.before)
    problems = [text for text in found if text not in known]
    if problems:
        more = f"; and {len(problems) - SHOWN:,} more" if len(problems) > SHOWN else ""
        raise BrokenInvariantError(
            f"what people collected contradicts the benchmark: {'; '.join(problems[:SHOWN])}{more}; nothing was applied"
        )


def _errors(content: ReadsTables) -> list[str]:
    # The results of turns were checked by themselves.
    found = (finding for finding in check_content(content) if not finding.is_about_turn)
    return [f"{finding.where}: {finding.problem}" for finding in found if finding.severity == "error"]


def _differences(made: NextRevision, session: Session) -> Iterator[str]:
    """What the revision changes as a difference: turn by turn, and then the rows that leave with their turns."""
    for kind in CHANGES:
        ids = [unit_id for unit_id in finished_units(session, kind) if unit_id not in made.aside]
        for unit in done_units(session, kind, ids):
            lines = [line for change in changes_of(unit, made.new_places(unit)) for line in change.lines()]
            if lines:
                yield from (unit.title, *lines)
    for row in made.rejected.added():
        if row.place is None:
            yield f"{row.table} {row.record_id}: removed, {row.reason}"


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


def _note(project: ReviewProject, made: NextRevision, applied: Applied, read: int) -> None:
    """Note what was written, and at each unit that was left out why; units that nobody has begun show the revision."""
    with transaction(project.database, OPERATOR) as change:
        session = change.session
        fresh = Benchmark.open(project.benchmark)
        if applied.is_changed:
            after = {"revision": made.number, "content_hash": fresh.manifest.content_hash, "counts": applied.counts}
            change.record(APPLY, PROJECT, after={**after, HEAD_KEY: read})
        noted = session.scalars(select(UnitRow.id).where(UnitRow.set_aside.is_not(None)))
        for unit_id in dict.fromkeys((*noted, *made.aside)):
            unit = session.get_one(UnitRow, unit_id)
            found = made.aside.get(unit_id, ())
            problems = [{"place": one.place, "field": one.field, "problem": one.problem} for one in found] or None
            if unit.set_aside != problems and (unit.state == DONE or problems is None):
                change.record("set_aside", unit_id, before={"problems": unit.set_aside}, after={"problems": problems})
                unit.set_aside = problems
        if applied.is_changed:
            known = set(session.scalars(select(QueueRow.id)))
            wanted = [name for name in TASKS if name in known]
            import_content(change, project, fresh, fresh.stored_content(), None, kinds=wanted)
