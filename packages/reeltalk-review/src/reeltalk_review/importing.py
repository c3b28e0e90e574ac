"""Imports a benchmark into the database: its videos, and one queue of units for each kind of work.

Importing again adds new units and renews those that nobody has begun. Units that were begun or finished keep the draft
that their annotator saw.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, tee
from typing import Any, Final

from sqlalchemy import exists, func, insert, select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, BrokenInvariantError, SettingError
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json, derive_id, name_key
from reeltalk.schema.review import Review
from reeltalk.schema.titles import tell_apart
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.invariants import check_content
from reeltalk.store.manifest import Manifest
from reeltalk_review.assigning import ORDER
from reeltalk_review.database import ReviewProject, in_batches
from reeltalk_review.describing import content_columns
from reeltalk_review.duties import assign_units
from reeltalk_review.events import OPERATOR, Transaction, transaction
from reeltalk_review.tables import (
    AssignmentRow,
    ProjectRow,
    QueueRow,
    UnitRow,
    VideoRow,
    canonical_json,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import Draft

ENDING: Final = ".jsonl"
APPLIED: Final = "review apply"
"""The stage that writes tables when reviews are applied."""
WRITTEN_KEY: Final = "written"
"""Key in a review's `extra`: the revision of the benchmark that it led to."""


def table_hashes(manifest: Manifest) -> dict[str, str]:
    """Hashes of a benchmark's tables, by file name."""
    return {name: entry.sha256 for name, entry in manifest.files.items() if name.endswith(ENDING)}


def read_checked(benchmark: Benchmark) -> Content:
    """A benchmark's rows, which stay in their files. What makes no sense in a turn is for people to put right.

    Args:
        benchmark: Each of its tables is opened once, so that all are of one revision.

    Raises:
        BenchmarkError: A file was edited by hand.
        InputError: A table is damaged; names file and line.
        BrokenInvariantError: Records contradict each other; names the first.
    """
    content = benchmark.stored_content()
    errors = [found for found in check_content(content) if found.severity == "error" and not found.is_about_turn]
    if errors:
        more = f"; {len(errors) - 1:,} more errors" if len(errors) > 1 else ""
        hint = f"'reeltalk validate {benchmark.path}' lists all{more}"
        raise BrokenInvariantError(f"{benchmark.path}: {errors[0].where}: {errors[0].problem}; {hint}")
    return content


ServedVideos = Mapping[str, tuple[str | None, str | None, str | None]]
"""By video: the file to serve, its media type, and why there is none."""

BATCH: Final = 100
LOADED_KEY: Final = "loaded"
"""Key in a queue's settings: its units are the benchmark's drafts."""
REVISION_KEY: Final = "revision"
"""Key in a unit's content: how often reviews had been applied to the benchmark that it shows."""


@dataclass
class ImportReport:
    """What happened to the units, by queue."""

    new: dict[str, int] = field(default_factory=dict)
    renewed: dict[str, int] = field(default_factory=dict)
    """Nobody had begun them; they show the benchmark as it is now."""
    removed: dict[str, int] = field(default_factory=dict)
    """Nobody had begun them, and the benchmark no longer has them."""
    behind: dict[str, int] = field(default_factory=dict)
    """Begun or finished units whose draft has changed in the benchmark."""

    def add(self, queue_id: str, counts: Mapping[str, int]) -> None:
        """Take in what happened in a queue."""
        for name in ("new", "renewed", "removed", "behind"):
            getattr(self, name)[queue_id] = counts.get(name, 0)

    def lines(self) -> Iterator[str]:
        """Lines for people."""
        for counts, words in (
            (self.new, "tasks are new"),
            (self.renewed, "tasks that nobody has begun show the benchmark as it is now"),
            (self.removed, "tasks that nobody has begun are in the benchmark no longer and were taken away"),
            (self.behind, "tasks that people have begun or finished keep the draft that they saw"),
        ):
            for queue, count in counts.items():
                if count:
                    yield f"{queue}: {count:,} {words}"


def _put_project(change: Transaction, project: ReviewProject, benchmark: Benchmark) -> None:
    """Record which benchmark is reviewed, and its state."""
    row, manifest = change.session.get(ProjectRow, 1), benchmark.manifest
    if row is None:
        settings = project.settings.model_dump(mode="json")
        row = ProjectRow(id=1, name=manifest.name, settings=settings, created_at=change.at, content_hash="")
        change.session.add(row)
    if row.content_hash != manifest.content_hash:
        before = row.content_hash or None
        row.content_hash = manifest.content_hash
        change.record("benchmark", "project", before=before, after=manifest.content_hash)
    change.session.flush()


def _put_videos(session: Session, videos: Iterable[Video], served: ServedVideos | None) -> None:
    """Add new videos, and update how known ones are served; None keeps the stored values."""
    missing = (None, None, "the benchmark has no file of this video")
    for some in in_batches(videos, BATCH):
        known = {row.id: row for row in session.scalars(select(VideoRow).where(VideoRow.id.in_([v.id for v in some])))}
        for video in some:
            row = known.get(video.id)
            if row is None:
                known[video.id] = row = VideoRow(id=video.id)
                session.add(row)
            elif served is None:
                continue
            row.sha256, row.duration_s = video.sha256, video.duration_s
            row.file, row.media_type, row.problem = (served or {}).get(video.id, missing)
        session.flush()


def _chosen(drafts: Iterable[Draft], videos: Iterable[Video], only: str | None) -> Iterator[Draft]:
    """The drafts about videos that `--only` selects; all if it selects nothing."""
    name, _, value = (only or "").partition("/")
    chosen = {str(video.id) for video in videos if only and getattr(video, name) == value}
    return (draft for draft in drafts if only is None or draft.video_id in chosen)


def _put_queue(change: Transaction, queue: QueueRow) -> QueueRow:
    """Add a queue without units."""
    change.session.add(queue)
    change.session.flush()
    return queue


@dataclass(frozen=True)
class _Units:
    """Makes the rows of a queue's units from drafts."""

    queue: QueueRow
    videos: Container[str]
    """Ids of the project's videos."""

    def id(self, draft: Draft) -> str:
        return derive_id("unit", self.queue.id, draft.target_table, draft.target_id)

    def view(self, draft: Draft) -> dict[str, Any]:
        """The visible columns of a unit."""
        task = TASKS.get(self.queue.task)
        return {
            "title": draft.title,
            "video_id": draft.video_id if draft.video_id in self.videos else None,
            # Videos that pairs talk about have no places.
            "turns": len(task.places(draft.content)) if task is not None else 0,
            "content": dict(draft.content),
            **content_columns(task, (draft.title, draft.video_id, draft.target_id), draft.content),
        }

    def row(self, draft: Draft, position: int, view: Mapping[str, Any]) -> dict[str, Any]:
        """A unit that nobody has begun, at a position of the queue from 0."""
        target = {"target_table": draft.target_table, "target_id": draft.target_id}
        own = {"id": self.id(draft), "queue_id": self.queue.id, "position": position, "state": "open", "submitted": 0}
        return {**own, **target, **view}


def _put_units(
    change: Transaction, made: _Units, drafts: Iterable[Draft], revision: int, loaded: ImportReport
) -> dict[str, int]:
    """Add new units, renew those that nobody has begun, and remove those that the benchmark no longer has."""
    session, queue = change.session, made.queue
    real = (UnitRow.queue_id == queue.id, UnitRow.gold.is_(None))
    begun = exists().where(AssignmentRow.unit_id == UnitRow.id)
    known = {name: is_begun for name, is_begun in session.execute(select(UnitRow.id, begun).where(*real))}
    last = session.scalar(select(func.max(UnitRow.position)).where(UnitRow.queue_id == queue.id))
    next_position = 0 if last is None else last + 1
    counts = Counter[str]()
    there: set[int] = set()
    for some in in_batches(_named(drafts), BATCH):
        rows: list[dict[str, Any]] = []
        for draft in some:
            unit_id = made.id(draft)
            if (key := name_key(unit_id)) in there:
                continue
            there.add(key)
            values = made.view(draft)
            values["content"][REVISION_KEY] = revision
            if unit_id not in known:
                rows.append(made.row(draft, next_position + counts["new"], values))
                counts["new"] += 1
                continue
            row = session.get_one(UnitRow, unit_id)
            if row.title != draft.title:
                row.title, row.words = draft.title, values["words"]
            if _is_same(row.content, values["content"]):
                continue
            if known[unit_id]:
                counts["behind"] += 1
                continue
            counts["renewed"] += 1
            for name, value in values.items():
                setattr(row, name, value)
        session.flush()
        if rows:
            session.execute(insert(UnitRow), rows)
    gone = [unit_id for unit_id, is_begun in known.items() if name_key(unit_id) not in there and not is_begun]
    counts["removed"] = len(gone)
    assign_units(change, dict.fromkeys(gone, queue.id), ())
    for unit_id in gone:
        session.delete(session.get_one(UnitRow, unit_id))
    session.flush()
    loaded.add(queue.id, counts)
    return {"units": counts["new"], "renewed": counts["renewed"], "removed": counts["removed"]}


def _named(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """The drafts of a queue, with names that differ."""
    drafts, again = tee(drafts)
    for title, draft in zip(tell_apart(draft.title for draft in drafts), again, strict=True):
        yield replace(draft, title=title)


def _is_same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return canonical_json({**before, REVISION_KEY: 0}) == canonical_json({**after, REVISION_KEY: 0})


FIRST_QUEUES: Final = ("turns", "links")
"""Queues of a new project if none are named."""
ALL: Final = "all"
SELECT_FIELDS: Final = ("split", "category", "id")
"""Fields of a video that `--only` can select by."""


@dataclass(frozen=True)
class ImportChoice:
    """Which units to import."""

    queues: Sequence[str] = ()
    overlap: int = 1
    only: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.overlap <= 20:
            raise SettingError(f"--overlap {self.overlap}: 1 to 20 people do each task")
        unknown = [name for name in self.queues if name not in (*TASKS, ALL)]
        if unknown:
            raise SettingError(f"--queues {unknown[0]}: no such queue; choose from {', '.join(TASKS)}, or {ALL}")
        if self.only is not None and (
            self.only.partition("/")[0] not in SELECT_FIELDS or not self.only.partition("/")[2]
        ):
            raise SettingError(f"--only {self.only}: give split/NAME, category/NAME or id/VIDEO")


def import_benchmark(
    project: ReviewProject,
    benchmark: Benchmark,
    *,
    serving: Callable[[Benchmark], ServedVideos],
    queues: Sequence[str] = (),
    overlap: int = 1,
    only: str | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> ImportReport:
    """Import a benchmark into a project, or its changes since the last import.

    Args:
        benchmark: The benchmark to review.
        serving: Returns how each video is served. Called only if something is imported.
        queues: Kinds of work; if empty, those that the project has, or `FIRST_QUEUES`.
        overlap: How many people do each unit of a new queue.
        only: `split/test`, `category/cooking` or `id/video-1`: the videos whose units are imported.
        progress: Called with the current step.

    Returns:
        What happened to the units; empty if everything was imported before.

    Raises:
        InputError: The benchmark is damaged; names file, line and field.
        BenchmarkError: Something else changed it since the last import, or it holds nothing to review.
        SettingError: The choice matches nothing in it.
    """
    choice, manifest = ImportChoice(queues, overlap, only), benchmark.manifest
    with project.database.reading() as session:
        row = session.get(ProjectRow, 1)
        known = set(session.scalars(select(QueueRow.id)))
        changed = row is not None and row.content_hash != manifest.content_hash
    wanted = [name for name in TASKS if name in _wanted(choice, known)]
    if row is not None and not changed and set(wanted) <= known:
        return ImportReport()
    progress(f"reading {benchmark.path}")
    content = read_checked(benchmark)
    served = serving(benchmark)
    progress("loading what there is to review")
    with transaction(project.database, OPERATOR) as change:
        loaded = import_content(change, project, benchmark, content, served, kinds=wanted, choice=choice)
        # Videos are enough if no queue was asked for: pairs may collect dialogues about them.
        if row is None and not loaded.new and not (content.videos and not queues and only is None):
            # The exception rolls back, so that the same command works once there is something.
            raise _nothing(benchmark, wanted, choice)
    return loaded


def import_content(
    change: Transaction,
    project: ReviewProject,
    benchmark: Benchmark,
    content: Content,
    served: ServedVideos | None,
    *,
    kinds: Sequence[str],
    choice: ImportChoice = ImportChoice(),
) -> ImportReport:
    """Make the database hold the units of a benchmark, in one transaction.

    Args:
        content: Its rows.
        served: How each video is served; None to keep the stored values.
        kinds: Kinds of work. Existing queues are renewed; others are added if there are drafts for them.
        choice: Overlap and videos of added queues.
    """
    session, loaded = change.session, ImportReport()
    _put_project(change, project, benchmark)
    _put_videos(session, content.videos, served)
    revision = latest_revision(content.reviews)
    videos = {str(video.id) for video in content.videos}
    for position, (name, task) in enumerate(TASKS.items()):
        if name not in kinds:
            continue
        queue = session.get(QueueRow, name)
        if queue is not None and LOADED_KEY not in (queue.settings or {}):
            # Its units were not made from the benchmark's drafts.
            continue
        only = choice.only if queue is None else queue.settings.get("only")
        drafts = _chosen(task.drafts(content), content.videos, only)
        if queue is None:
            first = next(drafts, None)
            if first is None:
                continue
            drafts = chain((first,), drafts)
            settings = {LOADED_KEY: True, ORDER: task.order, **({"only": only} if only is not None else {})}
            queue = QueueRow(id=name, task=name, title=task.title, position=position, overlap=choice.overlap)
            queue.settings = settings
            _put_queue(change, queue)
        counts = _put_units(change, _Units(queue, videos), drafts, revision, loaded)
        if any(counts.values()):
            change.record("load", name, after={**counts, "overlap": queue.overlap})
    session.flush()
    return loaded


def _wanted(choice: ImportChoice, known: set[str]) -> set[str]:
    if ALL in choice.queues:
        return set(TASKS)
    return (set(choice.queues) or (known or set(FIRST_QUEUES))) | known


def _nothing(benchmark: Benchmark, wanted: Sequence[str], choice: ImportChoice) -> BenchmarkError | SettingError:
    if choice.only is not None:
        return SettingError(f"--only {choice.only}: {benchmark.path} has nothing to review of such videos")
    return BenchmarkError(
        f"{benchmark.path} holds nothing for {', '.join(wanted)}; 'reeltalk construct' writes drafts, and --queues "
        f"chooses from {', '.join(TASKS)}"
    )


QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,60}")


def add_queue(
    change: Transaction,
    kind: str,
    queue_id: str,
    drafts: Sequence[Draft],
    *,
    title: str,
    overlap: int = 1,
    settings: Mapping[str, Json] | None = None,
) -> int:
    """Add a queue after the existing ones; returns its number of units. The project may be served meanwhile.

    Args:
        kind: The kind of work: one of `TASKS`, or `collect`, whose units pairs talk about.
        queue_id: Its name in addresses.
        drafts: Its units, in the order in which people work on them.
        title: Its title for people.
        overlap: How many people do each unit.
        settings: Settings of the task.

    Raises:
        SettingError: The name cannot be part of an address.
        BenchmarkError: There is such a queue already, or there are no units.
    """
    session = change.session
    if not drafts:
        raise BenchmarkError(f"there is nothing to do for '{queue_id}': no tasks were found")
    if not QUEUE_NAME.fullmatch(queue_id):
        raise SettingError(
            f"--name {queue_id}: a queue is named by 1 to 60 letters, digits, dots, dashes and underscores"
        )
    if session.get(QueueRow, queue_id) is not None:
        raise BenchmarkError(f"the project has a queue '{queue_id}' already; give another --name")
    last = session.scalar(select(func.max(QueueRow.position)))
    position = last + 1 if last is not None else 0
    queue = QueueRow(id=queue_id, task=kind, title=title, position=position, overlap=overlap)
    queue.settings = dict(settings or {})
    made = _Units(_put_queue(change, queue), set(session.scalars(select(VideoRow.id))))
    for some in in_batches(enumerate(_named(drafts)), BATCH):
        session.execute(insert(UnitRow), [made.row(draft, number, made.view(draft)) for number, draft in some])
    change.record("load", queue_id, after={"units": len(drafts), "overlap": overlap, "task": kind})
    session.flush()
    return len(drafts)


def latest_revision(reviews: Iterable[Review]) -> int:
    """How often reviews have been applied to a benchmark."""
    return max((int(review.extra.get(WRITTEN_KEY, 0)) for review in reviews), default=0)
