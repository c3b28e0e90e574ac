"""A benchmark into the database: its videos, and one queue of units for each kind of work that it has drafts for."""

from collections.abc import Callable, Mapping

from sqlalchemy import insert, select

from reeltalk.review.events import OPERATOR, changing
from reeltalk.review.project import Project
from reeltalk.review.tables import ProjectRow, QueueRow, UnitRow, VideoRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.schema.ids import derive_id
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark

Serving = Mapping[str, tuple[str | None, str | None, str | None]]
"""By video: the file that is served, its media type, and why none is."""


def load(
    project: Project,
    benchmark: Benchmark,
    *,
    serving: Callable[[Benchmark], Serving],
    overlap: int = 1,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, int]:
    """Load a benchmark into a project that has none yet.

    Args:
        project: Where.
        benchmark: What people shall review.
        serving: Tells how each video is served.
        overlap: How many people do each unit.
        progress: Is told what is being done.

    Returns:
        Units by queue; those that are there already where the project was loaded before.

    Raises:
        InputError: The benchmark is damaged; names file, line and field.
    """
    with project.database.reading() as session:
        if session.scalars(select(ProjectRow)).first() is not None:
            return {}
    content = benchmark.content()
    progress(f"loading {benchmark.path}")
    served = serving(benchmark)
    counts: dict[str, int] = {}
    with changing(project.database, OPERATOR) as change:
        change.session.add(
            ProjectRow(
                id=1,
                name=benchmark.manifest.name,
                content_hash=benchmark.manifest.content_hash,
                settings=project.settings.model_dump(mode="json"),
                created_at=change.at,
            )
        )
        known: set[str] = set()
        for video in content.videos:
            change.session.add(_video(video, served))
            known.add(video.id)
        change.session.flush()
        for position, task in enumerate(TASKS.values()):
            drafts = list(task.drafts(content))
            if not drafts:
                continue
            queue = QueueRow(
                id=task.kind, task=task.kind, title=task.title, position=position, overlap=overlap, settings={}
            )
            change.session.add(queue)
            change.session.flush()
            rows = [
                {
                    "id": derive_id("unit", task.kind, draft.target_table, draft.target_id),
                    "queue_id": queue.id,
                    "position": number,
                    "title": draft.title,
                    "video_id": draft.video_id if draft.video_id in known else None,
                    "turns": len(task.places(draft.content)),
                    "content": dict(draft.content),
                    "target_table": draft.target_table,
                    "target_id": draft.target_id,
                    "state": "open",
                    "submitted": 0,
                }
                for number, draft in enumerate(drafts)
            ]
            change.session.execute(insert(UnitRow), rows)
            change.record("load", queue.id, after={"units": len(rows), "overlap": overlap})
            counts[queue.id] = len(rows)
    return counts


def _video(video: Video, served: Serving) -> VideoRow:
    file, media_type, problem = served.get(video.id, (None, None, "the benchmark has no file of this video"))
    return VideoRow(
        id=video.id,
        sha256=video.sha256,
        duration_s=video.duration_s,
        file=file,
        media_type=media_type,
        problem=problem,
    )
