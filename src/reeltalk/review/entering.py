"""Rows of a project: its benchmark, videos and units. What people have begun or finished is never touched."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import exists, insert, select
from sqlalchemy.orm import Session

from reeltalk.review.admitting import table_hashes
from reeltalk.review.events import Change
from reeltalk.review.project import Project
from reeltalk.review.tables import AssignmentRow, ProjectRow, QueueRow, UnitRow, VideoRow, canonical
from reeltalk.review.tasks.task import Draft, Task
from reeltalk.schema.ids import derive_id
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark

Serving = Mapping[str, tuple[str | None, str | None, str | None]]
"""By video: the file that is served, its media type, and why none is."""

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


def enter_project(change: Change, project: Project, benchmark: Benchmark) -> None:
    """Note down which benchmark is reviewed, and in which state it was loaded."""
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


def enter_videos(session: Session, videos: Sequence[Video], served: Serving | None) -> None:
    """Enter videos that are new; how they are served is renewed where it is known.

    Args:
        session: The transaction.
        videos: All of the benchmark.
        served: How each is served; None to leave that as it is.
    """
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


def is_chosen(draft: Draft, videos: Mapping[str, Video], only: str | None) -> bool:
    """True for a draft about a video that `--only` names, or where it names none."""
    if only is None:
        return True
    name, _, value = only.partition("/")
    video = videos.get(draft.video_id or "")
    return video is not None and getattr(video, name) == value


def enter_queue(
    change: Change,
    queue_id: str,
    kind: str,
    *,
    title: str,
    position: int,
    overlap: int,
    settings: Mapping[str, Json],
) -> QueueRow:
    """Enter a queue that is new, without units."""
    queue = QueueRow(id=queue_id, task=kind, title=title, position=position, overlap=overlap, settings=dict(settings))
    change.session.add(queue)
    change.session.flush()
    return queue


def new_unit(queue: QueueRow, draft: Draft, position: int, shown: Mapping[str, Any]) -> dict[str, Any]:
    """Row of a unit that nobody has begun.

    Args:
        queue: Its queue.
        draft: What it is made of.
        position: In the queue, from 0.
        shown: As `shown_of` gives it.
    """
    return {
        "id": unit_id_of(queue, draft),
        "queue_id": queue.id,
        "position": position,
        "target_table": draft.target_table,
        "target_id": draft.target_id,
        "state": "open",
        "submitted": 0,
        **shown,
    }


def shown_of(task: Task | None, draft: Draft, videos: Container[str]) -> dict[str, Any]:
    """What people see of a unit.

    Args:
        task: Its kind of work; None where it has no places, as a video that pairs talk about.
        draft: What it is made of.
        videos: Ids of those that the project has.
    """
    return {
        "title": draft.title,
        "video_id": draft.video_id if draft.video_id in videos else None,
        "turns": len(task.places(draft.content)) if task is not None else 0,
        "content": dict(draft.content),
    }


def unit_id_of(queue: QueueRow, draft: Draft) -> str:
    """Id of the unit about a record in a queue."""
    return derive_id("unit", queue.id, draft.target_table, draft.target_id)


def enter_units(
    change: Change,
    queue: QueueRow,
    task: Task,
    drafts: Sequence[Draft],
    videos: Mapping[str, Video],
    revision: int,
    loaded: Loaded,
) -> None:
    """Enter units that are new, renew those that nobody has begun, take away those that are in the benchmark no longer.

    Args:
        change: The transaction.
        queue: Whose units.
        task: Its kind of work.
        drafts: All that the queue shall hold.
        videos: By id.
        revision: Of the benchmark that the drafts show.
        loaded: Gets the counts.
    """
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
            unit_id = unit_id_of(queue, draft)
            if unit_id in there:
                continue
            there.add(unit_id)
            values = shown_of(task, draft, videos)
            values["content"][REVISION] = revision
            if unit_id not in known:
                last += 1
                counts["new"] += 1
                rows.append(new_unit(queue, draft, last, values))
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
