"""A benchmark into the database: its videos, and one queue of units for each kind of work.

Loading again adds what is new and renews what nobody has begun; what people have begun or finished keeps the draft that
they saw.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import exists, insert, select
from sqlalchemy.orm import Session

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.review.admitting import admitted, table_hashes
from reeltalk.review.events import OPERATOR, Change, changing
from reeltalk.review.project import Project
from reeltalk.review.revisions import APPLIED, is_of_project, latest_revision
from reeltalk.review.tables import AssignmentRow, ProjectRow, QueueRow, UnitRow, VideoRow, canonical
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.task import Draft, Task
from reeltalk.schema.ids import derive_id
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

Serving = Mapping[str, tuple[str | None, str | None, str | None]]
"""By video: the file that is served, its media type, and why none is."""

FIRST: Final = ("turns", "links")
"""Queues of a new project where none are named."""
ALL: Final = "all"
FIELDS: Final = ("split", "category", "id")
"""Of a video, by which `--only` chooses."""
BATCH: Final = 500
LOADED: Final = "loaded"
"""Under this name a queue's settings say that its units are the benchmark's drafts."""
REVISION: Final = "revision"
"""Under this name a unit's content says which revision it shows: how often reviews had been applied."""


@dataclass
class Loaded:
    """What became of the units, by queue."""

    new: dict[str, int] = field(default_factory=dict)
    renewed: dict[str, int] = field(default_factory=dict)
    """Nobody had begun them; they show the benchmark as it is now."""
    removed: dict[str, int] = field(default_factory=dict)
    """Nobody had begun them, and the benchmark has them no longer."""
    behind: dict[str, int] = field(default_factory=dict)
    """Begun or finished on drafts that are others now."""

    def lines(self) -> Iterator[str]:
        """As people read it."""
        for counts, words in (
            (self.new, "units are new"),
            (self.renewed, "units that nobody has begun show the benchmark as it is now"),
            (self.removed, "units that nobody has begun are in the benchmark no longer and were taken away"),
            (self.behind, "units that people have begun or finished keep the draft that they saw"),
        ):
            for queue, count in counts.items():
                if count:
                    yield f"{queue}: {count:,} {words}"


@dataclass(frozen=True)
class Choice:
    """What is loaded."""

    queues: Sequence[str] = ()
    overlap: int = 1
    only: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.overlap <= 20:
            raise SettingError(f"--overlap {self.overlap}: 1 to 20 people do each unit")
        unknown = [name for name in self.queues if name not in (*TASKS, ALL)]
        if unknown:
            raise SettingError(f"--queues {unknown[0]}: no such queue; choose from {', '.join(TASKS)}, or {ALL}")
        if self.only is not None and (self.only.partition("/")[0] not in FIELDS or not self.only.partition("/")[2]):
            raise SettingError(f"--only {self.only}: give split/NAME, category/NAME or id/VIDEO")


def load(
    project: Project,
    benchmark: Benchmark,
    *,
    serving: Callable[[Benchmark], Serving],
    queues: Sequence[str] = (),
    overlap: int = 1,
    only: str | None = None,
    reload: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Loaded:
    """Load a benchmark into a project, or what has changed since it was loaded.

    Args:
        project: Where.
        benchmark: What people shall review.
        serving: Tells how each video is served. Asked only where something is loaded.
        queues: Kinds of work; none for `FIRST`, or for those that the project has.
        overlap: How many people do each unit of a new queue.
        only: `split/test`, `category/cooking` or `id/video-1`: the videos whose units are loaded.
        reload: Take over changes that something else than `reeltalk review apply` made.
        progress: Is told what is being done.

    Returns:
        What became of the units; nothing where all was loaded before.

    Raises:
        InputError: The benchmark is damaged; names file, line and field.
        BenchmarkError: It was changed by something else since it was loaded, or holds nothing to review.
        SettingError: The choice fits nothing in it.
    """
    choice, manifest = Choice(queues, overlap, only), benchmark.manifest
    with project.database.reading() as session:
        row = session.get(ProjectRow, 1)
        known = set(session.scalars(select(QueueRow.id)))
        changed = row is not None and row.content_hash != manifest.content_hash
        if row is not None and changed and not reload and not is_of_project(session, row, manifest):
            raise BenchmarkError(_changed(benchmark, row))
    wanted = [name for name in TASKS if name in _wanted(choice, known)]
    if row is not None and not changed and not reload and set(wanted) <= known:
        return Loaded()
    progress(f"reading {benchmark.path}")
    content = admitted(benchmark)
    served = serving(benchmark)
    progress("loading what there is to review")
    with changing(project.database, OPERATOR) as change:
        loaded = fill(change, project, benchmark, content, served, wanted=wanted, choice=choice)
        if row is None and not loaded.new:
            # Nothing is kept, so that the same command works once there is something.
            raise _nothing(benchmark, wanted, choice)
    return loaded


def fill(
    change: Change,
    project: Project,
    benchmark: Benchmark,
    content: Content,
    served: Serving | None,
    *,
    wanted: Sequence[str],
    choice: Choice = Choice(),
) -> Loaded:
    """Make the database hold what a benchmark has to review, in one transaction.

    Args:
        change: The transaction.
        project: Where.
        benchmark: What is loaded.
        content: Its rows.
        served: How each video is served; None to leave that as it is.
        wanted: Kinds of work; those that are there are renewed, others added where there are drafts for them.
        choice: Overlap and videos of queues that are added.
    """
    session, loaded = change.session, Loaded()
    _enter_project(change, project, benchmark)
    _enter_videos(session, content.videos, served)
    revision = latest_revision(content.reviews)
    videos = {str(video.id): video for video in content.videos}
    for position, (name, task) in enumerate(TASKS.items()):
        if name not in wanted:
            continue
        queue = session.get(QueueRow, name)
        if queue is not None and LOADED not in (queue.settings or {}):
            # Its units were made of something else than the benchmark's drafts.
            continue
        only = choice.only if queue is None else queue.settings.get("only")
        drafts = [draft for draft in task.drafts(content) if _is_chosen(draft, videos, only)]
        if queue is None:
            if not drafts:
                continue
            queue = QueueRow(
                id=name,
                task=name,
                title=task.title,
                position=position,
                overlap=choice.overlap,
                settings={LOADED: True, **({"only": only} if only is not None else {})},
            )
            session.add(queue)
            session.flush()
        _enter_units(change, queue, task, drafts, videos, revision, loaded)
        counts = {
            "units": loaded.new.get(name, 0),
            "renewed": loaded.renewed.get(name, 0),
            "removed": loaded.removed.get(name, 0),
            "overlap": queue.overlap,
        }
        if counts["units"] or counts["renewed"] or counts["removed"]:
            change.record("load", name, after=counts)
    return loaded


def _wanted(choice: Choice, known: set[str]) -> set[str]:
    if ALL in choice.queues:
        return set(TASKS)
    return (set(choice.queues) or (known or set(FIRST))) | known


def _changed(benchmark: Benchmark, row: ProjectRow) -> str:
    now, before = table_hashes(benchmark.manifest), row.files or {}
    names = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name)) or ["its files"]
    stages = sorted({entry.stage for name in names if (entry := benchmark.manifest.files.get(name))})
    by = f" by {' and '.join(repr(stage) for stage in stages if stage != APPLIED)}" if set(stages) - {APPLIED} else ""
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return (
        f"{benchmark.path} was changed{by} since it was loaded for review: {shown}; pass --reload to take the changes "
        "over (finished and begun work stays as it is, what nobody has begun is renewed, new units are added), or put "
        "the earlier files back"
    )


def _nothing(benchmark: Benchmark, wanted: Sequence[str], choice: Choice) -> BenchmarkError | SettingError:
    if choice.only is not None:
        return SettingError(f"--only {choice.only}: {benchmark.path} has nothing to review of such videos")
    return BenchmarkError(
        f"{benchmark.path} holds nothing for {', '.join(wanted)}; 'reeltalk construct' writes drafts, and --queues "
        f"chooses from {', '.join(TASKS)}"
    )


def _enter_project(change: Change, project: Project, benchmark: Benchmark) -> None:
    row = change.session.get(ProjectRow, 1)
    manifest = benchmark.manifest
    if row is None:
        row = ProjectRow(
            id=1,
            name=manifest.name,
            settings=project.settings.model_dump(mode="json"),
            created_at=change.at,
            content_hash="",
        )
        change.session.add(row)
    if row.content_hash != manifest.content_hash:
        before = row.content_hash or None
        row.content_hash, row.files = manifest.content_hash, table_hashes(manifest)
        change.record("benchmark", "project", before=before, after=manifest.content_hash)
    change.session.flush()


def _enter_videos(session: Session, videos: Sequence[Video], served: Serving | None) -> None:
    known = {row.id: row for row in session.scalars(select(VideoRow))}
    for video in videos:
        row = known.get(video.id)
        if row is None:
            row = VideoRow(id=video.id)
            session.add(row)
        elif served is None:
            continue
        row.sha256, row.duration_s = video.sha256, video.duration_s
        row.file, row.media_type, row.problem = (served or {}).get(
            video.id, (None, None, "the benchmark has no file of this video")
        )
    session.flush()


def _is_chosen(draft: Draft, videos: Mapping[str, Video], only: str | None) -> bool:
    if only is None:
        return True
    name, _, value = only.partition("/")
    video = videos.get(draft.video_id or "")
    return video is not None and getattr(video, name) == value


def _enter_units(
    change: Change,
    queue: QueueRow,
    task: Task,
    drafts: Sequence[Draft],
    videos: Mapping[str, Video],
    revision: int,
    loaded: Loaded,
) -> None:
    session = change.session
    begun = exists().where(AssignmentRow.unit_id == UnitRow.id)
    known = {
        unit_id: is_begun
        for unit_id, is_begun in session.execute(
            select(UnitRow.id, begun).where(UnitRow.queue_id == queue.id, UnitRow.gold.is_(None))
        )
    }
    last = max(session.scalars(select(UnitRow.position).where(UnitRow.queue_id == queue.id)), default=-1)
    counts = {"new": 0, "renewed": 0, "behind": 0}
    there: set[str] = set()
    for start in range(0, len(drafts), BATCH):
        rows: list[dict[str, Any]] = []
        for draft in drafts[start : start + BATCH]:
            unit_id = derive_id("unit", task.kind, draft.target_table, draft.target_id)
            if unit_id in there:
                continue
            there.add(unit_id)
            values: dict[str, Any] = {
                "title": draft.title,
                "video_id": draft.video_id if draft.video_id in videos else None,
                "turns": len(task.places(draft.content)),
                "content": {**draft.content, REVISION: revision},
            }
            if unit_id not in known:
                last += 1
                counts["new"] += 1
                rows.append(
                    {
                        "id": unit_id,
                        "queue_id": queue.id,
                        "position": last,
                        "target_table": draft.target_table,
                        "target_id": draft.target_id,
                        "state": "open",
                        "submitted": 0,
                        **values,
                    }
                )
                continue
            row = session.get_one(UnitRow, unit_id)
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
    gone = [unit_id for unit_id, is_begun in known.items() if unit_id not in there and not is_begun]
    for unit_id in gone:
        session.delete(session.get_one(UnitRow, unit_id))
    session.flush()
    loaded.new[queue.id], loaded.renewed[queue.id] = counts["new"], counts["renewed"]
    loaded.removed[queue.id], loaded.behind[queue.id] = len(gone), counts["behind"]


def _is_same(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    return canonical({**before, REVISION: 0}) == canonical({**after, REVISION: 0})
