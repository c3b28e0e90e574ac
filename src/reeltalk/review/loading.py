"""A benchmark into the database: its videos, and one queue of units for each kind of work.

Loading again adds what is new and renews what nobody has begun; what people have begun or finished keeps the draft that
they saw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import select

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.review.admitting import admitted, table_hashes
from reeltalk.review.entering import (
    LOADED,
    Loaded,
    Serving,
    enter_project,
    enter_queue,
    enter_units,
    enter_videos,
    is_chosen,
)
from reeltalk.review.events import OPERATOR, Change, changing
from reeltalk.review.project import Project
from reeltalk.review.revisions import APPLIED, is_of_project, latest_revision
from reeltalk.review.tables import ProjectRow, QueueRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

FIRST: Final = ("turns", "links")
"""Queues of a new project where none are named."""
ALL: Final = "all"
FIELDS: Final = ("split", "category", "id")
"""Of a video, by which `--only` chooses."""


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
        # Videos alone are enough where nothing else was asked for: pairs may collect dialogues about them.
        if row is None and not loaded.new and not (content.videos and not queues and only is None):
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
    enter_project(change, project, benchmark)
    enter_videos(session, content.videos, served)
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
        drafts = [draft for draft in task.drafts(content) if is_chosen(draft, videos, only)]
        if queue is None:
            if not drafts:
                continue
            queue = enter_queue(
                change,
                name,
                name,
                title=task.title,
                position=position,
                overlap=choice.overlap,
                settings={LOADED: True, **({"only": only} if only is not None else {})},
            )
        enter_units(change, queue, task, drafts, videos, revision, loaded)
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
